/*
 * The table of servers: places, fails by a clock of the test, what a dead
 * process leaves.
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

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "proc/slot.h"
#include "servers.h"

#define NOW 1000000

static const struct server_rules rules = { .max_fails = 3,
                                           .fail_timeout = 10000 };

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    return slots_create(8, &err) == -1 || servers_create(&err) == -1 ? -1 : 0;
}

/* A server that no other test has. */
static int
learn(const char *name)
{
    int place = servers_learn(STR("api"), str_from(name), 1);

    assert_int_not_equal(place, -1);
    return place;
}

static bool
one_fails(int place, int64_t now)
{
    return servers_fail(place, &rules, now, STR("it is a test"));
}

/* ---- places ---- */

static void
a_name_has_one_place(void **state)
{
    int a = learn("a:1"), b = servers_learn(STR("other"), STR("a:1"), 1);

    (void)state;
    assert_int_not_equal(a, b);
    assert_int_equal(learn("a:1"), a);
    assert_int_equal(servers_find(STR("api"), STR("a:1")), a);
    assert_int_equal(servers_find(STR("api"), STR("a:2")), -1);
    assert_true(str_eq(servers_upstream(b), STR("other")));
    assert_true(str_eq(servers_name(b), STR("a:1")));
}

static void
a_place_without_a_server_has_nothing(void **state)
{
    (void)state;
    for (int place = -1; place <= SERVERS_MAX; place += SERVERS_MAX + 1) {
        assert_int_equal(servers_gate(place, NOW), SERVER_OPEN);
        assert_int_equal(servers_check(place, NOW), SERVER_UNCHECKED);
        assert_int_equal(servers_opened(place), 0);
        assert_int_equal(servers_counted(place, SERVER_RETRIES), 0);
        assert_int_equal(servers_upstream(place).len, 0);
        assert_false(servers_good(place, NOW));
        assert_false(one_fails(place, NOW));
        servers_open(place, 1);
        servers_set_drained(place, true, NOW);
        servers_set_check(
            place, NOW,
            &(struct server_verdict){ SERVER_CHECKED_DOWN, 1000, STR("x") });
    }
}

static void
the_places_of_those_that_are_gone_are_given_again(void **state)
{
    char name[32];
    int first = servers_end();

    (void)state;
    for (int i = first; i < SERVERS_MAX; i++) {
        snprintf(name, sizeof(name), "many:%d", i);
        assert_int_equal(servers_learn(STR("api"), str_from(name), 2), i);
    }
    uint32_t before = servers_incarnation(1);

    assert_int_equal(servers_learn(STR("api"), servers_name(0), 3), 0);
    servers_count(1, SERVER_RETRIES, 5);
    /* A worker of generation 1 runs: its servers stay. */
    int slot = slot_take(SLOT_WORKER, "worker 0", 0, 1);

    assert_int_equal(servers_learn(STR("api"), STR("new:2"), 3), -1);
    slot_bury((uint32_t)slot);
    slot_release((uint32_t)slot);
    assert_int_equal(servers_learn(STR("api"), STR("new:3"), 3), 1);
    assert_int_not_equal(servers_incarnation(1), before);
    assert_int_equal(servers_counted(1, SERVER_RETRIES), 0);
}

/* ---- fails ---- */

static void
so_many_fails_within_the_time_shut_it(void **state)
{
    int s = learn("fails:1");

    (void)state;
    assert_false(one_fails(s, NOW));
    assert_false(one_fails(s, NOW + 5000));
    assert_int_equal(servers_gate(s, NOW + 5000), SERVER_OPEN);
    assert_true(one_fails(s, NOW + 10000));
    assert_int_equal(servers_gate(s, NOW + 10000), SERVER_SHUT);
    assert_int_equal(servers_gate(s, NOW + 19999), SERVER_SHUT);
    assert_int_equal(servers_gate(s, NOW + 20000), SERVER_TRIAL);
}

static void
fails_that_are_too_far_apart_do_not(void **state)
{
    int s = learn("apart:1");

    (void)state;
    for (int i = 0; i < 10; i++) {
        assert_false(one_fails(s, NOW + i * 6000));
    }
    assert_int_equal(servers_gate(s, NOW + 60000), SERVER_OPEN);
}

static void
one_request_tries_and_its_answer_decides(void **state)
{
    int s = learn("trial:1");
    int64_t later = NOW + 10000;

    (void)state;
    for (int i = 0; i < 3; i++) {
        one_fails(s, NOW);
    }
    assert_false(servers_try(s, &rules, later - 1));
    assert_true(servers_try(s, &rules, later));
    assert_false(servers_try(s, &rules, later));
    assert_int_equal(servers_gate(s, later), SERVER_SHUT);
    assert_false(one_fails(s, later + 100)); /* it was down already */
    assert_int_equal(servers_gate(s, later + 10099), SERVER_SHUT);
    assert_true(servers_try(s, &rules, later + 10100));
    assert_true(servers_good(s, later + 10200));
    assert_false(servers_good(s, later + 10200));
    assert_int_equal(servers_gate(s, later + 10200), SERVER_OPEN);
    assert_int_equal(servers_back(s, later + 10300), later + 10200);
}

static void
fails_may_not_count_at_all(void **state)
{
    const struct server_rules never = { .max_fails = 0, .fail_timeout = 1000 };
    int s = learn("never:1");

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_false(servers_fail(s, &never, NOW, STR("x")));
    }
    assert_int_equal(servers_gate(s, NOW), SERVER_OPEN);
}

/* ---- what no process of ours writes ---- */

/* Others, whose clock is another, or who lie, have left it. */
static void
times_that_cannot_be_shut_nothing(void **state)
{
    const struct server_rules once = { .max_fails = 1, .fail_timeout = 10000 };
    int ahead = learn("ahead:1"), before = learn("before:1");

    (void)state;
    servers_fail(ahead, &once, NOW + 2 * (int64_t)SERVERS_TIMEOUT_MAX,
                 STR("x"));
    assert_int_equal(servers_gate(ahead, NOW), SERVER_OPEN);
    assert_false(servers_try(ahead, &once, NOW));
    servers_fail(before, &once, -20000, STR("x"));
    assert_int_equal(servers_gate(before, NOW), SERVER_OPEN);
    assert_false(servers_try(before, &once, NOW));
    servers_fail(ahead, &once, NOW, STR("x")); /* that of now does */
    assert_int_equal(servers_gate(ahead, NOW), SERVER_SHUT);
}

/* Fails count from now on where the first was at a time that cannot be. */
static void
windows_that_cannot_be_are_none(void **state)
{
    const struct server_rules wide = { .max_fails = 3,
                                       .fail_timeout = SERVERS_TIMEOUT_MAX };
    const int64_t late = 10 * (int64_t)SERVERS_TIMEOUT_MAX;
    const struct {
        const char *name;
        int64_t first, now;
    } cases[] = { { "window:1", late + 1000000, late },
                  { "window:2", -1000000, NOW } };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int s = learn(cases[i].name);

        servers_fail(s, &wide, cases[i].first, STR("x"));
        servers_fail(s, &wide, cases[i].first, STR("x"));
        assert_false(servers_fail(s, &wide, cases[i].now, STR("x")));
        assert_int_equal(servers_gate(s, cases[i].now), SERVER_OPEN);
    }
}

static void
verdicts_that_cannot_be_are_none(void **state)
{
    int s = learn("verdict:1");
    struct server_story story;

    (void)state;
    servers_set_check(
        s, NOW,
        &(struct server_verdict){ (enum server_check)99, 1000, STR_NONE });
    assert_int_equal(servers_check(s, NOW), SERVER_UNCHECKED);
    servers_story(s, NOW - 1, &story); /* it is to come */
    assert_int_equal(story.checked_ms, 0);
    servers_set_check(
        s, -7, &(struct server_verdict){ SERVER_CHECKED_UP, 1, STR_NONE });
    servers_story(s, NOW, &story);
    assert_int_equal(story.checked_ms, 0);
}

/* A turn that began before another process brought it back sees it as back
 * now; what is further ahead, or before all time, is no time. */
static void
it_is_back_since_a_time_that_can_be(void **state)
{
    int s = learn("since:1");

    (void)state;
    servers_set_drained(s, true, NOW);
    servers_set_drained(s, false, NOW);
    assert_int_equal(servers_back(s, NOW - 1), NOW - 1);
    assert_int_equal(servers_back(s, NOW - 100000), 0);
    servers_set_drained(s, true, NOW);
    servers_set_drained(s, false, -NOW);
    assert_int_equal(servers_back(s, NOW), 0);
}

static void
claims_that_cannot_be_are_nothing(void **state)
{
    /* More than a process can have open; servers.c knows the bound. */
    static const int wrong[] = { -5, (1 << 24) + 1 };
    int s = learn("claims:1"), status;
    int slot = slot_take(SLOT_WORKER, "worker 0", 0, 9);

    (void)state;
    servers_open(s, 2);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        pid_t pid = fork();

        if (pid == 0) {
            slot_set_self((uint32_t)slot);
            servers_open(s, wrong[i]);
            _exit(0);
        }
        waitpid(pid, &status, 0);
        assert_int_equal(servers_opened(s), 2);
        servers_sweep((uint32_t)slot);
    }
    servers_open(s, -2);
    slot_bury((uint32_t)slot);
    slot_release((uint32_t)slot);
}

/* A cut name would be another server's. */
static void
names_that_are_too_long_have_no_place(void **state)
{
    char longest[SERVERS_NAME_MAX + SERVERS_UPSTREAM_MAX];
    int end = servers_end();

    (void)state;
    memset(longest, 'x', sizeof(longest));
    assert_int_equal(
        servers_learn(STR("api"), str_of(longest, SERVERS_NAME_MAX), 1), -1);
    assert_int_equal(
        servers_learn(str_of(longest, SERVERS_UPSTREAM_MAX), STR("a:1"), 1),
        -1);
    assert_int_equal(servers_end(), end);
}

/* ---- checks, the operator ---- */

static void
checks_and_the_operator_bring_a_server_back(void **state)
{
    int s = learn("back:1");
    struct server_story story;

    (void)state;
    assert_int_equal(servers_back(s, NOW), 0);
    servers_set_check(s, NOW,
                      &(struct server_verdict){ SERVER_CHECKED_DOWN, 1000,
                                                STR("no\nanswer") });
    assert_int_equal(servers_check(s, NOW + 999), SERVER_CHECKED_DOWN);
    assert_int_equal(servers_check(s, NOW + 1000), SERVER_UNCHECKED);
    assert_int_equal(servers_check(s, NOW - INT64_C(1) * SERVERS_CHECK_MAX),
                     SERVER_CHECKED_DOWN);
    assert_int_equal(servers_check(s, NOW - INT64_C(2) * SERVERS_CHECK_MAX),
                     SERVER_UNCHECKED);
    servers_story(s, NOW, &story);
    assert_string_equal(story.why, "no\\x0aanswer");
    assert_int_equal(story.checked_ms, NOW);
    servers_set_check(
        s, NOW + 1,
        &(struct server_verdict){ SERVER_CHECKED_UP, 1000, STR_NONE });
    assert_int_equal(servers_back(s, NOW + 2), NOW + 1);
    servers_set_drained(s, true, NOW + 3);
    assert_true(servers_is_drained(s));
    servers_set_drained(s, false, NOW + 4);
    servers_set_drained(s, false, NOW + 5);
    assert_int_equal(servers_back(s, NOW + 6), NOW + 4);
    servers_set_weight(s, 7);
    assert_int_equal(servers_weight(s), 7);
}

/* ---- what is open ---- */

static void
what_a_dead_process_had_is_given_back(void **state)
{
    int s = learn("open:1"), status;
    int slot = slot_take(SLOT_WORKER, "worker 0", 0, 9);

    (void)state;
    servers_open(s, 1);
    servers_count(s, SERVER_RETRIES, 1);

    pid_t pid = fork();

    if (pid == 0) {
        slot_set_self((uint32_t)slot);
        servers_open(s, 3);
        servers_gauge(s, SERVER_WAITING, 2);
        servers_count(s, SERVER_RETRIES, 4);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(servers_opened(s), 4);
    assert_int_equal(servers_gauged(s, SERVER_WAITING), 2);
    servers_sweep((uint32_t)slot);
    assert_int_equal(servers_opened(s), 1);
    assert_int_equal(servers_gauged(s, SERVER_WAITING), 0);
    assert_int_equal(servers_counted(s, SERVER_RETRIES), 5);
    servers_open(s, -1);
    slot_bury((uint32_t)slot);
    slot_release((uint32_t)slot);
}

static void
times_go_into_their_bounds(void **state)
{
    int s = learn("time:1");

    (void)state;
    servers_observe(s, 0);
    servers_observe(s, 1);
    servers_observe(s, 7);
    servers_observe(s, 100000);
    assert_int_equal(servers_counted(s, SERVER_WITHIN), 2);
    assert_int_equal(servers_counted(s, SERVER_WITHIN + 3), 1);
    assert_int_equal(servers_counted(s, SERVER_WITHIN + SERVER_BOUNDS), 1);
    assert_int_equal(servers_counted(s, SERVER_TIME), 100008);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_has_one_place),
        cmocka_unit_test(a_place_without_a_server_has_nothing),
        cmocka_unit_test(so_many_fails_within_the_time_shut_it),
        cmocka_unit_test(fails_that_are_too_far_apart_do_not),
        cmocka_unit_test(one_request_tries_and_its_answer_decides),
        cmocka_unit_test(fails_may_not_count_at_all),
        cmocka_unit_test(times_that_cannot_be_shut_nothing),
        cmocka_unit_test(windows_that_cannot_be_are_none),
        cmocka_unit_test(verdicts_that_cannot_be_are_none),
        cmocka_unit_test(it_is_back_since_a_time_that_can_be),
        cmocka_unit_test(claims_that_cannot_be_are_nothing),
        cmocka_unit_test(names_that_are_too_long_have_no_place),
        cmocka_unit_test(checks_and_the_operator_bring_a_server_back),
        cmocka_unit_test(what_a_dead_process_had_is_given_back),
        cmocka_unit_test(times_go_into_their_bounds),
        cmocka_unit_test(the_places_of_those_that_are_gone_are_given_again),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
