/*
 * Requests and answers as bytes.
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

#include <string.h>

#include "base/mem.h"
#include "notes.h"
#include "store/wire.h"

static struct buf bytes;

static int
set_up(void **state)
{
    (void)state;
    buf_init(&bytes, 100000);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    buf_clear(&bytes);
    return 0;
}

/* ---- requests ---- */

static void
put_request(void)
{
    struct pack out = { .to = &bytes };
    struct wire_request head = { .number = 7, .oldest = 5, .steps = 2 };
    struct store_value values[] = { store_text(STR("a\0b")),
                                    store_int(-1),
                                    { .type = STORE_NULL } };
    struct store_step one = { &notes_statements[ADD], values, 3, true };
    struct store_step two = { &notes_statements[SET], NULL, 0, false };
    struct store_notice notice = { "topic", STR("text") };

    wire_put_request(&out, &head);
    wire_put_step(&out, (struct schema_place){ 1, ADD }, &one);
    wire_put_step(&out, (struct schema_place){ 1, SET }, &two);
    wire_put_notice(&out, &notice);
    assert_false(out.full);
}

static bool
get_request(struct str data, struct wire_step *steps, struct str *topic,
            struct str *text)
{
    struct unpack in = { .rest = data };
    struct wire_request head;

    return wire_get_request(&in, &head) && wire_get_step(&in, &steps[0]) &&
           wire_get_step(&in, &steps[1]) && wire_get_notice(&in, topic, text);
}

static void
a_request_comes_as_it_was_sent(void **state)
{
    struct wire_step steps[2];
    struct str topic, text;

    (void)state;
    put_request();
    assert_true(get_request(buf_str(&bytes), steps, &topic, &text));
    assert_int_equal(steps[0].place.statement, ADD);
    assert_true(steps[0].must_change && !steps[1].must_change);
    assert_int_equal(steps[0].count, 3);
    assert_int_equal(steps[1].count, 0);
    assert_true(str_eq(steps[0].params[0].s, STR("a\0b")));
    assert_int_equal(steps[0].params[0].s.ptr[3], 0);
    assert_true(steps[0].params[1].n == -1);
    assert_int_equal(steps[0].params[2].type, STORE_NULL);
    assert_true(str_eq(topic, STR("topic")) && str_eq(text, STR("text")));
}

static void
the_head_can_be_written_again(void **state)
{
    struct wire_request head = {
        .number = 9, .oldest = 8, .again = 1, .steps = 2
    };
    struct unpack in;

    (void)state;
    put_request();
    wire_set_request(&bytes, &head);
    in = (struct unpack){ .rest = buf_str(&bytes) };
    memset(&head, 0, sizeof(head));
    assert_true(wire_get_request(&in, &head));
    assert_true(head.number == 9 && head.oldest == 8 && head.again == 1);
}

/* Each length in memory of its own, for the sanitizer. */
static void
a_part_of_a_request_is_none(void **state)
{
    struct wire_step steps[2];
    struct str topic, text;

    (void)state;
    put_request();
    for (size_t n = 0; n < buf_len(&bytes); n++) {
        char *part = mem_alloc(n + 1);
        char *exact = mem_resize(part, n > 0 ? n : 1);

        memcpy(exact, buf_data(&bytes), n);
        assert_false(get_request(str_of(exact, n), steps, &topic, &text));
        mem_free(&exact);
    }
}

static void
too_much_is_noticed(void **state)
{
    struct store_value big = store_text(str_of("x", 1));
    struct pack out = { .to = &bytes };
    struct buf small;

    (void)state;
    buf_init(&small, 4);
    out.to = &small;
    wire_put_value(&out, &big);
    assert_true(out.full);
    buf_clear(&small);
}

/* ---- answers ---- */

static void
put_answer(void)
{
    struct pack out = { .to = &bytes };
    const struct store_value a = store_int(1), b = store_text(STR("two"));
    const struct store_value cells[] = { a, b, a, b };
    const struct store_rows steps[] = {
        { .rows = 2, .columns = 2, .cells = cells },
        { .changed = 5 },
    };
    const struct store_result r = { STORE_OK, 2, steps };

    wire_put_answer(&out, 3, &r);
    assert_false(out.full);
}

static bool
get_answer(struct str data, struct rows *rows)
{
    struct unpack in = { .rest = data };
    struct wire_answer head;

    return wire_get_answer(&in, &head) && wire_get_rows(&in, &head, rows);
}

static void
an_answer_comes_as_it_was_sent(void **state)
{
    struct rows r;

    (void)state;
    put_answer();
    assert_true(get_answer(buf_str(&bytes), &r));
    assert_int_equal(r.result.status, STORE_OK);
    assert_int_equal(r.result.steps, 2);
    assert_int_equal(r.result.answer[0].rows, 2);
    assert_int_equal(r.result.answer[0].columns, 2);
    assert_true(str_eq(r.result.answer[0].cells[3].s, STR("two")));
    assert_int_equal(r.result.answer[1].rows, 0);
    assert_int_equal(r.result.answer[1].changed, 5);
    rows_clear(&r);
}

static void
a_part_of_an_answer_is_none(void **state)
{
    struct rows r;

    (void)state;
    put_answer();
    for (size_t n = 0; n < buf_len(&bytes); n++) {
        char *part = mem_alloc(n > 0 ? n : 1);

        memcpy(part, buf_data(&bytes), n);
        assert_false(get_answer(str_of(part, n), &r));
        mem_free(&part);
    }
}

/* ---- from a process that is in the hands of a stranger ---- */

static bool
request_is_taken(uint32_t steps)
{
    struct wire_request head = { .number = 1, .steps = steps };
    struct pack out = { .to = &bytes };
    struct unpack in;

    buf_take(&bytes, buf_len(&bytes));
    wire_put_request(&out, &head);
    in = (struct unpack){ .rest = buf_str(&bytes) };
    return wire_get_request(&in, &head);
}

/* A step with so many parameters, NULL but for the first, which has that
 * type. */
static bool
step_is_taken(uint8_t count, uint8_t type)
{
    struct schema_place place = { 1, ADD };
    struct pack out = { .to = &bytes };
    struct wire_step step;
    struct unpack in;

    buf_take(&bytes, buf_len(&bytes));
    pack_bytes(&out, &place, sizeof(place));
    pack_u8(&out, 0);
    pack_u8(&out, count);
    for (uint8_t i = 0; i < count; i++) {
        pack_u8(&out, i == 0 ? type : STORE_NULL);
    }
    in = (struct unpack){ .rest = buf_str(&bytes) };
    return wire_get_step(&in, &step);
}

static bool
answer_is_taken(uint32_t status, uint32_t steps)
{
    struct wire_answer head = { .number = 1, .status = status, .steps = steps };
    struct pack out = { .to = &bytes };
    struct unpack in;

    buf_take(&bytes, buf_len(&bytes));
    pack_bytes(&out, &head, sizeof(head));
    in = (struct unpack){ .rest = buf_str(&bytes) };
    return wire_get_answer(&in, &head);
}

static void
numbers_have_bounds(void **state)
{
    (void)state;
    assert_true(request_is_taken(STORE_STEPS));
    assert_false(request_is_taken(STORE_STEPS + 1));
    assert_true(step_is_taken(STORE_PARAMS, STORE_NULL));
    assert_false(step_is_taken(STORE_PARAMS + 1, STORE_NULL));
    assert_false(step_is_taken(1, STORE_TEXT + 1));
    assert_true(answer_is_taken(STORE_FAILED, STORE_STEPS));
    assert_false(answer_is_taken(STORE_FAILED, STORE_STEPS + 1));
    assert_false(answer_is_taken(STORE_FAILED + 1, 0));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_comes_as_it_was_sent),
        TEST(the_head_can_be_written_again),
        TEST(a_part_of_a_request_is_none),
        TEST(too_much_is_noticed),
        TEST(an_answer_comes_as_it_was_sent),
        TEST(a_part_of_an_answer_is_none),
        TEST(numbers_have_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
