/*
 * What a starter takes from a role that is in the hands of a stranger, and the
 * other way round: each thing that is wrong, for itself.
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
#include <string.h>

#include "base/pack.h"
#include "proc/starter_wire.h"

static const struct starter_options options = { .program_count = 3,
                                                .folder_count = 2 };

static const char *const sh[] = { "sh", NULL };

/* A request that has all at its bounds. */
static struct starter_request
largest(void)
{
    struct starter_request r = { .asks = STARTER_START,
                                 .run = STARTER_RUNS - 1,
                                 .program = 2,
                                 .folder = 1,
                                 .passed = 1U << (PROGRAM_FILES - 1) | 1,
                                 .limits = { .cpu = INT32_MAX - 1,
                                             .nice = PROGRAM_NICE_MAX },
                                 .environment = { "A=", NULL } };

    for (size_t i = 0; i < PROGRAM_TEXTS; i++) {
        r.arguments[i] = "x";
    }
    return r;
}

/* As bytes, with `more` zeros behind them. */
static bool
is_taken(const struct starter_request *r, size_t fds, size_t more)
{
    static struct starter_request read;
    struct errmsg err;
    struct buf out;
    bool taken;

    buf_init(&out, STARTER_MESSAGE);
    assert_int_equal(starter_wire_write(r, &out, &err), 0);
    for (size_t i = 0; i < more; i++) {
        buf_add(&out, "", 1);
    }
    taken = starter_wire_read(&read, buf_str(&out), &options, fds);
    buf_clear(&out);
    return taken;
}

static void
what_is_within_the_bounds_is_taken(void **state)
{
    static struct starter_request r;

    (void)state;
    r = largest();
    assert_true(is_taken(&r, 2, 0));
    r = (struct starter_request){ .asks = STARTER_SIGNAL, .number = NSIG - 1 };
    assert_true(is_taken(&r, 0, 0));
    r.number = 1;
    assert_true(is_taken(&r, 0, 0));
}

static void
numbers_beyond_them_are_not(void **state)
{
    static struct starter_request r;

    (void)state;
    r = largest();
    r.run++;
    assert_false(is_taken(&r, 2, 0));
    r = largest();
    r.program++;
    assert_false(is_taken(&r, 2, 0));
    r = largest();
    r.folder++;
    assert_false(is_taken(&r, 2, 0));
    r = largest();
    r.passed = 1U << PROGRAM_FILES | 1;
    assert_false(is_taken(&r, 2, 0));
    r = largest();
    assert_false(is_taken(&r, 2, 1));
    r.asks = (enum starter_asks)(STARTER_SIGNAL + 1);
    assert_false(is_taken(&r, 2, 0));
}

static void
limits_are_numbers(void **state)
{
    static struct starter_request r;
    int64_t *const limits[] = { &r.limits.memory,    &r.limits.cpu,
                                &r.limits.files,     &r.limits.file_size,
                                &r.limits.processes, &r.limits.nice };

    (void)state;
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        r = largest();
        *limits[i] = -1;
        assert_false(is_taken(&r, 2, 0));
    }
    r = largest();
    r.limits.nice++;
    assert_false(is_taken(&r, 2, 0));
    r = largest();
    r.limits.cpu++;
    assert_false(is_taken(&r, 2, 0));
}

/* Descriptors that nobody named would stay open, or be another's. */
static void
descriptors_are_those_that_are_named(void **state)
{
    static struct starter_request r;

    (void)state;
    r = largest();
    assert_false(is_taken(&r, 1, 0));
    assert_false(is_taken(&r, 3, 0));
    r = (struct starter_request){ .asks = STARTER_SIGNAL, .number = 9 };
    assert_false(is_taken(&r, 1, 0));
}

static void
a_program_has_a_name_and_variables(void **state)
{
    static const char *const wrong[] = { "PATH", "=x", "" };
    static struct starter_request r;

    (void)state;
    r = (struct starter_request){ .asks = STARTER_START };
    assert_false(is_taken(&r, 0, 0));
    r.arguments[0] = sh[0];
    assert_true(is_taken(&r, 0, 0));
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        r.environment[0] = wrong[i];
        assert_false(is_taken(&r, 0, 0));
    }
}

/* So many texts, of which the first has a NUL inside if it is asked for. */
static bool
texts_are_taken(size_t count, bool nul)
{
    static struct starter_request read;
    const size_t numbers =
        (sizeof(struct program_limits) + sizeof(struct program_bounds)) /
        sizeof(int64_t);
    struct buf out;
    struct pack p = { .to = &out };
    bool taken;

    buf_init(&out, STARTER_MESSAGE);
    pack_u8(&p, STARTER_START);
    for (int i = 0; i < 4; i++) { /* run, program, folder, passed */
        pack_u32(&p, 0);
    }
    for (size_t i = 0; i < numbers; i++) {
        pack_int(&p, 0);
    }
    pack_int(&p, (int64_t)count);
    for (size_t i = 0; i < count; i++) {
        pack_text(&p, nul && i == 0 ? str_of("a\0b", 3) : STR("x"));
    }
    pack_int(&p, 0);
    taken = starter_wire_read(&read, buf_str(&out), &options, 0);
    buf_clear(&out);
    return taken;
}

static void
texts_are_bounded_and_whole(void **state)
{
    (void)state;
    assert_true(texts_are_taken(PROGRAM_TEXTS, false));
    assert_false(texts_are_taken(PROGRAM_TEXTS + 1, false));
    assert_false(texts_are_taken(2, true));
}

static void
signals_have_numbers(void **state)
{
    static struct starter_request r;

    (void)state;
    r = (struct starter_request){ .asks = STARTER_SIGNAL };
    assert_false(is_taken(&r, 0, 0));
    r.number = NSIG;
    assert_false(is_taken(&r, 0, 0));
    r.number = -1;
    assert_false(is_taken(&r, 0, 0));
    r.number = SIGTERM;
    assert_false(is_taken(&r, 0, 1));
}

static bool
is_heard(uint8_t tells, uint32_t run, size_t more)
{
    struct starter_report r = { .tells = (enum starter_tells)tells,
                                .run = run,
                                .end = { .why = "" } };
    struct starter_report read;
    struct buf out;
    bool heard;

    buf_init(&out, STARTER_REPORT);
    starter_report_write(&r, &out);
    for (size_t i = 0; i < more; i++) {
        buf_add(&out, "", 1);
    }
    heard = starter_report_read(&read, buf_str(&out));
    assert_true(!heard || read.end.started == (tells != STARTER_FAILED));
    buf_clear(&out);
    return heard;
}

static void
reports_are_of_runs_and_of_a_kind(void **state)
{
    (void)state;
    for (uint8_t tells = STARTER_STARTED; tells <= STARTER_CALLED; tells++) {
        assert_true(is_heard(tells, STARTER_RUNS - 1, 0));
        assert_false(is_heard(tells, STARTER_RUNS, 0));
        assert_false(is_heard(tells, 0, 1));
    }
    assert_false(is_heard(STARTER_STARTED - 1, 0, 0));
    assert_false(is_heard(STARTER_CALLED + 1, 0, 0));
}

#define TEST(f) cmocka_unit_test(f)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_within_the_bounds_is_taken),
        TEST(numbers_beyond_them_are_not),
        TEST(limits_are_numbers),
        TEST(descriptors_are_those_that_are_named),
        TEST(a_program_has_a_name_and_variables),
        TEST(texts_are_bounded_and_whole),
        TEST(signals_have_numbers),
        TEST(reports_are_of_runs_and_of_a_kind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
