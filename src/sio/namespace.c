/*
 * Halls: each namespace of each endpoint has one.  An event is made once and
 * shared by all that get it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "sio/sio_impl.h"

/* ---- their life ---- */

static void
hall_start(struct sio_hall *h, struct sio_point *p,
           const struct sio_namespace *what)
{
    h->point = p;
    h->what = what;
    h->name = str_from(what->name);
    h->number = (uint32_t)(h - p->halls->halls) + 1;
    list_init(&h->sockets);
    list_init(&h->undecided);
    list_init(&h->ending);
    h->snapshots = snapshots_new(h);
    if (what->on_start != NULL) {
        what->on_start(h, &h->state);
    }
}

static void
end_sockets(struct sio_hall *h)
{
    assert(list_empty(&h->sockets) && list_empty(&h->undecided));
    while (!list_empty(&h->ending)) {
        socket_end(LIST_ITEM(h->ending.next, struct sio_socket, in_hall));
    }
}

static void
hall_stop(struct sio_hall *h)
{
    if (h->what->on_stop != NULL) {
        h->what->on_stop(h, h->state);
    }
}

static void
hall_clear(struct sio_hall *h)
{
    snapshots_free(&h->snapshots);
    recovery_free(&h->recovery);
    names_clear(&h->by_id);
    names_clear(&h->rooms);
}

void
sio_halls_start(struct sio_point *p)
{
    const struct sio_namespace *all = p->what->namespaces;
    size_t count = 0;

    while (all != NULL && all[count].name != NULL) {
        count++;
    }
    p->halls = mem_zero(sizeof(*p->halls));
    p->halls->halls = mem_zero((count + 1) * sizeof(p->halls->halls[0]));
    p->halls->count = count;
    list_init(&p->halls->incomings);
    for (size_t i = 0; i < count; i++) {
        hall_start(&p->halls->halls[i], p, &all[i]);
    }
}

static void
each_hall(const struct sio_point *p, void (*act)(struct sio_hall *h))
{
    for (size_t i = 0; i < p->halls->count; i++) {
        act(&p->halls->halls[i]);
    }
}

/* A module that is told of one hall may turn to another: all of them are whole
 * until it was told everything. */
void
sio_halls_stop(struct sio_point *p)
{
    if (p->halls == NULL) {
        return;
    }
    p->halls->stopping = true;
    each_hall(p, end_sockets);
    each_hall(p, hall_stop);
    each_hall(p, hall_clear);
    mem_free(&p->halls->halls);
    mem_free(&p->halls);
}

struct sio_hall *
sio_halls_find(const struct sio_point *p, struct str name)
{
    for (size_t i = 0; p->halls != NULL && i < p->halls->count; i++) {
        if (str_eq(p->halls->halls[i].name, name)) {
            return &p->halls->halls[i];
        }
    }
    return NULL;
}

struct sio_socket *
sio_hall_socket(struct sio_hall *h, struct str id)
{
    struct name *n = names_find(&h->by_id, id);

    return n != NULL ? NAMED(n, struct sio_socket, name) : NULL;
}

/* ---- events ---- */

bool
aim_includes(const struct aim *a, const struct sio_socket *s)
{
    struct str id = str_from(s->id);

    return !str_eq(a->except, id) &&
           (a->only.len == 0 || str_eq(a->only, id)) &&
           (a->room.len == 0 || room_has(s, a->room));
}

size_t
aim_size(const struct aim *a)
{
    return a->room.len + a->except.len + a->only.len + 3;
}

static struct str
put_text(char **at, struct str text)
{
    struct str copy = str_of(*at, text.len);

    str_copy(*at, text.len + 1, text);
    *at += text.len + 1;
    return copy;
}

void
aim_copy(struct aim *to, char *texts, const struct aim *a)
{
    to->room = put_text(&texts, a->room);
    to->except = put_text(&texts, a->except);
    to->only = put_text(&texts, a->only);
}

/* Whether s does not get an event that goes so now. */
static bool
is_dropped(const struct sio_socket *s, const struct delivery *how)
{
    enum channel_dropped why;

    if ((s->outdated & how->changes) != 0) {
        why = CHANNEL_OUTDATED;
    } else if (how->is_volatile && !session_is_idle(s->client->session)) {
        why = CHANNEL_VOLATILE;
    } else {
        return false;
    }
    metric_add(&channel_metrics[CHANNEL_EVENTS_DROPPED], why, 1);
    return true;
}

void
hall_deliver(struct sio_socket *s, const struct sio_frames *f,
             const struct delivery *how)
{
    struct engine_mark mark = { .key = how->key, .bits = how->changes };

    if (s->state != SOCKET_JOINED || is_dropped(s, how)) {
        return;
    }
    if (how->changes != 0) {
        mark.group = s->hall->number;
    }
    metric_add(&channel_metrics[CHANNEL_EVENTS], METRIC_OUT, 1);
    if (client_send(s->client, f, &mark) == 1) {
        snapshots_outdate(s, how->changes);
    }
}

static void
deliver_to_room(struct sio_hall *h, const struct aim *a,
                const struct sio_frames *f, const struct delivery *how)
{
    struct room *r = room_find(h, a->room);

    if (r == NULL) {
        return;
    }
    room_hold(r);
    LIST_EACH (node, &r->members) {
        struct sio_socket *s =
            LIST_ITEM(node, struct membership, in_room)->socket;

        if (!str_eq(a->except, str_from(s->id))) {
            hall_deliver(s, f, how);
        }
    }
    room_let_go(h, r);
}

/* A session that ends while it is sent to takes its own socket out of the list
 * and no other: its module hears of it later. */
static void
deliver_to_all(struct sio_hall *h, const struct aim *a,
               const struct sio_frames *f, const struct delivery *how)
{
    LIST_EACH (node, &h->sockets) {
        struct sio_socket *s = LIST_ITEM(node, struct sio_socket, in_hall);

        if (a->except.len == 0 || !str_eq(a->except, str_from(s->id))) {
            hall_deliver(s, f, how);
        }
    }
}

static void
deliver(struct sio_hall *h, const struct aim *a, const struct sio_frames *f,
        const struct delivery *how)
{
    if (a->only.len > 0) {
        struct sio_socket *one = sio_hall_socket(h, a->only);

        if (one != NULL) {
            hall_deliver(one, f, how);
        }
    } else if (a->room.len > 0) {
        deliver_to_room(h, a, f, how);
    } else {
        deliver_to_all(h, a, f, how);
    }
}

/* The newest event of that name and key replaces an older one in a session;
 * 0: no event does. */
static uint64_t
key_of(const struct sio_hall *h, const struct sio_message *m)
{
    struct {
        uint64_t hall, event, key;
    } all = { 0, 0, 0 };
    uint64_t hash;

    if (m->key.len == 0) {
        return 0;
    }
    all.hall = hash_str(h->name);
    all.event = hash_str(str_from(m->event));
    all.key = hash_str(m->key);
    hash = hash_str(str_of(&all, sizeof(all)));
    return hash != 0 ? hash : 1;
}

static bool
may_send(const struct sio_hall *h, const struct sio_message *m)
{
    struct errmsg err = { "" };

    if (sio_check_event(str_from(m->event), &err) == -1 ||
        m->args.attachment_count > SIO_ATTACHMENTS) {
        log_limited(LOG_ALERT, "sio: module %s, namespace %.*s: %s",
                    h->point->module, STR_ARGS(h->name),
                    err.text[0] != '\0' ? err.text : "too many attachments");
        return false;
    }
    return true;
}

static bool
is_wanted(const struct sio_hall *h, const struct recovery *r)
{
    return !h->point->halls->stopping &&
           (h->count > 0 || r != NULL || h->snapshots != NULL);
}

static void
emit(struct sio_hall *h, const struct aim *a, const struct sio_message *m)
{
    struct recovery *r = recovery_of(h);
    bool kept = r != NULL && !m->is_volatile;
    char text[RECOVERY_OFFSET];
    struct delivery how = { .is_volatile = m->is_volatile };
    struct sio_frames f;

    if (!may_send(h, m) || !is_wanted(h, r)) {
        return;
    }
    sio_packet_event(
        &f, h->name, str_from(m->event), &m->args,
        recovery_offset(r, recovery_position(r) + (kept ? 1 : 0), text));
    how.key = key_of(h, m);
    how.changes = snapshots_bit(h, m->stales);
    if (kept) {
        recovery_keep(r, a, &f, how.changes);
    }
    if (h->snapshots != NULL) {
        snapshots_note(h->snapshots, m, a, &f);
    }
    deliver(h, a, &f, &how);
    sio_frames_let_go(&f);
}

void
sio_socket_emit(struct sio_socket *s, const struct sio_message *m)
{
    struct aim a = { STR_NONE, STR_NONE, str_from(s->id) };

    if (s->state == SOCKET_JOINED) {
        emit(s->hall, &a, m);
    }
}

void
sio_hall_emit(struct sio_hall *h, struct str room,
              const struct sio_socket *except, const struct sio_message *m)
{
    struct aim a = { room, STR_NONE, STR_NONE };

    if (except != NULL) {
        a.except = str_from(except->id);
    }
    emit(h, &a, m);
}

void
sio_hall_emit_to(struct sio_hall *h, struct str id, const struct sio_message *m)
{
    struct aim a = { STR_NONE, STR_NONE, id };

    if (id.len == SIO_ID) {
        emit(h, &a, m);
    }
}

void
sio_halls_stale(struct sio_point *p, struct str name, const char *snapshot)
{
    struct sio_hall *h = sio_halls_find(p, name);

    if (h != NULL && h->snapshots != NULL) {
        snapshots_stale(h->snapshots, snapshot);
    }
}

static void
renew(struct sio_hall *h)
{
    if (h->recovery != NULL) {
        recovery_forget(h->recovery);
    }
    if (h->snapshots != NULL) {
        snapshots_renew(h->snapshots);
    }
}

void
sio_halls_renew(struct sio_point *p)
{
    if (p->halls != NULL) {
        each_hall(p, renew);
    }
}

/* ---- what a module asks ---- */

const struct sio_namespace *
sio_hall_namespace(const struct sio_hall *h)
{
    return h->what;
}

struct str
sio_hall_endpoint(const struct sio_hall *h)
{
    return h->point->endpoint.name;
}

struct str
sio_hall_variant(const struct sio_hall *h)
{
    return h->point->endpoint.variant;
}

struct loop *
sio_hall_loop(const struct sio_hall *h)
{
    return h->point->loop;
}

void *
sio_hall_state(const struct sio_hall *h)
{
    return h->state;
}

size_t
sio_hall_sockets(const struct sio_hall *h)
{
    return h->count;
}
