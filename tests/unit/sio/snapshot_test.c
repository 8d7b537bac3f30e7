/*
 * Snapshots of joining sockets, from a role that the test plays.
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

#include "base/log.h"
#include "snapshot_help.h"

static void
comes_before_all_else(void **state)
{
    struct fake *f = ask_for("0");

    (void)state;
    assert_string_equal(calls[0]->request, "main\nplain");
    assert_next(f, "");
    tell("/", "added", "1", "all"); /* it will be in it */
    answer(0, RPC_OK, "[1]");
    assert_connected(f);
    assert_next(f, "42[\"all\",[1]]");
    assert_next(f, "42[\"hello\"]");
    assert_next(f, "");
    tell("/", "added", "2", "all");
    assert_next(f, "42[\"added\",2]");
    assert_int_equal(joined, 1);
    fake_free(&f);
}

static void
is_asked_once_and_shared(void **state)
{
    struct fake *f[4];

    (void)state;
    for (int i = 0; i < 3; i++) {
        f[i] = ask_for("0");
    }
    assert_int_equal(asked[0], 1);
    answer(0, RPC_OK, "1");
    f[3] = ask_for("0"); /* it is kept */
    assert_int_equal(joined, 4);
    assert_int_equal(asked[0], 1);
    for (int i = 0; i < 4; i++) {
        assert_ptr_equal(f[i]->frames[1], f[0]->frames[1]);
    }
    for (int i = 0; i < 4; i++) {
        fake_free(&f[i]);
    }
}

static void
is_asked_anew_when_it_is_stale(void **state)
{
    struct fake *f, *g;

    (void)state;
    f = ask_for("0");
    answer(0, RPC_OK, "1");
    tell("/", "updated", "", "other");
    tell("/", "updated", "", NULL);
    g = ask_for("0");
    assert_int_equal(asked[0], 1);
    fake_free(&g);
    tell("/", "updated", "", "all");
    assert_int_equal(asked[0], 1); /* nobody wants it */
    g = ask_for("0");
    assert_int_equal(asked[0], 2);
    answer(0, RPC_OK, "2");
    assert_connected(g);
    assert_next(g, "42[\"all\",2]");
    fake_free(&f);
    fake_free(&g);
}

static void
may_be_none(void **state)
{
    struct fake *f = ask_for("0"), *g;

    (void)state;
    answer(0, RPC_OK, "");
    assert_connected(f);
    assert_next(f, "42[\"hello\"]");
    g = ask_for("0");
    assert_int_equal(asked[0], 1);
    assert_connected(g);
    fake_free(&f);
    fake_free(&g);
}

/* It is of the moment of its first part. */
static void
comes_in_parts(void **state)
{
    struct fake *f = ask_for("0"), *late;

    (void)state;
    tell("/", "added", "0", "all");
    answer(0, RPC_MORE, "[1,");
    assert_int_equal(calls[0]->granted, 1);
    tell("/", "added", "2", "all");
    tell("/", "said", "", NULL);
    late = ask_for("0");
    answer(0, RPC_MORE, "");
    answer(0, RPC_OK, "9]");
    assert_connected(f);
    assert_next(f, "42[\"all\",[1,9]]");
    assert_next(f, "42[\"added\",2]");
    assert_next(f, "42[\"said\"]");
    assert_next(f, "42[\"hello\"]");
    assert_connected(late);
    assert_next(late, "42[\"all\",[1,9]]");
    assert_next(late, "42[\"added\",2]");
    fake_free(&f);
    fake_free(&late);
    f = ask_for("0"); /* what came between made it stale */
    assert_int_equal(asked[0], 2);
    fake_free(&f);
    answer(0, RPC_OK, "1");
}

static void
missed_events_are_for_those_they_were_for(void **state)
{
    struct sio_message m = { .event = "room" };
    struct sio_hall *h = sio_halls_find(&point, STR("/"));
    struct fake *f = ask_for("0");

    (void)state;
    answer(0, RPC_MORE, "1");
    sio_hall_emit(h, STR("mine"), NULL, &m);
    sio_hall_emit(h, STR("yours"), NULL, &m);
    sio_hall_emit(h, STR("mine"), last, &m);
    m.is_volatile = true;
    sio_hall_emit(h, STR("mine"), NULL, &m);
    answer(0, RPC_OK, "");
    assert_connected(f);
    assert_next(f, "42[\"all\",1]");
    assert_next(f, "42[\"room\"]");
    assert_next(f, "42[\"hello\"]");
    fake_free(&f);
}

static void
several_come_in_their_order(void **state)
{
    struct fake *f = ask_for("0/two,");

    (void)state;
    answer(1, RPC_OK, "\"d1\"");
    tell("/two", "dir", "1", "dirs");  /* the snapshot does not have it */
    tell("/two", "added", "1", "all"); /* this one will */
    tell("/two", "said", "1", NULL);   /* before it has joined */
    assert_next(f, "");
    answer(0, RPC_OK, "\"a1\"");
    assert_connected(f);
    assert_next(f, "42/two,[\"all\",\"a1\"]");
    assert_next(f, "42/two,[\"dirs\",\"d1\"]");
    assert_next(f, "42/two,[\"dir\",1]");
    assert_next(f, "42/two,[\"hello\"]");
    assert_int_equal(asked[0] + asked[1], 2);
    fake_free(&f);
    f = ask_for("0/two,");
    assert_int_equal(asked[0], 1);
    assert_int_equal(asked[1], 2); /* dirs alone was stale */
    answer(1, RPC_OK, "\"d2\"");
    assert_connected(f);
    assert_next(f, "42/two,[\"all\",\"a1\"]");
    assert_next(f, "42/two,[\"dirs\",\"d2\"]");
    fake_free(&f);
}

static void
too_much_between_starts_anew(void **state)
{
    struct fake *f = ask_for("0/two,");
    char *large = mem_zero(1 << 20);

    (void)state;
    memset(large, '1', (1 << 20) - 1);
    answer(1, RPC_OK, "1");
    for (int i = 0; i < 8; i++) {
        tell("/two", "dir", large, "dirs");
    }
    assert_true(fake_frames <= 9); /* it is bounded */
    assert_int_equal(asked[0], 2);
    assert_int_equal(asked[1], 2);
    answer(1, RPC_OK, "2");
    answer(0, RPC_OK, "3");
    assert_connected(f);
    assert_next(f, "42/two,[\"all\",3]");
    assert_next(f, "42/two,[\"dirs\",2]");
    assert_next(f, "42/two,[\"hello\"]");
    fake_free(&f);
    mem_free(&large);
}

/* Small ones, too. */
static void
too_many_between_start_anew(void **state)
{
    struct fake *f = ask_for("0/two,");

    (void)state;
    answer(1, RPC_OK, "1");
    for (int i = 0; i < 4096; i++) {
        tell("/two", "dir", "1", "dirs");
    }
    assert_int_equal(asked[1], 1);
    tell("/two", "dir", "1", "dirs");
    assert_int_equal(asked[1], 2);
    answer(1, RPC_OK, "2");
    answer(0, RPC_OK, "3");
    assert_connected(f);
    assert_next(f, "42/two,[\"all\",3]");
    assert_next(f, "42/two,[\"dirs\",2]");
    assert_next(f, "42/two,[\"hello\"]");
    fake_free(&f);
}

/* ---- failures ---- */

static void
wait_for_call(unsigned n)
{
    for (int i = 0; i < 5000 && asked[0] < n; i++) {
        loop_turn(loop, 1);
    }
    assert_int_equal(asked[0], n);
}

static void
failures_are_tried_again(void **state)
{
    struct fake *f = ask_for("0");

    (void)state;
    answer(0, RPC_REFUSED, "no");
    wait_for_call(2);
    answer(0, RPC_MORE, "[");
    answer(0, RPC_DIED, "");
    wait_for_call(3);
    answer(0, RPC_OK, "[no JSON");
    wait_for_call(4);
    assert_next(f, "");
    answer(0, RPC_OK, "[]");
    assert_connected(f);
    assert_next(f, "42[\"all\",[]]");
    fake_free(&f);
}

/* Of a snapshot that is asked again, all that happened before is in it. */
static void
what_a_later_answer_has_is_not_missed(void **state)
{
    struct fake *f = ask_for("0/two,");

    (void)state;
    answer(1, RPC_OK, "1");
    answer(0, RPC_MORE, "[");
    tell("/two", "said", "1", NULL);
    answer(0, RPC_DIED, "");
    wait_for_call(2);
    answer(0, RPC_OK, "2");
    assert_connected(f);
    assert_next(f, "42/two,[\"all\",2]");
    assert_next(f, "42/two,[\"dirs\",1]");
    assert_next(f, "42/two,[\"hello\"]");
    fake_free(&f);
}

static char logged[4096];

static void
take_line(void *arg, const char *line, size_t len)
{
    (void)arg;
    str_append(logged, sizeof(logged), strlen(logged), str_of(line, len));
}

/* However many ask, and however often it fails. */
static void
failures_do_not_hurry(void **state)
{
    struct fake *f = ask_for("0"), *g;
    const char *line;

    (void)state;
    log_set_sink(take_line, NULL);
    answer(0, RPC_REFUSED, "no");
    g = ask_for("0");
    assert_int_equal(asked[0], 1);
    wait_for_call(2);
    answer(0, RPC_REFUSED, "no");
    log_set_sink(NULL, NULL);
    line = strstr(logged, "no snapshot \"all\": no");
    assert_non_null(line);
    assert_null(strstr(line + 1, "no snapshot"));
    fake_free(&f);
    fake_free(&g);
}

static void
a_role_that_is_away_ends_it_in_time(void **state)
{
    struct fake *f, *g;

    (void)state;
    away = true;
    point.settings.connect_timeout = 50;
    f = ask_for("0");
    for (int i = 0; i < 5000 && f->open; i++) {
        loop_turn(loop, 1);
    }
    assert_int_equal(f->why, SESSION_NOT_JOINED);
    fake_turns(loop, 0);
    assert_int_equal(gone, 1);
    point.settings.connect_timeout = 60000;
    g = ask_for("0");
    away = false;
    wait_for_call(1);
    answer(0, RPC_OK, "1");
    assert_connected(g);
    fake_free(&f);
    fake_free(&g);
}

static void
size_has_a_bound(void **state)
{
    struct fake *f = ask_for("0");
    char *part = mem_zero((1 << 20) + 1);

    (void)state;
    memset(part, '1', 1 << 20);
    for (int i = 0; i < 16; i++) {
        answer(0, RPC_MORE, part);
    }
    assert_non_null(calls[0]);
    answer(0, RPC_MORE, "1"); /* cancels it */
    assert_null(calls[0]);
    assert_next(f, "");
    fake_free(&f);
    mem_free(&part);
}

/* ---- versions ---- */

/* A client that does not read holds one version after another. */
static void
four_versions_are_alive(void **state)
{
    struct fake *slow[5], *f;

    (void)state;
    for (int i = 0; i < 4; i++) {
        slow[i] = fake_open(&point);
        slow[i]->holds = true;
        fake_say(slow[i], "0");
        answer(0, RPC_OK, "1");
        assert_int_equal(slow[i]->count, 3);
        tell("/", "updated", "", "all");
    }
    assert_int_equal(asked[0], 4);
    f = ask_for("0");
    assert_int_equal(asked[0], 4); /* there is no fifth */
    fake_turns(loop, 300);
    assert_int_equal(asked[0], 4);
    assert_next(f, "");
    fake_next(slow[1]);
    fake_next(slow[1]); /* takes its own */
    wait_for_call(5);
    answer(0, RPC_OK, "5");
    assert_connected(f);
    assert_next(f, "42[\"all\",5]");
    fake_free(&f);
    for (int i = 0; i < 4; i++) {
        fake_free(&slow[i]);
    }
}

static void
versions_of_fast_clients_are_not_counted(void **state)
{
    struct fake *f[10];

    (void)state;
    for (int i = 0; i < 10; i++) {
        f[i] = ask_for("0");
        answer(0, RPC_OK, "1");
        fake_forget(f[i]);
        tell("/", "updated", "", "all");
    }
    assert_int_equal(asked[0], 10);
    for (int i = 0; i < 10; i++) {
        fake_free(&f[i]);
    }
}

static void
must_be_taken_in_time(void **state)
{
    struct fake *slow, *f;

    (void)state;
    point.settings.connect_timeout = 50;
    slow = fake_open(&point);
    slow->holds = true;
    fake_say(slow, "0");
    f = ask_for("0");
    answer(0, RPC_OK, "1");
    assert_true(slow->frames[1]->bounded);
    f->holds = true;
    fake_next(f);
    fake_next(f); /* it takes the snapshot, if not what follows */
    for (int i = 0; i < 5000 && slow->open; i++) {
        loop_turn(loop, 1);
    }
    assert_int_equal(slow->why, SESSION_TOO_SLOW);
    fake_turns(loop, 100);
    assert_true(f->open);
    fake_free(&slow);
    fake_free(&f);
}

static void
goes_while_it_waits(void **state)
{
    struct fake *f = ask_for("0"), *g = ask_for("0");

    (void)state;
    fake_free(&f);
    answer(0, RPC_OK, "1");
    assert_connected(g);
    assert_int_equal(joined, 1);
    fake_free(&g);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(comes_before_all_else),
        TEST(is_asked_once_and_shared),
        TEST(is_asked_anew_when_it_is_stale),
        TEST(may_be_none),
        TEST(comes_in_parts),
        TEST(missed_events_are_for_those_they_were_for),
        TEST(several_come_in_their_order),
        TEST(too_much_between_starts_anew),
        TEST(too_many_between_start_anew),
        TEST(failures_are_tried_again),
        TEST(what_a_later_answer_has_is_not_missed),
        TEST(failures_do_not_hurry),
        TEST(a_role_that_is_away_ends_it_in_time),
        TEST(size_has_a_bound),
        TEST(four_versions_are_alive),
        TEST(versions_of_fast_clients_are_not_counted),
        TEST(must_be_taken_in_time),
        TEST(goes_while_it_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
