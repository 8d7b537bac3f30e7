/*
 * Whether a process descends from this one.
 *
 * A process keeps its ancestors as long as they live.  When one ends, its
 * children go to the nearest living ancestor that has asked for them.  Once
 * this process has asked, no descendant gets out of its sight, whatever it
 * forks and however it ends.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_ANCESTRY_H
#define PROC_ANCESTRY_H

#include "base/errmsg.h"

#include <sys/types.h>

enum ancestry {
    ANCESTRY_STRANGER,   /* not started by us, or this process itself */
    ANCESTRY_DESCENDANT, /* a child, a child's child... */
    ANCESTRY_UNKNOWN,    /* it is gone, or /proc cannot be read */
};

/* Descendants whose parents end become children of this process, which has to
 * reap them.  Before the first fork; a child does not inherit it. */
int ancestry_adopt(struct errmsg *err);

/* The ancestry of the process that connected the socket, whose number is pid. 0
 * is a process that this PID namespace does not see: never a descendant.
 * UNKNOWN with err.  Reads a bounded number of files of /proc. */
enum ancestry ancestry_of_peer(int socket, pid_t pid, struct errmsg *err);

#endif
