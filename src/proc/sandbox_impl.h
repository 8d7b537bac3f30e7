/*
 * The parts of the sandbox.
 *
 *   sandbox_version.c  which Landlock there is
 *   sandbox_files.c    what is done with it
 *   sandbox_filter.c   system calls
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_SANDBOX_IMPL_H
#define PROC_SANDBOX_IMPL_H

#include "proc/sandbox.h"

#include <stdint.h>

/* ---- sandbox_table.c: which calls ---- */

/* The owners of a row of the table: kinds of processes, and rights. */
enum sandbox_who {
    OF_CHILD = 1 << 0,
    OF_PROGRAM = 1 << 1, /* and of starters */
    OF_FORK = 1 << 2,
    OF_RESIZE = 1 << 3,
    OF_WRITE = 1 << 4,
    OF_CONNECT = 1 << 5,   /* to anything: sockets are made */
    OF_INET = 1 << 6,      /* over the network */
    OF_NARROW = 1 << 7,    /* a child without sanitizers; or ... */
    OF_SANITIZER = 1 << 8, /* one with them */
    OF_SEAL = 1 << 9,
};

#define SANDBOX_TESTS 2

enum sandbox_compare { NO_TEST, BITS, UPPER, SELF };

/* Whether an argument of a call is fine. */
struct sandbox_test {
    enum sandbox_compare compare; /* BITS of the lower or UPPER half; SELF:
                                     it is the number of this process */
    unsigned argument;
    uint32_t mask, value; /* (argument & mask) == value */
};

/* A call that is allowed when all tests are true. */
struct sandbox_rule {
    int call;
    struct sandbox_test tests[SANDBOX_TESTS];
};

/* One right, or one kind of process. */
struct sandbox_row {
    unsigned of;      /* enum sandbox_who: any of them has it */
    const int *calls; /* with any arguments */
    size_t call_count;
    const struct sandbox_rule *rules; /* with certain ones */
    size_t rule_count;
};

extern const struct sandbox_row sandbox_rows[];
extern const size_t sandbox_row_count;
/* Programs: refused unless a row allows them; all others are allowed. */
extern const int sandbox_never[];
extern const size_t sandbox_never_count;

/* ---- sandbox_filter.c: the filter made of them ---- */

/* Whether the kernel filters system calls, on a processor we know. */
bool sandbox_has_filter(void);
/* -1 with errno. */
int sandbox_filter(const struct sandbox *s);
/* The handler of SIGSYS for refused calls of children; before
 * sandbox_filter(). */
int sandbox_catch(void);

/* ---- sandbox_files.c: paths and ports ---- */

/* No files but those of its rights, no new TCP listeners, no connections but
 * to its ports; -1 with errno. */
int sandbox_restrict(const struct sandbox *s);

#endif
