/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "slots.h"

#define RESUMED_MAX 3 /* in a row while others wait */

void
slots_init(struct slots *s, int64_t children, int64_t queue)
{
    *s = (struct slots){ .children = children, .queue = queue };
    fair_queue_init(&s->waiting);
    fair_queue_init(&s->wanting);
    list_init(&s->running);
    list_init(&s->paused);
}

void
slot_user_init(struct slot_user *u, const uint64_t owner[2])
{
    fair_entry_init(&u->entry, owner);
    u->place = SLOT_NOWHERE;
}

static size_t *
count_of(struct slots *s, enum slot_place place)
{
    switch (place) {
    case SLOT_NOWHERE:
        break;
    case SLOT_WAITS:
        return &s->waits;
    case SLOT_RUNS:
        return &s->runs;
    case SLOT_PAUSES:
        return &s->pauses;
    case SLOT_WANTS:
        return &s->wants;
    }
    return NULL;
}

void
slots_leave(struct slots *s, struct slot_user *u)
{
    size_t *count = count_of(s, u->place);

    if (count != NULL) {
        --*count;
    }
    list_remove(&u->entry.link);
    u->place = SLOT_NOWHERE;
}

/* It is in no list. */
static void
be_at(struct slots *s, struct slot_user *u, enum slot_place place)
{
    u->place = place;
    ++*count_of(s, place);
}

/* ---- owners ---- */

int64_t
slots_most(int64_t children)
{
    return 2 * children;
}

static struct slot_user *
user_of(struct fair_entry *e)
{
    return e != NULL ? LIST_ITEM(e, struct slot_user, entry) : NULL;
}

/* ---- the queue ---- */

/* A guest runs at once, or as soon as there is a zygote. */
static bool
is_guest(const struct slots *s, const struct slot_user *u)
{
    return (int64_t)(s->waits + s->runs) < slots_most(s->children) + s->queue &&
           fair_takes_guests(&s->running, s->runs, (size_t)s->children) &&
           !fair_has_owner(&s->running, &u->entry) &&
           !fair_has_owner(&s->waiting.entries, &u->entry);
}

/* Guests take no place of it away. */
static bool
is_full(const struct slots *s)
{
    int64_t runs = (int64_t)s->runs;

    runs = runs < s->children ? runs : s->children;
    return (int64_t)s->waits + runs >= s->children + s->queue;
}

bool
slots_enter(struct slots *s, struct slot_user *u)
{
    if (is_full(s) && !is_guest(s, u)) {
        return false;
    }
    slots_leave(s, u);
    fair_queue_add(&s->waiting, &u->entry);
    be_at(s, u, SLOT_WAITS);
    return true;
}

void
slots_return(struct slots *s, struct slot_user *u)
{
    slots_leave(s, u);
    fair_queue_return(&s->waiting, &u->entry);
    be_at(s, u, SLOT_WAITS);
}

static struct slot_user *
next_of(const struct slots *s, const struct fair_queue *from)
{
    return user_of(
        fair_queue_next(from, &s->running, s->runs, (size_t)s->children));
}

struct slot_user *
slots_next(struct slots *s, bool may_begin)
{
    struct slot_user *old = next_of(s, &s->wanting), *u;
    struct slot_user *new_one = may_begin ? next_of(s, &s->waiting) : NULL;
    bool resume = old != NULL && (new_one == NULL || s->resumed < RESUMED_MAX);

    u = resume ? old : new_one;
    if (u != NULL) {
        s->resumed = resume ? s->resumed + 1 : 0;
        fair_queue_take(resume ? &s->wanting : &s->waiting, &u->entry);
        slots_leave(s, u);
        list_append(&s->running, &u->entry.link);
        be_at(s, u, SLOT_RUNS);
    }
    return u;
}

void
slots_pause(struct slots *s, struct slot_user *u)
{
    slots_leave(s, u);
    list_append(&s->paused, &u->entry.link);
    be_at(s, u, SLOT_PAUSES);
}

void
slots_want(struct slots *s, struct slot_user *u)
{
    slots_leave(s, u);
    fair_queue_add(&s->wanting, &u->entry);
    be_at(s, u, SLOT_WANTS);
}
