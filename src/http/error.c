/*
 * Error bodies: one message, in the form the client likes best of JSON, HTML
 * and text.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdarg.h>
#include <stdio.h>

#include "http/accept.h"
#include "http/escape.h"
#include "http/exchange.h"
#include "http/page.h"

/* Of two that are wished for as much, the first: problem details are for
 * clients that name them. */
enum form { FORM_JSON, FORM_HTML, FORM_TEXT, FORM_PROBLEM, FORM_COUNT };

static const struct {
    const char *type, *group; /* "application/json", "application/..." */
} forms[FORM_COUNT] = {
    [FORM_JSON] = { "application/json", "application/*" },
    [FORM_PROBLEM] = { "application/problem+json", "application/*" },
    [FORM_HTML] = { "text/html", "text/*" },
    [FORM_TEXT] = { "text/plain", "text/*" },
};

/* How closely a range of Accept names a form: 3 exactly .. 0 not at all. */
static int
closeness(struct str range, enum form form)
{
    if (str_eq_nocase(range, str_from(forms[form].type))) {
        return 3;
    }
    if (str_eq_nocase(range, str_from(forms[form].group))) {
        return 2;
    }
    return str_eq(range, STR("*/*")) ? 1 : 0;
}

static int
wish(const struct http_media *accept, enum form form)
{
    int best = 0, quality = 0;

    for (const struct http_media *m = accept; m != NULL; m = m->next) {
        int close = closeness(m->name, form);

        if (close > best) {
            best = close;
            quality = m->quality;
        }
    }
    return quality;
}

/* What a layer of layers says is of an API: no pages. */
static enum form
choose(const struct http_request *r)
{
    bool pages = !exchange_of(r)->api_says;
    const struct http_media *accept = http_accept_members(r);
    enum form chosen = FORM_JSON;
    int most = wish(accept, FORM_JSON);

    for (enum form f = FORM_HTML; f < FORM_COUNT; f++) {
        int w = wish(accept, f);

        if (w > most && (f != FORM_HTML || pages)) {
            most = w;
            chosen = f;
        }
    }
    return chosen;
}

static void
write_html(struct buf *b, struct http_request *r, int status,
           struct str message)
{
    http_page_begin(
        b, pool_printf(r->pool, "%d %s", status, http_status_text(status)));
    buf_add_str(b, STR("<p>"));
    http_html_text(b, message);
    buf_add_str(b, STR("</p>\n"));
    http_page_end(b, r);
}

/* For programs that look for a message, and those that know RFC 9457. */
static void
write_json(struct buf *b, int status, struct str message)
{
    buf_add_str(b, STR("{\"message\":"));
    http_json_string(b, message);
    buf_printf(b,
               ",\"type\":\"about:blank\",\"title\":\"%s\","
               "\"status\":%d,\"detail\":",
               http_status_text(status), status);
    http_json_string(b, message);
    buf_add_str(b, STR("}\n"));
}

static const char *
write_body(struct buf *b, struct http_request *r, int status,
           struct str message)
{
    switch (choose(r)) {
    case FORM_HTML:
        write_html(b, r, status, message);
        return "text/html; charset=utf-8";
    case FORM_PROBLEM:
        write_json(b, status, message);
        return "application/problem+json";
    case FORM_TEXT:
        buf_printf(b, "%d %.*s\n", status, STR_ARGS(message));
        return "text/plain; charset=utf-8";
    case FORM_JSON:
    case FORM_COUNT:
        break;
    }
    write_json(b, status, message);
    return "application/json";
}

/* NULL: the layer has no form of its own. */
static const char *
ask(const struct http_layer *l, struct http_request *r, int status,
    struct str message, struct buf *b)
{
    if (l->error_body == NULL) {
        return NULL;
    }
    buf_take(b, buf_len(b)); /* what one has written that then said no */
    return l->error_body(r, status, message, b);
}

/* The body in a module's own form: of the layer whose turn it is or one that
 * chose it, else of the location's first one that has a form.  NULL: none. */
static const char *
write_own(struct http_request *r, int status, struct str message, struct buf *b)
{
    const struct http_location *l = r->location;
    const struct exchange *x = exchange_of(r);
    const char *type = NULL;

    if (l == NULL) {
        return NULL;
    }
    for (const struct http_level *s = x->level; s != NULL && type == NULL;
         s = s->up) {
        type = s->at < s->count ? ask(&s->layers[s->at], r, status, message, b)
                                : NULL;
    }
    for (size_t i = 0; i < l->layer_count && type == NULL; i++) {
        type = ask(&l->layers[i], r, status, message, b);
    }
    return type;
}

enum http_result
http_error(struct http_request *r, int status, const char *format, ...)
{
    char message[1024];
    struct buf b;
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    buf_init(&b, 16 * sizeof(message));

    const char *type = write_own(r, status, str_from(message), &b);

    if (type == NULL) {
        buf_take(&b, buf_len(&b));
        type = write_body(&b, r, status, str_from(message));
    }

    http_set_header(r, "X-Content-Type-Options", STR("nosniff"));
    http_reply(r, status, type, buf_str(&b));
    buf_clear(&b);
    return HTTP_DONE;
}
