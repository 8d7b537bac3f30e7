/*
 * What a client of a fuzz target has to get: numbers of messages, in order.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_FUZZ_DUE_H
#define TESTS_FUZZ_DUE_H

#include "fuzz.h"

#include <stdlib.h>

struct due {
    unsigned number;
    uint64_t key;
    struct due *next;
};

struct dues {
    struct due *first, *last;
};

static inline void
due_add(struct dues *l, unsigned number, uint64_t key)
{
    struct due *d = calloc(1, sizeof(*d));

    require(d != NULL);
    d->number = number;
    d->key = key;
    *(l->last == NULL ? &l->first : &l->last->next) = d;
    l->last = d;
}

/* It is the first. */
static inline void
due_take(struct dues *l, int64_t number)
{
    struct due *d = l->first;

    require(d != NULL && number == d->number);
    l->first = d->next;
    l->last = d->next == NULL ? NULL : l->last;
    free(d);
}

static inline void
due_forget_last(struct dues *l)
{
    struct due *before = NULL;

    for (struct due *d = l->first; d != l->last; d = d->next) {
        before = d;
    }
    free(l->last);
    *(before == NULL ? &l->first : &before->next) = NULL;
    l->last = before;
}

/* All of that key; whether there were any. */
static inline bool
due_forget_key(struct dues *l, uint64_t key)
{
    bool any = false;

    l->last = NULL;
    for (struct due **at = &l->first; *at != NULL;) {
        struct due *d = *at;

        if (d->key == key) {
            *at = d->next;
            free(d);
            any = true;
        } else {
            l->last = d;
            at = &d->next;
        }
    }
    return any;
}

static inline void
due_forget_all(struct dues *l)
{
    while (l->first != NULL) {
        due_take(l, l->first->number);
    }
}

#endif
