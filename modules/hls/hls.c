/*
 * The module: its settings, its layers, its routes, and who may play.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "hls.h"

#include "app/worker.h"
#include "asked.h"
#include "conf/rows.h"
#include "endless.h"
#include "made.h"
#include "still.h"
#include "verbs.h"

static const char *const formats[] = { "fmp4", "ts", NULL };

static const struct conf_key keys[] = {
    ROW(hls_settings, format, CONF_ENUM, .preset = "fmp4", .words = formats,
        .help = "The container of segments: \"fmp4\" (fragmented MP4, with low "
                "latency), or \"ts\" (MPEG-2 transport stream, for old "
                "players, and for MP3 sound)."),
    ROW(hls_settings, separate_audio, CONF_BOOL, .preset = "false",
        .help = "Sound has a rendition of its own.  A stream with several "
                "tracks of sound always has one for each."),
    ROW(hls_settings, allow_origin, CONF_STRING, .max = 256, .preset = "*",
        .help =
            "Access-Control-Allow-Origin of the answers, so that players in "
            "pages of other sites may read them; empty: none.  Where the "
            "location has cors, that counts instead."),
    ROW(hls_settings, max_waiting, CONF_INT, .min = 0, .max = 1000000,
        .preset = "20000",
        .help = "Requests of a worker that may wait for a playlist or part "
                "that is not there yet; more are answered with 503."),
    ROW(hls_settings, cache, CONF_SIZE, .min = 0, .max = INT64_C(1) << 36,
        .preset = "64M",
        .help = "Memory of a worker for segments: what it knows of them, and "
                "copies of those that slow clients are sent."),
    CONF_END,
};

/* ---- headers ---- */

static bool
says_origin(const struct http_request *r, const struct hls_layer *layer)
{
    /* Browsers treat a header that comes twice as missing. */
    return layer->settings->allow_origin.len > 0 && r->location->cors == NULL;
}

static void
allow_origin(struct http_request *r, const struct hls_layer *layer)
{
    if (!says_origin(r, layer)) {
        return;
    }
    http_set_header(r, "Access-Control-Allow-Origin",
                    layer->settings->allow_origin);
    http_set_header(r, "Access-Control-Expose-Headers",
                    STR("Content-Length, Content-Range, Date, ETag"));
}

/* ---- who may play ---- */

/* HTTP_PASS: nothing speaks against it. */
static enum http_result
check(struct asked *a)
{
    struct http_request *r = a->request;
    bool secret = rtmp_service_is_secret(a->application, a->room);

    if (secret) {
        http_hide_target(r);
    }
    if (!access_allows(a->application->play_access, &r->client)) {
        hls_count_refused(HLS_REFUSED_ACCESS);
        return http_error(r, 403, "playing is not allowed from this address");
    }
    allow_origin(r, a->layer);
    if (secret) {
        hls_count_refused(HLS_REFUSED_KEY);
        return http_error(r, 404, RTMP_SERVICE_SECRET);
    }
    hls_count_request(a->kind);
    return HTTP_PASS;
}

static enum http_result
answer(struct asked *a)
{
    switch (a->kind) {
    case HLS_KIND_MULTIVARIANT:
    case HLS_KIND_PLAYLIST:
        return texts_answer(a);
    case HLS_KIND_ENDLESS:
        return endless_answer(a);
    case HLS_KIND_STILL:
        return still_answer(a);
    case HLS_KIND_SEGMENT:
    case HLS_KIND_PART:
    case HLS_KIND_INIT:
    case HLS_KINDS:
        break;
    }
    return bytes_answer(a);
}

/* ---- routes ---- */

static enum http_result
on_get(struct http_request *r, void *state)
{
    struct asked here, *a;

    if (r->context != NULL) { /* it has waited */
        return answer(r->context);
    }
    if (!asked_read(&here, r, state)) {
        return HTTP_PASS;
    }
    enum http_result result = check(&here);

    if (result != HTTP_PASS) {
        return result;
    }
    a = pool_alloc(r->pool, sizeof(*a));
    *a = here;
    list_init(&a->blocked.link);
    r->context = a;
    return answer(a);
}

/* The route below has every path; only those of streams are this module's. */
static enum http_result
on_options(struct http_request *r, void *state)
{
    const struct hls_layer *layer = state;
    struct asked a;

    if (!asked_read(&a, r, layer)) {
        return HTTP_PASS;
    }
    http_set_header(r, "Allow", STR("GET, HEAD, OPTIONS"));
    allow_origin(r, layer);
    if (says_origin(r, layer)) {
        http_set_header(r, "Access-Control-Allow-Methods",
                        STR("GET, HEAD, OPTIONS"));
        http_set_header(r, "Access-Control-Allow-Headers", STR("Range"));
        http_set_header(r, "Access-Control-Max-Age", STR("86400"));
    }
    return http_reply(r, 204, NULL, STR_NONE);
}

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **routes, struct errmsg *err)
{
    struct hls_layer *l = pool_zero(layer->worker->pool, sizeof(*l));

    (void)routes;
    l->loop = layer->worker->loop;
    l->settings = layer->settings;
    l->container = media_container_find(str_from(formats[l->settings->format]));
    if (l->container == NULL) {
        return errmsg_set(err, "there is no container \"%s\"",
                          formats[l->settings->format]);
    }
    made_allow(l->settings->cache);
    blocked_set_size(l->settings->max_waiting);
    *state = l;
    return 0;
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/*", .handler = on_get },
    { .method = "OPTIONS", .path = "/*", .handler = on_options },
    { .path = NULL },
};

const struct module hls_module = {
    .name = "hls",
    .about = "live streams for browsers and caches: GET /APP/NAME.m3u8",
    .keys = keys,
    .settings_size = sizeof(struct hls_settings),
    .start = start,
    .routes = routes,
    .cuts = true,
    .verbs = hls_verbs,
    .metrics = hls_metrics,
    .pools = blocked_pools,
};
