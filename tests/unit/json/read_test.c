/*
 * Reading JSON into a tree.
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

#include "json/read.h"

#include "base/buf.h"

static struct pool *pool;

static int
set_up(void **state)
{
    (void)state;
    pool = pool_new(256);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static const struct json_value *
take(const char *text)
{
    struct errmsg err;
    const struct json_value *v = json_read(pool, str_from(text), &err);

    if (v == NULL) {
        fail_msg("%s: %s", text, err.text);
    }
    return v;
}

static void
test_tree(void **state)
{
    const struct json_value *v =
        take(" {\"a\": [1, -2.5e1, \"x\\u0041\"], \"b\": true, \"c\": null,"
             " \"d\": {\"e\": false}} ");
    const struct json_value *a = json_member(v, "a");

    (void)state;
    assert_int_equal(v->kind, JSON_OBJECT);
    assert_int_equal(a->kind, JSON_ARRAY);
    assert_true(a->first->number == 1 && a->first->next->number == -25);
    assert_true(str_eq(a->first->next->text, STR("-2.5e1")));
    assert_true(str_eq(a->last->text, STR("xA")));
    assert_true(json_member(v, "b")->truth);
    assert_int_equal(json_member(v, "c")->kind, JSON_NULL);
    assert_false(json_member(json_member(v, "d"), "e")->truth);
    assert_null(json_member(v, "e"));
    assert_null(json_member(a, "a"));
    assert_null(json_member(NULL, "a"));
    assert_int_equal(json_member_str(v, "b").len, 0);
    assert_int_equal(take("7")->kind, JSON_NUMBER);
    assert_null(take("[]")->first);
}

static void
test_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "{",
        "{} {}",
        "{\"a\":1,\"a\":2}",
        "[1,]",
        "'a'",
        "\"\xff\"",
        "\"\xed\xa0\x80\"",     /* a surrogate */
        "\"\xed\xbf\xbf\"",     /* the last of them */
        "\"\xc0\x80\"",         /* overlong */
        "\"\xe0\x80\x80\"",     /* overlong */
        "\"\xf0\x80\x80\x80\"", /* overlong */
        "\"\xf4\x90\x80\x80\"", /* above U+10FFFF */
        "\"\xf5\x80\x80\x80\"", /* the same */
        "\"\xe2\x82\"",         /* cut */
        "{\"\xed\xa0\x80\":1}", /* in a name */
        "\"\\ud800\"",          /* half a pair */
        "\"\\ud800x\"",         /* the same */
        "\"\\udc00\"",          /* the other half */
        "\"\\ud800\\ud800\"",   /* two firsts */
        "\"\\udc00\\ud800\"",   /* the wrong way round */
        "{\"\\udfff\":1}",      /* in a name */
        "{\"a\"}",
        "nul",
        "[1] x",
        "[1]\"x",
        "{\"a\":1}]",
        "/* a */ 1",
        "\"\x01\"",
        "01",
        "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
        "1111111111111111111111111111111111111111111111111111111111111111111",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct errmsg err;

        if (json_read(pool, str_from(bad[i]), &err) != NULL) {
            fail_msg("%s was taken", bad[i]);
        }
        assert_non_null(err.text);
    }
    take("{\"a\":1,\"b\":{\"a\":2}}"); /* the same name elsewhere */
    take("[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]");
}

/* ---- piece by piece ---- */

static void
same(const struct json_value *a, const struct json_value *b)
{
    assert_true((a == NULL) == (b == NULL));
    if (a != NULL) {
        assert_int_equal(a->kind, b->kind);
        assert_true(str_eq(a->name, b->name) && str_eq(a->text, b->text));
        same(a->first, b->first);
        same(a->next, b->next);
    }
}

/* In two pieces, or in pieces of n bytes. */
static const struct json_value *
take_pieces(struct str text, size_t first, size_t n, struct errmsg *err)
{
    struct json_reader *r = json_reader_new(pool);
    size_t end = first, at = 0;

    while (at < text.len) {
        bool last = end >= text.len;
        struct str piece = str_first(str_skip(text, at), end - at);
        size_t took = json_reader_feed(r, piece, last);

        assert_true(took <= piece.len && (!last || took == piece.len));
        at += took;
        end = n > 0 ? end + n : text.len;
    }
    return json_reader_end(r, err);
}

/* What is wrong is found at the same place. */
static void
test_pieces(void **state)
{
    static const char *const rows[] = {
        " {\"a\": [1, -2.5e1, \"x\\u0041\"], \"b\": true, \"c\": null}\n ",
        "\"\\ud83d\\ude00 \\\\ud83d \\\\\\\\ \\u00e9\\n\"",
        "\"\xf0\x9f\x98\x80\xe2\x82\xac\xc3\xa9\"",
        "123456",
        "[1, 2] ",
        "[1,\n 2] x",
        "[1, 2]x",
        "1 tru",
        "[1,\n2,]",
        "[\"\\ud83d\"]",
        "[\"\\ud83d\\ud83d\"]",
        "[\"\\ude00\"]",
        "[\"\\u12x4\"]",
        "[\n\"\xf0\x9f\x98\"]",
        "[\"\xc0\x80\"]",
        "{\"a\":1,\n\"a\":2}",
        "[\v1]",
        "[[[",
        "\"",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct str text = str_from(rows[i]);
        struct errmsg err = { "" }, other = { "" };
        const struct json_value *v = json_read(pool, text, &err);

        for (size_t n = 1; n <= text.len; n++) {
            same(v, take_pieces(text, n, 0, &other));
            assert_true(v != NULL ||
                        str_eq(str_from(err.text), str_from(other.text)));
            same(v, take_pieces(text, n, n, &other));
        }
    }
}

static void
test_nothing_was_fed(void **state)
{
    struct json_reader *r = json_reader_new(pool);
    struct errmsg err;

    (void)state;
    assert_true(json_reader_is_empty(r));
    assert_null(json_reader_end(r, &err));
    assert_false(json_reader_is_empty(json_reader_whole(pool, STR("1"))));
}

static void
test_pairs(void **state)
{
    (void)state;
    assert_true(
        str_eq(take("\"\\ud83d\\ude00\"")->text, STR("\xf0\x9f\x98\x80")));
    /* No escape, but a backslash and letters. */
    assert_true(str_eq(take("\"\\\\ud800\"")->text, STR("\\ud800")));
    assert_true(
        str_eq(take("\"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\"")->text,
               STR("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf")));
}

/* A limit is told from a mistake. */
static void
test_limits_are_told(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]",
          "JSON of more than 16 arrays and objects in one another is not "
          "taken (line 1, column 17)" },
        { "1111111111111111111111111111111111111111111111111111111111111111",
          "JSON with a number of more than 63 bytes is not taken "
          "(line 1, column 65)" },
        { "\"\xed\xa0\x80\"", "not valid JSON: not UTF-8 (line 1, column 2)" },
        { "\"\\ud800\"",
          "not valid JSON: half a surrogate pair (line 1, column 2)" },
        { "{", "not valid JSON: it ends too early (line 1, column 2)" },
        { "  \n", "not valid JSON: it ends too early (line 2, column 1)" },
        { "{\"a\":1,\n \"\xc3\xa9\" 2}", "not valid JSON (line 2, column 6)" },
        { "[1] x", "not valid JSON (line 1, column 5)" },
        { "[1,\v2\f]", "not valid JSON: a vertical tab or form feed (line 1, "
                       "column 4)" },
        { "\f1", "not valid JSON: a vertical tab or form feed (line 1, "
                 "column 1)" },
        { "{\"a\":1,\"a\":2}", "not valid JSON: a name stands twice in an "
                               "object (line 1, column 10)" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct errmsg err;

        assert_null(json_read(pool, str_from(rows[i].text), &err));
        assert_string_equal(err.text, rows[i].why);
    }
    take("111111111111111111111111111111111111111111111111111111111111111");
}

/* Very many names, all of them different, and then one that is not. */
static void
test_many_members(void **state)
{
    enum { MANY = 50000 };
    struct buf b;
    struct errmsg err;

    (void)state;
    buf_init(&b, 4 << 20);
    buf_printf(&b, "{\"x\":{\"0\":0}");
    for (int i = 0; i < MANY; i++) {
        buf_printf(&b, ",\"%d\":0", i);
    }
    assert_int_equal(buf_printf(&b, "}"), 0);
    assert_non_null(json_read(pool, buf_str(&b), &err));
    b.tail--;
    assert_int_equal(buf_printf(&b, ",\"%d\":0}", MANY / 2), 0);
    assert_null(json_read(pool, buf_str(&b), &err));
    assert_non_null(strstr(err.text, "a name stands twice in an object"));
    buf_clear(&b);
}

static void
test_too_many_values(void **state)
{
    struct buf b;
    struct errmsg err;

    (void)state;
    buf_init(&b, 4 << 20);
    buf_add_str(&b, STR("[0"));
    for (int i = 2; i < JSON_READ_VALUES; i++) {
        buf_add_str(&b, STR(",0"));
    }
    assert_int_equal(buf_add_str(&b, STR("]")), 0);
    assert_non_null(json_read(pool, buf_str(&b), &err));
    b.tail--;
    assert_int_equal(buf_add_str(&b, STR(",0]")), 0);
    assert_null(json_read(pool, buf_str(&b), &err));
    assert_string_equal(err.text,
                        "JSON of more than 100000 values is not taken "
                        "(line 1, column 200000)");
    buf_clear(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_members),
        cmocka_unit_test(test_too_many_values),
        cmocka_unit_test(test_tree),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_nothing_was_fed),
        cmocka_unit_test(test_limits_are_told),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
