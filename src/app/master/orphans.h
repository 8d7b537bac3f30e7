/*
 * Processes that the master did not fork and that fall to it.
 *
 * Children of weir start none but by a starter (proc/starter.h), which ends
 * all that it started.  So a process that loses its parent below the master
 * (ancestry_adopt()) has got away from its starter: the master kills it.  The
 * master looks when a child has ended and once a second, because nothing tells
 * it of one that has fallen to it.
 *
 * It leaves alone the children that it had when it began to look, from a shell
 * that became weir by exec.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_ORPHANS_H
#define APP_MASTER_ORPHANS_H

#include "event/loop.h"
#include "proc/offspring.h"

#include <stdbool.h>

#define ORPHANS_ENDED 8  /* children that ended, the newest */
#define ORPHANS_FOUND 64 /* children at the begin that are left alone */
#define ORPHANS_TURN 256 /* children that are looked at in one turn */
#define ORPHANS_NAME 40  /* as CHILD_NAME */

struct orphans {
    struct loop *loop; /* borrowed */
    struct timer timer;
    /* Whether the master forked that one. */
    bool (*is_ours)(void *arg, pid_t pid);
    void *arg;
    pid_t found[ORPHANS_FOUND];
    size_t found_count;
    struct {
        pid_t pid;
        char name[ORPHANS_NAME];
    } ended[ORPHANS_ENDED];
    pid_t killed[ORPHANS_TURN]; /* and not yet reaped; 0: nobody */
    unsigned killed_count;      /* since the begin */
    unsigned ended_count;       /* the same */
    unsigned turn;              /* ended_count before this SIGCHLD */
};

/* Before the first fork. */
void orphans_start(struct orphans *o, struct loop *l,
                   bool (*is_ours)(void *arg, pid_t pid), void *arg);
void orphans_stop(struct orphans *o);
/* A child of that name has ended: what falls to the master now may be its. */
void orphans_remember(struct orphans *o, pid_t pid, const char *name);
/* wait() has told of somebody whom the master did not fork: who has stopped, or
 * goes on, is still there. */
void orphans_reaped(struct orphans *o, pid_t pid, int status);
/* All that have ended are reaped: kills, and logs and counts what it kills,
 * each once, however often it is looked at until it is reaped. */
void orphans_look(struct orphans *o);

#endif
