/*
 * The life of a role process.
 *
 * A role that reads or writes the arena has a hub, which then owns the loop's
 * hooks; for the others the turns that the watchdog looks at are counted here.
 * Its slot shows the connections that workers gave to it: the master waits for
 * them where weir drains.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/child/role.h"

#include <stdio.h>
#include <stdlib.h>

#include "app/channel_role.h"
#include "app/child/confine.h"
#include "app/child/folders.h"
#include "app/child/process.h"
#include "app/child/programs.h"
#include "app/metrics/metrics.h"
#include "app/node_name.h"
#include "app/store_role.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/conn_move.h"
#include "proc/bus.h"
#include "proc/rpc.h"
#include "proc/slot.h"
#include "proc/starter.h"

#define RELEASE_MS 1000 /* for the database to hear of given leases */
#define LEASE_ROLE 40   /* bytes of a lease's role, "relayer" */

struct life {
    struct process process;
    const struct role *role;
    struct role_process handed;
    void *state;            /* the role's */
    struct rights rights;   /* owned; cleared when it is in the sandbox */
    struct buf description; /* owned; handed.description */
    char node[LEASE_NODE_MAX + 1];
    bool hub;    /* started */
    bool lease;  /* started */
    bool ended;  /* state is gone */
    bool failed; /* its starter has ended */
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
    if (life->role->drain != NULL && !life->ended) {
        life->role->drain(life->state);
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

    if (!life->ended) {
        life->role->configure(life->state, str_of(m->data, m->len));
    }
}

static void
show_connections(size_t now)
{
    struct slot *self = slot_at(slot_self());

    atomic_store_explicit(&self->connections, now, memory_order_relaxed);
    atomic_store_explicit(&self->attached, now, memory_order_relaxed);
}

/* ---- what it is handed ---- */

static bool
lists(const struct module *m, const struct role *r)
{
    for (const struct role *o = m->roles; o != NULL && o->name != NULL; o++) {
        if (o == r) {
            return true;
        }
    }
    return false;
}

const void *
role_settings(const struct role *r, const struct settings *s)
{
    for (size_t i = 0; modules[i] != NULL; i++) {
        if (lists(modules[i], r)) {
            return settings_of_module(s, modules[i]);
        }
    }
    return r == store_roles || r == channel_roles ? s : NULL;
}

static void
describe(struct life *life, const struct settings *s)
{
    const struct role *r = life->role;

    buf_init(&life->description, ROLE_SETTINGS_MAX);
    if (r->describe != NULL) {
        r->describe(s, &life->description);
    }
    life->handed.loop = life->process.loop;
    life->handed.description = buf_str(&life->description);
    life->handed.node = node_name(s, life->node);
}

/* ---- its process ---- */

static void
on_starter_gone(void *arg)
{
    struct life *life = arg;

    if (life->ended) {
        return;
    }
    log_error("the starter of this role's programs has ended");
    life->failed = true;
    loop_stop(life->process.loop);
}

/* The starter is forked while the role has its privileges, and nothing else. */
static int
start_process(struct life *life, const struct settings *s, struct errmsg *err)
{
    const struct role *r = life->role;
    struct role_process *handed = &life->handed;

    handed->settings = role_settings(r, s);
    if (r->may != NULL) {
        r->may(handed->settings, &life->rights);
    }
    if (life->rights.programs.count > 0) {
        handed->starter = programs_start(r->name, &life->rights, s, err);
        if (handed->starter == NULL) {
            return -1;
        }
    }
    if (confine_hold(s, &life->rights, err) == -1 ||
        process_start(&life->process, s, err) == -1) {
        return -1;
    }
    return handed->starter == NULL
               ? 0
               : starter_open(handed->starter, life->process.loop,
                              on_starter_gone, life, err);
}

/* ---- what it needs ---- */

static void
start_leases(struct life *life, const struct settings *s)
{
    const struct role *r = life->role;
    char place[LEASE_NODE_MAX + 1], role[LEASE_ROLE];
    int n = snprintf(role, sizeof(role), r->count == 1 ? "%.20s" : "%.20s %u",
                     r->name, life->handed.index);
    const struct lease_options o = {
        .shared = s->store.backend != STORE_SQLITE,
        .node = life->handed.node,
        .place = node_place(s, place),
        .role = str_of(role, (size_t)n),
        .expiry = s->store.node_expiry,
    };

    lease_start(life->process.loop, &o);
    life->lease = true;
}

/* Other nodes may begin. */
static void
give_leases_back(struct loop *l)
{
    int64_t end = loop_now(l) + RELEASE_MS;

    lease_stop();
    while (!lease_is_stopped() && loop_now(l) < end) {
        loop_turn(l, 20);
    }
    lease_end();
}

/* The counter of its loop's turns, the store, the hub, the leases. */
static int
start_parts(struct life *life, const struct settings *s, struct errmsg *err)
{
    static const struct loop_hooks hooks = {
        .before_sleep = before_sleep,
        .after_wake = after_wake,
    };
    struct loop *l = life->process.loop;

    metrics_watch_loop(l);
    conn_on_attached(show_connections);
    loop_set_hooks(l, &hooks, slot_at(slot_self()));
    if (!life->role->first && store_role_connect(l, s, NULL, err) == -1) {
        return -1;
    }
    if (life->role->live) {
        if (live_hub_start(l, &s->live, err) == -1) {
            return -1;
        }
        life->hub = true;
    }
    if (life->role->lease) {
        start_leases(life, s);
    }
    return 0;
}

static void
stop(struct life *life)
{
    if (life->role->stop != NULL) {
        life->role->stop(life->state);
    }
    life->ended = true;
    starter_free(&life->handed.starter);
    rpc_stop_serving();
    if (life->lease) {
        give_leases_back(life->process.loop);
    }
    if (life->hub) {
        live_hub_stop();
    }
    store_close();
}

/* ---- life ---- */

static int
start(struct life *life, const struct settings *s, struct errmsg *err)
{
    const struct role *r = life->role;

    if (start_process(life, s, err) == -1) {
        return -1;
    }
    describe(life, s);
    if (r->configure != NULL) {
        bus_register(BUS_SETTINGS, BUS_MASTER, ROLE_SETTINGS_MAX, on_settings,
                     life);
    }
    if (folders_check(&life->rights, true, err) == -1 ||
        (r->check != NULL && r->check(life->handed.settings, err) == -1) ||
        start_parts(life, s, err) == -1 ||
        r->start(&life->handed, &life->state, err) == -1) {
        return -1;
    }
    return confine_process(life->process.loop, s, &life->rights, err);
}

int
role_main(const struct role *r, unsigned index, const struct settings *s)
{
    struct life life = {
        .process = { .on_drain = on_drain, .on_stop = on_stop },
        .role = r,
        .handed.index = index,
    };
    struct errmsg err = { "" };
    int status = EXIT_FAILURE;

    life.process.arg = &life;
    if (start(&life, s, &err) == -1) {
        process_failed(&life.process, &err);
    } else {
        process_ready();
        loop_run(life.process.loop);
        status = life.failed ? EXIT_FAILURE : EXIT_SUCCESS;
        stop(&life);
    }
    starter_free(&life.handed.starter);
    process_end(&life.process);
    rights_clear(&life.rights);
    buf_clear(&life.description);
    return status;
}
