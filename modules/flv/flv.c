/*
 * HTTP-FLV: GET /APP/NAME.flv plays the live stream APP/NAME.
 *
 * The answer has no length and no chunks, it ends with the connection: so
 * players of HTTP/1.0 and 1.1 get the very same bytes as the stream has them
 * in shared memory.  The head is held back until the stream starts, because
 * only then is known what it has; a name that nobody publishes is answered
 * 404 after flv_wait, one that is live starts whenever a key frame comes.
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
#include "live/live.h"
#include "proc/metric.h"
#include "proc/refused.h"

#include <stdio.h>

#define SUFFIX ".flv"
/* How often it is looked, at least, whether a stream without a start is still
 * published, ms. */
#define LOOK_AGAIN_MS 1000

struct flv_settings {
    int64_t flv_wait; /* ms */
    struct str allow_origin;
};

struct flv_layer {
    struct loop *loop;
    const struct flv_settings *settings;
};

struct viewing {
    const struct flv_layer *layer;
    struct http_request *request; /* until the connection closes */
    struct conn *conn;
    struct live_player *player; /* owned */
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
            "pages of other sites may read them; empty: none.  Where the "
            "location has cors, that counts instead."),
    CONF_END,
};

/* ---- what is counted ---- */

enum flv_refused {
    REFUSED_ACCESS,
    REFUSED_NO_STREAM,
    REFUSED_KEY,
    REFUSED_LIVE,
    REFUSED_WEBSOCKET,
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
    };

    return names[i];
}

static struct metric metrics[] = {
    { .name = "weir_flv_refused_total",
      .help = "Requests for a stream that were refused; \"live\": see "
              "weir_live_refused_total.",
      .labels = { { "reason", refused_name, REFUSALS } } },
    METRIC_END,
};

/* ---- the end ---- */

static void
finish(struct viewing *v, const char *reason)
{
    conn_finish(v->conn, 2000, reason);
}

/* The last word to a player that got nothing yet. */
static void
answer_error(struct viewing *v, int status, const char *reason)
{
    struct str head =
        http_head(v->request, status, "text/plain; charset=utf-8");

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

/* ---- the stream ---- */

static void
on_start(void *arg, uint32_t chunk_size)
{
    struct viewing *v = arg;
    struct str head = http_head(v->request, 200, "video/x-flv");

    (void)chunk_size;
    timer_stop(v->layer->loop, &v->wait);
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
    (void)arg;
    (void)data;
    return (ssize_t)n; /* a player has nothing more to say */
}

static void
on_writable(void *arg)
{
    struct viewing *v = arg;

    if (v->player != NULL) {
        live_player_writable(v->player);
    }
}

static void
on_close(void *arg, const char *reason)
{
    struct viewing *v = arg;

    (void)reason;
    timer_stop(v->layer->loop, &v->wait);
    live_stop_playing(&v->player);
    http_taken_done(v->request, v->conn->bytes_out);
    mem_free(&v);
}

static const struct conn_handlers conn_handlers = {
    .on_data = on_data,
    .on_writable = on_writable,
    .on_close = on_close,
};

/* ---- the request ---- */

static struct live_play
what_to_play(struct http_request *r, const struct rtmp_application *a,
             struct str name, struct conn *conn)
{
    return (struct live_play){
        .name = name,
        .url = http_shown_url(r),
        .peer = r->client,
        .kind = LIVE_KIND_FLV,
        .framing = LIVE_FLV,
        .stream_id = 1,
        .gather = a->gather,
        .gop_cache = a->settings->gop_cache,
        .conn = conn,
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
     const struct rtmp_application *a, struct str name)
{
    struct viewing *v = mem_zero(sizeof(*v));
    struct errmsg err = { "" };
    struct live_play what;

    v->layer = layer;
    v->request = r;
    v->name = name;
    timer_init(&v->wait, on_waited);
    v->conn = http_take_over(r, &conn_handlers, v);
    what = what_to_play(r, a, name, v->conn);
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

/* A player that asked for frames of WebSocket can make nothing of FLV. */
static enum http_result
refuse_websocket(struct http_request *r)
{
    metric_add(&metrics[0], REFUSED_WEBSOCKET, 1);
    http_set_header(r, "Upgrade", STR("HTTP/1.1"));
    http_set_header(r, "Connection", STR("Upgrade"));
    return http_error(r, 426,
                      "FLV over WebSocket is not served: ask for this address "
                      "over HTTP, without Upgrade");
}

static enum http_result
on_flv(struct http_request *r, void *state)
{
    const struct flv_layer *layer = state;
    struct str name = str_skip(r->route_path, 1); /* APP/NAME.flv */
    struct str rest = name;
    struct str app = str_cut(&rest, '/');
    const struct rtmp_application *a = rtmp_service_application(app);
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
    if (asks_websocket(r)) {
        return refuse_websocket(r);
    }
    return play(r, layer, a, name);
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
    struct flv_layer *l = pool_zero(layer->worker->pool, sizeof(*l));

    (void)err;
    l->loop = layer->worker->loop;
    l->settings = layer->settings;
    *state = l;
    (void)routes;
    return 0;
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/*", .handler = on_flv },
    { .method = "OPTIONS", .path = "/*", .handler = on_options },
    { .path = NULL },
};

const struct module flv_module = {
    .name = "flv",
    .about = "live streams over HTTP: GET /APP/NAME.flv",
    .keys = keys,
    .settings_size = sizeof(struct flv_settings),
    .start = start,
    .routes = routes,
    .metrics = metrics,
};
