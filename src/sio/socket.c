/*
 * A client in a namespace: it asks, is accepted, joins, leaves.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "base/base64.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "sio/sio_impl.h"

#define ACKS_MAX                                                \
    1024 /* of a socket that are open; over it the session ends \
          */
#define ID_BYTES (SIO_ID / 4 * 3)

_Static_assert(BASE64_ROOM(ID_BYTES) == SIO_ID + 1, "an id has no padding");

struct sio_ack {
    struct list link;          /* sio_socket.acks */
    struct sio_socket *socket; /* NULL: it is over */
    char id[SIO_PACKET_ID_DIGITS + 1];
};

static struct loop *
loop_of(const struct sio_socket *s)
{
    return s->hall->point->loop;
}

/* ---- asking ---- */

/* base64url, so that it can stand in a URL. */
static void
draw_id(char id[SIO_ID + 1])
{
    uint8_t bytes[ID_BYTES];

    rand_bytes(bytes, sizeof(bytes));
    base64_encode(BASE64_URL, bytes, sizeof(bytes), id);
}

/* It has not joined in time, or has not taken its snapshots. */
static void
on_due(struct timer *t)
{
    struct sio_socket *s = LIST_ITEM(t, struct sio_socket, timer);
    bool slow = s->state == SOCKET_JOINED;

    if (slow && !snapshots_owed(s)) {
        return;
    }
    log_limited(LOG_INFO, "sio: session %llu: %s within connect_timeout",
                (unsigned long long)s->client->session->number,
                slow ? "it has not taken its snapshot" : "it could not join");
    client_close(s->client, slow ? SESSION_TOO_SLOW : SESSION_NOT_JOINED);
}

static void
on_ending(struct later *later)
{
    socket_end(LIST_ITEM(later, struct sio_socket, ending));
}

static struct sio_socket *
socket_new(struct client *c, struct sio_hall *h)
{
    struct sio_socket *s = mem_zero(sizeof(*s));

    s->client = c;
    s->hall = h;
    list_append(&c->sockets, &s->in_client);
    list_append(&h->undecided, &s->in_hall);
    list_init(&s->behind);
    list_init(&s->rooms);
    list_init(&s->acks);
    timer_init(&s->timer, on_due);
    later_init(&s->ending, on_ending);
    draw_id(s->id);
    return s;
}

void
socket_open(struct client *c, struct sio_hall *h, struct str auth)
{
    struct sio_socket *s = socket_new(c, h);
    struct recovery *r = recovery_of(h);

    timer_set(loop_of(s), &s->timer, h->point->settings.connect_timeout);
    s->auth = try_alloc(auth.len + 1);
    if (s->auth == NULL) {
        client_close(c, SESSION_REFUSED);
        return;
    }
    s->auth_len = str_copy(s->auth, auth.len + 1, auth);
    if (r != NULL && recovery_restore(r, auth, s)) {
        s->recovered = true;
        socket_join(s);
        return;
    }
    if (r != NULL) {
        draw_id(s->pid);
    }
    s->known = true;
    if (h->what->on_connect != NULL) {
        h->what->on_connect(s, auth);
    } else {
        sio_accept(s);
    }
}

void
sio_accept(struct sio_socket *s)
{
    if (s->state != SOCKET_ASKED) {
        return;
    }
    s->state = SOCKET_WAITS;
    if (s->hall->snapshots != NULL) {
        snapshots_wait(s);
    } else {
        socket_join(s);
    }
}

static void
turn_away(struct sio_socket *s, const char *message, struct str data,
          const char *reason)
{
    struct sio_frames f;

    sio_packet_refused(&f, s->hall->name, message, data);
    client_send_once(s->client, &f);
    socket_over(s, reason, false);
}

void
sio_refuse(struct sio_socket *s, const char *message, struct str data)
{
    if (s->state == SOCKET_ASKED) {
        s->known = false;
        turn_away(s, message, data, "refused");
    }
}

/* ---- joining ---- */

static void
enter_hall(struct sio_socket *s)
{
    struct sio_hall *h = s->hall;

    s->state = SOCKET_JOINED;
    timer_stop(loop_of(s), &s->timer);
    list_remove(&s->in_hall);
    list_append(&h->sockets, &s->in_hall);
    names_add(&h->by_id, &s->name, str_from(s->id));
    h->count++;
    metric_add(&channel_metrics[CHANNEL_SOCKETS], 0, 1);
    client_joined(s->client);
}

/* CONNECT, then what it has to know. */
static void
greet(struct sio_socket *s)
{
    struct recovery *r = recovery_of(s->hall);
    uint64_t position = s->position;
    struct sio_frames f;

    sio_packet_connected(&f, s->hall->name, str_from(s->id), str_from(s->pid));
    if (client_send_once(s->client, &f) == -1) {
        return;
    }
    s->position = recovery_position(r);
    if (s->recovered) {
        recovery_replay(r, s, position);
    } else if (s->hall->snapshots != NULL) {
        snapshots_send(s);
    }
    if (s->state == SOCKET_JOINED && s->last != 0) {
        timer_set(loop_of(s), &s->timer,
                  s->hall->point->settings.connect_timeout);
    }
}

void
socket_join(struct sio_socket *s)
{
    enter_hall(s);
    greet(s);
    if (s->state == SOCKET_JOINED) {
        s->known = true;
        if (s->hall->what->on_joined != NULL) {
            s->hall->what->on_joined(s, str_of(s->auth, s->auth_len));
        }
    }
    mem_free(&s->auth);
}

/* ---- leaving ---- */

static void
forget_acks(struct sio_socket *s)
{
    LIST_EACH (node, &s->acks) {
        LIST_ITEM(node, struct sio_ack, link)->socket = NULL;
        list_remove(node);
    }
}

static void
leave_hall(struct sio_socket *s, bool recoverable)
{
    struct sio_hall *h = s->hall;
    struct recovery *r = recovery_of(h);

    if (recoverable && r != NULL && s->pid[0] != '\0' && s->outdated == 0) {
        recovery_lose(r, s);
    }
    names_remove(&h->by_id, &s->name);
    h->count--;
    metric_add(&channel_metrics[CHANNEL_SOCKETS], 0, -1);
}

void
socket_over(struct sio_socket *s, const char *reason, bool recoverable)
{
    if (s->state == SOCKET_OVER) {
        return;
    }
    if (s->state == SOCKET_JOINED) {
        leave_hall(s, recoverable);
    }
    s->state = SOCKET_OVER;
    s->reason = reason;
    timer_stop(loop_of(s), &s->timer);
    room_leave_all(s);
    forget_acks(s);
    list_remove(&s->behind);
    list_remove(&s->in_hall);
    list_append(&s->hall->ending, &s->in_hall);
    client_socket_over(s->client, s);
    loop_later(loop_of(s), &s->ending);
}

void
socket_end(struct sio_socket *s)
{
    later_cancel(&s->ending);
    list_remove(&s->in_hall);
    if (s->known && s->hall->what->on_disconnect != NULL) {
        s->hall->what->on_disconnect(s, s->reason);
    }
    client_forget_socket(s->client, s);
    mem_free(&s->auth);
    mem_free(&s);
}

static void
leave(struct sio_socket *s)
{
    static const char reason[] = "server namespace disconnect";
    struct sio_frames f;

    if (s->state == SOCKET_JOINED) {
        sio_packet_left(&f, s->hall->name);
        client_send_once(s->client, &f);
        socket_over(s, reason, false);
    } else if (s->state != SOCKET_OVER) {
        turn_away(s, "disconnected", STR_NONE, reason);
    }
}

void
sio_disconnect(struct sio_socket *s, bool session)
{
    struct client *c = s->client;

    if (s->state == SOCKET_OVER) {
        return;
    }
    if (!session) {
        leave(s);
        return;
    }
    while (!list_empty(&c->sockets)) { /* one may end them all */
        leave(LIST_ITEM(c->sockets.next, struct sio_socket, in_client));
    }
    client_close(c, SESSION_SERVER_CLOSED);
}

/* ---- events, acks ---- */

static const struct sio_event *
find_event(const struct sio_event *e, struct str name)
{
    for (; e != NULL && e->name != NULL; e++) {
        if (str_eq(str_from(e->name), name) || strcmp(e->name, "*") == 0) {
            return e;
        }
    }
    return NULL;
}

static struct sio_ack *
ack_new(struct sio_socket *s, struct str id)
{
    struct sio_ack *a = mem_zero(sizeof(*a));

    a->socket = s;
    str_copy(a->id, sizeof(a->id), id);
    list_append(&s->acks, &a->link);
    s->ack_count++;
    return a;
}

void
socket_event(struct sio_socket *s, const struct sio_packet *p,
             const struct sio_args *args)
{
    const struct sio_event *e = find_event(s->hall->what->events, p->event);
    struct sio_ack *ack = NULL;

    metric_add(&channel_metrics[CHANNEL_EVENTS], METRIC_IN, 1);
    if (e == NULL) {
        return;
    }
    if (p->id.len > 0 && s->ack_count == ACKS_MAX) {
        log_limited(LOG_INFO, "sio: session %llu: %d acks are open",
                    (unsigned long long)s->client->session->number, ACKS_MAX);
        client_close(s->client, SESSION_TOO_SLOW);
        return;
    }
    if (p->id.len > 0) {
        ack = ack_new(s, p->id);
    }
    e->handler(s, p->event, args, ack);
}

void
sio_ack_send(struct sio_ack **ack, const struct sio_args *args)
{
    static const struct sio_args none;
    struct sio_ack *a = *ack;
    struct sio_frames f;

    *ack = NULL;
    if (a == NULL) {
        return;
    }
    if (a->socket != NULL) {
        struct sio_socket *s = a->socket;

        list_remove(&a->link);
        s->ack_count--;
        sio_packet_ack(&f, s->hall->name, str_from(a->id),
                       args != NULL ? args : &none);
        client_send_once(s->client, &f);
    }
    mem_free(&a);
}

/* ---- what a module asks ---- */

struct str
sio_socket_id(const struct sio_socket *s)
{
    return str_from(s->id);
}

const struct engine_client *
sio_socket_client(const struct sio_socket *s)
{
    return &s->client->who;
}

struct sio_hall *
sio_socket_hall(const struct sio_socket *s)
{
    return s->hall;
}

void *
sio_socket_user(const struct sio_socket *s)
{
    return s->user;
}

void
sio_socket_set_user(struct sio_socket *s, void *user)
{
    s->user = user;
}

bool
sio_socket_recovered(const struct sio_socket *s)
{
    return s->recovered;
}
