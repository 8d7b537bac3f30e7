/*
 * Requests of Engine.IO in a worker.
 *
 * A polling request waits for one answer of the channel; of an upgrade the
 * connection goes there (front_upgrade.c).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio/front_impl.h"

#include <string.h>

#include "base/mem.h"
#include "http/metrics.h"
#include "http/websocket.h"

/* The channel answers a poll when it asks whether the client is there, or sees
 * that it is not.  A session keeps the times that it began with, whatever the
 * settings of this worker: so that is the most that any settings allow. */
#define POLL_MS (2 * SIO_PING_MAX + 10000)
/* A client may poll and close its session at once, over two connections, and so
 * over two workers: the close waits so long for the poll to be there first. */
#define CLOSE_MS 20
#define RETRY_AFTER STR("1") /* seconds */

struct sio_front {
    const char *module; /* static */
    const struct sio_module *what;
    struct sio_endpoint endpoint;
    uint32_t generation;
};

/* ---- refusals ---- */

void
front_refused(enum channel_refusal why)
{
    metric_add(&channel_metrics[CHANNEL_REFUSED], why, 1);
}

/* Bytes behind a request for an upgrade are no request: the connection ends. */
enum http_result
front_answer_upgrade(struct http_request *r, int status, const char *why)
{
    http_note(r, "engine.io: %s", why);
    http_set_close(r);
    return http_reply(r, status, channel_type_text(CHANNEL_HTML),
                      str_from(why));
}

static enum http_result
refuse(struct http_request *r, enum engine_error e, bool is_upgrade)
{
    int status = e == ENGINE_FORBIDDEN ? 403 : 400;

    front_refused((enum channel_refusal)e);
    if (is_upgrade) {
        return front_answer_upgrade(r, status, engine_error_text(e));
    }
    http_note(r, "engine.io: %s", engine_error_text(e));
    return http_reply(r, status, channel_type_text(CHANNEL_JSON),
                      engine_error_body(e));
}

static enum http_result
refuse_away(struct http_request *r, struct str why)
{
    front_refused(CHANNEL_REFUSED_AWAY);
    http_note(r, "engine.io: %.*s", STR_ARGS(why));
    http_set_header(r, "Retry-After", RETRY_AFTER);
    return http_error(r, 503, "%.*s", STR_ARGS(why));
}

/* Filters of the location refuse in this form, too. */
static const char *
error_body(struct http_request *r, int status, struct str message,
           struct buf *out)
{
    if (status != 403 || (!str_starts(r->route_path, STR("/socket.io/")) &&
                          !str_starts(r->route_path, STR("/engine.io/")))) {
        return NULL;
    }
    (void)message;
    if (http_is_websocket(r)) {
        http_set_close(r);
        buf_add_str(out, str_from(engine_error_text(ENGINE_FORBIDDEN)));
        return channel_type_text(CHANNEL_HTML);
    }
    buf_add_str(out, engine_error_body(ENGINE_FORBIDDEN));
    return channel_type_text(CHANNEL_JSON);
}

/* ---- what the client asks ---- */

/* A parameter that is given twice is none that anybody knows. */
static struct str
parameter(struct http_request *r, const char *name)
{
    struct str raw, value = STR_NONE;

    if (http_query_count(r, name, &raw) > 1) {
        return STR("?");
    }
    http_query(r, name, &value);
    return str_first(value, CHANNEL_TEXT);
}

static struct str
header(const struct http_request *r, const char *name)
{
    const struct str *value = http_header(r, name);

    return value != NULL ? str_first(*value, CHANNEL_TEXT) : STR_NONE;
}

static struct engine_query
query_of(struct http_request *r)
{
    struct str raw;

    return (struct engine_query){
        .eio = parameter(r, "EIO"),
        .transport = parameter(r, "transport"),
        .sid = parameter(r, "sid"),
        .base64 = http_query_count(r, "b64", &raw) > 0,
    };
}

static struct channel_ask
ask_of(const struct sio_front *f, struct http_request *r, bool plain)
{
    return (struct channel_ask){
        .module = str_from(f->module),
        .endpoint = f->endpoint.name,
        .plain = plain,
        .client = { .address = r->client,
                    .holder = share_client(&r->client),
                    .secure = str_eq(r->scheme, STR("https")),
                    .user = str_first(r->user, CHANNEL_TEXT),
                    .generation = f->generation },
        .method = str_first(r->method, CHANNEL_TEXT),
        .content_type = header(r, "Content-Type"),
        .query = query_of(r),
        .body = STR_NONE,
        .handshake = { .key = STR_NONE },
    };
}

/* ---- polling ---- */

struct polled { /* a request that waits; in its pool */
    struct http_request *request;
    const struct sio_front *front;
    struct channel_ask ask; /* its texts are the request's */
    struct timer wait;      /* until it is asked: a close */
    struct rpc_call *call;  /* under way */
    void *data;             /* owned; the answer */
    struct channel_answer answer;
    struct str failed; /* why there is none; in the pool */
};

static void
free_data(void *arg)
{
    mem_free_raw(arg);
}

static void
take_answer(struct polled *p, const struct rpc_answer *a)
{
    struct pool *pool = p->request->pool;

    if (a->status != RPC_OK) {
        p->failed = pool_str(pool, str_of(a->data, a->len));
        return;
    }
    p->data = try_alloc(a->len + 1);
    if (p->data == NULL) {
        p->failed = STR("no memory");
        return;
    }
    memcpy(p->data, a->data, a->len);
    pool_on_free(pool, free_data, p->data);
    if (!channel_unpack_answer(str_of(p->data, a->len), &p->answer)) {
        p->failed = STR("the channel's answer makes no sense");
    }
}

static void
on_answer(void *arg, struct rpc_answer *a)
{
    struct polled *p = arg;

    p->call = NULL;
    take_answer(p, a);
    http_resume(p->request);
}

static void
set_cookie(struct http_request *r, const struct sio_front *f, struct str id)
{
    struct str name = f->endpoint.settings->cookie;

    if (name.len > 0 && id.len > 0) {
        http_set_header(
            r, "Set-Cookie",
            pool_printf(r->pool,
                        "%.*s=%.*s; Path=/; HttpOnly; "
                        "SameSite=Lax%s",
                        STR_ARGS(name), STR_ARGS(id),
                        str_eq(r->scheme, STR("https")) ? "; Secure" : ""));
    }
}

/* The handler, for the second time. */
static enum http_result
answer(struct polled *p)
{
    struct http_request *r = p->request;

    if (p->failed.len > 0) {
        return refuse_away(r, p->failed);
    }
    if (p->answer.status != 200) {
        http_note(r, "engine.io: refused");
    }
    if (p->answer.status == 503) {
        http_set_header(r, "Retry-After", RETRY_AFTER);
    }
    set_cookie(r, p->front, p->answer.opened);
    return http_reply(r, p->answer.status, channel_type_text(p->answer.type),
                      p->answer.body);
}

static const struct rpc_method *
method_of(const struct http_request *r)
{
    return &channel_methods[str_eq(r->method, STR("POST")) ? CHANNEL_POST
                                                           : CHANNEL_POLL];
}

/* The call; NULL with err. */
static struct rpc_call *
ask_channel(const struct polled *p, rpc_on_answer *told, struct errmsg *err)
{
    const struct rpc_options o = { .timeout_ms = POLL_MS,
                                   .on_answer = told,
                                   .arg = (void *)(uintptr_t)p };
    struct rpc_call *call = NULL;
    struct pack out = { 0 };
    struct buf b;

    buf_init(&b, CHANNEL_ASK_MAX);
    out.to = &b;
    channel_pack_ask(&out, &p->ask);
    if (out.full) {
        errmsg_set(err, "no memory");
    } else {
        call = rpc_call(method_of(p->request), &o, buf_data(&b), buf_len(&b),
                        -1, err);
    }
    buf_clear(&b);
    return call;
}

static void
nobody_listens(void *arg, struct rpc_answer *a)
{
    (void)arg;
    (void)a;
}

/* A close that still waits counts although its client has gone. */
static void
on_cancel(void *arg)
{
    struct polled *p = arg;
    struct errmsg ignored;

    if (timer_is_set(&p->wait)) {
        timer_stop(p->request->loop, &p->wait);
        ask_channel(p, nobody_listens, &ignored);
    }
    rpc_cancel(&p->call);
}

static void
on_waited(struct timer *t)
{
    struct polled *p = LIST_ITEM(t, struct polled, wait);
    struct errmsg err;

    p->call = ask_channel(p, on_answer, &err);
    if (p->call == NULL) {
        p->failed = pool_str(p->request->pool, str_from(err.text));
        http_resume(p->request);
    }
}

static bool
closes(const struct http_request *r)
{
    return str_eq(r->body, STR("1")) || str_ends(r->body, STR("\x1e"
                                                              "1"));
}

static enum http_result
poll(const struct sio_front *f, struct http_request *r,
     const struct channel_ask *ask)
{
    struct polled *p = pool_zero(r->pool, sizeof(*p));
    struct errmsg err;

    p->request = r;
    p->front = f;
    p->ask = *ask;
    timer_init(&p->wait, on_waited);
    if (closes(r)) {
        timer_set(r->loop, &p->wait, CLOSE_MS);
    } else {
        p->call = ask_channel(p, on_answer, &err);
        if (p->call == NULL) {
            return refuse_away(r, str_from(err.text));
        }
    }
    r->context = p;
    http_on_cancel(r, on_cancel, p);
    /* A client that ends its poll has gone, and its session with it. */
    http_set_endless(r);
    return HTTP_WAIT;
}

static enum http_result
on_polling(struct sio_front *f, struct http_request *r, struct channel_ask *ask)
{
    if (!http_check_site(r)) {
        return HTTP_DONE;
    }
    ask->body = r->body;
    return poll(f, r, ask);
}

/* ---- routes ---- */

static enum http_result
on_options(struct http_request *r)
{
    http_set_header(r, "Allow", STR("GET, POST, OPTIONS"));
    return http_reply(r, 204, NULL, STR_NONE);
}

static enum http_result
on_request(struct http_request *r, struct sio_front *f, bool plain)
{
    struct channel_ask ask;
    enum engine_error e;
    bool is_upgrade;

    if (r->context != NULL) {
        return answer(r->context);
    }
    if (str_eq(r->method, STR("OPTIONS"))) {
        return on_options(r);
    }
    http_set_header(r, "Cache-Control", STR("no-store"));
    is_upgrade = http_is_websocket(r);
    ask = ask_of(f, r, plain);
    if (!sio_allows(f->endpoint.settings, ask.query.transport)) {
        return refuse(r, ENGINE_TRANSPORT_UNKNOWN, is_upgrade);
    }
    e = engine_check_query(&ask.query, r->method, is_upgrade);
    if (e != ENGINE_OK) {
        return refuse(r, e, is_upgrade);
    }
    return is_upgrade ? front_upgrade(r, &ask) : on_polling(f, r, &ask);
}

static enum http_result
on_socket_io(struct http_request *r, void *state)
{
    return on_request(r, state, false);
}

static enum http_result
on_engine_io(struct http_request *r, void *state)
{
    return on_request(r, state, true);
}

static uint64_t
most(const void *state)
{
    const struct sio_front *f = state;

    return (uint64_t)f->endpoint.settings->max_payload;
}

static void
on_long(struct http_request *r, void *state)
{
    (void)r;
    (void)state;
    front_refused(CHANNEL_REFUSED_SIZE);
}

/* The channel looks into it. */
static const struct http_feed feed = {
    .most = most,
    .on_long = on_long,
    .whole = true,
};

static const struct http_route routes[] = {
    { .method = "*",
      .path = "/socket.io/",
      .handler = on_socket_io,
      .feed = &feed },
    { .path = NULL },
};

static const struct http_route plain_routes[] = {
    { .method = "*",
      .path = "/socket.io/",
      .handler = on_socket_io,
      .feed = &feed },
    { .method = "*",
      .path = "/engine.io/",
      .handler = on_engine_io,
      .feed = &feed },
    { .path = NULL },
};

/* ---- life ---- */

struct sio_front *
sio_front_new(struct pool *pool, const char *module, const struct sio_module *m,
              const struct sio_endpoint *endpoint, uint32_t generation)
{
    struct sio_front *f = pool_zero(pool, sizeof(*f));

    f->module = module;
    f->what = m;
    f->endpoint = *endpoint;
    f->generation = generation;
    return f;
}

void
sio_front_layer(struct sio_front *f, struct http_layer *out)
{
    *out = (struct http_layer){
        .module = f->module,
        .place = http_module_place(f->module),
        .routes = f->what->plain != NULL ? plain_routes : routes,
        .state = f,
        .error_body = error_body,
    };
}
