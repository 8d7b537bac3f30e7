/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/origin.h"

#include <stdlib.h>

void
origins_add(struct origins *o, struct pool *pool, const void *field,
            const char *from)
{
    struct origin *one = pool_zero(pool, sizeof(*one));

    *one = (struct origin){ o->first, field, from };
    o->first = one;
    o->count++;
}

static int
by_field(const void *left, const void *right)
{
    const struct origin *const *a = left, *const *b = right;
    uintptr_t x = (uintptr_t)(*a)->field, y = (uintptr_t)(*b)->field;

    return (x > y) - (x < y);
}

void
origins_sort(struct origins *o, struct pool *pool)
{
    size_t n = 0;

    if (o->count == 0) {
        return;
    }
    o->sorted = pool_zero(pool, o->count * sizeof(struct origin *));
    for (const struct origin *one = o->first; one != NULL; one = one->next) {
        o->sorted[n++] = one;
    }
    qsort(o->sorted, o->count, sizeof(struct origin *), by_field);
}

const char *
origins_find(const struct origins *o, const void *field)
{
    const struct origin wanted = { .field = field };
    const struct origin *key = &wanted;
    const struct origin *const *found;

    if (o->sorted == NULL) {
        return NULL;
    }
    found =
        bsearch(&key, o->sorted, o->count, sizeof(struct origin *), by_field);
    return found != NULL ? (*found)->from : NULL;
}
