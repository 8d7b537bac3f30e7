/*
 * Passes over many players: what arrives, who leaves in the middle of one.
 * Each test runs with sends of their own and with sends in a ring.
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

#define CROWD 60 /* players; the arena of the tests has 64 sessions */

static struct wire wires[CROWD];
static struct author author;

static int
setup(void **state)
{
    struct errmsg err;
    struct send_ring *granted = send_ring_open(&err);

    (void)state;
    fixture_hub();
    assert_true((hub.pass.ring != NULL) ==
                (fixture_io_uring && granted != NULL));
    send_ring_close(&granted);
    publish(&author, "live/a");
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
open_crowd(int n, int room)
{
    for (int i = 0; i < n; i++) {
        wire_open(&wires[i], room);
        watch(&wires[i], "live/a");
    }
}

static void
close_crowd(int n)
{
    for (int i = 0; i < n; i++) {
        wire_close(&wires[i]);
    }
    fixture_turns(2);
}

static void
settle_all(int n)
{
    for (int i = 0; i < n; i++) {
        fixture_turns(1);
        wire_read(&wires[i], SIZE_MAX);
    }
}

/* The pass sent everything in the turn, and left nothing behind. */
static void
pass_is_over(void)
{
    assert_false(hub.pass.running);
    assert_true(list_empty(&hub.pass.lost));
    assert_true(hub.pass.ring == NULL || send_ring_empty(hub.pass.ring));
}

static void
test_everybody_gets_every_frame(void **state)
{
    (void)state;
    open_crowd(CROWD, 0);
    for (uint32_t n = 0; n < 20; n++) {
        write_frame(&author, n == 0 ? KEY : INTER, n * 40, 70000);
        write_frame(&author, SOUND, n * 40, 100);
        fixture_turns(1);
        pass_is_over();
        for (int i = 0; i < CROWD; i++) {
            wire_read(&wires[i], SIZE_MAX);
            expect(&wires[i], n == 0 ? KEY : INTER, n * 40, 70000);
            expect(&wires[i], SOUND, n * 40, 100);
            expect_nothing(&wires[i]);
            assert_true(list_empty(&wires[i].conn->destroy.link));
            assert_null(wires[i].viewers[0].p->turns->busy);
        }
    }
    close_crowd(CROWD);
}

/* What is counted is what went out. */
static void
test_counts(void **state)
{
    (void)state;
    open_crowd(3, 0);
    write_frame(&author, KEY, 0, 5000);
    write_frame(&author, SOUND, 0, 300);
    settle_all(3);
    for (int i = 0; i < 3; i++) {
        const struct live_player *p = wires[i].viewers[0].p;

        assert_int_equal(atomic_load(&p->record->meter.video), 5000);
        assert_int_equal(atomic_load(&p->record->meter.audio), 300);
        assert_int_equal(wires[i].conn->bytes_out, buf_len(&wires[i].got));
    }
    close_crowd(3);
}

/* At more places than a flush knows: each player a frame behind the other. */
static void
test_players_at_many_places(void **state)
{
    const int n = PASS_PLACES * 2 + 3;

    (void)state;
    open_crowd(n, 0);
    write_frame(&author, KEY, 0, 400);
    settle_all(n);
    for (int i = 0; i < n; i++) {
        write_frame(&author, INTER, (uint32_t)i + 1, 400);
    }
    /* The pass is about to find them there. */
    for (int i = 0; i < n; i++) {
        struct live_player *p = wires[i].viewers[0].p;

        p->at.frame += (uint64_t)i;
    }
    settle_all(n);
    for (int i = 0; i < n; i++) {
        expect(&wires[i], KEY, 0, 400);
        for (int k = i; k < n; k++) {
            expect(&wires[i], INTER, (uint32_t)k + 1, 400);
        }
        expect_nothing(&wires[i]);
    }
    close_crowd(n);
}

static void
test_small_sockets_beside_large_ones(void **state)
{
    (void)state;
    for (int i = 0; i < CROWD; i++) {
        wire_open(&wires[i], i % 3 == 0 ? 4608 : 0);
        watch(&wires[i], "live/a");
    }
    for (uint32_t n = 0; n < 10; n++) {
        write_frame(&author, n == 0 ? KEY : INTER, n * 40, 20000);
        fixture_turns(1);
        pass_is_over();
    }
    for (int k = 0; k < 60; k++) {
        settle_all(CROWD);
    }
    for (int i = 0; i < CROWD; i++) {
        for (uint32_t n = 0; n < 10; n++) {
            expect(&wires[i], n == 0 ? KEY : INTER, n * 40, 20000);
        }
        expect_nothing(&wires[i]);
    }
    close_crowd(CROWD);
}

/* Streams in turn, in both framings: each gets its own. */
static void
test_several_streams_in_a_pass(void **state)
{
    const size_t lengths[] = { 1000, 3000 };
    struct author other;

    (void)state;
    publish(&other, "live/b");
    for (int i = 0; i < 12; i++) {
        struct live_play what;

        wire_open(&wires[i], 0);
        what = viewer_play(&wires[i], i % 2 == 0 ? "live/a" : "live/b");
        what.framing = i % 3 == 0 ? LIVE_FLV : LIVE_RTMP;
        watch_as(&wires[i], 0, &what);
    }
    for (uint32_t n = 0; n < 10; n++) {
        for (int i = 0; i < 2; i++) {
            write_frame(i == 0 ? &author : &other, n == 0 ? KEY : INTER, n,
                        lengths[i]);
        }
        settle_all(12);
    }
    for (int i = 0; i < 12; i++) {
        size_t len = lengths[i % 2];

        if (i % 3 == 0) {
            assert_int_equal(buf_len(&wires[i].got),
                             FLV_FILE_HEADER +
                                 10 * (FLV_TAG_HEADER + len + FLV_TAG_TRAILER));
            continue;
        }
        for (uint32_t n = 0; n < 10; n++) {
            expect(&wires[i], n == 0 ? KEY : INTER, n, len);
        }
    }
    live_unpublish(&other.p);
    close_crowd(12);
}

/* ---- leaving in the middle of a pass ---- */

/* The first player's connection breaks; what its session then does stops
 * others, of which some stand in the same pass before it and some behind. */
static void
test_broken_player_takes_others_along(void **state)
{
    struct viewer *broken = &wires[5].viewers[0];

    (void)state;
    open_crowd(12, 0);
    write_frame(&author, KEY, 0, 400);
    settle_all(12);
    shutdown(wires[5].peer, SHUT_RDWR);
    broken->victim = &wires[2].viewers[0];
    wires[2].viewers[0].victim = NULL;
    write_frame(&author, INTER, 40, 400);
    fixture_turns(1);
    pass_is_over();
    assert_int_equal(broken->stops, 1);
    assert_string_equal(broken->reason, "the connection is broken");
    assert_null(wires[2].viewers[0].p);
    write_frame(&author, INTER, 80, 400);
    settle_all(12);
    for (int i = 0; i < 12; i++) {
        if (i == 5) {
            continue;
        }
        expect(&wires[i], KEY, 0, 400);
        expect(&wires[i], INTER, 40, 400);
        if (i != 2) {
            expect(&wires[i], INTER, 80, 400);
        }
        expect_nothing(&wires[i]);
    }
    close_crowd(12);
}

/* What the others of the pass had been sent when a session was told. */
static struct live_sent sent_then[12];

static void
note_others(void *arg, const char *reason, bool close)
{
    for (int i = 0; i < 12; i++) {
        if (&wires[i].viewers[0] != arg) {
            live_player_sent(wires[i].viewers[0].p, &sent_then[i]);
        }
    }
    viewer_on_stop(arg, reason, close);
}

/* A session that is told of its end may ask about any other: the results of
 * the pass are noted by then. */
static void
test_results_are_noted_before_a_loss_is_told(void **state)
{
    struct live_player_handlers handlers = viewer_handlers;

    (void)state;
    handlers.on_stop = note_others;
    open_crowd(12, 0);
    write_frame(&author, KEY, 0, 400);
    settle_all(12);
    wires[5].viewers[0].p->handlers = &handlers;
    shutdown(wires[5].peer, SHUT_RDWR);
    write_frame(&author, INTER, 40, 400);
    fixture_turns(1);
    assert_int_equal(wires[5].viewers[0].stops, 1);
    for (int i = 0; i < 12 && hub.pass.ring != NULL; i++) {
        assert_int_equal(sent_then[i].frames, i == 5 ? 0 : 2);
    }
    close_crowd(12);
}

/* All of them break in one pass. */
static void
test_everybody_breaks(void **state)
{
    (void)state;
    open_crowd(CROWD, 0);
    write_frame(&author, KEY, 0, 400);
    settle_all(CROWD);
    for (int i = 0; i < CROWD; i++) {
        shutdown(wires[i].peer, SHUT_RDWR);
        wires[i].viewers[0].victim = &wires[(i + 1) % CROWD].viewers[0];
    }
    write_frame(&author, INTER, 40, 400);
    fixture_turns(3);
    pass_is_over();
    for (int i = 0; i < CROWD; i++) {
        assert_null(wires[i].viewers[0].p);
    }
    close_crowd(CROWD);
}

/* Two NetStreams of one connection, the first in the ring, the second with
 * headers of its own: both break, whoever is first, and each is told once. */
static void
test_both_of_a_connection_break(void **state)
{
    struct live_play second;

    (void)state;
    open_crowd(1, 0);
    second = viewer_play(&wires[0], "live/a");
    second.stream_id = 2;
    watch_as(&wires[0], 1, &second);
    write_frame(&author, KEY, 0, 400);
    settle_all(1);
    wires[0].viewers[0].victim = &wires[0].viewers[1];
    wires[0].viewers[1].victim = &wires[0].viewers[0];
    shutdown(wires[0].peer, SHUT_RDWR);
    write_frame(&author, INTER, 40, 400);
    fixture_turns(3);
    pass_is_over();
    assert_null(wires[0].viewers[0].p);
    assert_null(wires[0].viewers[1].p);
    assert_int_equal(wires[0].viewers[0].stops + wires[0].viewers[1].stops, 1);
    close_crowd(1);
}

/* A stream whose last player breaks is freed, and comes back. */
static void
test_last_player_of_a_stream_breaks(void **state)
{
    (void)state;
    open_crowd(1, 0);
    write_frame(&author, KEY, 0, 400);
    settle_all(1);
    shutdown(wires[0].peer, SHUT_RDWR);
    write_frame(&author, KEY, 40, 400);
    live_unpublish(&author.p);
    fixture_turns(3);
    assert_int_equal(wires[0].viewers[0].stops, 1);
    close_crowd(1);
    publish(&author, "live/a");
    open_crowd(2, 0);
    write_frame(&author, KEY, 80, 500);
    settle_all(2);
    assert_true(buf_len(&wires[1].got) >= 500);
    close_crowd(2);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_everybody_gets_every_frame),
        TEST(test_counts),
        TEST(test_players_at_many_places),
        TEST(test_small_sockets_beside_large_ones),
        TEST(test_several_streams_in_a_pass),
        TEST(test_broken_player_takes_others_along),
        TEST(test_results_are_noted_before_a_loss_is_told),
        TEST(test_everybody_breaks),
        TEST(test_both_of_a_connection_break),
        TEST(test_last_player_of_a_stream_breaks),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    fixture_io_uring = true;
    return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
