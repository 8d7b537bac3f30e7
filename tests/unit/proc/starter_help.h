/*
 * A starter of a test, and what its runs have told.
 *
 * Include it behind cmocka.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_UNIT_PROC_STARTER_HELP_H
#define TESTS_UNIT_PROC_STARTER_HELP_H

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "proc/starter.h"

#define PATIENCE 120000 /* ms; an idle machine needs a few */

static struct {
    struct loop *loop;
    struct starter *starter;
    unsigned started, ended, gone;
    pid_t pid;              /* of the last program */
    struct program_end end; /* of the last run; its why is below */
    char why[PROGRAM_WHY];
} t;

static inline void
on_gone(void *arg)
{
    (void)arg;
    t.gone++;
}

static inline void
on_start(void *arg, pid_t pid)
{
    (void)arg;
    t.started++;
    t.pid = pid;
}

static inline void
on_end(void *arg, const struct program_end *end)
{
    (void)arg;
    t.ended++;
    t.end = *end;
    snprintf(t.why, sizeof(t.why), "%s", end->why);
}

static inline struct privilege_ids
program_ids(void)
{
    struct privilege_ids ids;
    struct errmsg err;

    assert_int_equal(privilege_program(STR_NONE, &ids, &err), 0);
    return ids;
}

static inline struct privilege_ids
role_ids(void)
{
    struct privilege_ids ids;
    struct errmsg err;

    assert_int_equal(privilege_ids(STR_NONE, STR_NONE, &ids, &err), 0);
    return ids;
}

/* The users of its role and programs are those of this process.  0 or -1, as
 * setups answer. */
static inline int
open_starter(struct starter_options *o)
{
    struct errmsg err;

    memset(&t, 0, sizeof(t));
    o->role = role_ids();
    o->program = program_ids();
    t.starter = starter_new(o, &err);
    t.loop = loop_new(&err);
    return t.starter == NULL || t.loop == NULL
               ? -1
               : starter_open(t.starter, t.loop, on_gone, NULL, &err);
}

static inline void
wait_until(const unsigned *count, unsigned n)
{
    int64_t end = clock_ms() + PATIENCE;

    while (*count < n) {
        assert_true(clock_ms() < end);
        loop_turn(t.loop, 10);
    }
}

#endif
