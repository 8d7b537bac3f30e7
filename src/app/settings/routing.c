/*
 * Rows of rewrite, return and add_headers, and what is made of them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/routing.h"

#include <string.h>

#include "app/settings/rows.h"
#include "base/regex.h"
#include "conf/rows.h"
#include "http/locate.h"

static const char *const status_words[] = { "auto", NULL };
static const char *const then_words[] = { "last", "redirect", "permanent",
                                          NULL };

/* ---- checks of single values ---- */

static int
check_pattern(struct str value, struct errmsg *err)
{
    struct pool *pool = pool_new(1024);
    bool good = regex_new(pool, value, REGEX_CASE, err) != NULL;

    pool_free(&pool);
    return good ? 0 : -1;
}

static int
check_printable(struct str value, struct errmsg *err)
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < ' ' || value.ptr[i] > '~') {
            return errmsg_set(err, "must be printable ASCII");
        }
    }
    return 0;
}

static bool
is_token_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

/* Headers that weir writes itself: framing, the connection's, and a few more
 * that may stand only once. */
static int
check_name(struct str value, struct errmsg *err)
{
    static const char *const own[] = {
        "Connection",   "Content-Length", "Content-Type",      "Content-Range",
        "Date",         "Keep-Alive",     "Proxy-Connection",  "Server",
        "TE",           "Trailer",        "Transfer-Encoding", "Upgrade",
        "X-Request-ID",
    };

    if (str_eq_nocase(value, STR("Strict-Transport-Security"))) {
        return errmsg_set(err, "hsts says that");
    }
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (str_eq_nocase(value, str_from(own[i]))) {
            return errmsg_set(err, "%s is a header that weir itself sets",
                              own[i]);
        }
    }
    for (size_t i = 0; i < value.len; i++) {
        if (!is_token_byte(value.ptr[i])) {
            return errmsg_set(err, "\"%.*s\" cannot be the name of a header",
                              STR_ARGS(value));
        }
    }
    return value.len > 0 ? 0 : errmsg_set(err, "must not be empty");
}

int
settings_check_path(struct str value, struct errmsg *err)
{
    struct pool *pool = pool_new(1024);
    struct http_location ignored;
    int rc = http_location_parse(pool, value, &ignored, err);

    pool_free(&pool);
    return rc;
}

/* ---- rows ---- */

const struct conf_key settings_return_keys[] = {
    ROW_WHERE(return_settings),
    ROW(return_settings, status, CONF_INT, .min = 200, .max = 599,
        .preset = "auto", .words = status_words,
        .help = "The status of the answer; \"auto\": 302 with a URL, 200 with "
                "a text."),
    ROW(return_settings, to, CONF_STRING, .preset = "", .dollars = true,
        .check = check_printable,
        .help = "Where the client is sent (Location), with variables: "
                "\"https://$host$request_uri\"."),
    ROW(return_settings, text, CONF_STRING, .preset = "", .dollars = true,
        .max = 64 * 1024, .help = "The body of the answer, with variables."),
    ROW(return_settings, type, CONF_STRING,
        .preset = "text/plain; charset=utf-8", .check = check_printable,
        .help = "Its media type; in HTML, XML and JSON values of variables are "
                "escaped."),
    CONF_END,
};

const struct conf_key settings_rewrite_keys[] = {
    ROW_WHERE(rewrite_settings),
    ROW(rewrite_settings, pattern, CONF_STRING, .dollars = true,
        .check = check_pattern,
        .help =
            "A pattern (PCRE2) that the path is to fit, decoded and without "
            "its query."),
    ROW(rewrite_settings, to, CONF_STRING, .dollars = true, .min = 1,
        .check = check_printable,
        .help = "The new path, with variables and the pattern's groups ($1, "
                "$name); arguments behind a \"?\" come in front of the "
                "request's own, which a \"?\" at the end leaves out."),
    ROW(rewrite_settings, then, CONF_ENUM, .words = then_words,
        .preset = "last",
        .help = "\"last\": weir looks for the location of the new path; "
                "\"redirect\": the client is sent there by 302, "
                "\"permanent\": by 301."),
    CONF_END,
};

const struct conf_key settings_added_keys[] = {
    ROW_WHERE(added_header_settings),
    ROW(added_header_settings, name, CONF_STRING, .check = check_name,
        .help = "Its name; one of the answer with that name makes way, but for "
                "Vary, Link and Set-Cookie."),
    ROW(added_header_settings, value, CONF_STRING, .dollars = true,
        .check = check_printable,
        .help = "Its value, with variables; one that comes to nothing is not "
                "sent."),
    ROW(added_header_settings, always, CONF_BOOL, .preset = "false",
        .help = "Also with statuses other than 200, 201, 204, 206, 301 to 304, "
                "307 and 308."),
    CONF_END,
};

/* ---- what is made of them ---- */

static int
make_rewrites(struct pool *pool, const struct conf_groups *from,
              struct http_rules *out, struct errmsg *err)
{
    const struct rewrite_settings *s = from->items;
    struct http_rewrite *to = pool_zero(pool, (from->count + 1) * sizeof(*to));

    for (size_t i = 0; i < from->count; i++) {
        to[i].pattern = regex_new(pool, s[i].pattern, REGEX_CASE, err);
        if (to[i].pattern == NULL) {
            return errmsg_prefix(err, "rewrite: ");
        }
        to[i].to = http_text_new(pool, s[i].to, to[i].pattern, err);
        if (to[i].to == NULL) {
            return errmsg_prefix(err, "rewrite.to: ");
        }
        to[i].then = (enum http_then)s[i].then;
    }
    out->rewrites = to;
    out->rewrite_count = from->count;
    return 0;
}

static int
make_added(struct pool *pool, const struct conf_groups *from,
           const struct regex *groups, struct http_rules *out,
           struct errmsg *err)
{
    const struct added_header_settings *s = from->items;
    struct http_added *to = pool_zero(pool, (from->count + 1) * sizeof(*to));

    for (size_t i = 0; i < from->count; i++) {
        to[i] = (struct http_added){
            .name = s[i].name.ptr,
            .value = http_text_new(pool, s[i].value, groups, err),
            .always = s[i].always,
        };
        if (to[i].value == NULL) {
            return errmsg_prefix(err, "add_headers.value: ");
        }
    }
    out->added = to;
    out->added_count = from->count;
    return 0;
}

int
settings_make_rules(struct pool *pool, const struct conf_groups *rewrites,
                    const struct conf_groups *headers,
                    const struct regex *groups, struct http_rules *out,
                    struct errmsg *err)
{
    return make_rewrites(pool, rewrites, out, err) == -1
               ? -1
               : make_added(pool, headers, groups, out, err);
}

int
settings_make_location(struct pool *pool,
                       const struct http_location_settings *l,
                       struct http_location *out, struct errmsg *err)
{
    if (http_location_parse(pool, l->path, out, err) == -1) {
        return -1;
    }
    out->slash = (enum http_slash)l->trailing_slash;
    return settings_make_rules(pool, &l->rewrite, &l->add_headers, out->pattern,
                               &out->rules, err);
}

static int
check_status(const struct return_settings *s, struct errmsg *err)
{
    bool redirects = s->status == 301 || s->status == 302 || s->status == 303 ||
                     s->status == 307 || s->status == 308;

    if (s->to.len > 0 && s->text.len > 0) {
        return errmsg_set(err, "return has to or text, not both");
    }
    if (s->to.len > 0 && s->status != RETURN_AUTO && !redirects) {
        return errmsg_set(err,
                          "return.status with to must be 301, 302, 303, 307 "
                          "or 308, not %d",
                          (int)s->status);
    }
    if (s->to.len == 0 && redirects) {
        return errmsg_set(err, "return.status %d needs to", (int)s->status);
    }
    if (s->text.len > 0 && (s->status == 204 || s->status == 304)) {
        return errmsg_set(err, "an answer with status %d has no text",
                          (int)s->status);
    }
    return 0;
}

int
settings_make_return(struct pool *pool, const struct http_location_settings *l,
                     const struct http_location *made,
                     const struct http_return **out, struct errmsg *err)
{
    const struct return_settings *s = l->returns.items;
    struct http_return *r;

    *out = NULL;
    if (l->returns.count == 0) {
        return 0;
    }
    if (check_status(s, err) == -1) {
        return -1;
    }
    r = pool_zero(pool, sizeof(*r));
    r->status = s->status != RETURN_AUTO ? (int)s->status
                : s->to.len > 0          ? 302
                                         : 200;
    r->type = s->type.ptr;
    r->place = http_place_of(s->type);
    r->to =
        s->to.len == 0 ? NULL : http_text_new(pool, s->to, made->pattern, err);
    r->text = s->text.len == 0
                  ? NULL
                  : http_text_new(pool, s->text, made->pattern, err);
    *out = r;
    return (s->to.len > 0 && r->to == NULL) ||
                   (s->text.len > 0 && r->text == NULL)
               ? errmsg_prefix(err, "return: ")
               : 0;
}

int
settings_check_routing(const struct http_location_settings *l,
                       struct errmsg *err)
{
    struct pool *pool = pool_new(4096);
    struct http_location made = { .path = STR_NONE };
    const struct http_return *ignored;
    int rc = settings_make_location(pool, l, &made, err);

    if (rc == 0) {
        rc = settings_make_return(pool, l, &made, &ignored, err);
    }
    if (rc == 0) {
        rc = settings_check_layers_at(l, made.pattern, err);
    }
    pool_free(&pool);
    return rc;
}
