/*
 * The run of an engine: its sandbox, its processes, its end.
 *
 *   supervise.c   the engine's process, signals, what it leaves
 *   hear.c        calls that the engine's filter hands on
 *   connect.c     ... socket() and connect() among them
 *   signal.c      ... those that signal
 *   measure.c     what it has written
 *   tell.c        facts for the fetcher
 *   confine.c     what none of them can do
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_WEIR_SUPERVISOR_SUPERVISE_H
#define MODULES_DOWNLOADS_WEIR_SUPERVISOR_SUPERVISE_H

#include "base/errmsg.h"
#include "proc/sandbox.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SUPERVISE_FAILED 125 /* exit status: of the supervisor itself */
#define SUPERVISE_CANNOT 127 /* the engine could not be executed */

struct supervise {
    int folder;        /* a descriptor of it; -1: nothing is written */
    uint16_t port;     /* of 127.0.0.1 and any other; 0: none */
    int beside;        /* a descriptor of the folder that the engine lies
                        * in; AT_FDCWD: it has an absolute path */
    int tells;         /* a pipe for facts (tell.c); 0: nobody hears them */
    int64_t max_files; /* below its folder; 0: any number */
    int64_t max_bytes; /* of these; 0: any number */
    char *const *argv; /* the engine, NULL ends */
};

/* Becomes what the engine may be, for good: this process and all that it forks
 * write below the folder and to /dev/null alone, connect by TCP to the port
 * alone, and signal no others, as far as the kernel can hold that.  Which calls
 * the engine makes is for supervise_filter().  *apart: signals are held.  -1
 * with err. */
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

/* ---- hear.c: calls that the engine's filter hands on ---- */

/* Of sandbox_engine_filter(): whether the supervisor connects for the engine,
 * which is where the kernel can, and whether it signals for it, which is where,
 * besides, Landlock does not hold signals.  Forks, and waits for that. */
unsigned supervise_asks(const struct supervise *s);
/* The engine's process: filters itself, and sends the listener to the other end
 * of a pair of sockets.  -1: errno says why. */
int supervise_filter(unsigned flags, pid_t supervisor, int end);
/* Takes the supervisor's end.  Waits for the listener until the engine's
 * process has sent it or has closed its own end, as execve() does; -1: there is
 * none. */
int supervise_listener(int end);
/* Takes one call, which is there, and answers it. */
void supervise_hear(const struct supervise *s, int listener,
                    struct sandbox_told *told);

/* ---- connect.c: its connections ---- */

/* Answers socket() and connect(): the engine has connections to that port of
 * 127.0.0.1 alone; 0: none.  false: it is another call. */
bool supervise_connect(int listener, const struct sandbox_call *call,
                       uint16_t port);

/* ---- signal.c: its signals ---- */

/* Answers calls that signal: the engine has its own processes and their groups,
 * as long as they are in the session that this process leads.  false: it is
 * another call. */
bool supervise_signal(int listener, const struct sandbox_call *call);

/* ---- measure.c: what the engine has written ---- */

/* The folder is found also when its path has changed.  -1: errno says why. */
int supervise_measure_open(int folder);
/* Milliseconds until it is time to look; -1: it never is. */
int supervise_measure_wait(void);
/* Looks, if it is time to, and tells "bytes NUMBER" when that has changed.  The
 * name of the bound that the run is over; NULL: none. */
const char *supervise_measure(const struct supervise *s);

/* ---- tell.c: what the engine cannot say ---- */

#define SUPERVISE_FACT 64 /* bytes of a line, at most, with its end */

/* Takes the pipe, which is never the engine's.  -1: errno says why. */
int supervise_tell_open(int fd);
/* One line of few words.  It waits for nobody: one that the pipe has no room
 * for, or too long, is not told. */
void supervise_tell(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

#endif
