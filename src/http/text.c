/*
 * Variables of texts, and how their values are written.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/text.h"

#include <assert.h>
#include <stdio.h>

#include "base/line_format.h"
#include "http/access_log.h"
#include "http/escape.h"
#include "http/exchange.h"
#include "http/path.h"

#define TEXT_MAX (64 * 1024) /* bytes that come of one */

struct http_text {
    const struct line_format *format;
    bool names_host; /* as a URL: "//host/path" */
};

typedef const struct exchange *subject;

/* ---- variables ---- */

/* It may stand in a URL as it is. */
static void
written(struct line_value *v, struct str text)
{
    v->kind = LINE_WRITTEN;
    v->text = text;
}

/* Without its port; an IPv6 address in its brackets. */
static void
get_host(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;
    struct str host = x->pub.host;

    (void)rest;
    if (str_starts(host, STR("["))) {
        host = str_first(host, str_find(host, ']', 0) + 1);
    } else {
        host = str_first(host, str_find(host, ':', 0));
    }
    written(v, host.len > 0 ? host : x->c->server->known_as);
}

static void
get_scheme(const void *arg, struct str rest, struct line_value *v)
{
    (void)rest;
    written(v, ((subject)arg)->pub.scheme);
}

static void
get_request_uri(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;
    struct str path = http_path_local(x->pub.pool, x->head.path);

    (void)rest;
    /* Of an absolute target it is the part behind the authority. */
    if (x->head.query.len > 0) {
        path = pool_printf(x->pub.pool, "%.*s?%.*s", STR_ARGS(path),
                           STR_ARGS(x->head.query));
    }
    written(v, path);
}

static void
get_uri(const void *arg, struct str rest, struct line_value *v)
{
    (void)rest;
    line_value_text(v, ((subject)arg)->pub.path);
}

static void
get_args(const void *arg, struct str rest, struct line_value *v)
{
    (void)rest;
    written(v, ((subject)arg)->pub.query);
}

static void
get_is_args(const void *arg, struct str rest, struct line_value *v)
{
    (void)rest;
    written(v, ((subject)arg)->pub.query.len > 0 ? STR("?") : STR_NONE);
}

static void
get_client(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;
    char text[ADDR_TEXT];

    (void)rest;
    str_copy(v->room, sizeof(v->room),
             str_from(addr_ip_text(&x->pub.client, text)));
    line_value_text(v, str_from(v->room));
}

static void
get_method(const void *arg, struct str rest, struct line_value *v)
{
    (void)rest;
    line_value_text(v, ((subject)arg)->pub.method);
}

static void
get_server_name(const void *arg, struct str rest, struct line_value *v)
{
    (void)rest;
    line_value_text(v, ((subject)arg)->c->server->known_as);
}

static void
get_request_id(const void *arg, struct str rest, struct line_value *v)
{
    (void)rest;
    line_value_text(v, ((subject)arg)->pub.request_id);
}

/* $http_user_agent is User-Agent. */
static void
get_http(const void *arg, struct str rest, struct line_value *v)
{
    subject x = arg;
    char name[128];
    size_t n = str_copy(name, sizeof(name), rest);
    const struct str *value;

    for (size_t i = 0; i < n; i++) {
        name[i] = name[i] == '_' ? '-' : name[i];
    }
    value = http_header(&x->pub, name);
    line_value_text(v, value != NULL ? *value : STR_NONE);
}

static void
get_group(const void *arg, struct str rest, struct line_value *v)
{
    const struct http_groups *g = &((subject)arg)->groups;
    int i = g->pattern != NULL ? regex_group(g->pattern, rest) : -1;

    line_value_text(v, i >= 0 ? g->match->groups[i] : STR_NONE);
}

static const struct line_variable variables[] = {
    { "host", get_host },
    { "scheme", get_scheme },
    { "request_uri", get_request_uri },
    { "uri", get_uri },
    { "args", get_args },
    { "query_string", get_args },
    { "is_args", get_is_args },
    { "client", get_client },
    { "remote_addr", get_client },
    { "request_method", get_method },
    { "server_name", get_server_name },
    { "request_id", get_request_id },
    { "http_", get_http },
    { NULL, NULL },
};

/* The rows above, all others of logs, and perhaps a row of groups. */
#define ROWS_MAX 96
struct table {
    struct line_variable rows[ROWS_MAX];
    size_t count; /* 0: it is to be made */
};
static struct table plain, with_groups;

static void
add_rows(struct table *t, const struct line_variable *from)
{
    for (; from->name != NULL; from++) {
        assert(t->count < ROWS_MAX - 2);
        t->rows[t->count++] = *from;
    }
}

static const struct line_variable *
table(bool groups)
{
    struct table *t = groups ? &with_groups : &plain;

    if (t->count == 0) {
        add_rows(t, variables);
        add_rows(t, http_log_variables);
        if (groups) {
            t->rows[t->count] = (struct line_variable){ "", get_group };
        }
    }
    return t->rows;
}

static bool
is_group(const void *arg, struct str name)
{
    return regex_group(arg, name) >= 0;
}

const struct http_text *
http_text_new(struct pool *pool, struct str text, const struct regex *groups,
              struct errmsg *err)
{
    struct http_text *t = pool_zero(pool, sizeof(*t));
    struct str stranger;

    t->format = line_text_compile(pool, text, table(groups != NULL), err);
    if (t->format == NULL) {
        return NULL;
    }
    t->names_host = str_starts(text, STR("//"));
    if (groups == NULL) {
        return t;
    }
    stranger = line_text_stranger(
        t->format, &with_groups.rows[with_groups.count], is_group, groups);
    if (stranger.len > 0) {
        errmsg_set(err,
                   "\"$%.*s\" is neither a variable nor a group of the "
                   "pattern",
                   STR_ARGS(stranger));
        return NULL;
    }
    return t;
}

/* ---- writing ---- */

struct writer {
    struct pool *pool;
    struct buf out;
    enum http_place place;
    bool query; /* behind the '?' of a URL */
    bool full;  /* something did not get in */
};

static void
add(struct writer *w, struct str s)
{
    w->full |= buf_add_str(&w->out, s) == -1;
}

/* more: a byte that is encoded, too, or 0. */
static void
put_encoded(struct writer *w, struct str s, char more)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if (c < ' ' || c >= 0x7f || c == (unsigned char)more) {
            w->full |= buf_printf(&w->out, "%%%02X", c) == -1;
        } else {
            w->full |= buf_add(&w->out, &c, 1) == -1;
        }
    }
}

static void
put_field(struct writer *w, struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];

        if ((c < ' ' && c != '\t') || c == 0x7f) {
            w->full |= buf_printf(&w->out, "%%%02X", c) == -1;
        } else {
            w->full |= buf_add(&w->out, &c, 1) == -1;
        }
    }
}

/* http_json_string() without its quotes. */
static void
put_json(struct writer *w, struct str s)
{
    struct buf b;

    buf_init(&b, TEXT_MAX);
    if (http_json_string(&b, s) == 0) {
        struct str all = buf_str(&b);

        add(w, str_of(all.ptr + 1, all.len - 2));
    } else {
        w->full = true;
    }
    buf_clear(&b);
}

static void
put_value(struct writer *w, const struct line_value *v)
{
    switch (w->place) {
    case HTTP_IN_URL:
        if (v->kind == LINE_WRITTEN) {
            put_encoded(w, v->text, '\\');
        } else if (w->query) {
            add(w, http_query_encode(w->pool, v->text));
        } else {
            add(w, http_path_encode(w->pool, v->text));
        }
        return;
    case HTTP_IN_HEADER:
        put_encoded(w, v->text, '\0');
        return;
    case HTTP_IN_FIELD:
        put_field(w, v->text);
        return;
    case HTTP_IN_HTML:
        w->full |= http_html_text(&w->out, v->text) == -1;
        return;
    case HTTP_IN_JSON:
        put_json(w, v->text);
        return;
    case HTTP_IN_TEXT:
        add(w, v->text);
        return;
    }
}

static void
put(void *arg, struct str text, const struct line_value *v)
{
    struct writer *w = arg;

    if (v != NULL) {
        put_value(w, v);
        text = v->kind == LINE_WRITTEN ? v->text : STR_NONE;
    } else {
        add(w, text);
    }
    w->query |= str_find(text, '?', 0) < text.len;
}

bool
http_text_write(const struct exchange *x, const struct http_text *t,
                enum http_place place, struct str *out)
{
    struct writer w = { .pool = x->pub.pool, .place = place };

    buf_init(&w.out, TEXT_MAX);
    line_text_each(t->format, x, put, &w);
    *out = w.full ? STR_NONE : pool_str(x->pub.pool, buf_str(&w.out));
    buf_clear(&w.out);
    if (place == HTTP_IN_URL && !t->names_host) {
        *out = http_path_local(x->pub.pool, *out);
    }
    return !w.full;
}

bool
http_text_of(struct http_request *r, const struct http_text *t,
             enum http_place place, struct str *out)
{
    return http_text_write(exchange_of(r), t, place, out);
}

enum http_place
http_place_of(struct str type)
{
    struct str name = str_trim(str_first(type, str_find(type, ';', 0)));

    if (str_eq_nocase(name, STR("text/html")) || str_ends(name, STR("xml"))) {
        return HTTP_IN_HTML;
    }
    return str_ends(name, STR("json")) ? HTTP_IN_JSON : HTTP_IN_TEXT;
}
