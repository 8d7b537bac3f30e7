/*
 * The queue of an upstream whose servers are busy: clients in turn.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "upstream_impl.h"

#define POLL_MS 10 /* how soon a queue hears of other workers */
/* Entries that are looked at in a turn: what is free, they may not have. */
#define PASSED_MAX 256

static struct upstream_use *
use_of(struct fair_entry *e)
{
    return LIST_ITEM(e, struct upstream_use, entry);
}

static struct share_want want_of(struct upstream_use *use);

/* ---- coming and going ---- */

/* It is counted at the first server. */
static void
count_waiting(struct upstream *u, int change)
{
    servers_gauge(u->servers[0].place, SERVER_WAITING, change);
}

/* It waits no more. */
static void
count_off(struct upstream_use *use)
{
    const struct share_want w = want_of(use);

    timer_stop(use->upstream->loop, &use->timeout);
    tally_leave_part(w.pool, w.part, &w.client);
    count_waiting(use->upstream, -1);
    use->waits = false;
}

void
upstream_queue_leave(struct upstream_use *use)
{
    list_remove(&use->entry.link);
    if (use->waits) {
        count_off(use);
    }
}

static void
on_timeout(struct timer *t)
{
    struct upstream_use *use = LIST_ITEM(t, struct upstream_use, timeout);

    upstream_queue_leave(use);
    use->on_chosen(use->arg, UPSTREAM_FULL);
}

/* Each exempt request is an owner of its own: none waits for another. */
void
upstream_queue_prepare(struct upstream_use *use)
{
    uint64_t one[] = { UINT64_MAX, use->upstream->exempt++ };

    fair_entry_init(&use->entry,
                    share_is_exempt(&use->client) ? one : use->client.words);
    timer_init(&use->timeout, on_timeout);
}

/* ---- room ---- */

/* The last one, if its turn comes after that of the new one.  It is told
 * later: the new one's request is being answered. */
static bool
give(void *arg, const struct tally_holder *h, bool in_use)
{
    struct upstream_use *use = arg, *last;
    struct upstream *u = use->upstream;
    struct fair_entry *e = fair_queue_last(&u->waiting);

    (void)h;
    (void)in_use;
    if (e == NULL || e->turn <= fair_queue_turn(&u->waiting, &use->entry)) {
        return false;
    }
    last = use_of(e);
    list_remove(&e->link);
    list_append(&u->given, &e->link);
    last->has_share = true;
    count_off(last);
    loop_later(u->loop, &u->serve);
    return true;
}

static struct share_want
want_of(struct upstream_use *use)
{
    return (struct share_want){
        .pool = &upstream_pools[UPSTREAM_POOL_QUEUE],
        .part = (uint64_t)use->upstream->servers[0].place + 1,
        .client = use->client,
        .size = use->upstream->settings->queue,
        .give = give,
        .arg = use
    };
}

/* Whether it is counted; the numbers of servers.h stand behind the shares. */
static bool
admit(struct upstream_use *use)
{
    const struct share_want w = want_of(use);
    enum share_answer answer = share_claim(&w);

    if (answer == SHARE_GRANTED &&
        servers_gauged(use->upstream->servers[0].place, SERVER_WAITING) <
            w.size) {
        return true;
    }
    if (answer == SHARE_GRANTED) {
        tally_leave_part(w.pool, w.part, &w.client);
    }
    use->has_share |= answer == SHARE_OVER;
    return false;
}

enum upstream_choice
upstream_queue_enter(struct upstream_use *use)
{
    struct upstream *u = use->upstream;

    if (!admit(use)) {
        return UPSTREAM_FULL;
    }
    use->waits = true;
    fair_queue_add(&u->waiting, &use->entry);
    count_waiting(u, 1);
    timer_set(u->loop, &use->timeout, u->settings->queue_timeout);
    if (!timer_is_set(&u->poll)) {
        timer_set(u->loop, &u->poll, POLL_MS);
    }
    return UPSTREAM_WAITS;
}

/* ---- serving ---- */

static void
tell_given(struct upstream *u)
{
    while (!list_empty(&u->given)) {
        struct upstream_use *use =
            LIST_ITEM(u->given.next, struct upstream_use, entry.link);

        list_remove(&use->entry.link);
        use->on_chosen(use->arg, UPSTREAM_FULL);
    }
}

/* In front of those that are there. */
static void
put_back(struct upstream *u, struct list *from)
{
    while (!list_empty(from)) {
        struct fair_entry *last =
            LIST_ITEM(from->prev, struct fair_entry, link);

        list_remove(&last->link);
        fair_queue_return(&u->waiting, last);
    }
}

/* Whether the one before, which has its share, is of the same client. */
static bool
has_share_as(const struct list *passed, const struct upstream_use *use)
{
    const struct upstream_use *before =
        LIST_ITEM(passed->prev, struct upstream_use, entry.link);

    return !list_empty(passed) && before->has_share && before->tried == 0 &&
           use->tried == 0 && fair_same_owner(&before->entry, &use->entry);
}

/* False: nothing is free for anybody behind it. */
static bool
serve(struct upstream *u, struct upstream_use *use, struct list *passed)
{
    enum upstream_choice choice = UPSTREAM_WAITS;

    if (has_share_as(passed, use)) {
        use->has_share = true;
    } else {
        choice = upstream_choose_now(use);
    }
    if (choice != UPSTREAM_WAITS) {
        fair_queue_take(&u->waiting, &use->entry);
        count_off(use);
        use->on_chosen(use->arg, choice);
    } else if (use->tried == 0 && !use->has_share) {
        return false;
    } else {
        list_remove(&use->entry.link);
        list_append(passed, &use->entry.link);
    }
    return true;
}

static void
serve_queue(struct upstream *u)
{
    struct list passed; /* what is free they may not have: others may */
    struct fair_entry *first;
    int looked = 0;

    list_init(&passed);
    while ((first = fair_queue_first(&u->waiting)) != NULL &&
           looked++ < PASSED_MAX && serve(u, use_of(first), &passed)) {
    }
    put_back(u, &passed);
    if (fair_queue_first(&u->waiting) != NULL) {
        timer_set(u->loop, &u->poll, POLL_MS);
    }
}

static void
on_serve(struct later *later)
{
    struct upstream *u = LIST_ITEM(later, struct upstream, serve);

    tell_given(u);
    serve_queue(u);
}

static void
on_poll(struct timer *t)
{
    serve_queue(LIST_ITEM(t, struct upstream, poll));
}

void
upstream_queue_wake(struct upstream *u)
{
    if (fair_queue_first(&u->waiting) != NULL) {
        loop_later(u->loop, &u->serve);
    }
}

/* ---- life ---- */

void
upstream_queue_init(struct upstream *u)
{
    fair_queue_init(&u->waiting);
    list_init(&u->given);
    timer_init(&u->poll, on_poll);
    later_init(&u->serve, on_serve);
}

void
upstream_queue_clear(struct upstream *u)
{
    timer_stop(u->loop, &u->poll);
    later_cancel(&u->serve);
}
