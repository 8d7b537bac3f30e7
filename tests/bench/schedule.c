/*
 * A binary heap.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "schedule.h"

#include "common.h"

#include <assert.h>

void
schedule_init(struct schedule *s, unsigned room)
{
    s->entries = mem_new(room, sizeof(*s->entries));
    s->count = 0;
    s->room = room;
}

void
schedule_clear(struct schedule *s)
{
    mem_drop(&s->entries);
}

void
schedule_add(struct schedule *s, int64_t due, unsigned who)
{
    unsigned at = s->count++;

    assert(at < s->room);
    while (at > 0 && s->entries[(at - 1) / 2].due > due) {
        s->entries[at] = s->entries[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    s->entries[at] = (struct schedule_entry){ due, who };
}

int64_t
schedule_first(const struct schedule *s)
{
    return s->count > 0 ? s->entries[0].due : INT64_MAX;
}

unsigned
schedule_take(struct schedule *s)
{
    assert(s->count > 0);
    unsigned who = s->entries[0].who;
    struct schedule_entry last = s->entries[--s->count];
    unsigned at = 0;

    for (;;) {
        unsigned child = 2 * at + 1;

        if (child + 1 < s->count &&
            s->entries[child + 1].due < s->entries[child].due) {
            child++;
        }
        if (child >= s->count || s->entries[child].due >= last.due) {
            break;
        }
        s->entries[at] = s->entries[child];
        at = child;
    }
    s->entries[at] = last;
    return who;
}
