/*
 * The last words of a process that crashes: its registers and stack.  A signal
 * handler of the dying process writes them into shared memory and does nothing
 * else.  The master reads them, looks up names, formats and logs.
 *
 * The handler catches SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT, after which
 * the process dies of that signal as usual, and a signal of our own, by which
 * the watchdog asks a stuck process where it is.  A process that is killed (-9)
 * or stopped leaves none.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_CRASH_DUMP_H
#define PROC_CRASH_DUMP_H

#include "base/errmsg.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LAST_WORDS_FRAMES 64

/* Of the registers only the two pointers are kept: others may hold keys. */
struct crash_dump {
    int signal;
    int code; /* si_code */
    pid_t thread;
    pid_t sender;     /* of a signal that somebody sent; else 0 */
    uint64_t address; /* that could not be used (SEGV, BUS, ILL, FPE) */
    uint64_t ip, sp;
    /* Return addresses, the innermost first; ip is not among them. */
    uint32_t count; /* LAST_WORDS_FRAMES at most */
    uint64_t frames[LAST_WORDS_FRAMES];
};

/* Master, before any fork: room for that many slots. */
int crash_dump_create(uint32_t slots, struct errmsg *err);
void crash_dump_destroy(void);

/* A child that has just got its slot (life_fork() does it): catches the
 * signals.  Threads catch them as well unless they block them. */
void crash_dump_listen(uint32_t slot);

/* The signal that asks for words; 0 while there is no room for any. */
int crash_dump_signal(void);
/* Copies the last words of slot; false: there are none.  They are not to be
 * trusted: that process or another one wrote them. */
bool crash_dump_read(uint32_t slot, struct crash_dump *out);
/* Whether slot has last words and they are complete. */
bool crash_dump_whole(uint32_t slot);
void crash_dump_forget(uint32_t slot);

#endif
