/*
 * What sessions wish of their players: pause, receive, leaving anywhere.
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
    wire_open(&wire, 4608);
    publish(&author, "live/a");
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

static void
settle_long(void)
{
    for (int i = 0; i < 20; i++) {
        wire_settle(&wire);
    }
}

static void
test_pause(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    write_frame(&author, KEY, 0, 100);
    wire_settle(&wire);
    expect(&wire, KEY, 0, 100);
    live_player_pause(v->p, true);
    write_frame(&author, INTER, 40, 100);
    wire_settle(&wire);
    expect_nothing(&wire);
    live_player_pause(v->p, false);
    wire_settle(&wire);
    expect(&wire, INTER, 40, 100); /* with KEY, its time would go back */
    write_frame(&author, INTER, 80, 100);
    wire_settle(&wire);
    expect(&wire, INTER, 80, 100);
    live_player_pause(v->p, true);
    live_player_pause(v->p, false);
    live_player_pause(v->p, true);
    wire_settle(&wire);
    live_player_pause(v->p, false); /* nothing new is there */
    wire_settle(&wire);
    expect_nothing(&wire);
    assert_true(v->p->waiting);
    write_frame(&author, INTER, 120, 100);
    wire_settle(&wire);
    expect(&wire, INTER, 120, 100);
    expect_nothing(&wire);
}

/* It wants no frames from before it asked, and waits for the next key frame. */
static void
test_pause_without_gop_cache(void **state)
{
    struct live_play what = viewer_play(&wire, "live/a");
    struct viewer *v;

    (void)state;
    what.gop_cache = false;
    v = watch_as(&wire, 0, &what);
    write_frame(&author, KEY, 0, 100);
    wire_settle(&wire);
    expect(&wire, KEY, 0, 100);
    live_player_pause(v->p, true);
    write_frame(&author, INTER, 40, 100);
    live_player_pause(v->p, false);
    wire_settle(&wire);
    expect_nothing(&wire);
    write_frame(&author, KEY, 80, 100);
    wire_settle(&wire);
    expect(&wire, KEY, 80, 100);
}

/* Pictures that are switched on meanwhile start at a key frame. */
static void
test_pictures_on_in_a_pause(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    write_frame(&author, KEY, 0, 100);
    wire_settle(&wire);
    expect(&wire, KEY, 0, 100);
    live_player_receive(v->p, MEDIA_VIDEO, false);
    write_frame(&author, INTER, 40, 100);
    wire_settle(&wire);
    live_player_pause(v->p, true);
    live_player_receive(v->p, MEDIA_VIDEO, true);
    write_frame(&author, INTER, 80, 100);
    live_player_pause(v->p, false);
    wire_settle(&wire);
    expect_nothing(&wire);
    write_frame(&author, KEY, 120, 100);
    wire_settle(&wire);
    expect(&wire, KEY, 120, 100);
}

/* A key frame that came while it paused is there at once. */
static void
test_resumes_at_a_key_frame_of_the_pause(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    write_frame(&author, KEY, 0, 100);
    wire_settle(&wire);
    live_player_pause(v->p, true);
    write_frame(&author, KEY, 400, 100);
    write_frame(&author, INTER, 440, 100);
    wire_settle(&wire);
    live_player_pause(v->p, false);
    wire_settle(&wire);
    expect(&wire, KEY, 0, 100);
    expect(&wire, KEY, 400, 100);
    expect(&wire, INTER, 440, 100);
    expect_nothing(&wire);
}

static void
test_paused_before_it_started(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    live_player_pause(v->p, true);
    write_frame(&author, KEY, 0, 100);
    wire_settle(&wire);
    assert_int_equal(v->starts, 0);
    live_player_pause(v->p, false);
    wire_settle(&wire);
    expect(&wire, KEY, 0, 100);
}

/* It pauses inside a frame: that one still comes, no other does. */
static void
test_pause_inside_a_frame(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    write_frame(&author, KEY, 0, 100000);
    write_frame(&author, INTER, 40, 100);
    fixture_turns(5);
    assert_true(player_mid_frame(v->p));
    live_player_pause(v->p, true);
    settle_long();
    expect(&wire, KEY, 0, 100000);
    expect_nothing(&wire);
    assert_false(player_mid_frame(v->p));
    live_player_pause(v->p, false);
    write_frame(&author, KEY, 80, 100);
    wire_settle(&wire);
    expect(&wire, KEY, 80, 100);
    expect_nothing(&wire);
}

static void
test_receive(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    write_frame(&author, KEY, 0, 100);
    wire_settle(&wire);
    expect(&wire, KEY, 0, 100);
    live_player_receive(v->p, MEDIA_AUDIO, false);
    write_frame(&author, SOUND, 10, 100);
    write_frame(&author, INTER, 40, 100);
    wire_settle(&wire);
    expect(&wire, INTER, 40, 100);
    live_player_receive(v->p, MEDIA_AUDIO, true);
    live_player_receive(v->p, MEDIA_VIDEO, false);
    write_frame(&author, SOUND, 50, 100);
    write_frame(&author, INTER, 80, 100);
    wire_settle(&wire);
    expect(&wire, SOUND, 50, 100);
    live_player_receive(v->p, MEDIA_VIDEO, true);
    write_frame(&author, INTER, 120, 100);
    wire_settle(&wire);
    expect_nothing(&wire); /* pictures need a key frame */
    write_frame(&author, KEY, 160, 100);
    wire_settle(&wire);
    expect(&wire, KEY, 160, 100);
    expect_nothing(&wire);
}

static void
test_picture_switched_off_inside_a_frame(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    write_frame(&author, KEY, 0, 100000);
    fixture_turns(5);
    assert_true(player_mid_frame(v->p));
    live_player_receive(v->p, MEDIA_VIDEO, false);
    write_frame(&author, INTER, 40, 100);
    write_frame(&author, SOUND, 40, 100);
    settle_long();
    expect(&wire, KEY, 0, 100000);
    expect(&wire, SOUND, 40, 100);
    expect_nothing(&wire);
}

/* Leaving inside a frame: it is finished, then the session's words follow,
 * and the connection is free for another player. */
static void
test_leaves_inside_a_frame(void **state)
{
    struct viewer *v = watch(&wire, "live/a");
    const struct turns *turns = v->p->turns;

    (void)state;
    write_frame(&author, KEY, 0, 100000);
    fixture_turns(5);
    assert_ptr_equal(turns->busy, v->p);
    live_stop_playing(&v->p);
    assert_null(turns->busy); /* it is freed at the end of the turn */
    watch(&wire, "live/a");
    settle_long();
    expect(&wire, KEY, 0, 100000);
    expect(&wire, KEY, 0, 100000);
    expect_nothing(&wire);
    assert_int_equal(v->stops, 0);
}

static void
test_words_are_not_lost_by_leaving(void **state)
{
    static const uint8_t words[] = { 3, 0, 0, 0, 0,   0,   4,   20,
                                     0, 0, 0, 0, 'w', 'o', 'r', 'd' };
    struct viewer *v = watch(&wire, "live/a");
    struct message m;

    (void)state;
    write_frame(&author, KEY, 0, 100000);
    fixture_turns(5);
    assert_int_equal(live_player_say(v->p, words, sizeof(words)), 0);
    live_stop_playing(&v->p);
    settle_long();
    expect(&wire, KEY, 0, 100000);
    assert_true(wire_next(&wire, &m));
    assert_int_equal(m.type, 20);
    mem_free(&m.payload);
    expect_nothing(&wire);
}

static void
test_leaves_anywhere(void **state)
{
    struct viewer *v = watch(&wire, "live/none");

    (void)state;
    live_stop_playing(&v->p); /* at once */
    live_stop_playing(&v->p); /* and again */
    v = watch(&wire, "live/none");
    fixture_turns(2);
    live_stop_playing(&v->p);
    v = watch(&wire, "live/a");
    live_stop_playing(&v->p);
    write_frame(&author, KEY, 0, 100);
    v = watch(&wire, "live/a");
    wire_settle(&wire);
    conn_close(wire.conn, "gone");
    assert_null(v->p);
    fixture_turns(2);
    for (uint32_t i = 0; i < arena.session_count; i++) {
        uint64_t owner = session_owner(i);

        assert_true(owner == 0 ||
                    atomic_load(&arena.sessions[i].role) != SESSION_PLAYER);
    }
}

static void
test_too_many_sessions(void **state)
{
    struct live_play what = viewer_play(&wire, "live/a");
    struct viewer viewers[64];
    struct errmsg err = { "" };
    unsigned n = 0;

    (void)state;
    while ((viewers[n].p = live_play(&what, &viewer_handlers, &viewers[n],
                                     &err)) != NULL) {
        n++;
    }
    assert_int_equal(n, 63); /* the publisher is one, too */
    assert_non_null(strstr(err.text, "live.max_sessions is 64"));
    while (n > 0) {
        live_stop_playing(&viewers[--n].p);
    }
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_pause),
        TEST(test_pause_without_gop_cache),
        TEST(test_pictures_on_in_a_pause),
        TEST(test_resumes_at_a_key_frame_of_the_pause),
        TEST(test_paused_before_it_started),
        TEST(test_pause_inside_a_frame),
        TEST(test_receive),
        TEST(test_picture_switched_off_inside_a_frame),
        TEST(test_leaves_inside_a_frame),
        TEST(test_words_are_not_lost_by_leaving),
        TEST(test_leaves_anywhere),
        TEST(test_too_many_sessions),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
