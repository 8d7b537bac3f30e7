/*
 * What a process says as it crashes: written by the dying one into shared
 * memory, by a signal handler that does nothing else, and read by the master,
 * which alone formats, looks up names and logs.
 *
 * Words come with SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT, after which
 * the process dies of that signal as it would have without, and with a signal
 * of our own by which the watchdog asks a stuck process where it is.  A process
 * that is killed (-9) or stopped has none.
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

/* Of the registers the two pointers alone: in the others keys may stand. */
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
/* Copies what was said in slot; false: nothing.  Its numbers are whatever the
 * process, or another one, wrote. */
bool last_words_read(uint32_t slot, struct last_words *out);
/* Whether something was said, to which nothing is going to be added. */
bool last_words_whole(uint32_t slot);
void last_words_forget(uint32_t slot);

#endif
