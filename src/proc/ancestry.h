/*
 * Whether a process descends from this one.
 *
 * A process keeps its ancestors for life, but for one that ends: then its
 * children go to the nearest living ancestor that has asked for them.  Once
 * this process has asked, nothing that it started, or that was started by what
 * it started, gets out of its sight, whatever it forks and however it ends.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_ANCESTRY_H
#define PROC_ANCESTRY_H

#include "base/errmsg.h"

#include <sys/types.h>

enum ancestry {
    ANCESTRY_STRANGER,   /* it was not started by us; or we are it */
    ANCESTRY_DESCENDANT, /* a child, a child's child... */
    ANCESTRY_UNKNOWN,    /* it is gone, or /proc cannot be read */
};

/* Descendants whose parents end become children of this process, which has to
 * reap them.  Before the first fork; a child does not inherit it. */
int ancestry_adopt(struct errmsg *err);

/* Of the process that connected the socket, whose number is pid (0: one that
 * this PID namespace does not see, which no descendant can be).  UNKNOWN with
 * err.  Reads a bounded number of files of /proc. */
enum ancestry ancestry_of_peer(int socket, pid_t pid, struct errmsg *err);

#endif
