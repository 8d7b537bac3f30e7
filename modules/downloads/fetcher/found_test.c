/*
 * JSON of extractions, as yt-dlp 2023.03.04 writes it and as it never should.
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

#include <stdio.h>
#include <string.h>

#include "fetcher/found.h"

static struct pool *pool;
static struct extracted x;

static int
begin(void **state)
{
    (void)state;
    pool = pool_new(4096);
    return 0;
}

static int
finish(void **state)
{
    (void)state;
    pool_free(&pool);
    return 0;
}

static void
look(const char *json, int64_t limit)
{
    memset(&x, 0, sizeof(x));
    found_read(pool, str_from(json), STR("ERROR: no"), limit, &x);
}

static void
assert_str(struct str s, const char *expected)
{
    assert_int_equal(s.len, strlen(expected));
    assert_memory_equal(s.ptr, expected, s.len);
}

static void
test_one_film(void **state)
{
    (void)state;
    look("{\"id\":\"small\",\"title\":\"Small\",\"ext\":\"mp4\",\"url\":"
         "\"http://h/x\",\"formats\":[{\"protocol\":\"rtmp\",\"id\":{\"a\":1}},"
         "{\"protocol\":\"https\"}],\"webpage_url\":\"http://h/small.mp4\","
         "\"_type\":\"video\"}",
         0);
    assert_true(x.ok);
    assert_false(x.playlist);
    assert_int_equal(x.count, 1);
    assert_str(x.items[0].url, "http://h/small.mp4");
    assert_str(x.items[0].fetch, "http://h/small.mp4");
    assert_str(x.items[0].id, "small");
    assert_str(x.items[0].title, "Small");
    assert_str(x.items[0].ext, "mp4");
    assert_int_equal(x.items[0].item, 0);
    assert_int_equal(x.items[0].index, 0);
    assert_int_equal(x.items[0].msg.len, 0);
}

static void
test_list_whose_items_have_no_id(void **state)
{
    (void)state;
    look("{\"_type\":\"playlist\",\"id\":\"http://h/feed\",\"title\":\"Feed\","
         "\"playlist_count\":3,\"entries\":[{\"_type\":\"url_transparent\","
         "\"url\":\"http://h/p/ep1.mp3?x#__youtubedl_smuggle=%7B%7D\",\"title\""
         ":\"One\"},null,{\"_type\":\"url\",\"url\":\"http://h/ep2.mp3\"}]}",
         0);
    assert_true(x.ok);
    assert_true(x.playlist);
    assert_int_equal(x.count, 2);
    assert_int_equal(x.left_out, 0);
    assert_str(x.playlist_title, "Feed");
    assert_str(x.items[0].url, "http://h/p/ep1.mp3?x");
    assert_str(x.items[0].id, "ep1");
    assert_str(x.items[0].title, "One");
    assert_int_equal(x.items[0].index, 1);
    assert_int_equal(x.items[0].item, 0);
    assert_str(x.items[1].title, "ep2");
    assert_int_equal(x.items[1].index, 3);
}

/* yt-dlp reads what stands behind the last '#'. */
static void
test_smuggled_data_goes(void **state)
{
    static const char *const rows[][2] = {
        { "http://h/v", "http://h/v" },
        { "http://h/v#a", "http://h/v#a" },
        { "http://h/v#__youtubedl_smuggle=%7B%7D", "http://h/v" },
        { "http://h/v#__youtubedl_smuggle", "http://h/v" },
        { "http://h/v#__youtubedl_smuggle#a=1&__youtubedl_smuggle=%7B%7D",
          "http://h/v" },
        { "http://h/v#b#__youtubedl_smuggle#c", "http://h/v#b" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_str(found_without_smuggle(str_from(rows[i][0])), rows[i][1]);
    }
}

static void
test_limit(void **state)
{
    (void)state;
    look("{\"playlist_count\":9,\"entries\":[{\"_type\":\"url\",\"url\":"
         "\"http://h/1\"},{\"_type\":\"url\",\"url\":\"http://h/2\"},"
         "{\"_type\":\"url\",\"url\":\"http://h/3\"}]}",
         2);
    assert_true(x.ok);
    assert_int_equal(x.count, 2);
    assert_int_equal(x.left_out, 7);
    assert_str(x.items[1].url, "http://h/2");
}

static void
test_several_of_one_page(void **state)
{
    (void)state;
    look("{\"_type\":\"playlist\",\"title\":\"Two\",\"entries\":["
         "{\"id\":\"two-1\",\"webpage_url\":\"http://h/two\"},"
         "{\"_type\":\"url\",\"url\":\"http://h/other\"},"
         "{\"id\":\"two-2\",\"webpage_url\":\"http://h/two\"},"
         "{\"_type\":\"url\",\"url\":\"http://h/other\"}]}",
         0);
    assert_int_equal(x.count, 3);
    assert_str(x.items[0].url, "http://h/two#1");
    assert_str(x.items[0].fetch, "http://h/two");
    assert_int_equal(x.items[0].item, 1);
    assert_str(x.items[1].url, "http://h/other"); /* once */
    assert_int_equal(x.items[1].item, 0);
    assert_str(x.items[2].url, "http://h/two#3");
    assert_int_equal(x.items[2].item, 3);
}

/* The others of the page are not here: it has its number all the same. */
static void
test_one_of_several_of_a_page(void **state)
{
    (void)state;
    look("{\"_type\":\"playlist\",\"playlist_count\":2,\"webpage_url\":"
         "\"http://h/two\",\"entries\":[{\"webpage_url\":\"http://h/two\"}]}",
         1);
    assert_str(x.items[0].url, "http://h/two#1");
    assert_int_equal(x.items[0].item, 1);
    look("{\"_type\":\"playlist\",\"playlist_count\":1,\"webpage_url\":"
         "\"http://h/two\",\"entries\":[{\"webpage_url\":\"http://h/two\"}]}",
         0);
    assert_str(x.items[0].url, "http://h/two");
    assert_int_equal(x.items[0].item, 0);
}

static void
assert_refused(const char *json, const char *why)
{
    look(json, 0);
    assert_false(x.ok);
    assert_int_equal(x.count, 0);
    if (strstr(x.msg.ptr, why) == NULL) {
        fail_msg("%.*s", STR_ARGS(x.msg));
    }
}

static void
test_refused(void **state)
{
    (void)state;
    assert_refused("null", "ERROR: no");
    assert_refused("", "ERROR: no");
    assert_refused("[1]", "ERROR: no");
    assert_refused("{\"id\":\"a\"", "ERROR: no");
    assert_refused("{}", "names no address");
    assert_refused("{\"webpage_url\":\"file:///etc/passwd\"}",
                   "only http and https");
    assert_refused("{\"webpage_url\":\"http:/h\"}", "only http and https");
    assert_refused("{\"webpage_url\":\"http://\"}", "only http and https");
    assert_refused("{\"webpage_url\":\"http://a b\"}", "only http and https");
    assert_refused("{\"webpage_url\":\"http://h/x\",\"protocol\":\"rtmp\"}",
                   "rtmp");
    assert_refused("{\"webpage_url\":\"http://h/x\",\"formats\":[{\"protocol\":"
                   "\"rtsp\"},{\"protocol\":\"mms\"}]}",
                   "can only be had by mms");
}

static void
test_item_that_is_refused_stays_with_its_reason(void **state)
{
    (void)state;
    look("{\"entries\":[{\"url\":\"rtmp://h/x\"},{\"url\":\"http://h/x\"}]}",
         0);
    assert_true(x.ok);
    assert_int_equal(x.count, 2);
    assert_true(x.items[0].msg.len > 0);
    assert_int_equal(x.items[1].msg.len, 0);
}

static void
test_note_of_what_is_to_come(void **state)
{
    (void)state;
    look("{\"webpage_url\":\"http://h/x\",\"live_status\":\"is_upcoming\","
         "\"release_timestamp\":1700000000}",
         0);
    assert_true(x.ok);
    assert_str(
        x.items[0].note,
        "Live stream is scheduled to start at 2023-11-14 22:13:20 +0000");
}

static void
test_long_texts(void **state)
{
    static char json[DOWNLOAD_URL_MAX + 3000];
    char title[2 * FOUND_TITLE_MAX + 1];
    size_t n;

    (void)state;
    memset(title, 'x', sizeof(title) - 1);
    title[sizeof(title) - 1] = '\0';
    memcpy(title + FOUND_TITLE_MAX - 1, "\xc3\xa4", 2);
    snprintf(json, sizeof(json),
             "{\"webpage_url\":\"http://h/x\",\"title\":\"%s\"}", title);
    look(json, 0);
    assert_int_equal(x.items[0].title.len, FOUND_TITLE_MAX - 1);
    n = (size_t)snprintf(json, sizeof(json), "{\"webpage_url\":\"http://h/");
    memset(json + n, 'x', DOWNLOAD_URL_MAX);
    memcpy(json + n + DOWNLOAD_URL_MAX, "\"}", 3);
    assert_refused(json, "more than 8192 bytes");
}

static void
test_no_more_items_than_there_may_be(void **state)
{
    static char json[EXTRACT_ITEMS * 40 + 1000];
    size_t n = (size_t)snprintf(json, sizeof(json), "{\"entries\":[");

    (void)state;
    for (int i = 0; i < EXTRACT_ITEMS + 5; i++) {
        n += (size_t)snprintf(json + n, sizeof(json) - n,
                              "%s{\"url\":\"http://h/%d\"}", i > 0 ? "," : "",
                              i);
    }
    snprintf(json + n, sizeof(json) - n, "]}");
    look(json, 0);
    assert_int_equal(x.count, EXTRACT_ITEMS);
    assert_int_equal(x.left_out, 5);
    assert_str(x.items[EXTRACT_ITEMS - 1].url, "http://h/9999");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_film, begin, finish),
        cmocka_unit_test_setup_teardown(test_list_whose_items_have_no_id, begin,
                                        finish),
        cmocka_unit_test(test_smuggled_data_goes),
        cmocka_unit_test_setup_teardown(test_limit, begin, finish),
        cmocka_unit_test_setup_teardown(test_several_of_one_page, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(test_one_of_several_of_a_page, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(test_refused, begin, finish),
        cmocka_unit_test_setup_teardown(
            test_item_that_is_refused_stays_with_its_reason, begin, finish),
        cmocka_unit_test_setup_teardown(test_note_of_what_is_to_come, begin,
                                        finish),
        cmocka_unit_test_setup_teardown(test_long_texts, begin, finish),
        cmocka_unit_test_setup_teardown(test_no_more_items_than_there_may_be,
                                        begin, finish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
