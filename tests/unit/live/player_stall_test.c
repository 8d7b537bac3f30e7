/*
 * What players are told when the publisher goes, comes back or stays away,
 * and the end of those that take nothing.
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

#include "viewer.h"

static struct wire wires[3];
static struct author author;

/* This process is its own master. */
static int
setup(void **state)
{
    struct errmsg err;

    (void)state;
    fixture_hub();
    assert_int_equal(live_master_start(fixture_loop, &err), 0);
    for (int i = 0; i < 3; i++) {
        wire_open(&wires[i], 4608);
    }
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        wire_close(&wires[i]);
    }
    live_unpublish(&author.p);
    fixture_turns(2);
    live_master_stop();
    fixture_hub_end();
    return 0;
}

static void
publish_for(int64_t hold)
{
    struct live_publish what = fixture_publish("live/a");

    what.hold = hold;
    publish_as(&author, &what);
    assert_non_null(author.p);
}

static void
settle(void)
{
    for (int i = 0; i < 3; i++) {
        wire_settle(&wires[i]);
    }
}

static bool
until(const int *count, int n)
{
    int64_t end = clock_ms() + 1000000;

    while (*count < n && clock_ms() < end) {
        loop_turn(fixture_loop, 10);
    }
    return *count == n;
}

static void
test_hold_and_resume(void **state)
{
    struct viewer *v = watch(&wires[0], "live/a");
    struct viewer *late = watch(&wires[1], "live/other");

    (void)state;
    publish_for(10000);
    write_frame(&author, KEY, 0, 100);
    settle();
    expect(&wires[0], KEY, 0, 100);
    live_unpublish(&author.p);
    settle();
    assert_int_equal(v->holds, 1);
    expect_nothing(&wires[0]);
    late = watch(&wires[2], "live/a"); /* nobody is there to start it */
    settle();
    assert_int_equal(late->starts, 0);
    publish_for(10000);
    settle();
    assert_int_equal(v->resumes, 1);
    write_frame(&author, KEY, 0, 100);
    settle();
    assert_int_equal(v->starts, 1);
    assert_int_equal(late->starts, 1);
    assert_int_equal(v->stops + late->stops, 0);
    assert_int_equal(late->holds + late->resumes, 0);
    assert_true(buf_len(&wires[0].got) > 100);
}

static void
test_end(void **state)
{
    struct viewer *v = watch(&wires[0], "live/a");
    struct viewer *not_started = watch(&wires[1], "live/a");

    (void)state;
    live_player_pause(not_started->p, true);
    publish_for(20);
    write_frame(&author, KEY, 0, 100);
    settle();
    assert_int_equal(v->starts, 1);
    live_unpublish(&author.p);
    assert_true(until(&v->stops, 1));
    assert_int_equal(v->holds, 1);
    assert_false(v->close);
    assert_string_equal(v->reason, "the stream is over");
    /* Who never saw it waits for the next of that name. */
    assert_int_equal(not_started->stops, 0);
    live_player_pause(not_started->p, false);
    publish_for(20);
    write_frame(&author, KEY, 7, 100);
    settle();
    assert_int_equal(not_started->starts, 1);
    expect(&wires[1], KEY, 7, 100);
}

static bool
until_gone(const char *name)
{
    int64_t end = clock_ms() + 100000;

    while (stream_find(str_from(name)) != NULL && clock_ms() < end) {
        loop_turn(fixture_loop, 10);
    }
    return stream_find(str_from(name)) == NULL;
}

/* Its end does not wait for the window when all have all of it, nor when
 * nobody plays it. */
static void
test_end_waits_for_nobody_who_has_it_all(void **state)
{
    struct viewer *v = watch(&wires[0], "live/a");

    (void)state;
    arena.settings.window = 600000;
    publish_for(0);
    write_frame(&author, KEY, 0, 100);
    settle();
    live_unpublish(&author.p);
    assert_true(until_gone("live/a"));
    assert_int_equal(v->stops, 1);
    publish_for(0);
    write_frame(&author, KEY, 0, 100);
    fixture_turns(2);
    live_unpublish(&author.p);
    assert_true(until_gone("live/a"));
}

/* Each process may have players: the end waits until it has looked. */
static void
test_end_waits_for_processes_that_have_not_looked(void **state)
{
    uint32_t other = (uint32_t)slot_take(SLOT_WORKER, "other", 1, 0);
    struct stream *s;

    (void)state;
    atomic_store(&arena.pages[other].hub, 1);
    publish_for(0);
    s = stream_find(STR("live/a"));
    write_frame(&author, KEY, 0, 100);
    live_unpublish(&author.p);
    for (int i = 0; i < 10; i++) {
        loop_turn(fixture_loop, 20);
    }
    assert_true(stream_hold_is_over(s));
    assert_ptr_equal(stream_find(STR("live/a")), s);
    stream_set_owing(s, other, false); /* now it has */
    assert_true(until_gone("live/a"));
    slot_release(other);
}

/* Who comes in the hold and has not all of it yet is waited for. */
static void
test_end_waits_for_who_came_in_the_hold(void **state)
{
    uint32_t other = (uint32_t)slot_take(SLOT_WORKER, "other", 1, 0);
    uint32_t self = slot_self();
    struct stream *s;
    struct writer w;

    (void)state;
    slot_set_self(other);
    s = fixture_stream("live/a");
    writer_start(&w, s);
    append(&w, KEY, 0, 100);
    stream_leave(s);
    slot_set_self(self);
    assert_false(stream_is_owed(s));
    watch(&wires[0], "live/a");
    assert_true(stream_is_owed(s));
    settle();
    assert_false(stream_is_owed(s)); /* it waits for a publisher to start */
    live_stop_playing(&wires[0].viewers[0].p);
    fixture_turns(2);
    stream_set_owing(s, self, true); /* as who publishes does */
    wake_slot(self, stream_number(s));
    fixture_turns(2);
    assert_false(stream_is_owed(s)); /* nobody plays it here */
    slot_release(other);
}

/* A process that stops has no players any more. */
static void
test_end_does_not_wait_for_a_hub_that_stopped(void **state)
{
    struct errmsg err;
    struct stream *s;

    (void)state;
    watch(&wires[0], "live/a");
    publish_for(10000);
    s = stream_find(STR("live/a"));
    write_frame(&author, KEY, 0, 100000);
    fixture_turns(5);
    live_unpublish(&author.p);
    fixture_turns(2);
    assert_true(stream_is_owed(s));
    live_hub_stop();
    assert_false(stream_is_owed(s));
    assert_int_equal(live_hub_start(fixture_loop, &arena.settings, &err), 0);
}

/* The end meets a player inside a frame: its connection must go. */
static void
test_end_inside_a_frame(void **state)
{
    struct viewer *v = watch(&wires[0], "live/a");

    (void)state;
    arena.settings.window = 100; /* it is waited for as long */
    publish_for(0);
    write_frame(&author, KEY, 0, 100000);
    fixture_turns(5);
    live_unpublish(&author.p);
    assert_true(until(&v->stops, 1));
    assert_true(v->close);
}

/* Each that is stopped takes another with it. */
static void
test_stopping_others_in_on_stop(void **state)
{
    struct viewer *v[3];
    int stops;

    (void)state;
    for (int i = 0; i < 3; i++) {
        v[i] = watch(&wires[i], "live/a");
    }
    v[0]->victim = v[1];
    v[1]->victim = v[0];
    v[2]->victim = v[1];
    publish_for(0);
    write_frame(&author, KEY, 0, 100);
    settle();
    live_unpublish(&author.p);
    assert_true(until(&v[2]->stops, 1));
    stops = v[0]->stops + v[1]->stops;
    assert_int_equal(stops, 1);
    assert_null(v[0]->p);
    assert_null(v[1]->p);
}

/* The stream ended and came anew in another record before we looked: the
 * one who still waits finds it. */
static void
test_ended_and_published_anew_unseen(void **state)
{
    struct stream *old, *filler;
    struct viewer *v;

    (void)state;
    filler = fixture_stream("live/filler"); /* record 0 */
    publish_for(10000);
    old = stream_find(STR("live/a"));
    v = watch(&wires[0], "live/a");
    settle();
    live_unpublish(&author.p);
    atomic_store(&arena.keys[stream_number(old)], STREAM_ENDED);
    names_release(stream_number(filler));
    publish_for(10000);
    assert_true(stream_find(STR("live/a")) < old);
    write_frame(&author, KEY, 0, 100);
    settle();
    wake_slot(slot_self(), stream_number(old));
    settle();
    assert_int_equal(v->starts, 1);
    expect(&wires[0], KEY, 0, 100);
}

/* ---- players that take nothing ---- */

static void
block(struct viewer *v)
{
    write_frame(&author, KEY, 0, 100000);
    fixture_turns(5);
    assert_true(player_mid_frame(v->p));
}

static void
test_closed_after_30_s_of_nothing(void **state)
{
    struct viewer *v = watch(&wires[0], "live/a");

    (void)state;
    publish_for(0);
    block(v);
    v->p->blocked_ms -= 29000;
    wires[0].conn->last_write_ms -= 29000;
    v->p->hs->stalls_checked_ms = 0;
    write_frame(&author, INTER, 40, 10);
    fixture_turns(3);
    assert_int_equal(v->stops, 0);
    v->p->blocked_ms -= 1500;
    wires[0].conn->last_write_ms -= 1500;
    v->p->hs->stalls_checked_ms = 0;
    write_frame(&author, INTER, 80, 10);
    fixture_turns(3);
    assert_int_equal(v->stops, 1);
    assert_true(v->close);
    assert_non_null(strstr(v->reason, "too slow"));
}

/* No frame comes that would make anybody look: the timer does. */
static void
test_stalls_are_found_without_frames(void **state)
{
    struct viewer *v = watch(&wires[0], "live/a");

    (void)state;
    publish_for(0);
    block(v);
    v->p->blocked_ms -= 40000;
    wires[0].conn->last_write_ms -= 40000;
    assert_true(until(&v->stops, 1));
}

static void
test_rest_is_saved_in_time(void **state)
{
    struct viewer *v = watch(&wires[0], "live/a");
    struct stream *s;

    (void)state;
    publish_for(10000);
    block(v);
    s = stream_find(STR("live/a"));
    age_frames(s, 6500); /* more than three quarters of the window */
    v->p->hs->stalls_checked_ms = 0;
    write_frame(&author, INTER, 40, 10);
    fixture_turns(3);
    assert_non_null(v->p->rest);
    /* Nothing for a whole window, saved or not: closed. */
    v->p->blocked_ms -= 8500;
    wires[0].conn->last_write_ms -= 8500;
    v->p->hs->stalls_checked_ms = 0;
    write_frame(&author, INTER, 80, 10);
    fixture_turns(3);
    assert_int_equal(v->stops, 1);
    assert_true(v->close);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_hold_and_resume),
        TEST(test_end),
        TEST(test_end_waits_for_nobody_who_has_it_all),
        TEST(test_end_waits_for_processes_that_have_not_looked),
        TEST(test_end_waits_for_who_came_in_the_hold),
        TEST(test_end_does_not_wait_for_a_hub_that_stopped),
        TEST(test_end_inside_a_frame),
        TEST(test_stopping_others_in_on_stop),
        TEST(test_ended_and_published_anew_unseen),
        TEST(test_closed_after_30_s_of_nothing),
        TEST(test_stalls_are_found_without_frames),
        TEST(test_rest_is_saved_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
