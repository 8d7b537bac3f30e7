/*
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "timings.h"

#include <math.h>

#include "sound_help.h"
#include "json/read.h"

#define TEXT "Hello, wörld one. Two 1998 three! (four)"

struct answer {
    struct pool *pool;
    const struct json_value *root;
    struct sound sound;
};

static struct answer
timings_of(struct speech_request r)
{
    struct answer a = { .pool = pool_new(4096) };
    struct errmsg err;

    r.format = SPEECH_TIMINGS;
    a.sound = ours(&r);
    assert_int_equal(a.sound.status, 0);
    a.root = json_read(a.pool, str_from((const char *)a.sound.samples), &err);
    assert_non_null(a.root);
    return a;
}

static void
forget(struct answer *a)
{
    mem_free(&a->sound.samples);
    pool_free(&a->pool);
}

static double
number(const struct json_value *v, const char *name)
{
    const struct json_value *member = json_member(v, name);

    assert_non_null(member);
    assert_int_equal(member->kind, JSON_NUMBER);
    return member->number;
}

/* In order, inside the whole, and the texts as they stand there. */
static void
check(const struct json_value *list, const char *const *words, double duration)
{
    double end = 0;
    const struct json_value *v = list->first;

    for (; *words != NULL; words++, v = v->next) {
        assert_non_null(v);
        assert_true(str_eq(json_member_str(v, "text"), str_from(*words)));
        assert_true(number(v, "start") >= end);
        end = number(v, "end");
        assert_true(end > number(v, "start") && end <= duration + 0.001);
    }
    assert_null(v);
}

static void
words_and_sentences_are_timed(void **state)
{
    static const char *const words[] = { "Hello", "wörld", "one",  "Two",
                                         "1998",  "three", "four", NULL };
    static const char *const sentences[] = { "Hello, wörld one",
                                             "Two 1998 three", "four", NULL };
    struct speech_request r = request("gmw/en-US", "f3", TEXT);

    (void)state;
    for (int i = 0; i < 5; i++) {
        struct answer a;
        struct sound s;

        r.noise_w_scale = i == 1 || i == 4 ? SPEECH_MILLION : 0;
        r.sentence_silence = i == 2 || i == 4 ? 500 : 0;
        r.length_scale = i >= 3 ? 2 * SPEECH_MILLION : SPEECH_MILLION;
        a = timings_of(r);
        s = ours(&r);
        assert_true(fabs(number(a.root, "duration") - (double)s.n / RATE) <
                    0.001);
        assert_int_equal(number(a.root, "sample_rate"), RATE);
        assert_true(str_eq(json_member_str(a.root, "voice"), STR("en-US+f3")));
        check(json_member(a.root, "words"), words, (double)s.n / RATE);
        check(json_member(a.root, "sentences"), sentences, (double)s.n / RATE);
        forget(&a);
        mem_free(&s.samples);
    }
}

/* Seconds where a word begins, of the word's index. */
static double
start_of(const struct answer *a, int index)
{
    const struct json_value *v = json_member(a->root, "words")->first;

    while (index-- > 0) {
        v = v->next;
    }
    return number(v, "start");
}

static void
silence_and_scale_move_words(void **state)
{
    struct speech_request r = request("gmw/en-US", "", TEXT);
    struct answer usual = timings_of(r), later, slower;

    (void)state;
    r.sentence_silence = 500;
    later = timings_of(r);
    r.sentence_silence = 0;
    r.length_scale = 2 * SPEECH_MILLION;
    slower = timings_of(r);
    assert_true(fabs(start_of(&later, 2) - start_of(&usual, 2)) < 0.002);
    assert_true(fabs(start_of(&later, 3) - start_of(&usual, 3) - 0.5) < 0.002);
    assert_true(fabs(start_of(&later, 6) - start_of(&usual, 6) - 1.0) < 0.002);
    assert_true(fabs(start_of(&slower, 6) / start_of(&usual, 6) - 2) < 0.01);
    forget(&usual);
    forget(&later);
    forget(&slower);
}

static void
ssml_counts_the_tags(void **state)
{
    static const char *const words[] = { "big", "dog", NULL };
    struct speech_request r = request("gmw/en-US", "", "<p>big</p> <b>dog</b>");
    struct answer a;

    (void)state;
    r.ssml = true;
    for (int i = 0; i < 2; i++) {
        r.noise_w_scale = i * SPEECH_MILLION;
        a = timings_of(r);
        check(json_member(a.root, "words"), words, 10);
        assert_int_equal(number(json_member(a.root, "words")->first, "from"),
                         3);
        assert_int_equal(number(json_member(a.root, "words")->first, "to"), 6);
        forget(&a);
    }
}

static void
nothing_is_timed_of_nothing(void **state)
{
    struct answer a = timings_of(request("gmw/en-US", "", "..."));

    (void)state;
    assert_true(number(a.root, "duration") < 0.001);
    assert_null(json_member(a.root, "words")->first);
    assert_null(json_member(a.root, "sentences")->first);
    forget(&a);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_sentences_are_timed),
        cmocka_unit_test(silence_and_scale_move_words),
        cmocka_unit_test(ssml_counts_the_tags),
        cmocka_unit_test(nothing_is_timed_of_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
