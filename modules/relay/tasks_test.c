/*
 * The table of relays: who takes rows, who reads them, what is left of a
 * relayer that died.
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

#include "tasks.h"

#include "base/clock.h"
#include "proc/slot.h"

static uint32_t process; /* the relayer's slot */

static void
be_relayer(void)
{
    process = (uint32_t)slot_take(SLOT_ROLE, "relayer", 0, 0);
    slot_set_self(process);
    relay_tasks_begin();
}

static int
setup(void **state)
{
    struct errmsg err;

    (void)state;
    assert_int_equal(slots_create(4, &err), 0);
    assert_int_equal(relay_tasks_create(&err), 0);
    be_relayer();
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    relay_tasks_begin();
    relay_tasks_forget_old();
    slots_destroy();
    return 0;
}

static struct relay_view
view(const char *name, uint64_t id)
{
    struct relay_view v = { .id = id, .state = RELAY_CONNECTING };

    str_copy(v.app, sizeof(v.app), STR("live"));
    str_copy(v.name, sizeof(v.name), str_from(name));
    return v;
}

static unsigned
count(void)
{
    struct relay_view v;
    uint32_t at = 0;
    unsigned n = 0;

    while (relay_tasks_next(&at, &v)) {
        n++;
    }
    return n;
}

static void
test_rows(void **state)
{
    struct relay_view v = view("a", 1), seen;
    struct relay_row *a = relay_row_take(&v), *b;

    (void)state;
    v = view("b", 2);
    b = relay_row_take(&v);
    assert_int_equal(count(), 2);
    assert_true(relay_tasks_find_id(2, &seen));
    assert_string_equal(seen.name, "b");
    v.state = RELAY_RUNNING;
    v.frames = 7;
    relay_row_set(b, &v);
    assert_true(relay_tasks_find_id(2, &seen));
    assert_int_equal(seen.frames, 7);
    relay_row_free(&a);
    assert_null(a);
    assert_false(relay_tasks_find_id(1, &seen));
    assert_int_equal(seen.id, 0); /* and nothing of another */
    assert_string_equal(seen.name, "");
    assert_int_equal(count(), 1);
    v = view("c", 3);
    a = relay_row_take(&v); /* where the first was */
    assert_int_equal(count(), 2);
    relay_row_free(&a);
    relay_row_free(&b);
    assert_int_equal(count(), 0);
}

static void
test_full(void **state)
{
    struct relay_view v = view("a", 1);

    (void)state;
    for (int i = 0; i < RELAY_TASKS_MAX; i++) {
        assert_non_null(relay_row_take(&v));
    }
    assert_null(relay_row_take(&v));
}

/* The rows of a dead relayer are seen until the next one has its own; it takes
 * over rows of the same tasks. */
static void
test_death(void **state)
{
    struct relay_view a = view("a", 1), b = view("b", 2), seen;
    struct relay_row *row;

    (void)state;
    relay_row_take(&a);
    row = relay_row_take(&b);
    relay_tasks_sweep(process + 1); /* another process */
    assert_true(relay_tasks_find_id(1, &seen));
    assert_int_equal(seen.state, RELAY_CONNECTING);
    relay_tasks_sweep(process);
    slot_release(process);
    assert_int_equal(count(), 2);
    assert_true(relay_tasks_find_id(1, &seen));
    assert_int_equal(seen.state, RELAY_BACKING_OFF);
    assert_true(seen.reason[0] != '\0');
    be_relayer();
    assert_ptr_equal(relay_row_take(&b), row);
    assert_int_equal(count(), 2);
    relay_tasks_forget_old();
    assert_int_equal(count(), 1);
    assert_true(relay_tasks_find_id(2, &seen));
    assert_int_equal(seen.state, RELAY_CONNECTING);
}

/* Two relayers at once, for a moment: what the old one still has to say is of
 * no row that the new one has taken over. */
static void
test_two_relayers(void **state)
{
    struct relay_view a = view("a", 1), seen;
    struct relay_row *old = relay_row_take(&a), *new;
    uint32_t first = process;

    (void)state;
    be_relayer();
    new = relay_row_take(&a);
    assert_ptr_equal(new, old);
    slot_set_self(first);
    a.state = RELAY_BACKING_OFF;
    relay_row_set(old, &a);
    relay_row_free(&old);
    slot_set_self(process);
    assert_true(relay_tasks_find_id(1, &seen));
    assert_int_equal(seen.state, RELAY_CONNECTING);
    relay_row_free(&new);
    assert_int_equal(count(), 0);
}

/* The end of our relayer does not change relays that another node runs. */
static void
test_elsewhere(void **state)
{
    struct relay_view a = view("a", 1), seen;

    (void)state;
    a.state = RELAY_ELSEWHERE;
    a.there = RELAY_RUNNING;
    relay_row_take(&a);
    relay_tasks_sweep(process);
    assert_true(relay_tasks_find_id(1, &seen));
    assert_int_equal(seen.state, RELAY_ELSEWHERE);
    assert_int_equal(relay_view_state(&seen), RELAY_RUNNING);
    seen.state = RELAY_WAITING;
    assert_int_equal(relay_view_state(&seen), RELAY_WAITING);
}

static void
test_names(void **state)
{
    (void)state;
    for (unsigned i = 0; i < RELAY_STATES; i++) {
        assert_non_null(relay_state_name(i));
    }
    assert_null(relay_state_name(RELAY_STATES));
    assert_null(relay_kind_name(RELAY_KINDS));
    assert_string_equal(relay_origin_name(RELAY_CONFIG), "config");
}

/* The table as memory; the size of it. */
static size_t
find_table(uint8_t **at)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    unsigned long from = 0, to = 0;
    char line[512];

    while (fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, "/memfd:relays ") != NULL) {
            sscanf(line, "%lx-%lx", &from, &to);
        }
    }
    fclose(maps);
    *at = (uint8_t *)from;
    return to - from;
}

/* Rows that no relayer wrote: what is read of them can be shown. */
static void
test_whatever_stands_there(void **state)
{
    struct relay_view v;
    uint8_t *bytes;
    size_t size = find_table(&bytes);

    (void)state;
    for (int fill = 0; fill < 256; fill += 0x33) {
        uint32_t at = 0, rows = 0;

        memset(bytes, fill & 0xfe, size);
        for (; relay_tasks_next(&at, &v); rows++) {
            assert_non_null(relay_kind_name(v.kind));
            assert_non_null(relay_origin_name(v.origin));
            assert_non_null(relay_state_name(relay_view_state(&v)));
            assert_true(strlen(v.last_failure) < sizeof(v.last_failure));
            assert_true(v.since_ms >= 0 && v.since_ms <= clock_wall_ms());
        }
        assert_true(rows <= RELAY_TASKS_MAX);
        relay_tasks_of_all();
        relay_tasks_sweep(process);
        relay_tasks_sweep((uint32_t)fill & 0xfe);
    }
    memset(bytes, 0, size);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_rows),         TEST(test_whatever_stands_there),
        TEST(test_full),         TEST(test_death),
        TEST(test_two_relayers), TEST(test_elsewhere),
        TEST(test_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
