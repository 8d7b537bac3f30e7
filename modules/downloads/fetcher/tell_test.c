/*
 * Events, with a channel that the test plays.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/tell_help.h"

/* ---- objects ---- */

static void
test_every_field_is_there(void **state)
{
    struct entry *e = add(LIST_QUEUE, "u", 1);
    struct buf b;

    (void)state;
    buf_init(&b, 65536);
    assert_int_equal(entry_write_json(e, &b), 0);
    buf_add(&b, "", 1);
    assert_string_equal((const char *)buf_data(&b), OBJECT("u", "queue"));
    buf_take(&b, buf_len(&b));
    e->status = STATUS_DOWNLOADING;
    e->percent = 21450;
    e->speed = 402776;
    e->eta = 0;
    e->filename = STR("a b.mp4");
    assert_int_equal(entry_write_json(e, &b), 0);
    buf_add(&b, "", 1);
    assert_non_null(strstr((const char *)buf_data(&b),
                           "\"percent\":21.45,\"speed\":402776,\"eta\":0,"
                           "\"size\":null"));
    assert_non_null(
        strstr((const char *)buf_data(&b), "\"filename\":\"a b.mp4\"}"));
    buf_clear(&b);
    buf_init(&b, 100);
    assert_int_equal(entry_write_json(e, &b), -1);
    buf_clear(&b);
}

static void
test_percent_has_no_zeros_behind_it(void **state)
{
    static const struct {
        int64_t thousandths;
        const char *text;
    } rows[] = {
        { 0, "\"percent\":0," },        { 7, "\"percent\":0.007," },
        { 100000, "\"percent\":100," }, { 99999, "\"percent\":99.999," },
        { 50500, "\"percent\":50.5," }, { -1, "\"percent\":null," }
    };
    struct entry *e = add(LIST_QUEUE, "u", 1);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf b;

        buf_init(&b, 65536);
        e->percent = rows[i].thousandths;
        entry_write_json(e, &b);
        buf_add(&b, "", 1);
        assert_non_null(strstr((const char *)buf_data(&b), rows[i].text));
        buf_clear(&b);
    }
}

/* ---- events ---- */

static void
test_each_event_in_both_payloads(void **state)
{
    struct entry *e = add(LIST_PENDING, "http://a/", 1);

    (void)state;
    tell_added(e);
    assert_both("added", OBJECT("http://a/", "pending"));
    tell_updated(e, true);
    assert_string_equal(emits[looked_at].key, "1");
    assert_both("updated", OBJECT("http://a/", "pending"));
    tell_completed(e);
    assert_both("completed", OBJECT("http://a/", "pending"));
    tell_canceled(&q, STR("http://a/\"b"));
    assert_emit("main", "canceled", "\"http://a/\\\"b\"");
    assert_emit("main/string", "canceled", "\"\\\"http://a/\\\\\\\"b\\\"\"");
    tell_cleared(&q, STR("http://a/"));
    assert_both("cleared", "\"http://a/\"");
    for (size_t i = 0; i < emitted; i++) {
        assert_string_equal(emits[i].stales, "all");
    }
    assert_int_equal(looked_at, emitted);
}

static void
test_options_have_their_old_name_in_strings(void **state)
{
    static const char json[] =
        "{\"success\":true,\"msg\":\"\",\"update_time\":1795253316.852943}";

    (void)state;
    q.options = (struct options *)&q; /* it is not looked into */
    has_file = true;
    tell_options(&q);
    assert_string_equal(emits[0].stales, "engine_options_changed");
    assert_both("engine_options_changed", json);
    assert_string_equal(emits[looked_at].stales, "ytdl_options_changed");
    assert_string_equal(emits[looked_at].endpoint, "main/string");
    looked_at++;
    assert_int_equal(looked_at, emitted);
    has_file = false; /* a reload took it away */
    tell_options(&q);
    assert_int_equal(looked_at, emitted);
    assert_int_equal(stales, 4);
}

/* ---- progress ---- */

static void
test_progress_is_told_twice_a_second(void **state)
{
    struct entry *e = add(LIST_QUEUE, "u", 1);
    int64_t end = clock_ms() + 2200;
    size_t count;

    (void)state;
    for (int i = 0; clock_ms() < end; i++) {
        e->speed = i;
        tell_updated(e, i % 7 == 0);
        loop_turn(f.loop, 1);
    }
    count = emitted;
    assert_true(count >= 2 * 2 && count <= 2 * 6);
    e->speed = 12345678;
    tell_updated(e, false);
    for (int i = 0; i < 20000 && emitted == count; i++) {
        loop_turn(f.loop, 1);
    }
    assert_int_equal(emitted, count + 2);
    assert_non_null(strstr(emits[count].json, "\"speed\":12345678"));
    for (size_t i = 4; i < emitted; i += 2) { /* 2 ms: rounding */
        assert_true(emits[i].at_ms - emits[i - 4].at_ms >= 1000 - 2);
    }
}

static void
test_nothing_of_an_entry_is_told_behind_its_end(void **state)
{
    struct entry *e = add(LIST_QUEUE, "u", 1);

    (void)state;
    tell_updated(e, true);
    tell_updated(e, true);
    tell_updated(e, true); /* waits */
    assert_int_equal(emitted, 4);
    tell_completed(e);
    assert_null(e->told);
    tell_updated(e, true);
    tell_updated(e, false);
    tell_forget(e);
    turns(1100);
    assert_int_equal(emitted, 8);
    assert_string_equal(emits[4].event, "completed");
    tell_updated(e, true);
    turns(1100); /* its ticker is freed by itself */
    assert_null(e->told);
}

/* ---- a channel that takes no more ---- */

static void
test_events_wait_in_order(void **state)
{
    struct entry *e = add(LIST_QUEUE, "u", 1);

    (void)state;
    full = true;
    tell_added(e);
    tell_updated(e, true); /* the newest is told later */
    tell_cleared(&q, STR("a"));
    tell_canceled(&q, STR("b"));
    turns(60);
    assert_int_equal(emitted, 0);
    full = false;
    tell_cleared(&q, STR("c")); /* behind those that wait */
    turns(60);
    assert_both("added", OBJECT("u", "queue"));
    assert_both("cleared", "\"a\"");
    assert_both("canceled", "\"b\"");
    for (; looked_at < emitted && emits[looked_at].event[0] == 'u';) {
        looked_at++;
    }
    assert_both("cleared", "\"c\"");
    assert_int_equal(renewed, 0);
}

static void
test_when_too_much_waits_clients_are_told_anew(void **state)
{
    struct entry *e = add(LIST_QUEUE, "u", 1);

    (void)state;
    full = true;
    for (size_t i = 0; i < TELL_WAITING_BYTES / 400; i++) {
        tell_added(e);
    }
    tell_cleared(&q, STR("a")); /* lost, too */
    turns(60);
    assert_int_equal(renewed, 0);
    full = false;
    turns(60);
    assert_int_equal(renewed, 2); /* of both payloads */
    assert_int_equal(emitted, 0);
    tell_cleared(&q, STR("b"));
    assert_both("cleared", "\"b\"");
}

static void
test_clients_of_an_earlier_fetcher_are_told_anew(void **state)
{
    struct entry *e;

    (void)state;
    q.loaded = false;
    e = add(LIST_QUEUE, "u", 1);
    tell_added(e);
    assert_int_equal(emitted, 0);
    full = true;
    q.loaded = true;
    tell_loaded(&q);
    full = false;
    turns(60);
    assert_int_equal(renewed, 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_every_field_is_there),
        TEST(test_percent_has_no_zeros_behind_it),
        TEST(test_each_event_in_both_payloads),
        TEST(test_options_have_their_old_name_in_strings),
        TEST(test_progress_is_told_twice_a_second),
        TEST(test_nothing_of_an_entry_is_told_behind_its_end),
        TEST(test_events_wait_in_order),
        TEST(test_when_too_much_waits_clients_are_told_anew),
        TEST(test_clients_of_an_earlier_fetcher_are_told_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
