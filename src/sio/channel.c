/*
 * The process that owns the sessions: its endpoints, and the calls of others.
 *
 * An endpoint (struct sio_point) begins with the first description that has it
 * and ends with the first that has it not.  A request of a client is a struct
 * poll until it is answered, however long that is.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio/channel.h"

#include <string.h>

#include "base/base64.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "net/sha256.h"
#include "sio/channel_impl.h"
#include "sio/channel_wire.h"
#include "sio/point.h"

#define LINGER_MS 2000 /* for a client to read why it was refused */
#define PREFIX_BYTES 3 /* of the node's name, and of this start: 4 letters */
#define DEFLATE_FROM 1024
/* Polls that are held; beyond, no session is opened.  Those that are open have
 * the rest of the requests of a method that a role takes (8192). */
#define HELD_MAX 7168
#define CLOSING_MAX 512 /* WebSockets that end, beside those of sessions */
#define UNFINISHED_MAX ((size_t)256 << 20) /* bytes of messages */

/* A request of the polling transport. */
struct poll {
    struct engine_exchange x;
    struct list link;
    struct channel *channel;
    struct rpc_request *request; /* NULL: it was answered */
};

static struct channel *ours; /* of this process, for its own emits */

struct rpc_method channel_methods[] = {
    [CHANNEL_POLL] = { .name = "channel.poll",
                       .role = CHANNEL_NAME,
                       .caller = BUS_ANYBODY,
                       .request_max = CHANNEL_ASK_MAX,
                       .answer_max = CHANNEL_ANSWER_MAX,
                       .open_max = RPC_OPEN_MAX },
    [CHANNEL_UPGRADE] = { .name = "channel.upgrade",
                          .role = CHANNEL_NAME,
                          .caller = BUS_ANYBODY,
                          .request_max = CHANNEL_UPGRADE_MAX,
                          .answer_max = sizeof(int64_t),
                          .open_max = 1024 },
    [CHANNEL_EMIT] = { .name = "channel.emit",
                       .role = CHANNEL_NAME,
                       .caller = BUS_ANYBODY,
                       .request_max = CHANNEL_EMIT_MAX,
                       .answer_max = 0,
                       .open_max = RPC_OPEN_MAX },
    [CHANNEL_LIST] = { .name = "channel.list",
                       .role = CHANNEL_NAME,
                       .caller = BUS_MASTER,
                       .request_max = sizeof(int64_t),
                       .answer_max = CHANNEL_PAGE_MAX,
                       .open_max = 64 },
    [CHANNEL_KICK] = { .name = "channel.kick",
                       .role = CHANNEL_NAME,
                       .caller = BUS_MASTER,
                       .request_max = sizeof(int64_t),
                       .answer_max = sizeof(int64_t),
                       .open_max = 64 },
    /* Polls that are held leave room for what their clients say. */
    [CHANNEL_POST] = { .name = "channel.post",
                       .role = CHANNEL_NAME,
                       .caller = BUS_ANYBODY,
                       .request_max = CHANNEL_ASK_MAX,
                       .answer_max = CHANNEL_ANSWER_MAX,
                       .open_max = 1024 },
    { .name = NULL },
};

/* ---- polling ---- */

static void
refused(enum channel_refusal why)
{
    metric_add(&channel_metrics[CHANNEL_REFUSED], why, 1);
}

/* Errors that are none of the protocol have their own cells. */
static enum channel_refusal
refusal_of(enum engine_error e)
{
    return e == ENGINE_FULL || e == ENGINE_SHARE ? CHANNEL_REFUSED_SESSIONS
                                                 : (enum channel_refusal)e;
}

static void
free_poll(struct poll *p)
{
    p->channel->poll_count--;
    list_remove(&p->link);
    mem_free(&p);
}

static void
reply(struct rpc_request **r, const struct channel_answer *a)
{
    struct buf b;
    struct pack out = { .to = &b };

    buf_init(&b, CHANNEL_ANSWER_MAX);
    channel_pack_answer(&out, a);
    if (out.full) {
        rpc_refuse(r, "the answer is too long");
    } else {
        rpc_reply(r, buf_data(&b), buf_len(&b), -1);
    }
    buf_clear(&b);
}

static void
on_answer(struct engine_exchange *x, int status, const char *type,
          struct str body)
{
    struct poll *p = LIST_ITEM(x, struct poll, x);
    const struct channel_answer a = {
        .status = status,
        .type = channel_type_of(type),
        .opened = x->opened && x->session != NULL ? str_from(x->session->id)
                                                  : STR_NONE,
        .body = body,
    };

    if (status == engine_error_status(ENGINE_FULL)) {
        refused(CHANNEL_REFUSED_SESSIONS);
    }
    reply(&p->request, &a);
    free_poll(p);
}

/* The client has gone, or the worker that held its request. */
static void
on_gone(void *arg)
{
    struct poll *p = arg;
    struct rpc_request *r = p->request;

    engine_poll_gone(p->channel->engine, &p->x);
    free_poll(p);
    rpc_refuse(&r, "the client has gone");
}

static struct engine_request
make_request(const struct channel_ask *a, struct sio_point *p)
{
    return (struct engine_request){
        .method = a->method,
        .query = a->query,
        .content_type = a->content_type,
        .body = a->body,
        .client = a->client,
        .settings = &p->engine_settings,
        .protocol = a->plain ? p->what->plain : &sio_protocol,
        .endpoint = p,
    };
}

/* Why no session can be opened, or asked, at all; NULL: it can. */
static const char *
objection(const struct channel *c, const struct channel_ask *a,
          const struct sio_point *p)
{
    if (p == NULL || (a->plain && p->what->plain == NULL)) {
        return "this endpoint is not there yet, or not any more";
    }
    if (c->draining) {
        return "weir stops";
    }
    if (a->query.sid.len == 0 && c->poll_count >= HELD_MAX &&
        str_eq(a->query.transport, STR("polling"))) {
        refused(CHANNEL_REFUSED_SESSIONS);
        return "there are as many polls as the channel can hold";
    }
    return NULL;
}

static void
on_poll(void *arg, struct rpc_request *r)
{
    struct unpack in = { .rest = str_of(r->data, r->len) };
    struct channel *c = arg;
    struct engine_request request;
    struct channel_ask ask;
    struct sio_point *point;
    const char *why;
    struct poll *p;

    if (!channel_unpack_ask(&in, &ask) || !unpack_ends(&in)) {
        rpc_refuse(&r, "the request makes no sense");
        return;
    }
    point = channel_find_point(c, ask.module, ask.endpoint);
    why = objection(c, &ask, point);
    if (why != NULL) {
        rpc_refuse(&r, why);
        return;
    }
    request = make_request(&ask, point);
    p = mem_zero(sizeof(*p));
    p->x.answer = on_answer;
    p->channel = c;
    p->request = r;
    r->on_gone = on_gone;
    r->arg = p;
    list_append(&c->polls, &p->link);
    c->poll_count++;
    engine_poll(c->engine, &request, &p->x);
}

/* ---- upgrades ---- */

static void
reply_number(struct rpc_request **r, uint64_t n)
{
    int64_t data = (int64_t)n;

    rpc_reply(r, &data, sizeof(data), -1);
}

/* As the reference server words it. */
static void
refuse_upgrade(struct conn *c, struct rpc_request **r, int status,
               const char *why)
{
    char head[512];
    int n =
        snprintf(head, sizeof(head),
                 "HTTP/1.1 %s\r\nConnection: close\r\n%s"
                 "Content-Type: text/html\r\nContent-Length: %zu\r\n\r\n%s",
                 status == 503   ? "503 Service Unavailable"
                 : status == 403 ? "403 Forbidden"
                                 : "400 Bad Request",
                 status == 503 ? "Retry-After: 1\r\n" : "", strlen(why), why);

    conn_part(c, str_of(head, (size_t)n), LINGER_MS, why);
    reply_number(r, (uint64_t)status);
}

static void
upgrade(struct channel *c, struct rpc_request **r, struct channel_ask *ask,
        struct conn *conn)
{
    struct sio_point *point = channel_find_point(c, ask->module, ask->endpoint);
    const char *why = objection(c, ask, point);
    struct engine_request request;
    enum engine_error e;

    if (why != NULL) {
        refuse_upgrade(conn, r, 503, why);
        return;
    }
    request = make_request(ask, point);
    ask->handshake.deflate = ask->handshake.deflate && point->settings.deflate;
    ask->handshake.message_max = point->engine_settings.max_payload;
    ask->handshake.deflate_from = DEFLATE_FROM;
    e = engine_upgrade(c->engine, &request, conn, &ask->handshake);
    if (e != ENGINE_OK) {
        refused(refusal_of(e));
        refuse_upgrade(conn, r, engine_error_status(e), engine_error_text(e));
        return;
    }
    reply_number(r, 101);
}

static void
on_upgrade(void *arg, struct rpc_request *r)
{
    static const struct conn_limits limits = { .in_limit = CHANNEL_UNREAD,
                                               .out_limit = CHANNEL_UNREAD };
    struct unpack in = { .rest = str_of(r->data, r->len) };
    struct channel *c = arg;
    struct channel_ask ask;
    struct errmsg err;
    struct conn *conn;
    int fd = r->fd;

    if (!channel_unpack_ask(&in, &ask) || fd == -1) {
        rpc_refuse(&r, "the request makes no sense");
        return;
    }
    r->fd = -1;
    conn = conn_attach(c->loop, fd, &in, &limits, &err);
    if (conn == NULL) {
        rpc_refuse(&r, err.text);
        return;
    }
    upgrade(c, &r, &ask, conn);
}

/* ---- events of other processes ---- */

static void
emit_in(struct sio_point *p, const struct sio_target *to,
        const struct sio_message *m)
{
    struct sio_hall *h = sio_halls_find(p, str_from(to->namespace_name));

    if (h != NULL && to->socket.len > 0) {
        sio_hall_emit_to(h, to->socket, m);
    } else if (h != NULL) {
        sio_hall_emit(h, to->room, NULL, m);
    }
}

/* A message without an event. */
static void
change(struct sio_point *p, const struct sio_target *to, const char *stales)
{
    if (stales == NULL) {
        sio_halls_renew(p);
    } else {
        sio_halls_stale(p, str_from(to->namespace_name), stales);
    }
}

static void
emit(struct channel *c, const struct sio_target *to,
     const struct sio_message *m)
{
    bool is_event = m->event[0] != '\0';

    LIST_EACH (node, &c->points) {
        struct sio_point *p = LIST_ITEM(node, struct sio_point, link);

        if (strcmp(p->module, to->module) == 0 &&
            (to->endpoint.len == 0 || str_eq(to->endpoint, p->endpoint.name))) {
            is_event ? emit_in(p, to, m) : change(p, to, m->stales);
        }
    }
}

bool
channel_emit_here(const struct sio_target *to, const struct sio_message *m)
{
    if (ours == NULL) {
        return false;
    }
    emit(ours, to, m);
    return true;
}

static void
on_emit(void *arg, struct rpc_request *r)
{
    struct str attachments[SIO_ATTACHMENTS];
    struct sio_target to;
    struct sio_message m;
    struct errmsg err;

    if (!channel_unpack_emit(str_of(r->data, r->len), &to, &m, attachments)) {
        rpc_refuse(&r, "the request makes no sense");
        return;
    }
    if ((m.event[0] != '\0' &&
         sio_check_event(str_from(m.event), &err) == -1) ||
        sio_check_args(&m.args, &err) == -1) {
        rpc_refuse(&r, err.text);
        return;
    }
    emit(arg, &to, &m);
    rpc_reply(&r, NULL, 0, -1);
}

/* ---- commands of the operator ---- */

struct page {
    struct channel *channel;
    uint64_t after;  /* a session's number */
    struct pack out; /* full: no more of them fit */
};

static void
add_row(void *arg, struct session *s)
{
    const struct sio_point *p = s->endpoint;
    struct page *page = arg;
    struct pack *out = &page->out;
    struct buf names, *to = out->to;
    struct channel_row row = {
        .number = s->number,
        .module = str_from(p->module),
        .endpoint = p->endpoint.name,
        .plain = s->protocol != &sio_protocol,
        .websocket = session_is_websocket(s),
        .secure = s->client.secure,
        .client = s->client.address,
        .user = s->client.user,
        .age_ms = loop_now(page->channel->loop) - s->opened_ms,
        .queued = session_queued(s),
    };
    size_t before = buf_len(to);

    if (s->number <= page->after || out->full) {
        return;
    }
    buf_init(&names, CHANNEL_TEXT);
    if (!row.plain) {
        sio_session_namespaces(s, &names);
    }
    row.namespaces = buf_str(&names);
    memcpy(row.packets, s->packets, sizeof(row.packets));
    memcpy(row.bytes, s->bytes, sizeof(row.bytes));
    channel_pack_row(out, &row);
    buf_clear(&names);
    if (out->full) {
        to->tail = to->head + before; /* whole rows only */
    }
}

static void
on_list(void *arg, struct rpc_request *r)
{
    struct page page = { .channel = arg };
    struct buf b;

    if (!channel_unpack_number(str_of(r->data, r->len), &page.after)) {
        rpc_refuse(&r, "the request makes no sense");
        return;
    }
    buf_init(&b, CHANNEL_PAGE_MAX);
    page.out.to = &b;
    engine_each(page.channel->engine, add_row, &page);
    rpc_reply(&r, buf_data(&b), buf_len(&b), -1);
    buf_clear(&b);
}

struct kick {
    uint64_t number; /* 0: all */
    uint64_t kicked;
};

static void
kick_one(void *arg, struct session *s)
{
    struct kick *k = arg;

    if (k->number == 0 || k->number == s->number) {
        k->kicked++;
        session_close(s, SESSION_KICKED);
    }
}

static void
on_kick(void *arg, struct rpc_request *r)
{
    struct channel *c = arg;
    struct kick k = { 0 };

    if (!channel_unpack_number(str_of(r->data, r->len), &k.number)) {
        rpc_refuse(&r, "the request makes no sense");
        return;
    }
    engine_each(c->engine, kick_one, &k);
    reply_number(&r, k.kicked);
}

/* ---- life ---- */

/* Names the node and this start: 8 letters of base64url. */
static void
make_prefix(struct str node, char *out)
{
    uint8_t digest[DIGEST_SHA256], bytes[2 * PREFIX_BYTES];

    digest_sha256(node.ptr, node.len, digest);
    memcpy(bytes, digest, PREFIX_BYTES);
    rand_bytes(bytes + PREFIX_BYTES, PREFIX_BYTES);
    base64_encode(BASE64_URL, bytes, sizeof(bytes), out);
}

static void
serve(struct channel *c)
{
    rpc_serve(&channel_methods[CHANNEL_POLL], on_poll, c);
    rpc_serve(&channel_methods[CHANNEL_POST], on_poll, c);
    rpc_serve(&channel_methods[CHANNEL_UPGRADE], on_upgrade, c);
    rpc_serve(&channel_methods[CHANNEL_EMIT], on_emit, c);
    rpc_serve(&channel_methods[CHANNEL_LIST], on_list, c);
    rpc_serve(&channel_methods[CHANNEL_KICK], on_kick, c);
}

struct channel *
channel_start(struct loop *l, struct str node, const struct channel_settings *s,
              const struct channel_module *modules)
{
    const struct ws_limits limits = {
        .connections = (unsigned)s->max_sessions + CLOSING_MAX,
        .deflated = (unsigned)s->max_deflated,
        .unfinished = UNFINISHED_MAX,
    };
    char prefix[BASE64_ROOM(2 * PREFIX_BYTES)];
    struct ws_host *ws = ws_host_new(l, &limits);
    struct channel *c;

    c = mem_zero(sizeof(*c));
    c->loop = l;
    c->modules = modules;
    c->ws = ws;
    c->sessions_max = (size_t)s->max_sessions;
    list_init(&c->points);
    list_init(&c->polls);
    make_prefix(node, prefix);
    c->engine = engine_new(l, ws, prefix, c->sessions_max);
    serve(c);
    ours = c;
    return c;
}

void
channel_drain(struct channel *c)
{
    c->draining = true;
    engine_end_all(c->engine, NULL, SESSION_STOPPING);
}

void
channel_stop(struct channel **channel)
{
    struct channel *c = *channel;

    ours = NULL;
    c->draining = true;
    engine_free(&c->engine, SESSION_STOPPING);
    LIST_EACH (node, &c->polls) {
        struct poll *p = LIST_ITEM(node, struct poll, link);

        rpc_refuse(&p->request, "weir stops");
        free_poll(p);
    }
    LIST_EACH (node, &c->points) {
        struct sio_point *p = LIST_ITEM(node, struct sio_point, link);

        channel_free_point(p);
    }
    ws_host_free(&c->ws);
    mem_free(&c);
    *channel = NULL;
}
