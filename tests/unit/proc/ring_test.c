/*
 * A ring of records: order, wrapping, a killed writer, damage.
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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proc/ring.h"

#define SIZE 1000

static struct ring *r;

static int
set_up(void **state)
{
    (void)state;
    r = mmap(NULL, 65536 * 4, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return r == MAP_FAILED ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    return munmap(r, 65536 * 4);
}

static void
first_is(uint32_t tag, const void *data, size_t len)
{
    char got[SIZE];
    uint32_t t;
    size_t n;

    assert_int_equal(ring_first(r, SIZE, &t, &n), 1);
    assert_int_equal(t, tag);
    assert_int_equal(n, len);
    ring_take(r, SIZE, got, n);
    assert_memory_equal(got, data, len);
}

static void
is_empty(void)
{
    uint32_t tag;
    size_t len;

    assert_int_equal(ring_first(r, SIZE, &tag, &len), 0);
}

static void
in_order(void **state)
{
    (void)state;
    is_empty();
    assert_true(ring_put(r, SIZE, 1, "one", 3));
    assert_true(ring_put(r, SIZE, 2, "", 0));
    assert_true(ring_put(r, SIZE, 3, "three", 5));
    first_is(1, "one", 3);
    first_is(2, "", 0);
    ring_take(r, SIZE, NULL, 5); /* thrown away */
    is_empty();
}

static void
wraps_at_any_place(void **state)
{
    char data[300];
    size_t put = 0, taken = 0;

    (void)state;
    srand(7);
    for (int i = 0; i < 20000; i++) {
        size_t len = (size_t)rand() % sizeof(data);

        memset(data, (int)(put & 0xff), sizeof(data));
        if (ring_put(r, SIZE, (uint32_t)put, data, len)) {
            put++;
        }
        if (rand() % 2 == 0 && taken < put) {
            uint32_t tag;
            size_t n;

            assert_int_equal(ring_first(r, SIZE, &tag, &n), 1);
            memset(data, (int)(taken & 0xff), sizeof(data));
            first_is((uint32_t)taken++, data, n);
        }
    }
    assert_true(put > 1000);
}

static void
full_to_the_last_byte(void **state)
{
    char data[SIZE] = { 'x' };

    (void)state;
    assert_false(ring_put(r, SIZE, 1, data, SIZE));
    assert_false(ring_put(r, SIZE, 1, data, SIZE - 7));
    assert_true(ring_put(r, SIZE, 1, data, SIZE - 8));
    assert_false(ring_put(r, SIZE, 2, "", 0));
    first_is(1, data, SIZE - 8);
    assert_true(ring_put(r, SIZE, 2, "", 0));
    assert_false(ring_put(r, 65536 * 3, 1, data, RING_RECORD_MAX + 1));
}

/* The child writes for ever and is killed somewhere; what it left is whole
 * records, and its successor goes on. */
static void
a_killed_writer_leaves_no_half_record(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        pid_t pid = fork();

        if (pid == 0) {
            char data[200];

            for (uint32_t i = 0;; i++) {
                memset(data, (int)(i & 0xff), sizeof(data));
                ring_put(r, SIZE, i, data, i % sizeof(data));
            }
        }
        for (int taken = 0; taken < 100;) {
            char data[200];
            uint32_t tag;
            size_t len;

            if (ring_first(r, SIZE, &tag, &len) == 1) {
                memset(data, (int)(tag & 0xff), sizeof(data));
                first_is(tag, data, tag % sizeof(data));
                taken++;
            }
        }
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        uint32_t tag;
        size_t len;

        while (ring_first(r, SIZE, &tag, &len) == 1) {
            assert_int_equal(len, tag % 200);
            ring_take(r, SIZE, NULL, len);
        }
        is_empty();
    }
    assert_true(ring_put(r, SIZE, 9, "next", 4));
    first_is(9, "next", 4);
}

static void
damaged(void)
{
    uint32_t tag;
    size_t len;

    assert_int_equal(ring_first(r, SIZE, &tag, &len), -1);
    is_empty();
    assert_true(ring_put(r, SIZE, 5, "fine", 4));
    first_is(5, "fine", 4);
}

static void
damage_empties_it(void **state)
{
    (void)state;
    r->head += SIZE + 1; /* more than there can be */
    damaged();
    r->head += 7; /* less than a record's head */
    damaged();
    r->tail += 1; /* overtaken */
    damaged();
    memset(r + 1, 0xff, SIZE); /* a length without end */
    r->head += 100;
    damaged();
    assert_true(ring_put(r, SIZE, 1, "abc", 3));
    r->head -= 1; /* shorter than its record says */
    damaged();
}

/* The reader, who may be anybody, has spoilt its end. */
static void
nothing_goes_into_what_cannot_be(void **state)
{
    (void)state;
    r->head = SIZE + 1;
    assert_false(ring_put(r, SIZE, 1, "x", 1));
    r->head = 0;
    r->tail = 1;
    assert_false(ring_put(r, SIZE, 1, "x", 1));
}

/* Its reader has no more room for it, however much the ring has. */
static void
no_record_is_longer_than_may_be(void **state)
{
    const uint32_t head[] = { 1, RING_RECORD_MAX + 1 };
    uint32_t tag;
    size_t len;

    (void)state;
    memcpy(r + 1, head, sizeof(head));
    r->head = sizeof(head) + RING_RECORD_MAX + 1;
    assert_int_equal(ring_first(r, 3 * 65536, &tag, &len), -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(in_order),
        TEST(wraps_at_any_place),
        TEST(full_to_the_last_byte),
        TEST(a_killed_writer_leaves_no_half_record),
        TEST(damage_empties_it),
        TEST(nothing_goes_into_what_cannot_be),
        TEST(no_record_is_longer_than_may_be),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
