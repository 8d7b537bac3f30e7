/*
 * Intrusive lists.
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

#include "base/list.h"

struct thing {
    int n;
    struct list link;
};

static int
sum(struct list *head)
{
    int digits = 0;

    LIST_EACH (node, head) {
        digits = digits * 10 + LIST_ITEM(node, struct thing, link)->n;
    }
    return digits;
}

static void
test_order(void **state)
{
    struct thing a = { .n = 1 }, b = { .n = 2 }, c = { .n = 3 };
    struct list head, other;

    (void)state;
    list_init(&head);
    list_init(&other);
    assert_true(list_empty(&head));
    list_append(&head, &b.link);
    list_append(&head, &c.link);
    list_prepend(&head, &a.link);
    assert_int_equal(sum(&head), 123);
    list_remove(&b.link);
    list_remove(&b.link);
    assert_int_equal(sum(&head), 13);
    list_append(&other, &b.link);
    list_splice(&other, &head);
    assert_int_equal(sum(&other), 213);
    assert_true(list_empty(&head));
    list_splice(&other, &head);
    assert_int_equal(sum(&other), 213);
}

static void
test_remove_while_walking(void **state)
{
    struct thing all[4] = { { .n = 1 }, { .n = 2 }, { .n = 3 }, { .n = 4 } };
    struct list head;

    (void)state;
    list_init(&head);
    for (int i = 0; i < 4; i++) {
        list_append(&head, &all[i].link);
    }
    LIST_EACH (node, &head) {
        if (LIST_ITEM(node, struct thing, link)->n != 2) {
            list_remove(node);
        }
    }
    assert_int_equal(sum(&head), 2);
}

static int looked_up;

static struct list *
look_up(struct list *head)
{
    looked_up++;
    return head;
}

static void
test_head_is_looked_up_once(void **state)
{
    struct thing all[2] = { { .n = 1 }, { .n = 2 } };
    struct list head;
    int seen = 0;

    (void)state;
    list_init(&head);
    LIST_EACH (node, look_up(&head)) {
        fail();
    }
    assert_int_equal(looked_up, 1);
    list_append(&head, &all[0].link);
    list_append(&head, &all[1].link);
    LIST_EACH (node, look_up(&head)) {
        seen++;
    }
    assert_int_equal(seen, 2);
    assert_int_equal(looked_up, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_remove_while_walking),
        cmocka_unit_test(test_head_is_looked_up_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
