/*
 * The event loop: epoll (level triggered), timers, deferred calls.
 *
 * One loop a process.  A turn is: before_sleep hook, wait for events (bounded
 * by the next timer), after_wake hook, then the callbacks of ready
 * descriptors, then due timers, calls in turn and deferred calls.  Each of
 * these but the last has 5 ms a turn, and so have the results of event/task.h.
 * Callbacks that did not get their turn are called in the next one, before
 * those that were called already.
 *
 * No object is freed while a callback runs: it stops its io and timers at once,
 * and loop_later() frees it at the end of the turn, so that no event of the
 * same turn can meet freed memory.
 *
 *   loop.c   turns, descriptors, deferred calls
 *   timer.c  timers
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef EVENT_LOOP_H
#define EVENT_LOOP_H

#include "base/errmsg.h"
#include "base/list.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;

/* Calls of the process around each wait (live uses them for wake flags and
 * quiescence).  Each may be NULL. */
struct loop_hooks {
    /* Before every wait.  Returns true if there is work that must not sleep:
     * the loop then polls with a time-out of 0. */
    bool (*before_sleep)(void *arg);
    /* After every wait, before any callback. */
    void (*after_wake)(void *arg);
};

/* NULL with err.  Ignores SIGPIPE for the process. */
struct loop *loop_new(struct errmsg *err);
/* Makes the deferred calls that are left.  Leaves what other processes see
 * of an inherited loop alone, so that a child may free its parent's. */
void loop_free(struct loop **l);
void loop_set_hooks(struct loop *l, const struct loop_hooks *h, void *arg);

/* Called after every turn with its length in microseconds, from the end of a
 * wait to the beginning of the next: a ready descriptor may have waited as
 * long. */
void loop_set_meter(struct loop *l, void (*on_turn)(void *arg, int64_t us),
                    void *arg);

/* From now on the process makes no other, which would get descriptors that are
 * watched here: see io_leave(). */
void loop_never_forks(struct loop *l);

void loop_run(struct loop *l); /* until loop_stop() */
/* One turn; waits at most max_wait_ms for events, -1: until the next timer. */
void loop_turn(struct loop *l, int64_t max_wait_ms);
void loop_stop(struct loop *l); /* ends loop_run() after this turn */

/* clock_ms() as of the start of this turn. */
int64_t loop_now(const struct loop *l);
int64_t loop_now_us(const struct loop *l); /* clock_us() of that moment */

/* ---- descriptors ---- */

/* `ready` has the bits that were wanted.  Errors and hang-ups set both bits,
 * even when none was wanted: a bit that was not wanted means "broken". */
enum { IO_READ = 1, IO_WRITE = 2 };

struct io {
    int fd;          /* -1 while not started; not owned */
    unsigned wanted; /* IO_READ | IO_WRITE; 0: only that it broke, once */
    void (*on_ready)(struct io *io, unsigned ready);
};

void io_init(struct io *io);
int io_start(struct loop *l, struct io *io, int fd, unsigned wanted,
             void (*on_ready)(struct io *io, unsigned ready));
void io_want(struct loop *l, struct io *io, unsigned wanted);
void io_stop(struct loop *l, struct io *io); /* before close(fd); idempotent */
/* The same for a descriptor that the caller closes in this turn, and that was
 * not sent to another process.  Where the loop never forks this spares a call
 * of the system, which forgets the descriptor when it is closed (epoll(7)). */
void io_leave(struct loop *l, struct io *io);

/* ---- timers ---- */

struct timer {
    int64_t due;    /* clock_ms() */
    uint32_t place; /* in the loop's heap, 0 while not set */
    void (*on_due)(struct timer *t);
};

void timer_init(struct timer *t, void (*on_due)(struct timer *t));
/* Sets or moves it; fires once. */
void timer_set(struct loop *l, struct timer *t, int64_t delay_ms);
void timer_stop(struct loop *l, struct timer *t); /* idempotent */
bool timer_is_set(const struct timer *t);

/* ---- deferred calls ---- */

struct later {
    struct list link;
    void (*call)(struct later *later);
};

void later_init(struct later *later, void (*call)(struct later *later));
/* Calls it once at the end of this turn (or of the next, if asked for by a
 * deferred call); asking twice is asking once. */
void loop_later(struct loop *l, struct later *later);
/* Calls it once, in the order asked, in this turn or as many turns later as it
 * takes: for work of a millisecond or more, of which there may be much at
 * once.  Descriptors hold up the others of their batch; this does not. */
void loop_in_turn(struct loop *l, struct later *later);
void later_cancel(struct later *later);

#endif
