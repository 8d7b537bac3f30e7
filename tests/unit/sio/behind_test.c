/*
 * Sockets that fall behind: the queue is full of events, and a snapshot tells
 * the same.
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

#include "snapshot_help.h"

/* One that has joined, has read all, and takes so many frames. */
static struct fake *
join(const char *connect, size_t room)
{
    struct fake *f = ask_for(connect);

    for (int i = 0; i < 2; i++) {
        if (calls[i] != NULL) {
            answer(i, RPC_OK, "0");
        }
    }
    fake_forget(f);
    f->holds = true;
    f->room = room;
    return f;
}

static void
send_ack(struct fake *f)
{
    struct sio_args args = { .json = STR("1") };
    struct sio_frames frames;

    sio_packet_ack(&frames, STR("/"), STR("7"), &args);
    client_send_once(f->session.user, &frames);
}

static void
is_told_a_snapshot_in_place_of_events(void **state)
{
    struct fake *f = join("0", 4), *other = join("0", 100);

    (void)state;
    tell("/", "added", "1", "all");
    send_ack(f);
    tell("/", "added", "2", "all");
    tell("/", "said", "", NULL);
    tell("/", "added", "3", "all"); /* no room */
    tell("/", "added", "4", "all");
    tell("/", "said", "5", NULL);
    assert_null(calls[0]); /* it has not read the rest */
    assert_next(f, "437[1]");
    assert_next(f, "42[\"said\"]");
    assert_next(f, "42[\"said\",5]");
    assert_next(f, "");
    fake_take_more(f, 100);
    tell("/", "added", "6", "all");
    tell("/", "said", "7", NULL);
    assert_next(f, "42[\"said\",7]");
    answer(0, RPC_MORE, "[1,2,3,4,6");
    tell("/", "added", "8", "all");
    tell("/", "said", "once", NULL);
    assert_next(f, "42[\"said\",once]");
    answer(0, RPC_OK, "]");
    assert_next(f, "42[\"all\",[1,2,3,4,6]]");
    assert_next(f, "42[\"added\",8]");
    assert_next(f, "");
    tell("/", "added", "9", "all");
    assert_next(f, "42[\"added\",9]");
    for (int i = 0; i < 11; i++) {
        assert_string_not_equal(fake_next(other), "");
    }
    assert_next(other, "");
    fake_free(&f);
    fake_free(&other);
}

/* An ack goes out before the snapshot that makes room for it. */
static void
makes_room_for_what_cannot_be_told_again(void **state)
{
    struct fake *f = join("0", 2);

    (void)state;
    tell("/", "added", "1", "all");
    tell("/", "added", "2", "all");
    send_ack(f);
    assert_next(f, "437[1]");
    assert_next(f, "");
    fake_take_more(f, 2);
    answer(0, RPC_OK, "[1,2]");
    assert_next(f, "42[\"all\",[1,2]]");
    assert_true(f->open);
    fake_free(&f);
}

static void
ends_when_nothing_can_be_told_again(void **state)
{
    struct fake *f = join("0", 2);

    (void)state;
    send_ack(f);
    tell("/", "said", "", NULL);
    tell("/", "added", "1", "all");
    assert_true(f->open);
    send_ack(f);
    assert_false(f->open);
    assert_int_equal(f->why, SESSION_TOO_SLOW);
    fake_free(&f);
}

/* The other one of the namespace, and those of another one, stay. */
static void
is_told_what_it_lacks(void **state)
{
    struct fake *f = join("0/two,", 9);

    (void)state;
    fake_say(f, "0");
    answer(0, RPC_OK, "0");
    fake_take_more(f, 2);
    tell("/two", "moved", "1", "dirs");
    tell("/", "added", "1", "all");
    tell("/two", "moved", "2", "dirs"); /* no room */
    tell("/two", "added", "3", "all");
    assert_next(f, "42[\"added\",1]");
    assert_next(f, "42/two,[\"added\",3]");
    assert_next(f, "");
    fake_take_more(f, 9);
    answer(0, RPC_OK, "3"); /* for those who join meanwhile */
    answer(1, RPC_OK, "2");
    assert_next(f, "42/two,[\"dirs\",2]");
    assert_next(f, "");
    fake_free(&f);
}

static void
events_with_attachments_stay(void **state)
{
    static const struct str bytes = { "x", 1 };
    struct sio_message m = {
        .event = "added",
        .stales = "all",
        .args = { STR("{\"_placeholder\":true,\"num\":0}"), &bytes, 1 },
    };
    struct fake *f = join("0", 3);
    struct sio_hall *h = sio_halls_find(&point, STR("/"));

    (void)state;
    sio_hall_emit(h, STR_NONE, NULL, &m);
    tell("/", "added", "1", "all");
    tell("/", "added", "2", "all"); /* no room */
    sio_hall_emit(h, STR_NONE, NULL, &m);
    assert_string_not_equal(fake_next(f), "");
    assert_next(f, "b:x");
    assert_next(f, "");
    fake_take_more(f, 9);
    answer(0, RPC_OK, "1");
    assert_next(f, "42[\"all\",1]");
    assert_next(f, "");
    fake_free(&f);
}

/* It falls behind with the snapshot in its queue. */
static void
a_snapshot_may_be_dropped_for_the_next(void **state)
{
    struct fake *f = join("0", 1);

    (void)state;
    for (int i = 0; i < 3; i++) {
        tell("/", "added", "1", "all");
        tell("/", "added", "2", "all"); /* no room */
        fake_take_more(f, 1);
        answer(0, RPC_OK, "2");
    }
    tell("/", "added", "3", "all"); /* no room */
    assert_next(f, "");
    fake_take_more(f, 9);
    answer(0, RPC_OK, "3");
    assert_next(f, "42[\"all\",3]");
    assert_next(f, "");
    fake_free(&f);
}

/* What was said while its snapshots were made is too much for one that joins,
 * too. */
static void
one_that_joins_may_fall_behind_at_once(void **state)
{
    struct fake *f = fake_open(&point);

    (void)state;
    f->holds = true;
    f->room = 3;
    fake_say(f, "0");
    answer(0, RPC_MORE, "[");
    for (int i = 0; i < 9; i++) {
        tell("/", "added", "1", "all");
    }
    answer(0, RPC_OK, "]");
    assert_connected(f);
    assert_next(f, "42[\"hello\"]");
    assert_next(f, "");
    fake_take_more(f, 9);
    answer(0, RPC_OK, "[9]");
    assert_next(f, "42[\"all\",[9]]");
    fake_free(&f);
}

/* ---- time ---- */

static void
wait_for_end(struct fake *f)
{
    for (int i = 0; i < 5000 && f->open; i++) {
        loop_turn(loop, 1);
    }
    assert_int_equal(f->why, SESSION_TOO_SLOW);
}

/* However often it falls behind meanwhile. */
static void
ends_when_it_does_not_read(void **state)
{
    struct fake *f = join("0", 2);
    int64_t begin = clock_ms();

    (void)state;
    fake_turns(loop, 0);
    point.settings.connect_timeout = 300;
    while (f->open && clock_ms() < begin + 5000) {
        for (int i = 0; i < 3; i++) {
            tell("/", "added", "1", "all");
        }
        sio_halls_renew(&point);
        loop_turn(loop, 1);
    }
    assert_int_equal(f->why, SESSION_TOO_SLOW);
    assert_int_equal(asked[0], 1);
    fake_free(&f);
}

/* It takes what waits, but not the snapshot; it pushes the time no further by
 * what it is sent meanwhile. */
static void
ends_when_it_does_not_take_the_snapshot(void **state)
{
    struct fake *f = join("0", 1);
    int64_t begin = clock_ms();

    (void)state;
    point.settings.connect_timeout = 300;
    tell("/", "added", "1", "all");
    tell("/", "added", "2", "all"); /* no room */
    fake_take_more(f, 2);
    answer(0, RPC_OK, "2");
    while (f->open && clock_ms() < begin + 5000) {
        tell("/", "added", "3", "all");
        loop_turn(loop, 1);
    }
    assert_int_equal(f->why, SESSION_TOO_SLOW);
    assert_int_equal(asked[0], 2);
    fake_free(&f);
}

static void
ends_when_the_role_does_not_answer(void **state)
{
    struct fake *f = join("0", 1);

    (void)state;
    point.settings.connect_timeout = 50;
    tell("/", "added", "1", "all");
    tell("/", "added", "2", "all"); /* no room */
    fake_take_more(f, 1);
    wait_for_end(f);
    fake_free(&f);
}

static void
may_go_while_it_waits(void **state)
{
    struct fake *f = join("0", 1), *late;

    (void)state;
    tell("/", "added", "1", "all");
    tell("/", "added", "2", "all"); /* no room */
    fake_take_more(f, 1);
    fake_free(&f);
    fake_turns(loop, 0);
    answer(0, RPC_OK, "2");
    late = ask_for("0");
    assert_connected(late);
    assert_next(late, "42[\"all\",2]");
    fake_free(&late);
}

/* ---- recovery ---- */

static struct fake *
come_back(const struct fake *f, const char *offset)
{
    char text[100];
    const struct client *c = f->session.user;
    const struct sio_socket *s =
        LIST_ITEM(c->sockets.next, struct sio_socket, in_client);
    struct fake *again = fake_open(&point);

    snprintf(text, sizeof(text), "0{\"pid\":\"%s\",\"offset\":\"%s\"}", s->pid,
             offset);
    session_close((struct session *)(uintptr_t)&f->session,
                  SESSION_TRANSPORT_LOST);
    fake_turns(loop, 0);
    fake_say(again, text);
    return again;
}

/* The offset that it has is behind what was dropped. */
static void
is_not_recovered_while_it_is_behind(void **state)
{
    struct fake *f, *again;

    (void)state;
    point.settings.recovery = 60000;
    f = join("0", 2);
    tell("/", "added", "1", "all");
    tell("/", "added", "1", "all");
    tell("/", "said", "", NULL);
    assert_next(f, "42[\"said\",\"4\"]");
    again = come_back(f, "4");
    assert_false(last->recovered);
    answer(0, RPC_OK, "3");
    assert_connected(again);
    assert_next(again, "42[\"all\",3,\"4\"]");
    fake_free(&f);
    fake_free(&again);
}

/* Events 1 and 2 and a snapshot behind them: an offset above them was sent
 * behind the snapshot. */
static void
is_recovered_as_far_as(const char *offset, bool recovered)
{
    struct fake *f = join("0", 2), *again;

    tell("/", "said", "", NULL);
    tell("/", "added", "", "all");
    tell("/", "added", "", "all"); /* no room */
    fake_take_more(f, 9);
    answer(0, RPC_OK, "2");
    tell("/", "said", "", NULL);
    again = come_back(f, offset);
    if (calls[0] != NULL) {
        answer(0, RPC_OK, "2");
    }
    assert_int_equal(joined, 2);
    assert_int_equal(
        LIST_ITEM(((struct client *)again->session.user)->sockets.next,
                  struct sio_socket, in_client)
            ->recovered,
        recovered);
    fake_free(&f);
    fake_free(&again);
}

/* "hello" was the first. */
static void
is_not_recovered_without_its_snapshot(void **state)
{
    (void)state;
    point.settings.recovery = 60000;
    is_recovered_as_far_as("4", false);
}

static void
is_recovered_with_its_snapshot(void **state)
{
    (void)state;
    point.settings.recovery = 60000;
    is_recovered_as_far_as("5", true);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(is_told_a_snapshot_in_place_of_events),
        TEST(makes_room_for_what_cannot_be_told_again),
        TEST(ends_when_nothing_can_be_told_again),
        TEST(is_told_what_it_lacks),
        TEST(events_with_attachments_stay),
        TEST(a_snapshot_may_be_dropped_for_the_next),
        TEST(one_that_joins_may_fall_behind_at_once),
        TEST(ends_when_it_does_not_read),
        TEST(ends_when_it_does_not_take_the_snapshot),
        TEST(ends_when_the_role_does_not_answer),
        TEST(may_go_while_it_waits),
        TEST(is_not_recovered_while_it_is_behind),
        TEST(is_not_recovered_without_its_snapshot),
        TEST(is_recovered_with_its_snapshot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
