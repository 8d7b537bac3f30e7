/*
 * A queue: its table row by row, its writes one by one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/queue_fake.h"

/* ---- the table ---- */

/* Every trigger in every state: what is asked of the store ("": it is not
 * done), where the entry is then, what clients hear. */
static const struct row {
    enum queue_trigger trigger;
    enum queue_state from;
    const char *asks;
    enum queue_state to;
    const char *told;
} rows[] = {
    { TRIGGER_ADD_WAITING, STATE_NONE, "add_waiting", STATE_PENDING,
      "added a;" },
    { TRIGGER_ADD, STATE_NONE, "add", STATE_QUEUE, "added a;" },
    { TRIGGER_START, STATE_PENDING, "start", STATE_QUEUE, "pending a;" },
    { TRIGGER_START, STATE_QUEUE, "", STATE_QUEUE, "" },
    { TRIGGER_START, STATE_DONE, "", STATE_DONE, "" },
    { TRIGGER_START, STATE_CANCELED, "", STATE_CANCELED, "" },
    { TRIGGER_CLAIM, STATE_PENDING, "", STATE_PENDING, "" },
    { TRIGGER_CLAIM, STATE_QUEUE, "claim", STATE_QUEUE, "" },
    { TRIGGER_CLAIM, STATE_DONE, "", STATE_DONE, "" },
    { TRIGGER_CLAIM, STATE_CANCELED, "", STATE_CANCELED, "" },
    { TRIGGER_FINISH, STATE_PENDING, "", STATE_PENDING, "" },
    { TRIGGER_FINISH, STATE_QUEUE, "finish", STATE_DONE, "completed a;" },
    { TRIGGER_FINISH, STATE_DONE, "", STATE_DONE, "" },
    { TRIGGER_FINISH, STATE_CANCELED, "", STATE_CANCELED, "" },
    { TRIGGER_CANCEL, STATE_PENDING, "remove", STATE_NONE, "canceled a;" },
    { TRIGGER_CANCEL, STATE_QUEUE, "cancel", STATE_CANCELED, "" },
    { TRIGGER_CANCEL, STATE_DONE, "", STATE_DONE, "" },
    { TRIGGER_CANCEL, STATE_CANCELED, "", STATE_CANCELED, "" },
    { TRIGGER_GONE, STATE_PENDING, "", STATE_PENDING, "" },
    { TRIGGER_GONE, STATE_QUEUE, "", STATE_QUEUE, "" },
    { TRIGGER_GONE, STATE_DONE, "", STATE_DONE, "" },
    { TRIGGER_GONE, STATE_CANCELED, "remove", STATE_NONE, "canceled a;" },
    { TRIGGER_CLEAR, STATE_PENDING, "", STATE_PENDING, "" },
    { TRIGGER_CLEAR, STATE_QUEUE, "", STATE_QUEUE, "" },
    { TRIGGER_CLEAR, STATE_DONE, "remove", STATE_NONE, "cleared a;" },
    { TRIGGER_CLEAR, STATE_CANCELED, "", STATE_CANCELED, "" },
};

static struct entry *
begin_row(const struct row *r)
{
    struct entry *e = NULL;

    if (r->from == STATE_NONE) {
        ask_add("a", r->trigger == TRIGGER_ADD_WAITING);
    } else {
        e = make(r->from);
        queue_ask(e, r->trigger, on_done, NULL);
    }
    assert_answers(""); /* never within the call */
    turns();
    return e;
}

static void
check_state(const struct row *r, enum queue_state expected)
{
    static const struct str a = { "a", 1 };
    struct entry *active = queue_find(queue, a);
    struct entry *done = queue_find_done(queue, a);

    assert_int_equal(active != NULL,
                     expected == STATE_PENDING || expected == STATE_QUEUE);
    assert_int_equal(done != NULL, expected == STATE_DONE);
    assert_int_equal(!list_empty(&queue->canceled), expected == STATE_CANCELED);
    assert_int_equal(queue->entries, expected != STATE_NONE);
    for (int i = 0; i < ENTRY_LISTS; i++) {
        assert_int_equal(queue->counts[i], i == (int)expected);
    }
    (void)r;
}

static void
test_table(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct row *r = &rows[i];

        begin_row(r);
        if (r->asks[0] == '\0') {
            assert_int_equal(fake_waiting(), 0);
            assert_answers("2 a;"); /* STORE_MISSING */
        } else {
            assert_asks(r->asks);
            fake_answer(STORE_OK);
            turns();
            assert_answers(r->to == STATE_NONE ? "0 -;" : "0 a;");
        }
        assert_log(r->told);
        check_state(r, r->to);
        teardown(state);
        open_held();
    }
}

/* An add that finds another of its address looks for that, and tries again. */
static void
refuse_again(enum queue_state from, enum store_status status)
{
    if (from == STATE_NONE && status == STORE_CONFLICT) {
        assert_asks("new");
        fake_answer_rows(STORE_OK, &(struct store_rows){ .columns = 24 });
        turns();
        fake_answer(STORE_CONFLICT);
        turns();
        assert_asks("new");
        fake_answer_rows(STORE_OK, &(struct store_rows){ .columns = 24 });
        turns();
    }
}

/* Nothing has happened when the store says no. */
static void
test_table_store_away(void **state)
{
    static const enum store_status bad[] = { STORE_CONFLICT, STORE_BUSY,
                                             STORE_DOWN, STORE_FULL,
                                             STORE_FAILED };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        for (size_t k = 0; k < 5 && rows[i].asks[0] != '\0'; k++) {
            char expected[16];

            begin_row(&rows[i]);
            fake_answer(bad[k]);
            turns();
            refuse_again(rows[i].from, bad[k]);
            snprintf(expected, sizeof(expected), "%d %s;", (int)bad[k],
                     rows[i].from == STATE_NONE ? "-" : "a");
            assert_answers(expected);
            assert_log("");
            check_state(&rows[i], rows[i].from);
            teardown(state);
            open_held();
        }
    }
}

/* ---- writes ---- */

/* The newest call is answered next. */
static void
answer_newest(void)
{
    struct list *newest = fake_calls.prev;

    list_remove(newest);
    list_prepend(&fake_calls, newest);
    fake_answer(STORE_OK);
}

/* Several connections to a database answer in any order. */
static void
test_order_of_adding(void **state)
{
    static const char *const urls[] = { "a", "b", "c" };
    size_t i = 0;

    (void)state;
    for (size_t n = 0; n < 3; n++) {
        ask_add(urls[n], false);
    }
    turns();
    assert_int_equal(fake_waiting(), 3);
    answer_newest();
    answer_newest();
    answer_newest();
    assert_log("added c;added b;added a;");
    LIST_EACH (node, &queue->lists[LIST_QUEUE]) {
        struct entry *e = LIST_ITEM(node, struct entry, link);

        assert_string_equal(e->facts->url.ptr, urls[i++]);
    }
    assert_int_equal(i, 3);
}

static void
test_one_write_of_an_entry_at_a_time(void **state)
{
    struct entry *e = make(STATE_PENDING);

    (void)state;
    queue_start(e, on_done, NULL);
    queue_cancel(e, on_done, NULL);
    queue_cancel(e, on_done, NULL);
    turns();
    assert_int_equal(fake_waiting(), 1);
    assert_asks("start");
    fake_answer(STORE_OK);
    turns();
    assert_asks("cancel");
    fake_answer(STORE_OK);
    turns();
    assert_int_equal(fake_waiting(), 0);
    assert_answers("0 a;0 a;2 a;");
    assert_log("pending a;");
}

static void
test_writes_are_bounded(void **state)
{
    char url[16];

    (void)state;
    for (int i = 0; i < 3 * QUEUE_WRITES; i++) {
        snprintf(url, sizeof(url), "u%d", i);
        ask_add(url, true);
    }
    turns();
    assert_int_equal(fake_waiting(), QUEUE_WRITES);
    while (fake_waiting() > 0) {
        fake_answer(STORE_OK);
        turns();
        assert_true(fake_waiting() <= QUEUE_WRITES);
        answers[0] = fake_log[0] = '\0';
    }
    assert_int_equal(queue->counts[LIST_PENDING], 3 * QUEUE_WRITES);
}

/* The many of one client hold up none of another. */
static void
test_clients_write_in_turn(void **state)
{
    const struct tally_holder many = { { 1, 1 } }, other = { { 1, 2 } };
    char url[16];

    (void)state;
    queue_serve(queue, &many);
    for (int i = 0; i < 3 * QUEUE_WRITES; i++) {
        snprintf(url, sizeof(url), "u%d", i);
        ask_add(url, true);
    }
    queue_serve(queue, &other);
    ask_add("b", false);
    queue_serve(queue, NULL);
    turns();
    assert_asks("add_waiting");
    fake_answer(STORE_OK);
    assert_asks("add");
}

static void
test_room(void **state)
{
    char expected[32];

    (void)state;
    assert_int_equal(queue_room(queue), 1000);
    add("a", false);
    assert_int_equal(queue_room(queue), 999);
    queue->plan.max_entries = 2;
    ask_add("b", false);
    ask_add("c", false);
    turns();
    assert_int_equal(fake_waiting(), 1);
    fake_answer(STORE_OK);
    turns();
    snprintf(expected, sizeof(expected), "0 a;%d -;0 b;", (int)STORE_BUSY);
    assert_answers(expected);
}

static void
test_forget(void **state)
{
    struct entry *e = make(STATE_PENDING);
    int other;

    (void)state;
    queue_start(e, on_done, &other);
    turns();
    queue_forget(queue, &other);
    fake_answer(STORE_OK);
    turns();
    assert_answers("");
    assert_int_equal(queue_state_of(e), STATE_QUEUE);
}

/* ---- several of one address ---- */

static void
test_new_run_replaces_record(void **state)
{
    struct entry *old = make(STATE_DONE);
    struct entry *e = add("a", false);

    (void)state;
    assert_ptr_equal(queue_find_done(queue, STR("a")), old);
    assert_log("added a;");
    queue_ask(e, TRIGGER_FINISH, on_done, NULL);
    turns();
    fake_answer(STORE_OK);
    turns();
    assert_log("completed a;");
    assert_ptr_equal(queue_find_done(queue, STR("a")), e);
    assert_int_equal(queue->counts[LIST_DONE], 1);
    assert_int_equal(queue->entries, 1);
}

static void
test_add_waits_for_cancellation(void **state)
{
    struct entry *e = make(STATE_CANCELED);

    (void)state;
    ask_add("a", false);
    ask_add("b", false);
    turns();
    assert_int_equal(fake_waiting(), 1); /* b alone */
    fake_answer(STORE_OK);
    turns();
    queue_ask(e, TRIGGER_GONE, NULL, NULL);
    turns();
    assert_asks("remove");
    fake_answer(STORE_OK);
    turns();
    assert_asks("add");
    fake_answer(STORE_OK);
    turns();
    assert_log("added b;canceled a;added a;");
    assert_answers("0 b;0 a;");
}

static void
test_one_add_waits_for_a_cancellation(void **state)
{
    struct entry *e = make(STATE_CANCELED);
    char expected[32];

    (void)state;
    assert_false(queue_is_held(queue, STR("a")));
    ask_add("a", true);
    turns();
    assert_true(queue_is_held(queue, STR("a")));
    assert_false(queue_is_held(queue, STR("b")));
    ask_add("a", false);
    ask_add("a", false);
    turns();
    snprintf(expected, sizeof(expected), "%d -;%d -;", (int)STORE_BUSY,
             (int)STORE_BUSY);
    assert_answers(expected);
    queue_ask(e, TRIGGER_GONE, NULL, NULL);
    turns();
    fake_answer(STORE_OK);
    turns();
    assert_asks("add_waiting"); /* the first of them */
    assert_false(queue_is_held(queue, STR("a")));
    fake_answer(STORE_OK);
    turns();
    assert_answers("0 a;");
}

/* Two requests of one address: the second gets what the first has made. */
static void
test_conflict_names_the_other(void **state)
{
    char expected[32];

    (void)state;
    ask_add("a", true);
    ask_add("a", false);
    turns();
    fake_answer(STORE_OK);
    fake_answer(STORE_CONFLICT);
    turns();
    snprintf(expected, sizeof(expected), "0 a;%d a;", (int)STORE_CONFLICT);
    assert_answers(expected);
    assert_int_equal(queue->entries, 1);
}

/* The other has gone before it could be read. */
static void
test_conflict_with_none(void **state)
{
    (void)state;
    ask_add("a", true);
    turns();
    fake_answer(STORE_CONFLICT);
    turns();
    assert_answers("");
    assert_asks("new");
    fake_answer_rows(STORE_OK, &(struct store_rows){ .columns = 24 });
    turns();
    assert_asks("add_waiting");
    fake_answer(STORE_OK);
    turns();
    assert_answers("0 a;");
    assert_log("added a;");
}

static void
count_each(void *arg, struct entry *e)
{
    (void)e;
    ++*(int *)arg;
}

static void
test_what_was_asked(void **state)
{
    struct entry_facts f = { .asked = STR("list"), .url = STR("1") };
    int count = 0;

    (void)state;
    queue_add(queue, &f, true, NULL, NULL);
    f.url = STR("2");
    queue_add(queue, &f, true, NULL, NULL);
    f.url = STR("list");
    f.asked = STR("other");
    turns();
    fake_answer(STORE_OK);
    fake_answer(STORE_OK);
    turns();
    assert_non_null(queue_find(queue, STR("list")));
    assert_null(queue_find_done(queue, STR("list")));
    assert_int_equal(queue_each(queue, STR("list"), false, count_each, &count),
                     2);
    assert_int_equal(queue_each(queue, STR("2"), false, count_each, &count), 1);
    assert_int_equal(queue_each(queue, STR("3"), false, count_each, &count), 0);
    assert_int_equal(count, 3);
    queue_add(queue, &f, true, NULL, NULL); /* its address goes first */
    turns();
    fake_answer(STORE_OK);
    turns();
    assert_int_equal(queue_each(queue, STR("list"), false, count_each, &count),
                     1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ROW(test_table),
        ROW(test_table_store_away),
        ROW(test_order_of_adding),
        ROW(test_one_write_of_an_entry_at_a_time),
        ROW(test_writes_are_bounded),
        ROW(test_clients_write_in_turn),
        ROW(test_room),
        ROW(test_forget),
        ROW(test_new_run_replaces_record),
        ROW(test_add_waits_for_cancellation),
        ROW(test_one_add_waits_for_a_cancellation),
        ROW(test_conflict_names_the_other),
        ROW(test_conflict_with_none),
        ROW(test_what_was_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
