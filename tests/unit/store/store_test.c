/*
 * Calls of a process that has no keeper, or one that never answers.
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

#include "base/log.h"
#include "event/task.h"
#include "notes.h"
#include "proc/bus.h"
#include "store/bus.h"
#include "store/sqlite/writer.h"
#include "store/wire.h"

static struct loop *l;
static struct task_threads *threads;

static struct {
    int calls;
    enum store_status status;
    int64_t n;
    size_t rows;
} told;

static void
on_done(void *arg, const struct store_result *r)
{
    (void)arg;
    told.calls++;
    told.status = r->status;
    told.rows = r->steps > 0 ? r->answer[0].rows : 0;
    told.n = told.rows > 0 ? r->answer[0].cells[0].n : 0;
}

static bool
nobody_is_alive(slot_owner o)
{
    (void)o;
    return false;
}

/* A database with the note a=1. */
static int
fill(struct errmsg *err)
{
    struct writer *w =
        writer_open(str_from(notes_path), 1, nobody_is_alive, err);
    struct sqlite *db;

    writer_close(&w);
    db = sqlite_open(str_from(notes_path), true, err);
    if (db == NULL ||
        sqlite_script(db, "INSERT INTO note VALUES ('a', 1)", err) == -1) {
        return -1;
    }
    sqlite_close(&db);
    return 0;
}

static int
open_store(int64_t timeout, int64_t queue)
{
    struct store_settings s = { .path = str_from(notes_path),
                                .timeout = timeout,
                                .queue = queue };
    struct errmsg err;

    return store_open(l, &s, threads, &err);
}

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    log_set(LOG_ALERT, LOG_TEXT);
    told.calls = 0;
    l = loop_new(&err);
    if (l == NULL || notes_make() == -1 || slots_create(4, &err) == -1 ||
        bus_create(&err) == -1 || bus_open(l, &err) == -1 || fill(&err) == -1) {
        return -1;
    }
    store_prepare();
    threads = task_threads_new(l, 1, 4, &err);
    return threads != NULL ? 0 : -1;
}

static int
tear_down(void **state)
{
    (void)state;
    store_close();
    task_threads_free(&threads);
    bus_destroy();
    slots_destroy();
    loop_free(&l);
    notes_remove();
    return 0;
}

static void
wait_for_calls(int calls)
{
    while (told.calls < calls) {
        loop_turn(l, 1000);
    }
}

static struct store_call *
read_note(int statement, const char *name)
{
    struct store_value key = store_text(str_from(name));

    return store_read(&notes_statements[statement], &key, 1, on_done, NULL);
}

static struct store_call *
write_note(const char *name)
{
    struct store_value values[] = { store_text(str_from(name)), store_int(1) };
    struct store_step step = { &notes_statements[ADD], values, 2, true };

    return store_write(&step, 1, NULL, on_done, NULL);
}

/* ---- texts ---- */

/* Not every database keeps them, so none is asked to. */
static void
what_is_no_text_is_refused(void **state)
{
    static const struct str wrong[] = { { "a\xff", 2 }, { "a\0b", 3 } };
    struct store_notice notice = { "topic", STR_NONE };

    (void)state;
    assert_int_equal(open_store(60000, 16), 0);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct store_value values[] = { store_text(wrong[i]), store_int(1) };
        struct store_step step = { &notes_statements[ADD], values, 2, true };

        told.calls = 0;
        told.status = STORE_OK;
        store_read(&notes_statements[GET], values, 1, on_done, NULL);
        wait_for_calls(1);
        assert_int_equal(told.status, STORE_FAILED);
        told.status = STORE_OK;
        store_write(&step, 1, NULL, on_done, NULL);
        wait_for_calls(2);
        assert_int_equal(told.status, STORE_FAILED);
        values[0] = store_text(STR("good"));
        notice.text = wrong[i];
        told.status = STORE_OK;
        store_write(&step, 1, &notice, on_done, NULL);
        wait_for_calls(3);
        assert_int_equal(told.status, STORE_FAILED);
    }
}

/* ---- reads ---- */

static void
a_read_is_answered_by_the_loop(void **state)
{
    (void)state;
    assert_int_equal(open_store(60000, 16), 0);
    read_note(GET, "a");
    assert_int_equal(told.calls, 0);
    wait_for_calls(1);
    assert_int_equal(told.status, STORE_OK);
    assert_int_equal(told.n, 1);
    read_note(GET, "nobody");
    wait_for_calls(2);
    assert_int_equal(told.status, STORE_OK);
    assert_int_equal(told.rows, 0);
}

static struct sqlite *other; /* writes beside the store */
static int64_t seen[5];

/* Each answer raises the note before the next read of the turn. */
static void
on_seen(void *arg, const struct store_result *result)
{
    struct errmsg err;

    (void)arg;
    assert_int_equal(result->status, STORE_OK);
    seen[told.calls++] = result->answer[0].cells[0].n;
    if (told.calls % 2 == 1) {
        assert_int_equal(
            sqlite_script(other, "UPDATE note SET n = n + 1", &err), 0);
    }
}

static void
a_read_sees_what_was_written_amid_the_turn(void **state)
{
    static const int64_t wanted[5] = { 1, 2, 2, 3, 3 };
    struct store_value key = store_text(STR("a"));
    struct errmsg err;

    (void)state;
    assert_int_equal(open_store(60000, 16), 0);
    other = sqlite_open(str_from(notes_path), true, &err);
    assert_non_null(other);
    for (int i = 0; i < 5; i++) {
        store_read(&notes_statements[GET], &key, 1, on_seen, NULL);
    }
    wait_for_calls(5); /* of one turn, where the disk is not slow */
    assert_memory_equal(seen, wanted, sizeof(seen));
    /* Nothing holds the old state: the log can be copied and cut. */
    assert_true(sqlite_checkpoint(other, true));
    sqlite_close(&other);
}

static void
a_read_is_made_on_a_thread(void **state)
{
    (void)state;
    assert_int_equal(open_store(60000, 16), 0);
    for (int i = 0; i < 10; i++) {
        read_note(ALL, "");
    }
    wait_for_calls(10);
    assert_int_equal(told.status, STORE_OK);
    assert_int_equal(told.rows, 1);
}

static void
parameters_go_by_their_numbers(void **state)
{
    struct store_value values[] = { store_int(1), store_int(2) };

    (void)state;
    assert_int_equal(open_store(60000, 16), 0);
    store_read(&notes_statements[WRONG_WAY], values, 2, on_done, NULL);
    wait_for_calls(1);
    assert_int_equal(told.n, 2);
}

static void
more_rows_than_an_answer_has_room_for(void **state)
{
    struct store_value many = store_int(1000000);

    (void)state;
    assert_int_equal(open_store(60000, 16), 0);
    store_read(&notes_statements[MANY], &many, 1, on_done, NULL);
    wait_for_calls(1);
    assert_int_equal(told.status, STORE_FAILED);
}

static void
a_read_that_takes_too_long_is_ended(void **state)
{
    struct store_value many = store_int(1000000000000);

    (void)state;
    assert_int_equal(open_store(1000, 16), 0);
    store_read(&notes_statements[MANY], &many, 1, on_done, NULL);
    wait_for_calls(1);
    /* its rows are too many before it is too late, or the other way round */
    assert_true(told.status == STORE_DOWN || told.status == STORE_FAILED);
    read_note(ALL, "");
    wait_for_calls(2);
    assert_int_equal(told.status, STORE_OK);
}

/* What is open is not what the keeper would write to any more. */
static void
a_file_that_was_moved_is_not_read(void **state)
{
    char old[128];

    (void)state;
    snprintf(old, sizeof(old), "%s.old", notes_path);
    assert_int_equal(open_store(5000, 16), 0);
    assert_int_equal(rename(notes_path, old), 0);
    read_note(GET, "a");
    wait_for_calls(1);
    assert_int_equal(told.status, STORE_DOWN);
    read_note(ALL, "");
    wait_for_calls(2);
    assert_int_equal(told.status, STORE_DOWN);
    assert_int_equal(rename(old, notes_path), 0);
    read_note(GET, "a");
    wait_for_calls(3);
    assert_int_equal(told.status, STORE_OK);
}

/* ---- writes without an answer ---- */

static void
without_a_keeper_a_write_is_down_in_time(void **state)
{
    (void)state;
    assert_int_equal(open_store(1000, 16), 0);
    write_note("b");
    read_note(GET, "a");
    wait_for_calls(1);
    assert_int_equal(told.status, STORE_OK); /* reads go on */
    wait_for_calls(2);
    assert_int_equal(told.status, STORE_DOWN);
}

static void
a_keeper_that_is_mute_is_down_in_time(void **state)
{
    int slot = slot_take(SLOT_ROLE, KEEPER_NAME, 0, 1);

    (void)state;
    atomic_store(&slot_at((uint32_t)slot)->state, SLOT_READY); /* it says */
    assert_int_equal(open_store(1000, 16), 0);
    write_note("b");
    wait_for_calls(1);
    assert_int_equal(told.status, STORE_DOWN);
}

static uint32_t
start_keeper(void)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_ROLE, KEEPER_NAME, 0, 1);

    atomic_store(&slot_at(slot)->state, SLOT_READY);
    return slot;
}

static void
kill_keeper(uint32_t slot)
{
    atomic_store(&slot_at(slot)->state, SLOT_GONE);
    bus_sweep(slot);
    slot_release(slot);
}

static struct {
    unsigned count;
    struct wire_request requests[4];
} heard;

static void
hear(void *arg, struct bus_message *m)
{
    struct unpack in = { .rest = str_of(m->data, m->len) };

    (void)arg;
    assert_true(heard.count < 4);
    assert_true(wire_get_request(&in, &heard.requests[heard.count++]));
}

/* What its mailbox has, read as if this process were the keeper. */
static void
hear_requests(uint32_t keeper, unsigned count)
{
    uint32_t self = slot_self();
    struct errmsg err;

    heard.count = 0;
    bus_close();
    slot_set_self(keeper);
    bus_register(BUS_STORE_WRITE, BUS_ANYBODY, 65536, hear, NULL);
    assert_int_equal(bus_open(l, &err), 0);
    while (heard.count < count) {
        loop_turn(l, 10);
    }
    bus_close();
    slot_set_self(self);
    assert_int_equal(bus_open(l, &err), 0);
}

/* The next keeper has to look in its ledger for what its predecessor may have
 * done, and for that alone. */
static void
what_is_sent_again_says_so(void **state)
{
    uint32_t keeper = start_keeper();

    (void)state;
    assert_int_equal(open_store(600000, 16), 0);
    write_note("b");
    write_note("c");
    hear_requests(keeper, 2);
    assert_int_equal(heard.requests[0].again, 0);
    assert_int_equal(heard.requests[1].again, 0);
    kill_keeper(keeper);
    write_note("d"); /* there is nobody to send it to */
    keeper = start_keeper();
    hear_requests(keeper, 3);
    assert_int_equal(heard.requests[0].again, 1);
    assert_int_equal(heard.requests[1].again, 1);
    assert_int_equal(heard.requests[2].again, 0);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(heard.requests[i].number,
                         heard.requests[0].number + i);
        assert_int_equal(heard.requests[i].oldest, heard.requests[0].number);
    }
    assert_int_equal(told.calls, 0);
}

static void
too_many_calls_are_busy(void **state)
{
    (void)state;
    assert_int_equal(open_store(60000, 16), 0);
    for (int i = 0; i < 17; i++) {
        write_note("b");
    }
    wait_for_calls(1);
    assert_int_equal(told.calls, 1);
    assert_int_equal(told.status, STORE_BUSY);
    store_close();
    assert_int_equal(told.calls, 17);
    assert_int_equal(told.status, STORE_DOWN);
}

static void
its_end_tells_what_was_to_be_told_in_a_moment(void **state)
{
    (void)state;
    assert_int_equal(open_store(60000, 16), 0);
    for (int i = 0; i < 17; i++) {
        write_note("b");
    }
    store_close();
    assert_int_equal(told.calls, 17);
    assert_int_equal(told.status, STORE_BUSY);
    loop_turn(l, 0);
    assert_int_equal(told.calls, 17);
}

static void
a_cancelled_call_is_not_answered(void **state)
{
    struct store_call *call;

    (void)state;
    assert_int_equal(open_store(60000, 16), 0);
    call = read_note(GET, "a");
    store_cancel(&call);
    assert_null(call);
    store_cancel(&call);
    call = read_note(ALL, "");
    store_cancel(&call);
    read_note(ALL, ""); /* behind the one on the thread */
    wait_for_calls(1);
    assert_int_equal(told.calls, 1);
}

static void
after_its_end_all_is_down(void **state)
{
    (void)state;
    assert_int_equal(open_store(60000, 16), 0);
    read_note(ALL, "");
    store_close();
    assert_int_equal(told.calls, 1);
    assert_int_equal(told.status, STORE_DOWN);
    read_note(GET, "a");
    write_note("b");
    wait_for_calls(3);
    assert_int_equal(told.status, STORE_DOWN);
}

static void
there_is_no_store_without_a_database(void **state)
{
    (void)state;
    notes_remove();
    assert_int_equal(open_store(60000, 16), -1);
    assert_false(store_is_open());
}

static void
every_status_has_words(void **state)
{
    (void)state;
    for (int s = STORE_OK; s <= STORE_FAILED; s++) {
        assert_true(strlen(store_status_text((enum store_status)s)) > 0);
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_no_text_is_refused),
        TEST(a_read_is_answered_by_the_loop),
        TEST(a_read_sees_what_was_written_amid_the_turn),
        TEST(a_read_is_made_on_a_thread),
        TEST(parameters_go_by_their_numbers),
        TEST(more_rows_than_an_answer_has_room_for),
        TEST(a_read_that_takes_too_long_is_ended),
        TEST(a_file_that_was_moved_is_not_read),
        TEST(without_a_keeper_a_write_is_down_in_time),
        TEST(a_keeper_that_is_mute_is_down_in_time),
        TEST(what_is_sent_again_says_so),
        TEST(too_many_calls_are_busy),
        TEST(its_end_tells_what_was_to_be_told_in_a_moment),
        TEST(a_cancelled_call_is_not_answered),
        TEST(after_its_end_all_is_down),
        TEST(there_is_no_store_without_a_database),
        TEST(every_status_has_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
