/*
 * Looking at the children's loops.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/watchdog.h"

#include <signal.h>

#include "app/metrics/metrics.h"
#include "base/clock.h"
#include "base/log.h"
#include "proc/crash_dump.h"
#include "proc/slot.h"

#define LOOK_MS 50  /* between two looks */
#define WARN_MS 100 /* a turn as long as this is logged */
#define ANSWER 2    /* looks that a stuck child has to say where it is */

/* For how long c has been in one turn, as far as this watchdog has seen;
 * passed: since the last look. */
static int64_t
stuck_for(struct child *c, int64_t now, int64_t passed)
{
    const struct slot *s = slot_at(c->slot);
    uint64_t turns = atomic_load(&s->turns);
    int64_t began = atomic_load(&s->turn_began_ms);

    if (c->stopped) {
        c->stuck_ms += passed;              /* asleep or not, it does nothing */
    } else if (began <= 0 || began > now) { /* asleep, or it makes no sense */
        c->stuck_ms = 0;
    } else if (turns != c->seen_turns || c->stuck_ms == 0) {
        c->stuck_ms = now - began < passed ? now - began : passed;
        c->warned = false;
    } else {
        c->stuck_ms += passed;
    }
    c->seen_turns = turns;
    return c->stuck_ms;
}

/* Asks a stuck child where it is; whether it still has time to answer. */
static bool
waits_for_words(struct child *c)
{
    if (c->stopped || crash_dump_signal() == 0) {
        return false;
    }
    if (c->asked == 0) {
        kill(c->pid, crash_dump_signal());
    }
    return c->asked++ < ANSWER && !crash_dump_whole(c->slot);
}

/* It was asked, but goes on. */
static void
take_back(struct child *c)
{
    if (c->asked != 0) {
        c->asked = 0;
        crash_dump_forget(c->slot);
    }
}

static void
judge(const struct watchdog *w, struct child *c, int64_t stuck)
{
    char name[CHILD_NAME];

    if (stuck < w->limit) {
        take_back(c);
    } else if (waits_for_words(c)) {
        return;
    }
    if (stuck >= w->limit) {
        log_error("%s (pid %d) is %s for %lld ms and is killed",
                  child_name(c, name), (int)c->pid,
                  c->stopped ? "stopped" : "stuck", (long long)stuck);
        metric_add(&app_metrics[APP_KILLS], APP_KILL_STUCK, 1);
        c->killed = true;
        kill(c->pid, SIGKILL);
        c->stuck_ms = 0;
    } else if (stuck > WARN_MS && !c->warned) {
        log_warn("%s (pid %d) has been %s for %lld ms", child_name(c, name),
                 (int)c->pid, c->stopped ? "stopped" : "in one turn",
                 (long long)stuck);
        metric_add(&app_metrics[APP_STALLS], 0, 1);
        c->warned = true;
    }
}

static void
on_look(struct timer *t)
{
    struct watchdog *w = LIST_ITEM(t, struct watchdog, timer);
    int64_t now = clock_ms();
    int64_t passed = now - w->looked_ms;

    if (passed > 2 * LOOK_MS) {
        passed = 2 * LOOK_MS;
    }
    w->looked_ms = now;
    LIST_EACH (node, &w->children->list) {
        struct child *c = LIST_ITEM(node, struct child, link);

        if (c->pid != 0) {
            judge(w, c, stuck_for(c, now, passed));
        }
    }
    timer_set(w->children->loop, &w->timer, LOOK_MS);
}

void
watchdog_limit(struct watchdog *w, int64_t limit)
{
    timer_stop(w->children->loop, &w->timer);
    w->limit = limit;
    if (limit > 0) {
        w->looked_ms = clock_ms();
        timer_set(w->children->loop, &w->timer, LOOK_MS);
    }
}

void
watchdog_start(struct watchdog *w, struct children *c, int64_t limit)
{
    *w = (struct watchdog){ .children = c };
    timer_init(&w->timer, on_look);
    watchdog_limit(w, limit);
}

void
watchdog_stop(struct watchdog *w)
{
    timer_stop(w->children->loop, &w->timer);
}
