/*
 * Addresses and cookies of an answer, so that they are right for the client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "exchange.h"

#define COOKIE_MAX (2 * PROXY_HEAD_MAX)

/* A client takes "//", "/\\" and either with a tab in it for the begin of
 * another host. */
static struct str
with_one_slash(struct proxy_exchange *x, struct str path)
{
    struct str rest = path;

    while (rest.len > 0 && (rest.ptr[0] == '/' || rest.ptr[0] == '\\' ||
                            rest.ptr[0] == '\t' || rest.ptr[0] == ' ')) {
        rest = str_skip(rest, 1);
    }
    return pool_join(x->r->pool, STRS(STR("/"), rest));
}

/* Whether what is left of an address begins another part of it. */
static bool
is_part(struct str rest)
{
    return rest.len == 0 || str_find(STR("/?#"), rest.ptr[0], 0) < 3;
}

/* Whether FROM ends within a host: "http://a" is no beginning of
 * "http://a.test". */
static bool
cuts_host(struct str from, struct str rest)
{
    struct str host = from;

    str_cut(&host, ':');
    return host.len > 2 && str_starts(host, STR("//")) &&
           str_find(host, '/', 2) == host.len && !is_part(rest);
}

/* "FROM TO": the beginning FROM becomes TO; a path stays one. */
static bool
replace(struct proxy_exchange *x, struct str rule, struct str value,
        struct str *out)
{
    struct str to = rule, from = str_cut(&to, ' ');

    if (!str_starts(value, from) ||
        cuts_host(from, str_skip(value, from.len))) {
        return false;
    }
    *out = pool_join(x->r->pool, STRS(to, str_skip(value, from.len)));
    if (str_starts(to, STR("/"))) {
        *out = with_one_slash(x, *out);
    }
    return true;
}

/* Whether the path is uri or lies below it. */
static bool
is_below(struct str path, struct str uri)
{
    return str_starts(path, uri) &&
           (str_ends(uri, STR("/")) || is_part(str_skip(path, uri.len)));
}

/* Whether a version was left out of what the server got: addresses that it
 * writes by what it got lead nowhere, or to another version. */
static bool
lacks_version(const struct proxy_exchange *x)
{
    return x->place.without_version ||
           (x->layer->settings->strip && x->r->api_query.len > 0);
}

/* "http://host", and the path behind it. */
static bool
cut_origin(struct str address, struct str *origin, struct str *authority,
           struct str *path)
{
    struct str rest = address, scheme = str_cut(&rest, ':');

    if ((!str_eq_nocase(scheme, STR("http")) &&
         !str_eq_nocase(scheme, STR("https"))) ||
        !str_starts(rest, STR("//"))) {
        return false;
    }
    rest = str_skip(rest, 2);
    *authority = str_first(rest, str_find(rest, '/', 0));
    *path = str_skip(rest, authority->len);
    *origin = str_first(address, address.len - path->len);
    return true;
}

static bool
is_relative(struct str address)
{
    size_t colon = str_find(address, ':', 0);

    return address.len > 0 && !str_starts(address, STR("//")) &&
           !str_starts(address, STR("/\\")) &&
           (colon == address.len || str_find(address, '/', 0) < colon ||
            str_find(address, '?', 0) < colon);
}

/* Whether the address is the server's: by its own name, which makes way, or in
 * words that a client would use, too. */
static bool
is_servers(struct proxy_exchange *x, struct str address, struct str *origin,
           struct str *path)
{
    struct str authority;

    if (x->use.server == NULL) {
        return false;
    }
    if (is_relative(address)) {
        *origin = STR_NONE;
        *path = address;
        return lacks_version(x);
    }
    if (!cut_origin(address, origin, &authority, path)) {
        return false;
    }
    if (str_eq_nocase(authority, x->use.server->authority)) {
        *origin = STR_NONE;
        return true;
    }
    return lacks_version(x) && str_eq_nocase(authority, ask_host(x));
}

/* The path that the client would have to ask for; false: it leads past uri. */
static bool
path_for_client(struct proxy_exchange *x, struct str path, struct str *out)
{
    const struct proxy_place *p = &x->place;

    *out = path;
    if (path.len > 0 && path.ptr[0] != '/') {
        return true; /* from where the client is */
    }
    if (p->without_version && is_below(path, p->client)) {
        return true; /* it knows */
    }
    if (is_below(path, p->server)) {
        *out = pool_join(x->r->pool,
                         STRS(p->client, str_skip(path, p->server.len)));
    } else if (x->layer->settings->uri.len > 0) {
        return false;
    }
    *out = with_one_slash(x, *out);
    return true;
}

/* The same with the part of the query that chose the version. */
static struct str
with_version(struct proxy_exchange *x, struct str address)
{
    struct str front = str_first(address, str_find(address, '#', 0));
    struct str behind = str_skip(address, front.len), query = front;
    bool first = str_find(front, '?', 0) == front.len;

    if (!x->layer->settings->strip || x->r->api_query.len == 0) {
        return address;
    }
    str_cut(&query, '?');
    while (query.len > 0) {
        if (ask_names_version(x, str_cut(&query, '&'))) {
            return address;
        }
    }
    return pool_join(x->r->pool, STRS(front, first ? STR("?") : STR("&"),
                                      x->r->api_query, behind));
}

/* The server's own address becomes the location's. */
static bool
replace_own(struct proxy_exchange *x, struct str value, struct str *out)
{
    struct str origin, path;

    if (!is_servers(x, value, &origin, &path) ||
        !path_for_client(x, path, &path)) {
        return false;
    }
    *out = pool_join(x->r->pool, STRS(origin, with_version(x, path)));
    return true;
}

struct str
rewrite_address(struct proxy_exchange *x, struct str address)
{
    const struct conf_strings *rules = &x->layer->settings->redirects;
    struct str out = address;

    for (size_t i = 0; i < rules->count; i++) {
        if (str_eq(rules->items[i], STR("default"))
                ? replace_own(x, address, &out)
                : replace(x, rules->items[i], address, &out)) {
            break;
        }
    }
    return out;
}

struct str
rewrite_refresh(struct proxy_exchange *x, struct str value)
{
    struct str rest = value, wait = str_cut(&rest, '=');

    if (rest.len == 0) {
        return value;
    }
    return pool_printf(x->r->pool, "%.*s=%.*s", STR_ARGS(wait),
                       STR_ARGS(rewrite_address(x, rest)));
}

/* ---- cookies ---- */

static bool
is_attribute(struct str part, const char *name)
{
    return str_eq_nocase(str_trim(str_cut(&part, '=')), str_from(name));
}

/* One attribute, as the first rule that fits has it. */
static int
add_attribute(struct buf *b, const struct proxy_exchange *x, struct str part)
{
    const struct conf_strings *rules = &x->layer->settings->cookies;
    struct str value = part, name = str_cut(&value, '=');

    value = str_trim(value);
    for (size_t i = 0; i < rules->count; i++) {
        struct str to = rules->items[i], what = str_cut(&to, ' ');
        struct str from = str_cut(&to, ' ');

        if (str_eq(what, STR("path")) && is_attribute(part, "path") &&
            str_starts(value, from)) {
            return buf_printf(b, ";%.*s=%.*s%.*s", STR_ARGS(name), STR_ARGS(to),
                              STR_ARGS(str_skip(value, from.len)));
        }
        if (str_eq(what, STR("domain")) && is_attribute(part, "domain") &&
            str_eq_nocase(value, from)) {
            return buf_printf(b, ";%.*s=%.*s", STR_ARGS(name), STR_ARGS(to));
        }
    }
    return buf_printf(b, ";%.*s", STR_ARGS(part));
}

/* One that would become too long stays as it is. */
struct str
rewrite_cookie(struct proxy_exchange *x, struct str value)
{
    struct str rest = value, out = value;
    struct buf b;
    int bad;

    if (x->layer->settings->cookies.count == 0) {
        return value;
    }
    buf_init(&b, COOKIE_MAX);
    bad = buf_add_str(&b, str_cut(&rest, ';'));
    while (rest.len > 0 && bad == 0) {
        bad = add_attribute(&b, x, str_cut(&rest, ';'));
    }
    if (bad == 0) {
        out = pool_str(x->r->pool, buf_str(&b));
    }
    buf_clear(&b);
    return out;
}
