/*
 * The list of those that something is kept for, and the look at all sums.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/unsent.h"

#include <assert.h>

#include "base/log.h"
#include "net/metrics.h"
#include "proc/slot.h"

#define LOOK_MS 100
/* Growth that is looked at before the next turn, as a part of the bound. */
#define MUCH 16
/* A peer that took this part of the bytes kept for it is not slow. */
#define TAKEN 8
/* The largest value of a process, so that sums do not overflow. */
#define MOST ((int64_t)1 << 50)

static struct {
    struct loop *loop; /* borrowed; NULL: there is no bound */
    struct list peers; /* struct unsent */
    struct timer timer;
    struct later later;
    int64_t max;
    size_t own, looked; /* bytes held; when it was looked at last */
    bool ready;
} all;

/* ---- the rule ---- */

static int64_t
believed(int64_t held)
{
    return held < 0 ? 0 : held < MOST ? held : MOST;
}

int64_t
unsent_part(const int64_t *held, size_t count, int64_t own, int64_t max)
{
    int64_t sum = 0, holders = 0, above = 0;

    for (size_t i = 0; i < count; i++) {
        sum += believed(held[i]);
        holders += held[i] > 0;
    }
    if (sum <= max || own <= 0 || own < sum / holders) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        above += believed(held[i]) >= sum / holders ? believed(held[i]) : 0;
    }
    return (int64_t)((double)(sum - max) * (double)own / (double)above) + 1;
}

static int64_t
part(void)
{
    int64_t held[SLOT_MAX];
    uint32_t count = slots_end();

    for (uint32_t i = 0; i < count; i++) {
        held[i] = metric_of(&net_metrics[NET_UNSENT], 0, i);
    }
    return unsent_part(held, count, (int64_t)all.own, all.max);
}

/* ---- looking ---- */

static void
cut_slowest(int64_t bytes)
{
    size_t count = 0;
    int64_t left = bytes;

    while (left > 0 && !list_empty(&all.peers)) {
        struct unsent *u = LIST_ITEM(all.peers.next, struct unsent, link);

        left -= (int64_t)u->held;
        count++;
        u->cut(u);
        assert(u->held == 0);
    }
    metric_add(&net_metrics[NET_UNSENT_CUT], 0, (int64_t)count);
    log_limited(LOG_WARN,
                "http.max_unsent (%lld bytes) is kept for clients that do not "
                "take it: %zu of the slowest are cut",
                (long long)all.max, count);
}

static void
look(void)
{
    int64_t bytes = part();

    if (bytes > 0) {
        cut_slowest(bytes);
    }
    all.looked = all.own;
    if (all.own > 0) {
        timer_set(all.loop, &all.timer, LOOK_MS);
    }
}

static void
on_timer(struct timer *timer)
{
    (void)timer;
    look();
}

static void
on_later(struct later *later)
{
    (void)later;
    look();
}

static void
prepare(void)
{
    if (!all.ready) {
        list_init(&all.peers);
        timer_init(&all.timer, on_timer);
        later_init(&all.later, on_later);
        all.ready = true;
    }
}

void
unsent_start(struct loop *l, int64_t max)
{
    prepare();
    all.loop = l;
    all.max = max;
}

void
unsent_stop(void)
{
    if (all.loop != NULL) {
        timer_stop(all.loop, &all.timer);
        later_cancel(&all.later);
        all.loop = NULL;
    }
}

/* ---- peers ---- */

void
unsent_init(struct unsent *u, void (*cut)(struct unsent *u))
{
    *u = (struct unsent){ .cut = cut };
    list_init(&u->link);
}

/* The sum is another one. */
static void
watch(void)
{
    metric_set(&net_metrics[NET_UNSENT], 0, (int64_t)all.own);
    if (all.loop == NULL || all.own == 0) {
        return;
    }
    if (all.own > all.looked + (size_t)all.max / MUCH) {
        loop_later(all.loop, &all.later);
    } else if (!timer_is_set(&all.timer)) {
        timer_set(all.loop, &all.timer, LOOK_MS);
    }
}

void
unsent_set(struct unsent *u, size_t held, uint64_t taken)
{
    if (held == 0 && u->held == 0) {
        return;
    }
    prepare();
    all.own = all.own - u->held + held;
    if (held == 0) {
        list_remove(&u->link);
    } else if (u->held == 0 || taken - u->mark > held / TAKEN) {
        u->mark = taken;
        list_remove(&u->link);
        list_append(&all.peers, &u->link);
    }
    u->held = held;
    watch();
}

size_t
unsent_own(void)
{
    return all.own;
}
