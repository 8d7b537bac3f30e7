/*
 * HTTP-FLV: GET /APP/NAME.flv plays the live stream APP/NAME, over HTTP or, for
 * a client that asks for it, over a WebSocket.
 *
 * The answer has no length and no chunks, it ends with the connection: so
 * players of HTTP/1.0 and 1.1 get the very same bytes as the stream has them
 * in shared memory.  The head is held back until the stream starts, because
 * only then is known what it has; a name that nobody publishes is answered
 * 404 after flv_wait, one that is live starts whenever a key frame comes.
 *
 * On a WebSocket each FLV tag is a message, and the first one is all that comes
 * before the first frame (live/batch.c, live/player_start.c).  The player sends
 * them; src/ws reads what the client says, which is pings and a close.
 *
 * One struct viewing lives from the request to the end of its connection.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/module.h"
#include "app/service/rtmp_service.h"
#include "app/worker.h"
#include "base/mem.h"
#include "conf/rows.h"
#include "http/websocket.h"
#include "live/live.h"
#include "proc/metric.h"
#include "proc/refused.h"
#include "ws/ws.h"

#include <limits.h>

#define SUFFIX ".flv"
/* How often it is looked, at least, whether a stream without a start is still
 * published, ms. */
#define LOOK_AGAIN_MS 1000
/* Bytes of messages that clients on WebSockets begin, at most: players have
 * nothing to say. */
#define MESSAGE_MAX 125
#define UNFINISHED_MAX 65536

struct flv_settings {
    int64_t flv_wait; /* ms */
    struct str allow_origin;
};

struct flv_layer {
    struct loop *loop;
    const struct flv_settings *settings;
    struct ws_host *sockets; /* owned */
};

struct viewing {
    const struct flv_layer *layer;
    struct http_request *request; /* until the connection closes */
    struct conn *conn;
    struct live_player *player; /* owned */
    struct ws *ws;              /* NULL: over HTTP, or not yet answered */
    struct str key;             /* of a WebSocket; empty: over HTTP */
    struct str name;            /* "app/name", in the request's memory */
    struct timer wait;          /* flv_wait */
};

static const struct conf_key keys[] = {
    ROW(flv_settings, flv_wait, CONF_TIME, .min = 0, .max = 3600000,
        .preset = "5s",
        .help = "How long a player may wait for a stream that nobody publishes "
                "before it is answered with 404."),
    ROW(flv_settings, allow_origin, CONF_STRING, .max = 256, .preset = "*",
        .help =
            "Access-Control-Allow-Origin of the answers, so that players in "
            "pages of other sites may read them, also over WebSocket; empty: "
            "none.  Where the location has cors, that counts instead."),
    CONF_END,
};

/* ---- what is counted ---- */

enum flv_refused {
    REFUSED_ACCESS,
    REFUSED_NO_STREAM,
    REFUSED_KEY,
    REFUSED_LIVE,
    REFUSED_WEBSOCKET,
    REFUSED_ORIGIN,
    REFUSALS
};

static const char *
refused_name(unsigned i)
{
    static const char *const names[REFUSALS] = {
        [REFUSED_ACCESS] = "access",
        [REFUSED_NO_STREAM] = "no_stream",
        [REFUSED_KEY] = "key",
        [REFUSED_LIVE] = "live",
        [REFUSED_WEBSOCKET] = "websocket",
        [REFUSED_ORIGIN] = "origin",
    };

    return names[i];
}

static struct metric metrics[] = {
    { .name = "weir_flv_refused_total",
      .help = "Requests for a stream that were refused; \"live\": see "
              "weir_live_refused_total; \"websocket\": the handshake is "
              "wrong; \"origin\": a page of another site asked for a "
              "WebSocket.",
      .labels = { { "reason", refused_name, REFUSALS } } },
    METRIC_END,
};

/* ---- the end ---- */

static void
forget(struct viewing *v)
{
    timer_stop(v->layer->loop, &v->wait);
    live_stop_playing(&v->player);
    http_taken_done(v->request, v->conn->bytes_out);
    mem_free(&v);
}

/* The code of a close for the reason why a player was stopped. */
static unsigned
close_code(const char *reason)
{
    if (str_eq(str_from(reason), STR(LIVE_OVER))) {
        return WS_NORMAL;
    }
    return str_eq(str_from(reason), STR(LIVE_KICKED)) ? WS_POLICY
                                                      : WS_TRY_LATER;
}

static void
finish(struct viewing *v, const char *reason)
{
    if (v->ws != NULL) {
        ws_close(v->ws, close_code(reason), reason);
    } else {
        conn_finish(v->conn, 2000, reason);
    }
}

/* The last word to a player that got nothing yet. */
static void
answer_error(struct viewing *v, int status, const char *reason)
{
    struct str head;

    if (status == 503) {
        http_set_header(v->request, "Retry-After", STR("1"));
    }
    head = http_head(v->request, status, "text/plain; charset=utf-8");
    live_stop_playing(&v->player);
    http_note(v->request, "%s", reason);
    if (conn_write(v->conn, head.ptr, head.len) != 0 ||
        conn_write(v->conn, reason, str_from(reason).len) != 0 ||
        conn_write(v->conn, "\n", 1) != 0) {
        conn_close(v->conn, reason);
        return;
    }
    finish(v, reason);
}

static void
on_waited(struct timer *timer)
{
    struct viewing *v = LIST_ITEM(timer, struct viewing, wait);
    int64_t again = v->layer->settings->flv_wait;

    if (live_is_live(v->name)) { /* its next key frame may be far */
        again = again > LOOK_AGAIN_MS ? again : LOOK_AGAIN_MS;
        timer_set(v->layer->loop, timer, again);
        return;
    }
    metric_add(&metrics[0], REFUSED_NO_STREAM, 1);
    answer_error(v, 404, "nobody publishes this stream");
}

/* ---- the client on a WebSocket ---- */

static void
on_message(void *arg, struct str data, bool binary)
{
    struct viewing *v = arg;

    (void)data;
    (void)binary;
    ws_close(v->ws, WS_UNSUPPORTED, "a player has nothing to say");
}

static void
on_room(void *arg)
{
    (void)arg; /* ws_send() is not called */
}

static void
on_ws_close(void *arg, unsigned code, struct str reason)
{
    (void)code;
    (void)reason;
    forget(arg);
}

static void
on_writable(void *arg)
{
    struct viewing *v = arg;

    if (v->player != NULL) {
        live_player_writable(v->player);
    }
}

static int
say(void *arg, const void *data, size_t n)
{
    struct viewing *v = arg;

    return v->player != NULL ? live_player_say(v->player, data, n)
                             : conn_write(v->conn, data, n);
}

static void
on_ending(void *arg)
{
    struct viewing *v = arg;

    live_stop_playing(&v->player);
}

static const struct ws_handlers ws_handlers = {
    .on_message = on_message,
    .on_room = on_room,
    .on_close = on_ws_close,
    .on_writable = on_writable,
    .say = say,
    .on_ending = on_ending,
};

static void
start_websocket(struct viewing *v)
{
    const struct ws_handshake h = { .key = v->key, .message_max = MESSAGE_MAX };
    struct errmsg err = { "" };

    http_head(v->request, 101, NULL); /* ws_adopt() sends its own */
    v->ws = ws_adopt(v->layer->sockets, v->conn, &h, &ws_handlers, v, &err);
    if (v->ws == NULL) {
        http_note(v->request, "%s", err.text);
        forget(v);
    }
}

/* ---- the stream ---- */

static void
on_start(void *arg, uint32_t chunk_size)
{
    struct viewing *v = arg;
    struct str head;

    (void)chunk_size;
    timer_stop(v->layer->loop, &v->wait);
    if (v->key.len > 0) {
        start_websocket(v);
        return;
    }
    head = http_head(v->request, 200, "video/x-flv");
    if (conn_write(v->conn, head.ptr, head.len) != 0) {
        conn_close(v->conn, "the connection is broken");
    }
}

static void
on_hold(void *arg)
{
    (void)arg; /* silence until the publisher is back */
}

static void
on_stop(void *arg, const char *reason, bool close)
{
    struct viewing *v = arg;

    v->player = NULL;
    http_note(v->request, "%s", reason);
    if (close) {
        conn_close(v->conn, reason);
    } else {
        finish(v, reason);
    }
}

static const struct live_player_handlers player_handlers = {
    .on_start = on_start,
    .on_hold = on_hold,
    .on_resume = on_hold,
    .on_stop = on_stop,
};

/* ---- the connection ---- */

static ssize_t
on_data(void *arg, const uint8_t *data, size_t n)
{
    const struct viewing *v = arg;

    (void)data;
    if (v->key.len > 0) {
        return 0; /* kept for the WebSocket */
    }
    return (ssize_t)n; /* a player has nothing more to say */
}

static void
on_close(void *arg, const char *reason)
{
    (void)reason;
    forget(arg);
}

static const struct conn_handlers conn_handlers = {
    .on_data = on_data,
    .on_writable = on_writable,
    .on_close = on_close,
};

/* ---- the request ---- */

static struct live_play
what_to_play(const struct viewing *v, const struct rtmp_application *a)
{
    bool websocket = v->key.len > 0;

    return (struct live_play){
        .name = v->name,
        .url = http_shown_url(v->request),
        .peer = v->request->client,
        .kind = websocket ? LIVE_KIND_WS : LIVE_KIND_FLV,
        .framing = websocket ? LIVE_FLV_WS : LIVE_FLV,
        .stream_id = 1,
        .gather = a->gather,
        .gop_cache = a->settings->gop_cache,
        .conn = v->conn,
    };
}

static void
note_refusal(const struct http_request *r, struct str name, const char *reason)
{
    char peer[ADDR_TEXT];

    refused_note(&(struct refused){
        .proto = "http",
        .peer = addr_text(&r->client, peer),
        .reason = reason,
        .bytes = name,
    });
}

static enum http_result
play(struct http_request *r, const struct flv_layer *layer,
     const struct rtmp_application *a, struct str name, struct str key)
{
    struct viewing *v = mem_zero(sizeof(*v));
    struct errmsg err = { "" };
    struct live_play what;

    v->layer = layer;
    v->request = r;
    v->name = name;
    v->key = key;
    timer_init(&v->wait, on_waited);
    v->conn = http_take_over(r, &conn_handlers, v);
    what = what_to_play(v, a);
    v->player = live_play(&what, &player_handlers, v, &err);
    if (v->player == NULL) {
        metric_add(&metrics[0], REFUSED_LIVE, 1);
        note_refusal(r, name, err.text);
        answer_error(v, 503, err.text);
        return HTTP_DONE;
    }
    timer_set(layer->loop, &v->wait, layer->settings->flv_wait);
    return HTTP_DONE;
}

static void
allow_origin(struct http_request *r, const struct flv_layer *layer)
{
    /* Browsers treat a header that comes twice as missing. */
    if (layer->settings->allow_origin.len > 0 && r->location->cors == NULL) {
        http_set_header(r, "Access-Control-Allow-Origin",
                        layer->settings->allow_origin);
    }
    http_set_header(r, "Cache-Control", STR("no-store"));
}

/* No length is promised (RFC 9110, 8.6): GET has none. */
static enum http_result
answer_head(struct http_request *r, struct str name)
{
    if (!live_is_live(name)) {
        return http_error(r, 404, "nobody publishes this stream");
    }
    http_start(r, 200, "video/x-flv");
    return http_end(r);
}

static bool
asks_websocket(const struct http_request *r)
{
    const struct str *upgrade = http_header(r, "Upgrade");
    struct str rest = upgrade != NULL ? *upgrade : STR_NONE;

    while (rest.len > 0) {
        struct str protocol = str_trim(str_cut(&rest, ','));

        if (str_eq_nocase(str_cut(&protocol, '/'), STR("websocket"))) {
            return true;
        }
    }
    return false;
}

/* Pages of other sites play what they could read over HTTP. */
static bool
is_allowed_page(struct http_request *r, const struct flv_layer *layer)
{
    const struct str *origin = http_header(r, "Origin");
    struct str allowed = layer->settings->allow_origin;

    if (r->location->cors == NULL && origin != NULL &&
        (str_eq(allowed, STR("*")) || str_eq(allowed, *origin))) {
        return true;
    }
    if (!http_check_site(r)) {
        metric_add(&metrics[0], REFUSED_ORIGIN, 1);
        return false;
    }
    return true;
}

/* False: the request is answered. */
static bool
check_websocket(struct http_request *r, const struct flv_layer *layer,
                struct str *key)
{
    struct http_websocket websocket;
    const char *why = "";
    int status = http_check_websocket(r, &websocket, &why);

    if (status != 0) {
        metric_add(&metrics[0], REFUSED_WEBSOCKET, 1);
        http_error(r, status, "%s", why);
        return false;
    }
    *key = websocket.key;
    return is_allowed_page(r, layer);
}

static enum http_result
on_flv(struct http_request *r, void *state)
{
    const struct flv_layer *layer = state;
    struct str name = str_skip(r->route_path, 1); /* APP/NAME.flv */
    struct str rest = name;
    struct str app = str_cut(&rest, '/');
    const struct rtmp_application *a = rtmp_service_application(app);
    struct str key = STR_NONE;
    bool secret;

    if (!str_ends(name, STR(SUFFIX)) || rest.len <= sizeof(SUFFIX) - 1 ||
        a == NULL) {
        return HTTP_PASS;
    }
    name = str_first(name, name.len - (sizeof(SUFFIX) - 1));
    rest = str_first(rest, rest.len - (sizeof(SUFFIX) - 1));
    secret = rtmp_service_is_secret(a, rest);
    if (secret) {
        http_hide_target(r);
    }
    if (!access_allows(a->play_access, &r->client)) {
        metric_add(&metrics[0], REFUSED_ACCESS, 1);
        return http_error(r, 403, "playing is not allowed from this address");
    }
    allow_origin(r, layer);
    if (secret) {
        metric_add(&metrics[0], REFUSED_KEY, 1);
        return http_error(r, 404, RTMP_SERVICE_SECRET);
    }
    if (str_eq(r->method, STR("HEAD"))) {
        return answer_head(r, name);
    }
    if (asks_websocket(r) && !check_websocket(r, layer, &key)) {
        return HTTP_DONE;
    }
    return play(r, layer, a, name, key);
}

/* The route below has every path; only those of streams are this module's. */
static enum http_result
on_options(struct http_request *r, void *state)
{
    struct str rest = str_skip(r->route_path, 1);
    struct str app = str_cut(&rest, '/');

    if (!str_ends(rest, STR(SUFFIX)) || rtmp_service_application(app) == NULL) {
        return HTTP_PASS;
    }
    http_set_header(r, "Allow", STR("GET, HEAD, OPTIONS"));
    allow_origin(r, state);
    return http_reply(r, 204, NULL, STR_NONE);
}

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **routes, struct errmsg *err)
{
    /* The number of players is limited elsewhere. */
    static const struct ws_limits limits = { .connections = UINT_MAX,
                                             .unfinished = UNFINISHED_MAX };
    struct flv_layer *l = pool_zero(layer->worker->pool, sizeof(*l));

    (void)err;
    l->loop = layer->worker->loop;
    l->settings = layer->settings;
    l->sockets = ws_host_new(l->loop, &limits);
    *state = l;
    (void)routes;
    return 0;
}

static void
stop(void *state)
{
    struct flv_layer *l = state;

    ws_host_free(&l->sockets);
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/*", .handler = on_flv },
    { .method = "OPTIONS", .path = "/*", .handler = on_options },
    { .path = NULL },
};

const struct module flv_module = {
    .name = "flv",
    .about = "live streams over HTTP and WebSocket: GET /APP/NAME.flv",
    .keys = keys,
    .settings_size = sizeof(struct flv_settings),
    .start = start,
    .stop = stop,
    .routes = routes,
    .metrics = metrics,
};
