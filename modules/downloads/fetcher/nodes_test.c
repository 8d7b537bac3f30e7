/*
 * Other nodes, and a store that goes away: rows that are read again, leases
 * that come and go.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/life.h"
#include "fetcher/life_help.h"
#include "fetcher/nodes.h"

/* ---- rows ---- */

struct row {
    int64_t number;
    const char *url;
    int list, canceled;
    const char *runner; /* NULL: none */
};

/* The oldest call, a read, is answered by this row; NULL: by none. */
static void
answer_row(const struct row *row)
{
    struct store_value cells[24];

    for (int i = 0; i < 24; i++) {
        cells[i] = store_text(STR_NONE);
    }
    cells[16] = cells[17] = cells[18] = store_int(-1);
    if (row != NULL) {
        cells[0] = store_int(row->number);
        cells[1] = store_int(row->list);
        cells[2] = store_int(row->canceled);
        cells[3] = store_int(STATUS_FINISHED);
        cells[4] = cells[5] = cells[6] = store_text(str_from(row->url));
        cells[16] = store_int(row->runner != NULL ? 1000 : -1);
        cells[22] = store_text(str_from(row->runner ? row->runner : ""));
    }
    cells[14] = cells[15] = cells[23] = store_int(0);
    fake_answer_rows(STORE_OK,
                     &(struct store_rows){ row != NULL, 24, cells, 0 });
    turns();
}

/* Its end is being written. */
static struct entry *
finishing(const char *url)
{
    struct entry *e = started(url);

    fake_end(fake_run(0), &good);
    fake_done("take", true, "a.mp4");
    turns();
    assert_asks("finish");
    fake_log[0] = '\0';
    return e;
}

/* ---- writes whose end is not known ---- */

static void
test_finish_was_kept(void **state)
{
    struct entry *e = finishing("a");

    (void)state;
    assert_int_equal(queue->busy, 1);
    fake_answer(STORE_DOWN);
    turns();
    assert_asks("one");
    answer_row(
        &(struct row){ .number = e->number, .url = "a", .list = LIST_DONE });
    assert_log("completed a;");
    assert_int_equal(queue_state_of(e), STATE_DONE);
    assert_int_equal(queue->busy, 0);
    assert_int_equal(e->phase, PHASE_IDLE);
}

/* It was not: it is written again. */
static void
test_finish_was_not_kept(void **state)
{
    struct entry *e = finishing("a");

    (void)state;
    fake_answer(STORE_DOWN);
    turns();
    answer_row(
        &(struct row){ .number = e->number, .url = "a", .list = LIST_QUEUE });
    assert_int_equal(e->status, STATUS_FINISHED);
    wait_for_call("finish");
    fake_answer(STORE_OK);
    turns();
    assert_log("completed a;");
    assert_int_equal(queue->busy, 0);
}

static void
test_start_was_kept(void **state)
{
    struct entry *e = make(STATE_PENDING);

    (void)state;
    queue_start(e, on_done, NULL);
    turns();
    fake_answer(STORE_DOWN);
    turns();
    assert_asks("one");
    answer_row(
        &(struct row){ .number = e->number, .url = "a", .list = LIST_QUEUE });
    assert_log("pending a;");
    assert_int_equal(queue_state_of(e), STATE_QUEUE);
}

/* An add that nobody answered, and one that is told that it is there. */
static void
test_add_was_kept(void **state)
{
    static const enum store_status bad[] = { STORE_DOWN, STORE_CONFLICT };

    for (size_t i = 0; i < 2; i++) {
        char expected[32];

        ask_add("a", true);
        turns();
        fake_answer(bad[i]);
        turns();
        assert_null(queue_find(queue, STR("a")));
        assert_asks("new");
        answer_row(&(struct row){ .number = 7, .url = "a" });
        assert_log("added a;");
        snprintf(expected, sizeof(expected), "%d %s;", (int)bad[i],
                 bad[i] == STORE_CONFLICT ? "a" : "-");
        assert_answers(expected);
        assert_non_null(queue_find(queue, STR("a")));
        teardown(state);
        open_held();
    }
}

/* Another node has run it, while this one asked for the right. */
static void
test_done_elsewhere_before_its_lease(void **state)
{
    struct entry *e = make(STATE_QUEUE);

    (void)state;
    e->phase = PHASE_LEASE;
    queue->busy++;
    nodes_look(queue, e->number);
    answer_row(
        &(struct row){ .number = e->number, .url = "a", .list = LIST_DONE });
    assert_log("completed a;");
    assert_int_equal(queue->busy, 0);
}

/* ---- reading all again ---- */

static void
read_again(void)
{
    timer_set(fetcher.loop, &queue->again, 0);
    turns();
}

/* The page has its row, and comes before the answer to its add. */
static void
test_page_before_add(void **state)
{
    (void)state;
    read_again();
    ask_add("a", true);
    turns();
    assert_asks("page");
    answer_row(&(struct row){ .number = 1, .url = "a" });
    assert_null(queue_find(queue, STR("a")));
    fake_number = 0;
    assert_asks("add_waiting");
    fake_answer(STORE_OK);
    turns();
    assert_log("added a;");
    assert_answers("0 a;");
    assert_int_equal(queue->entries, 1);
}

/* The page was read before its add, whose answer comes first. */
static void
test_page_without_add(void **state)
{
    struct list *page;

    (void)state;
    read_again();
    page = fake_calls.next;
    ask_add("a", true);
    turns();
    list_remove(page);
    list_append(&fake_calls, page);
    fake_answer(STORE_OK);
    assert_asks("page");
    answer_row(NULL);
    assert_log("added a;");
    assert_non_null(queue_find(queue, STR("a")));
    read_again();
    answer_row(NULL); /* another node has removed it since */
    assert_log("canceled a;");
    assert_int_equal(queue->entries, 0);
}

/* The read that was asked for first is answered after the next call. */
static void
answer_write_first(const char *name)
{
    struct list *read = fake_calls.next;

    list_remove(read);
    list_append(&fake_calls, read);
    assert_asks(name);
    fake_answer(STORE_OK);
    turns();
}

/* The page was read before an entry has gone, and comes after that. */
static void
test_page_before_removal(void **state)
{
    struct entry *e = make(STATE_DONE);
    const struct row row = { .number = e->number,
                             .url = "a",
                             .list = LIST_DONE };

    (void)state;
    read_again();
    queue_wipe(e, NULL, NULL);
    turns();
    answer_write_first("remove");
    assert_log("cleared a;");
    assert_asks("page");
    answer_row(&row);
    assert_log("");
    assert_int_equal(queue->entries, 0);
    assert_asks("one");
    answer_row(NULL);
    assert_log("");
    assert_int_equal(queue->entries, 0);
}

/* The page was read before a start, and must not take it back. */
static void
test_page_before_start(void **state)
{
    struct entry *e = make(STATE_PENDING);
    const struct row row = { .number = e->number,
                             .url = "a",
                             .list = LIST_QUEUE };
    struct row old = row;

    (void)state;
    old.list = LIST_PENDING;
    read_again();
    queue_start(e, NULL, NULL);
    turns();
    answer_write_first("start");
    assert_log("pending a;");
    answer_row(&old);
    assert_int_equal(queue_state_of(e), STATE_QUEUE);
    assert_asks("one");
    answer_row(&row);
    assert_int_equal(queue_state_of(e), STATE_QUEUE);
    assert_log("");
    assert_int_equal(fake_waiting(), 0);
}

/* The same of a row that is read alone. */
static void
test_row_before_removal(void **state)
{
    struct entry *e = make(STATE_PENDING);
    const struct row row = { .number = e->number, .url = "a" };

    (void)state;
    nodes_look(queue, e->number);
    queue_cancel(e, NULL, NULL);
    turns();
    answer_write_first("remove");
    assert_log("canceled a;");
    answer_row(&row);
    assert_int_equal(queue->entries, 0);
    answer_row(NULL);
    assert_log("");
    assert_int_equal(queue->entries, 0);
}

/* ---- leases ---- */

static void
test_lost_while_its_end_is_written(void **state)
{
    struct entry *e = finishing("a");

    (void)state;
    schedule_lost(e);
    assert_int_equal(e->status, STATUS_FINISHED);
    assert_string_equal(e->filename.ptr, "a.mp4");
    fake_answer(STORE_OK);
    turns();
    assert_log("completed a;");
    assert_int_equal(queue->busy, 0);
}

/* The same, and another node was quicker. */
static void
test_lost_and_run_elsewhere(void **state)
{
    struct entry *e = finishing("a");
    const struct row row = {
        .number = e->number, .url = "a", .list = LIST_QUEUE, .runner = "b"
    };

    (void)state;
    fetcher.shared = true;
    schedule_lost(e);
    nodes_leave(e);
    fake_answer(STORE_MISSING);
    turns();
    assert_asks("one");
    answer_row(&row);
    assert_int_equal(e->phase, PHASE_IDLE);
    assert_int_equal(e->status, STATUS_PENDING);
    assert_true(e->foreign);
    assert_int_equal(queue->busy, 0);
    assert_int_equal(fake_waiting(), 0);
}

/* The same, but that node is dead by then. */
static void
test_lost_and_taken_back(void **state)
{
    struct entry *e = finishing("a");
    const struct row row = {
        .number = e->number, .url = "a", .list = LIST_QUEUE, .runner = "b"
    };

    (void)state;
    fetcher.shared = true;
    schedule_lost(e);
    fake_answer(STORE_MISSING);
    turns();
    assert_asks("one");
    answer_row(&row);
    assert_asks("claim");
    fake_answer(STORE_OK);
    turns();
    fake_done("find", true, "a.mp4");
    turns();
    assert_asks("finish");
}

/* An entry of another node. */
static struct entry *
foreign(void)
{
    struct entry *e = make(STATE_QUEUE);

    fetcher.shared = true;
    e->foreign = true;
    fetcher.draining = false;
    return e;
}

/* That node is dead. */
static void
take_over(struct entry *e)
{
    assert_true(nodes_want(e));
    schedule_taken(e);
    turns();
}

static void
test_taken_over(void **state)
{
    struct entry *e = foreign();

    (void)state;
    take_over(e);
    assert_asks("claim");
    assert_true(nodes_has(e));
    assert_int_equal(queue->busy, 1);
}

static void
check_given_back(struct entry *e)
{
    assert_int_equal(fake_waiting(), 0);
    assert_false(nodes_has(e));
    assert_false(e->foreign);
    assert_int_equal(e->phase, PHASE_IDLE);
}

static void
test_taken_over_without_room(void **state)
{
    struct entry *e = foreign();

    (void)state;
    fake_free_bytes = 99;
    take_over(e);
    check_given_back(e);
    fake_free_bytes = 100;
    queue_schedule(queue);
    turns();
    assert_asks("claim");
}

static void
test_taken_over_without_place(void **state)
{
    struct entry *e = foreign();

    (void)state;
    queue->busy = 2;
    take_over(e);
    check_given_back(e);
    queue->busy = 0;
    queue->crowded = true; /* too many programs */
    take_over(e);
    check_given_back(e);
}

static void
test_taken_over_while_draining(void **state)
{
    struct entry *e = foreign();

    (void)state;
    fetcher.draining = true;
    take_over(e);
    check_given_back(e);
    e->phase = PHASE_LEASE; /* it has asked before that */
    queue->busy++;
    take_over(e);
    check_given_back(e);
    assert_int_equal(queue->busy, 0);
}

static void
test_directory_goes_before_its_run(void **state)
{
    struct entry *e;

    (void)state;
    fetcher.draining = false;
    e = add("a", false);
    turns();
    assert_asks("claim");
    queue->place = NULL;
    fetcher.draining = true;
    fake_answer(STORE_OK);
    turns();
    check_given_back(e);
}

/* ---- the directory ---- */

static void
test_directory_that_appears_is_swept(void **state)
{
    int before = fake_place;

    (void)state;
    queue->place = NULL;
    fetcher.draining = false;
    add("a", false);
    turns();
    assert_non_null(queue->place);
    assert_int_equal(fake_place, before + 1);
    assert_asks("claim");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(test_finish_was_kept),
        ROW(test_finish_was_not_kept),
        ROW(test_start_was_kept),
        ROW(test_add_was_kept),
        ROW(test_done_elsewhere_before_its_lease),
        ROW(test_page_before_add),
        ROW(test_page_without_add),
        ROW(test_page_before_removal),
        ROW(test_page_before_start),
        ROW(test_row_before_removal),
        ROW(test_lost_while_its_end_is_written),
        ROW(test_lost_and_run_elsewhere),
        ROW(test_lost_and_taken_back),
        ROW(test_taken_over),
        ROW(test_taken_over_without_room),
        ROW(test_taken_over_without_place),
        ROW(test_taken_over_while_draining),
        ROW(test_directory_goes_before_its_run),
        ROW(test_directory_that_appears_is_swept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
