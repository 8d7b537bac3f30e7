/*
 * Paths and queries of requests.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "asked.h"

#include "captions.h"

/* ---- paths ---- */

static bool
is_rendition(struct str text)
{
    int64_t id;

    if (text.len == 0 || text.len >= OBJECT_RENDITION_MAX) {
        return false;
    }
    return str_eq(text, STR("v")) || str_eq(text, STR(CAPTION_RENDITION)) ||
           (text.ptr[0] == 'a' && str_to_int(str_skip(text, 1), 0, 255, &id));
}

/* Whether the layer's container has objects of that name. */
static bool
read_object(struct asked *a, const struct hls_address *address)
{
    struct object_key *k = &a->key;

    if (str_eq(address->rendition, STR(CAPTION_RENDITION))) {
        k->container = &captions_container;
    }

    bool init = address->kind == HLS_INIT;
    const char *suffix =
        init ? k->container->init_suffix : k->container->suffix;

    if (suffix == NULL || !str_eq(address->suffix, str_from(suffix)) ||
        (address->rendition.len > 0 && !is_rendition(address->rendition))) {
        return false;
    }
    k->word = address->word;
    k->number = init ? address->header : address->segment;
    k->part = init                           ? OBJECT_INIT
              : address->kind == HLS_SEGMENT ? OBJECT_SEGMENT
                                             : (int64_t)address->part;
    a->kind = init                           ? HLS_KIND_INIT
              : address->kind == HLS_SEGMENT ? HLS_KIND_SEGMENT
                                             : HLS_KIND_PART;
    str_copy(k->rendition, sizeof(k->rendition), address->rendition);
    return true;
}

/* ---- queries ---- */

static void
read_query(struct asked *a)
{
    struct str text;

    a->kind = HLS_KIND_MULTIVARIANT;
    a->of_ladder = http_query(a->request, "ladder", &text);
    if (http_query(a->request, "viewer", &text)) {
        a->has_viewer = viewer_read(text, &a->viewer);
    }
    if (!http_query(a->request, "rendition", &text)) {
        return;
    }
    a->kind = HLS_KIND_PLAYLIST;
    a->wrong = hls_directives_read(&a->directives, a->request->query);
    if (is_rendition(text)) {
        str_copy(a->key.rendition, sizeof(a->key.rendition), text);
        if (str_eq(text, STR(CAPTION_RENDITION))) {
            a->key.container = &captions_container;
        }
    } else if (!str_eq(text, STR("all"))) {
        a->wrong = "there is no such rendition";
    }
}

/* ---- all of it ---- */

bool
asked_read(struct asked *a, struct http_request *r,
           const struct hls_layer *layer)
{
    struct hls_address address;

    switch (hls_address_read(&address, str_skip(r->route_path, 1))) {
    case HLS_PLAYLIST:
    case HLS_SEGMENT:
    case HLS_PART:
    case HLS_INIT:
    case HLS_ENDLESS:
    case HLS_STILL:
        break;
    case HLS_NOTHING:
        return false;
    }
    *a = (struct asked){
        .request = r,
        .layer = layer,
        .application = rtmp_service_application(address.app),
        .name = address.stream,
        .room = address.name,
        .key.container = layer->container,
        .blocked.request = r,
    };
    if (a->application == NULL || a->name.len >= LIVE_NAME_MAX) {
        return false;
    }
    switch (address.kind) {
    case HLS_PLAYLIST:
        read_query(a);
        return true;
    case HLS_ENDLESS:
        a->kind = HLS_KIND_ENDLESS;
        return true;
    case HLS_STILL:
        a->kind = HLS_KIND_STILL;
        return true;
    case HLS_NOTHING:
    case HLS_SEGMENT:
    case HLS_PART:
    case HLS_INIT:
        break;
    }
    return read_object(a, &address);
}

struct str
asked_uri(const struct asked *a, struct str room, const char *rendition)
{
    struct pool *pool = a->request->pool;
    struct buf last;
    struct str uri = STR_NONE;

    buf_init(&last, 3 * LIVE_NAME_MAX);
    if (hls_address_last(&last, room) == 0) {
        uri = pool_printf(pool, "%.*s.m3u8?rendition=%s",
                          STR_ARGS(buf_str(&last)), rendition);
    }
    buf_clear(&last);
    return uri;
}

struct str
asked_base(const struct asked *a, uint64_t word)
{
    struct buf base;
    struct str text = STR_NONE;

    buf_init(&base, 3 * LIVE_NAME_MAX + 64);
    if (hls_address_base(&base, a->room, word) == 0) {
        text = pool_str(a->request->pool, buf_str(&base));
    }
    buf_clear(&base);
    return text;
}

/* Of the folder of objects beside the playlist. */
struct str
asked_object_query(const struct asked *a, uint64_t word)
{
    struct http_request *r = a->request;
    struct str path = r->path, query;

    path.len -= sizeof(".m3u8") - 1;
    query = http_sign_folder(r, pool_printf(r->pool, "%.*s/%016llx/",
                                            STR_ARGS(path),
                                            (unsigned long long)word));
    return query.len > 0 ? pool_printf(r->pool, "?%.*s", STR_ARGS(query))
                         : STR_NONE;
}

/* ---- answers ---- */

enum http_result
asked_refuse(struct asked *a, int status, enum hls_refused why,
             const char *reason)
{
    hls_count_refused(why);
    http_set_header(a->request, "Cache-Control", STR("no-store"));
    if (status == 503) {
        http_set_header(a->request, "Retry-After", STR("1"));
    }
    return http_error(a->request, status, "%s", reason);
}

enum http_result
asked_wait(struct asked *a, const struct live_cuts *c, uint64_t segment,
           uint32_t part)
{
    a->blocked.segment = segment;
    a->blocked.part = part;
    if (a->blocked.expired) {
        return asked_refuse(a, 503, HLS_REFUSED_WAITED,
                            "it did not come in time");
    }
    switch (
        blocked_wait(a->layer, &a->blocked, a->name, 3 * (int64_t)c->target)) {
    case SHARE_GRANTED:
        return HTTP_WAIT;
    case SHARE_OVER:
        return asked_refuse(a, 503, HLS_REFUSED_WAITING,
                            "your address has its share of the requests that "
                            "may wait (max_waiting)");
    case SHARE_FULL:
        break;
    }
    return asked_refuse(a, 503, HLS_REFUSED_WAITING,
                        "too many requests wait (max_waiting)");
}
