/*
 * Signals as events (signalfd).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef EVENT_SIGNALS_H
#define EVENT_SIGNALS_H

#include "event/loop.h"

#include <signal.h>

struct signals;

/* Blocks the set for the process and calls on_signal for each that comes.
 * Call it before threads are started.  Freed, it leaves the set blocked: a late
 * signal must not kill a process that is ending. */
struct signals *signals_new(struct loop *l, const sigset_t *set,
                            void (*on_signal)(void *arg, int number), void *arg,
                            struct errmsg *err);
void signals_free(struct signals **s);

#endif
