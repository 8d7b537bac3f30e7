/*
 * The keeper, in one process with who asks it.
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

#include "base/clock.h"
#include "base/log.h"
#include "notes.h"
#include "store/bus.h"
#include "store/metrics.h"
#include "store/sqlite/keeper.h"
#include "store/wire.h"

#define WAITING 8192 /* calls that the keeper lets wait */

static struct loop *l;
static uint32_t asker;

static int64_t
counted(unsigned metric)
{
    static _Atomic int64_t cells[8192];

    if (metric_own == NULL) {
        metric_register(store_metrics);
        metric_own = cells;
    }
    return metric_own[store_metrics[metric].first];
}

static int
set_up(void **state)
{
    struct store_settings s = { 0 };
    struct errmsg err;

    (void)state;
    log_set(LOG_ALERT, LOG_TEXT);
    counted(STORE_COMMITS);
    l = loop_new(&err);
    if (l == NULL || notes_make() == -1 || slots_create(4, &err) == -1 ||
        bus_create(&err) == -1 || bus_open(l, &err) == -1) {
        return -1;
    }
    asker = (uint32_t)slot_take(SLOT_WORKER, "asker", 0, 0);
    s.path = str_from(notes_path);
    store_prepare();
    return keeper_start(l, &s, &err);
}

static int
tear_down(void **state)
{
    (void)state;
    keeper_stop();
    bus_destroy();
    slots_destroy();
    loop_free(&l);
    notes_remove();
    return 0;
}

/* The asker's write of a note comes to the keeper. */
static void
ask(uint64_t number, const char *name, bool again)
{
    const struct wire_request head = { .number = number,
                                       .oldest = 1,
                                       .due = clock_ms() + 3600000,
                                       .again = again,
                                       .steps = 1 };
    struct store_value values[] = { store_text(str_from(name)), store_int(1) };
    struct store_step step = { &notes_statements[ADD], values, 2, true };
    struct bus_message m = { .type = BUS_STORE_WRITE,
                             .from = slot_owner_of(asker),
                             .fd = -1 };
    struct schema_place place;
    struct buf b;

    assert_true(schema_find(step.statement, &place));
    buf_init(&b, 65536);
    struct pack out = { .to = &b };

    wire_put_request(&out, &head);
    wire_put_step(&out, place, &step);
    wire_put_notice(&out, NULL);
    m.data = buf_data(&b);
    m.len = buf_len(&b);
    keeper_on_write(NULL, &m);
    buf_clear(&b);
}

static void
wait_for_commits(int64_t n)
{
    int64_t end = clock_ms() + 100000;

    while (counted(STORE_COMMITS) < n && clock_ms() < end) {
        loop_turn(l, 20);
    }
    assert_int_equal(counted(STORE_COMMITS), n);
}

static struct {
    unsigned count;
    struct wire_answer first;
} heard;

static void
hear(void *arg, struct bus_message *m)
{
    struct unpack in = { .rest = str_of(m->data, m->len) };
    struct wire_answer head;

    (void)arg;
    assert_true(wire_get_answer(&in, &head));
    if (heard.count++ == 0) {
        heard.first = head;
    }
}

static void
ignore(void *arg, struct bus_message *m)
{
    (void)arg;
    (void)m;
}

/* The first answer in the asker's mailbox. */
static struct wire_answer
first_answer(void)
{
    int64_t end = clock_ms() + 100000;
    struct errmsg err;

    heard.count = 0;
    bus_close();
    slot_set_self(asker);
    bus_register(BUS_STORE_ANSWER, BUS_ANYBODY, 65536, hear, NULL);
    bus_register(BUS_STORE_HELLO, BUS_ANYBODY, 65536, ignore, NULL);
    assert_int_equal(bus_open(l, &err), 0);
    while (heard.count == 0 && clock_ms() < end) {
        loop_turn(l, 20);
    }
    assert_true(heard.count > 0);
    return heard.first;
}

/* More than may wait are refused at once, while the others wait. */
static void
no_more_wait_than_may(void **state)
{
    struct wire_answer first;
    char name[32];

    (void)state;
    for (unsigned i = 1; i <= WAITING + 1; i++) {
        snprintf(name, sizeof(name), "note %u", i);
        ask(i, name, false);
    }
    first = first_answer();
    assert_int_equal(first.status, STORE_BUSY);
    assert_int_equal(first.number, WAITING + 1);
}

/* Nor more bytes: 64 MB. */
static void
no_more_bytes_wait_than_may(void **state)
{
    static char text[32769];
    struct wire_answer first;

    (void)state;
    memset(text, 'x', sizeof(text) - 1);
    for (unsigned i = 1; i <= 64 * 32 + 1; i++) {
        ask(i, text, false);
    }
    first = first_answer();
    assert_int_equal(first.status, STORE_BUSY);
    assert_in_range(first.number, 2040, 64 * 32 + 1);
}

static void
what_was_done_before_is_counted(void **state)
{
    int64_t commits = counted(STORE_COMMITS);
    int64_t replayed = counted(STORE_REPLAYED);

    (void)state;
    ask(1, "a", false);
    ask(2, "b", false);
    wait_for_commits(commits + 1);
    assert_int_equal(counted(STORE_REPLAYED), replayed);
    ask(1, "a", true);
    ask(2, "b", true);
    ask(3, "c", true); /* it was not done */
    wait_for_commits(commits + 2);
    assert_int_equal(counted(STORE_REPLAYED), replayed + 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(no_more_wait_than_may),
        TEST(no_more_bytes_wait_than_may),
        TEST(what_was_done_before_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
