/*
 * The master and a record that anybody may have written to: whatever stands
 * there, it neither leaves its memory, nor goes on for ever, nor keeps what it
 * should give back.
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

#include "arena_fixture.h"

static const uint64_t words[] = {
    1,
    MEDIA_RING,
    UINT64_C(1) << 31,
    UINT32_MAX,
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

/* A stream that the worker writes, of some segments. */
static struct stream *
new_stream(int64_t hold)
{
    struct live_publish what = fixture_publish("live/a");
    struct stream *s = NULL;
    struct writer w;

    what.hold = hold;
    slot_set_self(slot);
    assert_int_equal(stream_claim(&what, &s), STREAM_YOURS);
    writer_start(&w, s);
    append(&w, VIDEO_HEADER, 0, 40);
    append(&w, KEY, 0, 200000);
    slot_set_self(0);
    return s;
}

static void
leave(struct stream *s)
{
    slot_set_self(slot);
    stream_leave(s);
    slot_set_self(0);
}

static bool
is_free(const struct stream *s)
{
    return atomic_load(&arena.keys[stream_number(s)]) == STREAM_FREE;
}

static void
wait_for_end(const struct stream *s)
{
    int64_t until = clock_ms() + 100000;

    while (!is_free(s) && clock_ms() < until) {
        loop_turn(fixture_loop, 5);
    }
    assert_true(is_free(s));
    while (segments_in_use() > 0 && clock_ms() < until) {
        loop_turn(fixture_loop, 5);
    }
    assert_int_equal(segments_in_use(), 0);
}

static void
test_ends_of_rings(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORDS; i++) {
        struct stream *s = new_stream(0);
        _Atomic uint64_t *ends[] = { &s->media_first, &s->media_end,
                                     &s->index_first, &s->index_end };

        atomic_store(ends[i % 4], words[i]);
        leave(s);
        wait_for_end(s);
        s = new_stream(0);
        for (size_t k = 0; k < 4; k++) {
            atomic_store(ends[k], words[(i + k) % WORDS]);
        }
        leave(s);
        wait_for_end(s);
    }
}

static void
test_numbers_of_segments(void **state)
{
    static const uint32_t wrong[] = { 0xfffffff0, 0x7fffffff, 1000, 127 };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct stream *s = new_stream(0);

        atomic_store(&s->media[1], wrong[i]);
        leave(s);
        wait_for_end(s);
        s = new_stream(0);
        atomic_store(&s->index[0], wrong[i]);
        leave(s);
        wait_for_end(s);
        s = new_stream(0);
        atomic_store(&s->prologue, wrong[i]);
        leave(s);
        wait_for_end(s);
    }
}

/* Those of another stream stay its own. */
static void
test_segments_of_others(void **state)
{
    struct stream *s = new_stream(0);
    uint32_t others = segment_take(5);

    (void)state;
    atomic_store(&arena.streams[5].writer, slot_owner_of(slot));
    atomic_store(&arena.keys[5], STREAM_OPEN);
    atomic_store(&s->media[0], others);
    leave(s);
    while (stream_is_open(s) || segments_in_use() != 1) {
        loop_turn(fixture_loop, 5); /* the one not named is found */
    }
    assert_true(segment_used_by(others, 5));
    assert_false(segment_retire(others, 4));
    assert_false(segment_retire(arena.segment_count, 5));
    assert_false(segment_used_by(UINT32_MAX, 5));
    assert_true(segment_retire(others, 5));
    assert_false(segment_retire(others, 5)); /* once */
    wait_for_end(s);
}

/* What no stream can have is found by itself. */
static void
test_words_of_segments(void **state)
{
    uint32_t at = arena.segment_count - 1;
    struct stream *s = new_stream(10000);
    uint64_t before = segments_in_use();
    struct live_memory_view v;

    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        atomic_store(&arena.states[at - i],
                     (uint64_t)(i == 0 ? SEGMENT_USED : i) << 62 |
                         (UINT64_C(1) << 40));
    }
    segments_trim();
    assert_int_equal(segments_in_use(), before);
    for (uint32_t i = 0; i < arena.segment_count; i++) {
        segment_take(stream_number(s));
    }
    live_memory(&v);
    assert_int_equal(v.used, arena.segment_count); /* all can be had */
}

static void
test_a_dead_writer(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORDS; i++) {
        struct stream *s = new_stream(0);

        atomic_store(&s->media_end, words[i]);
        atomic_store(&s->index_first, words[(i + 3) % WORDS]);
        atomic_store(&s->media[0], (uint32_t)words[i]);
        atomic_store(&s->takeover, (slot_owner)words[i]);
        live_sweep(slot);
        wait_for_end(s);
    }
}

static void
test_a_writer_that_never_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORDS; i++) {
        struct stream *s = new_stream(0);

        atomic_store(&s->writer, (slot_owner)words[i]);
        wait_for_end(s);
    }
}

/* They would be kept for ever.  One that a worker makes is left to it. */
static void
test_records_that_nobody_makes(void **state)
{
    static const uint32_t nobody[] = { 0, FIXTURE_SLOTS - 1, SLOT_MAX - 1 };
    uint64_t made = key_make(STREAM_CLAIMED, slot, 7);

    (void)state;
    atomic_store(&arena.keys[0], made);
    for (uint32_t i = 0; i < 3; i++) {
        atomic_store(&arena.keys[7 - i],
                     key_make(STREAM_CLAIMED, nobody[i], 8));
    }
    for (uint32_t i = 0; i < 3; i++) {
        while (atomic_load(&arena.keys[7 - i]) != STREAM_FREE) {
            loop_turn(fixture_loop, 5);
        }
    }
    assert_true(atomic_load(&arena.keys[0]) == made);
}

/* Neither for ever nor with a number that overflows. */
static void
test_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < WORDS; i++) {
        struct stream *s = new_stream(0);

        atomic_store(&s->hold_ms, (int64_t)words[i]);
        atomic_store(&s->last_arrived_ms, (int64_t)words[WORDS - 1 - i]);
        atomic_store(&s->created_ms, (int64_t)words[i]);
        leave(s);
        assert_true(atomic_load(&s->hold_until) <= clock_ms() + LIVE_HOLD_MAX);
        atomic_store(&s->hold_until, (int64_t)words[i]);
        atomic_store(&s->owed_until, (int64_t)words[i]);
        stream_set_owing(s, slot, true);
        for (int turn = 0; turn < 3; turn++) {
            loop_turn(fixture_loop, 5);
        }
        assert_true(atomic_load(&s->hold_until) <= clock_ms() + LIVE_HOLD_MAX);
        stream_set_owing(s, slot, false);
        atomic_store(&s->hold_until, 0);
        wait_for_end(s);
    }
}

/* No stream is kept for longer than an application may ask for. */
static void
test_times_that_no_setting_allows(void **state)
{
    struct stream *s = new_stream(0);

    (void)state;
    live_master_allow(50, 20);
    live_master_allow(30, 10); /* those of before go on */
    leave(s);
    stream_set_owing(s, slot, true);
    atomic_store(&s->hold_until, INT64_MAX);
    atomic_store(&s->owed_until, INT64_MAX);
    loop_turn(fixture_loop, 5);
    while (atomic_load(&s->hold_until) == INT64_MAX) {
        loop_turn(fixture_loop, 5);
    }
    assert_true(atomic_load(&s->hold_until) <= clock_ms() + 50);
    wait_for_end(s);
}

static void
test_epochs(void **state)
{
    struct stream *s = new_stream(0);

    (void)state;
    leave(s);
    atomic_store(&slot_at(slot)->epoch_seen, 1);
    while (stream_is_open(s)) {
        loop_turn(fixture_loop, 5);
    }
    atomic_store(&s->ended_epoch, UINT64_MAX);
    atomic_store(&slot_at(slot)->epoch_seen, UINT64_MAX);
    wait_for_end(s);
    s = new_stream(0);
    atomic_store(&arena.head->epoch, UINT64_MAX);
    leave(s);
    wait_for_end(s);
}

/* Processes that read no media never write what they have seen: whatever stands
 * there holds nothing back. */
static void
test_epochs_of_who_reads_nothing(void **state)
{
    int role = slot_take(SLOT_ROLE, "role", 0, 0);
    struct stream *s = new_stream(0);

    (void)state;
    assert_true(role > 0);
    slot_reads_no_media((uint32_t)role);
    atomic_store(&slot_at(0)->epoch_seen, 0);
    atomic_store(&slot_at((uint32_t)role)->epoch_seen, 1);
    leave(s);
    wait_for_end(s);
    assert_int_equal(epoch_oldest(), atomic_load(&arena.head->epoch));
    for (uint32_t i = 0; i < arena.segment_count; i++) {
        assert_int_not_equal(segment_take(stream_number(s)), SEGMENT_NONE);
    }
    slot_release((uint32_t)role);
    assert_int_equal(slot_take(SLOT_WORKER, "worker", 0, 0), role);
    atomic_store(&slot_at((uint32_t)role)->epoch_seen, 1);
    assert_int_equal(epoch_oldest(), 1);
}

/* Nobody wakes the master, and the word that says whether it sleeps lies. */
static void
test_a_master_that_is_not_woken(void **state)
{
    struct stream *s;

    (void)state;
    fixture_turns(3);
    atomic_store(&slot_at(0)->asleep, 0);
    s = new_stream(0);
    leave(s);
    wait_for_end(s);
}

static void
test_slots_that_do_not_exist(void **state)
{
    struct stream *s = new_stream(0);

    (void)state;
    for (size_t i = 0; i < SLOT_MAX / 64; i++) {
        atomic_store(&s->readers[i], UINT64_MAX);
        atomic_store(&s->owing[i], UINT64_MAX);
    }
    wake_slot(FIXTURE_SLOTS, 0);
    wake_slot(UINT32_MAX, 0);
    wake_readers(s);
    atomic_store(&s->owed_until, 0);
    atomic_store(&s->writer, UINT64_MAX);
    atomic_store(&s->takeover, UINT64_MAX);
    leave(s);
    atomic_store(&s->owed_until, 0);
    wait_for_end(s);
}

static void
test_names(void **state)
{
    struct stream *s = new_stream(0);
    char name[LIVE_NAME_MAX];
    struct live_tally *tally;
    struct live_stream_view v;
    uint32_t at = 0;

    (void)state;
    atomic_store(&s->name_len, 0x7fffffff);
    memset(s->name, 'x', sizeof(s->name));
    assert_int_equal(stream_name(s).len, LIVE_NAME_MAX - 1);
    assert_true(live_next_name(&at, name));
    assert_int_equal(strlen(name), LIVE_NAME_MAX - 1);
    at = 0;
    tally = live_tally_new();
    memset((void *)&s->video, 'x', sizeof(s->video));
    memset((void *)&s->audio, 'x', sizeof(s->audio));
    atomic_store(&s->created_ms, INT64_MIN);
    atomic_store(&s->media_end, UINT64_MAX);
    assert_true(live_next_stream(tally, &at, &v));
    assert_int_equal(strlen(v.video.profile), sizeof(v.video.profile) - 1);
    assert_int_equal(strlen(v.video.level), sizeof(v.video.level) - 1);
    assert_int_equal(strlen(v.audio.profile), sizeof(v.audio.profile) - 1);
    assert_true(v.started_ms >= 0 && v.started_ms <= clock_ms());
    assert_true(v.memory <= (MEDIA_RING + INDEX_RING + 1) * SEGMENT_SIZE);
    live_tally_free(&tally);
}

static void
test_sessions(void **state)
{
    struct session_record *r = &arena.sessions[3];
    struct live_session_view v;
    struct live_memory_view m;
    uint32_t at = 0;

    (void)state;
    atomic_store(&arena.head->session_end, UINT32_MAX);
    memset((void *)r, 0xff, sizeof(*r));
    atomic_store(&arena.claims[3].owner, UINT64_MAX);
    atomic_store(&r->started_ms, INT64_MIN);
    assert_true(live_next_session(&at, &v));
    assert_int_equal(at, 4);
    assert_true(v.kind < LIVE_KINDS);
    assert_true(v.started_ms >= 0 && v.started_ms <= clock_ms());
    assert_non_null(live_kind_name(v.kind));
    assert_false(live_next_session(&at, &v));
    assert_int_equal(at, arena.session_count);
    live_memory(&m);
    assert_int_equal(m.sessions, 1);
    live_sweep(slot);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ends_of_rings),
        TEST(test_numbers_of_segments),
        TEST(test_segments_of_others),
        TEST(test_words_of_segments),
        TEST(test_a_dead_writer),
        TEST(test_a_writer_that_never_was),
        TEST(test_records_that_nobody_makes),
        TEST(test_times),
        TEST(test_times_that_no_setting_allows),
        TEST(test_epochs),
        TEST(test_epochs_of_who_reads_nothing),
        TEST(test_a_master_that_is_not_woken),
        TEST(test_slots_that_do_not_exist),
        TEST(test_names),
        TEST(test_sessions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
