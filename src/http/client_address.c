/*
 * Finding the client behind proxies.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/client_address.h"

#include <string.h>

#include "http/head_rules.h"

/* ---- lists, from the right ---- */

/* The values of all headers of one name as one list, of which elements are
 * taken from the right. */
struct list_header {
    const struct http_request *r;
    const char *name;
    size_t next;     /* headers before this one are still to come */
    struct str rest; /* of the one that elements are taken from */
    bool open;       /* rest has elements (perhaps an empty one) */
};

static struct list_header
list_of(const struct http_request *r, const char *name)
{
    return (struct list_header){ r, name, r->header_count, STR_NONE, false };
}

/* Whether the quote at that place is written with a backslash. */
static bool
is_escaped(struct str s, size_t at)
{
    size_t n = 0;

    while (n < at && s.ptr[at - n - 1] == '\\') {
        n++;
    }
    return n % 2 == 1;
}

/* Where the last element begins: behind the last comma outside quotes.  Read
 * from its end, a text cannot be made to swallow what was put behind it. */
static size_t
last_element(struct str s)
{
    bool quoted = false;
    size_t at = s.len;

    while (at > 0) {
        char c = s.ptr[at - 1];

        if (c == '"' && !is_escaped(s, at - 1)) {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            break;
        }
        at--;
    }
    return at;
}

static bool
take_last(struct list_header *l, struct str *element)
{
    while (!l->open && l->next > 0) {
        const struct http_header *h = &l->r->headers[--l->next];

        if (str_eq_nocase(h->name, str_from(l->name))) {
            l->rest = h->value;
            l->open = true;
        }
    }
    if (!l->open) {
        return false;
    }
    size_t at = last_element(l->rest);

    *element = str_trim(str_skip(l->rest, at));
    l->open = at > 0;
    l->rest = str_first(l->rest, at > 0 ? at - 1 : 0);
    return true;
}

/* The element so many hops from the right, or the leftmost of a shorter list;
 * false: there is no such header. */
static bool
element_at(const struct http_request *r, const char *name, size_t hop,
           struct str *element)
{
    struct list_header l = list_of(r, name);
    bool any = false;

    for (size_t i = 0; i <= hop && take_last(&l, element); i++) {
        any = true;
    }
    return any;
}

/* ---- one hop ---- */

static bool
parse_port(struct str s, uint16_t *port)
{
    int64_t n;

    if (!str_to_int(s, 1, 65535, &n)) {
        return false;
    }
    *port = (uint16_t)n;
    return true;
}

/* "192.0.2.1", "192.0.2.1:80", "[2001:db8::1]", "[2001:db8::1]:80",
 * "2001:db8::1". */
static bool
parse_node(struct str s, struct addr *out)
{
    struct addr a = { .family = AF_UNSPEC };
    size_t colon = str_find(s, ':', 0);
    struct str ip = s, port = STR_NONE;

    if (s.len > 0 && s.ptr[0] == '[') {
        port = str_skip(s, 1);
        ip = str_cut(&port, ']');
        if (str_find(ip, ':', 0) == ip.len) { /* brackets are for IPv6 */
            return false;
        }
        if (port.len == 0 && s.ptr[s.len - 1] != ']') {
            return false;
        }
        if (port.len > 0 && port.ptr[0] != ':') {
            return false;
        }
    } else if (colon < s.len && str_find(s, ':', colon + 1) == s.len) {
        ip = str_first(s, colon);
        port = str_skip(s, colon);
    }
    if (addr_parse_ip(ip, &a) == -1 ||
        (port.len > 0 && !parse_port(str_skip(port, 1), &a.port))) {
        return false;
    }
    *out = a;
    return true;
}

/* ---- Forwarded ---- */

struct element {
    struct str node, proto, host; /* as sent, without quotes; or empty */
};

/* The end of a token or of a quoted string at the beginning of s; 0: neither
 * is there. */
static size_t
value_end(struct str s)
{
    size_t at = 0;

    if (s.len == 0 || s.ptr[0] != '"') {
        while (at < s.len && http_is_token((unsigned char)s.ptr[at])) {
            at++;
        }
        return at;
    }
    for (at = 1; at < s.len; at++) {
        if (s.ptr[at] == '\\') {
            return 0; /* no address or name has one */
        }
        if (s.ptr[at] == '"') {
            return at + 1;
        }
    }
    return 0;
}

static bool
take_pair(struct str name, struct str value, struct element *e)
{
    struct str *to = str_eq_nocase(name, STR("for"))     ? &e->node
                     : str_eq_nocase(name, STR("proto")) ? &e->proto
                     : str_eq_nocase(name, STR("host"))  ? &e->host
                                                         : NULL;

    if (to == NULL) {
        return true;
    }
    if (to->len > 0) { /* twice */
        return false;
    }
    *to = value;
    return true;
}

/* forwarded-element: NAME=VALUE, with ';' between them. */
static bool
parse_element(struct str s, struct element *e)
{
    *e = (struct element){ STR_NONE, STR_NONE, STR_NONE };
    while (s.len > 0) {
        struct str name = str_cut(&s, '=');
        size_t end = value_end(s);
        struct str value = str_first(s, end);

        s = str_trim(str_skip(s, end));
        if (name.len == 0 || end == 0 || (s.len > 0 && s.ptr[0] != ';')) {
            return false;
        }
        if (value.ptr[0] == '"') {
            value = str_first(str_skip(value, 1), end - 2);
        }
        if (!take_pair(str_trim(name), value, e)) {
            return false;
        }
        s = str_trim(str_skip(s, 1));
    }
    return true;
}

/* ---- the walk ---- */

/* Walks header name; *hop is the place of the client's element from the
 * right.  false: no hop can be read. */
static bool
walk(struct http_request *r, const struct access_list *trusted,
     const char *name, bool elements, size_t *hop)
{
    struct list_header l = list_of(r, name);
    struct str text;
    bool found = false;

    for (size_t i = 0; i < HTTP_HOPS_MAX && take_last(&l, &text); i++) {
        struct element e = { .node = text };
        struct addr a;

        if ((elements && !parse_element(text, &e)) || !parse_node(e.node, &a)) {
            break;
        }
        r->client = a;
        *hop = i;
        found = true;
        if (!access_names(trusted, &a)) {
            break;
        }
    }
    return found;
}

static void
take_proto(struct http_request *r, struct str proto)
{
    if (str_eq_nocase(proto, STR("http"))) {
        r->scheme = STR("http");
    } else if (str_eq_nocase(proto, STR("https"))) {
        r->scheme = STR("https");
    }
}

static void
take_host(struct http_request *r, struct str host)
{
    if (http_is_authority(host)) {
        r->host = host;
    }
}

/* Puts the port behind the host, unless there is one or it goes without
 * saying. */
static void
take_port(struct http_request *r, struct str text)
{
    struct str usual = str_eq(r->scheme, STR("https")) ? STR("443") : STR("80");
    struct str behind = r->host;
    uint16_t port;

    if (behind.len > 0 && behind.ptr[0] == '[') {
        str_cut(&behind, ']');
    }
    if (r->host.len == 0 || str_find(behind, ':', 0) < behind.len ||
        !parse_port(text, &port) || str_eq(text, usual)) {
        return;
    }
    r->host =
        pool_printf(r->pool, "%.*s:%u", STR_ARGS(r->host), (unsigned)port);
}

static void
take_x(struct http_request *r, const struct access_list *trusted)
{
    struct str value;
    size_t hop = 0;

    walk(r, trusted, "X-Forwarded-For", false, &hop);
    if (element_at(r, "X-Forwarded-Proto", hop, &value)) {
        take_proto(r, value);
    }
    if (element_at(r, "X-Forwarded-Host", hop, &value)) {
        take_host(r, value);
    }
    if (element_at(r, "X-Forwarded-Port", hop, &value)) {
        take_port(r, value);
    }
}

static void
take_forwarded(struct http_request *r, const struct access_list *trusted)
{
    struct element e;
    struct str text;
    size_t hop = 0;

    if (walk(r, trusted, "Forwarded", true, &hop) &&
        element_at(r, "Forwarded", hop, &text) && parse_element(text, &e)) {
        take_proto(r, e.proto);
        take_host(r, e.host);
    }
}

/* Which of the headers counts; never HTTP_FORWARDED_AUTO. */
static enum http_forwarded_header
source_of(const struct http_request *r, const struct http_server *s)
{
    if (s->forwarded_header != HTTP_FORWARDED_AUTO) {
        return (enum http_forwarded_header)s->forwarded_header;
    }
    return http_header(r, "X-Forwarded-For") == NULL &&
                   http_header(r, "Forwarded") != NULL
               ? HTTP_FORWARDED_RFC7239
               : HTTP_FORWARDED_X;
}

/* A balancer has named the client by the PROXY protocol, and says inside how
 * that came to it.  Its word is the last one of the header. */
static void
take_inside(struct http_request *r, const struct http_server *s)
{
    int by = s->forwarded_header;
    struct element e;
    struct str text;

    if ((by == HTTP_FORWARDED_X || by == HTTP_FORWARDED_AUTO) &&
        element_at(r, "X-Forwarded-Proto", 0, &text)) {
        take_proto(r, text);
    } else if ((by == HTTP_FORWARDED_RFC7239 || by == HTTP_FORWARDED_AUTO) &&
               element_at(r, "Forwarded", 0, &text) &&
               parse_element(text, &e)) {
        take_proto(r, e.proto);
    }
}

bool
http_client_begin(struct http_request *r, const struct http_server *s,
                  const struct addr *via, bool secure)
{
    r->client = r->peer;
    r->scheme = secure ? STR("https") : STR("http");
    if (!access_names(s->trusted, &r->peer)) {
        if (!secure && access_names(s->trusted, via)) {
            take_inside(r, s);
        }
        return false;
    }
    switch (source_of(r, s)) {
    case HTTP_FORWARDED_AUTO:
    case HTTP_FORWARDED_OFF:
        break;
    case HTTP_FORWARDED_X:
        take_x(r, s->trusted);
        break;
    case HTTP_FORWARDED_RFC7239:
        take_forwarded(r, s->trusted);
        break;
    }
    return true;
}

/* ---- the way ---- */

/* A hop in the form of the other header. */
static struct str
other_form(struct http_request *r, struct str hop, bool elements)
{
    struct element e = { .node = hop };
    char text[ADDR_TEXT];
    struct addr a;

    if ((elements && !parse_element(hop, &e)) || !parse_node(e.node, &a)) {
        return elements ? STR("unknown") : STR("for=unknown");
    }
    addr_ip_text(&a, text);
    if (elements) {
        return pool_str(r->pool, str_from(text));
    }
    return pool_printf(r->pool,
                       a.family == AF_INET6 ? "for=\"[%s]\"" : "for=%s", text);
}

/* Of the nearest hops, as many as are walked. */
static struct str
other_list(struct http_request *r, const char *name, bool elements)
{
    struct list_header l = list_of(r, name);
    struct str list = STR_NONE, hop;

    for (size_t i = 0; i < HTTP_HOPS_MAX && take_last(&l, &hop); i++) {
        if (hop.len == 0) {
            continue;
        }
        hop = other_form(r, hop, elements);
        list = list.len == 0 ? hop
                             : pool_join(r->pool, STRS(hop, STR(", "), list));
    }
    return list;
}

void
http_client_way(struct http_request *r, const struct http_server *s,
                struct http_way *out)
{
    *out = (struct http_way){ STR_NONE, STR_NONE };
    switch (source_of(r, s)) {
    case HTTP_FORWARDED_AUTO:
    case HTTP_FORWARDED_OFF:
        break;
    case HTTP_FORWARDED_X:
        out->x_forwarded_for = http_header_list(
            r->pool, r->headers, r->header_count, STR("X-Forwarded-For"));
        out->forwarded = other_list(r, "X-Forwarded-For", false);
        break;
    case HTTP_FORWARDED_RFC7239:
        out->forwarded = http_header_list(r->pool, r->headers, r->header_count,
                                          STR("Forwarded"));
        out->x_forwarded_for = other_list(r, "Forwarded", true);
        break;
    }
}
