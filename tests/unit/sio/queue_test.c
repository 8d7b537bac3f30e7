/*
 * Packets that wait for a client.
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

#include "engine_help.h"
#include "sio/engine/queue.h"

static struct queue q;

static void
push(const char *text, uint64_t key)
{
    struct ws_frame *f = frame_of(text);

    const struct engine_mark mark = { .key = key };

    assert_int_equal(queue_push(&q, f, &mark), 0);
    ws_frame_let_go(&f);
}

/* All that waits, with commas. */
static const char *
waiting(void)
{
    static char out[1000];

    out[0] = '\0';
    for (uint32_t i = 0; i < q.count; i++) {
        struct str s = ws_frame_str(queue_at(&q, i));

        snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%.*s",
                 i == 0 ? "" : ",", STR_ARGS(s));
    }
    return out;
}

static void
is_empty_and_costs_nothing(void)
{
    assert_int_equal(q.count, 0);
    assert_int_equal(q.bytes, 0);
    assert_int_equal(q.keyed, 0);
    assert_null(q.entries);
    assert_int_equal(frames_alive, 0);
}

static void
test_order(void **state)
{
    (void)state;
    queue_init(&q, PACKET_PAYLOAD);
    push("a", 0);
    push("b", 0);
    push("c", 0);
    queue_pop(&q, 1);
    push("d", 0);
    assert_string_equal(waiting(), "b,c,d");
    assert_int_equal(q.bytes, 3 * QUEUE_LEAST);
    queue_pop(&q, 3);
    is_empty_and_costs_nothing();
}

static void
test_a_key_replaces_its_own(void **state)
{
    (void)state;
    queue_init(&q, PACKET_PAYLOAD);
    assert_false(queue_drop(&q, 1));
    push("a1", 1);
    push("b1", 2);
    push("c", 0);
    assert_true(queue_drop(&q, 1));
    assert_false(queue_drop(&q, 1));
    push("a2", 1);
    assert_string_equal(waiting(), "b1,c,a2");
    assert_int_equal(q.bytes, 3 * QUEUE_LEAST);
    assert_int_equal(q.keyed, 2);
    assert_true(queue_drop(&q, 2));
    assert_false(queue_drop(&q, 3));
    assert_string_equal(waiting(), "c,a2");
    queue_clear(&q);
    is_empty_and_costs_nothing();
}

static void
push_in(const char *text, uint32_t group, uint32_t bits)
{
    const struct engine_mark mark = { .group = group, .bits = bits };
    struct ws_frame *f = frame_of(text);

    assert_int_equal(queue_push(&q, f, &mark), 0);
    ws_frame_let_go(&f);
}

static void
test_a_group_is_dropped(void **state)
{
    uint32_t bits = 0;

    (void)state;
    queue_init(&q, PACKET_PAYLOAD);
    assert_int_equal(queue_drop_group(&q, 1, &bits), 0);
    push_in("gone", 1, 64);
    queue_pop(&q, 1);
    push_in("a1", 1, 1);
    push("b", 0);
    push_in("c2", 2, 8);
    push("d", 9);
    push_in("e1", 1, 4);
    assert_int_equal(queue_drop_group(&q, 1, &bits), 2);
    assert_int_equal(bits, 5);
    assert_string_equal(waiting(), "b,c2,d");
    assert_int_equal(q.bytes, 3 * QUEUE_LEAST);
    assert_int_equal(q.keyed, 1);
    queue_pop(&q, 1);
    assert_int_equal(queue_drop_group(&q, 2, &bits), 1);
    assert_true(queue_drop(&q, 9));
    is_empty_and_costs_nothing();
}

static void
test_dropping_the_last_one(void **state)
{
    (void)state;
    queue_init(&q, PACKET_PAYLOAD);
    push("a", 1);
    assert_true(queue_drop(&q, 1));
    is_empty_and_costs_nothing();
    push("b", 1);
    assert_string_equal(waiting(), "b");
    queue_clear(&q);
}

static void
test_first_of_all(void **state)
{
    struct ws_frame *f = frame_of("2");

    (void)state;
    queue_init(&q, PACKET_PAYLOAD);
    assert_int_equal(queue_push_first(&q, f), 0);
    queue_pop(&q, 1);
    for (int i = 0; i < 8; i++) {
        push("x", 0);
    }
    assert_int_equal(queue_push_first(&q, f), 0);
    assert_string_equal(waiting(), "2,x,x,x,x,x,x,x,x");
    queue_pop(&q, 3);
    assert_int_equal(queue_push_first(&q, f), 0);
    assert_string_equal(waiting(), "2,x,x,x,x,x,x");
    ws_frame_let_go(&f);
    queue_clear(&q);
    is_empty_and_costs_nothing();
}

/* Compared with a queue of numbers, over all lengths and places. */
static void
test_thousands(void **state)
{
    unsigned first = 0, next = 0;
    char text[20];

    (void)state;
    queue_init(&q, PACKET_FRAME);
    srand(1);
    for (int round = 0; round < 2000; round++) {
        for (int n = rand() % 20; n > 0; n--) {
            snprintf(text, sizeof(text), "%u", next++);
            push(text, 0);
        }
        for (int n = rand() % 20; n > 0 && first < next; n--) {
            snprintf(text, sizeof(text), "%u", first++);
            assert_true(str_eq(ws_frame_str(queue_at(&q, 0)), str_from(text)));
            queue_pop(&q, 1);
        }
        assert_int_equal(q.count, next - first);
    }
    queue_clear(&q);
    is_empty_and_costs_nothing();
}

static void
test_bytes_are_those_of_the_form(void **state)
{
    struct ws_frame *f = ws_frame_new(300, true);

    (void)state;
    queue_init(&q, PACKET_PAYLOAD);
    queue_push(&q, f, NULL);
    assert_int_equal(q.bytes, 1 + 400 + 1);
    queue_set_form(&q, PACKET_FRAME);
    assert_int_equal(q.bytes, 304);
    queue_set_form(&q, PACKET_FRAME_BASE64);
    assert_int_equal(q.bytes, 405);
    assert_int_equal(f->holders, 2);
    assert_true(queue_holds(&q, f));
    queue_clear(&q);
    assert_false(queue_holds(&q, f));
    ws_frame_let_go(&f);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_a_key_replaces_its_own),
        cmocka_unit_test(test_a_group_is_dropped),
        cmocka_unit_test(test_dropping_the_last_one),
        cmocka_unit_test(test_first_of_all),
        cmocka_unit_test(test_thousands),
        cmocka_unit_test(test_bytes_are_those_of_the_form),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
