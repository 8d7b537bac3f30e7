/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "request.h"
#include "json/read.h"

static struct pool *pool;
static struct download_wish wish;
static struct download_ids ids;
static struct errmsg err;

static int
set_up(void **state)
{
    (void)state;
    pool = pool_new(1024);
    err.text[0] = '\0';
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static int
parse(const char *body)
{
    return download_wish_parse(json_reader_whole(pool, str_from(body)), false,
                               &wish, &err);
}

#define assert_str(s, expected)                          \
    do {                                                 \
        assert_int_equal((s).len, strlen(expected));     \
        assert_memory_equal((s).ptr, expected, (s).len); \
    } while (0)

/* ---- adding ---- */

static void
test_defaults(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"url\":\"http://a/b\",\"quality\":\"best\"}"), 0);
    assert_str(wish.url, "http://a/b");
    assert_str(wish.quality, "best");
    assert_str(wish.format, "any");
    assert_int_equal(wish.folder.len, 0);
    assert_int_equal(wish.prefix.len, 0);
    assert_int_equal(wish.strict, -1);
    assert_int_equal(wish.limit, -1);
    assert_true(wish.auto_start);
}

static void
test_null_is_absent(void **state)
{
    (void)state;
    assert_int_equal(
        parse("{\"url\":\"http://a/b\",\"quality\":\"best\",\"format\":null,"
              "\"folder\":null,\"custom_name_prefix\":null,"
              "\"playlist_strict_mode\":null,\"playlist_item_limit\":null,"
              "\"auto_start\":null,\"unknown\":[1]}"),
        0);
    assert_str(wish.format, "any");
    assert_int_equal(wish.strict, -1);
    assert_int_equal(wish.limit, -1);
    assert_true(wish.auto_start);
}

static void
test_all_fields(void **state)
{
    (void)state;
    assert_int_equal(
        parse("{\"url\":\" https://a/b?c#d\\n\",\"quality\":\"1080\","
              "\"format\":\"mp4\",\"folder\":\"x/y z/\","
              "\"custom_name_prefix\":\"a..b\",\"playlist_strict_mode\":true,"
              "\"playlist_item_limit\":3.0,\"auto_start\":false}"),
        0);
    assert_str(wish.url, "https://a/b?c#d");
    assert_str(wish.quality, "1080");
    assert_str(wish.format, "mp4");
    assert_str(wish.folder, "x/y z");
    assert_str(wish.prefix, "a..b");
    assert_int_equal(wish.strict, 1);
    assert_int_equal(wish.limit, 3);
    assert_false(wish.auto_start);
}

/* Fields beside url and quality, and the refusals of them. */
static const struct {
    const char *more, *told;
} refused[] = {
    { "\"format\":1", "format must be a string, not 1" },
    { "\"format\":\"xyz\"", "format" },
    { "\"folder\":[]", "folder must be a string, not an array" },
    { "\"folder\":\"../x\"", "folder must be a path below" },
    { "\"folder\":\"a/../x\"", "folder must be a path below" },
    { "\"folder\":\"/x\"", "folder must be a path below" },
    { "\"folder\":\"/\"", "folder must be a path below" },
    { "\"folder\":\"//\"", "folder must be a path below" },
    { "\"folder\":\"//x\"", "folder must be a path below" },
    { "\"folder\":\"a//x\"", "folder must be a path below" },
    { "\"folder\":\".\"", "folder must be a path below" },
    { "\"folder\":\".weir/1\"", "folder must be a path below" },
    { "\"folder\":\"a\\u0000b\"", "folder must have no control characters" },
    { "\"custom_name_prefix\":{}", "custom_name_prefix must be a string" },
    { "\"custom_name_prefix\":\"/x\"", "custom_name_prefix must be text that" },
    { "\"custom_name_prefix\":\"../x\"", "without a part \"..\"" },
    { "\"custom_name_prefix\":\"a\\nb\"", "no control characters" },
    { "\"playlist_strict_mode\":1",
      "playlist_strict_mode must be true or false, not 1" },
    { "\"playlist_strict_mode\":\"true\"",
      "playlist_strict_mode must be true or false, not \"true\"" },
    { "\"playlist_item_limit\":-1",
      "a whole number from 0 to 1000000, not -1" },
    { "\"playlist_item_limit\":1.5",
      "a whole number from 0 to 1000000, not 1.5" },
    { "\"playlist_item_limit\":1e9", "a whole number from 0 to 1000000" },
    { "\"playlist_item_limit\":\"5\"",
      "a whole number from 0 to 1000000, not \"5\"" },
    { "\"playlist_item_limit\":\"abc\"",
      "a whole number from 0 to 1000000, not \"abc\"" },
    { "\"playlist_item_limit\":true",
      "a whole number from 0 to 1000000, not true" },
    { "\"auto_start\":1", "auto_start must be true or false, not 1" },
    { "\"auto_start\":\"false\"",
      "auto_start must be true or false, not \"false\"" },
    { "\"auto_start\":0", "auto_start must be true or false, not 0" },
};

static void
test_refused_fields(void **state)
{
    char body[400];

    (void)state;
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        snprintf(body, sizeof(body),
                 "{\"url\":\"http://a/b\",\"quality\":\"best\",%s}",
                 refused[i].more);
        assert_int_equal(parse(body), -1);
        if (strstr(err.text, refused[i].told) == NULL) {
            fail_msg("%s: \"%s\"", body, err.text);
        }
    }
}

static void
test_refused_addresses(void **state)
{
    static const char *const urls[] = {
        "ftp://a/b",  "file:///etc/passwd", "--exec=id",
        "a/b",        "ytsearch3:cats",     "http:///x",
        "http://",    "http://:80/",        "http://u@/x",
        "http:/a",    "http://a/\\u0000",   "http://a/\\tb",
        "rtmp://a/b", "javascript:x",       "http://a/#__youtubedl_smuggle=x",
        "   ",        "/etc/passwd",        "httpx://a",
    };
    char body[200];

    (void)state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        snprintf(body, sizeof(body), "{\"url\":\"%s\",\"quality\":\"best\"}",
                 urls[i]);
        assert_int_equal(parse(body), -1);
        assert_non_null(strstr(err.text, "url "));
    }
    assert_int_equal(parse("{\"url\":\"HTTP://u:p@[::1]:80\",\"quality\":"
                           "\"best\"}"),
                     0);
}

static void
test_missing(void **state)
{
    (void)state;
    assert_int_equal(parse("{\"quality\":\"best\"}"), -1);
    assert_non_null(strstr(err.text, "url is missing"));
    assert_int_equal(parse("{\"url\":\"\",\"quality\":\"best\"}"), -1);
    assert_non_null(strstr(err.text, "url is empty"));
    assert_int_equal(parse("{\"url\":7,\"quality\":\"best\"}"), -1);
    assert_string_equal(err.text, "url must be a string, not 7");
    assert_int_equal(parse("{\"url\":\"http://a\"}"), -1);
    assert_non_null(strstr(err.text, "quality is missing"));
    assert_int_equal(parse("{\"url\":\"http://a\",\"quality\":null}"), -1);
    assert_non_null(strstr(err.text, "quality is missing"));
}

static void
test_bodies(void **state)
{
    (void)state;
    assert_int_equal(parse(""), -1);
    assert_string_equal(err.text,
                        "the body is empty: it must be a JSON object");
    assert_int_equal(parse("{"), -1);
    assert_non_null(strstr(err.text, "not valid JSON"));
    assert_int_equal(parse("[]"), -1);
    assert_string_equal(err.text,
                        "the body must be a JSON object, not an array");
    assert_int_equal(parse("url=http://a&quality=best"), -1);
    assert_int_equal(parse("{\"url\":\"http://a\",\"url\":\"http://b\"}"), -1);
}

/* The original's web client keeps the limit as a text. */
static void
test_limit_in_text(void **state)
{
    const char *body = "{\"url\":\"http://a\",\"quality\":\"best\","
                       "\"playlist_item_limit\":\"5\"}";

    (void)state;
    assert_int_equal(
        download_wish_parse(json_reader_whole(pool, str_from(body)), true,
                            &wish, &err),
        0);
    assert_int_equal(wish.limit, 5);
    body = "{\"url\":\"http://a\",\"quality\":\"best\","
           "\"playlist_item_limit\":\"x\"}";
    assert_int_equal(
        download_wish_parse(json_reader_whole(pool, str_from(body)), true,
                            &wish, &err),
        -1);
}

static void
test_lengths(void **state)
{
    static const struct {
        const char *field;
        size_t most;
    } rows[] = { { "url", DOWNLOAD_URL_MAX },
                 { "custom_name_prefix", DOWNLOAD_WORD_MAX },
                 { "folder", DOWNLOAD_FOLDER_MAX } };
    static char text[DOWNLOAD_URL_MAX + 2], body[DOWNLOAD_URL_MAX + 300];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t more = 0; more < 2; more++) {
            memset(text, 'a', sizeof(text));
            memcpy(text, "http://", i == 0 ? 7 : 0);
            text[rows[i].most + more] = '\0';
            snprintf(
                body, sizeof(body), "{%s\"quality\":\"best\",\"%s\":\"%s\"}",
                i == 0 ? "" : "\"url\":\"http://a\",", rows[i].field, text);
            assert_int_equal(parse(body), more == 0 ? 0 : -1);
        }
        assert_non_null(strstr(err.text, "at most"));
        assert_non_null(strstr(err.text, rows[i].field));
    }
}

/* ---- deleting, starting ---- */

static int
parse_ids(const char *body, bool with_where)
{
    return download_ids_parse(pool, json_reader_whole(pool, str_from(body)),
                              with_where, &ids, &err);
}

static void
test_ids(void **state)
{
    (void)state;
    assert_int_equal(
        parse_ids("{\"ids\":[\"a\",\"\"],\"where\":\"done\"}", true), 0);
    assert_true(ids.done);
    assert_int_equal(ids.count, 2);
    assert_str(ids.ids[0], "a");
    assert_str(ids.ids[1], "");
    assert_int_equal(parse_ids("{\"ids\":[\"a\"],\"where\":\"queue\"}", true),
                     0);
    assert_false(ids.done);
    assert_int_equal(parse_ids("{\"ids\":[\"a\"],\"where\":7}", false), 0);
}

static void
test_refused_ids(void **state)
{
    static const struct {
        const char *body, *told;
    } rows[] = {
        { "{\"where\":\"done\"}", "ids is missing" },
        { "{\"ids\":null,\"where\":\"done\"}", "ids is missing" },
        { "{\"ids\":\"http://a\",\"where\":\"done\"}",
          "ids must be an array of strings, not \"http://a\"" },
        { "{\"ids\":[],\"where\":\"done\"}",
          "ids must have 1 to 10000 items, not 0" },
        { "{\"ids\":[\"a\",7],\"where\":\"done\"}",
          "ids[1] must be a string, not 7" },
        { "{\"ids\":[null],\"where\":\"done\"}",
          "ids[0] must be a string, not null" },
        { "{\"ids\":{\"a\":\"b\"},\"where\":\"done\"}",
          "ids must be an array of strings, not an object" },
        { "{\"ids\":[\"a\"]}", "where is missing" },
        { "{\"ids\":[\"a\"],\"where\":\"pending\"}",
          "where must be \"queue\" or \"done\", not \"pending\"" },
        { "{\"ids\":[\"a\"],\"where\":1}",
          "where must be \"queue\" or \"done\", not 1" },
        { "[\"a\"]", "the body must be a JSON object, not an array" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(parse_ids(rows[i].body, true), -1);
        if (strstr(err.text, rows[i].told) == NULL) {
            fail_msg("%s: \"%s\"", rows[i].body, err.text);
        }
    }
}

static void
test_bounds_of_ids(void **state)
{
    struct buf b;

    (void)state;
    for (int count = DOWNLOAD_IDS_MAX; count <= DOWNLOAD_IDS_MAX + 1; count++) {
        buf_init(&b, DOWNLOADS_BODY_MAX);
        buf_add_str(&b, STR("{\"ids\":["));
        for (int i = 0; i < count; i++) {
            buf_printf(&b, "%s\"%d\"", i > 0 ? "," : "", i);
        }
        buf_add_str(&b, STR("]}"));
        assert_int_equal(
            download_ids_parse(pool, json_reader_whole(pool, buf_str(&b)),
                               false, &ids, &err),
            count > DOWNLOAD_IDS_MAX ? -1 : 0);
        buf_clear(&b);
    }
    assert_non_null(strstr(err.text, "not 10001"));
}

/* ---- on the way ---- */

static void
test_pack_wish(void **state)
{
    struct download_wish again;
    struct buf b;

    (void)state;
    buf_init(&b, DOWNLOADS_REQUEST_MAX);
    assert_int_equal(parse("{\"url\":\"http://a/b\",\"quality\":\"best\","
                           "\"playlist_item_limit\":9,\"auto_start\":false}"),
                     0);
    wish.instance = STR("main");
    download_wish_pack(&wish, &b);
    assert_int_equal(download_wish_unpack(buf_str(&b), &again), 0);
    assert_str(again.instance, "main");
    assert_str(again.url, "http://a/b");
    assert_int_equal(again.limit, 9);
    assert_int_equal(again.strict, -1);
    assert_false(again.auto_start);
    assert_int_equal(
        download_wish_unpack(str_first(buf_str(&b), buf_len(&b) - 1), &again),
        -1);
    buf_clear(&b);

    wish.url = STR("file:///etc/passwd"); /* a worker that lies */
    download_wish_pack(&wish, &b);
    assert_int_equal(download_wish_unpack(buf_str(&b), &again), -1);
    buf_clear(&b);
}

static void
test_pack_ids(void **state)
{
    struct str texts[] = { STR("a"), STR("b\n"), STR("a"), STR("b\n"),
                           STR("a") };
    struct download_ids order = { STR("main"), true, texts, 5 }, again;
    struct buf b;

    (void)state;
    buf_init(&b, DOWNLOADS_REQUEST_MAX);
    download_ids_pack(&order, &b);
    assert_int_equal(download_ids_unpack(pool, buf_str(&b), &again), 0);
    assert_true(again.done);
    assert_int_equal(again.count, 2); /* each once, in their order */
    assert_str(again.ids[0], "a");
    assert_str(again.ids[1], "b\n");
    assert_int_equal(
        download_ids_unpack(pool, str_first(buf_str(&b), 9), &again), -1);
    buf_clear(&b);
    order.count = 0;
    download_ids_pack(&order, &b);
    assert_int_equal(download_ids_unpack(pool, buf_str(&b), &again), -1);
    buf_clear(&b);
}

static void
test_pack_answer(void **state)
{
    struct downloads_answer a = { 503, 7, 1000 }, again;
    struct str body;
    struct buf b;

    (void)state;
    buf_init(&b, 1000);
    downloads_answer_pack(&b, &a, STR("{}"));
    assert_int_equal(downloads_answer_unpack(buf_str(&b), &again, &body), 0);
    assert_int_equal(again.status, 503);
    assert_int_equal(again.retry_after, 7);
    assert_int_equal(again.length, 1000);
    assert_str(body, "{}");
    buf_clear(&b);
    a.status = 99;
    downloads_answer_pack(&b, &a, STR("{}"));
    assert_int_equal(downloads_answer_unpack(buf_str(&b), &again, &body), -1);
    buf_clear(&b);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_defaults),
        TEST(test_null_is_absent),
        TEST(test_all_fields),
        TEST(test_refused_fields),
        TEST(test_refused_addresses),
        TEST(test_missing),
        TEST(test_bodies),
        TEST(test_limit_in_text),
        TEST(test_lengths),
        TEST(test_ids),
        TEST(test_refused_ids),
        TEST(test_bounds_of_ids),
        TEST(test_pack_wish),
        TEST(test_pack_ids),
        TEST(test_pack_answer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
