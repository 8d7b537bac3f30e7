/*
 * A session that speaks Socket.IO: packets come in, are judged as the reference
 * server does it, and go to the session's sockets.
 *
 * A packet with attachments waits until they are there; nothing else may come
 * between.  The session ends when no namespace is joined, or the attachments
 * are not there, within connect_timeout.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/log.h"
#include "base/mem.h"
#include "sio/sio_impl.h"

#define INCOMING_MAX                                        \
    ((size_t)64 << 20) /* bytes of an endpoint's `incoming` \
                        */

/* Sockets of a session that have left within a turn of the loop. */
#define ENDING_MAX 64

struct incoming {
    struct list link; /* sio_halls.incomings */
    struct client *client;
    struct sio_packet packet;
    char *text; /* owned: packet's texts lie in it */
    size_t bytes, have;
    char *attachments[SIO_ATTACHMENTS]; /* owned */
    size_t lengths[SIO_ATTACHMENTS];
};

/* ---- ending ---- */

void
client_close(struct client *c, enum session_end why)
{
    if (c->session != NULL) {
        session_close(c->session, why);
    }
}

static void
refuse(struct client *c, const char *why)
{
    log_limited(LOG_INFO, "sio: session %llu: %s",
                (unsigned long long)c->session->number, why);
    client_close(c, SESSION_PARSE_ERROR);
}

static void
incoming_free(struct incoming **incoming, struct sio_point *point)
{
    struct incoming *in = *incoming;

    if (in == NULL) {
        return;
    }
    for (size_t i = 0; i < in->have; i++) {
        mem_free(&in->attachments[i]);
    }
    list_remove(&in->link);
    point->halls->incoming -= in->bytes;
    mem_free(&in->text);
    mem_free(incoming);
}

static void
client_free(struct client *c)
{
    mem_free(&c->user);
    mem_free(&c);
}

/* The session is over, and all its modules know. */
static void
free_if_done(struct client *c)
{
    if (c->session == NULL && list_empty(&c->sockets) && c->ending_count == 0) {
        client_free(c);
    }
}

void
client_socket_over(struct client *c, struct sio_socket *s)
{
    list_remove(&s->in_client);
    list_append(&c->ending, &s->in_client);
    c->ending_count++;
}

void
client_forget_socket(struct client *c, struct sio_socket *s)
{
    list_remove(&s->in_client);
    c->ending_count--;
    free_if_done(c);
}

/* The words of the reference server. */
static const char *
reason_of(enum session_end why)
{
    static const char *const reasons[SESSION_ENDS] = {
        [SESSION_CLIENT_CLOSED] = "transport close",
        [SESSION_TRANSPORT_LOST] = "transport close",
        [SESSION_PING_TIMEOUT] = "ping timeout",
        [SESSION_PARSE_ERROR] = "parse error",
        [SESSION_TOO_SLOW] = "forced server close",
        [SESSION_NOT_JOINED] = "forced server close",
        [SESSION_SERVER_CLOSED] = "server namespace disconnect",
        [SESSION_KICKED] = "server namespace disconnect",
        [SESSION_REFUSED] = "forced server close",
        [SESSION_ENDPOINT_GONE] = "server shutting down",
        [SESSION_STOPPING] = "server shutting down",
    };

    return why < SESSION_ENDS ? reasons[why] : "forced server close";
}

static bool
is_loss(enum session_end why)
{
    return why == SESSION_CLIENT_CLOSED || why == SESSION_TRANSPORT_LOST ||
           why == SESSION_PING_TIMEOUT;
}

static void
on_close(struct session *s, enum session_end why)
{
    struct client *c = s->user;

    if (c == NULL) {
        return;
    }
    s->user = NULL;
    c->session = NULL;
    timer_stop(c->point->loop, &c->timer);
    incoming_free(&c->incoming, c->point);
    LIST_EACH (node, &c->sockets) {
        socket_over(LIST_ITEM(node, struct sio_socket, in_client),
                    reason_of(why), is_loss(why));
    }
    free_if_done(c);
}

/* ---- beginning ---- */

/* No namespace in time, or no attachments. */
static void
on_due(struct timer *t)
{
    struct client *c = LIST_ITEM(t, struct client, timer);

    client_close(c, c->incoming != NULL ? SESSION_PARSE_ERROR
                                        : SESSION_NOT_JOINED);
}

static void
on_open(struct session *s)
{
    struct client *c = mem_zero(sizeof(*c));

    c->session = s;
    c->point = s->endpoint;
    c->who = s->client;
    c->user = mem_dup(s->client.user.ptr, s->client.user.len);
    c->who.user.ptr = c->user;
    list_init(&c->sockets);
    list_init(&c->ending);
    timer_init(&c->timer, on_due);
    timer_set(c->point->loop, &c->timer, c->point->settings.connect_timeout);
    s->user = c;
}

void
client_joined(struct client *c)
{
    if (!c->joined) {
        c->joined = true;
        timer_stop(c->point->loop, &c->timer);
    }
}

/* ---- sending ---- */

/* Attachments would be left alone: nothing of these is dropped. */
static int
send_all(struct session *s, const struct sio_frames *f)
{
    for (size_t i = 0; i < f->count; i++) {
        if (session_send(s, f->frame[i], 0) == -1) {
            return -1;
        }
    }
    return 0;
}

int
client_send(struct client *c, const struct sio_frames *f,
            const struct engine_mark *mark)
{
    struct session *s = c->session;

    if (s == NULL) {
        return -1;
    }
    if (f->count == 0) {
        session_close(s, SESSION_TOO_SLOW);
        return -1;
    }
    if (f->count > 1) {
        return send_all(s, f);
    }
    return mark->group != 0 ? session_offer(s, f->frame[0], mark)
                            : session_send(s, f->frame[0], mark->key);
}

int
client_send_once(struct client *c, struct sio_frames *f)
{
    static const struct engine_mark none;
    int result = client_send(c, f, &none);

    sio_frames_let_go(f);
    return result;
}

static void
on_full(struct session *s)
{
    struct client *c = s->user;

    LIST_EACH (node, &c->sockets) {
        snapshots_outdate(LIST_ITEM(node, struct sio_socket, in_client), 0);
    }
}

/* A socket that catches up may end the session, and c with it, but not at
 * once: its sockets are freed later. */
static void
on_room(struct session *s)
{
    struct client *c = s->user;

    LIST_EACH (node, &c->sockets) {
        snapshots_catch_up(LIST_ITEM(node, struct sio_socket, in_client));
    }
}

/* ---- packets ---- */

static struct sio_socket *
find_socket(const struct client *c, struct str namespace_name)
{
    LIST_EACH (node, &c->sockets) {
        struct sio_socket *s = LIST_ITEM(node, struct sio_socket, in_client);

        if (str_eq(s->hall->name, namespace_name)) {
            return s;
        }
    }
    return NULL;
}

/* A client that asks again before it is answered has one socket. */
static void
take_connect(struct client *c, struct sio_socket *s, const struct sio_packet *p)
{
    struct sio_hall *h = sio_halls_find(c->point, p->namespace_name);
    struct sio_frames f;

    if (s != NULL && s->state == SOCKET_JOINED) {
        refuse(c, "it has joined that namespace already");
    } else if (s != NULL) {
        return;
    } else if (c->ending_count >= ENDING_MAX) {
        refuse(c, "it joins and leaves too often");
    } else if (h == NULL) {
        sio_packet_refused(&f, p->namespace_name, "Invalid namespace",
                           STR_NONE);
        client_send_once(c, &f);
    } else {
        socket_open(c, h, p->json.len > 0 ? p->json : STR("{}"));
    }
}

static void
take_packet(struct client *c, struct sio_socket *s, const struct sio_packet *p,
            const struct sio_args *args)
{
    if (p->type == SIO_PACKET_CONNECT) {
        take_connect(c, s, p);
        return;
    }
    if (s == NULL || s->state != SOCKET_JOINED) {
        refuse(c, "a packet for a namespace that it has not joined");
        return;
    }
    switch (p->type) {
    case SIO_PACKET_DISCONNECT:
        socket_over(s, "client namespace disconnect", false);
        return;
    case SIO_PACKET_EVENT:
    case SIO_PACKET_BINARY_EVENT:
        socket_event(s, p, args);
        return;
    case SIO_PACKET_CONNECT:
    case SIO_PACKET_ACK: /* none was asked for */
    case SIO_PACKET_BINARY_ACK:
    case SIO_PACKET_CONNECT_ERROR:
        return;
    }
}

/* ---- attachments ---- */

static struct incoming *
largest(const struct sio_halls *h)
{
    struct incoming *found = NULL;

    LIST_EACH (node, &h->incomings) {
        struct incoming *in = LIST_ITEM(node, struct incoming, link);

        if (found == NULL || in->bytes > found->bytes) {
            found = in;
        }
    }
    return found;
}

/* For n bytes more of c's packet.  Where there is no room, the session that
 * holds most goes.  False: that was c. */
static bool
make_room(struct client *c, size_t n)
{
    const struct sio_halls *h = c->point->halls;
    size_t mine = n + (c->incoming != NULL ? c->incoming->bytes : 0);

    while (n > INCOMING_MAX - h->incoming) {
        struct incoming *in = largest(h);
        struct client *most = in == NULL || in->bytes < mine ? c : in->client;

        log_limited(LOG_WARN,
                    "sio: %s: clients' unfinished packets take %zu bytes",
                    c->point->module, h->incoming);
        client_close(most, SESSION_REFUSED);
        if (most == c) {
            return false;
        }
    }
    return true;
}

/* NULL: memory is out. */
static char *
copy_of(struct str data)
{
    char *copy = try_alloc(data.len + 1);

    if (copy != NULL) {
        str_copy(copy, data.len + 1, data);
    }
    return copy;
}

static void
count_bytes(struct client *c, struct incoming *in, size_t n)
{
    in->bytes += n;
    c->point->halls->incoming += n;
}

/* Keeps a packet until its attachments are there. */
static void
await_attachments(struct client *c, struct str text)
{
    struct incoming *in;
    const char *why;

    if (!make_room(c, text.len)) {
        return;
    }
    in = mem_zero(sizeof(*in));
    in->text = copy_of(text);
    if (in->text == NULL) {
        mem_free(&in);
        client_close(c, SESSION_REFUSED);
        return;
    }
    in->client = c;
    list_append(&c->point->halls->incomings, &in->link);
    count_bytes(c, in, text.len);
    c->incoming = in;
    sio_packet_read(&in->packet, str_of(in->text, text.len), &why);
    timer_set(c->point->loop, &c->timer, c->point->settings.connect_timeout);
}

/* The packet is whole; c may be gone afterwards. */
static void
finish_packet(struct client *c)
{
    struct incoming *in = c->incoming;
    struct sio_point *point = c->point;
    struct str attachments[SIO_ATTACHMENTS];
    struct sio_args args = { in->packet.args, attachments, in->have };

    for (size_t i = 0; i < in->have; i++) {
        attachments[i] = str_of(in->attachments[i], in->lengths[i]);
    }
    timer_stop(point->loop, &c->timer);
    c->incoming = NULL;
    take_packet(c, find_socket(c, in->packet.namespace_name), &in->packet,
                &args);
    incoming_free(&in, point);
}

static void
take_attachment(struct client *c, struct str data)
{
    struct incoming *in = c->incoming;
    char *copy;

    if (!make_room(c, data.len)) {
        return;
    }
    copy = copy_of(data);
    if (copy == NULL) {
        client_close(c, SESSION_REFUSED);
        return;
    }
    in->attachments[in->have] = copy;
    in->lengths[in->have++] = data.len;
    count_bytes(c, in, data.len);
    if (in->have == in->packet.attachments) {
        finish_packet(c);
    }
}

static void
take_text(struct client *c, struct str text)
{
    struct sio_args args = { .attachments = NULL };
    struct sio_socket *s;
    struct sio_packet p;
    const char *why;

    if (sio_packet_read(&p, text, &why) == -1) {
        refuse(c, why);
        return;
    }
    s = find_socket(c, p.namespace_name);
    if (p.attachments == 0 || s == NULL || s->state != SOCKET_JOINED) {
        args.json = p.args;
        take_packet(c, s, &p, &args);
    } else {
        await_attachments(c, text);
    }
}

static void
on_message(struct session *s, struct str data, bool binary)
{
    struct client *c = s->user;

    if (c == NULL) {
        return;
    }
    if (binary != (c->incoming != NULL)) {
        refuse(c, binary ? "an attachment of no packet"
                         : "a packet where an attachment is due");
    } else if (binary) {
        take_attachment(c, data);
    } else {
        take_text(c, data);
    }
}

const struct engine_protocol sio_protocol = { on_open, on_message, on_close,
                                              on_full, on_room };

void
sio_session_namespaces(const struct session *s, struct buf *out)
{
    const struct client *c = s->user;
    const char *between = "";

    if (c == NULL) {
        return;
    }
    LIST_EACH (node, &c->sockets) {
        const struct sio_socket *one =
            LIST_ITEM(node, struct sio_socket, in_client);

        if (one->state == SOCKET_JOINED) {
            buf_printf(out, "%s%.*s", between, STR_ARGS(one->hall->name));
            between = ",";
        }
    }
}
