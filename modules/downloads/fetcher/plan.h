/*
 * The part of weir.conf that the fetcher has to know, from the master.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_PLAN_H
#define MODULES_DOWNLOADS_FETCHER_PLAN_H

#include "base/pool.h"
#include "downloads.h"

struct fetch_plan {
    struct downloads_instance *items; /* texts end with NUL; `where` is empty */
    size_t count;
    const struct str *egress; /* rules */
    size_t egress_count;
    bool shared; /* other nodes may be on the store */
};

/* Master. */
void fetch_plan_write(const struct settings *s, struct buf *to);
/* All of it lies in the pool.  -1: the bytes make no sense. */
int fetch_plan_read(struct str bytes, struct pool *pool,
                    struct fetch_plan *out);

#endif
