/*
 * The life of an entry: its turn, its run, its end; records; the start.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/life_help.h"

/* ---- the life of an entry ---- */

static const struct run_result bad = { .msg = { "HTTP Error 404", 14 } };
static const struct run_result killed = { .killed = true };
static const struct run_result ended = { .canceled = true };

static void
test_life_finished(void **state)
{
    struct entry *e = started("a");

    (void)state;
    assert_int_equal(fake_running(), 1);
    assert_int_equal(e->status, STATUS_PREPARING);
    assert_true(e->started_ms > 0);
    fake_end(fake_run(0), &good);
    fake_done("take", true, "a.mp4");
    turns();
    assert_asks("finish");
    fake_answer(STORE_OK);
    turns();
    assert_log("finished a;completed a;");
    assert_string_equal(e->filename.ptr, "a.mp4");
    assert_int_equal(e->size, 7);
    assert_int_equal(e->percent, 100000);
    assert_int_equal(queue->busy, 0);
}

static void
test_life_failed(void **state)
{
    struct entry *e = started("a");

    (void)state;
    fake_end(fake_run(0), &bad);
    fake_done("drop", true, "");
    turns();
    fake_answer(STORE_OK);
    turns();
    assert_log("error a;completed a;");
    assert_string_equal(e->msg.ptr, "HTTP Error 404");
    assert_int_equal(e->status, STATUS_ERROR);
    assert_int_equal(queue->busy, 0);
}

static void
test_life_no_room_for_result(void **state)
{
    struct entry *e = started("a");

    (void)state;
    fake_end(fake_run(0), &good);
    fake_done("take", false, "");
    fake_done("drop", true, "");
    turns();
    fake_answer(STORE_OK);
    turns();
    assert_log("error a;completed a;");
    assert_string_equal(e->msg.ptr, "No space left on device");
}

static void
test_life_store_away_at_the_end(void **state)
{
    (void)state;
    started("a");
    fake_end(fake_run(0), &good);
    fake_done("take", true, "a.mp4");
    turns();
    assert_log("finished a;");
    fake_answer(STORE_FULL);
    wait_for_call("finish");
    fake_answer(STORE_FAILED);
    wait_for_call("finish");
    fake_answer(STORE_OK);
    turns();
    assert_log("completed a;");
}

static void
test_cancel_running(void **state)
{
    struct entry *e = started("a");

    (void)state;
    queue_cancel(e, on_done, NULL);
    turns();
    assert_string_equal(fake_run(0)->told, "");
    fake_answer(STORE_OK);
    turns();
    assert_answers("0 a;");
    assert_string_equal(fake_run(0)->told, "cancel");
    assert_log("");
    assert_null(queue_find(queue, STR("a")));
    fake_end(fake_run(0), &ended);
    assert_log("");
    fake_done("drop", true, "");
    turns();
    assert_asks("remove");
    assert_log("");
    fake_answer(STORE_OK);
    turns();
    assert_log("canceled a;");
    assert_int_equal(queue->busy, 0);
}

/* It ends well while its cancellation is being written. */
static void
test_cancel_wins(void **state)
{
    struct entry *e = started("a");

    (void)state;
    queue_cancel(e, on_done, NULL);
    turns();
    fake_end(fake_run(0), &good);
    fake_answer(STORE_OK);
    fake_done("take", true, "a.mp4");
    fake_done("remove", true, "");
    fake_done("drop", true, "");
    turns();
    assert_asks("remove");
    fake_answer(STORE_OK);
    turns();
    assert_log("canceled a;");
    assert_int_equal(queue->entries, 0);
}

/* The same, when its result has its place and the end waits for the store. */
static void
test_cancel_before_end_is_kept(void **state)
{
    struct entry *e = started("a");

    (void)state;
    fake_end(fake_run(0), &good);
    fake_done("take", true, "a.mp4");
    turns();
    assert_asks("finish");
    fake_answer(STORE_FULL);
    queue_cancel(e, on_done, NULL);
    turns();
    assert_asks("cancel");
    fake_answer(STORE_OK);
    turns();
    fake_done("remove", true, "");
    fake_done("drop", true, "");
    turns();
    assert_asks("remove");
    fake_answer(STORE_OK);
    turns();
    assert_log("finished a;canceled a;");
}

static void
test_end_wins(void **state)
{
    struct entry *e = started("a");

    (void)state;
    fake_end(fake_run(0), &good);
    fake_done("take", true, "a.mp4");
    turns();
    queue_cancel(e, on_done, NULL);
    fake_answer(STORE_OK);
    turns();
    assert_answers("2 a;");
    assert_log("finished a;completed a;");
}

static void
test_killed_waits_again(void **state)
{
    struct entry *e = started("a");

    (void)state;
    fake_end(fake_run(0), &killed);
    assert_int_equal(e->status, STATUS_PENDING);
    assert_int_equal(e->list, LIST_QUEUE);
    turns();
    assert_asks("claim");
    fake_answer(STORE_OK);
    turns();
    fake_done("find", false, "");
    assert_int_equal(fake_running(), 1);
}

/* The fetcher died when the file was in its place, before that was written. */
static void
test_moved_already(void **state)
{
    struct entry *e = make(STATE_QUEUE);

    (void)state;
    e->started_ms = 1000;
    fetcher.draining = false;
    queue_schedule(queue);
    turns();
    assert_asks("claim");
    fake_answer(STORE_OK);
    turns();
    fake_done("find", true, "a.mp4");
    turns();
    assert_asks("finish");
    fake_answer(STORE_OK);
    turns();
    assert_log("finished a;completed a;");
    assert_string_equal(e->filename.ptr, "a.mp4");
    assert_int_equal(e->size, 7);
}

static void
test_moved_already_and_canceled(void **state)
{
    struct entry *e = make(STATE_QUEUE);

    (void)state;
    e->started_ms = 1000;
    fetcher.draining = false;
    queue_cancel(e, NULL, NULL);
    turns();
    fake_answer(STORE_OK); /* its cancellation, or the claim before it */
    turns();
    if (fake_waiting() > 0) {
        fake_answer(STORE_OK);
        turns();
    }
    fake_done("find", true, "a.mp4");
    fake_done("remove", true, "");
    fake_done("drop", true, "");
    turns();
    assert_asks("remove");
    fake_answer(STORE_OK);
    turns();
    assert_log("canceled a;");
}

static void
test_max_concurrent(void **state)
{
    (void)state;
    started("a");
    started("b");
    add("c", false);
    add("d", false);
    turns();
    assert_int_equal(fake_waiting(), 0);
    assert_int_equal(fake_running(), 2);
    fake_log[0] = '\0';
    fake_end(fake_run(1), &bad);
    fake_done("drop", true, "");
    turns();
    fake_answer(STORE_OK);
    turns();
    assert_asks("claim");
    fake_answer(STORE_OK);
    turns();
    assert_log("error b;completed b;run c;preparing c;");
}

static void
test_min_free(void **state)
{
    (void)state;
    fake_free_bytes = 99;
    fetcher.draining = false;
    add("a", false);
    turns();
    assert_int_equal(fake_waiting(), 0);
    assert_string_equal(queue->pause, "the disk has less than min_free");
    fake_free_bytes = 100;
    queue_schedule(queue);
    turns();
    assert_asks("claim");
    assert_string_equal(queue->pause, "");
}

/* A few are left for extractions. */
static void
test_no_start_beside_many_programs(void **state)
{
    (void)state;
    add("a", false);
    add("b", false);
    fake_programs = STARTER_RUNS - 8;
    fetcher.draining = false;
    queue_schedule(queue);
    turns();
    assert_int_equal(fake_waiting(), 0);
    fake_programs = STARTER_RUNS - 9;
    wait_for_call("claim"); /* by itself */
    turns();
    assert_int_equal(fake_waiting(), 1); /* the first is as good as started */
    fake_answer(STORE_OK);
    fake_programs = STARTER_RUNS - 8;
    turns();
    assert_int_equal(fake_running(), 1);
    assert_int_equal(fake_waiting(), 0);
    fake_programs = 0;
    wait_for_call("claim");
}

static void
test_too_much_runs(void **state)
{
    struct entry *e;

    (void)state;
    fake_too_much = true;
    fetcher.draining = false;
    e = add("a", false);
    turns();
    assert_asks("claim");
    fake_answer(STORE_OK);
    turns();
    assert_int_equal(fake_waiting(), 0);
    assert_int_equal(e->list, LIST_QUEUE);
    assert_int_equal(e->status, STATUS_PENDING);
    assert_int_equal(queue->busy, 0);
    fake_too_much = false;
    wait_for_call("claim");
    fake_answer(STORE_OK);
    turns();
    fake_done("find", false, "");
    assert_int_equal(fake_running(), 1);
}

/* ---- records ---- */

static void
test_max_done(void **state)
{
    (void)state;
    queue->plan.max_done = 1;
    make(STATE_DONE);
    queue_ask(add("b", false), TRIGGER_FINISH, NULL, NULL);
    turns();
    fake_answer(STORE_OK);
    wait_for_call("remove");
    fake_answer(STORE_OK);
    turns();
    assert_log("added b;completed b;cleared a;");
}

static void
test_clear_completed_after(void **state)
{
    struct entry *e = make(STATE_DONE);

    (void)state;
    e->finished_ms = 1000;
    queue->plan.clear_completed_after = 5000;
    tidy_look(queue);
    wait_for_call("remove");
    fake_answer(STORE_FULL);
    wait_for_call("remove");
    fake_answer(STORE_OK);
    turns();
    assert_log("cleared a;");
}

/* ---- the start ---- */

static struct store_value
text(const char *s)
{
    return store_text(str_from(s));
}

static void
put_row(struct store_value *to, int64_t number, int list, int canceled)
{
    static char urls[KEEP_PAGE + 1][16];
    char *url = urls[number <= KEEP_PAGE ? number : 0];

    snprintf(url, sizeof(*urls), "u%d", (int)number);
    for (int i = 0; i < 24; i++) {
        to[i] = text("");
    }
    to[0] = store_int(number);
    to[1] = store_int(list);
    to[2] = store_int(canceled);
    to[3] = store_int(STATUS_FINISHED);
    to[4] = to[5] = to[6] = text(url);
    to[14] = to[23] = store_int(0);
    to[15] = store_int(1000 - number);
    to[16] = to[17] = to[18] = store_int(-1);
}

static void
test_load(void **state)
{
    struct store_value *cells = test_calloc(24 * KEEP_PAGE, sizeof(*cells));
    struct store_rows page = { KEEP_PAGE, 24, cells, 0 };

    (void)state;
    queue_free(&queue);
    fetcher.draining = false;
    queue = queue_new(&fetcher,
                      &(struct downloads_instance){ .name = STR("main"),
                                                    .max_concurrent = 1,
                                                    .max_entries = 1000 });
    fake_answer_rows(STORE_DOWN, NULL);
    wait_for_call("page");
    for (int i = 0; i < KEEP_PAGE; i++) {
        put_row(&cells[24 * i], i + 1, i < 3 ? i : LIST_DONE, 0);
    }
    fake_answer_rows(STORE_OK, &page);
    assert_false(queue->loaded);
    put_row(cells, 500, LIST_QUEUE, 1);
    page.rows = 1;
    fake_answer_rows(STORE_OK, &page);
    assert_true(queue->loaded);
    assert_int_equal(queue->counts[LIST_PENDING], 1);
    assert_int_equal(queue->counts[LIST_QUEUE], 1);
    assert_int_equal(queue->counts[LIST_DONE], KEEP_PAGE - 2);
    assert_log(""); /* snapshots say it */
    turns();
    fake_done("drop", true, ""); /* the canceled one goes */
    turns();
    assert_int_equal(fake_waiting(), 1);
    assert_asks("remove");
    fake_answer(STORE_OK);
    turns();
    assert_log("canceled u500;");
    assert_asks("claim");
    fake_answer(STORE_OK);
    turns();
    assert_log("run u2;preparing u2;");
    test_free(cells);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(test_life_finished),
        ROW(test_life_failed),
        ROW(test_life_no_room_for_result),
        ROW(test_life_store_away_at_the_end),
        ROW(test_cancel_running),
        ROW(test_cancel_wins),
        ROW(test_cancel_before_end_is_kept),
        ROW(test_end_wins),
        ROW(test_killed_waits_again),
        ROW(test_moved_already),
        ROW(test_moved_already_and_canceled),
        ROW(test_max_concurrent),
        ROW(test_min_free),
        ROW(test_no_start_beside_many_programs),
        ROW(test_too_much_runs),
        ROW(test_max_done),
        ROW(test_clear_completed_after),
        ROW(test_load),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
