/*
 * Rows of which only changes are sent.
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

#include "base/hash.h"
#include "told.h"

static struct told *told;
static struct buf changes, whole;

static int
setup(void **state)
{
    (void)state;
    hash_init();
    told = told_new();
    buf_init(&changes, 1024 * 1024);
    buf_init(&whole, 1024 * 1024);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    told_free(&told);
    buf_clear(&changes);
    buf_clear(&whole);
    return 0;
}

/* A row whose members are its id's name and a number. */
static void
row(uint64_t id, const char *name, int64_t n)
{
    if (told_row(told, id)) {
        told_str(told, "key", str_from(name));
        told_int(told, "n", n);
    }
}

static void
expect(struct buf *b, const char *text)
{
    struct str got = buf_str(b);

    assert_int_equal(got.len, strlen(text));
    assert_memory_equal(got.ptr, text, got.len);
    buf_take(b, buf_len(b));
}

static void
end(const char *differs, const char *all)
{
    told_end(told, &changes, &whole);
    expect(&changes, differs);
    expect(&whole, all);
}

static void
test_only_what_differs(void **state)
{
    (void)state;
    told_begin(told, true);
    row(7, "a", 1);
    row(8, "b", 2);
    end("{\"rows\":[[0,{\"key\":\"a\",\"n\":1}],[1,{\"key\":\"b\","
        "\"n\":2}]],\"gone\":[],\"more\":0}",
        "{\"reset\":true,\"rows\":[[0,{\"key\":\"a\",\"n\":1}],"
        "[1,{\"key\":\"b\",\"n\":2}]],\"more\":0}");
    told_begin(told, false);
    row(8, "b", 2);
    row(7, "a", 3);
    end("{\"rows\":[[0,{\"n\":3}]],\"gone\":[],\"more\":0}", "");
    told_begin(told, true);
    row(7, "a", 3);
    row(8, "b", 2);
    end("", "{\"reset\":true,\"rows\":[[0,{\"key\":\"a\",\"n\":3}],"
            "[1,{\"key\":\"b\",\"n\":2}]],\"more\":0}");
}

static void
test_gone_and_back(void **state)
{
    (void)state;
    told_begin(told, false);
    row(7, "a", 1);
    row(8, "b", 1);
    told_end(told, &changes, &whole);
    buf_take(&changes, buf_len(&changes));
    told_begin(told, false);
    row(8, "b", 1);
    end("{\"rows\":[],\"gone\":[0],\"more\":0}", "");
    told_begin(told, false);
    row(9, "c", 1); /* has its number, and is told as new */
    row(8, "b", 1);
    end("{\"rows\":[[0,{\"key\":\"c\",\"n\":1}]],\"gone\":[],"
        "\"more\":0}",
        "");
    told_begin(told, true);
    end("{\"rows\":[],\"gone\":[0,1],\"more\":0}",
        "{\"reset\":true,\"rows\":[],\"more\":0}");
}

static unsigned
round_of(uint64_t first, uint64_t apart)
{
    unsigned taken = 0;

    told_begin(told, true);
    for (uint64_t i = 0; i < TOLD_ROWS + 5; i++) {
        if (told_row(told, first + i * apart)) {
            told_int(told, "n", (int64_t)i);
            taken++;
        }
    }
    buf_take(&whole, buf_len(&whole));
    told_end(told, &changes, &whole);
    buf_take(&changes, buf_len(&changes));
    assert_non_null(
        memmem(buf_data(&whole), buf_len(&whole), "\"more\":5}", 9));
    return taken;
}

/* Rows come and go, with ids that share places: none is lost, none stays.  New
 * ones have room when the round after the old ones' last one is over. */
static void
test_many(void **state)
{
    (void)state;
    for (uint64_t turn = 0; turn < 50; turn++) {
        assert_int_equal(round_of(turn * 7, 2048), TOLD_ROWS);
        told_begin(told, false);
        told_end(told, &changes, &whole);
        assert_int_equal(round_of(turn * 7, 1), TOLD_ROWS);
        told_begin(told, false);
        told_end(told, &changes, &whole);
    }
}

static void
test_rounded(void **state)
{
    static const uint64_t rows[][2] = {
        { 0, 0 },
        { 999, 999 },
        { 1004, 1000 },
        { 1005, 1010 },
        { 128123, 128000 },
        { 999999, 1000000 },
        { 2499999, 2500000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(told_rounded(rows[i][0]), rows[i][1]);
    }
    assert_true(told_rounded(UINT64_MAX) > UINT64_MAX / 2);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(test_only_what_differs),
        TEST(test_gone_and_back),
        TEST(test_many),
        TEST(test_rounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
