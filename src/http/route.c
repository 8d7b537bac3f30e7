/*
 * Which handlers a request walks by: locations as find.c finds them, the layers
 * of each in order, the first route of a layer that fits.
 *
 * The walk stands still in the exchange while a handler waits or the body is
 * read, and goes on from there.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>

#include "base/log.h"
#include "http/filter/filter.h"
#include "http/metrics.h"
#include "http/path.h"
#include "http/rewrite.h"

#define PARAMS_MAX 8   /* of a template */
#define METHODS_MAX 16 /* of an Allow header */

/* The methods of "*" in an Allow header. */
static const char *const every_method[] = { "GET", "POST", "PUT", "PATCH",
                                            "DELETE" };

/* ---- templates ---- */

struct match {
    struct http_param params[PARAMS_MAX];
    size_t count;
};

static void
add_param(struct match *m, struct str name, struct str value)
{
    assert(m->count < PARAMS_MAX); /* a mistake of the module */
    m->params[m->count++] = (struct http_param){ name, value };
}

/* One segment against one of the template. */
static bool
match_segment(struct str wanted, struct str segment, struct match *m)
{
    if (wanted.len > 0 && wanted.ptr[0] == ':') {
        add_param(m, str_skip(wanted, 1), segment);
        return segment.len > 0;
    }
    return str_eq(wanted, segment);
}

/* Both start with '/'. */
static bool
match_path(const char *path, struct str given, struct match *m)
{
    struct str template = str_from(path);

    m->count = 0;
    for (;;) {
        template = str_skip(template, 1);
        given = str_skip(given, 1);
        if (str_eq(template, STR("*"))) {
            add_param(m, template, given);
            return true;
        }
        size_t want = str_find(template, '/', 0), have = 0;

        have = str_find(given, '/', 0);
        if (!match_segment(str_first(template, want), str_first(given, have),
                           m)) {
            return false;
        }
        template = str_skip(template, want);
        given = str_skip(given, have);
        if (template.len == 0 || given.len == 0) {
            return template.len == given.len;
        }
    }
}

static bool
match_method(const char *route, struct str method)
{
    struct str wanted = str_from(route);

    if (str_eq(wanted, STR("*"))) {
        return !str_eq(method, STR("TRACE"));
    }
    return str_eq(wanted, method) ||
           (str_eq(wanted, STR("GET")) && str_eq(method, STR("HEAD")));
}

/* ---- Allow ---- */

static void
allow(struct exchange *x, const char *method)
{
    struct str name = str_from(method);

    if (x->allow == NULL) {
        x->allow = pool_alloc(x->pub.pool, METHODS_MAX * sizeof(*x->allow));
    }
    for (size_t i = 0; i < x->allow_count; i++) {
        if (str_eq(x->allow[i], name)) {
            return;
        }
    }
    if (x->allow_count < METHODS_MAX) {
        x->allow[x->allow_count++] = name;
    }
}

static void
allow_route(struct exchange *x, const struct http_route *route)
{
    if (!str_eq(str_from(route->method), STR("*"))) {
        allow(x, route->method);
    } else {
        for (size_t i = 0; i < sizeof(every_method) / sizeof(every_method[0]);
             i++) {
            allow(x, every_method[i]);
        }
    }
    if (match_method(route->method, STR("GET"))) {
        allow(x, "HEAD");
    }
    allow(x, "OPTIONS");
}

static void
set_allow(struct exchange *x)
{
    struct str list = STR_NONE;

    for (size_t i = 0; i < x->allow_count; i++) {
        list = pool_printf(x->pub.pool, "%.*s%s%.*s", STR_ARGS(list),
                           i > 0 ? ", " : "", STR_ARGS(x->allow[i]));
    }
    http_set_header(&x->pub, "Allow", list);
}

void
http_reject(struct exchange *x)
{
    if (x->redirect.len > 0) {
        http_set_header(&x->pub, "Location", x->redirect);
        http_reply(&x->pub, x->reject, NULL, STR_NONE);
    } else if (x->reject_text != NULL) {
        http_error(&x->pub, x->reject, "%s", x->reject_text);
    } else if (x->reject == 204) { /* the preflight of cors */
        http_reply(&x->pub, 204, NULL, STR_NONE);
    } else if (x->reject == 404) {
        http_error(&x->pub, 404, "nothing is here");
    } else if (str_eq(x->pub.method, STR("OPTIONS"))) {
        set_allow(x);
        http_reply(&x->pub, 204, NULL, STR_NONE);
    } else {
        set_allow(x);
        http_error(&x->pub, 405, "method %.*s is not allowed here",
                   STR_ARGS(x->pub.method));
    }
}

/* ---- the walk ---- */

/* Within units of versions "/x/" is "/x" to a route that does not have it
 * itself, as it is to Grape. */
static bool
fits(const struct exchange *x, const struct http_route *route, struct match *m)
{
    struct str path = x->pub.route_path;

    return match_path(route->path, path, m) ||
           (x->level->up != NULL && path.len > 1 && str_ends(path, STR("/")) &&
            match_path(route->path, str_first(path, path.len - 1), m));
}

/* The route of this layer that takes the request, or NULL: then the methods
 * that its path is known under are in x->allow. */
static const struct http_route *
find_route(struct exchange *x, const struct http_layer *layer)
{
    struct match m;

    if (layer->routes == NULL) { /* a module without a face here */
        return NULL;
    }
    for (const struct http_route *r = layer->routes; r->path != NULL; r++) {
        if (match_method(r->method, x->pub.method) && fits(x, r, &m)) {
            size_t size = m.count * sizeof(m.params[0]);
            struct http_param *params = pool_alloc(x->pub.pool, size);

            for (size_t i = 0; i < m.count; i++) {
                params[i] = m.params[i];
            }
            x->pub.params = params;
            x->pub.param_count = m.count;
            return r;
        }
    }
    for (const struct http_route *r = layer->routes; r->path != NULL; r++) {
        if (fits(x, r, &m)) {
            allow_route(x, r);
        }
    }
    return NULL;
}

/* Finds the next route in this location, from the layer the walk is at; or
 * the walk ends there, or stands still until the body is read. */
static bool
advance_layer(struct exchange *x)
{
    const struct http_layer *layer;

    while ((layer = http_walk_next(x)) != NULL) {
        x->route = find_route(x, layer);
        if (x->route == NULL) {
            x->level->at++;
        } else if (http_walk_fits(x, layer)) {
            if (http_site_filter(x, layer) != FILTER_PASS) {
                x->route = NULL;
            }
            return true;
        }
    }
    return x->reject != 0 || x->needs_body;
}

/* Whether to say that a location knows the path but not the method.  A selector
 * of a longer location comes first: a file server below "/" knows every
 * path. */
static bool
method_is_wrong(const struct exchange *x)
{
    return x->allow_count > 0 &&
           (x->last_refusal == NULL || x->last_location == x->location);
}

void
http_route_refused(struct exchange *x, struct str path)
{
    if (str_starts(path, STR("/")) &&
        http_path_decode(x->pub.pool, path, &x->pub.path) == 0) {
        http_find_longest(x);
    }
}

enum visit { VISIT_STAY, VISIT_NEXT };

/* Stays when it has found a route, a reason why there is none, or has to
 * wait. */
static enum visit
visit(struct exchange *x)
{
    enum filter_result result;

    result = http_filter(x);
    if (result != FILTER_PASS) {
        x->waiting = result == FILTER_WAIT;
        return VISIT_STAY;
    }
    if (advance_layer(x)) {
        return VISIT_STAY;
    }
    if (method_is_wrong(x)) {
        x->reject = 405;
        http_find_longest(x);
        return VISIT_STAY;
    }
    x->entered = false;
    http_filter_undo(x);
    return VISIT_NEXT;
}

static bool
find_location(struct exchange *x)
{
    enum http_sought sought;

    do {
        sought = http_find(x);
    } while (sought == HTTP_SOUGHT_PATH);
    return sought == HTTP_SOUGHT_LOCATION;
}

/* Goes on to the next route, or to the reason why there is none; or a filter
 * waits. */
static void
advance(struct exchange *x)
{
    while (x->entered || find_location(x)) {
        if (visit(x) == VISIT_STAY) {
            return;
        }
        x->location++;
    }
    if (x->reject != 0) {
        return;
    }
    if (x->last_refusal != NULL) {
        http_find_refused(x);
        http_cors_headers(x);
    } else {
        http_find_longest(x);
    }
    http_walk_end(x);
}

bool
http_body_looked(const struct exchange *x)
{
    return buf_len(&x->body.bytes) >= HTTP_LOOK;
}

static bool
body_too_long(const struct exchange *x)
{
    return x->body.seen > x->body.limit || /* read for another location */
           (x->head.length > 0 && (uint64_t)x->head.length > x->body.limit);
}

/* Whether the route's handler, or the layer that chooses, can have its turn.*/
static bool
body_ready(struct exchange *x)
{
    const struct http_feed *feed = x->needs_body ? NULL : x->route->feed;

    x->body.limit = http_feed_limit(x, feed);
    if (body_too_long(x)) {
        http_refuse(x, REFUSE_BODY_LONG);
        return false;
    }
    if (x->needs_body && !http_body_looked(x) && !x->body.done) {
        x->body.keep = true;
        http_wait_for_body(x);
        return false;
    }
    return feed == NULL || http_feed(x, feed);
}

/* Whether to say no now.  A client on its way of sending the body is heard
 * out, as long as it does not pause, so that the connection can go on. */
static bool
reject_ready(struct exchange *x)
{
    if (x->body.done || !x->head.keep_alive || x->head.expects_continue ||
        body_too_long(x)) {
        return true;
    }
    http_feed_drop(x);
    x->body.keep = false;
    http_wait_for_body(x);
    return false;
}

static enum http_result
call(struct exchange *x)
{
    const struct http_layer *layer = http_layer_now(x);

    x->running = true;
    enum http_result result = x->route->handler(&x->pub, layer->state);

    x->running = false;
    if (result == HTTP_DONE && x->status == 0 && !x->taken) {
        log_alert("http: a handler of module %s gave no answer (request %.*s)",
                  layer->module, STR_ARGS(x->pub.request_id));
        http_error(&x->pub, 500, "no answer");
    }
    return result;
}

static void
pass(struct exchange *x)
{
    x->route = NULL;
    x->level->at++;
    x->pub.context = NULL;
    x->on_cancel = NULL;
}

static void
allow_every(struct exchange *x)
{
    static const struct http_route every = { "*", "*", NULL, NULL };

    allow_route(x, &every);
}

void
http_allow_all(struct exchange *x)
{
    allow_every(x);
    set_allow(x);
}

static void
route_star(struct exchange *x)
{
    allow_every(x);
    x->reject = 405;
}

void
http_route(struct exchange *x)
{
    enum http_result result = HTTP_PASS;

    if (str_eq(x->head.path, STR("*"))) {
        route_star(x);
    }
    while (result == HTTP_PASS) {
        if (x->route == NULL && x->reject == 0) {
            advance(x);
        }
        if (x->waiting) {
            return;
        }
        if (x->reject != 0) {
            if (reject_ready(x)) {
                http_reject(x);
            }
            return;
        }
        if (!body_ready(x)) {
            return;
        }
        if (x->needs_body) { /* it is there: ask again */
            x->needs_body = false;
            continue;
        }
        result = call(x);
        if (result == HTTP_PASS) {
            pass(x);
        }
    }
    x->waiting = result == HTTP_WAIT;
}
