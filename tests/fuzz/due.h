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
due_add(struct dues *all, unsigned number, uint64_t key)
{
    struct due *d = calloc(1, sizeof(*d));

    require(d != NULL);
    d->number = number;
    d->key = key;
    *(all->last == NULL ? &all->first : &all->last->next) = d;
    all->last = d;
}

/* It is the first. */
static inline void
due_take(struct dues *all, int64_t number)
{
    struct due *d = all->first;

    require(d != NULL && number == d->number);
    all->first = d->next;
    all->last = d->next == NULL ? NULL : all->last;
    free(d);
}

static inline void
due_forget_last(struct dues *all)
{
    struct due *before = NULL;

    for (struct due *d = all->first; d != all->last; d = d->next) {
        before = d;
    }
    free(all->last);
    *(before == NULL ? &all->first : &before->next) = NULL;
    all->last = before;
}

/* All of that key; whether there were any. */
static inline bool
due_forget_key(struct dues *all, uint64_t key)
{
    bool any = false;

    all->last = NULL;
    for (struct due **at = &all->first; *at != NULL;) {
        struct due *d = *at;

        if (d->key == key) {
            *at = d->next;
            free(d);
            any = true;
        } else {
            all->last = d;
            at = &d->next;
        }
    }
    return any;
}

static inline void
due_forget_all(struct dues *all)
{
    while (all->first != NULL) {
        due_take(all, all->first->number);
    }
}

#endif
