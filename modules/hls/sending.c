/*
 * Answers with objects: from the arena, and from the object's copy once a
 * client did not take all at once.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sending.h"

#include "base/clock.h"
#include "http/file/condition.h"
#include "http/file/range.h"
#include "made.h"

struct sending {      /* in the request's pool */
    struct list link; /* of its object, once it needs the copy */
    struct http_request *request;
    struct object *object; /* held */
    struct http_range range;
    uint64_t taken; /* bytes, when keep() was last called */
};

/* ---- the copy ---- */

static void
note_unsent(struct object *o)
{
    size_t held = list_empty(&o->sendings) ? 0 : (size_t)o->size;

    unsent_set(&o->unsent, held, o->taken);
}

/* Too much is kept for all that take nothing. */
static void
cut(struct unsent *u)
{
    struct object *o = LIST_ITEM(u, struct object, unsent);

    LIST_EACH (node, &o->sendings) {
        struct sending *s = LIST_ITEM(node, struct sending, link);

        list_remove(&s->link);
        http_note(s->request,
                  "too slow: too much was kept for those who take nothing");
        http_break(s->request);
    }
    note_unsent(o);
}

static int
at(void *arg, uint64_t from, struct iovec *ranges, int most)
{
    struct sending *s = arg;
    uint64_t begin = (uint64_t)s->range.offset + from;
    uint64_t left = (uint64_t)s->range.len - from;
    int n = object_ranges(s->object, begin, ranges, most);

    if (n < 0) {
        http_note(s->request, "the stream has moved on");
        made_forget(s->object);
    }
    for (int i = 0; i < n; i++) {
        if (ranges[i].iov_len >= left) {
            ranges[i].iov_len = (size_t)left;
            return i + 1;
        }
        left -= ranges[i].iov_len;
    }
    return n;
}

/* Where there is no room for a copy, the arena is asked again: that holds for
 * as long as the frames are there. */
static int
keep(void *arg, uint64_t from)
{
    struct sending *s = arg;
    struct object *o = s->object;

    if (list_empty(&s->link) && made_copy(o) == 0) {
        if (o->unsent.cut == NULL) {
            unsent_init(&o->unsent, cut);
        }
        list_append(&o->sendings, &s->link);
    }
    o->taken += from - s->taken;
    s->taken = from;
    if (o->copy != NULL) {
        note_unsent(o);
    }
    return 0;
}

static void
done(void *arg)
{
    struct sending *s = arg;

    if (!list_empty(&s->link)) {
        list_remove(&s->link);
        note_unsent(s->object);
    }
    made_drop(s->object);
}

static const struct http_pieces pieces = {
    .at = at,
    .keep = keep,
    .done = done,
};

/* ---- the answer ---- */

static struct str
tag_of(struct http_request *r, const struct object *o)
{
    return pool_printf(r->pool, "\"%016llx-%s-%llu.%lld\"",
                       (unsigned long long)o->key.word, o->key.rendition,
                       (unsigned long long)o->key.number,
                       (long long)o->key.part);
}

/* 200, 206 or 416.  Several ranges are answered with all of it (RFC 9110,
 * 14.2). */
static int
choose_range(struct http_request *r, struct sending *s, struct str tag)
{
    struct http_validators v = { tag, INT64_MAX }; /* no date compares */
    struct http_range ranges[HTTP_RANGES_MAX];
    const struct str *value = http_header(r, "Range");
    int64_t size = (int64_t)s->object->size;
    size_t count = 0;

    s->range = (struct http_range){ 0, size };
    if (value == NULL || !str_eq(r->method, STR("GET")) ||
        !http_range_counts(r, &v, clock_wall_ms() / 1000)) {
        return 200;
    }
    switch (http_range_parse(*value, size, ranges, &count)) {
    case HTTP_RANGE_WHOLE:
        return 200;
    case HTTP_RANGE_NONE:
        return 416;
    case HTTP_RANGE_PARTS:
        break;
    }
    if (count != 1) {
        return 200;
    }
    s->range = ranges[0];
    return 206;
}

static enum http_result
send_it(struct http_request *r, struct sending *s, const char *type, int status)
{
    int64_t size = (int64_t)s->object->size;

    http_set_header(r, "Accept-Ranges", STR("bytes"));
    if (status == 206) {
        http_set_header(
            r, "Content-Range",
            pool_printf(r->pool, "bytes %lld-%lld/%lld",
                        (long long)s->range.offset,
                        (long long)(s->range.offset + s->range.len - 1),
                        (long long)size));
    }
    return http_send_pieces(r, status, type, (uint64_t)s->range.len, &pieces,
                            s);
}

static enum http_result
refuse(struct http_request *r, struct object *o, int status)
{
    long long size = (long long)o->size;

    made_drop(o);
    if (status == 416) {
        http_set_header(r, "Content-Range",
                        pool_printf(r->pool, "bytes */%lld", size));
    }
    return http_error(r, status,
                      status == 416 ? "it has %lld bytes"
                                    : "it is another one, of %lld bytes",
                      size);
}

enum http_result
sending_begin(struct http_request *r, struct object *o, const char *type)
{
    struct sending *s = pool_zero(r->pool, sizeof(*s));
    struct str tag = tag_of(r, o);
    struct http_validators v = { tag, INT64_MAX }; /* no date compares */
    enum http_verdict verdict = http_judge_conditions(r, &v);

    if (verdict == HTTP_FAILED) {
        return refuse(r, o, 412);
    }
    list_init(&s->link);
    s->request = r;
    s->object = o;

    int status = choose_range(r, s, tag);

    if (status == 416 && verdict == HTTP_PERFORM) {
        return refuse(r, o, 416);
    }
    http_set_header(r, "Cache-Control",
                    http_is_private(r)
                        ? STR("private, max-age=3600, immutable")
                        : STR("public, max-age=3600, immutable"));
    http_set_header(r, "ETag", tag);
    if (verdict == HTTP_NOT_MODIFIED) {
        made_drop(o);
        return http_reply(r, 304, NULL, STR_NONE);
    }
    return send_it(r, s, type, status);
}
