/*
 * Layers within layers: which layer the walk comes to next.
 *
 * A level is a list of layers and the place in it.  A layer that chooses puts
 * a level below its own; when that is walked through, it is asked again, until
 * it has none left.  All of it lies in the request's pool.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>

#include "http/accept.h"
#include "http/exchange.h"

/* ---- where the walk is ---- */

/* Gives the request the values of a level. */
static void
show(struct exchange *x, struct http_level *s)
{
    x->level = s;
    x->pub.route_path = s->route_path;
    x->pub.api_vendor = s->vendor;
    x->pub.api_version = s->version;
    x->pub.api_format = s->format;
    x->pub.api_query = s->query;
    x->pub.api = s->api;
}

void
http_walk_refuse(struct exchange *x)
{
    const struct http_level *s = x->level;

    for (size_t i = 0; s != NULL && s->up == NULL && i < s->count; i++) {
        if (s->layers[i].lines.len > 0 && x->reject_lines.len == 0) {
            x->reject_lines = s->layers[i].lines;
        }
    }
}

void
http_walk_enter(struct exchange *x, const struct http_location *l)
{
    x->outermost = (struct http_level){
        .layers = l->layers,
        .count = l->layer_count,
        .route_path = x->pub.route_path,
        .vendor = STR_NONE,
        .version = STR_NONE,
        .format = STR_NONE,
        .query = STR_NONE,
        .lines = STR_NONE,
    };
    show(x, &x->outermost);
    for (size_t i = 0; i < l->layer_count; i++) {
        if (l->layers[i].vary.len > 0) {
            http_vary(&x->pub, l->layers[i].vary);
        }
    }
}

const struct http_layer *
http_layer_now(const struct exchange *x)
{
    const struct http_level *s = x->level;

    return s != NULL && s->at < s->count ? &s->layers[s->at] : NULL;
}

/* ---- choosing ---- */

/* Begun when the walk comes to the layer, gone on with when it comes back. */
static struct http_choosing *
choosing_of(struct exchange *x)
{
    struct http_choosing *c = x->choosing;

    if (c == NULL || c->level != x->level) {
        c = pool_zero(x->pub.pool, sizeof(*c));
        c->next = x->choosing;
        c->level = x->level;
        c->allowed = x->allow_count;
        c->choice.lines = c->choice.query = STR_NONE;
        x->choosing = c;
    }
    return c;
}

/* The query that links need for both choices. */
static struct str
join_queries(struct exchange *x, struct str below, struct str chosen)
{
    if (below.len == 0 || chosen.len == 0) {
        return below.len == 0 ? chosen : below;
    }
    return pool_printf(x->pub.pool, "%.*s&%.*s", STR_ARGS(below),
                       STR_ARGS(chosen));
}

/* The chosen version, with those chosen in front of it. */
static const struct http_api *
join_apis(struct exchange *x, const struct http_choice *choice)
{
    struct http_api *api;

    if (choice->api == NULL) {
        return x->level->api;
    }
    api = pool_alloc(x->pub.pool, sizeof(*api));
    *api = *choice->api;
    api->outer = x->level->api;
    api->behind = choice->in_path ? choice->route_path : STR_NONE;
    return api;
}

static void
descend(struct exchange *x, const struct http_choice *chosen)
{
    struct http_level *s = pool_alloc(x->pub.pool, sizeof(*s));

    *s = (struct http_level){
        .up = x->level,
        .layers = chosen->layers,
        .count = chosen->layer_count,
        .route_path = chosen->route_path,
        .vendor = chosen->vendor,
        .version = chosen->version,
        .format = chosen->format,
        .query = join_queries(x, x->level->query, chosen->query),
        .api = join_apis(x, chosen),
        .wish = chosen->wish,
        .lines = chosen->lines,
    };
    show(x, s);
}

/* The walk ends with what a selector said; it is logged for the operator as
 * well. */
static void
refuse(struct exchange *x, const struct http_choice *said)
{
    x->reject = said->status;
    x->reject_text = said->reason;
    x->reject_lines = said->lines;
    x->api_says = true;
    if (x->note.len == 0) {
        x->note = str_from(said->reason);
    }
}

/* ---- formats ---- */

/* When no format was wished for, any acceptable one fits. */
static bool
fits(struct http_wish best, struct http_wish wanted)
{
    return best.quality > wanted.quality ||
           (best.quality == wanted.quality && best.quality > 0 &&
            best.by >= wanted.by);
}

bool
http_walk_fits(struct exchange *x, const struct http_layer *layer)
{
    struct http_level *s = x->level;
    struct http_choosing *c = x->choosing;
    struct http_wish best;

    if (layer->formats == NULL || s->up == NULL || x->any_format) {
        return true;
    }
    best = http_best_wish(&x->pub, layer->formats);
    if (fits(best, s->wish)) {
        return true;
    }
    assert(c->level == s->up);
    http_vary(&x->pub, STR("Accept"));
    c->best = best;
    c->choice.unfit = &c->best;
    if (best.quality == 0 && c->unfit == NULL) {
        c->unfit = s;
        c->unfit_at = s->at;
    }
    s->at = s->count;
    return false;
}

/* Back to where the resource is, to be told there what there is of it. */
static void
ask_the_unfit(struct exchange *x, const struct http_choosing *c)
{
    x->any_format = true;
    c->unfit->at = c->unfit_at;
    show(x, c->unfit);
}

/* ---- choosing, on ---- */

/* No layer of it is left: on behind it, or the end; unless one knew the path
 * and it is the format or the method that is wrong. */
static void
give_up(struct exchange *x, const struct http_choosing *c, bool refused)
{
    if (c->unfit != NULL && !x->any_format) {
        ask_the_unfit(x, c);
        return;
    }
    x->choosing = c->next;
    if (x->allow_count > c->allowed) {
        x->reject = 405;
        x->reject_lines = c->choice.lines;
        x->api_says = true;
        return;
    }
    if (refused) {
        refuse(x, &c->choice);
        return;
    }
    if (x->last_refusal == NULL && c->choice.status != 0) {
        x->last_refusal = &c->choice;
        x->last_location = x->location;
    }
    x->level->at++;
}

static void
choose(struct exchange *x, const struct http_layer *layer)
{
    struct http_choosing *c = choosing_of(x);
    enum http_select answer;

    c->choice.body_cut = http_body_looked(x) && !x->body.done;
    c->choice.body_read = x->body.done || c->choice.body_cut;
    c->choice.status = 0;
    c->choice.reason = NULL;
    x->selecting = true;
    answer = layer->select(&x->pub, layer->state, &c->choice);
    x->selecting = false;
    c->choice.unfit = NULL;
    assert((c->choice.status == 0) == (c->choice.reason == NULL));
    switch (answer) {
    case HTTP_CHOSEN:
        descend(x, &c->choice);
        return;
    case HTTP_NONE_LEFT:
    case HTTP_REFUSED:
        give_up(x, c, answer == HTTP_REFUSED);
        return;
    case HTTP_NEEDS_BODY:
        assert(!c->choice.body_read);
        x->needs_body = true;
        return;
    }
}

void
http_walk_end(struct exchange *x)
{
    if (x->last_refusal != NULL) {
        refuse(x, x->last_refusal);
    } else {
        x->reject = 404;
    }
}

const struct http_layer *
http_walk_next(struct exchange *x)
{
    while (x->reject == 0 && !x->needs_body) {
        const struct http_layer *layer = http_layer_now(x);

        if (layer == NULL && x->level->up == NULL) {
            return NULL;
        }
        if (layer == NULL) {
            show(x, x->level->up);
        } else if (layer->select == NULL) {
            return layer;
        } else {
            choose(x, layer);
        }
    }
    return NULL;
}
