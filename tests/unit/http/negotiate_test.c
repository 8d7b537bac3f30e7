/*
 * Media ranges, and which format a client gets.
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

#include "serve.h"

#include "http/accept.h"
#include "http/exchange.h"

/* ---- members ---- */

/* "text/html 800" for each, with blanks between. */
static void
assert_members(const char *list, const char *expected)
{
    struct str rest = str_from(list);
    struct http_media m;
    struct buf b;

    buf_init(&b, 4096);
    while (http_media_next(&rest, &m)) {
        buf_printf(&b, "%s%.*s %d", buf_len(&b) > 0 ? ", " : "",
                   STR_ARGS(m.name), m.quality);
        assert_int_equal(m.name.len, http_media_major(&m).len + 1 +
                                         http_media_minor(&m).len);
    }
    if (!str_eq(buf_str(&b), str_from(expected))) {
        fail_msg("\"%s\": %.*s", list, STR_ARGS(buf_str(&b)));
    }
    buf_clear(&b);
}

static void
test_members(void **state)
{
    (void)state;
    assert_members("", "");
    assert_members("*/*", "*/* 1000");
    assert_members("a/b,c/d", "a/b 1000, c/d 1000");
    assert_members(" , a/b ;q=0.5,, ,\tc/d\t", "a/b 500, c/d 1000");
    assert_members("a/b;q=0", "a/b 0");
    assert_members("a/b;Q=0.25", "a/b 250");
    assert_members("a/b; x=1 ; q=0.1;y", "a/b 100");
    assert_members("a/b;q=1.000", "a/b 1000");
    assert_members("a/b;q=0.1;q=0.9", "a/b 100");
    assert_members("application/vnd.a-v1+json", "application/vnd.a-v1+json "
                                                "1000");
}

static void
test_quoted(void **state)
{
    (void)state;
    assert_members("a/b;x=\"c/d,e/f;q=0\";q=0.3,g/h", "a/b 300, g/h 1000");
    assert_members("a/b;x=\"\\\",c/d\",e/f", "a/b 1000, e/f 1000");
    assert_members("a/b;x=\"never closed,c/d", "a/b 1000");
    assert_members("a/b;x=\"\\", "a/b 1000");
}

static void
test_garbage(void **state)
{
    (void)state;
    assert_members("/", "");
    assert_members("*", "");
    assert_members("a", "");
    assert_members("a/", "");
    assert_members("/b", "");
    assert_members("a/b/c,d/e", "d/e 1000");
    assert_members("a b/c,d/e", "d/e 1000");
    assert_members("a/b c,d/e", "d/e 1000");
    assert_members("a/b\x80,d/e", "d/e 1000");
    assert_members("\"a/b\",d/e", "d/e 1000");
    assert_members(";;;,=,d/e", "d/e 1000");
    /* Malformed q is as none (it was meant as a wish). */
    assert_members("a/b;q=abc", "a/b 1000");
    assert_members("a/b;q=2", "a/b 1000");
    assert_members("a/b;q=-1", "a/b 1000");
    assert_members("a/b;q=0.1234", "a/b 1000");
    assert_members("a/b;q", "a/b 1000");
    assert_members("a/b;q=", "a/b 1000");
    assert_members("a/b;;q=0.5", "a/b 500");
}

/* ---- formats ---- */

static const struct http_format formats[] = {
    { "json", "application/json" },
    { "xml", "application/xml" },
    { "csv", "text/csv" },
    { NULL, NULL },
};

static struct http_wish wished; /* for the last one that was chosen */

/* The name of what is chosen; "none". */
static const char *
chosen(const char *accept, const char *vendor, const char *version)
{
    static const struct http_server server = { .settings = SERVE_SETTINGS };
    struct http_connection c = { .server = &server };
    struct pool *pool = pool_new(4096);
    struct exchange *x = pool_zero(pool, sizeof(*x));
    struct http_header header = { STR("accept"), str_from(accept) };
    int place;

    x->c = &c;
    x->pub.pool = pool;
    x->pub.api_vendor = str_from(vendor);
    x->pub.api_version = str_from(version);
    x->pub.headers = &header;
    x->pub.header_count = accept != NULL ? 1 : 0;
    place = http_choose_format(&x->pub, formats);
    wished = http_best_wish(&x->pub, formats);
    assert_non_null(x->fields);
    assert_string_equal(x->fields->name, "Vary");
    assert_true(str_eq(x->fields->value, STR("Accept")));
    pool_free(&pool);
    return place == -1 ? "none" : formats[place].name;
}

/* The handler's choice is what the walk found, and nobody reads Accept again:
 * what it says now is not seen. */
static void
test_read_once(void **state)
{
    static const struct http_server server = { .settings = SERVE_SETTINGS };
    struct http_connection c = { .server = &server };
    struct pool *pool = pool_new(4096);
    struct exchange *x = pool_zero(pool, sizeof(*x));
    struct http_header header = { STR("Accept"), STR("text/csv, a/b") };
    const struct http_media *members;

    (void)state;
    x->c = &c;
    x->pub.pool = pool;
    x->pub.headers = &header;
    x->pub.header_count = 1;
    assert_int_equal(http_best_wish(&x->pub, formats).by, HTTP_BY_TYPE);
    members = http_accept_members(&x->pub);
    assert_true(str_eq(members->next->name, STR("a/b")));
    assert_null(members->next->next);
    header.value = STR("application/xml");
    assert_ptr_equal(http_accept_members(&x->pub), members);
    x->accept = NULL; /* nor are its members compared again */
    assert_int_equal(http_choose_format(&x->pub, formats), 2);
    pool_free(&pool);
}

static void
assert_chosen(const char *accept, const char *expected)
{
    const char *got = chosen(accept, "acme", "v2");

    if (strcmp(got, expected) != 0) {
        fail_msg("%s: %s", accept, got);
    }
}

static void
test_formats(void **state)
{
    (void)state;
    assert_chosen(NULL, "json");
    assert_chosen("", "json");
    assert_chosen("*/*", "json");
    assert_chosen("garbage", "json");
    assert_chosen("application/xml", "xml");
    assert_chosen("APPLICATION/XML", "xml");
    assert_chosen("text/*", "csv");
    assert_chosen("application/xml;q=0.8, application/json;q=0.9", "json");
    assert_chosen("application/json;q=0.8, application/xml;q=0.9", "xml");
    assert_chosen("application/json, application/xml", "json");
    assert_chosen("application/*;q=0.5, application/xml", "xml");
    assert_chosen("application/json;q=0.1, */*;q=0.5", "xml");
    assert_chosen("application/json;q=0, */*", "xml");
    assert_chosen("text/html, */*;q=0.1", "json");
    assert_chosen("text/html", "none");
    assert_chosen("application/json;q=0", "none");
    assert_chosen("*/*;q=0", "none");
    assert_chosen("image/png, text/csv;q=0.001", "csv");
}

static void
test_vendor_formats(void **state)
{
    (void)state;
    assert_chosen("application/vnd.acme-v2+xml", "xml");
    assert_chosen("application/vnd.ACME-V2+XML", "xml");
    assert_chosen("application/vnd.acme-v2", "json");
    assert_chosen("application/vnd.acme-v2+*", "json");
    assert_chosen("application/vnd.acme", "json");
    assert_chosen("application/vnd.acme+csv", "csv");
    assert_chosen("application/vnd.acme-v2+yaml", "none");
    assert_chosen("application/vnd.acme-v1+json", "none");
    assert_chosen("application/vnd.acme-v22+json", "none");
    assert_chosen("application/vnd.acmes-v2+json", "none");
    assert_chosen("application/vnd.acme-v2+xml;q=0.3, "
                  "application/vnd.acme-v2+json;q=0.2",
                  "xml");
    assert_chosen("application/vnd.acme-v2;q=0.3, "
                  "application/vnd.acme-v2+json;q=0.2",
                  "xml");
    assert_string_equal(chosen("application/vnd.acme-v2+xml", "", ""), "none");
}

static void
assert_wish(const char *accept, int quality, enum http_closeness by)
{
    chosen(accept, "acme", "v2");
    if (wished.quality != quality || (quality > 0 && wished.by != by)) {
        fail_msg("%s: %d by %d", accept, wished.quality, (int)wished.by);
    }
}

static void
test_best_wish(void **state)
{
    (void)state;
    assert_wish(NULL, 1000, HTTP_BY_VERSION);
    assert_wish("garbage", 1000, HTTP_BY_VERSION);
    assert_wish("*/*;q=0.3", 300, HTTP_BY_ANY);
    assert_wish("application/*;q=0.3, */*;q=0.2", 300, HTTP_BY_MAJOR);
    assert_wish("application/xml;q=0.3", 300, HTTP_BY_TYPE);
    assert_wish("application/vnd.acme+json;q=0.3", 300, HTTP_BY_VENDOR);
    assert_wish("application/vnd.acme;q=0.3", 300, HTTP_BY_VENDOR);
    assert_wish("application/vnd.acme-v2;q=0.3", 300, HTTP_BY_VERSION);
    assert_wish("application/vnd.acme-v2+yaml", 0, HTTP_BY_ANY);
    assert_wish("application/vnd.acme-v2+yaml, */*;q=0.1", 100, HTTP_BY_ANY);
    assert_wish("application/json;q=0, */*;q=0.1", 100, HTTP_BY_ANY);
    assert_wish("image/png", 0, HTTP_BY_ANY);
    assert_wish("*/*;q=0", 0, HTTP_BY_ANY);
    /* JSON by its type, but the version is wished for as much. */
    assert_wish("application/vnd.acme-v2, application/json", 1000,
                HTTP_BY_VERSION);
    assert_wish("application/vnd.acme-v2;q=0.5, application/json", 1000,
                HTTP_BY_TYPE);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),   cmocka_unit_test(test_quoted),
        cmocka_unit_test(test_garbage),   cmocka_unit_test(test_formats),
        cmocka_unit_test(test_read_once), cmocka_unit_test(test_vendor_formats),
        cmocka_unit_test(test_best_wish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
