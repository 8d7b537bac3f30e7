/*
 * Leases of one node, on a database where others are.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lease_owner.h"

#include "base/clock.h"
#include "store/lease_impl.h"

/* ---- where nobody else is ---- */

static void
a_weir_alone_has_all_at_once(void **state)
{
    struct owner a;

    (void)state;
    start_at(false, FAR, "p");
    begin(&a, "a");
    assert_true(lease_want(a.lease));
    assert_true(lease_is_held(a.lease));
    loop_turn(l, 0);
    assert_int_equal(a.taken, 0);
    lease_drop(a.lease);
    assert_false(lease_is_held(a.lease));
    lease_free(&a.lease);
    lease_stop();
    assert_true(lease_is_stopped());
    assert_int_equal(fake_writes, 0);
}

/* ---- claiming ---- */

static void
what_nobody_has_is_taken(void **state)
{
    struct owner a;

    (void)state;
    start_at(true, FAR, "p");
    begin(&a, "a");
    assert_false(lease_want(a.lease));
    UNTIL(a.taken == 1);
    assert_true(lease_is_held(a.lease));
    assert_true(lease_want(a.lease));
    assert_int_equal(ask(OURS, NULL, 0), 1);
}

static void
thousands_are_taken_by_one_write(void **state)
{
    static struct owner many[4096];

    (void)state;
    start_at(true, FAR, "p");
    for (int i = 0; i < 4096; i++) {
        char name[32];

        snprintf(name, sizeof(name), "relay/%d", i);
        begin(&many[i], name);
        lease_want(many[i].lease);
    }
    UNTIL(many[4095].taken == 1);
    assert_int_equal(many[0].taken, 1);
    assert_int_equal(ask(OURS, NULL, 0), 4096);
    assert_true(fake_writes <= 3); /* the node, the leases, their states */
}

static void
what_another_has_is_waited_for(void **state)
{
    struct owner a;

    (void)state;
    start_at(true, FAR, "p");
    let_other_have("a", LONG_AHEAD);
    begin(&a, "a");
    lease_want(a.lease);
    UNTIL(strcmp(a.node, "there") == 0);
    assert_string_equal(a.state, "busy");
    sql("update store_lease set state = 'idle'");
    fake_heard(NULL, STR("there"));
    UNTIL(strcmp(a.state, "idle") == 0);
    assert_int_equal(a.taken, 0);
    sql("delete from store_lease");
    fake_heard(NULL, STR("there"));
    UNTIL(a.taken == 1);
    assert_int_equal(ask(OURS, NULL, 0), 1);
}

static void
what_a_dead_node_had_is_free(void **state)
{
    struct owner a;

    (void)state;
    start_at(true, FAR, "p");
    let_other_have("a", LONG_AGO);
    sql("insert into store_lease values ('old', 77, '')");
    begin(&a, "a");
    lease_want(a.lease);
    UNTIL(a.taken == 1);
    assert_int_equal(ask(LEASES, NULL, 0), 1);
    assert_int_equal(ask("select count(*) from store_node", NULL, 0), 1);
}

static void
the_end_of_anothers_time_is_not_missed(void **state)
{
    struct owner a;

    (void)state;
    start_at(true, FAR, "p");
    let_other_have("a", "cast((julianday('now') - 2440587.5) * 86400000 as "
                        "integer) + 300");
    begin(&a, "a");
    lease_want(a.lease);
    UNTIL(a.taken == 1); /* the next renewal would be after 20 s */
    assert_int_equal(a.lost, 0);
}

/* Though nobody wants it, and so nobody deletes its row. */
static void
a_dead_node_is_not_said_to_have_it(void **state)
{
    struct owner a, b;

    (void)state;
    start_at(true, SHORT, "p");
    let_other_have("a", "cast((julianday('now') - 2440587.5) * 86400000 as "
                        "integer) + 300");
    begin(&a, "a");
    begin(&b, "b");
    UNTIL(strcmp(a.node, "there") == 0);
    UNTIL(a.node[0] == '\0');
    assert_string_equal(a.state, "");
    assert_int_equal(ask(LEASES, NULL, 0), 1);
    assert_int_equal(a.taken, 0);
}

/* ---- giving back ---- */

static void
what_is_dropped_is_free(void **state)
{
    struct owner a, b;

    (void)state;
    start_at(true, FAR, "p");
    begin(&a, "a");
    begin(&b, "b");
    lease_want(a.lease);
    lease_want(b.lease);
    UNTIL(a.taken == 1 && b.taken == 1);
    lease_drop(a.lease);
    assert_false(lease_is_held(a.lease));
    UNTIL(ask(LEASES, NULL, 0) == 1);
    lease_free(&b.lease);
    UNTIL(ask(LEASES, NULL, 0) == 0);
    assert_false(lease_want(a.lease));
    UNTIL(a.taken == 2);
    assert_int_equal(a.lost, 0);
}

static void
one_that_is_freed_while_it_is_claimed_is_given_back(void **state)
{
    struct owner a;
    unsigned before;

    (void)state;
    start_at(true, FAR, "p");
    begin(&a, "a");
    UNTIL(ask("select count(*) from store_node", NULL, 0) == 1 &&
          list_empty(&fake_calls));
    lease_want(a.lease);
    for (before = fake_writes; fake_writes == before;) {
        loop_turn(l, 0);
    }
    assert_int_equal(ask(LEASES, NULL, 0), 1);
    lease_free(&a.lease);
    UNTIL(ask(LEASES, NULL, 0) == 0);
    assert_int_equal(a.taken, 0);
}

static void
a_stop_gives_all_back(void **state)
{
    struct owner a;

    (void)state;
    start_at(true, FAR, "p");
    begin(&a, "a");
    lease_want(a.lease);
    UNTIL(a.taken == 1);
    lease_stop();
    UNTIL(lease_is_stopped());
    assert_int_equal(ask(LEASES, NULL, 0), 0);
    assert_int_equal(ask("select count(*) from store_node", NULL, 0), 0);
    assert_int_equal(a.lost, 0);
}

static void
a_stop_does_not_wait_for_a_store_that_is_down(void **state)
{
    struct owner a;

    (void)state;
    start_at(true, FAR, "p");
    begin(&a, "a");
    lease_want(a.lease);
    UNTIL(a.taken == 1);
    fake_down = true;
    lease_stop();
    UNTIL(lease_is_stopped());
}

/* ---- losing ---- */

static void
a_node_that_was_given_up_loses_all(void **state)
{
    struct owner a;

    (void)state;
    start_at(true, SHORT, "p");
    begin(&a, "a");
    lease_want(a.lease);
    UNTIL(a.taken == 1);
    sql("delete from store_node; delete from store_lease");
    let_other_have("a", LONG_AHEAD);
    UNTIL(a.lost == 1);
    assert_non_null(strstr(a.reason, "was not heard of"));
    UNTIL(strcmp(a.node, "there") == 0);
    assert_int_equal(a.taken, 1);
    assert_false(lease_is_held(a.lease));
}

/* How much longer the database lets the node have its leases than the node
 * itself believes, ms; at least so much, for reading both takes time. */
static int64_t
margin(void)
{
    int64_t before, left;

    do {
        before = lease_now();
        left = ask("select expires - cast((julianday('now') - 2440587.5) * "
                   "86400000 as integer) from store_node where node = 'here'",
                   NULL, 0);
    } while (lease_now() - before > 50);
    return left - (leases.valid_to - before) + 50;
}

/* It stops before another one can have begun. */
static void
a_node_stops_before_its_time_is_over(void **state)
{
    struct owner a;

    (void)state;
    start_at(true, FAR, "p");
    begin(&a, "a");
    lease_want(a.lease);
    UNTIL(a.taken == 1);
    assert_true(margin() >= FAR / 8);
    /* A renewal that gets no answer leaves time for another one. */
    assert_true(leases.valid_to - leases.renew_at >=
                leases.renew_at - leases.sent_at);
}

/* What is granted when its time is over is not used, but asked for again. */
static void
an_answer_that_comes_too_late_gives_nothing(void **state)
{
    struct owner a;
    unsigned before;

    (void)state;
    start_at(true, FAR, "p");
    begin(&a, "a");
    UNTIL(ask("select count(*) from store_node", NULL, 0) == 1 &&
          list_empty(&fake_calls));
    lease_want(a.lease);
    for (before = fake_writes; fake_writes == before;) {
        loop_turn(l, 0);
    }
    assert_int_equal(ask(LEASES, NULL, 0), 1);
    leases.sent_at -= FAR; /* it took so long */
    for (before = fake_writes; fake_writes == before;) {
        assert_int_equal(a.taken, 0);
        assert_false(lease_is_held(a.lease));
        loop_turn(l, 0);
    }
    assert_int_equal(a.taken, 0);
    UNTIL(a.taken == 1);
}

/* And has it again when nobody wanted it meanwhile. */
static void
a_node_that_cannot_renew_stops_in_time(void **state)
{
    struct owner a, b;

    (void)state;
    start_at(true, SHORT, "p");
    let_other_have("b", LONG_AHEAD);
    begin(&a, "a");
    begin(&b, "b");
    lease_want(a.lease);
    UNTIL(a.taken == 1 && strcmp(b.node, "there") == 0);
    fake_down = true;
    UNTIL(a.lost == 1);
    assert_non_null(strstr(a.reason, "did not confirm"));
    assert_int_equal(ask(OURS, NULL, 0), 1);
    fake_down = false;
    UNTIL(a.taken == 2);
}

static void
a_node_alone_goes_on_without_the_database(void **state)
{
    struct owner a;
    int64_t end;

    (void)state;
    start_at(true, SHORT, "p");
    begin(&a, "a");
    lease_want(a.lease);
    UNTIL(a.taken == 1 && fake_writes >= 3);
    fake_down = true;
    for (end = clock_ms() + 3 * SHORT / 2; clock_ms() < end;) {
        loop_turn(l, 50);
    }
    assert_int_equal(a.lost, 0);
    fake_down = false;
    for (unsigned n = fake_writes; fake_writes < n + 2;) {
        loop_turn(l, 50);
    }
    assert_int_equal(a.lost, 0);
    assert_true(lease_is_held(a.lease));
}

static void
a_node_alone_gives_way_to_who_was_quicker(void **state)
{
    struct owner a;

    (void)state;
    start_at(true, SHORT, "p");
    begin(&a, "a");
    lease_want(a.lease);
    UNTIL(a.taken == 1 && fake_writes >= 3);
    fake_down = true;
    sql("delete from store_node; delete from store_lease");
    let_other_have("a", LONG_AHEAD);
    for (int64_t end = clock_ms() + 3 * SHORT / 2; clock_ms() < end;) {
        loop_turn(l, 50);
    }
    assert_int_equal(a.lost, 0);
    fake_down = false;
    UNTIL(a.lost == 1);
    UNTIL(strcmp(a.node, "there") == 0);
}

/* ---- being the same node again ---- */

static void
a_process_that_was_killed_goes_on_with_what_it_had(void **state)
{
    struct owner a;
    int64_t session;

    (void)state;
    start_at(true, FAR, "p");
    begin(&a, "a");
    lease_want(a.lease);
    UNTIL(a.taken == 1);
    session = ask("select session from store_lease", NULL, 0);
    lease_end();
    start_at(true, FAR, "p");
    begin(&a, "a");
    lease_want(a.lease);
    UNTIL(a.taken == 1);
    assert_int_equal(ask("select session from store_lease", NULL, 0), session);
}

static void
another_weir_of_the_same_name_gets_nothing(void **state)
{
    struct owner a;

    (void)state;
    start_at(true, FAR, "p");
    begin(&a, "a");
    lease_want(a.lease);
    UNTIL(a.taken == 1);
    lease_end();
    start_at(true, SHORT, "q");
    begin(&a, "a");
    lease_want(a.lease);
    for (unsigned n = fake_writes; fake_writes < n + 3;) {
        loop_turn(l, 50);
    }
    assert_int_equal(a.taken, 0);
    sql("update store_node set expires = " LONG_AGO);
    UNTIL(a.taken == 1);
}

/* ---- what is said ---- */

static void
a_state_is_written_at_most_once_a_second(void **state)
{
    struct owner a;
    char text[64];
    unsigned writes;

    (void)state;
    start_at(true, FAR, "p");
    begin(&a, "a");
    lease_want(a.lease);
    UNTIL(a.taken == 1);
    lease_say(a.lease, STR("one \"and\" '\t'"));
    do {
        loop_turn(l, 20);
        ask("select state from store_lease", text, sizeof(text));
    } while (strcmp(text, "one \"and\" '\t'") != 0);
    writes = fake_writes;
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof(text), "%d", i);
        lease_say(a.lease, str_from(text));
        loop_turn(l, 0);
    }
    do {
        loop_turn(l, 20);
        ask("select state from store_lease", text, sizeof(text));
    } while (strcmp(text, "99") != 0);
    assert_true(fake_writes <= writes + 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_weir_alone_has_all_at_once),
        TEST(what_nobody_has_is_taken),
        TEST(thousands_are_taken_by_one_write),
        TEST(what_another_has_is_waited_for),
        TEST(what_a_dead_node_had_is_free),
        TEST(the_end_of_anothers_time_is_not_missed),
        TEST(a_dead_node_is_not_said_to_have_it),
        TEST(what_is_dropped_is_free),
        TEST(one_that_is_freed_while_it_is_claimed_is_given_back),
        TEST(a_stop_gives_all_back),
        TEST(a_stop_does_not_wait_for_a_store_that_is_down),
        TEST(a_node_that_was_given_up_loses_all),
        TEST(a_node_stops_before_its_time_is_over),
        TEST(an_answer_that_comes_too_late_gives_nothing),
        TEST(a_node_that_cannot_renew_stops_in_time),
        TEST(a_node_alone_goes_on_without_the_database),
        TEST(a_node_alone_gives_way_to_who_was_quicker),
        TEST(a_process_that_was_killed_goes_on_with_what_it_had),
        TEST(another_weir_of_the_same_name_gets_nothing),
        TEST(a_state_is_written_at_most_once_a_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
