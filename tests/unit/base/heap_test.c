/*
 * Memory goes back to the system when it was freed, wherever it lay.
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
#include <unistd.h>

#include "base/heap.h"
#include "base/mem.h"

#define PIECES 8000
#define PIECE 5000
#define MIB (1L << 20)

static void *pieces[PIECES], *between[PIECES];

static long
resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long size = 0, pages = 0;

    assert_non_null(f);
    assert_int_equal(fscanf(f, "%ld %ld", &size, &pages), 2);
    fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

/* Some of what lives on lies between what will go. */
static void
fill(void)
{
    for (int i = 0; i < PIECES; i++) {
        pieces[i] = mem_alloc(PIECE);
        memset(pieces[i], 1, PIECE);
        between[i] = i % 50 == 0 ? mem_alloc(100) : NULL;
    }
}

static void
free_all(void **list)
{
    for (int i = 0; i < PIECES; i++) {
        mem_free(&list[i]);
    }
}

static bool
looks(int count)
{
    bool gave = false;

    for (int i = 0; i < count; i++) {
        gave |= heap_look();
    }
    return gave;
}

static void
test_what_many_had_goes_back(void **state)
{
    long before;

    (void)state;
    heap_tune();
    looks(10);
    before = resident();
    fill();
    assert_true(resident() - before > 30 * MIB);
    looks(10);
    assert_true(resident() - before > 30 * MIB);
    free_all(pieces);
    looks(10);
#if !defined(__SANITIZE_ADDRESS__) /* which has a heap of its own */
    assert_true(resident() - before < 3 * MIB);
#endif
    free_all(between);
}

/* What comes and goes within the time of a few looks stays: to fetch it again
 * would cost more. */
static void
test_what_is_used_again_stays(void **state)
{
    (void)state;
    fill();
    looks(10);
    for (int i = 0; i < 10; i++) {
        free_all(pieces);
        free_all(between);
        assert_false(looks(2));
        fill();
        assert_false(looks(1));
    }
    free_all(pieces);
    free_all(between);
}

static void
test_nothing_to_give(void **state)
{
    (void)state;
    looks(10);
    assert_false(looks(10));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_many_had_goes_back),
        cmocka_unit_test(test_what_is_used_again_stays),
        cmocka_unit_test(test_nothing_to_give),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
