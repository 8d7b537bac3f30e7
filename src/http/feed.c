/*
 * How much of a body is handed on in one turn: HTTP_PIECE bytes, to a handler
 * that reads it (upload.c) and to a feed, which looks into it before the
 * handler is called.
 *
 * A feed is given what is kept of the body, step by step, in turns of its own:
 * while the body comes, and behind its end as long as something is left.  So
 * neither a setting nor a client makes a turn longer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/feed.h"

#include <assert.h>

#include "http/exchange.h"
#include "json/read.h"

/* Bytes of one step: parsers of others take a millisecond for as many. */
#define STEP ((size_t)16 * 1024)

static uint64_t
piece_most(const void *state)
{
    (void)state;
    return HTTP_PIECE;
}

const struct http_feed http_small_body = { .most = piece_most, .whole = true };
const struct http_feed http_dropped_body = { .whole = false };

void *
http_json_begin(struct http_request *r, void *state)
{
    (void)state;
    return json_reader_new(r->pool);
}

size_t
http_json_piece(void *fed, struct str piece, bool last)
{
    return json_reader_feed(fed, piece, last);
}

/* ---- what a turn may hand on ---- */

size_t
http_piece_room(struct exchange *x)
{
    int64_t now = loop_now_us(x->c->loop);

    if (x->handed_us != now) {
        x->handed_us = now;
        x->handed = 0;
    }
    return HTTP_PIECE - x->handed;
}

struct str
http_hand_piece(struct exchange *x, struct str piece)
{
    assert(piece.len <= http_piece_room(x));
    x->handed += piece.len;
    return piece;
}

/* ---- feeds ---- */

static struct str
unfed(const struct exchange *x)
{
    return str_skip(buf_str(&x->body.bytes), x->fed);
}

static bool
is_fed(const struct exchange *x)
{
    return x->feed->piece == NULL || x->feed_ended;
}

/* Whether a step would bring something: a parser may leave the last bytes of
 * what has come so far. */
static bool
has_step(const struct exchange *x)
{
    return x->feed != NULL && !is_fed(x) &&
           (x->body.done || unfed(x).len >= STEP);
}

static void
step(struct exchange *x)
{
    struct str piece = str_first(unfed(x), STEP);
    bool last = x->body.done && piece.len == unfed(x).len;
    size_t took;

    if (piece.len > http_piece_room(x)) {
        return; /* in the next turn */
    }
    took = x->feed->piece(x->pub.fed, http_hand_piece(x, piece), last);
    assert(took <= piece.len && (took == piece.len || !last));
    x->fed += took;
    x->feed_ended = last;
}

static void
on_step(struct later *later)
{
    struct exchange *x = LIST_ITEM(later, struct exchange, feeding);
    struct http_connection *c = x->c;

    if (!has_step(x)) {
        return;
    }
    step(x);
    if (has_step(x)) {
        loop_in_turn(c->loop, &x->feeding);
    } else if (is_fed(x)) {
        http_route(x);
        http_settle(c);
    }
}

void
http_feed_init(struct exchange *x)
{
    later_init(&x->feeding, on_step);
}

void
http_feed_more(struct exchange *x)
{
    if (has_step(x)) {
        loop_in_turn(x->c->loop, &x->feeding);
    }
}

void
http_feed_drop(struct exchange *x)
{
    later_cancel(&x->feeding);
    x->feed = NULL;
}

static void
begin(struct exchange *x, const struct http_feed *feed)
{
    const struct http_layer *layer = http_layer_now(x);

    http_feed_drop(x);
    x->feed = feed;
    x->fed = 0;
    x->feed_ended = false;
    x->body.keep = feed->whole || feed->piece != NULL;
    x->pub.fed =
        feed->begin != NULL ? feed->begin(&x->pub, layer->state) : NULL;
}

bool
http_feed(struct exchange *x, const struct http_feed *feed)
{
    if (x->feed != feed) {
        begin(x, feed);
    }
    if (x->body.done && has_step(x) && unfed(x).len <= STEP) {
        step(x); /* a short one has its turn at once */
    }
    http_feed_more(x);
    if (!x->body.done) {
        http_wait_for_body(x);
    }
    return x->body.done && is_fed(x);
}

void
http_feed_too_long(struct exchange *x)
{
    const struct http_layer *layer = http_layer_now(x);

    if (x->route != NULL && x->route->feed != NULL &&
        x->route->feed->on_long != NULL) {
        x->route->feed->on_long(&x->pub, layer->state);
    }
}

uint64_t
http_feed_limit(const struct exchange *x, const struct http_feed *feed)
{
    uint64_t most = (uint64_t)x->pub.location->client_max_body_size;
    uint64_t own = UINT64_MAX;

    if (feed == NULL) {
        return most;
    }
    if (feed->most != NULL) {
        own = feed->most(http_layer_now(x)->state);
    }
    if ((feed->whole || feed->piece != NULL) && own > HTTP_WHOLE) {
        own = HTTP_WHOLE;
    }
    return own < most ? own : most;
}
