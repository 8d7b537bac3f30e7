/*
 * Paths and queries of requests.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "asked.h"

#include <string.h>

#define PLAYLIST ".m3u8"
#define WORD_LEN 16

/* ---- paths ---- */

static bool
read_word(struct str text, uint64_t *word)
{
    *word = 0;
    for (size_t i = 0; i < text.len; i++) {
        int digit = str_hex_digit(text.ptr[i]);

        if (digit < 0) {
            return false;
        }
        *word = *word << 4 | (unsigned)digit;
    }
    return text.len == WORD_LEN;
}

static bool
is_rendition(struct str text)
{
    int64_t id;

    if (text.len == 0 || text.len >= OBJECT_RENDITION_MAX) {
        return false;
    }
    return str_eq(text, STR("v")) ||
           (text.ptr[0] == 'a' && str_to_int(str_skip(text, 1), 0, 255, &id));
}

static bool
read_number(struct str text, uint64_t *number)
{
    int64_t value;

    if (!str_to_int(text, 0, INT64_MAX, &value)) {
        return false;
    }
    *number = (uint64_t)value;
    return true;
}

/* "NUMBER" or "NUMBER.PART" or "init-HEADER". */
static bool
read_object(struct asked *a, struct str text, struct str suffix)
{
    struct object_key *k = &a->key;
    int64_t part;

    if (str_starts(text, STR("init-"))) {
        const char *init = k->container->init_suffix;

        a->kind = HLS_KIND_INIT;
        k->part = OBJECT_INIT;
        return init != NULL && str_eq(suffix, str_from(init)) &&
               read_number(str_skip(text, 5), &k->number);
    }
    struct str number = str_cut(&text, '.');

    if (!str_eq(suffix, str_from(k->container->suffix)) ||
        !read_number(number, &k->number)) {
        return false;
    }
    a->kind = HLS_KIND_SEGMENT;
    k->part = OBJECT_SEGMENT;
    if (text.len > 0) {
        a->kind = HLS_KIND_PART;
        if (!str_to_int(text, 0, UINT32_MAX, &part)) {
            return false;
        }
        k->part = part;
    }
    return true;
}

/* Cuts text at the last c; STR_NONE when there is none. */
static struct str
cut_last(struct str *text, char c)
{
    size_t at = text->len;

    while (at > 0 && text->ptr[at - 1] != c) {
        at--;
    }
    if (at == 0) {
        return STR_NONE;
    }
    struct str tail = str_skip(*text, at);

    *text = str_first(*text, at - 1);
    return tail;
}

static bool
read_object_name(struct asked *a, struct str object)
{
    struct str rest = object;
    struct str suffix, rendition = str_cut(&rest, '-');

    if (is_rendition(rendition)) {
        str_copy(a->key.rendition, sizeof(a->key.rendition), rendition);
        object = rest;
    }
    rest = object;
    if (cut_last(&rest, '.').len == 0) {
        return false;
    }
    suffix = str_skip(object, rest.len);
    return read_object(a, rest, suffix);
}

/* The rest behind APP/. */
static bool
read_path(struct asked *a, struct str rest)
{
    if (str_ends(rest, STR(PLAYLIST))) {
        a->room = str_first(rest, rest.len - (sizeof(PLAYLIST) - 1));
        return a->room.len > 0;
    }
    struct str object = cut_last(&rest, '/');
    struct str word = cut_last(&rest, '/');

    a->room = rest;
    return rest.len > 0 && read_word(word, &a->key.word) &&
           read_object_name(a, object);
}

/* ---- queries ---- */

static void
read_directive(struct asked *a, const char *name, int64_t *value)
{
    struct str text;

    if (http_query(a->request, name, &text) &&
        !str_to_int(text, 0, INT64_MAX / 2, value)) {
        a->wrong = "_HLS_msn and _HLS_part are decimal numbers";
    }
}

static void
read_query(struct asked *a)
{
    struct str text;

    a->kind = HLS_KIND_MULTIVARIANT;
    if (http_query(a->request, "rendition", &text)) {
        a->kind = HLS_KIND_PLAYLIST;
        if (is_rendition(text)) {
            str_copy(a->key.rendition, sizeof(a->key.rendition), text);
        } else if (!str_eq(text, STR("all"))) {
            a->wrong = "there is no such rendition";
        }
    }
    if (http_query(a->request, "viewer", &text)) {
        a->viewer = text;
    }
    if (a->kind == HLS_KIND_MULTIVARIANT) {
        return;
    }
    read_directive(a, "_HLS_msn", &a->msn);
    read_directive(a, "_HLS_part", &a->part);
    if (a->part >= 0 && a->msn < 0) {
        a->wrong = "_HLS_part needs _HLS_msn";
    }
    a->skip = http_query(a->request, "_HLS_skip", &text) &&
              (str_eq(text, STR("YES")) || str_eq(text, STR("v2")));
}

/* ---- all of it ---- */

static bool
is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || strchr("-._~", c) != NULL;
}

/* A segment of a path as it stands in a URI. */
static struct str
escape(struct pool *pool, struct str text)
{
    static const char digits[] = "0123456789ABCDEF";
    char *out = pool_alloc(pool, text.len * 3 + 1);
    size_t n = 0;

    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];

        if (c != 0 && is_unreserved((char)c)) {
            out[n++] = (char)c;
        } else {
            out[n++] = '%';
            out[n++] = digits[c >> 4];
            out[n++] = digits[c & 15];
        }
    }
    return str_of(out, n);
}

bool
asked_read(struct asked *a, struct http_request *r,
           const struct hls_layer *layer)
{
    struct str path = str_skip(r->route_path, 1); /* APP/... */
    struct str rest = path;
    struct str app = str_cut(&rest, '/');
    struct str last;

    memset(a, 0, sizeof(*a));
    a->request = r;
    a->layer = layer;
    a->msn = a->part = -1;
    a->viewer = STR_NONE;
    a->key.container = layer->container;
    a->blocked.request = r;
    list_init(&a->blocked.link);
    if (!read_path(a, rest)) {
        return false;
    }
    a->application = rtmp_service_application(app);
    if (a->application == NULL || app.len + 1 + a->room.len >= LIVE_NAME_MAX) {
        return false;
    }
    a->name = str_first(path, app.len + 1 + a->room.len);
    if (a->key.word == 0) {
        read_query(a);
    }
    rest = a->room;
    last = cut_last(&rest, '/');
    a->base = escape(r->pool, last.len > 0 ? last : a->room);
    return true;
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
    if (!blocked_wait(a->layer, &a->blocked, a->name, 3 * (int64_t)c->target)) {
        return asked_refuse(a, 503, HLS_REFUSED_WAITING,
                            "too many requests wait (max_waiting)");
    }
    return HTTP_WAIT;
}
