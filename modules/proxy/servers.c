/*
 * The cards are the master's, the rest is everybody's.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "servers.h"

#include <stdatomic.h>
#include <string.h>

#include "proc/shared.h"
#include "proc/slot.h"

/* The most that a process can claim to have open. */
#define OPEN_MOST (1 << 24)
/* How far apart the times are that processes have at one moment: each has that
 * of the start of its turn. */
#define APART_MS 5000

/* In memory that the master alone writes. */
struct card {
    _Atomic uint32_t incarnation; /* 0: free; grows with each use */
    _Atomic uint32_t generation;  /* the last that has it */
    _Atomic bool drained;
    _Atomic int64_t weight;
    char upstream[SERVERS_UPSTREAM_MAX], name[SERVERS_NAME_MAX];
};

struct cards {
    _Atomic uint32_t end;
    struct card items[SERVERS_MAX];
};

struct state {
    _Alignas(64) _Atomic uint32_t fails;
    _Atomic int64_t window_ms; /* the first of these fails */
    _Atomic int64_t until_ms;  /* it is shut; 0: open */
    _Atomic int64_t back_ms;
    _Atomic uint32_t check; /* enum server_check */
    _Atomic int64_t checked_ms;
    _Atomic int64_t check_until_ms; /* so long it counts */
    _Atomic uint64_t checker;
    char why[SERVERS_WHY_MAX];
};

/* Counts of a server by some of the processes: so that not all of them write
 * to one line of the cache. */
struct row {
    _Alignas(64) _Atomic int64_t counts[SERVER_COUNTS];
};

#define ROWS 8 /* of a server */

/* Then come the numbers of now, by kind, place and slot. */
struct shared {
    struct state states[SERVERS_MAX];
    struct row rows[SERVERS_MAX][ROWS];
};

static struct cards *cards;
static struct shared *shared;
static _Atomic int32_t *gauges; /* in shared */
static uint32_t slots;

const int64_t server_bounds[SERVER_BOUNDS] = { 1,   2,   5,    10,   25,   50,
                                               100, 250, 1000, 5000, 30000 };

_Static_assert(SERVER_WITHIN + SERVER_BOUNDS < SERVER_COUNTS, "room for all");

/* ---- the memory ---- */

int
servers_create(struct errmsg *err)
{
    if (cards != NULL) {
        return 0; /* it outlives a master that is made again (tests) */
    }
    slots = slots_count();

    size_t size =
        sizeof(*shared) + sizeof(*gauges) * SERVER_GAUGES * SERVERS_MAX * slots;

    cards = shared_create("server cards", sizeof(*cards), SHARED_MASTER, err);
    shared = shared_create("servers", size, SHARED_ALL, err);
    if (cards == NULL || shared == NULL) {
        shared_destroy(cards);
        shared_destroy(shared);
        cards = NULL;
        shared = NULL;
        return -1;
    }
    gauges = (_Atomic int32_t *)(void *)(shared + 1);
    return 0;
}

static bool
is_place(int place)
{
    return cards != NULL && place >= 0 && place < SERVERS_MAX;
}

static _Atomic int32_t *
gauge_of(unsigned which, int place, uint32_t slot)
{
    return &gauges[((size_t)which * SERVERS_MAX + (size_t)place) * slots +
                   slot];
}

int
servers_end(void)
{
    return cards != NULL ? (int)atomic_load(&cards->end) : 0;
}

static void
empty_gauges(int place, uint32_t slot)
{
    for (unsigned g = 0; g < SERVER_GAUGES; g++) {
        _Atomic int32_t *gauge = gauge_of(g, place, slot);

        if (atomic_load(gauge) != 0) { /* else its page is not touched */
            atomic_store(gauge, 0);
        }
    }
}

void
servers_sweep(uint32_t slot)
{
    for (int i = 0; slot < slots && i < servers_end(); i++) {
        empty_gauges(i, slot);
    }
}

/* ---- places ---- */

static bool
is_taken(int place)
{
    return is_place(place) && atomic_load(&cards->items[place].incarnation) > 0;
}

struct str
servers_upstream(int place)
{
    return is_taken(place) ? str_from(cards->items[place].upstream) : STR_NONE;
}

struct str
servers_name(int place)
{
    return is_taken(place) ? str_from(cards->items[place].name) : STR_NONE;
}

uint32_t
servers_incarnation(int place)
{
    return is_place(place) ? atomic_load(&cards->items[place].incarnation) : 0;
}

int
servers_find(struct str upstream, struct str server)
{
    for (int i = 0; i < servers_end(); i++) {
        if (str_eq(servers_name(i), server) &&
            str_eq(servers_upstream(i), upstream)) {
            return i;
        }
    }
    return -1;
}

/* The oldest generation that has workers, or whose workers start. */
static uint32_t
oldest_generation(uint32_t newest)
{
    uint32_t oldest = newest;

    for (uint32_t i = 1; i < slots_end(); i++) {
        const struct slot_card *card = slot_card(i);

        if (atomic_load(&card->kind) == SLOT_WORKER) {
            uint32_t g = atomic_load(&card->generation);

            oldest = g < oldest ? g : oldest;
        }
    }
    return oldest;
}

bool
servers_is_used(int place)
{
    return is_taken(place) && atomic_load(&cards->items[place].generation) >=
                                  oldest_generation(UINT32_MAX);
}

/* A place that nobody uses; -1: there is none. */
static int
free_place(uint32_t generation)
{
    int end = servers_end();
    uint32_t oldest;

    if (end < SERVERS_MAX) {
        return end;
    }
    oldest = oldest_generation(generation);
    for (int i = 0; i < end; i++) {
        if (atomic_load(&cards->items[i].generation) < oldest) {
            return i;
        }
    }
    return -1;
}

/* The counts of a server that had the place before are nobody's. */
static void
empty(int place)
{
    memset((void *)&shared->states[place], 0, sizeof(shared->states[place]));
    memset((void *)shared->rows[place], 0, sizeof(shared->rows[place]));
    for (uint32_t i = 0; i < slots_end() && i < slots; i++) {
        empty_gauges(place, i);
    }
}

int
servers_learn(struct str upstream, struct str server, uint32_t generation)
{
    int place = servers_find(upstream, server);
    struct card *card;

    if (place == -1 && cards != NULL && upstream.len < SERVERS_UPSTREAM_MAX &&
        server.len < SERVERS_NAME_MAX) {
        place = free_place(generation);
        if (place == -1) {
            return -1;
        }
        card = &cards->items[place];
        empty(place);
        str_copy(card->upstream, sizeof(card->upstream), upstream);
        str_copy(card->name, sizeof(card->name), server);
        atomic_store(&card->drained, false);
        atomic_store(&card->weight, 0);
        atomic_fetch_add(&card->incarnation, 1);
        if ((uint32_t)place >= atomic_load(&cards->end)) {
            atomic_store(&cards->end, (uint32_t)place + 1);
        }
    }
    if (place != -1) {
        atomic_store(&cards->items[place].generation, generation);
    }
    return place;
}

/* ---- the operator ---- */

static void
is_back(int place, int64_t now)
{
    atomic_store(&shared->states[place].back_ms, now);
}

void
servers_set_drained(int place, bool drained, int64_t now)
{
    if (is_taken(place) && servers_is_drained(place) != drained) {
        atomic_store(&cards->items[place].drained, drained);
        if (!drained) {
            is_back(place, now);
        }
    }
}

void
servers_set_weight(int place, int64_t weight)
{
    if (is_taken(place)) {
        atomic_store(&cards->items[place].weight, weight);
    }
}

bool
servers_is_drained(int place)
{
    return is_taken(place) && atomic_load(&cards->items[place].drained);
}

int64_t
servers_weight(int place)
{
    return is_taken(place) ? atomic_load(&cards->items[place].weight) : 0;
}

/* ---- fails ---- */

/* Until when it is shut.  A time that no timeout explains is nobody's. */
static int64_t
shut_until(const struct state *s, int64_t now)
{
    int64_t until = atomic_load(&s->until_ms);

    return until < 0 || until > now + SERVERS_TIMEOUT_MAX ? 0 : until;
}

enum server_gate
servers_gate(int place, int64_t now)
{
    int64_t until =
        is_place(place) ? shut_until(&shared->states[place], now) : 0;

    if (until == 0) {
        return SERVER_OPEN;
    }
    return until > now ? SERVER_SHUT : SERVER_TRIAL;
}

bool
servers_try(int place, const struct server_rules *rules, int64_t now)
{
    struct state *s = &shared->states[place];
    int64_t until = shut_until(s, now);

    return until != 0 && until <= now &&
           atomic_compare_exchange_strong(&s->until_ms, &until,
                                          now + rules->fail_timeout);
}

static void
tell_why(struct state *s, struct str why)
{
    str_copy(s->why, sizeof(s->why), why);
}

/* How many there are within the time, with this one. */
static uint32_t
add_fail(struct state *s, int64_t fail_timeout, int64_t now)
{
    int64_t window = atomic_load(&s->window_ms);

    if (window < 0 || window > now + APART_MS || now - window > fail_timeout) {
        atomic_store(&s->window_ms, now);
        atomic_store(&s->fails, 0);
    }
    uint32_t before = atomic_fetch_add(&s->fails, 1);

    return before < UINT32_MAX ? before + 1 : before;
}

bool
servers_fail(int place, const struct server_rules *rules, int64_t now,
             struct str why)
{
    struct state *s;

    if (!is_place(place) || rules->max_fails == 0) {
        return false;
    }
    s = &shared->states[place];

    int64_t until = shut_until(s, now), next = now + rules->fail_timeout;
    uint32_t fails = add_fail(s, rules->fail_timeout, now);

    tell_why(s, why);
    if (until == 0 && fails < rules->max_fails) {
        return false;
    }
    int64_t was = atomic_load(&s->until_ms);

    atomic_store(&s->fails, 0);
    return atomic_compare_exchange_strong(&s->until_ms, &was, next) &&
           until == 0;
}

bool
servers_good(int place, int64_t now)
{
    struct state *s = is_place(place) ? &shared->states[place] : NULL;
    int64_t until = s != NULL ? atomic_load(&s->until_ms) : 0;

    if (until == 0) {
        return false;
    }
    atomic_store(&s->fails, 0);
    atomic_store(&s->back_ms, now);
    return atomic_compare_exchange_strong(&s->until_ms, &until, 0);
}

/* ---- checks ---- */

enum server_check
servers_check(int place, int64_t now)
{
    uint32_t check;
    int64_t until;

    if (!is_place(place)) {
        return SERVER_UNCHECKED;
    }
    check = atomic_load(&shared->states[place].check);
    until = atomic_load(&shared->states[place].check_until_ms);
    if (until <= now || until > now + SERVERS_CHECK_MAX + APART_MS) {
        return SERVER_UNCHECKED;
    }
    return check <= SERVER_CHECKED_DOWN ? (enum server_check)check
                                        : SERVER_UNCHECKED;
}

void
servers_set_check(int place, int64_t now, const struct server_verdict *v)
{
    struct state *s;

    if (!is_place(place)) {
        return;
    }
    s = &shared->states[place];
    if (v->check == SERVER_CHECKED_UP &&
        servers_check(place, now) == SERVER_CHECKED_DOWN) {
        is_back(place, now);
    }
    if (v->why.len > 0) {
        tell_why(s, v->why);
    }
    atomic_store(&s->check, v->check);
    atomic_store(&s->check_until_ms, now + v->holds);
    atomic_store(&s->checked_ms, now);
    atomic_store(&s->checker, slot_self_owner());
}

int64_t
servers_back(int place, int64_t now)
{
    int64_t back =
        is_place(place) ? atomic_load(&shared->states[place].back_ms) : 0;

    if (back > now && back <= now + APART_MS) {
        return now;
    }
    return back < 0 || back > now ? 0 : back;
}

void
servers_story(int place, int64_t now, struct server_story *story)
{
    const struct state *s;

    memset(story, 0, sizeof(*story));
    if (!is_place(place)) {
        return;
    }
    s = &shared->states[place];
    story->checked_ms = atomic_load(&s->checked_ms);
    if (story->checked_ms < 0 || story->checked_ms > now) {
        story->checked_ms = 0;
    }
    story->checker = atomic_load(&s->checker);
    str_escape(story->why, sizeof(story->why),
               str_of(s->why, strnlen(s->why, sizeof(s->why))));
}

/* ---- numbers ---- */

static int64_t
sane(int32_t n)
{
    return n < 0 || n > OPEN_MOST ? 0 : n;
}

void
servers_gauge(int place, enum server_gauge which, int change)
{
    if (is_place(place)) {
        _Atomic int32_t *own = gauge_of(which, place, slot_self());
        uint32_t value = (uint32_t)atomic_load(own);

        /* Nobody else writes there, as long as all is well. */
        atomic_store(own, (int32_t)(value + (uint32_t)change));
    }
}

int64_t
servers_gauged(int place, enum server_gauge which)
{
    int64_t sum = 0;

    for (uint32_t i = 0; is_place(place) && i < slots_end() && i < slots; i++) {
        sum += sane(atomic_load(gauge_of(which, place, i)));
    }
    return sum;
}

void
servers_open(int place, int change)
{
    servers_gauge(place, SERVER_OPENED, change);
}

int64_t
servers_opened(int place)
{
    return servers_gauged(place, SERVER_OPENED);
}

void
servers_count(int place, unsigned which, int64_t n)
{
    if (is_place(place)) {
        atomic_fetch_add_explicit(
            &shared->rows[place][slot_self() % ROWS].counts[which], n,
            memory_order_relaxed);
    }
}

int64_t
servers_counted(int place, unsigned which)
{
    uint64_t sum = 0;

    for (unsigned i = 0; is_place(place) && i < ROWS; i++) {
        sum += (uint64_t)atomic_load_explicit(
            &shared->rows[place][i].counts[which], memory_order_relaxed);
    }
    return (int64_t)sum;
}

void
servers_observe(int place, int64_t ms)
{
    unsigned bound = 0;

    while (bound < SERVER_BOUNDS && ms > server_bounds[bound]) {
        bound++;
    }
    servers_count(place, SERVER_TIME, ms);
    servers_count(place, SERVER_WITHIN + bound, 1);
}
