/*
 * Cuts over sessions, runs and killed writers.
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

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cut_fixture.h"

/* ---- publishers ---- */

static void
come_back(void)
{
    struct live_publish what = fixture_publish("live/a");

    assert_int_equal(stream_claim(&what, &s), STREAM_YOURS);
    writer_start(&w, s);
}

static void
test_publisher_returns(void **state)
{
    struct publishing p = { true, true, 0, 9900, 25, 2000 };
    struct live_cuts before, c;
    struct live_cut cut, last;

    (void)state;
    publish(p);
    before = find();
    assert_true(live_cut_at(&before, before.end - 1, &last));
    stream_leave(s);
    c = find();
    assert_true(!c.live && !c.over && c.hold_left > 5000);
    come_back();
    header_of_pictures(0);
    header_of_sound(0);
    append(&w, SOUND, 1000, 20); /* of nothing yet */
    c = find();
    assert_int_equal(c.end_frame, before.end_frame);
    p.from = 1000;
    p.to = 9000;
    publish(p);
    c = find();
    check_all(&c);
    assert_int_equal(c.word, before.word);
    assert_int_equal(c.older_word, 0);
    assert_int_equal(c.target, 4000);
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 1);
    assert_true(live_cut_at(&c, before.end, &cut));
    assert_true((cut.flags & LIVE_CUT_DISCONTINUITY) != 0);
    assert_int_equal(cut.segment, last.segment + 1);
    assert_int_equal(cut.header, last.header);
    assert_int_equal(cut.ended_frame, before.end_frame);
    assert_true(cut.frame > cut.ended_frame);
    assert_true(cut.ended < cut.time);
}

/* The last cut of a publisher that left, as another process has spoilt it: the
 * next one begins anew, and comes to an end with each frame. */
static void
test_return_to_a_spoilt_page(void **state)
{
    static const uint64_t wrong[] = { 0, UINT64_C(1) << 40, UINT64_MAX };
    struct publishing p = { true, true, 0, 4900, 25, 2000 };
    struct live_cuts before, c;

    (void)state;
    publish(p);
    for (size_t i = 0; i < 2 * sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct cut_page *page = cut_page_of(s);
        uint64_t next = atomic_load(&page->next);

        before = find();
        stream_leave(s);
        if (i % 2 == 0) {
            page->cuts[(next - 1) % LIVE_CUT_RING].number = wrong[i / 2];
        } else {
            atomic_store(&page->next, wrong[i / 2]);
        }
        atomic_store(&page->heard, INT64_MIN);
        come_back();
        header_of_pictures(0);
        header_of_sound(0);
        publish(p);
        c = find();
        assert_int_not_equal(c.word, before.word);
        assert_true(c.end > c.run);
        assert_true(c.end < UINT64_C(1) << 41);
    }
}

static void
test_return_after_the_hold(void **state)
{
    struct publishing p = { true, true, 0, 9900, 25, 2000 };
    struct live_cuts before, c;
    struct live_cut first, cut;

    (void)state;
    publish(p);
    stream_leave(s);
    atomic_store(&s->hold_until, clock_ms() - 1);
    before = find();
    assert_true(before.over);
    come_back();
    c = find();
    assert_int_equal(c.target, 0);
    assert_int_equal(c.older_word, before.word);
    assert_true(c.word != before.word);
    publish(p);
    c = find();
    assert_in_range(c.target, 3999, 4000);
    assert_int_equal(c.run, before.end);
    assert_int_equal(c.first, before.first);
    assert_true(live_cut_at(&c, before.end - 1, &cut));
    assert_true(live_cut_at(&c, c.run, &first));
    assert_int_equal(first.segment, cut.segment + 1);
}

/* Numbers never come again, not even in a stream made anew. */
static void
test_numbers_go_on(void **state)
{
    struct publishing p = { true, true, 0, 9900, 25, 2000 };
    struct live_cuts c;
    struct live_cut cut, newest;
    uint32_t n = stream_number(s);

    (void)state;
    publish(p);
    c = find();
    assert_true(live_cut_at(&c, c.end - 1, &newest));
    stream_leave(s);
    atomic_store(&arena.keys[n], 0); /* as if it had ended */
    open_stream();
    publish(p);
    c = find();
    assert_true(live_cut_at(&c, c.first, &cut));
    assert_true(cut.segment > newest.segment);
}

/* A number that no stream comes to in twenty years was written by a process
 * that was taken over: numbers do not go on from there. */
static void
test_a_number_far_ahead(void **state)
{
    const uint64_t year = UINT64_C(365) * 24 * 3600;
    struct publishing p = { true, true, 0, 9900, 25, 2000 };
    uint64_t begun = cut_seconds();
    struct live_cuts c;
    struct live_cut cut;

    (void)state;
    atomic_store(&arena.head->cut_segments, begun + 19 * year);
    publish(p);
    c = find();
    assert_true(live_cut_at(&c, c.first, &cut));
    assert_int_equal(cut.segment, begun + 19 * year + 1);
    stream_leave(s);
    atomic_store(&arena.keys[stream_number(s)], 0);
    atomic_store(&arena.head->cut_segments, begun + 21 * year);
    open_stream();
    publish(p);
    c = find();
    assert_true(live_cut_at(&c, c.first, &cut));
    assert_in_range(cut.segment, begun, cut_seconds());
}

/* A writer is killed at any moment: what it had written so far stands. */
static void
test_killed_between_two_stores(void **state)
{
    struct publishing p = { true, true, 0, 9900, 25, 2000 };
    struct cut_page *page, *copy = mem_alloc(sizeof(*copy));

    (void)state;
    publish(p);
    page = cut_page_of(s);
    for (unsigned kind = 0; kind < 3; kind++) {
        struct live_cuts c, before = find();

        memcpy(copy, page, sizeof(*copy));
        append(&w, KEY, 10000 + kind * 100, 100);
        stream_leave(s);
        /* The frame is there; of the cut nothing, an entry, a set. */
        atomic_store(&page->next, atomic_load(&copy->next));
        if (kind == 0) {
            memcpy(page, copy, sizeof(*copy));
        } else if (kind == 1) {
            atomic_store(&page->sets[3].number, 0);
        }
        come_back();
        publish((struct publishing){ true, true, 0, 9900, 25, 2000 });
        c = find();
        check_all(&c);
        assert_int_equal(c.word, before.word);
    }
    mem_free(&copy);
}

/* Publishes until it is killed. */
static void
publish_for_ever(void)
{
    struct live_publish what = fixture_publish("live/a");

    what.cuts = rules;
    while (stream_claim(&what, &s) != STREAM_YOURS) {
    }
    writer_start(&w, s);
    for (uint32_t i = 0;; i++) {
        if (i % 1000 == 0) {
            header_of_pictures(i * 40);
            header_of_sound(i * 40);
        }
        append(&w, i % 25 == 0 ? KEY : INTER, i * 40, i * 7919 % 3000);
        append(&w, SOUND, i * 40, 20);
        if (i % 400 == 399) { /* leaves and comes back */
            stream_leave(s);
            while (stream_claim(&what, &s) != STREAM_YOURS) {
            }
            writer_start(&w, s);
            header_of_pictures(i * 40);
        }
    }
}

/* Each cut follows the one before, and its frame and headers are there. */
static void
check_order(const struct live_cuts *c)
{
    struct live_cut before = { .number = 0 }, cut;
    struct live_cut_headers h;
    struct live_cut_frame f;

    for (uint64_t n = c->first; n < c->end; n++) {
        assert_true(live_cut_at(c, n, &cut));
        assert_true(live_cut_headers(c, cut.header, &h));
        assert_true(live_cut_frame(c, &cut, cut.frame, &f));
        assert_true(cut.ended_frame <= cut.frame && cut.ended <= cut.time);
        if (n > c->first) {
            bool begins = (cut.flags & LIVE_CUT_SEGMENT) != 0;

            assert_true(cut.frame > before.frame && cut.time >= before.time);
            assert_true(cut.ended >= before.time);
            assert_int_equal(cut.segment, before.segment + begins);
            assert_int_equal(cut.part, begins ? 0 : before.part + 1);
        }
        before = cut;
    }
    assert_true(c->end_frame <= atomic_load(&c->stream->tail));
}

static uint64_t
cuts_end(void)
{
    struct live_cuts c;

    return live_cuts_find(STR("live/a"), &c) ? c.end : 0;
}

/* One round kills a writer that has begun, the next one may be too soon. */
static void
test_killed_at_any_moment(void **state)
{
    uint64_t newest = 0;

    teardown(state);
    fixture_arena();
    slot_release(slot_self());
    slot_set_self(0); /* the master */
    for (unsigned i = 0; i < 40; i++) {
        uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
        pid_t pid = fork();
        struct live_cuts c;

        if (pid == 0) {
            slot_set_self(slot);
            publish_for_ever();
        }
        while (stream_find(STR("live/a")) == NULL ||
               (i % 2 == 1 && cuts_end() < newest + 4)) {
        }
        usleep(i * 997 % 20000);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        slot_bury(slot);
        live_sweep(slot);
        slot_release(slot);
        if (live_cuts_find(STR("live/a"), &c)) {
            check_order(&c);
            assert_true(c.end >= newest && !c.live);
            newest = c.end;
        }
    }
    assert_true(newest > 40);
}

/* A stream whose hold is over stays as long as its list is. */
static void
test_stays_for_its_list(void **state)
{
    struct errmsg err;
    struct live_cuts c;
    struct loop *loop = loop_new(&err);

    (void)state;
    publish(BOTH);
    stream_leave(s);
    slot_set_self(0);
    assert_int_equal(live_master_start(loop, &err), 0);
    atomic_store(&s->hold_until, clock_ms() - 7 * 4000 + 500);
    loop_turn(loop, 200);
    c = find();
    assert_true(c.over && !c.live && c.target == 4000);
    assert_int_equal(c.end_frame, atomic_load(&s->tail));
    assert_in_range(c.end_time, 30000, 30080);
    for (int64_t end = clock_ms() + 1000000;
         stream_find(STR("live/a")) != NULL && clock_ms() < end;) {
        loop_turn(loop, 100);
    }
    assert_false(live_cuts_find(STR("live/a"), &c));
    for (int i = 0; i < 3; i++) {
        loop_turn(loop, 20);
    }
    assert_int_equal(segments_in_use(), 0);
    live_master_stop();
    loop_free(&loop);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_return_to_a_spoilt_page),
        TEST(test_publisher_returns),
        TEST(test_return_after_the_hold),
        TEST(test_numbers_go_on),
        TEST(test_a_number_far_ahead),
        TEST(test_killed_between_two_stores),
        TEST(test_killed_at_any_moment),
        TEST(test_stays_for_its_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
