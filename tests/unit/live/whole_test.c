/*
 * A publisher that comes to a record to which anybody may have written: it gets
 * the name, with a stream that is made anew.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>

#include "arena_fixture.h"

static const uint64_t words[] = {
    UINT64_C(1) << 40,
    (uint64_t)INT64_MAX,
    (uint64_t)INT64_MIN,
    UINT64_MAX,
};
#define WORDS (sizeof(words) / sizeof(words[0]))

static uint32_t slot;

static int
setup(void **state)
{
    (void)state;
    slot = fixture_master();
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fixture_master_end();
    return 0;
}

/* The stream of that name, asked for by the worker until it has it. */
static struct stream *
claim(const char *name, int64_t hold)
{
    struct live_publish what = fixture_publish(name);
    int64_t until = clock_ms() + 100000;
    enum stream_answer answer = STREAM_RETRY;
    struct stream *s = NULL;

    what.hold = hold;
    while (answer == STREAM_RETRY && clock_ms() < until) {
        slot_set_self(slot);
        answer = stream_claim(&what, &s);
        slot_set_self(0);
        loop_turn(fixture_loop, 0);
    }
    assert_int_equal(answer, STREAM_YOURS);
    return s;
}

/* A stream that the worker writes, of some segments. */
static struct stream *
new_stream(const char *name, int64_t hold)
{
    struct stream *s = claim(name, hold);
    struct writer w;

    slot_set_self(slot);
    writer_start(&w, s);
    append(&w, VIDEO_HEADER, 0, 40);
    append(&w, KEY, 0, 200000);
    slot_set_self(0);
    return s;
}

/* ---- what is spoilt ---- */

static void
spoil_head(struct stream *s, uint64_t word)
{
    atomic_store(&s->head, word);
}

static void
spoil_tail(struct stream *s, uint64_t word)
{
    atomic_store(&s->tail, word);
}

static void
spoil_media_first(struct stream *s, uint64_t word)
{
    atomic_store(&s->media_first, word);
}

static void
spoil_media_end(struct stream *s, uint64_t word)
{
    atomic_store(&s->media_end, word);
}

static void
spoil_index_first(struct stream *s, uint64_t word)
{
    atomic_store(&s->index_first, word);
}

static void
spoil_index_end(struct stream *s, uint64_t word)
{
    atomic_store(&s->index_end, word);
}

static void
spoil_both_ends(struct stream *s, uint64_t word)
{
    atomic_store(&s->media_first, word);
    atomic_store(&s->media_end, word);
}

static void
spoil_oldest(struct stream *s, uint64_t word)
{
    frame_at(s, atomic_load(&s->head))->position = word;
}

static void
spoil_newest(struct stream *s, uint64_t word)
{
    frame_at(s, atomic_load(&s->tail) - 1)->position = word;
}

static void
spoil_length(struct stream *s, uint64_t word)
{
    (void)word;
    frame_at(s, atomic_load(&s->tail) - 1)->wire_len = UINT32_MAX;
}

static void
spoil_chunks(struct stream *s, uint64_t word)
{
    s->chunk_size = (uint32_t)word & 127;
}

static void
spoil_great_chunks(struct stream *s, uint64_t word)
{
    s->chunk_size = LIVE_CHUNK_MAX + 1 + (uint32_t)(word & 127);
}

static void
spoil_segments(struct stream *s, uint64_t word)
{
    s->cut_rules.segment = (uint32_t)(word & 127) + LIVE_CUT_TARGET_MAX + 1;
    s->cut_rules.max_segment = s->cut_rules.segment;
}

static void
spoil_name(struct stream *s, uint64_t word)
{
    atomic_store(&s->name_len, (uint32_t)word & 3);
}

static void
spoil_prologue(struct stream *s, uint64_t word)
{
    atomic_store(&s->prologue, ((uint32_t)word & 255) | 1u << 20);
}

static void
spoil_cuts(struct stream *s, uint64_t word)
{
    (void)word;
    atomic_store(&s->cuts, atomic_load(&s->prologue));
}

static void
spoil_last_index(struct stream *s, uint64_t word)
{
    (void)word;
    atomic_store(&s->index[0], segment_take(stream_number(s) + 1));
}

static void
spoil_parts(struct stream *s, uint64_t word)
{
    (void)word;
    s->cut_rules.segment = s->cut_rules.max_segment = 2000;
    s->cut_rules.part = LIVE_CUT_TARGET_MAX + 1;
}

static const struct {
    const char *name;
    void (*spoil)(struct stream *s, uint64_t word);
} spoils[] = {
    { "head", spoil_head },
    { "tail", spoil_tail },
    { "media_first", spoil_media_first },
    { "media_end", spoil_media_end },
    { "index_first", spoil_index_first },
    { "index_end", spoil_index_end },
    { "media_first and media_end", spoil_both_ends },
    { "the oldest frame's position", spoil_oldest },
    { "the newest frame's position", spoil_newest },
    { "the newest frame's length", spoil_length },
    { "chunk_size", spoil_chunks },
    { "a great chunk_size", spoil_great_chunks },
    { "name_len", spoil_name },
    { "prologue", spoil_prologue },
    { "cuts", spoil_cuts },
    { "index", spoil_last_index },
    { "cut_rules.segment", spoil_segments },
    { "cut_rules.part", spoil_parts },
};
#define SPOILS (sizeof(spoils) / sizeof(spoils[0]))

/* ---- what becomes of it ---- */

/* Its hold goes on. */
static void
spoil_and_publish(size_t row, uint64_t word, const char *name)
{
    struct stream *s = new_stream(name, LIVE_HOLD_MAX);
    struct writer w;

    spoils[row].spoil(s, word);
    slot_set_self(slot);
    stream_leave(s);
    if (stream_is_whole(s) && str_eq(stream_name(s), str_from(name))) {
        fail_msg("%s: %llx", spoils[row].name, (unsigned long long)word);
    }
    s = claim(name, LIVE_HOLD_MAX);
    slot_set_self(slot);
    writer_start(&w, s);
    append(&w, VIDEO_HEADER, 0, 40);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(append(&w, KEY, 40 * i, 100000), 0);
        assert_true(stream_is_whole(s));
    }
    assert_int_equal(atomic_load(&s->tail), 6);
    stream_abandon(s);
    slot_set_self(0);
}

static void
test_a_publisher_comes(void **state)
{
    (void)state;
    for (size_t i = 0; i < SPOILS; i++) {
        for (size_t k = 0; k < WORDS; k++) {
            char name[LIVE_NAME_MAX];

            snprintf(name, sizeof(name), "live/%zu-%zu", i, k);
            spoil_and_publish(i, words[k], name);
        }
    }
}

/* The longest parts beside the shortest segments. */
static void
test_what_settings_allow(void **state)
{
    struct stream *s = new_stream("live/a", 0);

    (void)state;
    s->cut_rules.segment = s->cut_rules.max_segment = 1000;
    s->cut_rules.part = 5000;
    assert_true(stream_is_whole(s));
}

/* Between the look at it and its use: the frame is written soon. */
static void
test_a_position_spoilt_meanwhile(void **state)
{
    struct stream *s = claim("live/a", 0);
    struct writer w;

    (void)state;
    slot_set_self(slot);
    fixture_play(s);
    writer_start(&w, s);
    append(&w, VIDEO_HEADER, 0, 40);
    for (uint32_t i = 0; i < 3; i++) {
        append(&w, KEY, 40 * i, 200000);
    }
    frame_at(s, 0)->arrived_ms = frame_at(s, 1)->arrived_ms = 0;
    frame_at(s, 2)->position = UINT64_C(1) << 60;
    append(&w, KEY, 200, 1000);
    assert_int_equal(atomic_load(&s->head), 2);
    slot_set_self(0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_publisher_comes),
        TEST(test_what_settings_allow),
        TEST(test_a_position_spoilt_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
