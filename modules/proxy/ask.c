/*
 * The head of the request, as the server gets it.
 *
 * It is made anew: what frames the body and what tells about the client come
 * from us alone, whatever the client has sent.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "exchange.h"

#include <string.h>

#include "http/path.h"

bool
ask_is_idempotent(struct str method)
{
    const struct str known[] = {
        STR("GET"),    STR("HEAD"),   STR("OPTIONS"),
        STR("PUT"),    STR("DELETE"), STR("PROPFIND"),
        STR("SEARCH"), STR("REPORT"), STR("QUERY"),
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (str_eq(known[i], method)) {
            return true;
        }
    }
    return false;
}

/* Another version of HTTP is for one connection, and we speak 1.1. */
static bool
is_http(struct str protocol)
{
    return str_eq_nocase(str_first(protocol, 5), STR("HTTP/")) ||
           str_eq_nocase(str_first(protocol, 3), STR("h2c")) ||
           str_eq_nocase(protocol, STR("h2"));
}

/* Those of a list that may be changed to behind us. */
static struct str
other_protocols(struct pool *pool, struct str list)
{
    struct str others = STR_NONE;

    while (list.len > 0) {
        struct str one = str_trim(str_cut(&list, ','));

        if (one.len > 0 && !is_http(one)) {
            others = others.len == 0
                         ? one
                         : pool_join(pool, STRS(others, STR(", "), one));
        }
    }
    return others;
}

struct str
ask_upgrade(const struct http_request *r)
{
    struct str connection = http_header_list(
        r->pool, r->headers, r->header_count, STR("Connection"));
    struct str protocols =
        http_header_list(r->pool, r->headers, r->header_count, STR("Upgrade"));

    return r->version == 11 && http_body_length(r) == 0 &&
                   http_has_word(connection, STR("Upgrade"))
               ? other_protocols(r->pool, protocols)
               : STR_NONE;
}

/* ---- the target ---- */

bool
ask_names_version(const struct proxy_exchange *x, struct str pair)
{
    struct str name = str_cut(&pair, '=');

    for (const struct http_api *a = x->r->api; a != NULL; a = a->outer) {
        if (a->by == HTTP_API_PARAM && http_query_is(name, a->parameter)) {
            return true;
        }
    }
    return false;
}

static struct str
query_of(const struct proxy_exchange *x)
{
    struct str rest = x->r->query;
    char *kept;
    size_t len = 0;

    if (x->r->api == NULL || !x->layer->settings->strip) {
        return rest;
    }
    kept = pool_alloc(x->r->pool, rest.len + 1);
    while (rest.len > 0) {
        struct str pair = str_cut(&rest, '&');

        if (!ask_names_version(x, pair)) {
            memcpy(kept + len, pair.ptr, pair.len);
            len += pair.len;
            kept[len++] = '&';
        }
    }
    return str_of(kept, len > 0 ? len - 1 : 0);
}

/* Whether a '?' stands in front of the query, which may be empty as the client
 * wrote it. */
static bool
has_question(const struct proxy_exchange *x, struct str query)
{
    const struct proxy_settings *s = x->layer->settings;
    bool as_it_came =
        s->raw_path && s->uri.len == 0 && !http_is_rewritten(x->r);

    return query.len > 0 || (as_it_came && x->r->query.len == 0 &&
                             str_ends(x->r->target, STR("?")));
}

static int
add_line(struct buf *b, struct proxy_exchange *x)
{
    struct str query = query_of(x);

    return buf_join(b, STRS(x->r->method, STR(" "), x->place.path,
                            has_question(x, query) ? STR("?") : STR_NONE, query,
                            STR(" HTTP/1.1\r\n")));
}

/* ---- headers ---- */

static int
add(struct buf *b, const struct proxy_exchange *x, struct str name,
    struct str value)
{
    if (value.len == 0 ||
        header_named(&x->layer->settings->set_headers, name)) {
        return 0;
    }
    return http_add_line(b, name, value);
}

struct str
ask_host(const struct proxy_exchange *x)
{
    struct str host = x->layer->settings->host;

    if (str_eq(host, STR("client"))) {
        host = x->r->host;
    } else if (str_eq(host, STR("upstream"))) {
        host = STR_NONE;
    }
    return host.len > 0 ? host : x->use.server->authority;
}

static int
add_clients(struct buf *b, const struct proxy_exchange *x)
{
    const struct http_request *r = x->r;
    struct str connection = http_header_list(
        r->pool, r->headers, r->header_count, STR("Connection"));
    unsigned ours = HEADER_ASKED | (r->api != NULL ? HEADER_VERSION : 0);
    int bad = 0;

    for (size_t i = 0; i < r->header_count; i++) {
        const struct http_header *h = &r->headers[i];
        unsigned is = header_is(h->name);

        if ((is & ours) == 0 && header_goes_on(connection, h->name, is) &&
            !header_named(&x->layer->settings->set_headers, h->name)) {
            bad |= http_add_line(b, h->name, h->value);
        }
    }
    return bad;
}

static int
add_set(struct buf *b, const struct proxy_exchange *x)
{
    const struct conf_strings *set = &x->layer->settings->set_headers;
    int bad = 0;

    for (size_t i = 0; i < set->count; i++) {
        const struct proxy_field *f = &x->layer->set[i];
        struct str value = STR_NONE;

        if (f->value != NULL &&
            !http_text_of(x->r, f->value, HTTP_IN_FIELD, &value)) {
            return -1;
        }
        value = str_trim(value);
        if (value.len > 0) {
            bad |= http_add_line(b, f->name, value);
        }
    }
    return bad;
}

/* ---- who asks ---- */

/* The list that trusted proxies have sent goes on with the address of the last
 * one. */
static struct str
append(const struct proxy_exchange *x, struct str list, struct str last)
{
    return list.len == 0 ? last
                         : pool_join(x->r->pool, STRS(list, STR(", "), last));
}

static struct str
port_of(const struct http_request *r)
{
    struct str port = r->host;

    if (port.len > 0 && port.ptr[0] == '[') {
        str_cut(&port, ']');
    }
    str_cut(&port, ':');
    if (port.len > 0) {
        return port;
    }
    return str_eq(r->scheme, STR("https")) ? STR("443") : STR("80");
}

/* One member of Forwarded: RFC 7239. */
static struct str
forwarded(const struct proxy_exchange *x, struct str ip)
{
    struct http_request *r = x->r;
    bool v6 = str_find(ip, ':', 0) < ip.len;
    bool host = r->host.len > 0;

    return pool_join(r->pool, STRS(v6 ? STR("for=\"[") : STR("for="), ip,
                                   v6 ? STR("]\"") : STR_NONE,
                                   host ? STR(";host=\"") : STR_NONE, r->host,
                                   host ? STR("\"") : STR_NONE, STR(";proto="),
                                   r->scheme));
}

static int
add_forwarded(struct buf *b, const struct proxy_exchange *x)
{
    struct http_request *r = x->r;
    char text[ADDR_TEXT], client[ADDR_TEXT];
    struct str ip = r->peer.family == AF_UNIX
                        ? STR("127.0.0.1")
                        : str_from(addr_ip_text(&r->peer, text));
    struct http_way way;
    int bad;

    http_way_to_us(r, &way);
    bad = add(b, x, STR("X-Forwarded-For"), append(x, way.x_forwarded_for, ip));
    bad |=
        add(b, x, STR("X-Real-IP"), str_from(addr_ip_text(&r->client, client)));
    bad |= add(b, x, STR("X-Forwarded-Proto"), r->scheme);
    bad |= add(b, x, STR("X-Forwarded-Host"), r->host);
    bad |= add(b, x, STR("X-Forwarded-Port"), port_of(r));
    bad |= add(b, x, STR("X-Forwarded-Prefix"), proxy_place_prefix(x));
    bad |=
        add(b, x, STR("Forwarded"), append(x, way.forwarded, forwarded(x, ip)));
    bad |= add(b, x, STR("X-Request-ID"), r->request_id);
    bad |= add(b, x, STR("traceparent"), http_traceparent(r));
    return bad | add(b, x, STR("tracestate"), http_tracestate(r));
}

static int
add_version(struct buf *b, const struct proxy_exchange *x)
{
    const struct http_request *r = x->r;

    if (r->api == NULL) {
        return 0;
    }
    return add(b, x, STR("X-API-Version"), r->api_version) |
           add(b, x, STR("X-API-Vendor"), r->api_vendor) |
           add(b, x, STR("X-API-Format"), r->api_format);
}

/* ---- framing ---- */

static bool
takes_trailers(const struct http_request *r)
{
    return http_has_word(
        http_header_list(r->pool, r->headers, r->header_count, STR("TE")),
        STR("trailers"));
}

static int
add_connection(struct buf *b, const struct proxy_exchange *x)
{
    if (x->upgrade.len > 0) {
        return buf_join(b, STRS(STR("Connection: Upgrade\r\nUpgrade: "),
                                x->upgrade, STR("\r\n")));
    }
    if (takes_trailers(x->r)) {
        return buf_add_str(b, STR("Connection: TE\r\nTE: trailers\r\n"));
    }
    return 0;
}

static int
add_framing(struct buf *b, const struct proxy_exchange *x)
{
    const struct str *trailer = http_header(x->r, "Trailer");
    int bad = 0;

    if (x->length == -1) {
        bad |= buf_add_str(b, STR("Transfer-Encoding: chunked\r\n"));
        if (trailer != NULL) {
            bad |= http_add_line(b, STR("Trailer"), *trailer);
        }
    } else if (x->length > 0 || http_header(x->r, "Content-Length") != NULL) {
        bad |= buf_printf(b, "Content-Length: %lld\r\n", (long long)x->length);
    }
    return x->expects ? bad | buf_add_str(b, STR("Expect: 100-continue\r\n"))
                      : bad;
}

int
ask_write_head(struct proxy_exchange *x)
{
    struct buf b;
    int bad;

    proxy_place_find(x);
    buf_init(&b, SIZE_MAX / 2);
    bad = add_line(&b, x);
    bad |= http_add_line(&b, STR("Host"), ask_host(x));
    bad |= add_framing(&b, x);
    bad |= add_connection(&b, x);
    bad |= add_clients(&b, x);
    bad |= add_forwarded(&b, x);
    bad |= add_version(&b, x);
    bad |= add_set(&b, x);
    bad |= buf_add_str(&b, STR("\r\n"));
    if (bad == 0) {
        x->head = pool_str(x->r->pool, buf_str(&b));
    }
    buf_clear(&b);
    return bad == 0 ? 0 : -1;
}
