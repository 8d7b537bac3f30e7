/*
 * Memory shared by the master and everything it forks.
 *
 * Each region is a memfd of its own.  It is sealed as soon as it has its size,
 * so that nobody can make it shorter under the others.  The master keeps the
 * descriptor: a child closes its copy right after the fork and has only the
 * mapping left.  A child maps a region of the master's anew, read-only, and the
 * seal keeps it so, whatever the child calls (Linux 5.1; without the seal the
 * child could make it writable again).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_SHARED_H
#define PROC_SHARED_H

#include "base/errmsg.h"

#include <stdbool.h>
#include <stddef.h>

enum shared_writers {
    SHARED_ALL,    /* every process writes to it */
    SHARED_MASTER, /* children read it */
    SHARED_SECRET, /* the same, and it is kept out of dumps and off the disk */
};

/* Master, before any fork: size bytes, mapped, zeroed, touched lazily.  NULL
 * with err.  name must live on. */
void *shared_create(const char *name, size_t size, enum shared_writers writers,
                    struct errmsg *err);
/* The same for count elements. */
void *shared_create_array(const char *name, size_t count, size_t element,
                          enum shared_writers writers, struct errmsg *err);
void shared_destroy(void *memory); /* NULL is fine */

/* Master: gives back the pages from at on, which empties them.  False: they
 * could not be given back. */
bool shared_empty(void *at, size_t size);

/* A child that was just forked: it can only read the master's regions from now
 * on. -1 with err: the child must not go on. */
int shared_enter_child(struct errmsg *err);
/* Whether the kernel has that seal. */
bool shared_is_sealed(void);

#endif
