/*
 * Watches: who is called for a cut, and when.
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

#include "live/cuts.h"
#include "viewer.h"

static struct author author;

static struct watcher {
    struct live_cut_watch watch;
    struct watcher *ends; /* called, it ends that one's watch */
    int calls;
} watchers[4];

static void
on_cut(struct live_cut_watch *watch)
{
    struct watcher *w = LIST_ITEM(watch, struct watcher, watch);

    w->calls++;
    if (w->ends != NULL) {
        live_cut_unwatch(&w->ends->watch);
        w->ends = NULL;
    }
}

static int
setup(void **state)
{
    (void)state;
    fixture_hub();
    author = (struct author){ 0 };
    for (unsigned i = 0; i < 4; i++) {
        watchers[i] = (struct watcher){
            .watch = { .name = STR("live/a"), .on_cut = on_cut },
        };
    }
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    live_unpublish(&author.p);
    fixture_turns(2);
    fixture_hub_end();
    return 0;
}

static void
begin(void)
{
    static const uint8_t avcc[] = { 0x17, 0,    0,    0, 0,    1,    0x64, 0,
                                    0x1f, 0xff, 0xe1, 0, 4,    0x67, 0x64, 0,
                                    0x1f, 1,    0,    2, 0x68, 0xee };
    struct live_publish what = fixture_publish("live/a");

    what.cuts = (struct live_cut_rules){ .segment = 2000,
                                         .max_segment = 6000,
                                         .part = 333 };
    publish_as(&author, &what);
    live_write(author.p, MEDIA_VIDEO, 0, avcc, sizeof(avcc));
}

static void
write_until(uint32_t from, uint32_t to)
{
    for (uint32_t at = from; at < to; at += 40) {
        write_frame(&author, at % 2000 == 0 ? KEY : INTER, at, 100);
    }
    fixture_turns(3);
}

static void
test_called_for_cuts_alone(void **state)
{
    struct watcher *w = &watchers[0];
    int calls;

    (void)state;
    live_cut_watch(&w->watch);
    fixture_turns(2);
    assert_int_equal(w->calls, 0);
    begin(); /* the stream is there now */
    fixture_turns(2);
    assert_true(w->calls > 0);
    write_until(0, 40); /* the first cut */
    calls = w->calls;
    write_until(40, 2000);
    assert_int_equal(w->calls, calls);
    write_until(2000, 2040);
    assert_int_equal(w->calls, calls + 1);
    write_until(2040, 2280);
    assert_int_equal(w->calls, calls + 1);
    write_until(2280, 2320); /* a part */
    assert_int_equal(w->calls, calls + 2);
    live_unpublish(&author.p); /* and a hold */
    fixture_turns(3);
    assert_int_equal(w->calls, calls + 3);
    live_cut_unwatch(&w->watch);
    begin();
    write_until(0, 4000);
    assert_int_equal(w->calls, calls + 3);
}

static void
test_a_watch_that_comes_late(void **state)
{
    (void)state;
    begin();
    write_until(0, 4000);
    live_cut_watch(&watchers[0].watch);
    fixture_turns(2);
    assert_int_equal(watchers[0].calls, 1); /* it may have missed one */
    fixture_turns(2);
    assert_int_equal(watchers[0].calls, 1);
    live_cut_unwatch(&watchers[0].watch);
}

static void
test_a_watch_that_ends_twice_leaves_others(void **state)
{
    (void)state;
    begin();
    live_cut_watch(&watchers[0].watch);
    live_cut_watch(&watchers[1].watch);
    fixture_turns(2);
    live_cut_unwatch(&watchers[0].watch);
    live_cut_unwatch(&watchers[0].watch);
    write_until(0, 40);
    assert_int_equal(watchers[0].calls, 1);
    assert_int_equal(watchers[1].calls, 2);
    live_cut_unwatch(&watchers[1].watch);
}

static void
test_watches_end_each_other(void **state)
{
    int calls = 0;

    (void)state;
    begin();
    for (unsigned i = 0; i < 4; i++) {
        live_cut_watch(&watchers[i].watch);
    }
    watchers[0].ends = &watchers[1];
    watchers[2].ends = &watchers[2];
    watchers[3].watch.name = STR("live/a");
    fixture_turns(3);
    for (unsigned i = 0; i < 4; i++) {
        calls += watchers[i].calls;
    }
    assert_int_equal(calls, 3);
    write_until(0, 40);
    assert_int_equal(watchers[0].calls, 2);
    assert_int_equal(watchers[1].calls, 0);
    assert_int_equal(watchers[2].calls, 1);
    assert_int_equal(watchers[3].calls, 2);
    live_cut_unwatch(&watchers[0].watch);
    live_cut_unwatch(&watchers[3].watch);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_called_for_cuts_alone),
        TEST(test_a_watch_that_comes_late),
        TEST(test_a_watch_that_ends_twice_leaves_others),
        TEST(test_watches_end_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
