/*
 * The head is parsed as every head that weir gets (http/parse.h); what stands
 * here is what differs for a proxy.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/proxy_request.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/buf.h"
#include "http/head_rules.h"
#include "net/url.h"

const struct http_limits proxy_limits = {
    .head = PROXY_HEAD_MAX,
    .target = 32768,
    .header = 32768,
    .headers = 100,
};

static int __attribute__((format(printf, 3, 4)))
refuse(struct errmsg *why, int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why->text, sizeof(why->text), format, args);
    va_end(args);
    return status;
}

static int
refuse_as(struct errmsg *why, enum http_refusal parsed)
{
    return refuse(why, http_refusal_status(parsed), "%s",
                  http_refusal_text(parsed));
}

/* ---- who asks ---- */

static const struct http_header *
find(const struct http_head *head, const char *name)
{
    for (size_t i = 0; i < head->header_count; i++) {
        if (str_eq_nocase(head->headers[i].name, str_from(name))) {
            return &head->headers[i];
        }
    }
    return NULL;
}

/* RFC 7617. */
static struct str
read_credentials(struct pool *pool, const struct http_head *head)
{
    const struct http_header *h = find(head, "Proxy-Authorization");
    struct str value = h == NULL ? STR_NONE : h->value, decoded = STR_NONE;
    struct str scheme = str_cut(&value, ' ');

    if (!str_eq_nocase(scheme, STR("Basic")) ||
        !base64_decode(pool, BASE64, str_trim(value), &decoded)) {
        return STR_NONE;
    }
    return decoded;
}

/* ---- where to ---- */

static bool
has_port(struct str authority)
{
    if (authority.len > 0 && authority.ptr[0] == '[') {
        authority = str_skip(authority, str_find(authority, ']', 0));
    }
    return str_find(authority, ':', 0) + 1 < authority.len;
}

/* http_is_authority() has seen it: it names no user. */
static int
take_host(struct pool *pool, const char *scheme, struct str authority,
          struct proxy_request *out, struct errmsg *why)
{
    struct str text =
        pool_printf(pool, "%s://%.*s/", scheme, STR_ARGS(authority));
    struct errmsg err;
    struct url url;

    if (url_parse(pool, text, &url, &err) == -1) {
        return refuse(why, 400, "the target: %.400s", err.text);
    }
    out->host = url.host;
    out->port = url.port;
    return 0;
}

static int
read_tunnel(struct pool *pool, struct http_head *head,
            struct proxy_request *out, struct errmsg *why)
{
    if (!http_is_authority(head->target) || !has_port(head->target)) {
        return refuse(why, 400, "CONNECT takes HOST:PORT and nothing else");
    }
    head->authority = head->target;

    enum http_refusal parsed = http_judge_headers(head);

    if (parsed != REFUSE_NONE) {
        return refuse_as(why, parsed);
    }
    if (head->chunked || head->length > 0) {
        return refuse(why, 400, "CONNECT has no body");
    }
    out->tunnel = true;
    return take_host(pool, "https", head->target, out, why);
}

/* ---- the head for the server ---- */

static bool
is_in_list(struct str list, struct str name)
{
    while (list.len > 0) {
        if (str_eq_nocase(str_trim(str_cut(&list, ',')), name)) {
            return true;
        }
    }
    return false;
}

/* Headers for this hop alone, those that Connection names among them, and all
 * for proxies; Host is written anew. */
static bool
stays_here(const struct http_head *head, struct str name)
{
    static const char ours[] =
        "Connection,Keep-Alive,TE,Trailer,Upgrade,HTTP2-Settings,Host";

    if (is_in_list(STR(ours), name) ||
        str_eq_nocase(str_first(name, 6), STR("Proxy-"))) {
        return true;
    }
    /* The length says where the body ends: it cannot be taken away. */
    for (size_t i = 0; i < head->header_count; i++) {
        if (str_eq_nocase(head->headers[i].name, STR("Connection")) &&
            is_in_list(head->headers[i].value, name)) {
            return !str_eq_nocase(name, STR("Content-Length"));
        }
    }
    return false;
}

/* The part of the target behind the authority. */
static struct str
target_at_server(struct pool *pool, const struct http_head *head)
{
    struct str rest =
        str_skip(head->target, sizeof("http://") - 1 + head->authority.len);

    if (rest.len > 0 && rest.ptr[0] == '/') {
        return rest;
    }
    if (rest.len == 0 && str_eq(head->method, STR("OPTIONS"))) {
        return STR("*");
    }
    return pool_printf(pool, "/%.*s", STR_ARGS(rest));
}

static int
write_head(struct pool *pool, const struct http_head *head, struct buf *to)
{
    struct str target = target_at_server(pool, head);
    int result = buf_printf(to, "%.*s %.*s HTTP/1.%d\r\nHost: %.*s\r\n",
                            STR_ARGS(head->method), STR_ARGS(target),
                            head->version % 10, STR_ARGS(head->authority));

    for (size_t i = 0; i < head->header_count; i++) {
        const struct http_header *h = &head->headers[i];

        if (!stays_here(head, h->name)) {
            result |= buf_printf(to, "%.*s: %.*s\r\n", STR_ARGS(h->name),
                                 STR_ARGS(h->value));
        }
    }
    return result | buf_printf(to, "Connection: close\r\n\r\n");
}

static int
read_plain(struct pool *pool, struct http_head *head, struct proxy_request *out,
           struct errmsg *why)
{
    struct str http = STR("http://");
    struct buf to;

    if (head->authority.len == 0) {
        return refuse(why, 400,
                      "this is a proxy: the target is http://HOST/PATH, or "
                      "CONNECT asks for HOST:PORT");
    }
    if (!str_eq_nocase(str_first(head->target, http.len), http)) {
        return refuse(why, 400, "https goes through this proxy by CONNECT");
    }
    if (head->chunked) {
        return refuse(why, 411, "a body needs its Content-Length here");
    }
    out->length = head->length > 0 ? head->length : 0;
    buf_init(&to, PROXY_REQUEST_MAX);
    if (write_head(pool, head, &to) == -1) {
        buf_clear(&to);
        return refuse_as(why, REFUSE_HEAD_LONG);
    }
    out->head = pool_str(pool, buf_str(&to));
    buf_clear(&to);
    return take_host(pool, "http", head->authority, out, why);
}

int
proxy_request_read(struct pool *pool, const struct http_scan *scan,
                   const uint8_t *data, size_t n, struct proxy_request *out,
                   struct errmsg *why)
{
    struct http_head head;
    enum http_refusal parsed = http_parse(pool, scan, data, n, &head);

    *out = (struct proxy_request){ .credentials = STR_NONE,
                                   .host = STR_NONE,
                                   .head = STR_NONE };
    out->credentials = read_credentials(pool, &head);
    if (parsed != REFUSE_NONE && parsed != REFUSE_CONNECT) {
        return refuse_as(why, parsed);
    }
    return parsed == REFUSE_CONNECT ? read_tunnel(pool, &head, out, why)
                                    : read_plain(pool, &head, out, why);
}
