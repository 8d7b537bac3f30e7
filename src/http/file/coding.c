/*
 * Compressing answers on their way out.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/file/coding.h"

#include "http/accept.h"

static struct http_field *
find_field(const struct exchange *x, const char *name)
{
    for (struct http_field *f = x->fields; f != NULL; f = f->next) {
        if (str_eq_nocase(str_from(f->name), str_from(name))) {
            return f;
        }
    }
    return NULL;
}

static bool
may_be_changed(const struct exchange *x)
{
    const struct http_field *control = find_field(x, "Cache-Control");

    return find_field(x, "Content-Encoding") == NULL &&
           find_field(x, "Content-Range") == NULL &&
           (control == NULL ||
            !http_has_word(control->value, STR("no-transform")));
}

static bool
name_listed(const struct http_settings *s, struct str name)
{
    for (size_t i = 0; i < s->gzip_type_count; i++) {
        if (str_eq_nocase(name, s->gzip_types[i])) {
            return true;
        }
    }
    return false;
}

/* Types of vendors go with what they are made of. */
static bool
type_listed(const struct http_settings *s, const char *type)
{
    struct str params = str_from(type);
    struct str name = str_trim(str_cut(&params, ';'));
    bool vendor = str_starts(name, STR("application/vnd."));

    return name_listed(s, name) ||
           (vendor && str_ends(name, STR("+json")) &&
            name_listed(s, STR("application/json"))) ||
           (vendor && str_ends(name, STR("+xml")) &&
            name_listed(s, STR("application/xml")));
}

bool
http_compressible(const struct exchange *x, int status, const char *type,
                  int64_t length)
{
    const struct http_settings *s = &x->c->server->settings;

    return s->gzip && !x->as_is && type != NULL && status != 204 &&
           status != 206 && status != 304 &&
           (length < 0 || length >= s->gzip_min_length) &&
           type_listed(s, type) && may_be_changed(x);
}

void
http_vary(struct http_request *r, struct str name)
{
    struct exchange *x = exchange_of(r);
    struct http_field *f = find_field(x, "Vary");

    /* A selector's names stay when the walk leaves the location. */
    if (f == NULL || (f->of_filter && x->selecting)) {
        http_set_header(r, "Vary", name);
    } else if (!http_has_word(f->value, name) &&
               !http_has_word(f->value, STR("*"))) {
        f->value = pool_printf(x->pub.pool, "%.*s, %.*s", STR_ARGS(f->value),
                               STR_ARGS(name));
    }
}

static void
weaken_tag(struct exchange *x)
{
    struct http_field *tag = find_field(x, "ETag");

    if (tag != NULL && !str_starts(tag->value, STR("W/"))) {
        tag->value = pool_printf(x->pub.pool, "W/%.*s", STR_ARGS(tag->value));
    }
}

void
http_say_gzip(struct exchange *x)
{
    http_set_header(&x->pub, "Content-Encoding", STR("gzip"));
    weaken_tag(x);
}

/* RFC 9112, 7: a 1.0 client may not understand what 1.1 does. */
static bool
wanted(struct exchange *x)
{
    http_vary(&x->pub, STR("Accept-Encoding"));
    return x->head.version == 11 && http_accepts_gzip(&x->pub);
}

void
http_code_shared(struct exchange *x, int status, const char *type,
                 struct str *body, struct buf *gzip)
{
    if (!http_compressible(x, status, type, (int64_t)body->len) || !wanted(x) ||
        body->len > CODING_AT_ONCE) {
        return;
    }
    if (buf_len(gzip) == 0) {
        buf_init(gzip, body->len + 4096); /* not much longer: else not at all */
        gzip_whole(*body, (int)x->c->server->settings.gzip_level, gzip);
    }
    if (buf_len(gzip) > 0 && buf_len(gzip) < body->len) {
        *body = buf_str(gzip);
        http_say_gzip(x);
    }
}

void
http_code_body(struct exchange *x, int status, const char *type,
               struct str *body)
{
    struct buf out;

    buf_init(&out, 0);
    http_code_shared(x, status, type, body, &out);
    if (buf_len(&out) > 0 && body->ptr == (const char *)buf_data(&out)) {
        *body = pool_str(x->pub.pool, *body);
    }
    buf_clear(&out);
}

enum http_result
http_not_modified(struct http_request *r, const char *type, size_t length)
{
    struct exchange *x = exchange_of(r);

    if (http_compressible(x, 200, type, (int64_t)length) && wanted(x) &&
        length <= CODING_AT_ONCE) {
        weaken_tag(x);
    }
    return http_reply(r, 304, NULL, STR_NONE);
}

void
http_code_stream(struct exchange *x, int status, const char *type)
{
    if (!http_compressible(x, status, type, -1) || !wanted(x)) {
        return;
    }
    if (str_eq(x->head.method, STR("HEAD"))) {
        http_say_gzip(x);
        return;
    }
    x->gzip = gzip_new((int)x->c->server->settings.gzip_level);
    if (x->gzip != NULL) {
        http_say_gzip(x);
    }
}
