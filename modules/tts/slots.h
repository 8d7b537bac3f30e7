/*
 * Slots of processor: which synthesis may compute, and which waits.
 *
 *   enter --> waits --> runs <--> paused --> wants --> runs
 *
 * `children` run at once.  One that waits for its reader is paused and has no
 * slot; when its reader has made room it wants one again.  Those that want go
 * before those that wait, but for every fourth time: new requests are not held
 * up for ever by many slow readers.
 *
 * Slots and places of the queue belong to owners, clients by their address,
 * which are served in turn.  When all slots are in use, an owner that has none
 * gets one beside them, as long as at most `children` owners have any: the
 * texts of one owner, however long they are, keep nobody waiting.  So up to
 * twice `children` run, and that only where owners have several.
 *
 * It counts and orders, and does nothing else.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_SLOTS_H
#define MODULES_TTS_SLOTS_H

#include "base/fair_queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slots {
    int64_t children, queue; /* of weir.conf; they may change at any time */
    struct fair_queue waiting, wanting; /* struct slot_user */
    struct list running, paused;        /* the same */
    size_t waits, runs, pauses, wants;  /* how many these are */
    unsigned resumed;                   /* in a row */
};

enum slot_place {
    SLOT_NOWHERE,
    SLOT_WAITS,
    SLOT_RUNS,
    SLOT_PAUSES,
    SLOT_WANTS
};

struct slot_user {
    struct fair_entry entry; /* its link is in one of the four */
    enum slot_place place;
};

void slots_init(struct slots *s, int64_t children, int64_t queue);
void slot_user_init(struct slot_user *u, const uint64_t owner[2]);
/* Waits for its owner's turn.  false: the queue is full.  One that could run at
 * once is not in the queue's way. */
bool slots_enter(struct slots *s, struct slot_user *u);
/* How many may run at once, all owners together. */
int64_t slots_most(int64_t children);
/* Back to the front: it has not run after all. */
void slots_return(struct slots *s, struct slot_user *u);
/* The next that may run, with its slot; NULL: none, or none is free.  Those
 * that wait may begin, or only those that want go on. */
struct slot_user *slots_next(struct slots *s, bool may_begin);
void slots_pause(struct slots *s, struct slot_user *u);
void slots_want(struct slots *s, struct slot_user *u);
/* Its end, wherever it is. */
void slots_leave(struct slots *s, struct slot_user *u);

#endif
