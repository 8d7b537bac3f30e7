/*
 * Frames that go out of the arena while players stand in them: one copy for
 * all, and what becomes of it.
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

#include "live/rest.h"
#include "viewer.h"

#define WIRES 3
#define LARGE 100000

static struct wire wires[WIRES];
static struct author author;
static struct viewer *viewers[WIRES];

static int
setup(void **state)
{
    struct live_publish what = fixture_publish("live/a");

    (void)state;
    fixture_hub();
    publish_as(&author, &what);
    assert_non_null(author.p);
    for (int i = 0; i < WIRES; i++) {
        wire_open(&wires[i], 4608);
        viewers[i] = watch(&wires[i], "live/a");
    }
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    for (int i = 0; i < WIRES; i++) {
        wire_close(&wires[i]);
    }
    live_unpublish(&author.p);
    fixture_turns(2);
    fixture_hub_end();
    assert_int_equal(unsent_own(), 0);
    return 0;
}

/* All stand in one large frame, which is about to go. */
static void
save_all(void)
{
    write_frame(&author, KEY, 0, LARGE);
    fixture_turns(5);
    age_frames(viewers[0]->p->hs->stream, 6500);
    viewers[0]->p->hs->stalls_checked_ms = 0;
    write_frame(&author, INTER, 40, 10);
    fixture_turns(3);
}

static void
test_one_copy_for_all(void **state)
{
    (void)state;
    save_all();
    const struct rest *r = viewers[0]->p->rest;

    assert_non_null(r);
    assert_ptr_equal(viewers[1]->p->rest, r);
    assert_ptr_equal(viewers[2]->p->rest, r);
    assert_true(unsent_own() > LARGE && unsent_own() < LARGE * 5 / 4);
}

static void
test_all_get_the_whole_frame(void **state)
{
    (void)state;
    save_all();
    for (int i = 0; i < WIRES; i++) {
        assert_non_null(viewers[i]->p->rest);
        wire_settle(&wires[i]);
        assert_null(viewers[i]->p->rest);
        expect(&wires[i], KEY, 0, LARGE);
        expect(&wires[i], INTER, 40, 10);
        assert_int_equal(unsent_own() > 0, i < WIRES - 1);
    }
}

/* They leave one after the other, the last takes it with it. */
static void
test_leaving(void **state)
{
    (void)state;
    save_all();
    for (int i = 0; i < WIRES; i++) {
        assert_true(unsent_own() > LARGE);
        conn_close(wires[i].conn, "left");
    }
    assert_int_equal(unsent_own(), 0);
}

/* Over the node's bound those who take nothing of it are closed together. */
static void
test_cut(void **state)
{
    struct rest *r;

    (void)state;
    save_all();
    r = viewers[0]->p->rest;
    r->unsent.cut(&r->unsent);
    assert_int_equal(unsent_own(), 0);
    for (int i = 0; i < WIRES; i++) {
        assert_int_equal(viewers[i]->stops, 1);
        assert_true(viewers[i]->close);
    }
}

/* The end of one ends others, while it is cut. */
static void
test_cut_that_stops_others(void **state)
{
    struct rest *r;

    (void)state;
    save_all();
    viewers[0]->victim = viewers[1];
    viewers[1]->victim = viewers[2];
    r = viewers[0]->p->rest;
    r->unsent.cut(&r->unsent);
    assert_int_equal(unsent_own(), 0);
    for (int i = 0; i < WIRES; i++) {
        assert_null(viewers[i]->p);
    }
}

/* A player of which the frame has other bytes has a copy of its own. */
static void
test_headers_of_its_own(void **state)
{
    struct live_play what;
    struct viewer *other;

    (void)state;
    live_stop_playing(&viewers[2]->p);
    what = viewer_play(&wires[2], "live/a");
    what.stream_id = 2;
    other = watch_as(&wires[2], 1, &what);
    save_all();
    assert_non_null(other->p->rest);
    assert_ptr_equal(viewers[1]->p->rest, viewers[0]->p->rest);
    assert_ptr_not_equal(other->p->rest, viewers[0]->p->rest);
    assert_true(unsent_own() > 2 * LARGE);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_one_copy_for_all),
        TEST(test_all_get_the_whole_frame),
        TEST(test_leaving),
        TEST(test_cut),
        TEST(test_cut_that_stops_others),
        TEST(test_headers_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
