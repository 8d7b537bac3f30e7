/*
 * Forking, reaping and forking again.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/children.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "app/child/role.h"
#include "app/child/worker_process.h"
#include "app/master/child_end.h"
#include "app/master/crash_report.h"
#include "app/master/role_failure.h"
#include "app/metrics/metrics.h"
#include "app/metrics/process_meter.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "live/live.h"
#include "proc/bus.h"
#include "proc/census.h"
#include "proc/life.h"
#include "proc/rpc.h"
#include "proc/slot.h"

/* The last is short enough that what dies is back within 5 s. */
static const int64_t back_off[] = { 0, 100, 500, 1000, 4000 }; /* ms */
#define BACK_OFFS (sizeof(back_off) / sizeof(back_off[0]))

static unsigned
kind_of(const struct child *c)
{
    return c->role != NULL ? CHILD_ROLES : CHILD_WORKERS;
}

const char *
child_name(const struct child *c, char *dst)
{
    if (c->role == NULL) {
        snprintf(dst, CHILD_NAME, "worker %u", c->index);
    } else if (c->role->count == 1) {
        snprintf(dst, CHILD_NAME, "%.30s", c->role->name);
    } else {
        snprintf(dst, CHILD_NAME, "%.28s %u", c->role->name, c->index);
    }
    return dst;
}

/* ---- starting ---- */

static void
be_child(struct child *c)
{
    char name[CHILD_NAME];
    int status;

    c->all->calls->in_child(c->all->arg, c);
    title_set("weir: %s", child_name(c, name));
    status = c->role != NULL
                 ? role_main(c->role, c->index, c->generation->settings)
                 : worker_main(c->generation, c->index);
    exit(status);
}

static void
start_later(struct child *c)
{
    int64_t delay = back_off[c->attempt];
    bool grows = c->attempt + 1 < BACK_OFFS;
    char name[CHILD_NAME];

    child_name(c, name);
    if (grows) {
        c->attempt++;
    }
    if (delay > 0) {
        /* A role that fails is tried at that pace as long as it does. */
        log_write(c->failed && c->told_last ? LOG_DEBUG : LOG_WARN,
                  "%s starts again in %lld ms%s", name, (long long)delay,
                  child_in_crash_loop(c) ? " (crash loop)" : "");
    }
    c->told_last = !grows;
    slot_starts_again(c->slot, name, clock_ms() + delay);
    timer_set(c->all->loop, &c->again, delay);
}

static void
count_restart(const struct child *c, enum app_restart why)
{
    const struct metric *m = &app_metrics[APP_RESTARTS];

    metric_add(m, metric_at(m, c->role != NULL, why, 0), 1);
}

/* A worker takes the sockets that it accepts on, a role none. */
static pid_t
fork_with_sockets(const struct child *c)
{
    size_t count = 0;
    int *fds = c->role == NULL
                   ? generation_sockets(c->generation, c->index, &count)
                   : NULL;
    pid_t pid = life_fork(c->slot, fds, count);
    int why = errno;

    mem_free(&fds);
    errno = why;
    return pid;
}

static int
fork_child(struct child *c)
{
    char name[CHILD_NAME];
    int slot = slot_take(c->role != NULL ? SLOT_ROLE : SLOT_WORKER,
                         child_name(c, name), c->index, c->generation->number);

    if (slot == -1) {
        log_crit("cannot start %s: no free slot", name);
        return -1;
    }
    c->slot = (uint32_t)slot;
    if (c->role != NULL && !c->role->live) {
        slot_reads_no_media(c->slot);
    }
    c->pid = fork_with_sockets(c);
    if (c->pid == 0) {
        be_child(c);
    }
    if (c->pid == -1) {
        log_crit("cannot start %s: %s", name, strerror(errno));
        c->pid = 0;
        slot_release(c->slot);
        return -1;
    }
    return 0;
}

static void
start(struct child *c)
{
    char name[CHILD_NAME];

    c->ready = c->stopped = c->restarts = c->killed = false;
    c->stuck_ms = 0;
    c->asked = 0;
    c->started_ms = clock_ms();
    role_note_lack(c);
    if (fork_child(c) == -1) {
        count_restart(c, APP_RESTART_NO_FORK);
        start_later(c);
        return;
    }
    log_debug("%s has pid %d", child_name(c, name), (int)c->pid);
}

static void
on_again(struct timer *t)
{
    struct child *c = LIST_ITEM(t, struct child, again);

    if (c->pid != 0) {
        role_is_well(c);
    } else {
        start(c);
    }
}

static void
add(struct children *all, const struct generation *g, const struct role *r,
    uint32_t index)
{
    struct child *c = mem_zero(sizeof(*c));

    c->all = all;
    c->generation = g;
    c->role = r;
    c->index = index;
    c->keep = true;
    timer_init(&c->again, on_again);
    list_append(&all->list, &c->link);
    start(c);
}

void
children_start_workers(struct children *c, const struct generation *g)
{
    for (uint32_t i = 0; i < g->workers; i++) {
        add(c, g, NULL, i);
    }
}

void
children_start_role(struct children *c, const struct generation *g,
                    const struct role *r)
{
    for (uint32_t i = 0; i < r->count; i++) {
        add(c, g, r, i);
    }
}

/* ---- what they say ---- */

/* The child that sent m; NULL if it is gone by now. */
static struct child *
sender(struct children *c, const struct bus_message *m)
{
    LIST_EACH (node, &c->list) {
        struct child *child = LIST_ITEM(node, struct child, link);

        if (child->pid != 0 && slot_owner_of(child->slot) == m->from) {
            return child;
        }
    }
    return NULL;
}

/* Lets a worker accept connections. */
static void
serve(const struct child *c)
{
    char name[CHILD_NAME];

    if (c->role == NULL && c->keep && c->pid != 0 &&
        bus_send(c->slot, BUS_SERVE, NULL, 0, -1) == -1) {
        log_error("cannot tell %s to serve", child_name(c, name));
    }
}

static void
on_ready(void *arg, struct bus_message *m)
{
    struct children *c = arg;
    struct child *child = sender(c, m);

    if (child != NULL && !child->ready) {
        child->ready = true;
        if (child->role != NULL) {
            rpc_peers_changed();
            child->returned = role_judge_ready(child);
        }
        if (c->serving == child->generation) {
            serve(child);
        }
        c->calls->on_ready(c->arg, child);
    }
}

static void
on_failed(void *arg, struct bus_message *m)
{
    struct children *c = arg;
    struct child *child = sender(c, m);
    struct errmsg why;

    if (child != NULL) {
        str_copy(why.text, sizeof(why.text), str_of(m->data, m->len));
        role_fails(child, why.text);
        c->calls->on_failed(c->arg, child, why.text);
    }
}

static struct child *
find(struct children *c, pid_t pid)
{
    LIST_EACH (node, &c->list) {
        struct child *child = LIST_ITEM(node, struct child, link);

        if (child->pid == pid) {
            return child;
        }
    }
    return NULL;
}

static bool
is_ours(void *arg, pid_t pid)
{
    return find(arg, pid) != NULL;
}

void
children_init(struct children *c, struct loop *l,
              const struct child_calls *calls, void *arg)
{
    *c = (struct children){ .loop = l, .calls = calls, .arg = arg };
    list_init(&c->list);
    orphans_start(&c->orphans, l, is_ours, c);
    bus_register(BUS_READY, BUS_ANYBODY, 0, on_ready, c);
    bus_register(BUS_FAILED, BUS_ANYBODY, sizeof(struct errmsg), on_failed, c);
}

/* ---- the end of one ---- */

void
child_forget(struct child *c)
{
    timer_stop(c->all->loop, &c->again);
    list_remove(&c->link);
    mem_free(&c);
}

void
children_clear(struct children *c)
{
    orphans_stop(&c->orphans);
    LIST_EACH (node, &c->list) {
        child_forget(LIST_ITEM(node, struct child, link));
    }
}

static void
bury(struct child *c, int status)
{
    bool spoke = crash_report(c);
    char name[CHILD_NAME];

    child_end_log(c, status, spoke);
    orphans_remember(&c->all->orphans, c->pid, child_name(c, name));
    c->stopped = false;
    slot_bury(c->slot);
    live_sweep(c->slot);
    bus_sweep(c->slot);
    metric_sweep(c->slot);
    census_sweep(c->slot);
    tally_sweep(c->slot);
    c->all->calls->sweep(c->all->arg, c->slot);
    slot_release(c->slot);
    c->pid = 0;
    if (!c->keep) {
        rpc_peers_changed();
        child_forget(c);
        return;
    }
    count_restart(c, child_end_reason(c, status));
    timer_stop(c->all->loop, &c->again);
    if (c->restarts || clock_ms() - c->started_ms >= FORGIVEN_MS) {
        c->attempt = 0;
    }
    role_judge_end(c);
    start_later(c);
    rpc_peers_changed(); /* the card says when it starts again */
}

void
children_reap(struct children *c)
{
    struct rusage usage;
    int status;
    pid_t pid;

    while ((pid = wait4(-1, &status, WNOHANG | WUNTRACED | WCONTINUED,
                        &usage)) > 0) {
        struct child *child = find(c, pid);

        if (child == NULL) {
            orphans_reaped(&c->orphans, pid, status);
            continue;
        }
        if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
            child->stopped = WIFSTOPPED(status);
        } else {
            process_meter_gone(child->slot, &usage);
            bury(child, status);
            c->calls->on_gone(c->arg);
        }
    }
    orphans_look(&c->orphans);
}

/* ---- all of them ---- */

void
children_signal(struct children *c, unsigned kinds, int number)
{
    LIST_EACH (node, &c->list) {
        struct child *child = LIST_ITEM(node, struct child, link);

        if (!(kinds & kind_of(child))) {
            continue;
        }
        if (number == SIGTERM || number == SIGQUIT) {
            child->keep = false;
        }
        if (child->pid != 0) {
            kill(child->pid, number);
        } else if (!child->keep) {
            child_forget(child);
        }
    }
}

size_t
children_running(const struct children *c, unsigned kinds)
{
    size_t n = 0;

    LIST_EACH (node, &c->list) {
        const struct child *child = LIST_ITEM(node, struct child, link);

        n += child->pid != 0 && (kinds & kind_of(child));
    }
    return n;
}

bool
children_ready(const struct children *c)
{
    LIST_EACH (node, &c->list) {
        const struct child *child = LIST_ITEM(node, struct child, link);

        if (!child->ready && !child->failed) {
            return false;
        }
    }
    return true;
}

/* ---- of one generation ---- */

static bool
is_worker_of(const struct child *c, const struct generation *g)
{
    return c->role == NULL && c->generation == g;
}

void
children_serve(struct children *c, const struct generation *g)
{
    c->serving = g;
    LIST_EACH (node, &c->list) {
        const struct child *child = LIST_ITEM(node, struct child, link);

        if (is_worker_of(child, g) && child->ready) {
            serve(child);
        }
    }
}

void
children_end(struct children *c, const struct generation *g, int number)
{
    LIST_EACH (node, &c->list) {
        struct child *child = LIST_ITEM(node, struct child, link);

        if (!is_worker_of(child, g)) {
            continue;
        }
        child->keep = false;
        if (child->pid != 0) {
            kill(child->pid, number);
        } else {
            child_forget(child);
        }
    }
}

void
children_replace(struct children *c, const struct generation *g)
{
    LIST_EACH (node, &c->list) {
        struct child *child = LIST_ITEM(node, struct child, link);

        child->replaced |= is_worker_of(child, g);
    }
    children_end(c, g, SIGQUIT);
}

size_t
children_workers(const struct children *c, const struct generation *g)
{
    size_t n = 0;

    LIST_EACH (node, &c->list) {
        const struct child *child = LIST_ITEM(node, struct child, link);

        n += child->pid != 0 && is_worker_of(child, g);
    }
    return n;
}

bool
children_workers_ready(const struct children *c, const struct generation *g)
{
    LIST_EACH (node, &c->list) {
        const struct child *child = LIST_ITEM(node, struct child, link);

        if (is_worker_of(child, g) && !child->ready) {
            return false;
        }
    }
    return true;
}

size_t
children_leaving(const struct children *c)
{
    size_t n = 0;

    LIST_EACH (node, &c->list) {
        const struct child *child = LIST_ITEM(node, struct child, link);

        n += child->pid != 0 && child->replaced &&
             slot_state(child->slot) != SLOT_DRAINING;
    }
    return n;
}

uint64_t
children_connections(const struct children *c, const struct generation *g)
{
    uint64_t n = 0;

    LIST_EACH (node, &c->list) {
        const struct child *child = LIST_ITEM(node, struct child, link);

        if (is_worker_of(child, g) && child->pid != 0) {
            n += slot_connections(child->slot);
        }
    }
    return n;
}
