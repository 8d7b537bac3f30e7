/*
 * A POST brings what the client says: some thousand packets, perhaps.  A turn
 * takes POST_PIECE bytes of one, the POSTs of all sessions one after the other,
 * and a POST is answered behind its last packet.  Another one of that session
 * meanwhile is an error, as it is for the reference server.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/utf8.h"
#include "sio/engine/session_impl.h"

#define POST_PIECE (64 * 1024) /* bytes of a turn; a packet may be longer */

enum taken { TAKEN_ALL, TAKEN_SOME, TAKEN_WRONG };

static enum taken
take_some(struct session *s, struct str *payload)
{
    size_t first = payload->len;
    bool more = true;
    struct str text;

    while (more && s->state->stage == SESSION_OPEN) {
        if (first - payload->len >= POST_PIECE) {
            return TAKEN_SOME;
        }
        more = packet_cut(payload, &text);
        session_count(s, METRIC_IN, text.len);
        if (!utf8_valid(text) || !session_take(s, text)) {
            return TAKEN_WRONG;
        }
    }
    return TAKEN_ALL;
}

static void
answer(const struct session *s, struct engine_exchange *x)
{
    const struct session_state *st = s->state;

    x->session = NULL;
    if (st->stage != SESSION_OPEN && st->why == SESSION_PARSE_ERROR) {
        polling_refuse(x, ENGINE_BAD_REQUEST);
    } else {
        x->answer(x, 200, "text/html", STR("ok"));
    }
}

/* It does not go on any more. */
static struct engine_exchange *
take_post(struct session *s)
{
    struct engine_exchange *x = s->state->post;

    s->state->post = NULL;
    list_remove(&s->state->posting);
    return x;
}

static void
wait_turn(struct session *s)
{
    struct engine *e = s->state->engine;

    list_append(&e->postings, &s->state->posting);
    timer_set(e->loop, &e->post_timer, 0);
}

void
posting_go_on(struct timer *timer)
{
    struct engine *e = LIST_ITEM(timer, struct engine, post_timer);
    struct session_state *st;
    struct session *s;
    enum taken taken;

    if (list_empty(&e->postings)) {
        return; /* the last one has ended */
    }
    st = LIST_ITEM(e->postings.next, struct session_state, posting);
    s = session_of(st);
    list_remove(&st->posting);
    st->takes_post = true;
    taken = take_some(s, &st->rest);
    st->takes_post = false;
    if (!list_empty(&e->postings)) {
        timer_set(e->loop, timer, 0);
    }
    if (taken == TAKEN_SOME) {
        wait_turn(s);
        return;
    }
    if (taken == TAKEN_WRONG) {
        session_end(s, SESSION_PARSE_ERROR); /* that answers it */
    }
    posting_end(s);
}

void
posting_take(struct session *s, struct str payload, struct engine_exchange *x)
{
    struct session_state *st = s->state;

    if (st->post != NULL) {
        session_end(s, SESSION_PARSE_ERROR); /* the other one is told */
        polling_refuse(x, ENGINE_BAD_REQUEST);
        return;
    }
    switch (take_some(s, &payload)) {
    case TAKEN_SOME:
        st->post = x;
        st->rest = payload;
        x->session = s;
        wait_turn(s);
        return;
    case TAKEN_WRONG:
        session_end(s, SESSION_PARSE_ERROR);
        break;
    case TAKEN_ALL:
        break;
    }
    answer(s, x);
}

bool
posting_gone(struct session *s, const struct engine_exchange *x)
{
    if (s->state->post != x) {
        return false;
    }
    take_post(s);
    session_end(s, SESSION_TRANSPORT_LOST);
    return true;
}

void
posting_end(struct session *s)
{
    /* While packets are taken, posting_go_on() calls this again. */
    if (s->state->post != NULL && !s->state->takes_post) {
        answer(s, take_post(s));
    }
}
