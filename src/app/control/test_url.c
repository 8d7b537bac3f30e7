/*
 * "test URL": the way of a URL through the settings in force, a row a step: the
 * address, the server, rewrites, locations, or an answer; and why.
 *
 * The search is that of requests (http/explain.h), over the parts of a server
 * that need no module.  Whether a location's layers have an answer is theirs to
 * know, so the locations behind it follow.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/control_impl.h"

#include <stdlib.h>
#include <string.h>

#include "app/settings/names.h"
#include "app/settings/routing.h"
#include "http/explain.h"
#include "http/locate.h"
#include "net/url.h"

static const struct control_column columns[] = {
    { "step", 8 }, { "what", 32 }, { "where", 20 }, { "why", 0 }, { NULL, 0 },
};

struct tour {
    struct control_call *call;
    struct pool *pool; /* owned */
    struct url url;
    struct str authority; /* of the URL: as Host has it */
    const struct http_server_settings *server;
};

static void
row(const struct tour *t, const char *step, struct str what,
    const struct conf_where *where, struct str why)
{
    const char *file = where != NULL ? strrchr(where->file, '/') : NULL;

    control_cell(t->call, str_from(step));
    control_cell(t->call, what);
    control_cell(t->call,
                 where == NULL
                     ? STR("-")
                     : pool_printf(t->pool, "%s:%d",
                                   file != NULL ? file + 1 : where->file,
                                   where->line));
    control_cell_words(t->call, why.len > 0 ? why : STR("-"));
}

/* ---- address and server ---- */

static bool
is_tls(const struct binding *b)
{
    return b->tls != NULL;
}

static bool
takes(const struct binding *b, const struct url *u)
{
    return b->server.kind == SERVER_HTTP && is_tls(b) == u->tls &&
           b->listener->addr.family != AF_UNIX &&
           b->listener->addr.port == u->port;
}

/* A port that the URL does not say may be a load balancer's. */
static bool
could_take(const struct binding *b, const struct url *u)
{
    return b->server.kind == SERVER_HTTP &&
           u->port == url_default_port(u->scheme);
}

static struct str
why_server(const struct tour *t, size_t count, enum host_answer answer,
           const struct host_found *found)
{
    static const char *const words[] = {
        [HOST_EXACT] = "is the host",
        [HOST_FRONT] = "fits the host",
        [HOST_BEHIND] = "fits the host",
        [HOST_PATTERN] = "is the first pattern that fits the host",
    };

    if (count == 1) {
        return STR("the only one at this address");
    }
    switch (answer) {
    case HOST_FOUND:
        return pool_printf(t->pool, "its name %.*s %s", STR_ARGS(found->name),
                           words[found->by]);
    case HOST_LIMIT:
        return STR("500: a pattern of names takes too many steps");
    case HOST_NONE:
        break;
    }
    return STR("the default of this address: no name fits");
}

/* Sets t->server. */
static bool
choose_server(struct tour *t, struct str address)
{
    const struct http_block *b = &control_settings(t->call)->http;
    struct host_found found = { .value = 0 };
    enum host_answer answer = HOST_NONE;
    size_t count;
    const struct http_at *all = settings_http_at(t->pool, b, address, &count);
    const struct host_names *names = settings_http_names(t->pool, all, count);

    if (names != NULL) {
        answer =
            host_names_find(names, host_of_authority(t->authority), &found);
    }
    t->server = all[answer == HOST_FOUND ? found.value : 0].server;
    row(t, "server",
        t->server->server_name.count > 0 ? t->server->server_name.items[0]
                                         : STR("-"),
        &t->server->where, why_server(t, count, answer, &found));
    return answer != HOST_LIMIT;
}

/* ---- its locations ---- */

static const struct http_location_settings *
location_at(const struct tour *t, const struct http_location *l)
{
    const struct http_location_settings *all = t->server->locations.items;

    return &all[l->order];
}

/* The parts of a server that need no module. */
static int
make_server(const struct tour *t, struct http_server *out, struct errmsg *err)
{
    const struct http_server_settings *h = t->server;
    size_t n = h->locations.count;
    struct http_location *to = pool_zero(t->pool, (n + 1) * sizeof(*to));

    for (size_t i = 0; i < n; i++) {
        const struct http_location_settings *all = h->locations.items;

        to[i].order = i;
        if (settings_make_location(t->pool, &all[i], &to[i], err) == -1) {
            return -1;
        }
    }
    qsort(to, n, sizeof(*to), http_location_order);
    out->locations = to;
    out->location_count = n;
    out->known_as = settings_http_known_as(h, t->url.host);
    return settings_make_rules(t->pool, &h->rewrite, &h->add_headers, NULL,
                               &out->rules, err);
}

static struct str
path_and_query(const struct tour *t, struct str path, struct str query)
{
    return pool_printf(t->pool, "%.*s%s%.*s", STR_ARGS(path),
                       query.len > 0 ? "?" : "", STR_ARGS(query));
}

/* "; $1 = a; $name = b" */
static struct str
groups(const struct tour *t, const struct exchange *x)
{
    struct str all = STR_NONE, name, value;

    for (size_t i = 1; http_explain_group(x, i, &name, &value); i++) {
        struct str own = name.len > 0 ? name : pool_printf(t->pool, "%zu", i);

        all = pool_printf(t->pool, "%.*s; $%.*s = %.*s", STR_ARGS(all),
                          STR_ARGS(own), STR_ARGS(value));
    }
    return all;
}

static struct str
why_location(const struct tour *t, const struct exchange *x,
             const struct http_location *l, bool first)
{
    const char *turn = first ? "" : "if no layer before had an answer: ";

    switch (l->kind) {
    case HTTP_PATH_EXACT:
        return pool_printf(t->pool, "%sthis very path", turn);
    case HTTP_PATH_PATTERN:
        return pool_printf(t->pool, "%sa pattern that fits%.*s", turn,
                           STR_ARGS(groups(t, x)));
    case HTTP_PATH_BEGIN:
        break;
    }
    return pool_printf(t->pool, "%sthe longest beginning that fits", turn);
}

/* ", access" */
static struct str
add_word(const struct tour *t, struct str all, struct str word)
{
    return pool_printf(t->pool, "%.*s%s%.*s", STR_ARGS(all),
                       all.len > 0 ? ", " : "", STR_ARGS(word));
}

/* Judges of the request before the layers. */
static void
tell_filters(const struct tour *t, const struct http_location_settings *l)
{
    struct str all = STR_NONE;

    all = settings_restricts(l) ? add_word(t, all, STR("access")) : all;
    all = l->rate.count > 0 ? add_word(t, all, STR("rate")) : all;
    all = l->auth.count > 0 ? add_word(t, all, STR("auth")) : all;
    if (all.len > 0) {
        row(t, "filters", all, &l->where, STR("may refuse the request first"));
    }
}

static void
answer(const struct tour *t, int status, struct str to,
       const struct conf_where *where, struct str why)
{
    row(t, "answer", pool_printf(t->pool, "%d", status), where,
        to.len == 0 ? why
                    : pool_printf(t->pool, "%.*s: sent to %.*s", STR_ARGS(why),
                                  STR_ARGS(to)));
}

static struct str
whose_rules(const struct tour *t, const struct http_step *step)
{
    return step->location == NULL
               ? STR("rules of the server")
               : pool_printf(t->pool, "rules of location %.*s",
                             STR_ARGS(step->location->name));
}

/* Whether it answers without a module. */
static bool
tell_return(const struct tour *t, const struct exchange *x,
            const struct http_location *made,
            const struct http_location_settings *l)
{
    const struct http_return *r;
    struct errmsg err;
    struct str to;

    if (settings_make_return(t->pool, l, made, &r, &err) == -1 || r == NULL) {
        return false;
    }
    http_explain_return(x, r, &to);
    answer(t, r->status, to, &l->where, STR("its return"));
    return true;
}

static void
tell_layers(const struct tour *t, const struct http_location_settings *l,
            struct str path)
{
    struct str all = STR_NONE;
    const struct conf_extra *layer;

    for (size_t i = 0; (layer = settings_http_layer(l, i)) != NULL; i++) {
        all = add_word(t, all, layer->name);
    }
    row(t, "layers", all, &l->where,
        pool_printf(t->pool, "asked in this order for %.*s", STR_ARGS(path)));
}

/* Whether it answers for certain. */
static bool
tell_location(const struct tour *t, const struct exchange *x,
              const struct http_step *step, bool first)
{
    const struct http_location_settings *l = location_at(t, step->location);

    row(t, "location", step->location->name, &l->where,
        why_location(t, x, step->location, first));
    tell_filters(t, l);
    if (tell_return(t, x, step->location, l)) {
        return true;
    }
    tell_layers(t, l, step->layers_path);
    return false;
}

static const struct conf_where *
where_of(const struct tour *t, const struct http_location *l)
{
    return l != NULL ? &location_at(t, l)->where : &t->server->where;
}

/* By rules, or an error. */
static void
tell_answer(const struct tour *t, const struct http_step *step)
{
    answer(t, step->status, step->to, where_of(t, step->location),
           step->reason.len > 0 ? step->reason : whose_rules(t, step));
}

/* Whether it is the end. */
static bool
tell_step(const struct tour *t, const struct exchange *x,
          const struct http_step *step, bool first)
{
    switch (step->kind) {
    case HTTP_STEP_REWRITE:
        row(t, "rewrite", path_and_query(t, step->path, step->query),
            where_of(t, step->location), whose_rules(t, step));
        return false;
    case HTTP_STEP_LOCATION:
        return tell_location(t, x, step, first);
    case HTTP_STEP_ANSWER:
        tell_answer(t, step);
        return true;
    case HTTP_STEP_END:
        break;
    }
    answer(t, 404, STR_NONE, NULL,
           first ? STR("no location fits")
                 : STR("if no layer before had an answer"));
    return true;
}

static void
tell_steps(const struct tour *t)
{
    struct http_server server = { .location_count = 0 };
    struct http_question q = {
        .server = &server,
        .scheme = str_from(url_scheme_name(t->url.scheme)),
        .host = t->authority,
        .path = t->url.path,
        .query = t->url.query,
    };
    struct exchange *x;
    struct http_step step;
    struct errmsg err;
    bool first = true, ends = false;

    if (make_server(t, &server, &err) == -1) { /* it was checked */
        row(t, "answer", STR("-"), NULL, str_from(err.text));
        return;
    }
    x = http_explain(t->pool, &q);
    if (x == NULL) {
        row(t, "answer", STR("400"), NULL, STR("malformed path"));
        return;
    }
    while (!ends) {
        http_explain_next(x, &step);
        ends = tell_step(t, x, &step, first);
        first = first && step.kind != HTTP_STEP_LOCATION;
    }
}

/* ---- all of it ---- */

static void
tell_binding(struct tour *t, const struct binding *b, bool exact)
{
    char text[CONTROL_ADDRESS];

    control_listener_text(b->listener, text);
    row(t, "address", str_from(text), &b->settings->where,
        exact ? STR("scheme and port are the URL's")
              : STR("perhaps: nothing listens at the scheme's own port"));
    if (choose_server(t, b->settings->address)) {
        tell_steps(t);
    }
}

/* Counts the addresses, and tells of them if tell. */
static size_t
each_address(struct tour *t, bool exact, bool tell)
{
    const struct generation *g = control_master(t->call)->generation;
    size_t n = 0;

    for (size_t i = 0; i < g->binding_count; i++) {
        const struct binding *b = &g->bindings[i];

        if (exact ? takes(b, &t->url) : could_take(b, &t->url)) {
            n++;
            if (tell) {
                tell_binding(t, b, exact);
            }
        }
    }
    return n;
}

static enum control_result
tell(struct tour *t, struct str text)
{
    char authority[URL_MAX];
    struct errmsg err;
    bool exact;

    if (url_parse(t->pool, text, &t->url, &err) == -1) {
        return control_fail(t->call, "usage", "%s", err.text);
    }
    if (t->url.scheme != URL_HTTP && t->url.scheme != URL_HTTPS) {
        return control_fail(t->call, "usage",
                            "a URL of http or https, not of %s",
                            url_scheme_name(t->url.scheme));
    }
    t->authority =
        str_from(url_authority(authority, sizeof(authority), &t->url));
    exact = each_address(t, true, false) > 0;
    if (!exact && each_address(t, false, false) == 0) {
        return control_fail(t->call, "missing",
                            "no address of http.servers takes %s at port %u; "
                            "see show listeners",
                            url_scheme_name(t->url.scheme), t->url.port);
    }
    control_table(t->call, columns);
    each_address(t, exact, true);
    return CONTROL_DONE;
}

enum control_result
control_test_url(struct control_call *call, struct str url)
{
    struct tour t = { .call = call, .pool = pool_new(4096) };
    enum control_result result = tell(&t, url);

    pool_free(&t.pool);
    return result;
}
