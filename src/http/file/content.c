/*
 * The answer of a file for a client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/file/content.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/rand.h"
#include "http/accept.h"
#include "http/exchange.h"
#include "http/file/coding.h"
#include "http/file/condition.h"
#include "http/file/parts.h"
#include "http/file/range.h"

/* The answer as planned. */
struct plan {
    struct exchange *x;
    struct http_opened *file;
    const char *type;
    struct str tag;
    bool compress; /* by us, now */
    bool plain;    /* nothing but the file as it is */
    struct http_range ranges[HTTP_RANGES_MAX];
    size_t range_count; /* 0: all of it */
};

/* ---- what is to be sent ---- */

/* Whether we compress it.  A client that asks for a range needs bytes that stay
 * the same from one request to the next. */
static bool
compresses(struct plan *p, const struct http_content *c)
{
    struct http_request *r = &p->x->pub;

    if (c->gzipped || !http_compressible(p->x, 200, p->type, p->file->size)) {
        return false;
    }
    p->plain = false;
    http_vary(&p->x->pub, STR("Accept-Encoding"));
    return r->version == 11 && http_accepts_gzip(r) &&
           http_header(r, "Range") == NULL;
}

static void
choose(struct plan *p, const struct http_content *c)
{
    struct pool *pool = p->x->pub.pool;

    p->type = c->type != NULL ? c->type : p->file->type;
    p->tag = p->file->tag;
    p->plain = !c->gzipped && c->type == NULL;
    if (c->varies) {
        http_vary(&p->x->pub, STR("Accept-Encoding"));
    }
    p->compress = compresses(p, c);
    if (p->compress) {
        p->tag = pool_printf(pool, "W/%.*s", STR_ARGS(p->tag));
    } else if (c->gzipped) {
        p->tag =
            pool_printf(pool, "%.*s-gz\"", (int)p->tag.len - 1, p->tag.ptr);
    }
}

static void
set_headers(struct plan *p, const struct http_content *c)
{
    struct http_request *r = &p->x->pub;

    http_set_header(r, "Last-Modified", p->file->date);
    http_set_header(r, "ETag", p->tag);
    if (!p->compress) {
        http_set_header(r, "Accept-Ranges", STR("bytes"));
    }
    if (c->gzipped || p->compress) {
        http_set_header(r, "Content-Encoding", STR("gzip"));
    }
}

/* ---- ranges ---- */

static struct str
content_range(struct plan *p, size_t i)
{
    const struct http_range *range = &p->ranges[i];

    return pool_printf(
        p->x->pub.pool, "bytes %lld-%lld/%lld", (long long)range->offset,
        (long long)(range->offset + range->len - 1), (long long)p->file->size);
}

/* 200, 206 or 416 (14.2: only GET knows ranges). */
static int
judge_range(struct plan *p)
{
    struct http_request *r = &p->x->pub;
    const struct str *value = http_header(r, "Range");
    struct http_validators v = { p->tag, p->file->modified };

    if (value == NULL || !str_eq(r->method, STR("GET")) ||
        !http_range_counts(r, &v, clock_wall_ms() / 1000)) {
        return 200;
    }
    switch (
        http_range_parse(*value, p->file->size, p->ranges, &p->range_count)) {
    case HTTP_RANGE_WHOLE:
        p->range_count = 0;
        return 200;
    case HTTP_RANGE_NONE:
        return 416;
    case HTTP_RANGE_PARTS:
        break;
    }
    return 206;
}

/* ---- sending ---- */

/* Compressing does not pay, or is not possible now. */
static void
send_plain_instead(struct plan *p)
{
    p->compress = false;
    p->tag = p->file->tag;
}

static enum http_result
send_compressed(struct plan *p, const struct http_content *c, struct str gzip)
{
    set_headers(p, c);
    if (p->file->fd == -1) {
        return http_answer(p->x, 200, p->type, gzip);
    }
    return http_send_compressed(p->x, p->type, p->file);
}

/* All of it; a small file is one answer, without a copy. */
static enum http_result
send_whole(struct plan *p, const struct http_content *c)
{
    struct http_opened *file = p->file;
    struct str gzip = STR_NONE;

    if (p->compress) {
        int level = (int)p->x->c->server->settings.gzip_level;

        gzip = http_files_gzip(file, level);
        if (file->fd == -1 ? gzip.len > 0 : gzip_has_room()) {
            return send_compressed(p, c, gzip);
        }
        send_plain_instead(p);
    }
    if (p->plain) {
        p->x->prepared = file->head;
    } else {
        set_headers(p, c);
    }
    if (file->fd == -1) {
        return http_answer(p->x, 200, p->plain ? NULL : p->type, file->bytes);
    }
    return http_send_opened(p->x, 200, p->plain ? NULL : p->type, file);
}

/* A head before each part and a last line (14.6).  Returns its type. */
static const char *
separate(struct plan *p, struct http_part *parts)
{
    struct pool *pool = p->x->pub.pool;
    uint64_t boundary[2];
    struct str line;

    rand_bytes(boundary, sizeof(boundary));
    line = pool_printf(pool, "%016llx%016llx", (unsigned long long)boundary[0],
                       (unsigned long long)boundary[1]);
    for (size_t i = 0; i < p->range_count; i++) {
        parts[i].before = pool_printf(
            pool, "%s--%s\r\nContent-Type: %s\r\nContent-Range: %s\r\n\r\n",
            i > 0 ? "\r\n" : "", line.ptr, p->type, content_range(p, i).ptr);
    }
    parts[p->range_count].before =
        pool_printf(pool, "\r\n--%s--\r\n", line.ptr);
    return pool_printf(pool, "multipart/byteranges; boundary=%s", line.ptr).ptr;
}

/* 15.3.7: one range is sent as it is, even if several were asked for. */
static enum http_result
send_ranges(struct plan *p)
{
    struct http_request *r = &p->x->pub;
    struct http_part *parts =
        pool_zero(r->pool, (p->range_count + 1) * sizeof(*parts));

    for (size_t i = 0; i < p->range_count; i++) {
        parts[i].before = STR_NONE;
        parts[i].offset = p->ranges[i].offset;
        parts[i].len = p->ranges[i].len;
    }
    if (p->range_count == 1) {
        http_set_header(r, "Content-Range", content_range(p, 0));
        return http_send_parts(p->x, 206, p->type, p->file, parts, 1);
    }
    const char *type = separate(p, parts);

    return http_send_parts(p->x, 206, type, p->file, parts, p->range_count + 1);
}

/* How long the file may be kept says nothing of an error. */
static void
forget_freshness(struct exchange *x)
{
    for (struct http_field **at = &x->fields; *at != NULL;) {
        struct str name = str_from((*at)->name);

        if (str_eq_nocase(name, STR("Cache-Control")) ||
            str_eq_nocase(name, STR("Expires"))) {
            *at = (*at)->next;
        } else {
            at = &(*at)->next;
        }
    }
}

static enum http_result
send_unsatisfiable(struct plan *p)
{
    struct http_request *r = &p->x->pub;

    forget_freshness(p->x);
    http_set_header(
        r, "Content-Range",
        pool_printf(r->pool, "bytes */%lld", (long long)p->file->size));
    return http_error(r, 416, "the file has %lld bytes",
                      (long long)p->file->size);
}

static enum http_result
perform(struct plan *p, const struct http_content *c)
{
    int status = judge_range(p);

    if (status == 200) {
        return send_whole(p, c);
    }
    if (status == 416) {
        return send_unsatisfiable(p);
    }
    set_headers(p, c);
    return send_ranges(p);
}

enum http_result
http_send_content(struct http_request *r, const struct http_content *c)
{
    struct plan p = { .x = exchange_of(r), .file = c->file };
    enum http_result result = HTTP_DONE;

    choose(&p, c);

    struct http_validators v = { p.tag, c->file->modified };

    switch (http_judge_conditions(r, &v)) {
    case HTTP_NOT_MODIFIED:
        http_set_header(r, "Last-Modified", c->file->date);
        http_set_header(r, "ETag", p.tag);
        result = http_reply(r, 304, NULL, STR_NONE);
        break;
    case HTTP_FAILED:
        forget_freshness(p.x);
        result = http_error(r, 412, "the file is another one");
        break;
    case HTTP_PERFORM:
        result = perform(&p, c);
        break;
    }
    http_opened_drop(c->file);
    return result;
}
