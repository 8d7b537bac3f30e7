/*
 * Paths below folders that only root may enter.
 *
 * A process that root has started holds descriptors of what it will need while
 * it is root, and of that alone to which its later user has no way.  Later it
 * reaches a file by the path that it always had, through reach_of() and the
 * calls whose names end in "at".  A program that is installed anew is found: of
 * a file the folder is held.
 *
 * The later user itself has the right to what it was held for: the way to that
 * alone is closed.  Modes of files hold as ever, and so does the sandbox.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_REACH_H
#define PROC_REACH_H

#include "proc/life.h"
#include "proc/rights.h"

#include <stddef.h>

#define REACH_FIRST 64 /* no descriptor that is held has a lower number */

/* Root, single-threaded, before it drops its privileges: holds those paths of
 * r that one of the count users cannot reach.  Does nothing for others than
 * root.  They are held as long as the process lives, and by its forks, and are
 * closed on exec. */
void reach_hold(const struct rights *r, const struct privilege_ids *users,
                size_t count);

struct reach {
    int at;           /* a descriptor that is held, or AT_FDCWD */
    const char *path; /* from there; a part of the path that was asked for */
};

/* The way to path, for openat() and the like; never absolute where a descriptor
 * is given. */
struct reach reach_of(const char *path);
/* As open() does, close-on-exec. */
int reach_open(const char *path, int flags);
/* For calls that take no descriptor: a path that this process reaches, which is
 * path or in room.  room: PATH_MAX bytes. */
const char *reach_name(const char *path, char *room);

/* As execve() does.  Of a held folder a program has no descriptor, but the
 * interpreter of a script has: it opens that by it. */
void reach_execute(struct reach way, char *const *arguments,
                   char *const *environment);

/* Closes the descriptor first and all above it, but what is held. */
void reach_close_others(unsigned first);

#endif
