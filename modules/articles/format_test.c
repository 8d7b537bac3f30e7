/*
 * Times and JSON as articles have them.
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

#include "format.h"

#include <stdio.h>
#include <string.h>

/* ---- times ---- */

static void
test_times_that_are_good(void **state)
{
    static const struct {
        const char *text, *shown;
    } rows[] = {
        { "2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z" },
        { "2026-01-01T07:00:00+07:00", "2026-01-01T00:00:00Z" },
        { "2026-01-01t00:00:00z", "2026-01-01T00:00:00Z" },
        { "2026-01-01T00:00:00.999Z", "2026-01-01T00:00:00Z" },
        { "2025-12-31T23:30:00-00:30", "2026-01-01T00:00:00Z" },
        { "2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z" },
        { "2000-02-29T00:00:00Z", "2000-02-29T00:00:00Z" },
        { "1969-12-31T23:59:59Z", "1969-12-31T23:59:59Z" },
        { "0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z" },
        { "9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z" },
        { "1900-03-01T00:00:00Z", "1900-03-01T00:00:00Z" },
    };
    char text[ARTICLE_TIME_TEXT];
    int64_t s;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(article_time_read(str_from(rows[i].text), &s));
        assert_string_equal(article_time_write(text, s).ptr, rows[i].shown);
    }
    assert_true(article_time_read(STR("2026-01-02T03:04:05Z"), &s));
    assert_int_equal(s, 1767323045);
}

static void
test_times_that_are_bad(void **state)
{
    static const char *const rows[] = {
        "",
        "yesterday",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05Z",
        "2026-13-02T03:04:05Z",
        "2026-00-02T03:04:05Z",
        "2026-02-29T03:04:05Z",
        "1900-02-29T03:04:05Z",
        "2026-04-31T03:04:05Z",
        "2026-01-02T24:00:00Z",
        "2026-01-02T03:60:05Z",
        "2026-01-02T03:04:60Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05+7:00",
        "2026-01-02T03:04:05ZZ",
        "-026-01-02T03:04:05Z",
        "0000-12-31T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2026-01-02T03:04:0",
    };
    int64_t s;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_false(article_time_read(str_from(rows[i]), &s));
    }
}

/* Every day of the calendar goes there and back. */
static void
test_all_days(void **state)
{
    char text[ARTICLE_TIME_TEXT];
    int64_t s;

    (void)state;
    for (int64_t day = -719162; day <= 2932896; day++) {
        struct str shown = article_time_write(text, day * 86400 + 86399);

        assert_true(article_time_read(shown, &s));
        assert_int_equal(s, day * 86400 + 86399);
    }
}

/* ---- types ---- */

/* Somebody may have written it into the database. */
static void
test_times_out_of_range(void **state)
{
    char text[ARTICLE_TIME_TEXT];

    (void)state;
    assert_string_equal(article_time_write(text, INT64_MIN).ptr,
                        "0001-01-01T00:00:00Z");
    assert_string_equal(article_time_write(text, -62135596801).ptr,
                        "0001-01-01T00:00:00Z");
    assert_string_equal(article_time_write(text, 253402300800).ptr,
                        "9999-12-31T23:59:59Z");
    assert_string_equal(article_time_write(text, INT64_MAX).ptr,
                        "9999-12-31T23:59:59Z");
}

static void
test_types_of_bodies(void **state)
{
    static const char *const good[] = { "", "application/json",
                                        "Application/JSON; charset=utf-8",
                                        "application/vnd.weir-v1+json" };
    static const char *const bad[] = { "text/plain", "application/jsonx",
                                       "application/+json", "json",
                                       "application/merge-patch+json" };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_ptr_equal(article_format_of_body(str_from(good[i]), false),
                         &article_format_json);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_null(article_format_of_body(str_from(bad[i]), false));
    }
    assert_ptr_equal(
        article_format_of_body(STR("application/merge-patch+json"), true),
        &article_format_json);
}

/* ---- JSON ---- */

static enum article_read
read_text(struct pool *pool, const char *text, struct article_input *in)
{
    struct errmsg err = { "" };
    enum article_read result;

    memset(in, 0, sizeof(*in));
    result = article_read(&article_format_json, pool, str_from(text), in, &err);
    assert_int_equal(result == ARTICLE_READ, err.text[0] == '\0');
    return result;
}

static void
test_json_is_read(void **state)
{
    struct pool *pool = pool_new(1024);
    struct article_input in;

    (void)state;
    assert_int_equal(
        read_text(pool,
                  "{\"title\":\"a\\u00e9\",\"content\":null,\"x\":[{}],"
                  "\"author\":{\"id\":7,\"name\":5},\"created_at\":3}",
                  &in),
        ARTICLE_READ);
    assert_int_equal(in.title.given, GIVEN_VALUE);
    assert_string_equal(in.title.text.ptr, "a\xc3\xa9");
    assert_int_equal(in.content.given, GIVEN_NULL);
    assert_int_equal(in.created_at.given, GIVEN_WRONG);
    assert_int_equal(in.updated_at.given, GIVEN_NOT);
    assert_int_equal(in.author, GIVEN_VALUE);
    assert_int_equal(in.author_id.given, GIVEN_VALUE);
    assert_int_equal(in.author_id.n, 7);
    assert_int_equal(in.author_name.given, GIVEN_WRONG);
    pool_free(&pool);
}

static void
test_json_that_is_broken(void **state)
{
    static const char *const rows[] = {
        "{",
        "  ",
        "{'a':1}",
        "{} {}",
        "{\"title\":01}",
        "{\"title\":NaN}",
        "{\"title\":\"\xff\"}",
        "{\"title\":\"\\ud800\"}",
        "{\"title\":\"\\udc00\\ud800\"}",
        "{\"title\":\"\\ud800\\ud800\"}",
        "{\"title\":\"\\ud83d\"}",
        "{\"title\":\"\\\\\\udead\"}",
        "{\"title\":\"a\",\"title\":\"b\"}",
        "\xef\xbb\xbf{}",
        "[[[[[[[[[[[[[[[[[[[[[[[[",
    };
    struct pool *pool = pool_new(1024);
    struct article_input in;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(read_text(pool, rows[i], &in), ARTICLE_BROKEN);
    }
    assert_int_equal(read_text(pool, "[]", &in), ARTICLE_WRONG);
    assert_int_equal(read_text(pool, "null", &in), ARTICLE_WRONG);
    assert_int_equal(read_text(pool, "{\"t\":\"\\ud83d\\ude00\"}", &in),
                     ARTICLE_READ);
    assert_int_equal(read_text(pool, "{\"t\":\"\\\\ud83d\"}", &in),
                     ARTICLE_READ);
    pool_free(&pool);
}

static void
test_numbers(void **state)
{
    static const struct {
        const char *text;
        enum article_given given;
    } rows[] = {
        { "{\"author\":{\"id\":9223372036854775807}}", GIVEN_VALUE },
        { "{\"author\":{\"id\":-1}}", GIVEN_VALUE },
        { "{\"author\":{\"id\":9223372036854775808}}", GIVEN_WRONG },
        { "{\"author\":{\"id\":1e400}}", GIVEN_WRONG },
        { "{\"author\":{\"id\":1.0}}", GIVEN_WRONG },
        { "{\"author\":{\"id\":\"1\"}}", GIVEN_WRONG },
        { "{\"author\":{\"id\":null}}", GIVEN_NULL },
        { "{\"author\":{}}", GIVEN_NOT },
    };
    struct pool *pool = pool_new(1024);
    struct article_input in;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(read_text(pool, rows[i].text, &in), ARTICLE_READ);
        assert_int_equal(in.author_id.given, rows[i].given);
    }
    pool_free(&pool);
}

static void
test_json_is_written(void **state)
{
    static const struct article a = {
        .id = 3,
        .title = { "t\"", 2 },
        .content = { "<p>", 3 },
        .author = { .id = 1, .name = { "N", 1 } },
        .created_at = 1767323045,
        .updated_at = 1767323046,
    };
    const struct article_links links = { STR("/articles?num=1"), STR_NONE };
    struct buf b;

    (void)state;
    buf_init(&b, 4096);
    assert_int_equal(article_format_json.write_articles(&b, &a, 1, &links), 0);
    buf_add(&b, "", 1);
    assert_string_equal(
        buf_data(&b),
        "{\"data\":[{\"id\":3,\"title\":\"t\\\"\",\"content\":\"<p>\","
        "\"author\":{\"id\":1,\"name\":\"N\","
        "\"created_at\":\"1970-01-01T00:00:00Z\","
        "\"updated_at\":\"1970-01-01T00:00:00Z\"},"
        "\"updated_at\":\"2026-01-02T03:04:06Z\","
        "\"created_at\":\"2026-01-02T03:04:05Z\"}],"
        "\"links\":{\"self\":\"/articles?num=1\",\"next\":null}}\n");
    buf_clear(&b);
    buf_init(&b, 16);
    assert_int_equal(article_format_json.write_article(&b, &a, NULL), -1);
    buf_clear(&b);
}

/* RFC 8259, 7: what a byte is in a string. */
static void
escaped(char dst[8], uint8_t byte)
{
    static const char shorts[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    const char *at = byte != 0 ? strchr(shorts, byte) : NULL;

    if (at != NULL && (at - shorts) % 2 == 0) {
        snprintf(dst, 8, "\\%c", at[1]);
    } else {
        snprintf(dst, 8, byte < ' ' ? "\\u%04x" : "%c", byte);
    }
}

static void
test_every_byte_at_every_place(void **state)
{
    char text[20], wanted[64], byte[8];
    struct article a = { .title = { text, sizeof(text) } };
    struct buf b;

    (void)state;
    for (int value = 0; value < 256; value++) {
        for (size_t at = 0; at < sizeof(text); at++) {
            memset(text, 'x', sizeof(text));
            text[at] = (char)value;
            escaped(byte, (uint8_t)value);
            snprintf(wanted, sizeof(wanted),
                     "{\"id\":0,\"title\":\"%.*s%s%.*s\"", (int)at,
                     "xxxxxxxxxxxxxxxxxxxx", byte, (int)(sizeof(text) - at - 1),
                     "xxxxxxxxxxxxxxxxxxxx");
            buf_init(&b, 4096);
            assert_int_equal(article_format_json.write_article(&b, &a, NULL),
                             0);
            assert_true(buf_len(&b) > strlen(wanted));
            assert_memory_equal(buf_data(&b), wanted, strlen(wanted));
            buf_clear(&b);
        }
    }
}

/* Articles of which some have the author of the one before, and texts that
 * grow when they are written. */
static void
make_list(struct article *a, size_t count)
{
    static char texts[4000];
    unsigned seed = 1;

    memset(texts, '"', sizeof(texts));
    memset(texts, 'x', sizeof(texts) / 2);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1103515245 + 12345;
        a[i] = (struct article){
            .id = (int64_t)i,
            .title = str_of(texts, seed >> 16 & 31),
            .content = str_of(texts + (seed >> 4) % 2000, seed >> 8 & 1023),
            .author = { .id = seed >> 20 & 1, .name = STR("N\tN") },
            .updated_at = seed >> 12,
        };
        a[i].author.created_at = seed >> 24 & 1;
        a[i].author.name.len = seed >> 26 & 1 ? 1 : 3;
    }
}

static void
test_a_list_is_its_articles(void **state)
{
    enum { COUNT = 64 };
    struct article a[COUNT];
    struct buf all, each;

    (void)state;
    make_list(a, COUNT);
    for (size_t count = 0; count <= COUNT; count++) {
        buf_init(&all, 1 << 20);
        buf_init(&each, 1 << 20);
        for (size_t i = 0; i < count; i++) {
            buf_add_str(&each, i == 0 ? STR("[") : STR(","));
            article_format_json.write_article(&each, &a[i], NULL);
            buf_drop_end(&each, 1); /* the end of a line */
        }
        buf_add_str(&each, count == 0 ? STR("[]\n") : STR("]\n"));
        assert_int_equal(
            article_format_json.write_articles(&all, a, count, NULL), 0);
        assert_true(str_eq(buf_str(&all), buf_str(&each)));
        buf_clear(&all);
        buf_clear(&each);
    }
}

/* Each article takes more than was reserved for it, so the memory moves.  It is
 * so long that the system takes the old one back: an author that is copied from
 * there ends the test. */
static void
test_a_long_list_moves(void **state)
{
    enum { COUNT = 512 };
    static char quotes[1000];
    static struct article a[COUNT];
    struct buf all;
    struct str list;
    size_t each;

    (void)state;
    memset(quotes, '"', sizeof(quotes));
    for (size_t i = 0; i < COUNT; i++) {
        a[i] = (struct article){ .id = 7,
                                 .content = str_of(quotes, sizeof(quotes)),
                                 .author = { .id = 1, .name = STR("N") } };
    }
    buf_init(&all, 4 << 20);
    assert_int_equal(article_format_json.write_articles(&all, a, COUNT, NULL),
                     0);
    list = buf_str(&all);
    each = list.len / COUNT; /* with a comma in front */
    for (size_t i = 1; i < COUNT; i++) {
        assert_true(str_eq(str_first(str_skip(list, i * each + 1), each - 1),
                           str_first(str_skip(list, 1), each - 1)));
    }
    buf_clear(&all);
}

static void
test_a_list_fits_its_length_and_no_less(void **state)
{
    struct article a[3];
    struct buf b;
    size_t length;

    (void)state;
    make_list(a, 3);
    buf_init(&b, 1 << 20);
    assert_int_equal(article_format_json.write_articles(&b, a, 3, NULL), 0);
    length = buf_len(&b);
    buf_clear(&b);
    for (size_t limit = 0; limit <= length; limit++) {
        buf_init(&b, limit);
        assert_int_equal(article_format_json.write_articles(&b, a, 3, NULL),
                         limit < length ? -1 : 0);
        buf_clear(&b);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times_that_are_good),
        cmocka_unit_test(test_times_that_are_bad),
        cmocka_unit_test(test_all_days),
        cmocka_unit_test(test_times_out_of_range),
        cmocka_unit_test(test_types_of_bodies),
        cmocka_unit_test(test_json_is_read),
        cmocka_unit_test(test_json_that_is_broken),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_json_is_written),
        cmocka_unit_test(test_every_byte_at_every_place),
        cmocka_unit_test(test_a_list_is_its_articles),
        cmocka_unit_test(test_a_long_list_moves),
        cmocka_unit_test(test_a_list_fits_its_length_and_no_less),
    };

    return cmocka_run_group_tests_name("articles_format", tests, NULL, NULL);
}
