/*
 * Numbers and texts as bytes.
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

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/pack.h"

static struct buf bytes;

static int
set_up(void **state)
{
    (void)state;
    buf_init(&bytes, 1000);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    buf_clear(&bytes);
    return 0;
}

static void
write_all(void)
{
    struct pack p = { .to = &bytes };

    pack_u8(&p, 200);
    pack_u32(&p, UINT32_MAX);
    pack_int(&p, INT64_MIN);
    pack_text(&p, STR("a\0b"));
    pack_text(&p, STR_NONE);
    pack_int(&p, 2);
    pack_text(&p, STR("x"));
    pack_text(&p, STR("y"));
    assert_false(p.full);
}

static bool
read_all(struct str data)
{
    struct unpack u = { .rest = data };
    bool same = unpack_u8(&u) == 200;

    same = unpack_u32(&u) == UINT32_MAX && same;
    same = unpack_int(&u) == INT64_MIN && same;
    same = str_eq(unpack_text(&u), STR("a\0b")) && same;
    same = unpack_text(&u).len == 0 && same;
    for (size_t n = unpack_count(&u, 5); n > 0; n--) {
        same = unpack_text(&u).len == 1 && same;
    }
    return same && unpack_ends(&u);
}

static void
what_was_written_is_read(void **state)
{
    (void)state;
    write_all();
    assert_true(read_all(buf_str(&bytes)));
}

/* Each length in memory of its own, for the sanitizer. */
static void
a_part_is_bad(void **state)
{
    (void)state;
    write_all();
    for (size_t n = 0; n < buf_len(&bytes); n++) {
        char *part = mem_alloc(n > 0 ? n : 1);

        memcpy(part, buf_data(&bytes), n);
        assert_false(read_all(str_of(part, n)));
        mem_free(&part);
    }
}

static void
what_is_left_over_is_no_end(void **state)
{
    struct pack p = { .to = &bytes };

    (void)state;
    write_all();
    pack_u8(&p, 0);
    assert_false(read_all(buf_str(&bytes)));
}

static void
after_an_error_nothing_is_read(void **state)
{
    struct pack p = { .to = &bytes };
    struct unpack u;
    int64_t n = 5;

    (void)state;
    pack_u32(&p, 7);
    pack_u32(&p, 8);
    u = (struct unpack){ .rest = buf_str(&bytes) };
    assert_true(unpack_u32(&u) == 7);
    assert_false(unpack_bytes(&u, &n, sizeof(n)));
    assert_true(n == 0 && u.bad);
    assert_true(unpack_u32(&u) == 0);
    assert_true(unpack_text(&u).len == 0);
    assert_false(unpack_ends(&u));
}

static void
after_an_error_nothing_is_written(void **state)
{
    struct buf small;
    struct pack p = { .to = &small };

    (void)state;
    buf_init(&small, 10);
    pack_int(&p, 1);
    assert_false(p.full);
    pack_int(&p, 2);
    assert_true(p.full);
    pack_u8(&p, 3); /* there would be room for it */
    assert_int_equal(buf_len(&small), 8);
    buf_clear(&small);
}

/* Reads `n` as a count of things of 8 bytes, before 16 bytes. */
static bool
counts(int64_t n)
{
    struct pack p = { .to = &bytes };
    struct unpack u;
    size_t count;

    buf_clear(&bytes);
    pack_int(&p, n);
    pack_int(&p, 0);
    pack_int(&p, 0);
    u = (struct unpack){ .rest = buf_str(&bytes) };
    count = unpack_count(&u, 8);
    assert_true(u.bad ? count == 0 : count == (size_t)n);
    return !u.bad;
}

static void
a_count_is_of_what_can_be_there(void **state)
{
    (void)state;
    assert_true(counts(0));
    assert_true(counts(2));
    assert_false(counts(3));
    assert_false(counts(-1));
    assert_false(counts(INT64_MIN));
    assert_false(counts(INT64_MAX));
}

static void
a_text_has_its_nul(void **state)
{
    const char good[] = { 1, 0, 0, 0, 'a', 0 }, bad[] = { 1, 0, 0, 0, 'a', 1 };
    const char huge[] = { -1, -1, -1, -1, 'a', 0 };
    struct unpack u = { .rest = str_of(good, sizeof(good)) };

    (void)state;
    assert_true(str_eq(unpack_text(&u), STR("a")) && unpack_ends(&u));
    u = (struct unpack){ .rest = str_of(bad, sizeof(bad)) };
    assert_true(unpack_text(&u).len == 0 && u.bad);
    u = (struct unpack){ .rest = str_of(huge, sizeof(huge)) };
    assert_true(unpack_text(&u).len == 0 && u.bad);
}

static void
a_path_is_absolute(void **state)
{
    char here[PATH_MAX], whole[PATH_MAX + 8];
    struct pack p = { .to = &bytes };
    struct unpack u;

    (void)state;
    pack_path(&p, STR("/a/b"));
    pack_path(&p, STR_NONE);
    pack_path(&p, STR("a/b"));
    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(whole, sizeof(whole), "%s/a/b", here);
    u = (struct unpack){ .rest = buf_str(&bytes) };
    assert_true(str_eq(unpack_text(&u), STR("/a/b")));
    assert_int_equal(unpack_text(&u).len, 0);
    assert_string_equal(unpack_text(&u).ptr, whole);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_written_is_read),
        TEST(a_part_is_bad),
        TEST(what_is_left_over_is_no_end),
        TEST(after_an_error_nothing_is_read),
        TEST(after_an_error_nothing_is_written),
        TEST(a_count_is_of_what_can_be_there),
        TEST(a_text_has_its_nul),
        TEST(a_path_is_absolute),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
