/*
 * Lanes: whose turn it is.
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

#include "fetcher/lanes.h"

#define THINGS 16

static struct thing {
    struct list link;
    char owner;
} things[THINGS];
static size_t made;
static struct lanes lanes;

static void
add(const char *owners)
{
    for (; *owners != '\0'; owners++) {
        const struct tally_holder client = { { 1, (uint64_t)*owners } };
        struct thing *t = &things[made++];

        t->owner = *owners;
        list_init(&t->link);
        lanes_add(&lanes, &client, &t->link);
    }
}

static char
take(void)
{
    struct list *node = lanes_take(&lanes);

    return node != NULL ? LIST_ITEM(node, struct thing, link)->owner : '-';
}

#define assert_takes(expected)                                 \
    do {                                                       \
        for (const char *at = (expected); *at != '\0'; at++) { \
            assert_int_equal(take(), *at);                     \
        }                                                      \
    } while (0)

static int
setup(void **state)
{
    (void)state;
    made = 0;
    lanes_init(&lanes);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    lanes_clear(&lanes);
    return 0;
}

static void
clients_are_served_in_turn(void **state)
{
    (void)state;
    assert_true(lanes_empty(&lanes));
    add("AAAABBC");
    assert_false(lanes_empty(&lanes));
    assert_takes("ABCABAA-");
    assert_true(lanes_empty(&lanes));
}

static void
one_that_comes_later_is_soon_served(void **state)
{
    (void)state;
    add("AAAAAA");
    assert_takes("AAA");
    add("BB");
    assert_takes("ABABA-");
}

static void
what_waits_may_leave(void **state)
{
    (void)state;
    add("ABCB");
    list_remove(&things[0].link);
    list_remove(&things[2].link);
    add("A");
    assert_takes("ABB-");
    add("A");
    list_remove(&things[5].link);
    assert_true(lanes_empty(&lanes));
    add("AB");
    list_remove(&things[6].link); /* its lane ends with the test */
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(clients_are_served_in_turn, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_that_comes_later_is_soon_served,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_waits_may_leave, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
