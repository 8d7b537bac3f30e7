/*
 * For tests of weir-speaker: sounds, each made in a process of its own, by
 * synth.c or by the bare library, which is the oracle.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#ifndef MODULES_TTS_WEIR_SPEAKER_SOUND_HELP_H
#define MODULES_TTS_WEIR_SPEAKER_SOUND_HELP_H

#include <espeak-ng/speak_lib.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "catalogue.h"
#include "data_files.h"
#include "synth.h"

#define RATE 22050

#ifdef __SANITIZE_ADDRESS__
/* The library compares words of its dictionary with a word's end: it reads some
 * bytes too far, and from translators that are gone.  This is not ours. */
const char *__asan_default_suppressions(void);

const char *
__asan_default_suppressions(void)
{
    return "interceptor_via_lib:libespeak-ng\ninterceptor_name:memcmp\n";
}
#endif

struct sound {
    int16_t *samples;
    size_t n;
    int status; /* of the process */
};

static int memory;

static inline int
keep(void *arg, const int16_t *samples, size_t n)
{
    (void)arg;
    return write(memory, samples, 2 * n) == (ssize_t)(2 * n) ? 0 : -1;
}

static inline int
keep_bare(short *samples, int n, espeak_EVENT *events)
{
    (void)events;
    return samples != NULL && n > 0 && keep(NULL, samples, (size_t)n) == -1;
}

static inline struct speech_request
request(const char *voice, const char *variant, const char *text)
{
    return (struct speech_request){ .text = str_from(text),
                                    .voice = str_from(voice),
                                    .speaker = str_from(variant),
                                    .length_scale = SPEECH_MILLION,
                                    .noise_scale = -1,
                                    .pitch = -1,
                                    .range = -1,
                                    .volume = -1,
                                    .max_audio = 600000 };
}

/* In a child, which has no data yet; NULL: those of the system. */
static inline int
open_data(const char *directory)
{
    struct errmsg err;

    directory = directory != NULL ? directory : catalogue_system_directory();
    return data_files_open(&directory, 1, &err);
}

/* In a child: what it answers, as an exit status. */
static inline int
speak_ours(const void *arg)
{
    const struct speech_request *r = arg;
    struct synth_error e = { 0 };
    struct buf json;
    int status;

    buf_init(&json, 1 << 20);
    if (open_data(NULL) == -1 || synth_init(&e.message) != RATE) {
        return 99;
    }
    status = synth_speak(r, keep, NULL, &json, &e);
    buf_add(&json, "  ", buf_len(&json) % 2);
    keep(NULL, (const int16_t *)(const void *)buf_data(&json),
         buf_len(&json) / 2);
    buf_clear(&json);
    return status == -1 ? e.status / 100 : status;
}

struct bare {
    const char *data, *voice, *text;
    int flags;
};

static inline int
speak_bare(const void *arg)
{
    const struct bare *b = arg;

    open_data(b->data);
    espeak_Initialize(AUDIO_OUTPUT_SYNCHRONOUS, 0, DATA_ROOT, 0);
    espeak_SetSynthCallback(keep_bare);
    if (espeak_SetVoiceByName(b->voice) != EE_OK) {
        return 1;
    }
    espeak_SetParameter(espeakRATE, 175, 0);
    espeak_Synth(b->text, strlen(b->text) + 1, 0, POS_CHARACTER, 0,
                 espeakCHARS_UTF8 | b->flags, NULL, NULL);
    return 0;
}

static inline struct sound
sound_of(int make(const void *arg), const void *arg)
{
    struct sound s = { 0 };
    pid_t child;

    memory = memfd_create("sound", MFD_CLOEXEC);
    child = fork();
    if (child == 0) {
        _exit(make(arg));
    }
    assert_int_equal(waitpid(child, &s.status, 0), child);
    assert_true(WIFEXITED(s.status));
    s.status = WEXITSTATUS(s.status);
    s.n = (size_t)lseek(memory, 0, SEEK_END) / 2;
    s.samples = mem_zero(2 * s.n + 2);
    assert_int_equal(pread(memory, s.samples, 2 * s.n, 0), 2 * s.n);
    close(memory);
    return s;
}

static inline struct sound
ours(const struct speech_request *r)
{
    return sound_of(speak_ours, r);
}

static inline struct sound
bare(const char *voice, const char *text, int flags)
{
    struct bare b = { NULL, voice, text, flags };

    return sound_of(speak_bare, &b);
}

static inline void
same(struct sound a, struct sound b)
{
    assert_int_equal(a.status, 0);
    assert_int_equal(b.status, 0);
    assert_true(a.n > 1000);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.samples, b.samples, 2 * a.n);
    mem_free(&a.samples);
    mem_free(&b.samples);
}

static inline size_t
length(const struct speech_request *r)
{
    struct sound s = ours(r);

    assert_int_equal(s.status, 0);
    mem_free(&s.samples);
    return s.n;
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

#endif
