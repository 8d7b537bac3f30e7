/*
 * Choosing, the outcome.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "upstream_impl.h"

#include "base/log.h"
#include "upstream_key.h"

#define TAKE_TRIES 4

_Static_assert(UPSTREAM_LEFT - UPSTREAM_UNREACHED == SERVER_FAILURES,
               "a count for each way to fail");

struct tally_pool upstream_pools[] = {
    [UPSTREAM_POOL_OPEN] = { .name = "upstreams.max_connections" },
    [UPSTREAM_POOL_QUEUE] = { .name = "upstreams.queue" },
    { .name = NULL },
};

/* ---- open requests by client ---- */

static struct share_want
want_of(const struct server *s, const struct upstream_use *use)
{
    return (struct share_want){ .pool = &upstream_pools[UPSTREAM_POOL_OPEN],
                                .part = (uint64_t)s->place + 1,
                                .client = use->client,
                                .size = s->settings->max_connections };
}

/* Where a server takes a bounded number. */
static void
count_open(const struct server *s, const struct upstream_use *use, bool open)
{
    const struct share_want w = want_of(s, use);

    if (w.size == 0) {
        return;
    }
    if (open) {
        tally_enter_part(w.pool, w.part, &w.client);
    } else {
        tally_leave_part(w.pool, w.part, &w.client);
    }
}

static bool
has_share(const struct server *s, const struct upstream_use *use)
{
    const struct share_want w = want_of(s, use);

    return w.size > 0 && share_is_over(&w);
}

/* ---- who may be chosen ---- */

static int64_t
weight_of(const struct server *s)
{
    int64_t set = servers_weight(s->place);

    return set > 0 && set <= SERVERS_WEIGHT_MAX ? set : s->settings->weight;
}

/* Which servers are looked at. */
struct round {
    bool backup; /* these, or the others */
    bool shut;   /* also those that fails of requests have shut */
};

/* Beside its being busy. */
static bool
may_be_asked(const struct server *s, const struct upstream_use *use,
             const struct round *round, int64_t now)
{
    return (use->tried & (UINT64_C(1) << s->seen.place)) == 0 &&
           !servers_is_drained(s->place) && !upstream_checked_down(s) &&
           (round->shut || servers_gate(s->place, now) != SERVER_SHUT);
}

static bool
is_busy(const struct server *s, int64_t open)
{
    return s->settings->max_connections > 0 &&
           open >= s->settings->max_connections;
}

/* Sets the seats of a round; whether one of them is only busy. */
static bool
set_seats(struct upstream_use *use, const struct round *round, int64_t now)
{
    struct upstream *u = use->upstream;
    bool busy = false;

    for (size_t i = 0; i < u->count; i++) {
        struct server *s = &u->servers[i];
        struct balance_seat *seat = &u->seats[i];

        seat->free = s->settings->backup == round->backup &&
                     may_be_asked(s, use, round, now);
        if (!seat->free) {
            continue;
        }
        seat->weight = balance_weight(weight_of(s), servers_back(s->place, now),
                                      s->settings->slow_start, now);
        if (u->settings->balance == UPSTREAM_LEAST ||
            s->settings->max_connections > 0) {
            seat->open = servers_opened(s->place);
        }
        if (is_busy(s, seat->open)) {
            seat->free = false;
            busy = true;
        } else if (has_share(s, use)) {
            seat->free = false;
            busy = true;
            use->has_share = true;
        }
    }
    return busy;
}

static int
pick(struct upstream *u, uint64_t key)
{
    switch ((enum upstream_balance)u->settings->balance) {
    case UPSTREAM_LEAST:
        return balance_least(u->seats, u->count);
    case UPSTREAM_HASH:
        return balance_hash(&u->ring, key, u->seats);
    case UPSTREAM_ROUND_ROBIN:
        break;
    }
    return balance_round_robin(u->seats, u->count);
}

/* Counts a request as open.  Other workers do so at the same time: whoever
 * sees that there are too many steps back.  When two step back at once, both
 * try again. */
static bool
take(const struct server *s)
{
    for (int i = 0; i < TAKE_TRIES; i++) {
        servers_open(s->place, 1);
        if (s->settings->max_connections == 0 ||
            servers_opened(s->place) <= s->settings->max_connections) {
            return true;
        }
        servers_open(s->place, -1);
    }
    return false;
}

/* A server that was shut lets one request through. */
static bool
passes_gate(const struct server *s, const struct round *round, int64_t now)
{
    return round->shut || servers_gate(s->place, now) == SERVER_OPEN ||
           servers_try(s->place, &s->rules, now);
}

static bool
take_one_of(struct upstream_use *use, const struct round *round, bool *busy)
{
    struct upstream *u = use->upstream;
    int64_t now = loop_now(u->loop);
    int i;

    *busy |= set_seats(use, round, now);
    while ((i = pick(u, use->key)) != -1) {
        struct server *s = &u->servers[i];

        u->seats[i].free = false;
        if (!take(s)) {
            *busy = true;
            continue;
        }
        if (passes_gate(s, round, now)) {
            count_open(s, use, true);
            use->server = &s->seen;
            return true;
        }
        servers_open(s->place, -1);
    }
    return false;
}

/* Those that are shut come last: a refusal would be sure, and an answer shows
 * that one is back. */
static bool
take_one(struct upstream_use *use, bool *busy)
{
    static const struct round rounds[] = {
        { .backup = false, .shut = false },
        { .backup = true, .shut = false },
        { .backup = false, .shut = true },
        { .backup = true, .shut = true },
    };

    for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
        if ((rounds[i].shut && *busy) ||
            (rounds[i].backup && !use->upstream->has_backups)) {
            continue;
        }
        if (take_one_of(use, &rounds[i], busy)) {
            return true;
        }
    }
    return false;
}

enum upstream_choice
upstream_choose_now(struct upstream_use *use)
{
    bool busy = false;

    use->has_share = false;
    if (!take_one(use, &busy)) {
        return busy ? UPSTREAM_WAITS : UPSTREAM_NONE;
    }
    const struct server *s = LIST_ITEM(use->server, struct server, seen);

    if (use->tried != 0) {
        servers_count(s->place, SERVER_RETRIES, 1);
    }
    use->tried |= UINT64_C(1) << s->seen.place;
    return UPSTREAM_CHOSEN;
}

/* ---- for the exchange ---- */

void
upstream_use_init(struct upstream_use *use, struct upstream *u,
                  struct http_request *r, upstream_chosen *on_chosen, void *arg)
{
    *use = (struct upstream_use){ .upstream = u,
                                  .on_chosen = on_chosen,
                                  .arg = arg };
    if (u->settings->balance == UPSTREAM_HASH) {
        use->key = upstream_key(u->settings->hash_key, r);
    }
    use->client = share_client(&r->client);
    upstream_queue_prepare(use);
}

/* Nothing may wait. */
static enum upstream_choice
refuse(const struct upstream_use *use)
{
    const struct share_want w = want_of(&use->upstream->servers[0], use);

    share_refused(&w, use->has_share ? SHARE_OVER : SHARE_FULL);
    return UPSTREAM_FULL;
}

enum upstream_choice
upstream_choose(struct upstream_use *use)
{
    bool first = fair_queue_first(&use->upstream->waiting) == NULL;
    enum upstream_choice choice = UPSTREAM_WAITS;

    if (first) {
        choice = upstream_choose_now(use);
    }
    if (choice == UPSTREAM_WAITS) {
        choice = use->upstream->settings->queue > 0 ? upstream_queue_enter(use)
                                                    : refuse(use);
    }
    if (choice == UPSTREAM_WAITS && !first) {
        upstream_queue_wake(
            use->upstream); /* its turn may come before others' */
    }
    return choice;
}

/* ---- outcomes ---- */

static const char *
words_of(enum upstream_outcome outcome)
{
    switch (outcome) {
    case UPSTREAM_OK:
    case UPSTREAM_LEFT:
    case UPSTREAM_OUTCOMES:
        break;
    case UPSTREAM_UNREACHED:
        return "it cannot be connected to";
    case UPSTREAM_NO_TLS:
        return "it does not speak TLS as it should";
    case UPSTREAM_TIMED_OUT:
        return "it does not answer in time";
    case UPSTREAM_BROKEN:
        return "it ended a connection too early";
    case UPSTREAM_WRONG:
        return "it sent what is no answer";
    }
    return "";
}

static void
count_fail(struct server *s, const struct upstream_result *result)
{
    const char *why =
        result->why != NULL ? result->why : words_of(result->outcome);
    const struct upstream *u = s->seen.upstream;
    int64_t now = loop_now(u->loop);

    servers_count(s->place, SERVER_FAILS + result->outcome - UPSTREAM_UNREACHED,
                  1);
    if (servers_fail(s->place, &s->rules, now, str_from(why))) {
        log_limited(LOG_WARN,
                    "upstream %.*s: server %.*s is down for %lld ms: %s",
                    STR_ARGS(upstream_name(u)), STR_ARGS(s->seen.name),
                    (long long)s->rules.fail_timeout, why);
    } else {
        log_limited(LOG_WARN, "upstream %.*s: server %.*s failed a request: %s",
                    STR_ARGS(upstream_name(u)), STR_ARGS(s->seen.name), why);
    }
}

static void
count_answer(struct server *s, const struct upstream_result *result)
{
    int status = result->status;
    unsigned class = status >= 100 && status < 600 ? (unsigned)status / 100 : 0;

    servers_count(s->place, SERVER_ANSWERS + class, 1);
    if (result->head_ms >= 0) {
        servers_observe(s->place, result->head_ms);
    }
    if (result->outcome == UPSTREAM_OK &&
        servers_good(s->place, loop_now(s->seen.upstream->loop))) {
        log_limited(LOG_NOTICE, "upstream %.*s: server %.*s is back",
                    STR_ARGS(upstream_name(s->seen.upstream)),
                    STR_ARGS(s->seen.name));
    }
}

void
upstream_give_back(struct upstream_use *use,
                   const struct upstream_result *result)
{
    struct server *s;

    if (use->server == NULL) {
        return;
    }
    s = LIST_ITEM(use->server, struct server, seen);
    use->server = NULL;
    servers_open(s->place, -1);
    count_open(s, use, false);
    count_answer(s, result);
    if (result->outcome != UPSTREAM_OK && result->outcome != UPSTREAM_LEFT) {
        count_fail(s, result);
    }
    upstream_queue_wake(use->upstream);
}

void
upstream_cancel(struct upstream_use *use)
{
    static const struct upstream_result left = { .outcome = UPSTREAM_LEFT,
                                                 .head_ms = -1 };

    if (use->upstream != NULL) {
        upstream_queue_leave(use);
        upstream_give_back(use, &left);
    }
}

/* ---- life ---- */

void
upstream_choose_clear(struct upstream *u)
{
    balance_ring_clear(&u->ring);
}

void
upstream_choose_tick(struct upstream *u)
{
    struct str names[UPSTREAM_SERVERS];
    int64_t weights[UPSTREAM_SERVERS], sum = 0;

    if (u->settings->balance != UPSTREAM_HASH) {
        return;
    }
    for (size_t i = 0; i < u->count; i++) {
        names[i] = u->servers[i].seen.name;
        weights[i] = weight_of(&u->servers[i]);
        sum = sum * 1021 % 1000000007 + weights[i];
    }
    if (u->ring.points == NULL || sum != u->ring_weights) {
        balance_ring_clear(&u->ring);
        balance_ring_init(&u->ring, names, weights, u->count);
        u->ring_weights = sum;
    }
}
