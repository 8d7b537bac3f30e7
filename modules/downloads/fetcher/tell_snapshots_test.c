/*
 * Snapshots and /history, with a channel that the test plays.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/tell_help.h"

#define HISTORY                                                              \
    "{\"done\":[" OBJECT("d1", "done") "," OBJECT(                           \
        "d2", "done") "],\"queue\":[" OBJECT("q", "queue") "],\"pend"        \
                                                           "ing\":[" OBJECT( \
                                                               "p",          \
                                                               "pending") "]}"

static void
fill(void)
{
    add(LIST_PENDING, "p", 1);
    add(LIST_DONE, "d1", 2);
    add(LIST_QUEUE, "q", 3);
    add(LIST_DONE, "d2", 4);
}

static void
test_all_comes_in_parts(void **state)
{
    (void)state;
    fill();
    ask(tell_on_all, "main\nobject");
    assert_answer(HISTORY);
    assert_int_equal(parts, strlen(HISTORY) / PART);
    ask(tell_on_all, "main/string\nstring");
    assert_int_equal(state_of_request, ANSWERED);
    assert_has("\"[[[\\\"q\\\",{\\\"id\\\":");
    assert_has("}],[\\\"p\\\",{\\\"id\\\":");
    assert_has("}]],[[\\\"d1\\\",{\\\"id\\\":");
    assert_memory_equal(buf_data(&answer) + buf_len(&answer) - 5, "}]]]\"", 5);
}

/* A change behind its beginning is not in it. */
static void
test_parts_are_of_one_moment(void **state)
{
    (void)state;
    fill();
    window = 1;
    request =
        (struct rpc_request){ .data = "main\nobject", .len = 11, .fd = -1 };
    state_of_request = OPEN;
    tell_on_all(&f, &request);
    assert_int_equal(state_of_request, OPEN);
    assert_int_equal(buf_len(&answer), PART);
    tell_added(add(LIST_PENDING, "late", 9));
    window = 100;
    request.on_room(request.arg);
    assert_answer(HISTORY);
}

static void
test_requests_end_with_who_waits(void **state)
{
    (void)state;
    fill();
    q.loaded = false;
    ask(tell_on_all, "main\nobject");
    assert_int_equal(state_of_request, OPEN);
    request.on_gone(request.arg);
    assert_int_equal(state_of_request, REFUSED);
    ask(tell_on_all, "main\nobject");
    q.loaded = true;
    tell_loaded(&q);
    assert_answer(HISTORY);
    q.loaded = false;
    ask(tell_on_all, "main\nobject");
    q.loaded = true;
    tell_stop(&q);
    assert_int_equal(state_of_request, REFUSED);
    tell_start(&q);
}

static void
test_events_that_wait_come_before(void **state)
{
    (void)state;
    fill();
    full = true;
    tell_cleared(&q, STR("a"));
    ask(tell_on_all, "main\nobject");
    turns(60);
    assert_int_equal(state_of_request, OPEN);
    full = false;
    turns(60);
    assert_int_equal(emitted, 2);
    assert_answer(HISTORY);
}

static void
test_requests_that_make_no_sense(void **state)
{
    static const char *const rows[] = {
        "", "main", "main\nother", "\nobject", "none\nobject", "main/string\n"
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ask(tell_on_all, rows[i]);
        assert_int_equal(state_of_request, REFUSED);
    }
}

static void
test_the_other_snapshots(void **state)
{
    (void)state;
    ask(tell_on_custom_dirs, "main\nobject");
    assert_answer("{\"download_dir\":[\"\"],\"audio_download_dir\":[\"\"]}");
    q.place = (struct place *)&q; /* it is not looked into */
    ask(tell_on_custom_dirs, "main/string\nstring");
    assert_answer("\"{\\\"download_dir\\\":[\\\"\\\",\\\"sub\\\"],"
                  "\\\"audio_download_dir\\\":[\\\"\\\",\\\"sub\\\"]}\"");
    q.plan.custom_dirs = false;
    ask(tell_on_custom_dirs, "main\nobject");
    assert_answer("");
    ask(tell_on_options, "main\nobject");
    assert_answer("");
    q.options = (struct options *)&q;
    has_file = true;
    ask(tell_on_options_alias, "main\nobject");
    assert_answer("");
    ask(tell_on_options_alias, "main/string\nstring");
    assert_answer("\"{\\\"success\\\":true,\\\"msg\\\":\\\"\\\","
                  "\\\"update_time\\\":1795253316.852943}\"");
    ask(tell_on_configuration, "main\nobject");
    assert_has("\"MAX_CONCURRENT_DOWNLOADS\":3,");
    ask(tell_on_configuration, "main/string\nstring");
    assert_has("\\\"MAX_CONCURRENT_DOWNLOADS\\\":\\\"3\\\",");
}

static void
test_the_oldest_of_done_are_left_out(void **state)
{
    char *url = mem_zero(8001);
    size_t count = 0;

    (void)state;
    memset(url, 'u', 8000);
    for (int64_t i = 0; i < 2500; i++) {
        add(LIST_DONE, url, i);
    }
    add(LIST_QUEUE, "q", 9999);
    ask(tell_on_all, "main\nobject");
    assert_int_equal(state_of_request, ANSWERED);
    assert_in_range(buf_len(&answer), 14 << 20, 15 << 20);
    ask(tell_on_all, "main/string\nstring");
    assert_int_equal(state_of_request, ANSWERED);
    assert_in_range(buf_len(&answer), 13 << 20, 15 << 20);
    LIST_EACH (node, &q.lists[LIST_DONE]) {
        struct entry *e = LIST_ITEM(node, struct entry, link);

        if (++count > 10) {
            drop(e);
        }
    }
    mem_free(&url);
}

static void
fill_list(int list, size_t count, const char *url)
{
    for (size_t i = 0; i < count; i++) {
        add(list, url, (int64_t)i);
    }
}

/* "pending" of an object stands behind "queue", and has the newest. */
static void
test_the_oldest_of_all_lists_are_left_out(void **state)
{
    static const int counts[][ENTRY_LISTS] = { { 2500, 10, 300 },
                                               { 500, 2500, 300 } };
    char *url = mem_zero(8001);

    (void)state;
    memset(url, 'u', 8000);
    for (size_t i = 0; i < 2; i++) {
        for (int list = 0; list < ENTRY_LISTS; list++) {
            fill_list(list, (size_t)counts[i][list], url);
        }
        add(LIST_QUEUE, "newest", 9999);
        q.change++;
        ask(tell_on_all, "main\nobject");
        assert_int_equal(state_of_request, ANSWERED);
        assert_in_range(buf_len(&answer), 14 << 20, 15 << 20);
        assert_has("{\"done\":[],\"queue\":[{");
        assert_has("\"url\":\"newest\"");
        ask(tell_on_all, "main/string\nstring");
        assert_int_equal(state_of_request, ANSWERED);
        assert_in_range(buf_len(&answer), 13 << 20, 15 << 20);
        assert_has("[\\\"newest\\\",{");
        drop_all();
    }
    mem_free(&url);
}

static void
test_history_is_kept_until_something_changes(void **state)
{
    char text[sizeof(HISTORY)] = "";
    struct errmsg err;
    int64_t length;
    int fd;

    (void)state;
    fill();
    fd = tell_history(&q, &length, &err);
    assert_true(fd >= 0);
    assert_int_equal(length, sizeof(HISTORY) - 1);
    assert_int_equal(pread(fd, text, sizeof(text), 0), length);
    assert_string_equal(text, HISTORY);
    assert_int_equal(write(fd, "x", 1), -1);
    assert_int_equal(ftruncate(fd, 1), -1);
    assert_int_equal(tell_history(&q, &length, &err), fd);
    assert_int_equal(pread(fd, text, 1, 0), 1);
    tell_added(add(LIST_PENDING, "late", 9));
    assert_true(tell_history(&q, &length, &err) >= 0);
    assert_true(length > (int64_t)sizeof(HISTORY));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_all_comes_in_parts),
        TEST(test_parts_are_of_one_moment),
        TEST(test_requests_end_with_who_waits),
        TEST(test_events_that_wait_come_before),
        TEST(test_requests_that_make_no_sense),
        TEST(test_the_other_snapshots),
        TEST(test_the_oldest_of_done_are_left_out),
        TEST(test_the_oldest_of_all_lists_are_left_out),
        TEST(test_history_is_kept_until_something_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
