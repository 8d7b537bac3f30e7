/*
 * The library gives samples to a callback that has no argument of ours, so the
 * synthesis that runs is a static object.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "synth.h"

#include <espeak-ng/speak_lib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "data_files.h"
#include "jitter.h"
#include "rate.h"
#include "text.h"
#include "timings.h"
#include "voice.h"

/* Of the samples of a call; 0: what the library likes.  Of voices with an echo
 * the last samples depend on it. */
#define BUFFER_MS 0

struct run {
    const struct speech_request *request;
    synth_sink *sink;
    void *arg;
    int64_t most;         /* samples that may go to the sink */
    bool timed;           /* the events are wanted, not the samples */
    bool gap;             /* a sentence has begun: silence before its word */
    bool spoke;           /* a word has been spoken */
    int64_t held;         /* zeros in front of the first word */
    bool refused;         /* the sink wants no more */
    bool too_long;        /* than max_audio */
    int64_t made;         /* samples that the library has made */
    struct rate rate;     /* from them to those of the answer */
    struct jitter jitter; /* its places are empty if it is not wanted */
    struct timings timings;
};

static struct run run;
static int hertz;
static char warm[SPEECH_FILE_MAX + 1]; /* the voice that is loaded; "": none */

/* ---- samples and events ---- */

static int
give(void *arg, const int16_t *samples, size_t n)
{
    size_t room = (size_t)(run.most - (run.rate.out - (int64_t)n));

    (void)arg;
    if (n > room) {
        run.too_long = true;
        n = room;
    }
    if (n > 0 && !run.timed && run.sink(run.arg, samples, n) == -1) {
        run.refused = true;
    }
    return run.refused || run.too_long ? -1 : 0;
}

/* The library makes some zeros even of a text without words: they are held
 * until there is a word, and a text of nothing speakable has no sound. */
static int
release_held(void)
{
    static const int16_t zeros[1024];

    while (run.held > 0) {
        size_t part = run.held < 1024 ? (size_t)run.held : 1024;

        run.held -= (int64_t)part;
        if (rate_add(&run.rate, zeros, part) == -1) {
            return -1;
        }
    }
    return 0;
}

static int
add(const short *samples, size_t n)
{
    size_t zeros = 0;

    while (!run.spoke && zeros < n && samples[zeros] == 0) {
        zeros++;
    }
    if (!run.spoke && zeros == n) {
        run.held += (int64_t)n;
        run.too_long = (double)run.held * run.rate.scale > (double)run.most;
        return run.too_long ? -1 : 0;
    }
    return release_held() == -1 ? -1 : rate_add(&run.rate, samples, n);
}

static int
fill_gap(void)
{
    int64_t silence = run.request->sentence_silence * hertz / 1000;

    run.gap = false;
    return silence > 0 ? rate_silence(&run.rate, silence) : 0;
}

/* The library counts characters from 1.  Of a word such as "1998" it tells
 * several, one for each that is spoken, and at an end one that is empty. */
static void
time_word(const espeak_EVENT *e)
{
    size_t at = e->text_position > 0 ? (size_t)e->text_position - 1 : 0;
    size_t from = jitter_original(&run.jitter, at);
    size_t to = jitter_original(&run.jitter, at + (size_t)e->length);
    const struct timing_list *words = &run.timings.words;

    if (to > from && (words->n == 0 || from >= words->items[words->n - 1].to)) {
        timings_word(&run.timings, rate_position(&run.rate), from, to);
    }
}

static int
on_event(const espeak_EVENT *e)
{
    if (e->type == espeakEVENT_SENTENCE) {
        run.gap = run.spoke;
        timings_sentence(&run.timings, rate_position(&run.rate), 0);
    } else if (e->type == espeakEVENT_END) {
        timings_end(&run.timings, rate_position(&run.rate));
    } else if (e->type == espeakEVENT_WORD) {
        run.spoke = true;
        if (release_held() == -1 || (run.gap && fill_gap() == -1)) {
            return -1;
        }
        time_word(e);
    }
    return 0;
}

/* An event lies between two samples, so it splits them. */
static int
add_with_events(const short *samples, size_t n, const espeak_EVENT *e)
{
    size_t at = 0;

    for (; e->type != espeakEVENT_LIST_TERMINATED; e++) {
        int64_t to = e->sample - run.made;

        if (to > (int64_t)n) {
            to = (int64_t)n;
        }
        if (to > (int64_t)at) {
            if (add(samples + at, (size_t)to - at) == -1) {
                return -1;
            }
            at = (size_t)to;
        }
        if (on_event(e) == -1) {
            return -1;
        }
    }
    return add(samples + at, n - at);
}

static int
on_sound(short *samples, int n, espeak_EVENT *events)
{
    bool events_count =
        run.timed || !run.spoke || run.request->sentence_silence > 0;
    int status;

    if (samples == NULL || n < 0) {
        return 0;
    }
    status = events_count ? add_with_events(samples, (size_t)n, events)
                          : rate_add(&run.rate, samples, (size_t)n);
    run.made += n;
    return status == -1;
}

/* ---- starting ---- */

/* An <audio> of SSML would be given to a shell. */
static int
refuse_sound_file(int type, const char *uri, const char *base)
{
    (void)type;
    (void)uri;
    (void)base;
    return 1;
}

int
synth_init(struct errmsg *err)
{
    hertz = espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, BUFFER_MS, DATA_ROOT,
                              espeakINITIALIZE_DONT_EXIT);
    if (hertz <= 0) {
        return errmsg_set(err, "espeak-ng finds no data: phontab is missing, "
                               "or was made for another version");
    }
    espeak_SetSynthCallback(on_sound);
    espeak_SetUriCallback(refuse_sound_file);
    return hertz;
}

void
synth_warm(struct str file)
{
    struct errmsg ignored;

    warm[0] = '\0';
    if (voice_load(file, STR_NONE, -1, &ignored) == 0) {
        str_copy(warm, sizeof(warm), file);
    }
}

/* ---- one synthesis ---- */

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
    set(espeakRATE, -1);
    set(espeakPITCH, r->pitch);
    set(espeakRANGE, r->range);
    set(espeakVOLUME, r->volume);
    set(espeakWORDGAP, -1);
    set(espeakPUNCTUATION, -1);
    set(espeakCAPITALS, -1);
}

static int
fail(struct synth_error *err, int status, const char *field)
{
    err->status = status;
    err->field = field;
    return -1;
}

static int
no_memory(struct synth_error *err)
{
    errmsg_set(&err->message, "memory is out");
    return fail(err, 500, "");
}

/* Equal requests are spoken equally. */
static uint64_t
seed_of(const struct speech_request *r)
{
    static const uint8_t key[16];
    struct str of[] = { r->text, r->voice, r->speaker };
    uint64_t seed = (uint64_t)r->noise_w_scale;

    for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
        seed = seed * 31 + hash_keyed(key, of[i]);
    }
    return seed;
}

/* The text as the library gets it, with a NUL, for mem_free(). */
static char *
text_of(const struct speech_request *r)
{
    struct jitter_options o = { r->noise_w_scale, seed_of(r), r->ssml };
    char *text = text_clean(r->text, r->ssml);
    char *changed;

    if (text == NULL || r->noise_w_scale == 0) {
        return text;
    }
    if (jitter_make(&run.jitter, str_of(text, r->text.len), &o) == -1) {
        mem_free(&text);
        return NULL;
    }
    changed = try_alloc(buf_len(&run.jitter.text));
    if (changed != NULL) {
        memcpy(changed, buf_data(&run.jitter.text), buf_len(&run.jitter.text));
    }
    mem_free(&text);
    return changed;
}

static int
speak_text(const struct speech_request *r, struct synth_error *err)
{
    unsigned flags = espeakCHARS_UTF8 | (r->ssml ? espeakSSML : 0);
    char *text = text_of(r);

    if (text == NULL) {
        return no_memory(err);
    }
    espeak_Synth(text, strlen(text) + 1, 0, POS_CHARACTER, 0, flags, NULL,
                 NULL);
    mem_free(&text);
    if (!run.refused && !run.too_long) {
        rate_flush(&run.rate);
    }
    if (run.too_long) {
        errmsg_set(&err->message, "text makes more than %lld ms of sound",
                   (long long)r->max_audio);
        return fail(err, 413, "text");
    }
    return run.refused;
}

static int
answer_timings(const struct speech_request *r, struct buf *json,
               struct synth_error *err)
{
    struct str file = r->voice;
    char name[2 * SPEECH_FILE_MAX + 2];
    size_t n;
    struct timings_of of = { .text = r->text,
                             .rate = (unsigned)hertz,
                             .samples = run.rate.out };

    while (str_find(file, '/', 0) < file.len) {
        str_cut(&file, '/');
    }
    n = str_copy(name, sizeof(name), file);
    if (r->speaker.len > 0) {
        n = str_append(name, sizeof(name), n, STR("+"));
        n = str_append(name, sizeof(name), n, r->speaker);
    }
    of.voice = str_of(name, n);
    return timings_json(&run.timings, &of, json) == -1 ? no_memory(err) : 0;
}

/* The zygote may have loaded it.  0, or the status of the failure. */
static int
load_voice(const struct speech_request *r, struct errmsg *err)
{
    bool is_warm = warm[0] != '\0' && str_eq(r->voice, str_from(warm)) &&
                   r->speaker.len == 0 && r->noise_scale == -1;

    warm[0] = '\0'; /* a synthesis changes what is loaded */
    return is_warm ? 0 : voice_load(r->voice, r->speaker, r->noise_scale, err);
}

static int
speak(const struct speech_request *r, struct buf *json, struct synth_error *err)
{
    int status;

    if (rate_init(&run.rate, (unsigned)hertz, r->length_scale, give, NULL) ==
        -1) {
        return no_memory(err);
    }
    status = load_voice(r, &err->message);
    if (status != 0) {
        return fail(err, status, "voice");
    }
    set_parameters(r);
    status = speak_text(r, err);
    return status == 0 && run.timed ? answer_timings(r, json, err) : status;
}

int
synth_speak(const struct speech_request *r, synth_sink *sink, void *arg,
            struct buf *json, struct synth_error *err)
{
    int status;

    run = (struct run){ .request = r,
                        .sink = sink,
                        .arg = arg,
                        .most = r->max_audio * hertz / 1000,
                        .timed = r->format == SPEECH_TIMINGS };
    timings_init(&run.timings);
    status = speak(r, json, err);
    timings_clear(&run.timings);
    jitter_clear(&run.jitter);
    rate_clear(&run.rate);
    return status;
}
