/*
 * The library's own sound is the oracle: each test asks it directly, without
 * the code that is tested, and compares the samples.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "sound_help.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SENTENCE                                                     \
    "The quick brown fox jumps over the lazy dog, and then it runs " \
    "home. Nobody saw it."
static const char *const voices[] = {
    "gmw/en-US", "gmw/de",  "roa/fr",
    "zle/ru",    "sit/cmn", "aav/vi",
    "inc/hi",    "poz/mi",  "gmw/en-GB-x-gbcwmd"
};
static const char *const variants[] = { "",      "f3",         "m1",
                                        "klatt", "whisper",    "croak",
                                        "Alex",  "Mr serious", "f5" };

/* ---- voices ---- */

static void
says_what_the_library_says(void **state)
{
    (void)state;
    for (size_t v = 0; v < COUNT(voices); v++) {
        for (size_t s = 0; s < COUNT(variants); s++) {
            struct speech_request r = request(voices[v], variants[s], SENTENCE);
            char name[80];

            snprintf(name, sizeof(name), "%s%s%s", voices[v],
                     variants[s][0] != '\0' ? "+" : "", variants[s]);
            same(ours(&r), bare(name, SENTENCE, 0));
        }
    }
}

/* In a child: the zygote has loaded the voice of `warm`. */
struct warmed {
    const struct speech_request *request;
    const char *warm;
};

static int
speak_warmed(const void *arg)
{
    const struct warmed *w = arg;
    struct errmsg err;
    struct synth_error why;

    if (open_data(NULL) == -1 || synth_init(&err) == -1) {
        return 1;
    }
    synth_warm(str_from(w->warm));
    return synth_speak(w->request, keep, NULL, NULL, &why) == 0 ? 0 : 1;
}

static void
a_warm_voice_says_the_same(void **state)
{
    (void)state;
    for (size_t v = 0; v < COUNT(voices); v++) {
        struct speech_request r = request(voices[v], "", SENTENCE);
        struct warmed same_voice = { &r, voices[v] }, other = { &r, "gmw/de" };

        same(sound_of(speak_warmed, &same_voice), ours(&r));
        same(sound_of(speak_warmed, &other), ours(&r));
    }
}

static void
refuses_unknown_voices(void **state)
{
    static const struct {
        const char *voice, *variant;
        int status; /* of HTTP, its hundreds */
    } rows[] = { { "gmw/xx", "", 4 },
                 { "gmw/en-US", "none", 4 },
                 { "../lang/gmw/en", "", 5 },
                 { "/etc/passwd", "", 5 },
                 { "gmw/en+f3", "", 5 },
                 { "", "", 5 },
                 { "gmw", "", 5 } };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct speech_request r = request(rows[i].voice, rows[i].variant, "a");
        struct sound s = ours(&r);

        assert_int_equal(s.status, rows[i].status);
        mem_free(&s.samples);
    }
}

/* The program has a system() of its own, which refuses. */
static void
run_shell(const char *command)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A tree of data as the system's, whose variants have one more line. */
static void
make_tree(char *path, const char *line)
{
    char command[512];

    str_copy(path, 32, STR("/tmp/weir-synth-XXXXXX"));
    assert_non_null(mkdtemp(path));
    snprintf(command, sizeof(command),
             "cp -r %s/. %s && cd %s && for f in voices/!v/*; do "
             "printf '\\n%s\\n' >> \"$f\"; done",
             catalogue_system_directory(), path, path, line);
    run_shell(command);
}

static void
remove_tree(const char *path)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -r %s", path);
    run_shell(command);
}

static void
same_in_tree(const char *tree, int64_t noise)
{
    for (size_t v = 0; v < COUNT(voices); v++) {
        for (size_t s = 1; s < COUNT(variants); s++) {
            struct speech_request r = request(voices[v], variants[s], SENTENCE);
            char name[80];
            struct bare b = { tree, name, SENTENCE, 0 };

            r.noise_scale = noise;
            snprintf(name, sizeof(name), "%s+%s", voices[v], variants[s]);
            same(ours(&r), sound_of(speak_bare, &b));
        }
    }
}

static void
noise_is_flutter(void **state)
{
    char tree[32];

    (void)state;
    make_tree(tree, "flutter 0");
    same_in_tree(tree, 0);
    remove_tree(tree);
}

/* Two texts at once in one voice without flutter are the same sound. */
static void
no_noise_is_the_same_each_time(void **state)
{
    struct speech_request r = request("gmw/en-US", "", SENTENCE);

    (void)state;
    r.noise_scale = 0;
    same(ours(&r), ours(&r));
    r = request("gmw/en-US", "whisper", SENTENCE);
    same(ours(&r), ours(&r));
}

/* Hz around a sample: the best match of a sound with itself; 0: none. */
static double
pitch_at(const int16_t *s)
{
    double best = 0, energy = 0;
    int found = 0;

    for (int i = 0; i < 400; i++) {
        energy += (double)s[i] * s[i];
    }
    for (int lag = RATE / 200; lag < RATE / 60; lag++) {
        double sum = 0, other = 0;

        for (int i = 0; i < 400; i++) {
            sum += (double)s[i] * s[i + lag];
            other += (double)s[i + lag] * s[i + lag];
        }
        sum /= sqrt(energy * other) + 1;
        if (sum > best) {
            best = sum;
            found = lag;
        }
    }
    return energy > 1e7 && best > 0.5 ? (double)RATE / found : 0;
}

/* How far the pitch of a monotone goes from its middle, Hz. */
static double
pitch_deviation(int64_t noise)
{
    struct speech_request r =
        request("gmw/en-US", "", "Ah, allow me a low annual moan, alone.");
    struct sound s;
    double sum = 0, squares = 0;
    int n = 0;

    r.noise_scale = noise;
    r.range = 0;
    s = ours(&r);
    for (size_t at = 0; at + 1300 < s.n; at += 400) {
        double hz = pitch_at(s.samples + at);

        if (hz > 0) {
            sum += hz;
            squares += hz * hz;
            n++;
        }
    }
    mem_free(&s.samples);
    assert_true(n > 40);
    return sqrt(squares / n - sum / n * (sum / n));
}

static void
more_noise_moves_the_pitch(void **state)
{
    double none = pitch_deviation(0);
    double usual = pitch_deviation(SPEECH_MILLION * 2 / 3);
    double more = pitch_deviation(SPEECH_MILLION * 3);
    double most = pitch_deviation(SPEECH_MILLION * 10);

    (void)state;
    print_message("pitch deviation: %.2f %.2f %.2f %.2f Hz\n", none, usual,
                  more, most);
    assert_true(more > none + 0.5 && more > usual + 0.5);
    assert_true(most > more + 0.5);
}

/* ---- texts ---- */

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
nothing_speakable_has_no_sound(void **state)
{
    static const char *const texts[] = { "", "...", " \n\t ", "-",
                                         "<break time=\"5s\"/>" };

    (void)state;
    for (size_t i = 0; i < COUNT(texts); i++) {
        struct speech_request r = request("gmw/en-US", "", texts[i]);

        r.ssml = texts[i][0] == '<';
        assert_int_equal(length(&r), 0);
    }
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
    for (int i = 0; i < 2; i++) {
        r.length_scale = i == 1 ? SPEECH_MILLION / 4 : SPEECH_MILLION;
        s = ours(&r);
        assert_int_equal(s.status, 4);
        assert_int_equal(s.n, 2 * RATE);
        mem_free(&s.samples);
    }
}

/* ---- lengths ---- */

static double
ratio(const char *voice, const char *text, int64_t length_scale)
{
    struct speech_request r = request(voice, "", text);
    double usual = (double)length(&r);

    r.length_scale = length_scale;
    return (double)length(&r) / usual;
}

static void
length_scale_is_the_length(void **state)
{
    static const char *const texts[] = {
        SENTENCE, "Hello.",
        "In 1998 there were 1234 people; 56 of them left. Why? Nobody knows!",
        "Yes. No. Maybe. I see. Go on. Stop. Well, then. Right."
    };
    static const int64_t scales[] = { 100000,  400000,  500000,  750000,
                                      900000,  1100000, 1500000, 2500000,
                                      4000000, 10000000 };
    double worst = 0;

    (void)state;
    for (size_t v = 0; v < 5; v++) {
        for (size_t t = 0; t < COUNT(texts); t++) {
            for (size_t s = 0; s < COUNT(scales); s++) {
                double is = ratio(voices[v], texts[t], scales[s]) *
                                SPEECH_MILLION / (double)scales[s] -
                            1;

                worst = fabs(is) > worst ? fabs(is) : worst;
                assert_true(fabs(is) < 0.03);
            }
        }
    }
    print_message("length_scale: off by %.2f %% at worst\n", 100 * worst);
}

/* Without `cut` zeros of each run of so many; into *runs how many there are. */
static void
take_silence(struct sound *s, size_t cut, size_t *runs)
{
    size_t to = 0, zeros = 0;

    *runs = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->samples[to++] = s->samples[i];
        zeros = s->samples[i] == 0 ? zeros + 1 : 0;
        if (zeros == cut) {
            to -= cut;
            ++*runs;
        }
    }
    s->n = to;
}

static void
silence_is_between_sentences(void **state)
{
    struct speech_request r =
        request("gmw/en-US", "", "One. Two, three. Four!");
    struct sound usual = ours(&r), with;
    size_t silence = RATE * 633 / 1000, runs;

    (void)state;
    r.sentence_silence = 633;
    with = ours(&r);
    assert_int_equal(with.n, usual.n + 2 * silence);
    take_silence(&usual, silence, &runs);
    assert_int_equal(runs, 0);
    take_silence(&with, silence, &runs);
    assert_int_equal(runs, 2);
    same(with, usual);
}

static int
take_little(void *arg, const int16_t *samples, size_t n)
{
    size_t *calls = arg;

    (void)samples;
    (void)n;
    return ++*calls == 3 ? -1 : 0;
}

static int
speak_to_who_leaves(const void *arg)
{
    struct synth_error e = { 0 };
    struct buf json;
    size_t calls = 0;
    int status;

    buf_init(&json, 1 << 20);
    if (open_data(NULL) == -1 || synth_init(&e.message) != RATE) {
        return 1;
    }
    status = synth_speak(arg, take_little, &calls, &json, &e);
    return status == 1 && calls == 3 ? 0 : 1;
}

static void
stops_when_nobody_listens(void **state)
{
    struct speech_request r = request("gmw/en-US", "", SENTENCE);

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct sound s;

        r.length_scale = i == 1 ? 2 * SPEECH_MILLION : SPEECH_MILLION;
        r.sentence_silence = i == 2 ? 100 : 0;
        s = sound_of(speak_to_who_leaves, &r);
        assert_int_equal(s.status, 0);
        mem_free(&s.samples);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_the_library_says),
        cmocka_unit_test(a_warm_voice_says_the_same),
        cmocka_unit_test(refuses_unknown_voices),
        cmocka_unit_test(noise_is_flutter),
        cmocka_unit_test(no_noise_is_the_same_each_time),
        cmocka_unit_test(more_noise_moves_the_pitch),
        cmocka_unit_test(blanks_controls),
        cmocka_unit_test(nothing_speakable_has_no_sound),
        cmocka_unit_test(cuts_what_is_too_long),
        cmocka_unit_test(length_scale_is_the_length),
        cmocka_unit_test(silence_is_between_sentences),
        cmocka_unit_test(stops_when_nobody_listens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
