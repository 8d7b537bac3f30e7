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
#include "servers_impl.h"

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

static const struct server_limits limits = { .shut = 10000, .check = 60000 };

static int
learn_of(struct str upstream, struct str name, uint32_t generation)
{
    return servers_learn(upstream, name, generation, &limits);
}

/* A server that no other test has. */
static int
learn(const char *name)
{
    int place = learn_of(STR("api"), str_from(name), 1);

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
    int a = learn("a:1"), b = learn_of(STR("other"), STR("a:1"), 1);

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
    static const int none[] = { -1, SERVERS_MAX, INT32_MAX };

    (void)state;
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        int place = none[i];

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
        assert_int_equal(learn_of(STR("api"), str_from(name), 2), i);
    }
    uint32_t before = servers_incarnation(1);

    assert_int_equal(learn_of(STR("api"), servers_name(0), 3), 0);
    servers_count(1, SERVER_RETRIES, 5);
    servers_look();
    assert_int_equal(servers_counted(1, SERVER_RETRIES), 5);
    /* A worker of generation 1 runs: its servers stay. */
    int slot = slot_take(SLOT_WORKER, "worker 0", 0, 1);

    assert_int_equal(learn_of(STR("api"), STR("new:2"), 3), -1);
    slot_bury((uint32_t)slot);
    slot_release((uint32_t)slot);
    assert_int_equal(learn_of(STR("api"), STR("new:3"), 3), 1);
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
expect_why(int place, const char *why)
{
    struct server_story story;

    servers_story(place, NOW, &story);
    assert_string_equal(story.why, why);
}

/* They are told all the same, until an answer comes. */
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
    expect_why(s, "x");
    assert_false(servers_good(s, NOW));
    expect_why(s, "");
}

/* The server is asked again as soon as its settings say, whatever a process has
 * written, and nobody has to look at it meanwhile. */
static void
it_is_shut_no_longer_than_the_settings_say(void **state)
{
    static const int64_t later[] = { NOW + 10001, NOW + INT64_C(3600) * 1000,
                                     INT64_C(1) << 40, INT64_MAX };
    int s = learn("spoilt:1");
    _Atomic int64_t *until = &servers.shared->states[s].until_ms;

    (void)state;
    for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
        atomic_store(until, later[i]);
        assert_int_equal(servers_gate(s, NOW), SERVER_SHUT);
        assert_int_equal(servers_gate(s, NOW + 9999), SERVER_SHUT);
        assert_int_equal(servers_gate(s, NOW + 10000), SERVER_TRIAL);
        assert_true(servers_try(s, &rules, NOW + 10000));
        assert_true(servers_good(s, NOW + 10000));
    }
    atomic_store(until, INT64_MIN);
    assert_int_equal(servers_gate(s, NOW), SERVER_OPEN);
    assert_false(servers_good(s, NOW));
}

static void
it_is_never_shut_where_fails_do_not_count(void **state)
{
    const struct server_limits none = { .shut = 0, .check = 0 };
    int s = servers_learn(STR("sole"), STR("a:1"), 1, &none);

    (void)state;
    atomic_store(&servers.shared->states[s].until_ms, NOW + 5000);
    assert_int_equal(servers_gate(s, NOW), SERVER_OPEN);
    assert_false(servers_good(s, NOW));
}

/* Workers of two generations have one server between them. */
static void
the_newest_settings_say_how_long(void **state)
{
    const struct server_limits shorter = { .shut = 2000, .check = 0 };
    int s = learn("newest:1");

    (void)state;
    servers_learn(STR("api"), STR("newest:1"), 2, &shorter);
    for (int i = 0; i < 3; i++) {
        one_fails(s, NOW);
    }
    assert_int_equal(atomic_load(&servers.shared->states[s].until_ms),
                     NOW + 2000);
    assert_true(servers_try(s, &rules, NOW + 2000));
    assert_int_equal(atomic_load(&servers.shared->states[s].until_ms),
                     NOW + 4000);
}

/* Fails count from now on where the first was at a time that cannot be. */
static void
windows_that_cannot_be_are_none(void **state)
{
    const struct server_rules wide = { .max_fails = 3,
                                       .fail_timeout = SERVERS_TIMEOUT_MAX };
    static const int64_t begun[] = { NOW + 1000000, -1, INT64_MIN };
    char name[32];

    (void)state;
    for (size_t i = 0; i < sizeof(begun) / sizeof(begun[0]); i++) {
        struct state *told;
        int s;

        snprintf(name, sizeof(name), "window:%zu", i);
        s = learn(name);
        told = &servers.shared->states[s];
        atomic_store(&told->window_ms, begun[i]);
        atomic_store(&told->fails, 2);
        assert_false(servers_fail(s, &wide, NOW, STR("x")));
        assert_int_equal(servers_gate(s, NOW), SERVER_OPEN);
        assert_int_equal(atomic_load(&told->window_ms), NOW);
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

/* A cut name would be another server's. */
static void
names_that_are_too_long_have_no_place(void **state)
{
    char longest[SERVERS_NAME_MAX + SERVERS_UPSTREAM_MAX];
    int end = servers_end();

    (void)state;
    memset(longest, 'x', sizeof(longest));
    assert_int_equal(learn_of(STR("api"), str_of(longest, SERVERS_NAME_MAX), 1),
                     -1);
    assert_int_equal(
        learn_of(str_of(longest, SERVERS_UPSTREAM_MAX), STR("a:1"), 1), -1);
    assert_int_equal(servers_end(), end);
}

/* ---- checks, the operator ---- */

static void
a_verdict_holds_no_longer_than_the_settings_say(void **state)
{
    const struct server_limits unchecked = { .shut = 10000, .check = 0 };
    int s = learn("verdict:1");
    int other = servers_learn(STR("other"), STR("verdict:1"), 1, &unchecked);

    (void)state;
    atomic_store(&servers.shared->states[s].check, SERVER_CHECKED_DOWN);
    atomic_store(&servers.shared->states[s].check_until_ms, INT64_MAX);
    assert_int_equal(servers_check(s, NOW), SERVER_CHECKED_DOWN);
    assert_int_equal(servers_check(s, NOW + 59999), SERVER_CHECKED_DOWN);
    assert_int_equal(servers_check(s, NOW + 60000), SERVER_UNCHECKED);
    atomic_store(&servers.shared->states[s].check_until_ms, NOW + 1000);
    atomic_store(&servers.shared->states[s].check, 77);
    assert_int_equal(servers_check(s, NOW), SERVER_UNCHECKED);
    atomic_store(&servers.shared->states[other].check, SERVER_CHECKED_DOWN);
    atomic_store(&servers.shared->states[other].check_until_ms, NOW + 1000);
    assert_int_equal(servers_check(other, NOW), SERVER_UNCHECKED);
}

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
    servers_story(s, NOW, &story);
    assert_string_equal(story.why, "no\\x0aanswer");
    assert_int_equal(story.checked_ms, NOW);
    servers_set_check(
        s, NOW + 1,
        &(struct server_verdict){ SERVER_CHECKED_UP, 1000, STR_NONE });
    assert_int_equal(servers_back(s, NOW + 2), NOW + 1);
    expect_why(s, "");
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

static _Atomic int32_t *
gauge(enum server_gauge which, int place, uint32_t slot)
{
    return &servers.gauges[((size_t)which * SERVERS_MAX + (size_t)place) *
                               servers.slots +
                           slot];
}

/* A process knows what it has open, whatever others write there. */
static void
what_a_process_has_open_is_its_own_to_tell(void **state)
{
    static const int32_t wrong[] = { 0, 1, -1, INT32_MAX, INT32_MIN };
    int s = learn("own:1");

    (void)state;
    servers_open(s, 2);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        atomic_store(gauge(SERVER_OPENED, s, slot_self()), wrong[i]);
        assert_int_equal(servers_opened(s), 2);
        assert_int_equal(atomic_load(gauge(SERVER_OPENED, s, slot_self())), 2);
        atomic_store(gauge(SERVER_OPENED, s, slot_self()), wrong[i]);
        servers_open(s, 1);
        assert_int_equal(servers_opened(s), 3);
        servers_open(s, -1);
        atomic_store(gauge(SERVER_WAITING, s, slot_self()), wrong[i]);
        servers_tell_open(s);
        assert_int_equal(atomic_load(gauge(SERVER_WAITING, s, slot_self())), 0);
    }
    servers_open(s, -2);
}

static void
what_another_has_open_can_be_so(void **state)
{
    int s = learn("others:1");
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "worker 0", 0, 9);

    (void)state;
    atomic_store(gauge(SERVER_OPENED, s, slot), 5);
    assert_int_equal(servers_opened(s), 5);
    atomic_store(gauge(SERVER_OPENED, s, slot), -1);
    assert_int_equal(servers_opened(s), 0);
    atomic_store(gauge(SERVER_OPENED, s, slot), SLOT_CONNECTIONS_MOST + 1);
    assert_int_equal(servers_opened(s), 0);
    atomic_store(gauge(SERVER_OPENED, s, slot), 5);
    slot_bury(slot);
    assert_int_equal(servers_opened(s), 0);
    servers_sweep(slot);
    slot_release(slot);
    atomic_store(gauge(SERVER_OPENED, s, slot), 5); /* nobody is there */
    assert_int_equal(servers_opened(s), 0);
    slot = (uint32_t)slot_take(SLOT_ROLE, "prober", 0, 9);
    atomic_store(gauge(SERVER_OPENED, s, slot), 5);
    assert_int_equal(servers_opened(s), 0);
    servers_sweep(slot);
    slot_bury(slot);
    slot_release(slot);
}

/* A count stands where it was, and goes on with what is counted then. */
static void
what_was_counted_never_falls(void **state)
{
    static const int fills[] = { 0, 0x7f, 0x80, 0xff, 0x01, 0 };
    int s = learn("counted:1");
    int64_t good = 5;

    (void)state;
    servers_count(s, SERVER_ANSWERS + 2, 5);
    servers_look();
    for (size_t i = 0; i < sizeof(fills) / sizeof(fills[0]); i++) {
        memset((void *)servers.shared->rows[s], fills[i],
               sizeof(servers.shared->rows[s]));
        assert_int_equal(servers_counted(s, SERVER_ANSWERS + 2), good);
        assert_true(servers_counted(s, SERVER_TIME) >= 0);
        servers_count(s, SERVER_ANSWERS + 2, 3);
        good += 3;
        assert_int_equal(servers_counted(s, SERVER_ANSWERS + 2), good);
    }
}

static void
see_what_was_counted(int place)
{
    slot_set_self((uint32_t)slot_take(SLOT_WORKER, "worker 0", 0, 9));
    _exit(servers_counted(place, SERVER_ANSWERS + 2) == 5 ? 0 : 1);
}

/* A worker tells it to its clients, too. */
static void
what_the_master_saw_holds_in_a_worker(void **state)
{
    int s = learn("seen:1"), status;

    (void)state;
    servers_count(s, SERVER_ANSWERS + 2, 5);
    servers_look();
    memset((void *)servers.shared->rows[s], 0, sizeof(servers.shared->rows[s]));
    pid_t pid = fork();

    if (pid == 0) {
        see_what_was_counted(s);
    }
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
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
        cmocka_unit_test(windows_that_cannot_be_are_none),
        cmocka_unit_test(verdicts_that_cannot_be_are_none),
        cmocka_unit_test(it_is_back_since_a_time_that_can_be),
        cmocka_unit_test(names_that_are_too_long_have_no_place),
        cmocka_unit_test(it_is_shut_no_longer_than_the_settings_say),
        cmocka_unit_test(it_is_never_shut_where_fails_do_not_count),
        cmocka_unit_test(the_newest_settings_say_how_long),
        cmocka_unit_test(a_verdict_holds_no_longer_than_the_settings_say),
        cmocka_unit_test(checks_and_the_operator_bring_a_server_back),
        cmocka_unit_test(what_a_dead_process_had_is_given_back),
        cmocka_unit_test(what_a_process_has_open_is_its_own_to_tell),
        cmocka_unit_test(what_another_has_open_can_be_so),
        cmocka_unit_test(what_was_counted_never_falls),
        cmocka_unit_test(what_the_master_saw_holds_in_a_worker),
        cmocka_unit_test(times_go_into_their_bounds),
        cmocka_unit_test(the_places_of_those_that_are_gone_are_given_again),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
