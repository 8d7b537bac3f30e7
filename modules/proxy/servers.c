/*
 * The cards are the master's, the rest is everybody's.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "servers_impl.h"

#include <string.h>

#include "proc/shared.h"
#include "proc/slot.h"

/* How far apart the times are that processes have at one moment: each has that
 * of the start of its turn. */
#define APART_MS 5000

struct servers_memory servers;

/* ---- the memory ---- */

int
servers_create(struct errmsg *err)
{
    if (servers.cards != NULL) {
        return 0; /* it outlives a master that is made again (tests) */
    }
    servers.slots = slots_count();

    size_t size = sizeof(*servers.shared) + sizeof(*servers.gauges) *
                                                SERVER_GAUGES * SERVERS_MAX *
                                                servers.slots;

    servers.cards = shared_create("server cards", sizeof(*servers.cards),
                                  SHARED_MASTER, err);
    servers.shared = shared_create("servers", size, SHARED_ALL, err);
    if (servers.cards == NULL || servers.shared == NULL) {
        shared_destroy(servers.cards);
        shared_destroy(servers.shared);
        servers.cards = NULL;
        servers.shared = NULL;
        return -1;
    }
    servers.gauges = (_Atomic int32_t *)(void *)(servers.shared + 1);
    return 0;
}

int
servers_end(void)
{
    return servers.cards != NULL ? (int)atomic_load(&servers.cards->end) : 0;
}

/* ---- places ---- */

static bool
is_taken(int place)
{
    return servers_is_place(place) &&
           atomic_load(&servers.cards->items[place].incarnation) > 0;
}

struct str
servers_upstream(int place)
{
    return is_taken(place) ? str_from(servers.cards->items[place].upstream)
                           : STR_NONE;
}

struct str
servers_name(int place)
{
    return is_taken(place) ? str_from(servers.cards->items[place].name)
                           : STR_NONE;
}

uint32_t
servers_incarnation(int place)
{
    return servers_is_place(place)
               ? atomic_load(&servers.cards->items[place].incarnation)
               : 0;
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
    return is_taken(place) &&
           atomic_load(&servers.cards->items[place].generation) >=
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
        if (atomic_load(&servers.cards->items[i].generation) < oldest) {
            return i;
        }
    }
    return -1;
}

/* The counts of a server that had the place before are nobody's. */
static void
empty(int place)
{
    memset((void *)&servers.shared->states[place], 0,
           sizeof(servers.shared->states[place]));
    memset((void *)servers.shared->rows[place], 0,
           sizeof(servers.shared->rows[place]));
    memset((void *)servers.cards->items[place].told, 0,
           sizeof(servers.cards->items[place].told));
    for (uint32_t i = 0; i < slots_end() && i < servers.slots; i++) {
        servers_empty_gauges(place, i);
    }
}

static void
allow(struct card *card, const struct server_limits *limits)
{
    atomic_store(&card->most_shut, limits->shut);
    atomic_store(&card->most_check, limits->check);
}

int
servers_learn(struct str upstream, struct str server, uint32_t generation,
              const struct server_limits *limits)
{
    int place = servers_find(upstream, server);
    struct card *card;

    if (place == -1 && servers.cards != NULL &&
        upstream.len < SERVERS_UPSTREAM_MAX && server.len < SERVERS_NAME_MAX) {
        place = free_place(generation);
        if (place == -1) {
            return -1;
        }
        card = &servers.cards->items[place];
        empty(place);
        str_copy(card->upstream, sizeof(card->upstream), upstream);
        str_copy(card->name, sizeof(card->name), server);
        atomic_store(&card->drained, false);
        atomic_store(&card->weight, 0);
        atomic_fetch_add(&card->incarnation, 1);
        if ((uint32_t)place >= atomic_load(&servers.cards->end)) {
            atomic_store(&servers.cards->end, (uint32_t)place + 1);
        }
    }
    if (place != -1) {
        atomic_store(&servers.cards->items[place].generation, generation);
        allow(&servers.cards->items[place], limits);
    }
    return place;
}

/* ---- the operator ---- */

static void
is_back(int place, int64_t now)
{
    atomic_store(&servers.shared->states[place].back_ms, now);
}

void
servers_set_drained(int place, bool drained, int64_t now)
{
    if (is_taken(place) && servers_is_drained(place) != drained) {
        atomic_store(&servers.cards->items[place].drained, drained);
        if (!drained) {
            is_back(place, now);
        }
    }
}

void
servers_set_weight(int place, int64_t weight)
{
    if (is_taken(place)) {
        atomic_store(&servers.cards->items[place].weight, weight);
    }
}

bool
servers_is_drained(int place)
{
    return is_taken(place) && atomic_load(&servers.cards->items[place].drained);
}

int64_t
servers_weight(int place)
{
    return is_taken(place) ? atomic_load(&servers.cards->items[place].weight)
                           : 0;
}

/* ---- fails ---- */

/* A time that anybody may have written: so far from now at the most, and said
 * so where a later one stands, so that it comes. */
static int64_t
until_of(_Atomic int64_t *at, int64_t now, int64_t most)
{
    int64_t told = atomic_load(at);

    if (told > now + most) {
        atomic_compare_exchange_strong(at, &told, now + most);
        return now + most;
    }
    return told < 0 ? 0 : told;
}

/* No longer than the settings of today allow: those of an older generation may
 * have said more. */
static int64_t
shut_time(int place, const struct server_rules *rules)
{
    int64_t most = atomic_load(&servers.cards->items[place].most_shut);

    return rules->fail_timeout < most ? rules->fail_timeout : most;
}

/* Until when it is shut; 0: it is open. */
static int64_t
shut_until(int place, int64_t now)
{
    int64_t most = atomic_load(&servers.cards->items[place].most_shut);

    return most == 0
               ? 0
               : until_of(&servers.shared->states[place].until_ms, now, most);
}

enum server_gate
servers_gate(int place, int64_t now)
{
    int64_t until = servers_is_place(place) ? shut_until(place, now) : 0;

    if (until == 0) {
        return SERVER_OPEN;
    }
    return until > now ? SERVER_SHUT : SERVER_TRIAL;
}

bool
servers_try(int place, const struct server_rules *rules, int64_t now)
{
    int64_t until = shut_until(place, now);

    return until != 0 && until <= now &&
           atomic_compare_exchange_strong(
               &servers.shared->states[place].until_ms, &until,
               now + shut_time(place, rules));
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

    if (!servers_is_place(place)) {
        return false;
    }
    s = &servers.shared->states[place];
    tell_why(s, why);
    if (rules->max_fails == 0) {
        return false;
    }

    int64_t until = shut_until(place, now);
    int64_t next = now + shut_time(place, rules);
    uint32_t fails = add_fail(s, rules->fail_timeout, now);

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
    int64_t until;
    struct state *s;

    if (!servers_is_place(place)) {
        return false;
    }
    s = &servers.shared->states[place];
    until = shut_until(place, now);
    if (s->why[0] != '\0') {
        tell_why(s, STR_NONE);
    }
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
    struct state *s;
    uint32_t check;

    if (!servers_is_place(place)) {
        return SERVER_UNCHECKED;
    }
    s = &servers.shared->states[place];
    check = atomic_load(&s->check);
    if (until_of(&s->check_until_ms, now,
                 atomic_load(&servers.cards->items[place].most_check)) <= now) {
        return SERVER_UNCHECKED;
    }
    return check <= SERVER_CHECKED_DOWN ? (enum server_check)check
                                        : SERVER_UNCHECKED;
}

void
servers_set_check(int place, int64_t now, const struct server_verdict *v)
{
    struct state *s;

    if (!servers_is_place(place)) {
        return;
    }
    s = &servers.shared->states[place];
    if (v->check == SERVER_CHECKED_UP &&
        servers_check(place, now) == SERVER_CHECKED_DOWN) {
        is_back(place, now);
        tell_why(s, STR_NONE);
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
    int64_t back = servers_is_place(place)
                       ? atomic_load(&servers.shared->states[place].back_ms)
                       : 0;

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
    if (!servers_is_place(place)) {
        return;
    }
    s = &servers.shared->states[place];
    story->checked_ms = atomic_load(&s->checked_ms);
    if (story->checked_ms < 0 || story->checked_ms > now) {
        story->checked_ms = 0;
    }
    story->checker = atomic_load(&s->checker);
    str_escape(story->why, sizeof(story->why),
               str_of(s->why, strnlen(s->why, sizeof(s->why))));
}
