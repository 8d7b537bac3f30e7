/*
 * The master process, from its start to its end.
 *
 * Phases go one way: STARTING (children have not all said READY), SERVING,
 * LEAVING (QUIT: all goes on, but load balancers are told to look elsewhere),
 * DRAINING (connections may end by themselves), STOPPING (TERM, or the
 * drain took too long: children are told to end, then killed).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/state.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "app/child/confine.h"
#include "app/database_lock.h"
#include "app/master/daemonize.h"
#include "app/master/role_table.h"
#include "app/master/sd_notify.h"
#include "app/master/shared_state.h"
#include "app/master/start.h"
#include "app/master/trial.h"
#include "app/metrics/metrics.h"
#include "app/metrics/process_meter.h"
#include "app/store_role.h"
#include "base/log.h"
#include "base/mem.h"
#include "live/history.h"
#include "live/live.h"
#include "net/tls_ticket.h"
#include "proc/ancestry.h"
#include "proc/bus.h"
#include "proc/cgroup.h"
#include "proc/life.h"
#include "proc/logring.h"
#include "proc/rpc.h"
#include "proc/slot.h"

#define ROLES_LOOK_MS 20  /* while roles have connections of workers */
#define KILL_WAIT_MS 3000 /* from TERM to KILL */
#define CGROUP_MS 1000    /* for what killed starters have left */
#define BIND_TRIES 20     /* to open what is in use ... */
#define BIND_WAIT_MS 50   /* ... so long after the last one */

/* ---- listeners ---- */

static void
on_retired(struct timer *t)
{
    struct master *m = LIST_ITEM(t, struct master, retired);

    /* A reload that runs may want some of them back: look again, it may
     * fail. */
    if (generation_close_retired(m->reload.next, &m->listeners)) {
        timer_set(m->loop, t, LISTENER_RETIRES_MS);
    }
}

void
master_retire_listeners(struct master *m, const struct generation *keep)
{
    generation_retire_others(keep, &m->listeners);
    timer_set(m->loop, &m->retired, LISTENER_RETIRES_MS);
}

/* ---- phases ---- */

void
master_stop(struct master *m)
{
    if (m->phase == STOPPING) {
        return;
    }
    reload_abort(m);
    slot_say(SLOT_DRAINING);
    if (m->phase < LEAVING) { /* else it was said then */
        sd_notify_send("STOPPING=1");
    }
    m->phase = STOPPING;
    generation_close_all(&m->listeners);
    children_signal(&m->children, CHILD_WORKERS | CHILD_ROLES, SIGTERM);
    timer_set(m->loop, &m->deadline, KILL_WAIT_MS);
    if (children_running(&m->children, CHILD_WORKERS | CHILD_ROLES) == 0) {
        loop_stop(m->loop);
    }
}

/* Stops weir once no role has a connection of a worker any more. */
static void
end_roles(struct master *m)
{
    if (children_role_connections(&m->children) == 0) {
        master_stop(m);
    } else {
        timer_set(m->loop, &m->roles, ROLES_LOOK_MS);
    }
}

static void
on_roles(struct timer *t)
{
    struct master *m = LIST_ITEM(t, struct master, roles);

    if (m->phase == DRAINING) {
        end_roles(m);
    }
}

/* Acts on a change in the number of children. */
static void
look_at_children(struct master *m)
{
    size_t workers = children_running(&m->children, CHILD_WORKERS);
    size_t roles = children_running(&m->children, CHILD_ROLES);

    if (m->phase == DRAINING && workers == 0) {
        /* Roles serve workers, so they end last. */
        end_roles(m);
    } else if (m->phase == STOPPING && workers + roles == 0) {
        loop_stop(m->loop);
    }
}

static void
drain(struct master *m)
{
    if (m->phase < LEAVING) {
        reload_abort(m);
        sd_notify_send("STOPPING=1");
    }
    m->phase = DRAINING;
    slot_say(SLOT_DRAINING);
    master_retire_listeners(m, NULL);
    children_signal(&m->children, CHILD_WORKERS | CHILD_ROLES, SIGQUIT);
    timer_set(m->loop, &m->deadline, m->drain_limit);
    look_at_children(m);
}

/* The first half of a graceful stop: /readyz says 503 from now on, and who
 * connects all the same is still served. */
static void
leave(struct master *m)
{
    reload_abort(m);
    sd_notify_send("STOPPING=1");
    m->phase = LEAVING;
    slot_say(SLOT_DRAINING);
    timer_set(m->loop, &m->deadline, m->generation->settings->stop_grace);
}

void
master_drain(struct master *m, int64_t limit)
{
    if (m->phase == DRAINING || m->phase == STOPPING) {
        return;
    }
    m->drain_limit = limit;
    if (m->phase == SERVING && m->generation->settings->stop_grace > 0) {
        leave(m);
    } else { /* asked again, or nobody was served yet: no more grace */
        drain(m);
    }
}

static void
on_deadline(struct timer *t)
{
    struct master *m = LIST_ITEM(t, struct master, deadline);

    switch (m->phase) {
    case STARTING:
        start_is_late(m);
        break;
    case SERVING:
        break;
    case LEAVING:
        drain(m);
        break;
    case DRAINING:
        log_notice("connections are still open after stop_drain: closing "
                   "them");
        master_stop(m);
        break;
    case STOPPING:
        log_warn("processes do not end: killing them");
        metric_add(&app_metrics[APP_KILLS], APP_KILL_STOP,
                   (int64_t)children_running(&m->children,
                                             CHILD_WORKERS | CHILD_ROLES));
        children_signal(&m->children, CHILD_WORKERS | CHILD_ROLES, SIGKILL);
        timer_set(m->loop, &m->deadline, KILL_WAIT_MS);
        break;
    }
}

/* ---- what children say ---- */

static void
on_ready(void *arg, struct child *c)
{
    struct master *m = arg;

    reload_on_ready(m);
    start_look(m);
    if (c->returned && m->phase == SERVING) {
        log_notice("workers that know it take the place of those that do "
                   "not");
        reload_ask(m, NULL, NULL);
    }
}

static void
on_failed(void *arg, const struct child *c, const char *why)
{
    struct master *m = arg;
    char name[CHILD_NAME];

    if (c->role == NULL && m->phase == STARTING) {
        start_give_up(m, child_name(c, name), why);
        return;
    }
    if (c->role == NULL) {
        log_error("%s of generation %u cannot start: %s", child_name(c, name),
                  c->generation->number, why);
    }
    reload_on_failed(m, c, why);
    start_look(m);
}

static void
sweep(void *arg, uint32_t slot)
{
    const struct master *m = arg;

    for (size_t i = 0; m->table[i] != NULL; i++) {
        if (m->table[i]->sweep != NULL) {
            m->table[i]->sweep(slot);
        }
    }
}

static void
on_gone(void *arg)
{
    reload_on_gone(arg);
    start_look(arg);
    look_at_children(arg);
}

/* The master's descriptors are closed, and the work on its loop is not the
 * child's: the loop is left as it is, and never turns again. */
static void
in_child(void *arg, const struct child *c)
{
    const struct master *m = arg;
    const struct error_log_settings *log = &c->generation->settings->error_log;

    if (c->generation != m->generation) {
        log_set((enum log_level)log->level, (enum log_format)log->format);
    }
}

static const struct child_calls child_calls = {
    .in_child = in_child,
    .on_ready = on_ready,
    .on_failed = on_failed,
    .sweep = sweep,
    .on_gone = on_gone,
};

/* ---- signals and timers ---- */

int
master_reopen(struct errmsg *err)
{
    if (logring_reopen(err) == -1) {
        log_error("cannot reopen the logs: %s", err->text);
        return -1;
    }
    log_notice("logs are reopened");
    return 0;
}

static void
on_signal(void *arg, int number)
{
    struct master *m = arg;
    struct errmsg err;

    switch (number) {
    case SIGCHLD:
        children_reap(&m->children);
        break;
    case SIGTERM:
    case SIGINT:
        if (number == SIGTERM && m->phase < LEAVING &&
            m->generation->settings->term == STOP_GRACEFUL) {
            log_notice("signal %d: stopping gracefully", number);
            master_drain(m, m->generation->settings->stop_drain);
            break;
        }
        log_notice("signal %d: stopping", number);
        master_stop(m);
        break;
    case SIGQUIT:
        log_notice("signal %d: stopping gracefully", number);
        master_drain(m, m->generation->settings->stop_drain);
        break;
    case SIGHUP:
        reload_ask(m, NULL, NULL);
        break;
    case SIGUSR1:
        master_reopen(&err);
        break;
    case SIGWINCH: /* in the foreground: the terminal's size */
        if (m->generation->settings->daemon) {
            log_notice("signal %d: workers drain, the master stays", number);
            children_signal(&m->children, CHILD_WORKERS, SIGQUIT);
        }
        break;
    default:
        break;
    }
}

/* ---- start ---- */

static sigset_t
our_signals(void)
{
    static const int numbers[] = { SIGCHLD, SIGTERM, SIGINT,  SIGQUIT,
                                   SIGHUP,  SIGUSR1, SIGWINCH };
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigaddset(&set, numbers[i]);
    }
    return set;
}

static int
start_loop(struct master *m, struct errmsg *err)
{
    sigset_t set = our_signals();

    m->loop = loop_new(err);
    if (m->loop == NULL || bus_open(m->loop, err) == -1) {
        return -1;
    }
    rpc_open(m->loop);
    m->signals = signals_new(m->loop, &set, on_signal, m, err);
    if (m->signals == NULL) {
        return -1;
    }
    timer_init(&m->deadline, on_deadline);
    timer_init(&m->retired, on_retired);
    timer_init(&m->roles, on_roles);
    reload_init(m);
    tls_tickets_start(m->loop);
    if (live_master_start(m->loop, err) == -1) {
        return -1;
    }
    m->control = m->socket->start(m, err);
    return m->control != NULL ? 0 : -1;
}

/* For the service manager: whether anybody is served.  When each worker dies
 * as soon as it is started, a new start of all may help. */
static bool
is_well(void *arg)
{
    const struct master *m = arg;

    if (m->phase != SERVING) {
        return true;
    }
    LIST_EACH (node, &m->children.list) {
        const struct child *c = LIST_ITEM(node, struct child, link);

        if (c->role == NULL && !child_in_crash_loop(c)) {
            return true;
        }
    }
    return false;
}

/* While it is alone. */
static void
settle(void)
{
    struct errmsg err;

    if (cgroup_settle(&err) == -1) {
        log_warn("the kernel bounds no runs of programs: %s", err.text);
    }
}

static void
run(struct master *m)
{
    settle();
    title_set("weir: master");
    generation_announce(m->generation);
    metrics_in_force(m->generation);
    confine_tell(m->generation->settings);
    process_meter_start(m->loop);
    children_init(&m->children, m->loop, &child_calls, m);
    start_children(m);
    listener_watch_start(&m->listener_watch, m->loop, &m->listeners);
    history_start(m->loop, metrics_wire_bytes);
    sd_notify_watchdog_start(m->loop, is_well, m);
    loop_run(m->loop);
    sd_notify_watchdog_stop();
    history_stop();
    listener_watch_stop(&m->listener_watch);
    watchdog_stop(&m->watchdog);
    process_meter_stop();
    timer_stop(m->loop, &m->deadline);
    timer_stop(m->loop, &m->retired);
    timer_stop(m->loop, &m->roles);
    m->socket->stop(&m->control);
    tls_tickets_stop(m->loop);
    live_master_stop();
    reload_clear(m);
    children_clear(&m->children);
    cgroup_sweep(CGROUP_MS);
    log_notice("stopped");
}

static void
end_loop(struct master *m)
{
    if (m->loop == NULL) {
        return;
    }
    m->socket->stop(&m->control); /* if it was not started whole */
    live_master_stop();
    signals_free(&m->signals);
    rpc_close();
    bus_close();
    loop_free(&m->loop);
}

static int
open_and_listen(struct master *m, struct errmsg *err)
{
    if (generation_open(m->generation, &m->listeners, err) == -1) {
        return -1;
    }
    if (generation_listen(m->generation, err) == -1) {
        int why = errno;

        generation_close_all(&m->listeners);
        errno = why;
        return -1;
    }
    shared_state_learn(m->generation, m->table);
    generation_keep_listeners(m->generation);
    return 0;
}

/* As -t does: which line wants the address, and who has it. */
static void
name_holder(const struct settings *s, struct errmsg *err)
{
    pid_t nobody = -1;
    char *mistakes = NULL;

    if (trial_open(s, trial_ask_system, &nobody, &mistakes) == -1) {
        errmsg_set(err, "%.*s", (int)strcspn(mistakes, "\n"), mistakes);
    }
    mem_free(&mistakes);
}

/* The workers of a weir that was killed give up their addresses a moment
 * after it. */
static int
open_generation(struct master *m, struct errmsg *err)
{
    /* The first file that is opened is the error log. */
    if (logring_open(m->generation->settings->error_log.file, err) == -1) {
        return errmsg_prefix(err, "error_log: ");
    }
    if (store_role_prepare(m->generation->settings, err) == -1) {
        if (database_lock_is_taken()) {
            return -1;
        }
        log_error("%s", err->text); /* the keeper says so, too */
    }
    if (role_table_make_folders(m->table, m->generation->settings, err) == -1) {
        return -1;
    }
    for (int i = 1; open_and_listen(m, err) == -1; i++) {
        if (errno == EADDRINUSE && i == BIND_TRIES) {
            name_holder(m->generation->settings, err);
            return -1;
        }
        if (errno != EADDRINUSE) {
            return -1;
        }
        poll(NULL, 0, BIND_WAIT_MS);
    }
    return 0;
}

static int
start(struct master *m, struct errmsg *err)
{
    const struct generation *g = m->generation;
    sigset_t set = our_signals();

    if ((g->settings->daemon && daemonize(err) == -1) ||
        ancestry_adopt(err) == -1) {
        return -1;
    }
    /* A reader of the pid file may signal at once: the signal waits for the
     * loop. */
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (shared_state_create(g, m->table, err) == -1 ||
        open_generation(m, err) == -1 || shared_state_start(g, err) == -1) {
        return -1;
    }
    return start_loop(m, err);
}

int
master_run(const char *file, const struct module *const *table,
           const struct master_socket *socket)
{
    struct master m = { .table = table, .socket = socket };
    struct errmsg err = { "" };
    char *mistakes = NULL;

    list_init(&m.listeners);
    m.file = mem_dup(file, strlen(file)); /* titles overwrite arguments */
    m.generation = generation_load(1, file, &mistakes);
    if (m.generation == NULL) {
        fputs(mistakes, stderr);
        mem_free(&mistakes);
        mem_free(&m.file);
        return EXIT_WRONG;
    }
    if (start(&m, &err) == -1) {
        fprintf(stderr, "weir: %s\n", err.text);
        daemonize_tell(EXIT_NO_START, err.text);
        m.status = EXIT_NO_START;
    } else {
        run(&m);
    }
    end_loop(&m);
    generation_close_all(&m.listeners);
    shared_state_destroy();
    generation_free(&m.generation);
    mem_free(&m.file);
    return m.status;
}

int
master_signal(const char *pid_file, int number, struct errmsg *err)
{
    pid_t pid;

    if (pid_file[0] == '\0') {
        return errmsg_set(err, "the configuration has no pid file: signal the "
                               "process itself");
    }
    pid = pidfile_read(pid_file, err);
    if (pid == -1) {
        return -1;
    }
    if (kill(pid, number) == -1) {
        return errmsg_sys(err, "cannot signal process %d", (int)pid);
    }
    return 0;
}
