/*
 * Shared by the files of the loop: its struct and the heap of timers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef EVENT_LOOP_IMPL_H
#define EVENT_LOOP_IMPL_H

#include "base/clock.h"
#include "event/loop.h"

#include <sys/epoll.h>

#define LOOP_BATCH 512 /* events taken by one epoll_wait() */

/* A turn has four parts whose length the callbacks decide: events, due timers,
 * calls in turn and the results of tasks.  Each part has a share of LOOP_MS;
 * the next turn does the rest of it first.  So hooks and timers get their turn,
 * no matter how many peers send and how much. */
#define LOOP_MS 5

/* clock_ms() when a share that begins now is used up. */
static inline int64_t
loop_share(void)
{
    return clock_ms() + LOOP_MS;
}

/* Whether the share is used up; asked after each call. */
static inline bool
loop_share_used(int64_t share)
{
    return clock_ms() >= share;
}

struct timer_entry {
    int64_t due; /* copy of timer->due: sifting does not follow pointers */
    struct timer *timer; /* borrowed */
};

/* A heap with four children a node; a timer's place is its index + 1. */
struct timer_heap {
    struct timer_entry *entries; /* owned */
    uint32_t count, size;
    bool running; /* due timers are being called */
};

struct loop {
    int epoll_fd;
    bool stop;
    bool never_forks;
    int64_t now;    /* clock_ms() after the last wait */
    int64_t now_us; /* the same as clock_us(); 0: before the first wait */
    struct timer_heap timers;
    struct list later;   /* struct later, asked for, not called */
    struct list in_turn; /* the same, called for a share of each turn */
    struct loop_hooks hooks;
    void *hooks_arg;
    void (*on_turn)(void *arg, int64_t us);
    void *on_turn_arg;
    /* The batch being delivered, over several turns if it takes long; an
     * entry is cleared when its io stops. */
    int ready_count, ready_next;
    struct epoll_event ready[LOOP_BATCH];
};

/* ms from now_ms to the next one, -1: none. */
int64_t timers_wait(const struct loop *l, int64_t now_ms);
void timers_run(struct loop *l); /* calls those that are due */
void timers_clear(struct loop *l);

#endif
