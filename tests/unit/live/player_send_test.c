/*
 * Sending: sockets that take little, players that fall behind, several
 * players on one connection.
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

#include <stdlib.h>

#include "viewer.h"

#define SMALL 4608 /* about the least a unix socket has room for */

static struct wire wire;
static struct author author;

static int
setup(void **state)
{
    (void)state;
    fixture_hub();
    wire_open(&wire, SMALL);
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

static struct stream *
stream(void)
{
    return stream_find(STR("live/a"));
}

/* Everything arrives whatever pieces the reader takes. */
static void
test_all_bytes_through_a_small_socket(void **state)
{
    (void)state;
    srandom(1);
    watch(&wire, "live/a");
    write_frame(&author, KEY, 0, 50000);
    for (uint32_t i = 1; i < 60; i++) {
        write_frame(&author, i % 3 == 0 ? SOUND : INTER, i,
                    (size_t)random() % 9000);
        fixture_turns(1);
        wire_read(&wire, (size_t)random() % 5000);
    }
    for (int i = 0; i < 20; i++) {
        wire_settle(&wire);
    }
    srandom(1);
    expect(&wire, KEY, 0, 50000);
    for (uint32_t i = 1; i < 60; i++) {
        size_t len = (size_t)random() % 9000;

        random();
        expect(&wire, i % 3 == 0 ? SOUND : INTER, i, len);
    }
    expect_nothing(&wire);
}

static uint64_t
dropped_by_players(void)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < arena.session_count; i++) {
        n += atomic_load(&arena.sessions[i].dropped);
    }
    return n;
}

/* Half a window behind: it goes on with the newest key frame, and the frame
 * it was in is whole. */
static void
test_slow_player_skips(void **state)
{
    (void)state;
    watch(&wire, "live/a");
    write_frame(&author, KEY, 0, 30000);
    fixture_turns(5);
    for (uint32_t i = 1; i < 40; i++) {
        write_frame(&author, i % 10 == 0 ? KEY : INTER, i * 40, 2000);
    }
    age_frames(stream(), 5000);
    for (int i = 0; i < 20; i++) {
        wire_settle(&wire);
    }
    expect(&wire, KEY, 0, 30000);
    expect(&wire, KEY, 30 * 40, 2000);
    for (uint32_t i = 31; i < 40; i++) {
        expect(&wire, INTER, i * 40, 2000);
    }
    expect_nothing(&wire);
    assert_int_equal(dropped_by_players(), 29);
}

/* Stands in a frame that goes out of the arena: the rest was saved. */
static void
test_blocked_inside_a_frame_that_goes(void **state)
{
    uint32_t i;
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    write_frame(&author, KEY, 0, 300000);
    fixture_turns(5);
    assert_true(player_mid_frame(v->p));
    hub.check_stalls = true;
    for (i = 1; atomic_load(&stream()->head) == 0; i++) {
        assert_true(i < 1000);
        v->p->hs->stalls_checked_ms = 0;
        write_frame(&author, i % 10 == 0 ? KEY : INTER, i * 40, 30000);
        fixture_turns(2);
    }
    assert_non_null(v->p);
    assert_non_null(v->p->rest);
    assert_int_equal(v->stops, 0);
    for (int k = 0; k < 200; k++) {
        wire_settle(&wire);
    }
    expect(&wire, KEY, 0, 300000);
    while (buf_len(&wire.got) > 0) {
        struct message m;

        assert_true(wire_next(&wire, &m));
        mem_free(&m.payload);
    }
    assert_int_equal(v->stops, 0);
    assert_null(v->p->rest);
    assert_true(v->p->at.frame == atomic_load(&stream()->tail));
}

/* A player that takes nothing costs the one beside it nothing. */
static void
test_healthy_beside_stuck(void **state)
{
    struct wire healthy;

    (void)state;
    wire_open(&healthy, 0);
    watch(&wire, "live/a");
    watch(&healthy, "live/a");
    for (uint32_t i = 0; i < 500; i++) {
        write_frame(&author, i % 10 == 0 ? KEY : INTER, i * 40, 20000);
        fixture_turns(2);
        wire_read(&healthy, SIZE_MAX);
        expect(&healthy, i % 10 == 0 ? KEY : INTER, i * 40, 20000);
        expect_nothing(&healthy);
    }
    wire_close(&healthy);
}

/* ---- several on one connection ---- */

static const char *const names[] = { "live/a", "live/b" };

static void
test_frames_of_several_are_never_mixed(void **state)
{
    struct author other;
    uint64_t next[WIRE_VIEWERS] = { 0 };
    struct message m;

    (void)state;
    srandom(8);
    publish(&other, "live/b");
    for (int i = 0; i < WIRE_VIEWERS; i++) {
        struct live_play what = viewer_play(&wire, names[i % 2]);

        what.stream_id = (uint32_t)i + 1;
        watch_as(&wire, i, &what);
    }
    for (uint32_t i = 0; i < 100; i++) {
        write_frame(&author, i == 0 ? KEY : INTER, i, (size_t)random() % 12000);
        write_frame(&other, i == 0 ? KEY : INTER, i, (size_t)random() % 600);
        fixture_turns((int)(random() % 4));
        wire_read(&wire, (size_t)random() % 20000);
    }
    for (int i = 0; i < 300; i++) {
        wire_settle(&wire);
    }
    while (wire_next(&wire, &m)) {
        assert_true(m.stream_id >= 1 && m.stream_id <= WIRE_VIEWERS);
        assert_int_equal(m.timestamp, next[m.stream_id - 1]);
        next[m.stream_id - 1]++;
        mem_free(&m.payload);
    }
    expect_nothing(&wire);
    for (int i = 0; i < WIRE_VIEWERS; i++) {
        assert_int_equal(next[i], 100);
    }
    live_unpublish(&other.p);
}

/* A batch may end inside a frame without the socket being full: whoever is
 * kept out meanwhile goes on afterwards. */
static void
test_nobody_starves_behind_a_cut_batch(void **state)
{
    struct wire wide;
    uint32_t seen[2] = { 0, 0 };
    struct message m;

    (void)state;
    wire_open(&wide, 8 * 1024 * 1024);
    for (uint32_t i = 0; i < 200; i++) {
        write_frame(&author, i == 0 ? KEY : INTER, i, 500);
    }
    for (int i = 0; i < 2; i++) {
        struct live_play what = viewer_play(&wide, "live/a");

        what.stream_id = (uint32_t)i + 2; /* headers of their own */
        watch_as(&wide, i, &what);
    }
    wire_settle(&wide);
    while (wire_next(&wide, &m)) {
        assert_int_equal(m.timestamp, seen[m.stream_id - 2]);
        seen[m.stream_id - 2]++;
        mem_free(&m.payload);
    }
    assert_int_equal(seen[0], 200);
    assert_int_equal(seen[1], 200);
    wire_close(&wide);
}

/* ---- words of the session ---- */

static const uint8_t words[] = { 3, 0, 0, 0, 0,   0,   4,   20,
                                 0, 0, 0, 0, 'w', 'o', 'r', 'd' };

static void
test_words_wait_for_the_boundary(void **state)
{
    struct viewer *v = watch(&wire, "live/a");
    struct message m;

    (void)state;
    write_frame(&author, KEY, 0, 100000);
    fixture_turns(5);
    assert_true(player_mid_frame(v->p));
    assert_int_equal(live_player_say(v->p, words, sizeof(words)), 0);
    assert_int_equal(live_player_say(v->p, words, sizeof(words)), 0);
    /* Nothing more is written: they must not wait for a next frame. */
    for (int i = 0; i < 10; i++) {
        wire_settle(&wire);
    }
    expect(&wire, KEY, 0, 100000);
    for (int i = 0; i < 2; i++) {
        assert_true(wire_next(&wire, &m));
        assert_int_equal(m.type, 20);
        mem_free(&m.payload);
    }
    assert_false(player_mid_frame(v->p));
    assert_int_equal(live_player_say(v->p, words, sizeof(words)), 0);
    write_frame(&author, INTER, 40, 100);
    wire_settle(&wire);
    assert_true(wire_next(&wire, &m));
    assert_int_equal(m.type, 20);
    mem_free(&m.payload);
    expect(&wire, INTER, 40, 100);
    expect_nothing(&wire);
}

/* More words than the socket takes: the media goes on behind them. */
static void
test_many_words(void **state)
{
    struct viewer *v = watch(&wire, "live/a");
    struct message m;
    int heard = 0;

    (void)state;
    write_frame(&author, KEY, 0, 100000);
    fixture_turns(5);
    while (live_player_say(v->p, words, sizeof(words)) == 0) {
        heard++;
    }
    assert_true(heard > 4000);
    write_frame(&author, INTER, 40, 3000);
    for (int i = 0; i < 20; i++) {
        wire_settle(&wire);
    }
    expect(&wire, KEY, 0, 100000);
    for (; heard > 0; heard--) {
        assert_true(wire_next(&wire, &m));
        assert_int_equal(m.type, 20);
        mem_free(&m.payload);
    }
    expect(&wire, INTER, 40, 3000);
    expect_nothing(&wire);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_all_bytes_through_a_small_socket),
        TEST(test_slow_player_skips),
        TEST(test_blocked_inside_a_frame_that_goes),
        TEST(test_healthy_beside_stuck),
        TEST(test_frames_of_several_are_never_mixed),
        TEST(test_nobody_starves_behind_a_cut_batch),
        TEST(test_words_wait_for_the_boundary),
        TEST(test_many_words),
    };

    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    fixture_io_uring = true;
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
