/*
 * The master's part: what processes leave behind when they are killed at any
 * point, and the end of streams on hold.
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

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena_fixture.h"
#include "live/metrics.h"

#define MURDERS 60

static int
setup(void **state)
{
    struct errmsg err;

    (void)state;
    fixture_arena();
    slot_release(slot_self());
    slot_set_self(0); /* the master */
    fixture_loop = loop_new(&err);
    assert_int_equal(live_master_start(fixture_loop, &err), 0);
    return 0;
}

/* So many that looking at all takes its time. */
static int
setup_many(void **state)
{
    fixture_streams = 65536;
    setup(state);
    fixture_streams = 8;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    live_master_stop();
    loop_free(&fixture_loop);
    fixture_arena_end();
    return 0;
}

/* A process that claims the name and writes to it until it is killed. */
static void
write_for_ever(const char *name)
{
    struct live_publish what = fixture_publish(name);
    struct stream *s = NULL;
    struct writer w;

    arena.settings.window = 0; /* segments come and go all the time */
    while (stream_claim(&what, &s) != STREAM_YOURS) {
    }
    writer_start(&w, s);
    for (uint32_t i = 0;; i++) {
        append(&w,
               i % 50 == 0   ? VIDEO_HEADER
               : i % 25 == 0 ? KEY
                             : INTER,
               i, i * 7919 % 30000);
        if (i % 1000 == 999) { /* leaves and comes back */
            stream_leave(s);
            while (stream_claim(&what, &s) != STREAM_YOURS) {
            }
            writer_start(&w, s);
        }
    }
}

/* Segments that the streams say they hold. */
static uint64_t
segments_held(void)
{
    uint64_t held = 0;

    for (uint32_t i = 0; i < arena.stream_count; i++) {
        struct stream *s = &arena.streams[i];

        if (stream_is_open(s)) {
            held += atomic_load(&s->media_end) - atomic_load(&s->media_first);
            held += atomic_load(&s->index_end) - atomic_load(&s->index_first);
            held += atomic_load(&s->prologue) != SEGMENT_NONE;
        }
    }
    return held;
}

static void
check_all_frames(struct stream *s)
{
    for (uint64_t i = atomic_load(&s->head); i < atomic_load(&s->tail); i++) {
        struct message m = message_of(s, i);

        assert_int_equal(m.timestamp, frame_at(s, i)->timestamp);
        mem_free(&m.payload);
    }
}

static void
bury(uint32_t slot)
{
    slot_bury(slot);
    live_sweep(slot);
    slot_release(slot);
}

static void
kill_one(unsigned microseconds)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
    pid_t pid = fork();

    if (pid == 0) {
        slot_set_self(slot);
        write_for_ever("live/a");
    }
    while (stream_find(STR("live/a")) == NULL) {
    }
    usleep(microseconds);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    bury(slot);
}

static void
test_writers_killed_anywhere(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MURDERS; i++) {
        struct stream *s;

        kill_one(500 + i * 131);
        s = stream_find(STR("live/a"));
        assert_non_null(s);
        assert_int_equal(atomic_load(&s->writer), 0);
        assert_int_equal(segments_in_use(), segments_held());
        check_all_frames(s);
    }
    for (uint32_t i = 1; i < arena.stream_count; i++) {
        assert_int_equal(atomic_load(&arena.keys[i]), STREAM_FREE);
    }
}

/* It was killed between taking a segment and noting it. */
static void
test_segments_not_yet_noted_are_freed(void **state)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
    struct stream *s;
    struct writer w;

    (void)state;
    slot_set_self(slot);
    s = fixture_stream("live/a");
    writer_start(&w, s);
    append(&w, VIDEO_HEADER, 0, 40);
    append(&w, KEY, 0, 1000);
    for (int i = 0; i < 3; i++) {
        assert_int_not_equal(segment_take(stream_number(s)), SEGMENT_NONE);
    }
    slot_set_self(0);
    assert_int_equal(segments_in_use(), segments_held() + 3);
    bury(slot);
    assert_int_equal(segments_in_use(), segments_held());
    assert_true(segments_held() > 0);
    check_all_frames(s);
}

static void
test_claim_of_the_dead_is_freed(void **state)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "x", 0, 0);

    (void)state;
    atomic_store(&arena.keys[3], key_make(STREAM_CLAIMED, slot, 77));
    atomic_store(&arena.keys[4], key_make(STREAM_CLAIMED, slot + 1, 78));
    bury(slot);
    assert_int_equal(atomic_load(&arena.keys[3]), STREAM_FREE);
    assert_int_not_equal(atomic_load(&arena.keys[4]), STREAM_FREE);
}

/* Who comes to its slot next hears nothing of what it was to look at, and
 * publishers do not wait for its look. */
static void
test_what_the_dead_was_told_is_gone(void **state)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "reader", 0, 0);
    struct wake_page *page = &arena.pages[slot];
    uint64_t told = 0;

    (void)state;
    atomic_store(&page->hub, 1);
    atomic_store(&slot_at(slot)->asleep, 1);
    wake_slot(slot, 0);
    wake_slot(slot, 7);
    bury(slot);
    for (uint32_t i = 0; i < WAKE_WORDS; i++) {
        told |= atomic_load(&page->dirty[i]);
        told |= atomic_load(&page->summary[i % (WAKE_WORDS / 64)]);
    }
    assert_int_equal(told, 0);
    assert_int_equal(atomic_load(&page->pending), 0);
    assert_int_equal(atomic_load(&page->hub), 0);
    assert_int_equal(atomic_load(&slot_at(slot)->epoch_seen), UINT64_MAX);
    assert_int_equal(atomic_load(&slot_at(slot)->asleep), 0);
}

static int64_t
counted(unsigned metric)
{
    static _Atomic int64_t cells[8192];

    if (metric_own == NULL) {
        metric_register(live_metrics);
        metric_own = cells;
    }
    return metric_own[live_metrics[metric].first];
}

static void
test_streams_of_the_dead_are_counted(void **state)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
    int64_t before = counted(LIVE_ORPHANED);

    (void)state;
    slot_set_self(slot);
    fixture_stream("live/a");
    fixture_stream("live/b");
    slot_set_self(0);
    fixture_stream("live/c");
    bury(slot);
    assert_int_equal(counted(LIVE_ORPHANED), before + 2);
}

/* Another process asked for the stream: it gets it from the dead one. */
static void
test_who_asked_the_dead_gets_it(void **state)
{
    uint32_t writer = (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
    uint32_t asker = (uint32_t)slot_take(SLOT_WORKER, "asker", 1, 0);
    struct stream *s;
    struct errmsg err;

    (void)state;
    slot_set_self(writer);
    s = fixture_stream("live/a");
    atomic_fetch_or(&s->readers[0], UINT64_C(1) << writer);
    slot_set_self(asker);
    assert_int_equal(stream_ask(s, &err), 0);
    slot_set_self(0);
    bury(writer);
    assert_int_equal(atomic_load(&s->writer), slot_owner_of(asker));
    assert_int_equal(atomic_load(&s->readers[0]), 0);
}

static void
test_question_of_the_dead_is_gone(void **state)
{
    uint32_t writer = (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
    uint32_t asker = (uint32_t)slot_take(SLOT_WORKER, "asker", 1, 0);
    struct stream *s;
    struct errmsg err;

    (void)state;
    slot_set_self(writer);
    s = fixture_stream("live/a");
    slot_set_self(asker);
    assert_int_equal(stream_ask(s, &err), 0);
    slot_set_self(0);
    bury(asker);
    assert_int_equal(atomic_load(&s->takeover), 0);
    assert_int_equal(atomic_load(&s->writer), slot_owner_of(writer));
}

/* ---- the end of hold ---- */

static struct stream *
stream_on_hold(uint32_t slot, int64_t hold)
{
    struct stream *s;
    struct writer w;

    slot_set_self(slot);
    s = fixture_stream("live/a");
    atomic_store(&s->hold_ms, hold);
    writer_start(&w, s);
    append(&w, VIDEO_HEADER, 0, 40);
    append(&w, KEY, 0, 100000);
    stream_leave(s);
    slot_set_self(0);
    return s;
}

static bool
ends_within(struct stream *s, int64_t ms)
{
    int64_t until = clock_ms() + ms;

    while (atomic_load(&arena.keys[stream_number(s)]) != STREAM_FREE &&
           clock_ms() < until) {
        loop_turn(fixture_loop, 5);
    }
    return atomic_load(&arena.keys[stream_number(s)]) == STREAM_FREE;
}

static void
test_ends_when_hold_is_over(void **state)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
    int64_t before = clock_ms();
    struct stream *s = stream_on_hold(slot, 100);

    (void)state;
    assert_true(segments_in_use() > 0);
    assert_true(ends_within(s, 100000));
    assert_true(clock_ms() - before >= 100);
    assert_int_equal(segments_in_use(), 0);
    assert_null(stream_find(STR("live/a")));
}

#define ROUNDS 300

/* Puts a stream on hold while the master is looking, again and again, and says
 * whether each came to its end. */
static int
hold_in_between(uint32_t slot)
{
    struct live_publish what = fixture_publish("live/a");

    slot_set_self(slot);
    what.hold = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        int64_t end = clock_ms() + 20000;
        struct stream *s = NULL;

        while (stream_claim(&what, &s) != STREAM_YOURS) {
        }
        wake_slot(0, 5);
        while (atomic_load(&arena.pages[0].pending) != 0 && clock_ms() < end) {
        }
        stream_leave(s); /* while it looks, most likely */
        while (stream_is_open(s)) {
            if (clock_ms() > end) {
                return 1;
            }
            sched_yield();
        }
    }
    return 0;
}

/* Between two looks of its own nobody is overheard. */
static void
test_what_comes_while_it_looks_is_seen(void **state)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
    pid_t pid = fork();
    int status = -1;

    (void)state;
    if (pid == 0) {
        _exit(hold_in_between(slot));
    }
    while (waitpid(pid, &status, WNOHANG) == 0) {
        loop_turn(fixture_loop, 5);
    }
    assert_int_equal(status, 0);
}

/* Its record is not used anew before every process has seen the end. */
static void
test_freed_when_all_have_seen_it(void **state)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
    struct stream *s = stream_on_hold(slot, 0);

    (void)state;
    atomic_store(&slot_at(slot)->epoch_seen, atomic_load(&arena.head->epoch));
    assert_false(ends_within(s, 60));
    assert_null(stream_find(STR("live/a")));
    atomic_store(&slot_at(slot)->epoch_seen, UINT64_MAX);
    assert_true(ends_within(s, 100000));
}

static void
test_lives_while_published(void **state)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
    struct stream *s = stream_on_hold(slot, 20);

    (void)state;
    slot_set_self(slot);
    assert_ptr_equal(fixture_stream("live/a"), s);
    slot_set_self(0);
    assert_false(ends_within(s, 100));
    assert_true(stream_is_live(s));
}

static bool
told(uint32_t slot)
{
    return atomic_exchange(&arena.pages[slot].pending, 0) != 0;
}

/* Players of a process have not had all of it: they are given time. */
static void
test_waits_for_who_is_owed(void **state)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
    struct stream *s = stream_on_hold(slot, 20);

    (void)state;
    atomic_fetch_or(&s->readers[0], UINT64_C(1) << slot);
    stream_set_owing(s, slot, true);
    told(slot);
    assert_false(ends_within(s, 100));
    assert_true(stream_hold_is_over(s));
    assert_true(told(slot));
    assert_false(ends_within(s, 50));
    assert_false(told(slot)); /* once is enough */
    stream_set_owing(s, slot, false);
    assert_true(ends_within(s, 100000));
}

static void
test_waits_no_longer_than_the_window(void **state)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
    int64_t before = clock_ms();
    struct stream *s;

    (void)state;
    arena.settings.window = 150;
    s = stream_on_hold(slot, 0);
    stream_set_owing(s, slot, true);
    assert_true(ends_within(s, 100000));
    assert_true(clock_ms() - before >= 150);
}

static void
test_the_dead_are_owed_nothing(void **state)
{
    uint32_t writer = (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
    uint32_t reader = (uint32_t)slot_take(SLOT_WORKER, "reader", 1, 0);
    struct stream *s = stream_on_hold(writer, 0);

    (void)state;
    arena.settings.window = 600000;
    stream_set_owing(s, reader, true);
    assert_true(stream_is_owed(s));
    bury(reader);
    assert_false(stream_is_owed(s));
    assert_true(ends_within(s, 100000));
}

/* A publisher that comes then goes on with it. */
static void
test_who_comes_back_meanwhile_goes_on(void **state)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
    struct stream *s = stream_on_hold(slot, 0);

    (void)state;
    stream_set_owing(s, slot, true);
    assert_false(ends_within(s, 50));
    slot_set_self(slot);
    assert_ptr_equal(fixture_stream("live/a"), s);
    slot_set_self(0);
    stream_set_owing(s, slot, false);
    assert_false(ends_within(s, 50));
    assert_true(stream_is_live(s));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_writers_killed_anywhere),
        TEST(test_segments_not_yet_noted_are_freed),
        TEST(test_claim_of_the_dead_is_freed),
        TEST(test_what_the_dead_was_told_is_gone),
        TEST(test_streams_of_the_dead_are_counted),
        TEST(test_who_asked_the_dead_gets_it),
        TEST(test_question_of_the_dead_is_gone),
        TEST(test_ends_when_hold_is_over),
        cmocka_unit_test_setup_teardown(test_what_comes_while_it_looks_is_seen,
                                        setup_many, teardown),
        TEST(test_freed_when_all_have_seen_it),
        TEST(test_lives_while_published),
        TEST(test_waits_for_who_is_owed),
        TEST(test_waits_no_longer_than_the_window),
        TEST(test_the_dead_are_owed_nothing),
        TEST(test_who_comes_back_meanwhile_goes_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
