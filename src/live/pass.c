/*
 * Passes: their budget, their batches, and their sends in the ring.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/pass.h"

#include "base/log.h"
#include "live/player.h"

/* Sends a turn may make before other events get their turn. */
#define PASS_BUDGET 1024u
#define CACHE_LINE 64

/* ---- batches ---- */

static bool
serves(const struct pass_place *place, const struct live_player *p)
{
    const struct batch *b = &place->batch;

    return place->hs == p->hs && place->turn == hub.turn &&
           place->framing == p->view.framing && b->from.frame == p->at.frame &&
           (b->to.frame >= p->hs->reached || b->bytes >= BATCH_BYTES ||
            b->count == BATCH_RANGES);
}

const struct batch *
pass_batch(const struct live_player *p)
{
    struct pass *pass = &hub.pass;
    struct pass_place *place;

    for (unsigned i = pass->used; i > 0; i--) {
        if (serves(&pass->places[i - 1], p)) {
            return &pass->places[i - 1].batch;
        }
    }
    if (pass->used == PASS_PLACES) {
        pass->used = 0; /* the ring is empty: see make_room() */
    }
    place = &pass->places[pass->used++];
    place->hs = p->hs;
    place->framing = p->view.framing;
    place->turn = hub.turn;
    batch_fill(&place->batch, p->hs->stream, &p->view, p->at, p->hs->reached);
    return &place->batch;
}

void
pass_forget(const struct hub_stream *hs)
{
    for (unsigned i = 0; i < PASS_PLACES; i++) {
        if (hub.pass.places[i].hs == hs) {
            hub.pass.places[i].hs = NULL;
        }
    }
}

/* ---- sends ---- */

bool
pass_send(struct live_player *p, const struct batch *b)
{
    struct pass *pass = &hub.pass;

    if (!pass->running || pass->ring == NULL || b->bytes == 0 ||
        !conn_is_direct(p->conn)) {
        return false;
    }
    p->asked = b;
    p->turns->busy = p; /* its other NetStreams keep out */
    send_ring_add(pass->ring, p->conn->io.fd, &b->message, p);
    return true;
}

/* No session is called before all results are noted. */
static void
on_sent(void *arg, ssize_t result)
{
    struct live_player *p = arg;
    ssize_t sent = conn_sent(p->conn, p->asked->bytes, result);

    if (sent < 0) {
        list_append(&hub.pass.lost, &p->link);
    } else {
        player_file(p, player_sent(p, p->asked, (size_t)sent));
    }
}

void
pass_flush(void)
{
    struct pass *pass = &hub.pass;

    if (pass->ring == NULL || send_ring_empty(pass->ring)) {
        return;
    }
    send_ring_flush(pass->ring, on_sent);
    while (!list_empty(&pass->lost)) {
        player_break(LIST_ITEM(pass->lost.next, struct live_player, link));
    }
}

/* For one more send, at a place of its own. */
static void
make_room(void)
{
    const struct pass *pass = &hub.pass;

    if (pass->ring != NULL &&
        (send_ring_full(pass->ring) || pass->used == PASS_PLACES)) {
        pass_flush();
        hub.pass.used = 0;
    }
}

/* ---- the pass ---- */

static void
prefetch(const void *object, size_t size)
{
    for (size_t at = 0; at < size; at += CACHE_LINE) {
        __builtin_prefetch((const char *)object + at, 1);
    }
}

/* Thousands of players do not fit the cache, and each is looked at once a
 * pass: what the next one needs is fetched while this one is busy, and the one
 * after it, so that its pointers can be followed then. */
static void
fetch_ahead(const struct list *todo)
{
    struct list *next = todo->next;
    const struct live_player *p = LIST_ITEM(next, struct live_player, link);

    if (next == todo) {
        return;
    }
    prefetch(p->conn, sizeof(*p->conn));
    prefetch(&p->record->meter.video, sizeof(uint64_t));
    if (next->next != todo) {
        prefetch(LIST_ITEM(next->next, struct live_player, link), sizeof(*p));
    }
}

static void
serve_stream(struct hub_stream *hs, unsigned *budget)
{
    struct list todo;

    list_init(&todo);
    list_splice(&todo, &hs->behind);
    while (!list_empty(&todo) && *budget > 0) {
        struct live_player *p = LIST_ITEM(todo.next, struct live_player, link);

        list_remove(&p->link);
        fetch_ahead(&todo);
        (*budget)--;
        player_file(p, player_step(p));
        make_room();
    }
    list_splice(&hs->behind, &todo);
}

bool
pass_serve(void)
{
    unsigned budget = PASS_BUDGET;
    struct list todo;

    list_init(&todo);
    list_splice(&todo, &hub.active);
    hub.pass.running = true;
    hub.pass.used = 0;
    while (!list_empty(&todo) && budget > 0) {
        struct hub_stream *hs = LIST_ITEM(todo.next, struct hub_stream, active);

        list_remove(&hs->active);
        serve_stream(hs, &budget);
        if (!list_empty(&hs->behind)) {
            hub_activate(hs);
        }
    }
    pass_flush();
    hub.pass.running = false;
    list_splice(&hub.active, &todo);
    return !list_empty(&hub.active);
}

/* ---- life ---- */

void
pass_start(bool io_uring)
{
    struct errmsg err;

    list_init(&hub.pass.lost);
    if (!io_uring) {
        return;
    }
    hub.pass.ring = send_ring_open(&err);
    if (hub.pass.ring == NULL) {
        log_info("live: %s: players are sent to one by one", err.text);
    }
}

void
pass_stop(void)
{
    send_ring_close(&hub.pass.ring);
}
