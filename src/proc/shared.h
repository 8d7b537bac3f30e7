/*
 * Memory shared by the master and everything it forks.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_SHARED_H
#define PROC_SHARED_H

#include "base/errmsg.h"

#include <stddef.h>

/* A memfd of size bytes, mapped shared, zeroed, touched lazily; its
 * descriptor (close-on-exec) in *fd.  NULL with err. */
void *shared_create(const char *name, size_t size, int *fd, struct errmsg *err);
void shared_destroy(void *memory, size_t size, int *fd);

#endif
