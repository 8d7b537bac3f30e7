/*
 * Cursors, entity tags, and answers that are kept.
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

#include "cursor.h"

#include <stdio.h>
#include <string.h>

#include "cache.h"
#include "net/sha256.h"
#include "tag.h"

/* ---- cursors ---- */

static struct digest_key *key, *other_key;

static int
make_keys(void **state)
{
    (void)state;
    key = digest_key_new("secret", 6);
    other_key = digest_key_new("secreT", 6);
    return 0;
}

static int
free_keys(void **state)
{
    (void)state;
    digest_key_free(&key);
    digest_key_free(&other_key);
    return 0;
}

/* Clients keep cursors while weir is upgraded: this one is of 0.1.0. */
static void
test_of_a_release_before(void **state)
{
    const struct cursor c = { 1767323045, 42 };
    char text[CURSOR_TEXT];

    (void)state;
    cursor_write(text, &c, key, STR("articles"));
    assert_string_equal(text, "AQAAAABpVzWlAAAAAAAAACpAWEKa1OqGXl8GBC-HcFa0");
}

static void
test_there_and_back(void **state)
{
    static const struct cursor rows[] = {
        { 0, 1 },
        { -62135596800, INT64_MAX },
        { 253402300799, 7 },
        { INT64_MIN, INT64_MIN },
    };
    struct pool *pool = pool_new(1024);
    char text[CURSOR_TEXT];
    struct cursor c;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        cursor_write(text, &rows[i], key, STR("articles"));
        assert_int_equal(strlen(text), CURSOR_TEXT - 1);
        assert_true(
            cursor_read(pool, str_from(text), key, STR("articles"), &c));
        assert_int_equal(c.created_at, rows[i].created_at);
        assert_int_equal(c.id, rows[i].id);
    }
    pool_free(&pool);
}

/* Any other byte in any place. */
static void
test_tampered(void **state)
{
    const struct cursor c = { 1767323045, 42 };
    struct pool *pool = pool_new(1024);
    char text[CURSOR_TEXT];
    struct cursor out;

    (void)state;
    cursor_write(text, &c, key, STR("articles"));
    for (size_t i = 0; i < CURSOR_TEXT - 1; i++) {
        char right = text[i];

        for (int byte = 0; byte < 256; byte++) {
            text[i] = (char)byte;
            assert_int_equal(cursor_read(pool, str_of(text, CURSOR_TEXT - 1),
                                         key, STR("articles"), &out),
                             text[i] == right);
        }
        text[i] = right;
    }
    pool_free(&pool);
}

static void
test_bound(void **state)
{
    const struct cursor c = { 1767323045, 42 };
    struct pool *pool = pool_new(1024);
    char text[CURSOR_TEXT];
    struct cursor out;

    (void)state;
    cursor_write(text, &c, key, STR("author 1"));
    assert_false(
        cursor_read(pool, str_from(text), key, STR("author 11"), &out));
    assert_false(cursor_read(pool, str_from(text), key, STR("articles"), &out));
    assert_false(
        cursor_read(pool, str_from(text), other_key, STR("author 1"), &out));
    for (size_t n = 0; n < CURSOR_TEXT - 1; n++) {
        assert_false(
            cursor_read(pool, str_of(text, n), key, STR("author 1"), &out));
    }
    pool_free(&pool);
}

/* ---- tags ---- */

static bool
holds(bool (*asked)(const struct http_request *r, const struct tag *t),
      const char *name, const char *value, const struct tag *t)
{
    const struct http_header h = { str_from(name), str_from(value) };
    const struct http_request r = { .headers = &h, .header_count = 1 };

    return asked(&r, t);
}

static void
test_tags(void **state)
{
    struct tag t, other;
    char text[256];

    (void)state;
    tag_of_item(&t, 1, 2, &article_format_json, false);
    tag_of_item(&other, 2, 1, &article_format_json, false);
    assert_string_not_equal(t.text, other.text);
    tag_of_item(&other, 1, 2, &article_format_json, true);
    assert_string_not_equal(t.text, other.text);

    assert_true(holds(tag_is_known, "If-None-Match", t.text, &t));
    assert_false(holds(tag_is_known, "If-None-Match", other.text, &t));
    assert_true(holds(tag_is_expected, "If-Match", other.text, &t));
    assert_true(holds(tag_is_expected, "X", "y", &t));
    assert_true(holds(tag_is_expected, "If-Match", " * ", &t));
    assert_false(holds(tag_is_expected, "If-Match", "", &t));
    assert_false(holds(tag_is_expected, "If-Match", "\"", &t));
    assert_false(holds(tag_is_expected, "If-Match", "W/", &t));
    assert_false(holds(tag_is_expected, "If-Match", "x, *", &t));

    snprintf(text, sizeof(text), "\"a,b\" , W/%s", t.text);
    assert_true(holds(tag_is_known, "If-None-Match", text, &t));
    assert_true(holds(tag_is_expected, "if-match", text, &t));
}

/* ---- what is kept ---- */

static struct cached
answer(uint64_t version, const char *target, struct str body)
{
    return (struct cached){ .version = version,
                            .format = &article_format_json,
                            .target = str_from(target),
                            .body = body,
                            .tag = STR("\"t\"") };
}

static void
test_kept(void **state)
{
    struct cache *c = cache_new(65536);
    struct cached a = answer(7, "/articles/1", STR("body"));
    const struct cached *found;

    (void)state;
    cache_put(c, &a);
    found = cache_find(c, 7, &article_format_json, STR("/articles/1"));
    assert_non_null(found);
    assert_true(str_eq(found->body, STR("body")));
    assert_true(str_eq(found->tag, STR("\"t\"")));
    assert_int_equal(found->cursor.len, 0);
    assert_null(cache_find(c, 8, &article_format_json, STR("/articles/1")));
    assert_null(cache_find(c, 7, NULL, STR("/articles/1")));
    assert_null(cache_find(c, 7, &article_format_json, STR("/articles/2")));
    a = answer(0, "/articles/3", STR("of no version"));
    cache_put(c, &a);
    assert_null(cache_find(c, 0, &article_format_json, STR("/articles/3")));
    cache_free(&c);
    assert_null(c);
    assert_null(cache_new(0));
    cache_put(NULL, &a);
    assert_null(cache_find(NULL, 7, &article_format_json, STR("/articles/1")));
}

static void
test_kept_within_its_bytes(void **state)
{
    static char body[30000];
    struct cache *c = cache_new(65536);
    const struct str long_one = { body, sizeof(body) };
    struct cached a;
    int found = 0;
    char target[32];

    (void)state;
    for (char i = 'a'; i <= 'e'; i++) {
        snprintf(target, sizeof(target), "/%c", i);
        a = answer(1, target, long_one);
        cache_put(c, &a);
    }
    for (char i = 'a'; i <= 'e'; i++) {
        snprintf(target, sizeof(target), "/%c", i);
        found +=
            cache_find(c, 1, &article_format_json, str_from(target)) != NULL;
    }
    assert_in_range(found, 1, 2);
    assert_non_null(cache_find(c, 1, &article_format_json, STR("/e")));
    cache_free(&c);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_a_release_before),
        cmocka_unit_test(test_there_and_back),
        cmocka_unit_test(test_tampered),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_tags),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_kept_within_its_bytes),
    };

    return cmocka_run_group_tests_name("articles", tests, make_keys, free_keys);
}
