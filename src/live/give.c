/*
 * Sessions and streams that give way to others.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/give.h"

#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "live/metrics.h"
#include "live/player.h"
#include "live/stream.h"
#include "live/viewer.h"
#include "proc/bus.h"

#define CLAIMS_LOOKED 4096u /* of a look, */
#define FOUND_ENOUGH 64u    /* or so many of the client's */
#define STREAMS_LOOKED 256u
#define ORDERS 64u /* players that end with this turn */

#define GAVE "its place was needed for others: see weir.conf(5), limits"

struct tally_pool live_pools[] = {
    [LIVE_POOL_SESSIONS] = { .name = "live.max_sessions" },
    [LIVE_POOL_STREAMS] = { .name = "live.max_streams" },
    { .name = NULL },
};

/* A session that is to end. */
struct order {
    uint32_t n, serial;
};

static struct {
    struct live_player **players; /* by record */
    struct later later;
    struct loop *loop;
    struct order orders[ORDERS];
    size_t order_count;
    uint32_t claim, stream; /* the next looks begin here */
} give;

/* ---- players of this process ---- */

void
give_note(const struct session_record *r, struct live_player *p)
{
    if (give.players != NULL) {
        give.players[r - arena.sessions] = p;
    }
}

static void
end_player(const struct order *o)
{
    struct live_player *p =
        o->n < arena.session_count ? give.players[o->n] : NULL;

    if (p != NULL && !p->stopped && p->record->serial == o->serial) {
        metric_add(&live_metrics[LIVE_LOST], LIVE_LOST_GAVE, 1);
        player_stop(p, GAVE);
    }
}

static void
on_later(struct later *later)
{
    size_t count = give.order_count;

    (void)later;
    give.order_count = 0;
    for (size_t i = 0; i < count; i++) {
        end_player(&give.orders[i]);
    }
}

static void
on_order(void *arg, struct bus_message *m)
{
    struct order o;

    (void)arg;
    if (m->len == sizeof(o) && give.players != NULL) {
        memcpy(&o, m->data, sizeof(o));
        end_player(&o);
    }
}

/* Not at once: the session may be the one that asks. */
static bool
end_later(const struct order *o)
{
    if (give.players == NULL || give.order_count == ORDERS) {
        return false;
    }
    give.orders[give.order_count++] = *o;
    loop_later(give.loop, &give.later);
    return true;
}

void
give_start(struct loop *l)
{
    give.loop = l;
    tally_set_size(&live_pools[LIVE_POOL_SESSIONS], arena.session_count);
    tally_set_size(&live_pools[LIVE_POOL_STREAMS], arena.stream_count);
    give.players = mem_zero(arena.session_count * sizeof(struct live_player *));
    later_init(&give.later, on_later);
    bus_register(BUS_LIVE_GIVE, BUS_ANYBODY, sizeof(struct order), on_order,
                 NULL);
}

void
give_stop(void)
{
    mem_free(&give.players);
    later_cancel(&give.later);
    give.order_count = 0;
}

/* ---- choosing a session ---- */

struct choice {
    uint32_t n;
    slot_owner owner; /* 0: none was found */
    bool in_use;
    int64_t used_ms; /* clock_ms() when it was used last, or began to wait */
};

/* A viewer that came once has no use of its place any more. */
static void
judge_viewer(const struct session_record *r, struct choice *c)
{
    uint32_t lasts = atomic_load_explicit(&r->lasts, memory_order_relaxed);
    int64_t now = clock_ms();

    c->in_use = atomic_load_explicit(&r->requests, memory_order_relaxed) > 1;
    c->used_ms = shared_time(&r->until_ms, now + LIVE_VIEWER_MAX) - lasts;
}

static void
judge_player(const struct session_record *r, struct choice *c)
{
    size_t len = atomic_load_explicit(&r->name_len, memory_order_relaxed);
    struct str name = str_of(r->text, len < LIVE_NAME_MAX ? len : 0);

    c->in_use = stream_find(name) != NULL;
    c->used_ms = shared_time(&r->started_ms, clock_ms());
}

/* Whether record n is a session of that client which may give way. */
static bool
judge(uint32_t n, const struct tally_holder *h, struct choice *c)
{
    const struct session_claim *claim = &arena.claims[n];
    const struct session_record *r = &arena.sessions[n];
    struct tally_holder holder = holder_read(claim->holder);

    *c = (struct choice){ .n = n, .owner = session_owner(n) };
    if (c->owner == 0 || !share_eq(&holder, h) ||
        atomic_load(&claim->gives) != 0 ||
        atomic_load(&r->role) != SESSION_PLAYER) {
        return false;
    }
    if (slot_owner_number(c->owner) == OWNER_VIEWER) {
        judge_viewer(r, c);
    } else {
        judge_player(r, c);
    }
    return true;
}

static bool
goes_before(const struct choice *a, const struct choice *b)
{
    if (b->owner == 0 || a->in_use != b->in_use) {
        return b->owner == 0 || !a->in_use;
    }
    return a->used_ms < b->used_ms;
}

static struct choice
choose(const struct tally_holder *h, bool in_use)
{
    uint32_t end = sessions_end(), found = 0;
    struct choice best = { .owner = 0 }, here;

    for (uint32_t i = 0; i < end && i < CLAIMS_LOOKED && found < FOUND_ENOUGH;
         i++) {
        give.claim = give.claim + 1 < end ? give.claim + 1 : 0;
        if (judge(give.claim, h, &here)) {
            found++;
            if ((in_use || !here.in_use) && goes_before(&here, &best)) {
                best = here;
            }
        }
    }
    return best;
}

bool
session_give(void *arg, const struct tally_holder *h, bool in_use)
{
    struct choice c = choose(h, in_use);
    struct order o = { c.n, arena.sessions[c.n].serial };
    uint32_t slot = slot_owner_number(c.owner);

    (void)arg;
    if (c.owner == 0) {
        return false;
    }
    if (slot == OWNER_VIEWER) {
        return viewer_give(c.n, c.owner);
    }
    if (!(c.owner == slot_self_owner()
              ? end_later(&o)
              : bus_send(slot, BUS_LIVE_GIVE, &o, sizeof(o), -1) == 0)) {
        return false;
    }
    atomic_store(&arena.claims[c.n].gives, 1);
    return true;
}

/* ---- choosing a stream ---- */

/* An open one.  Records that are free are not touched: their memory is the
 * system's. */
static bool
may_give(struct stream *s, const struct tally_holder *h)
{
    struct tally_holder holder = holder_read(s->holder);

    return share_eq(&holder, h) && atomic_load(&s->writer) == 0 &&
           !stream_hold_is_over(s);
}

bool
stream_on_hold_gives(void *arg, const struct tally_holder *h, bool in_use)
{
    uint32_t count = arena.stream_count;

    (void)arg;
    for (uint32_t i = 0; i < count && i < STREAMS_LOOKED; i++) {
        struct stream *s = &arena.streams[give.stream];

        give.stream = give.stream + 1 < count ? give.stream + 1 : 0;
        if (stream_is_open(s) && may_give(s, h) &&
            (in_use || !stream_is_owed(s))) {
            stream_give(s);
            return true;
        }
    }
    return false;
}
