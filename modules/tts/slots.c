/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "slots.h"

#define RESUMED_MAX 3 /* in a row while others wait */

void
slots_init(struct slots *s, int64_t children, int64_t queue)
{
    *s = (struct slots){ .children = children, .queue = queue };
    list_init(&s->waiting);
    list_init(&s->running);
    list_init(&s->paused);
    list_init(&s->wanting);
}

void
slot_user_init(struct slot_user *u)
{
    list_init(&u->link);
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
    list_remove(&u->link);
    u->place = SLOT_NOWHERE;
}

static void
move(struct slots *s, struct slot_user *u, enum slot_place to,
     struct list *list)
{
    slots_leave(s, u);
    list_append(list, &u->link);
    u->place = to;
    ++*count_of(s, to);
}

bool
slots_enter(struct slots *s, struct slot_user *u)
{
    if ((int64_t)(s->waits + s->runs) >= s->children + s->queue) {
        return false;
    }
    move(s, u, SLOT_WAITS, &s->waiting);
    return true;
}

void
slots_return(struct slots *s, struct slot_user *u)
{
    slots_leave(s, u);
    list_prepend(&s->waiting, &u->link);
    u->place = SLOT_WAITS;
    s->waits++;
}

struct slot_user *
slots_next(struct slots *s, bool may_begin)
{
    bool new_ones = may_begin && s->waits > 0;
    bool resume = s->wants > 0 && (!new_ones || s->resumed < RESUMED_MAX);
    struct list *from = resume ? &s->wanting : &s->waiting;
    struct slot_user *u;

    if ((int64_t)s->runs >= s->children || (!resume && !new_ones)) {
        return NULL;
    }
    s->resumed = resume ? s->resumed + 1 : 0;
    u = LIST_ITEM(from->next, struct slot_user, link);
    move(s, u, SLOT_RUNS, &s->running);
    return u;
}

void
slots_pause(struct slots *s, struct slot_user *u)
{
    move(s, u, SLOT_PAUSES, &s->paused);
}

void
slots_want(struct slots *s, struct slot_user *u)
{
    move(s, u, SLOT_WANTS, &s->wanting);
}
