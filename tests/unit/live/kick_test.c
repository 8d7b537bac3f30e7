/*
 * Sending sessions away: which are meant, what they are told, what stays; and
 * looking at sessions and streams a piece at a time.
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

static struct wire wire;
static struct author author;

static int
setup(void **state)
{
    (void)state;
    fixture_hub();
    wire_open(&wire, 0);
    author = (struct author){ 0 };
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    wire_close(&wire);
    live_unpublish(&author.p);
    fixture_turns(2);
    fixture_hub_end();
    return 0;
}

static struct viewer *
watch_n(int i, const char *name)
{
    struct live_play what = viewer_play(&wire, name);

    what.stream_id = (uint32_t)i + 1;
    return watch_as(&wire, i, &what);
}

static void
test_one_session(void **state)
{
    struct live_session_view view;
    struct live_kick kick = { .slot = slot_self() };
    uint32_t at = 0;

    (void)state;
    watch_n(0, "live/a");
    watch_n(1, "live/a");
    assert_true(live_next_session(&at, &view));
    assert_true(view.owner == slot_self_owner());
    kick.serial = (uint32_t)view.id;
    assert_int_not_equal(kick.serial, 0);
    assert_int_equal(live_kick(&kick), 1);
    assert_int_equal(wire.viewers[0].stops, 1);
    assert_string_equal(wire.viewers[0].reason, LIVE_KICKED);
    assert_false(wire.viewers[0].close);
    assert_int_equal(wire.viewers[1].stops, 0);
    assert_int_equal(live_kick(&kick), 0);
}

/* The number of another process's session is not ours. */
static void
test_another_slot(void **state)
{
    struct live_session_view view;
    struct live_kick kick = { .slot = slot_self() + 1 };
    uint32_t at = 0;

    (void)state;
    watch_n(0, "live/a");
    assert_true(live_next_session(&at, &view));
    kick.serial = (uint32_t)view.id;
    assert_int_equal(live_kick(&kick), 0);
}

static void
test_a_stream(void **state)
{
    struct live_kick kick = { .name = STR("live/a"), .players = true };

    (void)state;
    publish(&author, "live/a");
    write_frame(&author, KEY, 0, 100);
    watch_n(0, "live/a");
    watch_n(1, "live/b");
    wire_settle(&wire);
    assert_int_equal(wire.viewers[0].starts, 1);
    assert_int_equal(live_kick(&kick), 1);
    assert_int_equal(wire.viewers[0].stops, 1);
    assert_int_equal(wire.viewers[1].stops, 0);
    assert_int_equal(author.stops, 0);
    kick = (struct live_kick){ .name = STR("live/a"), .publishers = true };
    assert_int_equal(live_kick(&kick), 1);
    assert_int_equal(author.stops, 1);
    assert_string_equal(author.reason, LIVE_KICKED);
}

/* Its stream goes on hold, and another may have it. */
static void
test_a_publisher_leaves_its_stream(void **state)
{
    struct live_kick kick = { .name = STR("live/a"), .publishers = true };
    struct author other;

    (void)state;
    publish(&author, "live/a");
    write_frame(&author, KEY, 0, 100);
    watch_n(0, "live/a");
    wire_settle(&wire);
    assert_int_equal(live_kick(&kick), 1);
    fixture_turns(4);
    assert_false(live_is_live(STR("live/a")));
    assert_int_equal(wire.viewers[0].holds, 1);
    publish(&other, "live/a");
    assert_int_equal(other.starts, 1);
    fixture_turns(4);
    assert_int_equal(wire.viewers[0].resumes, 1);
    live_unpublish(&other.p);
}

static void
test_by_address(void **state)
{
    struct pool *pool = pool_new(256);
    struct str rule = STR("allow 192.0.2.0/24");
    struct live_kick kick = { .from = access_parse(pool, &rule, 1) };
    struct live_play what = viewer_play(&wire, "live/a");

    (void)state;
    what.peer = (struct addr){ .family = AF_INET, .ip = { 192, 0, 2, 9 } };
    watch_as(&wire, 0, &what);
    what.peer.ip[2] = 3;
    what.stream_id = 2;
    watch_as(&wire, 1, &what);
    assert_int_equal(live_kick(&kick), 1);
    assert_int_equal(wire.viewers[0].stops, 1);
    assert_int_equal(wire.viewers[1].stops, 0);
    pool_free(&pool);
}

/* Whoever is told may end another in the middle of the walk. */
static void
test_one_takes_another_along(void **state)
{
    struct live_kick kick = { .name = STR("live/a"), .players = true };

    (void)state;
    for (int i = 0; i < WIRE_VIEWERS; i++) {
        watch_n(i, "live/a");
    }
    wire.viewers[0].victim = &wire.viewers[1];
    wire.viewers[3].victim = &wire.viewers[2];
    assert_true(live_kick(&kick) <= 3);
    for (int i = 0; i < WIRE_VIEWERS; i++) {
        assert_null(wire.viewers[i].p);
    }
}

static void
test_stuck_in_a_frame(void **state)
{
    struct live_kick kick = { .name = STR("live/a"), .players = true };

    (void)state;
    wire_close(&wire);
    fixture_turns(2);
    wire_open(&wire, 4096);
    publish(&author, "live/a");
    write_frame(&author, KEY, 0, 500000);
    watch_n(0, "live/a");
    fixture_turns(6); /* nobody reads */
    assert_int_equal(wire.viewers[0].starts, 1);
    assert_int_equal(live_kick(&kick), 1);
    assert_true(wire.viewers[0].close);
    assert_null(wire.conn);
}

static void
test_streams_and_their_sessions(void **state)
{
    struct live_stream_view v;
    struct live_tally *t;
    struct author other;
    uint32_t at = 0;

    (void)state;
    publish(&author, "live/a");
    publish(&other, "live/b");
    watch_n(0, "live/b");
    watch_n(1, "live/b");
    watch_n(2, "live/c");
    t = live_tally_new();
    assert_true(live_next_stream(t, &at, &v));
    assert_string_equal(v.name, "live/a");
    assert_int_equal(v.players, 0);
    assert_true(live_next_stream(t, &at, &v));
    assert_string_equal(v.name, "live/b");
    assert_int_equal(v.players, 2);
    assert_false(live_next_stream(t, &at, &v));
    live_tally_free(&t);
    assert_null(t);
    live_unpublish(&other.p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_session, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_slot, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_stream, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_publisher_leaves_its_stream,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(test_by_address, setup, teardown),
        cmocka_unit_test_setup_teardown(test_one_takes_another_along, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_stuck_in_a_frame, setup, teardown),
        cmocka_unit_test_setup_teardown(test_streams_and_their_sessions, setup,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
