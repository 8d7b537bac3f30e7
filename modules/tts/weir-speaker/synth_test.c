/*
 * The library's own sound is the oracle: each test asks it directly, without
 * the code that is tested, and compares the samples.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "synth.h"

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

#define SENTENCE                                                     \
    "The quick brown fox jumps over the lazy dog, and then it runs " \
    "home. Nobody saw it."

/* ---- sounds, each made in a process of its own ---- */

struct sound {
    int16_t *samples;
    size_t n;
    int status; /* of the process */
};

static int memory;

static int
keep(void *arg, const int16_t *samples, size_t n)
{
    (void)arg;
    return write(memory, samples, 2 * n) == (ssize_t)(2 * n) ? 0 : -1;
}

static int
keep_bare(short *samples, int n, espeak_EVENT *events)
{
    (void)events;
    return samples != NULL && n > 0 && keep(NULL, samples, (size_t)n) == -1;
}

static struct speech_request
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

static int
speak_ours(const void *arg)
{
    const struct speech_request *r = arg;
    struct synth_error e = { 0 };
    struct buf json;

    buf_init(&json, 1 << 20);
    assert_true(synth_init(&e.message) > 0);
    return synth_speak(r, keep, NULL, &json, &e) == -1 ? e.status / 100 : 0;
}

struct bare {
    const char *voice, *text;
    int flags;
};

static int
speak_bare(const void *arg)
{
    const struct bare *b = arg;

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

static struct sound
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
    s.n = (size_t)lseek(memory, 0, SEEK_END) / 2;
    s.samples = mem_alloc(2 * s.n + 1);
    assert_int_equal(pread(memory, s.samples, 2 * s.n, 0), 2 * s.n);
    close(memory);
    return s;
}

static struct sound
ours(const struct speech_request *r)
{
    return sound_of(speak_ours, r);
}

static struct sound
bare(const char *voice, const char *text, int flags)
{
    struct bare b = { voice, text, flags };

    return sound_of(speak_bare, &b);
}

static void
same(struct sound a, struct sound b)
{
    assert_int_equal(a.status, 0);
    assert_int_equal(b.status, 0);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.samples, b.samples, 2 * a.n);
    mem_free(&a.samples);
    mem_free(&b.samples);
}

/* ---- tests ---- */

static void
says_what_the_library_says(void **state)
{
    struct speech_request r = request("gmw/en-US", "", SENTENCE);

    (void)state;
    same(ours(&r), bare("gmw/en-US", SENTENCE, 0));
    r = request("gmw/de", "f3", SENTENCE);
    same(ours(&r), bare("gmw/de+f3", SENTENCE, 0));
}

static void
blanks_controls(void **state)
{
    struct speech_request r =
        request("gmw/en-US", "", "one \x01\x56gmw/de two \x02 three");

    (void)state;
    same(ours(&r), bare("gmw/en-US", "one  Vgmw/de two   three", 0));
    r = request("gmw/en-US", "", "one &#1;Vgmw/de two &#x00001;5S &#65; &lt;");
    r.ssml = true;
    same(ours(&r),
         bare("gmw/en-US", "one  #1;Vgmw/de two  #x00001;5S &#65; &lt;",
              espeakSSML));
}

static void
cuts_what_is_too_long(void **state)
{
    struct speech_request r =
        request("gmw/en-US", "", "a <break time=\"3600s\"/> b");
    struct sound s;

    (void)state;
    r.ssml = true;
    r.max_audio = 2000;
    s = ours(&r);
    assert_int_equal(WEXITSTATUS(s.status), 4);
    assert_int_equal(s.n, 2 * 22050);
    mem_free(&s.samples);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_the_library_says),
        cmocka_unit_test(blanks_controls),
        cmocka_unit_test(cuts_what_is_too_long),
    };

    const char *directory = catalogue_system_directory();
    struct errmsg err;

    assert_int_equal(data_files_open(&directory, 1, &err), 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
