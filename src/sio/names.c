/*
 * Chains below places; as many places as names, at least.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio/names.h"

#include "base/hash.h"
#include "base/mem.h"

#define PLACES_FIRST 16

static struct name **
place_of(const struct names *t, uint64_t hash)
{
    return &t->places[hash & (t->size - 1)];
}

struct name *
names_find(const struct names *t, struct str text)
{
    uint64_t hash = hash_str(text);

    if (t->count == 0) {
        return NULL;
    }
    for (struct name *n = *place_of(t, hash); n != NULL; n = n->next) {
        if (n->hash == hash && str_eq(n->text, text)) {
            return n;
        }
    }
    return NULL;
}

static void
put(struct names *t, struct name *n)
{
    struct name **place = place_of(t, n->hash);

    n->next = *place;
    *place = n;
}

static void
grow(struct names *t)
{
    struct name **before = t->places;
    size_t size = t->size;

    t->size = size == 0 ? PLACES_FIRST : 2 * size;
    t->places = mem_zero(t->size * sizeof(t->places[0]));
    for (size_t i = 0; i < size; i++) {
        for (struct name *n = before[i], *next; n != NULL; n = next) {
            next = n->next;
            put(t, n);
        }
    }
    mem_free(&before);
}

void
names_add(struct names *t, struct name *n, struct str text)
{
    if (t->count == t->size) {
        grow(t);
    }
    n->text = text;
    n->hash = hash_str(text);
    put(t, n);
    t->count++;
}

void
names_remove(struct names *t, struct name *n)
{
    struct name **at;

    if (t->size == 0) {
        return;
    }
    for (at = place_of(t, n->hash); *at != NULL; at = &(*at)->next) {
        if (*at == n) {
            *at = n->next;
            t->count--;
            return;
        }
    }
}

void
names_clear(struct names *t)
{
    mem_free(&t->places);
    *t = (struct names){ .places = NULL };
}
