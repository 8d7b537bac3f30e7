/*
 * Facts of an entry, from a request and a thing that its extraction found.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_FACTS_H
#define MODULES_DOWNLOADS_FETCHER_FACTS_H

#include "base/errmsg.h"
#include "base/pool.h"
#include "fetcher/run.h"

struct facts_source {
    const struct downloads_instance *plan;
    const struct download_wish *wish;
    const struct extracted *found;
};

/* Texts are borrowed from the three and the item, or lie in the pool; the
 * timestamp is the queue's to give.  -1 with err: a template names a field that
 * does not exist. */
int facts_make(struct pool *p, const struct facts_source *from,
               const struct extracted_item *item, struct entry_facts *out,
               struct errmsg *err);

#endif
