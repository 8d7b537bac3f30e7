/*
 * The head of an answer: status line and headers, ours, those of the layers
 * and those that the handler and the filters have set.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "http/exchange.h"
#include "http/metrics.h"

/* Status line, Server and Date: the same for a second. */
static struct str
first_lines(int status)
{
    static struct {
        int64_t second;
        int status;
        int len;
        char text[192];
    } cached = { .second = -1 };
    int64_t now = clock_wall_s();
    char date[32];

    if (now != cached.second || status != cached.status) {
        cached.second = now;
        cached.status = status;
        clock_http_date(date, sizeof(date), now * 1000);
        cached.len = snprintf(cached.text, sizeof(cached.text),
                              "HTTP/1.1 %d %s\r\nServer: weir\r\n"
                              "Date: %s\r\n",
                              status, http_status_text(status), date);
    }
    return str_of(cached.text, (size_t)cached.len);
}

static bool
fits_in_header(struct str value)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];

        if (c == 0x7f || (c < ' ' && c != '\t')) {
            return false;
        }
    }
    return true;
}

/* Adds it at the end of a list. */
static void
add_field(struct exchange *x, struct http_field **end, const char *name,
          struct str value)
{
    struct http_request *r = &x->pub;
    struct http_field *field = pool_alloc(r->pool, sizeof(*field));

    if (!fits_in_header(value)) {
        log_limited(LOG_ERROR,
                    "http: header %s of an answer to %.*s has bytes that "
                    "cannot stand there, left out (request %.*s)",
                    name, STR_ARGS(x->pub.path), STR_ARGS(r->request_id));
        metric_add(&http_metrics[HTTP_BAD_HEADERS], 0, 1);
        return;
    }
    *field = (struct http_field){ NULL, name, pool_str(r->pool, value),
                                  x->in_filter };
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = field;
}

void
http_set_header(struct http_request *r, const char *name, struct str value)
{
    struct exchange *x = exchange_of(r);

    add_field(x, &x->fields, name, value);
}

void
http_set_trailer(struct http_request *r, const char *name, struct str value)
{
    struct exchange *x = exchange_of(r);

    add_field(x, &x->trailers, name, value);
}

static bool
has_line(struct str lines, struct str name)
{
    while (lines.len > 0) {
        struct str line = str_cut(&lines, '\n');

        if (str_eq_nocase(str_cut(&line, ':'), name)) {
            return true;
        }
    }
    return false;
}

/* Whether the refusal or a level within has said it. */
static bool
is_said(const struct exchange *x, const struct http_level *s, struct str name)
{
    bool said = has_line(x->reject_lines, name);

    for (const struct http_level *in = x->level; in != s && !said;
         in = in->up) {
        said = has_line(in->lines, name);
    }
    return said;
}

/* Adds the header lines of the layers around the one that answers: an answer
 * has one version, but any number of links. */
static int
add_stage(struct buf *b, const struct exchange *x, const struct http_level *s)
{
    struct str lines = s->lines;
    int bad = 0;

    while (lines.len > 0) {
        struct str line = str_cut(&lines, '\n'), rest = line;
        struct str name = str_cut(&rest, ':');

        if (str_eq_nocase(name, STR("Link")) || !is_said(x, s, name)) {
            bad |= buf_add_str(b, line) | buf_add_str(b, STR("\n"));
        }
    }
    return bad;
}

static int
add_fields(struct buf *b, const struct exchange *x)
{
    int bad = buf_add_str(b, x->reject_lines);

    if (x->level != NULL && x->reject_lines.len == 0) {
        bad |= buf_add_str(b, x->level->lines);
    }
    for (const struct http_level *s = x->level; s != NULL; s = s->up) {
        if (s != x->level || x->reject_lines.len > 0) {
            bad |= add_stage(b, x, s);
        }
    }
    for (const struct http_field *f = x->fields; f != NULL; f = f->next) {
        bad |= http_add_line(b, str_from(f->name), f->value);
    }
    return bad;
}

static int
add_length(struct buf *b, int64_t length)
{
    char text[24];
    char *at = text + sizeof(text);

    do {
        *--at = (char)('0' + length % 10);
        length /= 10;
    } while (length > 0);
    return http_add_line(b, STR("Content-Length"),
                         str_of(at, (size_t)(text + sizeof(text) - at)));
}

static int
add_framing(struct buf *b, const struct exchange *x, int64_t length)
{
    int bad = 0;

    if (x->prepared.len > 0) {
        bad |= buf_add_str(b, x->prepared);
    } else if (length >= 0 && x->status != 204 && x->status != 304) {
        bad |= add_length(b, length);
    } else if (x->chunked) {
        bad |= http_add_line(b, STR("Transfer-Encoding"), STR("chunked"));
    }
    if (x->close) {
        bad |= http_add_line(b, STR("Connection"), STR("close"));
    } else if (x->head.version == 10) {
        bad |= http_add_line(b, STR("Connection"), STR("keep-alive"));
    }
    return bad;
}

int
http_add_head(struct buf *b, const struct exchange *x, const char *type,
              int64_t length)
{
    int bad = buf_add_str(b, first_lines(x->status));

    bad |= http_add_line(b, STR("X-Request-ID"), x->pub.request_id);
    if (type != NULL) {
        bad |= http_add_line(b, STR("Content-Type"), str_from(type));
    }
    if (x->c->server->settings.hsts.len > 0 &&
        str_eq(x->pub.scheme, STR("https"))) {
        bad |= http_add_line(b, STR("Strict-Transport-Security"),
                             x->c->server->settings.hsts);
    }
    bad |= add_framing(b, x, length);
    bad |= add_fields(b, x);
    return bad | buf_add(b, "\r\n", 2);
}

int
http_add_info(struct buf *b, int status, const struct http_header *headers,
              size_t count)
{
    int bad =
        buf_printf(b, "HTTP/1.1 %d %s\r\n", status, http_status_text(status));

    for (size_t i = 0; i < count; i++) {
        if (fits_in_header(headers[i].value)) {
            bad |= http_add_line(b, headers[i].name, headers[i].value);
        }
    }
    return bad | buf_add(b, "\r\n", 2);
}

/* ---- trailers ---- */

static bool
takes_trailers(const struct http_request *r)
{
    for (size_t i = 0; i < r->header_count; i++) {
        if (str_eq_nocase(r->headers[i].name, STR("TE")) &&
            http_has_word(r->headers[i].value, STR("trailers"))) {
            return true;
        }
    }
    return false;
}

static bool
is_announced(const struct exchange *x, const struct http_field *trailer)
{
    for (const struct http_field *f = x->fields; f != NULL; f = f->next) {
        if (str_eq_nocase(str_from(f->name), STR("Trailer")) &&
            http_has_word(f->value, str_from(trailer->name))) {
            return true;
        }
    }
    return false;
}

int
http_add_trailers(struct buf *b, const struct exchange *x)
{
    bool all = takes_trailers(&x->pub);
    int bad = 0;

    for (const struct http_field *f = x->trailers; f != NULL; f = f->next) {
        if (all || is_announced(x, f)) {
            bad |= http_add_line(b, str_from(f->name), f->value);
        }
    }
    return bad;
}
