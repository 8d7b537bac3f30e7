/*
 * Rows of leases that others wrote, or that are older than what a node holds.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lease_owner.h"

/* Another node has it, too. */
static void
let_have_too(const char *name, int64_t session)
{
    char text[256];

    snprintf(text, sizeof(text),
             "insert or replace into store_lease (name, session, state) "
             "values ('%s', %lld, 'busy')",
             name, (long long)session);
    sql(text);
}

/* Everybody is told of what there is. */
static void
look(struct owner *witness)
{
    witness->node[0] = '\0';
    fake_heard(NULL, STR("there"));
    UNTIL(strcmp(witness->node, "there") == 0);
}

static void
rows_older_than_what_is_held_are_not_seen(void **state)
{
    struct owner a, b;

    (void)state;
    start_at(true, FAR, "p");
    let_other_have("b", LONG_AHEAD);
    begin(&a, "a");
    begin(&b, "b");
    lease_want(a.lease);
    UNTIL(a.taken == 1);
    a.seen = 0;
    let_have_too("a", 77);
    look(&b);
    sql("delete from store_lease where name = 'a'");
    look(&b);
    assert_int_equal(a.seen, 0);
    assert_true(lease_is_held(a.lease));
}

static void
what_this_node_had_is_not_seen_as_anothers(void **state)
{
    struct owner a, b;

    (void)state;
    start_at(true, FAR, "p");
    let_other_have("b", LONG_AHEAD);
    begin(&a, "a");
    lease_want(a.lease);
    UNTIL(a.taken == 1);
    lease_end();
    start_at(true, FAR, "p");
    begin(&a, "a");
    begin(&b, "b");
    look(&b);
    assert_int_equal(a.seen, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_older_than_what_is_held_are_not_seen),
        TEST(what_this_node_had_is_not_seen_as_anothers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
