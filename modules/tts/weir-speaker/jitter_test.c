/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "jitter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sound_help.h"
#include "json/read.h"

static const char *const texts[] = {
    "The quick brown fox jumps over the lazy dog, and then it runs home. "
    "Nobody saw it, and nobody asked where the animal had been all day.",
    "In 1998 there were 1234 people; some of them left early. Why? Nobody "
    "knows what happened to those who stayed behind.",
    "It was the best of times, it was the worst of times, it was the age of "
    "wisdom, it was the age of foolishness.",
};

/* ---- the text ---- */

static void
make(struct jitter *j, const char *text, int64_t amount, bool ssml)
{
    struct jitter_options o = { amount, 7, ssml };

    assert_int_equal(jitter_make(j, str_from(text), &o), 0);
}

/* The changed text without its commands, and where each character was. */
static void
undo(const struct jitter *j, const char *text)
{
    const char *s = (const char *)buf_data(&j->text);
    size_t character = 0, original = 0;

    while (*s != '\0') {
        if (*s == 1) {
            for (; *s != 'S'; s++, character++) {
                assert_int_equal(jitter_original(j, character), original);
            }
            s++;
            character++;
            continue;
        }
        assert_int_equal(*s, *text);
        if (((unsigned char)*s & 0xc0) != 0x80) {
            assert_int_equal(jitter_original(j, character), original);
            character++;
            original++;
        }
        s++;
        text++;
    }
    assert_int_equal(*text, '\0');
}

static size_t
commands(const struct jitter *j)
{
    size_t n = 0;

    for (size_t i = 0; i < buf_len(&j->text); i++) {
        n += buf_data(&j->text)[i] == 1;
    }
    return n;
}

static void
characters_are_found_again(void **state)
{
    struct jitter j = { 0 };

    (void)state;
    assert_int_equal(jitter_original(&j, 17), 17);
    for (int ssml = 0; ssml < 2; ssml++) {
        static const char text[] = "Wörld ünd <b>mäny</b> &amp; "
                                   "wörds,\nsome 5 < 6 (odd) <p/>last "
                                   "x<b>y</b>";

        make(&j, text, SPEECH_MILLION, ssml == 1);
        assert_true(commands(&j) >= 5);
        undo(&j, text);
        assert_null(strstr((const char *)buf_data(&j.text), "x<b>\x01"));
        jitter_clear(&j);
    }
}

static void
tags_stay_whole(void **state)
{
    static const char text[] =
        "<speak>one two <prosody rate=\"slow\" >three four</prosody>"
        "<say-as interpret-as=\"characters\">abc def</say-as> "
        "<!-- a b c --> &lt;x y &amp; <sub alias=\"q w\">z u</sub> five";
    const char *s;
    struct jitter j;
    bool tag = false, entity = false;

    (void)state;
    make(&j, text, SPEECH_MILLION, true);
    undo(&j, text);
    s = (const char *)buf_data(&j.text);
    assert_null(strstr(s, "\x01"
                          "abc"));
    for (; *s != '\0'; s++) {
        tag = *s == '<' || (tag && *s != '>');
        entity = *s == '&' || (entity && *s != ';');
        assert_true(*s != 1 || (!tag && !entity));
    }
    s = strstr((const char *)buf_data(&j.text), "characters\">");
    assert_memory_equal(s, "characters\">abc def</say-as>", 28);
    jitter_clear(&j);
}

/* Before an element of rates the differences sum up to nothing. */
static void
differences_end_before_rates(void **state)
{
    const char *s;
    struct jitter j;
    long sum = 0;

    (void)state;
    make(&j, "one two three <prosody rate=\"slow\">four", SPEECH_MILLION, true);
    for (s = (const char *)buf_data(&j.text); *s != '<'; s++) {
        sum += *s == 1 ? strtol(s + 1, NULL, 10) : 0;
    }
    assert_int_equal(sum, 0);
    assert_true(commands(&j) >= 4);
    jitter_clear(&j);
}

static void
a_clause_has_room(void **state)
{
    static char text[4001];
    struct jitter j;
    size_t n = 0;

    (void)state;
    for (size_t i = 0; i < sizeof(text) - 1; i++) {
        text[i] = i % 2 == 0 ? 'a' : ' ';
    }
    make(&j, text, 2 * SPEECH_MILLION, false);
    n = commands(&j);
    assert_true(n > 50 && n <= 200);
    jitter_clear(&j);
    text[2000] = '.';
    make(&j, text, 2 * SPEECH_MILLION, false);
    assert_int_equal(commands(&j), 2 * n);
    jitter_clear(&j);
}

static void
rates_fall_with_the_factor(void **state)
{
    (void)state;
    assert_int_equal(jitter_rate(1000), 175);
    for (int64_t f = 500; f < 1500; f++) {
        assert_true(jitter_rate(f) >= jitter_rate(f + 1));
        assert_true(jitter_rate(f) > 110 && jitter_rate(f) < 350);
    }
}

/* ---- the sound ---- */

#define WORDS_MAX 64

static size_t
durations(const char *text, int64_t amount, double *seconds)
{
    struct speech_request r = request("gmw/en-US", "", text);
    const struct json_value *v;
    struct pool *pool = pool_new(4096);
    struct errmsg err;
    struct sound s;
    size_t n = 0;

    r.noise_w_scale = amount;
    r.format = SPEECH_TIMINGS;
    s = ours(&r);
    v = json_read(pool, str_trim(str_from((const char *)s.samples)), &err);
    assert_non_null(v);
    for (v = json_member(v, "words")->first; v != NULL && n < WORDS_MAX;
         v = v->next) {
        seconds[n++] =
            json_member(v, "end")->number - json_member(v, "start")->number;
    }
    mem_free(&s.samples);
    pool_free(&pool);
    return n;
}

/* How far words are from what they last without; into mean: the whole. */
static double
deviation(int64_t amount, double *mean)
{
    double sum = 0, squares = 0, usual = 0, changed = 0;
    size_t all = 0;

    for (size_t t = 0; t < COUNT(texts); t++) {
        double a[WORDS_MAX], b[WORDS_MAX];
        size_t n = durations(texts[t], 0, a);

        assert_int_equal(durations(texts[t], amount, b), n);
        for (size_t i = 0; i < n; i++, all++) {
            sum += b[i] / a[i];
            squares += b[i] / a[i] * (b[i] / a[i]);
            usual += a[i];
            changed += b[i];
        }
    }
    *mean = changed / usual;
    return sqrt(squares / (double)all - pow(sum / (double)all, 2));
}

static void
words_last_differently(void **state)
{
    static const int64_t amounts[] = { 200000, 800000, 2000000 };
    double least = 0.005;

    (void)state;
    for (size_t i = 0; i < COUNT(amounts); i++) {
        double mean, is = deviation(amounts[i], &mean);

        print_message("noise_w_scale %.1f: words +-%.1f %%, all %+.1f %%\n",
                      (double)amounts[i] / SPEECH_MILLION, 100 * is,
                      100 * (mean - 1));
        assert_true(is > 1.3 * least);
        assert_true(fabs(mean - 1) < 0.03);
        least = is;
    }
}

static void
equal_requests_sound_equal(void **state)
{
    struct speech_request r = request("gmw/en-US", "", texts[0]);
    struct sound a, b;

    (void)state;
    r.noise_w_scale = 800000;
    same(ours(&r), ours(&r));
    a = ours(&r);
    r.noise_w_scale = 0;
    b = ours(&r);
    assert_true(a.n != b.n);
    mem_free(&a.samples);
    mem_free(&b.samples);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(characters_are_found_again),
        cmocka_unit_test(tags_stay_whole),
        cmocka_unit_test(differences_end_before_rates),
        cmocka_unit_test(a_clause_has_room),
        cmocka_unit_test(rates_fall_with_the_factor),
        cmocka_unit_test(words_last_differently),
        cmocka_unit_test(equal_requests_sound_equal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
