/*
 * Connection state recovery, as socket.io 4.6 has it: a client that lost its
 * connection comes back within the time that is set, with the pid of its socket
 * and the offset of the last event that it got.  It is the same socket then, in
 * the same rooms, and gets the events that it has missed, in order.
 *
 * Each event carries the position that its hall has reached as its last
 * argument, so that a client can always say where it stands.
 *
 * In memory: events and lost sockets for that time, and no more of them than
 * the bounds below; the oldest go first.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sio/sio_impl.h"
#include "json/read.h"

#define EVENTS_MAX 16384
#define BYTES_MAX ((size_t)8 << 20) /* of events */
#define LOST_MAX 4096
#define LOST_BYTES_MAX ((size_t)8 << 20) /* of lost sockets */
#define CLAIM_MAX \
    16384             /* bytes that a client says of itself; tokens are long */
#define LOOK_MS 10000 /* between two looks for what is too old */

struct kept {
    struct list link; /* recovery.events, by position */
    uint64_t position;
    int64_t at_ms;
    uint32_t changes;         /* delivery.changes */
    struct aim aim;           /* its texts are `texts` */
    struct sio_frames frames; /* held */
    size_t bytes;
    char texts[];
};

struct lost {
    struct list link; /* recovery.lost, the oldest first */
    struct name name; /* recovery.by_pid */
    int64_t at_ms;
    uint64_t position; /* it had all up to there when it joined */
    uint64_t proof;    /* sio_socket.proof */
    char id[SIO_ID + 1], pid[SIO_ID + 1];
    size_t bytes, room_count;
    char *user; /* owned; of the client */
    size_t user_len;
    char rooms[]; /* of each its length, a byte, then its name */
};

struct recovery {
    struct sio_hall *hall; /* borrowed */
    struct list events, lost;
    size_t event_count, event_bytes;
    size_t lost_count, lost_bytes;
    struct names by_pid;
    uint64_t position; /* of the last event; the first has 1 */
    uint64_t gone;     /* of the last one that is not kept any more */
    struct timer timer;
};

static int64_t
now_of(const struct recovery *r)
{
    return loop_now(r->hall->point->loop);
}

/* ---- forgetting ---- */

static void
forget_event(struct recovery *r, struct kept *k)
{
    r->gone = k->position;
    r->event_count--;
    r->event_bytes -= k->bytes;
    list_remove(&k->link);
    sio_frames_let_go(&k->frames);
    mem_free(&k);
}

static void
forget_lost(struct recovery *r, struct lost *l)
{
    r->lost_count--;
    r->lost_bytes -= l->bytes;
    names_remove(&r->by_pid, &l->name);
    list_remove(&l->link);
    mem_free(&l->user);
    mem_free(&l);
}

static void
forget_old(struct recovery *r, int64_t before_ms)
{
    LIST_EACH (node, &r->events) {
        struct kept *k = LIST_ITEM(node, struct kept, link);

        if (k->at_ms >= before_ms && r->event_count <= EVENTS_MAX &&
            r->event_bytes <= BYTES_MAX) {
            break;
        }
        forget_event(r, k);
    }
    LIST_EACH (node, &r->lost) {
        struct lost *l = LIST_ITEM(node, struct lost, link);

        if (l->at_ms >= before_ms && r->lost_count <= LOST_MAX &&
            r->lost_bytes <= LOST_BYTES_MAX) {
            break;
        }
        forget_lost(r, l);
    }
}

static void
look(struct recovery *r)
{
    forget_old(r, now_of(r) - r->hall->point->settings.recovery);
    if (!timer_is_set(&r->timer) && r->event_count + r->lost_count > 0) {
        timer_set(r->hall->point->loop, &r->timer, LOOK_MS);
    }
}

static void
on_due(struct timer *t)
{
    look(LIST_ITEM(t, struct recovery, timer));
}

/* ---- its life ---- */

/* A reload may set the time, and change it. */
struct recovery *
recovery_of(struct sio_hall *h)
{
    struct recovery *r = h->recovery;

    if (h->point->settings.recovery <= 0 || h->point->halls->stopping) {
        return NULL;
    }
    if (r == NULL) {
        r = h->recovery = mem_zero(sizeof(*r));
        r->hall = h;
        list_init(&r->events);
        list_init(&r->lost);
        timer_init(&r->timer, on_due);
    }
    return r;
}

void
recovery_forget(struct recovery *r)
{
    LIST_EACH (node, &r->events) {
        forget_event(r, LIST_ITEM(node, struct kept, link));
    }
    LIST_EACH (node, &r->lost) {
        forget_lost(r, LIST_ITEM(node, struct lost, link));
    }
    r->gone = r->position;
}

void
recovery_free(struct recovery **recovery)
{
    struct recovery *r = *recovery;

    if (r == NULL) {
        return;
    }
    recovery_forget(r);
    timer_stop(r->hall->point->loop, &r->timer);
    names_clear(&r->by_pid);
    mem_free(recovery);
}

/* ---- events ---- */

uint64_t
recovery_position(const struct recovery *r)
{
    return r != NULL ? r->position : 0;
}

struct str
recovery_offset(const struct recovery *r, uint64_t position,
                char out[RECOVERY_OFFSET])
{
    if (r == NULL) {
        return STR_NONE;
    }
    return str_of(out, (size_t)snprintf(out, RECOVERY_OFFSET, "%llu",
                                        (unsigned long long)position));
}

void
recovery_keep(struct recovery *r, const struct aim *a,
              const struct sio_frames *f, uint32_t changes)
{
    size_t texts = aim_size(a);
    struct kept *k = mem_zero(sizeof(*k) + texts);

    k->position = ++r->position;
    k->at_ms = now_of(r);
    k->changes = changes;
    aim_copy(&k->aim, k->texts, a);
    sio_frames_hold(&k->frames, f);
    k->bytes = sizeof(*k) + texts + f->bytes;
    list_append(&r->events, &k->link);
    r->event_count++;
    r->event_bytes += k->bytes;
    look(r);
}

/* ---- sockets ---- */

static struct str
room_of(struct list *node)
{
    return LIST_ITEM(node, struct membership, in_socket)->room->name.text;
}

void
recovery_lose(struct recovery *r, const struct sio_socket *s)
{
    struct str user = s->client->who.user;
    size_t texts = 0;
    struct lost *l;
    char *at;

    LIST_EACH (node, &s->rooms) {
        texts += 1 + room_of(node).len;
    }
    l = mem_zero(sizeof(*l) + texts);
    at = l->rooms;
    LIST_EACH (node, &s->rooms) {
        struct str room = room_of(node);

        *at++ = (char)(unsigned char)room.len;
        memcpy(at, room.ptr, room.len);
        at += room.len;
        l->room_count++;
    }
    memcpy(l->id, s->id, sizeof(l->id));
    memcpy(l->pid, s->pid, sizeof(l->pid));
    l->position = s->position;
    l->proof = s->proof;
    l->at_ms = now_of(r);
    l->user = mem_dup(user.ptr, user.len);
    l->user_len = user.len;
    l->bytes = sizeof(*l) + texts + user.len;
    names_add(&r->by_pid, &l->name, str_of(l->pid, SIO_ID));
    list_append(&r->lost, &l->link);
    r->lost_count++;
    r->lost_bytes += l->bytes;
    look(r);
}

/* The client says of itself {"pid":"..","offset":".."}. */
static struct lost *
find_lost(const struct recovery *r, struct str auth, uint64_t *offset)
{
    struct pool *pool = pool_new(256);
    struct errmsg err;
    const struct json_value *v = json_read(pool, auth, &err);
    struct name *n = names_find(&r->by_pid, json_member_str(v, "pid"));
    int64_t at = -1;

    if (!str_to_int(json_member_str(v, "offset"), 0, INT64_MAX, &at)) {
        n = NULL;
    }
    *offset = (uint64_t)at;
    pool_free(&pool);
    return n != NULL ? NAMED(n, struct lost, name) : NULL;
}

static bool
asks(struct str auth)
{
    return auth.len <= CLAIM_MAX &&
           memmem(auth.ptr, auth.len, "\"pid\"", 5) != NULL;
}

static void
take_back(struct recovery *r, struct lost *l, struct sio_socket *s)
{
    const char *room = l->rooms;

    memcpy(s->id, l->id, sizeof(s->id));
    memcpy(s->pid, l->pid, sizeof(s->pid));
    for (size_t i = 0; i < l->room_count; i++) {
        size_t len = (unsigned char)*room++;

        sio_join(s, str_of(room, len));
        room += len;
    }
    forget_lost(r, l);
}

bool
recovery_restore(struct recovery *r, struct str auth, struct sio_socket *s)
{
    struct lost *l;
    uint64_t offset;
    bool known;

    if (!asks(auth)) {
        return false;
    }
    look(r);
    l = find_lost(r, auth, &offset);
    known = l != NULL && offset >= r->gone && offset >= l->proof &&
            offset <= r->position &&
            str_eq(s->client->who.user, str_of(l->user, l->user_len));
    if (known) {
        s->position = offset > l->position ? offset : l->position;
        take_back(r, l, s);
    }
    metric_add(&channel_metrics[CHANNEL_RECOVERIES],
               known ? CHANNEL_RECOVERED : CHANNEL_NOT_RECOVERED, 1);
    return known;
}

void
recovery_replay(struct recovery *r, struct sio_socket *s, uint64_t position)
{
    if (r == NULL) {
        return;
    }
    LIST_EACH (node, &r->events) {
        struct kept *k = LIST_ITEM(node, struct kept, link);
        struct delivery how = { .changes = k->changes };

        if (k->position > position && aim_includes(&k->aim, s)) {
            hall_deliver(s, &k->frames, &how);
        }
    }
}
