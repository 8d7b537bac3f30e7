/*
 * A queue is a list of packets, each of which holds its messages as they will
 * cross the mailbox.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/bus_queue.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "proc/metrics.h"

#define COUNT_MAX 1024    /* messages that may wait for a mailbox */
#define BYTES_MAX 4194304 /* of data */
#define PACK 8192         /* bytes of a packet that others can join */
#define PACK_LITTLE 256   /* room that is not waited for */

struct packet {
    struct list link;
    slot_owner to;
    unsigned count; /* messages */
    uint64_t data;  /* bytes, also of that in memfds */
    int fds[BUS_FDS];
    unsigned fd_count;
    size_t len, size; /* of bytes: used, and there */
    _Alignas(8) uint8_t bytes[];
};

void
bus_queue_init(struct bus_queue *q)
{
    *q = (struct bus_queue){ .count = 0 };
    list_init(&q->packets);
}

static void
drop_packet(struct bus_queue *q, struct packet *p)
{
    list_remove(&p->link);
    q->count -= p->count;
    q->bytes -= p->data;
    for (unsigned i = 0; i < p->fd_count; i++) {
        bus_wire_close_fd(p->fds[i]);
    }
    mem_free(&p);
}

void
bus_queue_drop(struct bus_queue *q)
{
    LIST_EACH (node, &q->packets) {
        drop_packet(q, LIST_ITEM(node, struct packet, link));
    }
}

/* ---- adding ---- */

static struct packet *
last_of(const struct bus_queue *q)
{
    return list_empty(&q->packets)
               ? NULL
               : LIST_ITEM(q->packets.prev, struct packet, link);
}

static size_t
room_of(const struct packet *p)
{
    return p->fd_count > 0 ? 0 : p->size - p->len;
}

bool
bus_queue_is_packed(const struct bus_queue *q)
{
    const struct packet *p = last_of(q);

    return p != NULL && room_of(p) < PACK_LITTLE;
}

/* The packet that a message of that size joins; NULL: none. */
static struct packet *
joined_by(const struct bus_queue *q, const struct bus_wire *w, size_t size)
{
    struct packet *p = last_of(q);

    return p != NULL && w->fd_count == 0 && p->to == w->head.to &&
                   room_of(p) >= size
               ? p
               : NULL;
}

/* For w; NULL: there is no memory, or no descriptor. */
static struct packet *
new_packet(struct bus_queue *q, const struct bus_wire *w, size_t size)
{
    struct packet *p = try_alloc(sizeof(*p) + size);

    if (p == NULL) {
        return NULL;
    }
    *p = (struct packet){ .to = w->head.to, .size = size };
    list_append(&q->packets, &p->link);
    for (; p->fd_count < w->fd_count; p->fd_count++) {
        int copy = fcntl(w->fds[p->fd_count], F_DUPFD_CLOEXEC, 0);

        if (copy == -1) {
            drop_packet(q, p);
            return NULL;
        }
        p->fds[p->fd_count] = copy;
    }
    return p;
}

int
bus_queue_add(struct bus_queue *q, const struct bus_wire *w, bool soon)
{
    uint64_t len = w->head.len;
    size_t size = bus_wire_size(w);
    struct packet *p;

    if (q->count >= COUNT_MAX || (q->count > 0 && q->bytes + len > BYTES_MAX)) {
        return -1;
    }
    p = soon ? joined_by(q, w, size) : NULL;
    if (p == NULL) {
        bool open = soon && w->fd_count == 0 && size < PACK;

        p = new_packet(q, w, open ? PACK : size);
    }
    if (p == NULL) {
        return -1;
    }
    p->len += bus_wire_pack(p->bytes + p->len, w);
    p->count++;
    p->data += len;
    q->count++;
    q->bytes += len;
    return 0;
}

/* ---- sending ---- */

int
bus_queue_send(struct bus_queue *q, int out)
{
    LIST_EACH (node, &q->packets) {
        struct packet *p = LIST_ITEM(node, struct packet, link);

        if (slot_owner_alive(p->to) &&
            bus_wire_send_packed(out, p->bytes, p->len, p->fds, p->fd_count) ==
                -1) {
            if (errno == EAGAIN) {
                return -1;
            }
            log_limited(LOG_ERROR, "%u messages to slot %u were lost: %s",
                        p->count, slot_owner_number(p->to), strerror(errno));
            metric_add(&proc_metrics[PROC_BUS_LOST], 0, p->count);
        }
        drop_packet(q, p);
    }
    return 0;
}
