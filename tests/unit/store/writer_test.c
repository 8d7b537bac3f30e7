/*
 * Batches of writes on a real database, without processes.
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

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "batches.h"
#include "store/ledger.h"

/* ---- batches ---- */

static void
each_call_of_a_batch_stands_for_itself(void **state)
{
    struct writer_call *a = ask(ADD, "a", 1, false);
    struct writer_call *again = ask(ADD, "a", 2, false);
    struct writer_call *wrong = ask(ADD, "w", 13, false);
    struct writer_call *missing = ask(SET, "x", 1, true);
    struct writer_call *nothing = ask(SET, "x", 1, false);
    struct writer_call *last = ask(ADD, "z", 3, true);

    (void)state;
    writer_run(w, &b);
    assert_int_equal(b.status, STORE_OK);
    assert_int_equal(a->status, STORE_OK);
    assert_true(str_eq(a->topic, STR("notes")));
    assert_true(str_eq(a->text, STR("news")));
    assert_int_equal(again->status, STORE_CONFLICT);
    assert_int_equal(again->topic.len, 0);
    assert_int_equal(wrong->status, STORE_FAILED);
    assert_non_null(strstr(wrong->why.text, "statement add of schema notes"));
    assert_int_equal(missing->status, STORE_MISSING);
    assert_int_equal(nothing->status, STORE_OK);
    assert_int_equal(last->status, STORE_OK);
    expect_notes("a=1 z=3");
}

static void
all_steps_of_a_call_or_none(void **state)
{
    const struct wanted good[] = { { ADD, "a", 1, true },
                                   { SET, "a", 2, true } };
    const struct wanted bad[] = { { ADD, "b", 1, true },
                                  { SET, "nobody", 2, true } };

    (void)state;
    put((struct wire_request){ .number = 1 }, good, 2);
    struct writer_call *c = put((struct wire_request){ .number = 2 }, bad, 2);

    writer_run(w, &b);
    assert_int_equal(c->status, STORE_MISSING);
    expect_notes("a=2");
}

static void
rows_come_back(void **state)
{
    struct wire_answer head;
    struct rows rows;

    (void)state;
    ask(RETURN, "a", 41, true);
    struct writer_call *c = ask(RETURN, "a", 0, true);

    writer_run(w, &b);
    struct unpack in = { .rest = buf_str(&c->answer) };

    assert_true(wire_get_answer(&in, &head));
    assert_int_equal(head.number, 2);
    assert_true(wire_get_rows(&in, &head, &rows));
    assert_int_equal(rows.steps[0].rows, 1);
    assert_int_equal(rows.steps[0].changed, 1);
    assert_int_equal(rows.cells[0].n, 42);
    assert_true(str_eq(rows.cells[1].s, STR("a")));
    rows_clear(&rows);
}

static void
too_many_rows_are_a_mistake(void **state)
{
    struct writer_call *c, *other;
    struct wanted step = { MANY, "1000000", 0, false };

    (void)state;
    c = put((struct wire_request){ .number = ++number }, &step, 1);
    other = ask(ADD, "a", 1, true);
    writer_run(w, &b);
    assert_int_equal(c->status, STORE_FAILED);
    assert_non_null(strstr(c->why.text, "more than"));
    assert_int_equal(other->status, STORE_OK);
}

/* Nobody ends the keeper's transaction, or writes down what was not done. */
static void
the_keepers_own_statements_are_not_for_others(void **state)
{
    (void)state;
    for (int statement = 0; statement <= LEDGER_OTHERS; statement++) {
        struct wanted step = { KEEPERS + statement, "x", 1, false };
        char name[2] = { (char)('a' + statement), '\0' };
        struct writer_call *before = ask(ADD, name, 1, true);
        struct writer_call *c =
            put((struct wire_request){ .number = ++number }, &step, 1);
        struct writer_call *behind = ask(SET, name, 2, true);

        writer_run(w, &b);
        assert_int_equal(c->status, STORE_FAILED);
        assert_non_null(strstr(c->why.text, "the keeper's own"));
        assert_int_equal(before->status, STORE_OK);
        assert_int_equal(behind->status, STORE_OK);
        clear();
    }
    expect_notes("a=2 b=2 c=2 d=2 e=2 f=2 g=2 h=2 i=2 j=2 k=2 l=2");
}

static void
who_does_not_wait_any_more_gets_nothing_done(void **state)
{
    struct wanted step = { ADD, "late", 1, true };
    struct wire_request head = { .number = 1, .due = 1 };

    (void)state;
    struct writer_call *c = put(head, &step, 1);

    writer_run(w, &b);
    assert_int_equal(c->status, STORE_DOWN);
    expect_notes("");
}

static void
what_is_no_request_is_refused(void **state)
{
    (void)state;
    assert_null(writer_call_new(1, STR("short")));
}

/* ---- asked again ---- */

static void
what_was_done_is_answered_again_and_not_done_again(void **state)
{
    struct wanted step = { RETURN, "a", 1, true };
    struct wire_request head = { .number = 5, .oldest = 5 };
    struct errmsg err;

    (void)state;
    struct writer_call *c = put(head, &step, 1);

    writer_run(w, &b);
    char *first = mem_dup(buf_str(&c->answer).ptr, buf_len(&c->answer));
    size_t len = buf_len(&c->answer);

    clear();
    writer_close(&w); /* the keeper died before it answered */
    assert_true(open_it(BOOT, &err));
    head.again = 1;
    c = put(head, &step, 1);
    head.number = 6; /* this one had not been done */
    struct writer_call *new = put(head, &step, 1);

    writer_run(w, &b);
    assert_true(c->replayed && c->status == STORE_OK);
    assert_int_equal(buf_len(&c->answer), len);
    assert_memory_equal(buf_data(&c->answer), first, len);
    assert_false(new->replayed);
    expect_notes("a=2");
    mem_free(&first);
}

/* Who hears late of a keeper that is gone asks the next one twice. */
static void
what_is_asked_twice_at_once_is_done_once(void **state)
{
    struct wanted step = { RETURN, "a", 41, true };
    struct wire_request head = { .number = 5, .again = 1 };
    struct writer_call *first, *second;

    (void)state;
    first = put(head, &step, 1);
    second = put(head, &step, 1);
    writer_run(w, &b);
    assert_int_equal(first->status, STORE_OK);
    assert_int_equal(second->status, STORE_OK);
    assert_true(str_eq(buf_str(&first->answer), buf_str(&second->answer)));
    expect_notes("a=41");
}

static void
what_failed_may_be_tried_again(void **state)
{
    struct wanted step = { SET, "a", 7, true };
    struct wire_request head = { .number = 1, .oldest = 1 };

    (void)state;
    put(head, &step, 1);
    writer_run(w, &b);
    clear();
    number = 1;
    ask(ADD, "a", 1, true);
    writer_run(w, &b);
    clear();
    head.again = 1;
    struct writer_call *c = put(head, &step, 1);

    writer_run(w, &b);
    assert_int_equal(c->status, STORE_OK);
    expect_notes("a=7");
}

static void
the_ledger_forgets_what_was_answered(void **state)
{
    struct wanted step = { RETURN, "a", 1, true };
    struct wire_request head = { .oldest = 1 };

    (void)state;
    for (head.number = 1; head.number <= 10; head.number++) {
        put(head, &step, 1);
    }
    writer_run(w, &b);
    assert_int_equal(rows_of_ledger(), 10);
    clear();
    head.number = 11;
    head.oldest = 9;
    put(head, &step, 1);
    writer_run(w, &b);
    assert_int_equal(rows_of_ledger(), 3);
}

static void
the_ledger_forgets_the_dead(void **state)
{
    (void)state;
    ask(ADD, "a", 1, true);
    writer_run(w, &b);
    clear();
    dead = 1;
    b.sweep = true;
    writer_run(w, &b);
    assert_int_equal(rows_of_ledger(), 0);
}

static void
another_start_of_weir_forgets_all(void **state)
{
    struct wanted step = { RETURN, "a", 1, true };
    struct wire_request head = { .number = 1 };
    struct errmsg err;

    (void)state;
    put(head, &step, 1);
    writer_run(w, &b);
    clear();
    writer_close(&w);
    assert_true(open_it(BOOT + 1, &err));
    assert_int_equal(rows_of_ledger(), 0);
    head.again = 1;
    put(head, &step, 1);
    writer_run(w, &b);
    expect_notes("a=2");
}

/* ---- the disk ---- */

static off_t
size_of_log(void)
{
    char path[128];
    struct stat st;

    snprintf(path, sizeof(path), "%s-wal", notes_path);
    return stat(path, &st) == 0 ? st.st_size : -1;
}

static void
a_full_disk_changes_nothing_and_room_mends_it(void **state)
{
    struct rlimit before, limit;
    struct writer_call *c;

    (void)state;
    ask(ADD, "a", 1, true);
    writer_run(w, &b);
    clear();
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = (rlim_t)size_of_log();
    setrlimit(RLIMIT_FSIZE, &limit);
    c = ask(ADD, "b", 1, true);
    struct writer_call *again = ask(ADD, "b", 1, true);

    writer_run(w, &b);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(b.status, STORE_FULL);
    assert_int_equal(c->status, STORE_FULL);
    assert_int_equal(again->status, STORE_FULL); /* no conflict: b is not */
    assert_int_equal(c->topic.len, 0);
    clear();
    expect_notes("a=1");
    ask(ADD, "b", 2, true);
    writer_run(w, &b);
    assert_int_equal(b.status, STORE_OK);
    expect_notes("a=1 b=2");
}

static void
what_was_done_stays_done_when_the_disk_is_full(void **state)
{
    struct wanted step = { ADD, "a", 1, true };
    struct wire_request head = { .number = 1, .oldest = 1 };
    struct rlimit before, limit;

    (void)state;
    put(head, &step, 1);
    writer_run(w, &b);
    clear();
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = (rlim_t)size_of_log();
    setrlimit(RLIMIT_FSIZE, &limit);
    number = 1;
    struct writer_call *new = ask(ADD, "b", 1, true);

    head.again = 1;
    struct writer_call *old = put(head, &step, 1);

    writer_run(w, &b);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(new->status, STORE_FULL);
    assert_int_equal(old->status, STORE_OK);
}

static void
a_file_that_was_moved_is_not_written(void **state)
{
    char old[128];

    (void)state;
    snprintf(old, sizeof(old), "%s.old", notes_path);
    assert_int_equal(rename(notes_path, old), 0);
    struct writer_call *c = ask(ADD, "a", 1, true);

    writer_run(w, &b);
    assert_int_equal(c->status, STORE_DOWN);
    assert_non_null(strstr(b.why.text, "moved or removed"));
    assert_int_equal(rename(old, notes_path), 0);
}

static void
the_log_is_copied_when_it_has_grown(void **state)
{
    (void)state;
    assert_false(writer_wants_checkpoint(w));
    for (int i = 0; i < 2000 && !writer_wants_checkpoint(w); i++) {
        struct wanted step = { RETURN, "a", 20, true };

        put((struct wire_request){ .number = ++number }, &step, 1);
        writer_run(w, &b);
        clear();
    }
    assert_true(writer_wants_checkpoint(w));
    assert_true(writer_checkpoint(w));
    assert_false(writer_wants_checkpoint(w));
    off_t size = size_of_log();

    ask(RETURN, "a", 1, true); /* the log begins anew */
    writer_run(w, &b);
    assert_true(size_of_log() <= size);
    assert_true(writer_log_bytes(w) < 100000);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_call_of_a_batch_stands_for_itself),
        TEST(all_steps_of_a_call_or_none),
        TEST(rows_come_back),
        TEST(too_many_rows_are_a_mistake),
        TEST(the_keepers_own_statements_are_not_for_others),
        TEST(who_does_not_wait_any_more_gets_nothing_done),
        TEST(what_is_no_request_is_refused),
        TEST(what_was_done_is_answered_again_and_not_done_again),
        TEST(what_is_asked_twice_at_once_is_done_once),
        TEST(what_failed_may_be_tried_again),
        TEST(the_ledger_forgets_what_was_answered),
        TEST(the_ledger_forgets_the_dead),
        TEST(another_start_of_weir_forgets_all),
        TEST(a_full_disk_changes_nothing_and_room_mends_it),
        TEST(what_was_done_stays_done_when_the_disk_is_full),
        TEST(a_file_that_was_moved_is_not_written),
        TEST(the_log_is_copied_when_it_has_grown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
