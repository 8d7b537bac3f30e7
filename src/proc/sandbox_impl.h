/*
 * The parts of the sandbox.
 *
 *   sandbox_version.c   which Landlock there is
 *   sandbox_files.c     Landlock
 *   sandbox_table.c     which system calls: of children
 *   sandbox_programs.c  ... of starters, programs and engines
 *   sandbox_filter.c    the filter made of them
 *   sandbox_hear.c      calls that a filter hands on
 *   sandbox_give.c      ... which return a descriptor
 *   sandbox_signal.c    ... which signal
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_SANDBOX_IMPL_H
#define PROC_SANDBOX_IMPL_H

#include "proc/sandbox.h"

#include <stdint.h>

/* ---- sandbox_table.c, sandbox_programs.c: which calls ---- */

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
    OF_STARTER = 1 << 10,
    OF_SUPERVISOR = 1 << 11,  /* a program that filters another, and hears */
    OF_ENGINE = 1 << 12,      /* what it filters */
    OF_FREE_ENGINE = 1 << 13, /* one that connects without being asked */
    OF_SEALED = 1 << 14,      /* of programs, whose memory files are ... */
    OF_UNSEALED = 1 << 15,    /* never executed, or as this kernel has them */
    OF_KEPT = 1 << 16,        /* of programs that cannot empty a file that they
                                 open to read, whatever the flags */
    OF_MODES = 1 << 17,       /* of programs that write below a folder */
    OF_NAMES = 1 << 18,       /* of programs that connect */
    OF_SIGNALS = 1 << 19,     /* of programs that signal without asking; */
    OF_SPARING = 1 << 20,     /* of engines that do, but for supervisors */
    OF_ASKING = 1 << 21,      /* of those whose signals are asked for */
    OF_ALL = OF_CHILD | OF_PROGRAM | OF_ENGINE,
};

#define SANDBOX_TESTS 3

enum sandbox_compare { NO_TEST, BITS, UPPER, SELF, OTHERS };

/* Whether an argument of a call is fine. */
struct sandbox_test {
    enum sandbox_compare compare; /* BITS of the lower or UPPER half; SELF:
                                     it is the number of this process; OTHERS:
                                     it is neither -1 nor that of the process
                                     that is spared, nor of its group */
    unsigned argument;
    uint32_t mask, value; /* (argument & mask) == value */
};

#define NOT_EXECUTABLE 8U     /* MFD_NOEXEC_SEAL, Linux 6.3 */
#define NEW_NAMES 0x7e020080U /* CLONE_NEW*: name spaces */

/* The value that an argument has to have. */
#define IS(argument, value)                           \
    {                                                 \
        BITS, argument, UINT32_MAX, (uint32_t)(value) \
    }
#define MASKED(argument, mask, value)                       \
    {                                                       \
        BITS, argument, (uint32_t)(mask), (uint32_t)(value) \
    }
#define UPPER_IS(argument, value)          \
    {                                      \
        UPPER, argument, UINT32_MAX, value \
    }
#define IS_SELF(argument)             \
    {                                 \
        SELF, argument, UINT32_MAX, 0 \
    }
#define NONE_OF(argument, mask) MASKED(argument, mask, 0)
#define IS_NULL(argument) IS(argument, 0), UPPER_IS(argument, 0)
/* The type of a socket, whatever its flags. */
#define IS_TYPE(argument, type) \
    MASKED(argument, ~(SOCK_NONBLOCK | SOCK_CLOEXEC), type)
/* The call is known, and refused whatever its arguments are. */
#define NEVER MASKED(0, 0, 1)
#define SPARES(argument)       \
    {                          \
        OTHERS, argument, 0, 0 \
    }

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
extern const struct sandbox_row sandbox_program_rows[];
extern const size_t sandbox_program_row_count;

#define LIST(items) items, sizeof(items) / sizeof((items)[0])
#define NOTHING NULL, 0

/* ---- sandbox_filter.c: the filter made of them ---- */

/* Whether the kernel filters system calls, on a processor we know. */
bool sandbox_has_filter(void);
/* Whether files of memory can be kept from being executed. */
bool sandbox_seals_memory(void);
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
