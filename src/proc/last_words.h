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
#ifndef PROC_LAST_WORDS_H
#define PROC_LAST_WORDS_H

#include "base/errmsg.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LAST_WORDS_FRAMES 64

/* Of the registers only the two pointers are kept: others may hold keys. */
struct last_words {
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
int last_words_create(uint32_t slots, struct errmsg *err);
void last_words_destroy(void);

/* A child that has just got its slot (life_fork() does it): catches the
 * signals.  Threads catch them as well unless they block them. */
void last_words_listen(uint32_t slot);

/* The signal that asks for words; 0 while there is no room for any. */
int last_words_signal(void);
/* Copies the last words of slot; false: there are none.  They are not to be
 * trusted: that process or another one wrote them. */
bool last_words_read(uint32_t slot, struct last_words *out);
/* Whether slot has last words and they are complete. */
bool last_words_whole(uint32_t slot);
void last_words_forget(uint32_t slot);

#endif
