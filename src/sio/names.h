/*
 * Things found by their names: a hash table whose nodes stand in the things.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_NAMES_H
#define SIO_NAMES_H

#include "base/str.h"

struct name {
    struct str text; /* borrowed: lives as long as it is in the table */
    uint64_t hash;
    struct name *next;
};

/* All zero is an empty one. */
struct names {
    struct name **places; /* owned */
    size_t size, count;   /* size is a power of two, or 0 */
};

/* The thing that holds a node: NAMED(node, struct room, name). */
#define NAMED(node, type, member) \
    ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* NULL: there is none. */
struct name *names_find(const struct names *t, struct str text);
/* No other node has that text. */
void names_add(struct names *t, struct name *n, struct str text);
/* Does nothing for a node that was never added, all zero. */
void names_remove(struct names *t, struct name *n);
/* Frees what the table itself has; nodes are the caller's. */
void names_clear(struct names *t);

#endif
