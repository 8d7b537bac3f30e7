/*
 * The life of a role process.
 *
 * A role that reads or writes the arena starts a hub of its own, which then
 * owns the loop's hooks; until then the turns that the watchdog looks at are
 * counted here.  Its slot shows the connections that workers gave to it: where
 * weir drains, the master waits for them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/child/role.h"

#include <stdlib.h>

#include "app/child/confine.h"
#include "app/child/process.h"
#include "app/metrics/metrics.h"
#include "app/store_role.h"
#include "base/clock.h"
#include "net/conn_move.h"
#include "proc/bus.h"
#include "proc/slot.h"

struct life {
    struct process process;
    const struct role *role;
};

static bool
before_sleep(void *arg)
{
    struct slot *self = arg;

    atomic_fetch_add_explicit(&self->turns, 1, memory_order_relaxed);
    atomic_store_explicit(&self->turn_began_ms, 0, memory_order_relaxed);
    return false;
}

static void
after_wake(void *arg)
{
    struct slot *self = arg;

    atomic_store_explicit(&self->turn_began_ms, clock_ms(),
                          memory_order_relaxed);
}

static void
on_drain(void *arg)
{
    const struct life *life = arg;

    slot_say(SLOT_DRAINING);
    if (life->role->drain != NULL) {
        life->role->drain();
    }
}

static void
on_stop(void *arg)
{
    struct life *life = arg;

    loop_stop(life->process.loop);
}

static void
on_settings(void *arg, struct bus_message *m)
{
    const struct life *life = arg;

    life->role->configure(str_of(m->data, m->len));
}

static void
show_connections(size_t now)
{
    atomic_store_explicit(&slot_at(slot_self())->connections, now,
                          memory_order_relaxed);
}

static int
start(struct life *life, const struct settings *s, struct errmsg *err)
{
    static const struct loop_hooks hooks = {
        .before_sleep = before_sleep,
        .after_wake = after_wake,
    };

    if (process_start(&life->process, s, err) == -1) {
        return -1;
    }
    if (life->role->configure != NULL) {
        bus_register(BUS_SETTINGS, BUS_MASTER, ROLE_SETTINGS_MAX, on_settings,
                     life);
    }
    metrics_watch_loop(life->process.loop);
    conn_on_attached(show_connections);
    loop_set_hooks(life->process.loop, &hooks, slot_at(slot_self()));
    if (life->role != store_roles &&
        store_role_connect(life->process.loop, s, NULL, err) == -1) {
        return -1;
    }
    if (life->role->start(life->process.loop, s, err) == -1) {
        return -1;
    }
    return confine_process(life->process.loop, s, life->role == store_roles,
                           err);
}

int
role_main(const struct role *r, const struct settings *s)
{
    struct life life = {
        .process = { .on_drain = on_drain, .on_stop = on_stop },
        .role = r,
    };
    struct errmsg err = { "" };
    int status = EXIT_FAILURE;

    life.process.arg = &life;
    if (start(&life, s, &err) == -1) {
        process_failed(&life.process, &err);
    } else {
        process_ready();
        loop_run(life.process.loop);
        status = EXIT_SUCCESS;
        if (r->stop != NULL) {
            r->stop();
        }
        store_close();
    }
    process_end(&life.process);
    return status;
}
