/*
 * Which location a request belongs to: rewrites of the server, then locations
 * in their order (locate.h), and their rewrites.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/filter/filter.h"
#include "http/path.h"
#include "http/rewrite.h"

/* Whether it is this one's turn; a pattern without end ends the search. */
static bool
is_turn_of(struct exchange *x, const struct http_location *l)
{
    switch (http_location_fits(x->pub.pool, l, x->pub.path, &x->groups)) {
    case HTTP_FITS:
        return true;
    case HTTP_FITS_LIMIT:
        http_filter_reject(x, REFUSE_PATTERN,
                           http_refusal_text(REFUSE_PATTERN));
        return false;
    case HTTP_FITS_NOT:
        break;
    }
    return false;
}

/* "/a/" is "/a" for the layers. */
static struct str
without_slash(const struct http_location *l, struct str path)
{
    return l->slash == HTTP_SLASH_ACCEPT && path.len > 1 &&
                   str_ends(path, STR("/"))
               ? str_first(path, path.len - 1)
               : path;
}

static void
set_location(struct exchange *x, const struct http_location *l)
{
    struct str rest =
        l->path.len > 1 ? str_skip(x->pub.path, l->path.len) : x->pub.path;

    x->pub.location = l;
    x->pub.route_path = rest.len > 0 ? without_slash(l, rest) : STR("/");
    http_walk_enter(x, l);
}

static void
enter(struct exchange *x, const struct http_location *l)
{
    set_location(x, l);
    x->allow_count = 0;
    x->body.limit = (uint64_t)l->client_max_body_size;
    x->entered = true;
}

/* "/a/" is 308 to "/a". */
static void
redirect_slash(struct exchange *x)
{
    struct str path = x->pub.path;

    if (path.len > 1 && str_ends(path, STR("/"))) {
        http_end_with_redirect(x, 308, http_slash_location(&x->pub));
    }
}

/* Rules of the server, once; rules of locations, whenever the search comes to
 * them: before their filters, so that those of the new location count.  Whether
 * that is the step, with *out. */
static bool
rewrite(struct exchange *x, const struct http_rules *r, enum http_sought *out)
{
    switch (http_rewrite(x, r->rewrites, r->rewrite_count)) {
    case HTTP_REWROTE:
        x->location = 0;
        x->last_refusal = NULL; /* of another path */
        *out = HTTP_SOUGHT_PATH;
        return true;
    case HTTP_REWROTE_ENDED:
        *out = HTTP_SOUGHT_ANSWER;
        return true;
    case HTTP_REWROTE_NOT:
        break;
    }
    return false;
}

/* Into a location whose turn it is. */
static enum http_sought
go_into(struct exchange *x, const struct http_location *l)
{
    enum http_sought step;

    x->pub.location = l;
    if (rewrite(x, &l->rules, &step)) {
        return step;
    }
    enter(x, l);
    if (l->slash == HTTP_SLASH_REDIRECT) {
        redirect_slash(x);
    }
    return x->reject == 0 ? HTTP_SOUGHT_LOCATION : HTTP_SOUGHT_ANSWER;
}

enum http_sought
http_find(struct exchange *x)
{
    const struct http_server *s = x->c->server;
    enum http_sought step;

    x->pub.location = NULL;
    if (!x->begun) {
        x->begun = true;
        if (rewrite(x, &s->rules, &step)) {
            return step;
        }
    }
    for (; x->location < s->location_count; x->location++) {
        const struct http_location *l = &s->locations[x->location];

        if (is_turn_of(x, l)) {
            return go_into(x, l);
        }
        if (x->reject != 0) {
            return HTTP_SOUGHT_ANSWER;
        }
    }
    return HTTP_SOUGHT_NOTHING;
}

void
http_find_longest(struct exchange *x)
{
    const struct http_server *s = x->c->server;

    for (size_t i = 0; i < s->location_count; i++) {
        if (http_location_fits(x->pub.pool, &s->locations[i], x->pub.path,
                               &x->groups) == HTTP_FITS) {
            set_location(x, &s->locations[i]);
            x->outermost.at = x->outermost.count; /* nobody's turn */
            return;
        }
    }
}

void
http_find_refused(struct exchange *x)
{
    const struct http_location *l;

    x->location = x->last_location;
    l = &x->c->server->locations[x->location];
    (void)is_turn_of(x, l); /* others have set the groups since */
    enter(x, l);
}
