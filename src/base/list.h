/*
 * Intrusive doubly linked list.  A node is in at most one list; an unlinked
 * node points to itself, so that list_remove() may be called twice.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next, *prev;
};

/* The struct that holds a node: LIST_ITEM(node, struct player, link). */
#define LIST_ITEM(node, type, member) \
    ((type *)(void *)((char *)(node)-offsetof(type, member)))

/* Walks a list; the body may remove (and free) the node it is given.  head is
 * evaluated once: it may be a call that looks the list up. */
#define LIST_EACH(node, head)                                         \
    for (struct list *node = (head)->next, *node##_head = node->prev, \
                     *node##_next = node->next;                       \
         node != node##_head; node = node##_next, node##_next = node->next)

static inline void
list_init(struct list *l)
{
    l->next = l->prev = l;
}

static inline bool
list_empty(const struct list *l)
{
    return l->next == l;
}

static inline void
list_insert_before(struct list *at, struct list *node)
{
    node->prev = at->prev;
    node->next = at;
    at->prev->next = node;
    at->prev = node;
}

static inline void
list_append(struct list *head, struct list *node)
{
    list_insert_before(head, node);
}

static inline void
list_prepend(struct list *head, struct list *node)
{
    list_insert_before(head->next, node);
}

static inline void
list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* Moves everything in from to the end of to. */
static inline void
list_splice(struct list *to, struct list *from)
{
    if (list_empty(from)) {
        return;
    }
    from->next->prev = to->prev;
    to->prev->next = from->next;
    from->prev->next = to;
    to->prev = from->prev;
    list_init(from);
}

#endif
