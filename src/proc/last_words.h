/*
 * What a process says as it crashes: written by the dying one into shared
 * memory, by a signal handler that does nothing else, and read by the master,
 * which alone formats, looks up names and logs.
 *
 * Words come with SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT, after which
 * the process dies of that signal as it would have without, and with a signal
 * of our own by which the watchdog asks a stuck process where it is.  Who is
 * killed (-9) or stopped has none.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_LAST_WORDS_H
#define PROC_LAST_WORDS_H

#include "base/errmsg.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LAST_WORDS_FRAMES 64
#define LAST_WORDS_REGISTERS 34

struct last_words {
    _Atomic int signal; /* 0: nothing was said */
    _Atomic bool whole; /* nothing is going to be added */
    int code;           /* si_code */
    pid_t thread;
    pid_t sender;     /* of a signal that somebody sent; else 0 */
    uint64_t address; /* that could not be used (SEGV, BUS, ILL, FPE) */
    uint64_t ip, sp;
    uint64_t registers[LAST_WORDS_REGISTERS];
    /* Return addresses, the innermost first; ip is not among them. */
    _Atomic uint32_t count;
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
/* What was said in slot; NULL if nothing. */
const struct last_words *last_words_of(uint32_t slot);
void last_words_forget(uint32_t slot);

/* Name of registers[i]; NULL behind the last. */
const char *last_words_register(unsigned i);

#endif
