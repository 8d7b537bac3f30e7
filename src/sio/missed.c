/*
 * Events for sockets that wait for their snapshots.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio/missed.h"

#include "base/mem.h"

#define COUNT_MAX 4096
#define BYTES_MAX ((size_t)8 << 20)

void
missed_init(struct missed *m)
{
    *m = (struct missed){ .count = 0 };
    list_init(&m->events);
}

void
missed_forget(struct missed *m, uint64_t event)
{
    LIST_EACH (node, &m->events) {
        struct missed_event *e = LIST_ITEM(node, struct missed_event, link);

        list_remove(&e->link);
        sio_frames_let_go(&e->frames);
        mem_free(&e);
    }
    m->count = m->bytes = 0;
    m->from = event;
}

bool
missed_keep(struct missed *m, const struct missed_event *what,
            const struct aim *a, const struct sio_frames *f)
{
    size_t texts = aim_size(a);
    struct missed_event *e = mem_zero(sizeof(*e) + texts);

    e->event = what->event;
    e->position = what->position;
    e->changes = what->changes;
    aim_copy(&e->aim, e->texts, a);
    sio_frames_hold(&e->frames, f);
    e->bytes = sizeof(*e) + texts + f->bytes;
    list_append(&m->events, &e->link);
    m->count++;
    m->bytes += e->bytes;
    return m->count <= COUNT_MAX && m->bytes <= BYTES_MAX;
}
