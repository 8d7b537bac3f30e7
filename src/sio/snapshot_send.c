/*
 * Snapshots on their way: to sockets that join, and to those that fell behind.
 *
 *     its queue is full -> outdated: it gets none of what changes them
 *                              |
 *                     it has taken what waits -> it waits as those that join
 *                              |
 *                          all are there: it is told what it lacks
 *
 * A client that does not read makes no work: nothing is asked for it before it
 * has taken what waits, and it is closed when that takes connect_timeout.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio/snapshot_impl.h"

#define NO_CHANGE ((uint32_t)1 << SNAPSHOTS_MAX) /* events that change none */
#define ALL_BITS UINT32_MAX

/* ---- telling ---- */

static bool
has_it(const struct snapshots *all, const struct missed_event *e)
{
    uint64_t made_at = 0;

    for (size_t i = 0; i < all->count; i++) {
        const struct snapshot *s = &all->items[i];

        if ((e->changes == 0 || e->changes == snapshot_bit(all, s)) &&
            s->made_at > made_at) {
            made_at = s->made_at;
        }
    }
    return e->event <= made_at;
}

/* One that had joined before has had the others. */
static void
send_missed(struct snapshots *all, struct sio_socket *s, uint32_t bits)
{
    LIST_EACH (node, &all->missed.events) {
        struct missed_event *e = LIST_ITEM(node, struct missed_event, link);
        struct delivery how = { .changes = e->changes };
        uint32_t bit = e->changes != 0 ? e->changes : NO_CHANGE;

        if ((bit & bits) == 0 || has_it(all, e) || !aim_includes(&e->aim, s)) {
            continue;
        }
        if (e->position > 0 && e->position <= s->position) {
            s->position = e->position - 1;
        }
        hall_deliver(s, &e->frames, &how);
    }
}

static void
send_bits(struct sio_socket *s, uint32_t bits)
{
    struct snapshots *all = s->hall->snapshots;
    struct sio_frames f = { .count = 1 };

    for (size_t i = 0; i < all->count; i++) {
        struct snapshot *one = &all->items[i];
        struct delivery how = { .changes = snapshot_bit(all, one) };

        f.frame[0] = one->versions[one->newest].frame;
        if (f.frame[0] == NULL || (how.changes & bits) == 0) {
            continue;
        }
        snapshots_count(CHANNEL_SNAPSHOT_SHARED);
        hall_deliver(s, &f, &how);
        if (s->state != SOCKET_JOINED) {
            return;
        }
        s->last = one->versions[one->newest].number;
    }
    send_missed(all, s, bits);
}

void
snapshots_send(struct sio_socket *s)
{
    send_bits(s, ALL_BITS);
}

/* It was behind, and is told what it lacks. */
static void
tell_again(struct sio_socket *s)
{
    struct recovery *r = recovery_of(s->hall);
    uint32_t bits = s->outdated;

    list_remove(&s->behind);
    s->outdated = 0;
    s->proof = recovery_position(r) + 1;
    timer_set(snapshots_loop(s->hall->snapshots), &s->timer,
              s->hall->point->settings.connect_timeout);
    send_bits(s, bits);
}

/* ---- waiting ---- */

static bool
all_ready(const struct snapshots *all)
{
    for (size_t i = 0; i < all->count; i++) {
        if (!snapshot_is_ready(&all->items[i])) {
            return false;
        }
    }
    return true;
}

void
snapshots_tell(struct snapshots *all)
{
    while (!list_empty(&all->waiting) && all_ready(all)) {
        struct sio_socket *s =
            LIST_ITEM(all->waiting.next, struct sio_socket, in_hall);

        socket_join(s);
    }
    while (!list_empty(&all->behind) && all_ready(all)) {
        tell_again(LIST_ITEM(all->behind.next, struct sio_socket, behind));
    }
    if (!snapshots_are_waited_for(all)) {
        missed_forget(&all->missed, all->events);
    }
}

/* One more does. */
static void
wait_for_all(struct snapshots *all, struct list *list, struct list *node)
{
    if (!snapshots_are_waited_for(all)) {
        missed_forget(&all->missed,
                      all->events); /* left by sockets that gave up */
    }
    list_remove(node);
    list_append(list, node);
    for (size_t i = 0; i < all->count; i++) {
        snapshot_ask(&all->items[i]);
    }
    snapshots_tell(all);
}

void
snapshots_wait(struct sio_socket *s)
{
    struct snapshots *all = s->hall->snapshots;

    wait_for_all(all, &all->waiting, &s->in_hall);
}

/* ---- falling behind ---- */

/* A version that is not kept any more was taken by all that were sent it. */
static bool
holds_last(const struct sio_socket *s)
{
    const struct snapshots *all = s->hall->snapshots;

    for (size_t i = 0; i < all->count * SNAPSHOT_VERSIONS; i++) {
        const struct version *v =
            &all->items[i / SNAPSHOT_VERSIONS].versions[i % SNAPSHOT_VERSIONS];

        if (v->frame != NULL && v->number == s->last) {
            return session_holds(s->client->session, v->frame);
        }
    }
    return false;
}

bool
snapshots_owed(const struct sio_socket *s)
{
    return s->outdated != 0 || holds_last(s);
}

/* One that owes has its time-out already: falling behind again wins none. */
void
snapshots_outdate(struct sio_socket *s, uint32_t more)
{
    struct snapshots *all = s->hall->snapshots;
    bool owed;

    if (all == NULL || s->state != SOCKET_JOINED) {
        return;
    }
    owed = snapshots_owed(s);
    s->outdated |= more | session_drop(s->client->session, s->hall->number);
    if (s->outdated == 0) {
        return;
    }
    if (!owed) {
        timer_set(snapshots_loop(all), &s->timer,
                  s->hall->point->settings.connect_timeout);
    }
    session_await_room(s->client->session);
}

void
snapshots_catch_up(struct sio_socket *s)
{
    struct snapshots *all = s->hall->snapshots;

    if (s->outdated == 0 || s->state != SOCKET_JOINED ||
        !list_empty(&s->behind)) {
        return;
    }
    timer_set(snapshots_loop(all), &s->timer,
              s->hall->point->settings.connect_timeout);
    wait_for_all(all, &all->behind, &s->behind);
}
