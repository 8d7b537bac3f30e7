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

/* The server's own address becomes the location's. */
static bool
replace_own(struct proxy_exchange *x, struct str value, struct str *out)
{
    const struct proxy_settings *s = x->layer->settings;
    struct str location = x->r->location->path;
    struct str rest = value, scheme = str_cut(&rest, ':');
    size_t cut = s->uri.len - (str_ends(s->uri, STR("/")) ? 1 : 0);

    if ((!str_eq_nocase(scheme, STR("http")) &&
         !str_eq_nocase(scheme, STR("https"))) ||
        !str_starts(rest, STR("//")) || x->use.server == NULL) {
        return false;
    }
    rest = str_skip(rest, 2);
    if (!str_eq_nocase(str_first(rest, x->use.server->authority.len),
                       x->use.server->authority)) {
        return false;
    }
    rest = str_skip(rest, x->use.server->authority.len);
    if (rest.len > 0 && rest.ptr[0] != '/') {
        return false; /* a longer name, or a port */
    }
    if (s->uri.len > 0 && !is_below(rest, s->uri)) {
        return false;
    }
    if (s->uri.len > 0 && location.len > 1) {
        rest = pool_printf(x->r->pool, "%.*s%.*s", STR_ARGS(location),
                           STR_ARGS(str_skip(rest, cut)));
    } else if (s->uri.len > 0) {
        rest = str_skip(rest, cut);
    }
    *out = with_one_slash(x, rest);
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
