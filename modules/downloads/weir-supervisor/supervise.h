/*
 * The run of an engine: its sandbox, its processes, its end.
 *
 *   supervise.c   the engine's process, signals, what it leaves
 *   tell.c        facts for the fetcher
 *   confine.c     what none of them can do
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_WEIR_SUPERVISOR_SUPERVISE_H
#define MODULES_DOWNLOADS_WEIR_SUPERVISOR_SUPERVISE_H

#include "base/errmsg.h"

#include <stdbool.h>
#include <stdint.h>

#define SUPERVISE_FAILED 125 /* exit status: of the supervisor itself */
#define SUPERVISE_CANNOT 127 /* the engine could not be executed */

struct supervise {
    int folder;        /* a descriptor of it; -1: nothing is written */
    uint16_t port;     /* of 127.0.0.1 and any other; 0: none */
    int beside;        /* a descriptor of the folder that the engine lies
                        * in; AT_FDCWD: it has an absolute path */
    int tells;         /* a pipe for facts (tell.c); 0: nobody hears them */
    char *const *argv; /* the engine, NULL ends */
};

/* Becomes what the engine may be, for good: this process and all that it forks
 * write below the folder and to /dev/null alone, connect by TCP to the port
 * alone, serve nobody, signal no others, and make no object of the kernel that
 * outlives them, as far as the kernel can hold that.  *apart: signals are held.
 * -1 with err. */
int supervise_confine(const struct supervise *s, bool *apart,
                      struct errmsg *err);

/* The engine's process, confined: it and all that it forks neither signal nor
 * trace the supervisor, which signals them, as far as the kernel can hold that.
 * -1: errno says why. */
int supervise_nest(void);

/* Runs the engine; returns when it and all that it has started have ended: its
 * exit status, or 128 and the signal that ended it.  SUPERVISE_FAILED: it did
 * not run, and standard error says why. */
int supervise(const struct supervise *s);

/* ---- tell.c: what the engine cannot say ---- */

#define SUPERVISE_FACT 64 /* bytes of a line, at most, with its end */

/* Takes the pipe, which is never the engine's.  -1: errno says why. */
int supervise_tell_open(int fd);
/* One line of few words.  It waits for nobody: one that the pipe has no room
 * for, or too long, is not told. */
void supervise_tell(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#endif
