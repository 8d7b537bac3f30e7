/*
 * The library gives samples to a callback that has no argument of ours, so the
 * synthesis that runs is a static object.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "synth.h"

#include <espeak-ng/speak_lib.h>
#include <stdio.h>

#include "base/mem.h"
#include "data_files.h"
#include "text.h"

/* Of the samples of a call; 0: what the library likes.  Of voices with an echo
 * the last samples depend on it. */
#define BUFFER_MS 0

struct run {
    const struct speech_request *request;
    synth_sink *sink;
    void *arg;
    int64_t samples; /* that went to the sink */
    int64_t most;    /* that may go there */
    bool refused;    /* the sink wants no more */
    bool too_long;
};

static struct run run;
static int rate;

/* ---- starting ---- */

static int
refuse_sound_file(int type, const char *uri, const char *base)
{
    (void)type;
    (void)uri;
    (void)base;
    return 1;
}

static int
give(const int16_t *samples, size_t n)
{
    size_t room = (size_t)(run.most - run.samples);

    if (n > room) {
        run.too_long = true;
        n = room;
    }
    run.samples += (int64_t)n;
    if (n > 0 && run.sink(run.arg, samples, n) == -1) {
        run.refused = true;
    }
    return run.refused || run.too_long ? -1 : 0;
}

static int
on_sound(short *samples, int n, espeak_EVENT *events)
{
    (void)events;
    return samples != NULL && n > 0 && give(samples, (size_t)n) == -1;
}

int
synth_init(struct errmsg *err)
{
    rate = espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, BUFFER_MS, DATA_ROOT,
                             espeakINITIALIZE_DONT_EXIT);
    if (rate <= 0) {
        return errmsg_set(err, "espeak-ng finds no data: phontab is missing, "
                               "or was made for another version");
    }
    espeak_SetSynthCallback(on_sound);
    espeak_SetUriCallback(refuse_sound_file);
    return rate;
}

/* ---- voice and parameters ---- */

static int
set_voice(struct str file, struct str variant, struct errmsg *err)
{
    char name[2 * SPEECH_FILE_MAX + 2];

    if (file.len + variant.len >= SPEECH_FILE_MAX) {
        return errmsg_set(err, "the name of voice \"%.*s\" is too long",
                          STR_ARGS(str_first(file, SPEECH_VOICE_MAX)));
    }
    snprintf(name, sizeof(name), "%.*s%s%.*s", STR_ARGS(file),
             variant.len > 0 ? "+" : "", STR_ARGS(variant));
    if (espeak_SetVoiceByName(name) != EE_OK) {
        return errmsg_set(err, "voice \"%s\" cannot be loaded", name);
    }
    return 0;
}

static void
set(espeak_PARAMETER parameter, int64_t value)
{
    if (value == -1) {
        value = espeak_GetParameter(parameter, 0);
    }
    espeak_SetParameter(parameter, (int)value, 0);
}

/* All of them: the tables of speed are those of the voice before, and the
 * library keeps what a text has set. */
static void
set_parameters(const struct speech_request *r)
{
    int64_t normal = (int64_t)espeakRATE_NORMAL * SPEECH_MILLION;

    set(espeakRATE, (normal + r->length_scale / 2) / r->length_scale);
    set(espeakPITCH, r->pitch);
    set(espeakRANGE, r->range);
    set(espeakVOLUME, r->volume);
    set(espeakWORDGAP, -1);
    set(espeakPUNCTUATION, -1);
    set(espeakCAPITALS, -1);
}

void
synth_warm(struct str file)
{
    struct errmsg ignored;

    set_voice(file, STR_NONE, &ignored);
}

/* ---- one synthesis ---- */

static int
fail(struct synth_error *err, int status, const char *field)
{
    err->status = status;
    err->field = field;
    return -1;
}

static int
speak_text(const struct speech_request *r, struct synth_error *err)
{
    char *text = text_clean(r->text, r->ssml);
    unsigned flags = espeakCHARS_UTF8 | (r->ssml ? espeakSSML : 0);

    if (text == NULL) {
        errmsg_set(&err->message, "memory is out");
        return fail(err, 500, "");
    }
    espeak_Synth(text, r->text.len + 1, 0, POS_CHARACTER, 0, flags, NULL, NULL);
    mem_free(&text);
    if (run.too_long) {
        errmsg_set(&err->message, "text makes more than %lld ms of sound",
                   (long long)r->max_audio);
        return fail(err, 413, "text");
    }
    return run.refused;
}

int
synth_speak(const struct speech_request *r, synth_sink *sink, void *arg,
            struct buf *json, struct synth_error *err)
{
    (void)json;
    run = (struct run){ .request = r,
                        .sink = sink,
                        .arg = arg,
                        .most = r->max_audio * rate / 1000 };
    if (set_voice(r->voice, r->speaker, &err->message) == -1) {
        return fail(err, 500, "voice");
    }
    set_parameters(r);
    return speak_text(r, err);
}
