/*
 * Where values came from that did not stand in the file: told by weir -T.
 *
 * Fields of settings are filled first, then all are sorted, then asked for.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_ORIGIN_H
#define CONF_ORIGIN_H

#include "base/pool.h"

struct origin {
    struct origin *next;
    const void *field; /* of a settings struct */
    const char *from;  /* "${env:NAME}"; lives in the pool */
};

struct origins {
    struct origin *first; /* in the pool, as all that is here */
    const struct origin **sorted;
    size_t count;
};

void origins_add(struct origins *o, struct pool *pool, const void *field,
                 const char *from);
void origins_sort(struct origins *o, struct pool *pool);
/* NULL: the field's value stood in the file, or is the default. */
const char *origins_find(const struct origins *o, const void *field);

#endif
