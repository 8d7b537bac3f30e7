/*
 * The life of a worker process.
 *
 * How many connections are open is asked of TLS and the services, which know; a
 * slow timer shows it to the others, a quick one waits for the number to
 * fall while the worker is full or drains.  A pump (net/tls_pump.h) is a
 * connection, too, and has a second socket.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/child/worker_process.h"

#include <stdlib.h>
#include <unistd.h>

#include "app/child/accept.h"
#include "app/child/admission.h"
#include "app/child/confine.h"
#include "app/child/process.h"
#include "app/metrics/metrics.h"
#include "app/node_state.h"
#include "app/service/services.h"
#include "app/store_role.h"
#include "base/clock.h"
#include "base/heap.h"
#include "base/log.h"
#include "live/live.h"
#include "net/conn_move.h"
#include "net/metrics.h"
#include "net/proxy_accept.h"
#include "net/tls.h"
#include "net/tls_pump.h"
#include "proc/bus.h"
#include "proc/life.h"
#include "proc/slot.h"

#define SLOW_LOOK_MS 1000
#define QUICK_LOOK_MS 20
#define THREADS 2 /* for files that are not in memory */
#define THREAD_QUEUE 1024
#define LAST_WORDS_MS 250 /* for RTMP peers to read why they are closed */
#define SHED_PARTS 10     /* nine of so many parts in use: idle ones go */
#define SHED_MOST 32      /* at a time */
#define LAST_TURNS 3      /* for what the closing of connections deferred */

/* A socket that this worker accepts on. */
struct opening {
    struct serving *serving;   /* borrowed */
    struct door door;          /* where its connections go */
    uint16_t place;            /* of the listener, in metrics */
    struct acceptor *acceptor; /* owned */
    int fd;                    /* owned: our copy; -1: closed */
};

struct serving {
    struct worker w;
    struct process process;
    struct rights rights;  /* owned; cleared when it is in the sandbox */
    bool hub;              /* started */
    struct opening *doors; /* in the pool */
    size_t door_count;     /* 0: all are closed */
    int64_t doors_end_ms;  /* draining: clock_ms() when they are */
    bool open;             /* told to accept connections */
    bool full;             /* at worker_connections: accepts nothing */
    bool draining;         /* told to end with its last connection */
    bool ending;           /* told to stop: sessions hear the reason */
    int64_t end_ms;        /* clock_ms(): until when they may */
    struct timer look;
    struct timer heap; /* heap_look() */
};

static size_t
connections(const struct serving *s)
{
    return proxy_waiting() + tls_handshakes() + conn_attached() + tls_pumps() +
           services_connections(s->w.services);
}

/* ---- accepting ---- */

static void
pause_doors(struct serving *s, bool pause)
{
    s->full = pause;
    for (size_t i = 0; i < s->door_count; i++) {
        acceptor_pause(s->doors[i].acceptor, pause);
    }
}

/* Makes room before it is needed: it closes connections that wait for a next
 * request, which may never come, before it keeps new clients waiting. */
static void
shed_idle(size_t open, size_t limit)
{
    size_t most = limit / SHED_PARTS * (SHED_PARTS - 1);

    if (limit >= SHED_PARTS && open > most) {
        http_shed(open - most < SHED_MOST ? open - most : SHED_MOST);
    }
}

/* Looks at the number of connections after one came, or some may have gone */
static void
look(struct serving *s)
{
    size_t limit = (size_t)s->w.generation->settings->worker_connections;
    struct slot *self = slot_at(slot_self());
    size_t open = connections(s);

    atomic_store_explicit(&self->connections, open, memory_order_relaxed);
    atomic_store_explicit(&self->pumps, tls_pumps(), memory_order_relaxed);
    if (s->draining) {
        return;
    }
    open += tls_pumps(); /* sockets */
    shed_idle(open, limit);
    if (open >= limit && !s->full) {
        log_warn("worker_connections (%zu) are in use: no more are accepted "
                 "for now",
                 limit);
        metric_add(&net_metrics[NET_PAUSES], NET_PAUSE_CONNECTIONS, 1);
        pause_doors(s, true);
        timer_set(s->w.loop, &s->look, QUICK_LOOK_MS);
    } else if (open < limit && s->full) {
        pause_doors(s, false);
    }
}

static void
on_accept(void *arg, const struct conn_socket *accepted)
{
    struct opening *d = arg;
    struct serving *s = d->serving;
    struct conn_socket socket = *accepted;

    socket.listener = d->place;
    metric_add(&net_metrics[NET_ACCEPTED], d->place, 1);
    atomic_fetch_add_explicit(&slot_at(slot_self())->accepted, 1,
                              memory_order_relaxed);
    accept_connection(&d->door, &socket);
    look(s);
}

static size_t
count_sockets(const struct generation *g)
{
    size_t n = 0;

    for (size_t i = 0; i < g->binding_count; i++) {
        n += g->bindings[i].listener->count;
    }
    return n;
}

/* The sockets of other workers were closed by the fork: one that the master
 * gives up must not live on in somebody who never looks at it. */
static void
take_sockets(struct serving *s)
{
    const struct generation *g = s->w.generation;

    s->doors = pool_zero(s->w.pool, (count_sockets(g) + 1) * sizeof(*s->doors));
    for (size_t i = 0; i < g->binding_count; i++) {
        struct listener *l = g->bindings[i].listener;

        for (unsigned k = 0; k < l->count; k++) {
            if (!generation_gives(g, l, k, s->w.index)) {
                continue;
            }
            s->doors[s->door_count++] = (struct opening){
                .serving = s,
                .door = accept_door(&s->w, &g->bindings[i]),
                .place = metrics_listener(l),
                .fd = l->fds[k],
            };
        }
    }
}

static int
open_doors(struct serving *s, struct errmsg *err)
{
    for (size_t i = 0; i < s->door_count; i++) {
        struct opening *d = &s->doors[i];

        d->acceptor = acceptor_start(s->w.loop, d->fd, on_accept, d);
        if (d->acceptor == NULL) {
            return errmsg_sys(err, "cannot accept on %s",
                              d->door.binding->listener->name);
        }
    }
    return 0;
}

static void
on_serve(void *arg, struct bus_message *m)
{
    struct serving *s = arg;
    struct errmsg err;

    (void)m;
    if (s->open || s->draining || s->ending) {
        return;
    }
    s->open = true;
    if (open_doors(s, &err) == -1) {
        log_alert("%s", err.text);
        loop_stop(s->w.loop);
    }
}

static void
close_door(struct opening *d)
{
    acceptor_stop(&d->acceptor);
    if (d->fd != -1) {
        close(d->fd);
        d->fd = -1;
    }
}

static void
close_doors(struct serving *s)
{
    for (size_t i = 0; i < s->door_count; i++) {
        close_door(&s->doors[i]);
    }
    s->door_count = 0;
}

/* Nobody may look at what waits once we are gone: it is taken before. */
static void
empty_doors(struct serving *s)
{
    for (size_t i = 0; s->open && i < s->door_count; i++) {
        if (s->doors[i].acceptor != NULL) {
            acceptor_empty(s->doors[i].acceptor);
        }
    }
}

/* Sockets that live on in others are left to them at once; those that the
 * master closes are accepted on for a while. */
static void
leave_doors(struct serving *s)
{
    bool some = false;

    empty_doors(s);
    for (size_t i = 0; i < s->door_count; i++) {
        struct opening *d = &s->doors[i];

        if (d->acceptor != NULL && listener_retires(d->fd)) {
            acceptor_pause(d->acceptor, false); /* full or not */
            some = true;
        } else {
            close_door(d);
        }
    }
    s->door_count = some ? s->door_count : 0;
    s->doors_end_ms = clock_ms() + LISTENER_RETIRES_MS;
}

/* The last look before a retired listener is closed for good.  A reload is told
 * to be over when all workers that it replaces have said that they drain. */
static void
end_doors(struct serving *s)
{
    if (s->door_count > 0 && clock_ms() >= s->doors_end_ms) {
        empty_doors(s);
        close_doors(s);
    }
    if (s->door_count == 0) {
        slot_say(SLOT_DRAINING);
    }
}

/* ---- the end ---- */

/* Whether balancers are told to look elsewhere (see app/node_state.h). */
static bool
node_leaves(void)
{
    return slot_state(0) == SLOT_DRAINING || node_state() != NODE_READY;
}

static void
on_look(struct timer *t)
{
    struct serving *s = LIST_ITEM(t, struct serving, look);
    bool quick = s->full || s->draining || s->ending;

    look(s);
    log_tell_held();
    http_leave(node_leaves());
    if (s->draining) {
        end_doors(s);
    }
    if ((s->draining && s->door_count == 0 && connections(s) == 0) ||
        (s->ending && (services_connections(s->w.services) == 0 ||
                       clock_ms() >= s->end_ms))) {
        loop_stop(s->w.loop);
        return;
    }
    timer_set(s->w.loop, &s->look, quick ? QUICK_LOOK_MS : SLOW_LOOK_MS);
}

static void
on_drain(void *arg)
{
    struct serving *s = arg;

    if (s->draining || s->ending) {
        return;
    }
    s->draining = true;
    leave_doors(s);
    log_info("worker %u of generation %u drains: %zu connections are open",
             s->w.index, s->w.generation->number, connections(s));
    title_set("weir: worker %u (generation %u, draining)", s->w.index,
              s->w.generation->number);
    services_drain(s->w.services);
    timer_set(s->w.loop, &s->look, 0);
}

static const char *
why_it_ends(const struct serving *s)
{
    bool all = slot_state(0) != SLOT_READY;

    return s->draining && !all ? "weir has a newer configuration, and the time "
                                 "of sessions from before it is over"
                               : "weir stops";
}

static void
on_stop(void *arg)
{
    struct serving *s = arg;

    if (s->ending) {
        return;
    }
    s->ending = true;
    s->end_ms = clock_ms() + LAST_WORDS_MS;
    close_doors(s);
    slot_say(SLOT_DRAINING);
    services_finish(s->w.services, why_it_ends(s));
    timer_set(s->w.loop, &s->look, 0);
}

/* Closes what is open and gives back what was started, in reverse. */
static void
stop(struct serving *s)
{
    close_doors(s);
    proxy_stop();
    tls_accept_stop();
    tls_pump_stop("weir stops");
    if (s->w.services != NULL) {
        services_close(s->w.services);
    }
    for (int i = 0; s->w.loop != NULL && i < LAST_TURNS; i++) {
        loop_turn(s->w.loop, 0);
    }
    store_close();
    if (s->w.services != NULL) {
        services_stop(s->w.services);
    }
    if (s->hub) {
        live_hub_stop();
    }
    task_threads_free(&s->w.threads);
    if (s->w.loop != NULL) {
        timer_stop(s->w.loop, &s->look);
        timer_stop(s->w.loop, &s->heap);
    }
    process_end(&s->process);
    rights_clear(&s->rights);
    pool_free(&s->w.pool);
}

/* ---- the start ---- */

static void
on_heap(struct timer *t)
{
    struct serving *s = LIST_ITEM(t, struct serving, heap);

    heap_look();
    timer_set(s->w.loop, &s->heap, HEAP_LOOK_MS);
}

static int
start_services(struct serving *s, struct errmsg *err)
{
    const struct settings *settings = s->w.generation->settings;

    if (live_hub_start(s->w.loop, &settings->live, err) == -1) {
        return -1;
    }
    s->hub = true;
    tls_pump_limit((size_t)settings->worker_connections / 2);
    admission_start(&s->w);
    s->w.threads = task_threads_new(s->w.loop, THREADS, THREAD_QUEUE, err);
    if (s->w.threads == NULL ||
        store_role_connect(s->w.loop, settings, s->w.threads, err) == -1) {
        return -1;
    }
    if (services_start(&s->w, err) == -1) {
        return -1;
    }
    return confine_process(s->w.loop, settings, &s->rights, err);
}

static int
start(struct serving *s, struct errmsg *err)
{
    const struct settings *settings = s->w.generation->settings;

    take_sockets(s);
    confine_add_layers(settings, &s->rights);
    if (confine_hold(settings, &s->rights, err) == -1 ||
        process_start(&s->process, settings, err) == -1) {
        return -1;
    }
    s->w.loop = s->process.loop;
    loop_never_forks(s->w.loop); /* the sandbox says so too */
    metrics_watch_loop(s->w.loop);
    if (start_services(s, err) == -1) {
        return -1;
    }
    bus_register(BUS_SERVE, BUS_MASTER, 0, on_serve, s);
    timer_set(s->w.loop, &s->look, SLOW_LOOK_MS);
    timer_set(s->w.loop, &s->heap, HEAP_LOOK_MS);
    return 0;
}

int
worker_main(const struct generation *g, uint32_t index)
{
    struct serving s = {
        .w = { .generation = g, .index = index },
        .process = { .on_drain = on_drain, .on_stop = on_stop },
    };
    struct errmsg err = { "" };
    int status = EXIT_FAILURE;

    s.process.arg = &s;
    s.w.pool = pool_new(4096);
    timer_init(&s.look, on_look);
    timer_init(&s.heap, on_heap);
    if (start(&s, &err) == -1) {
        process_failed(&s.process, &err);
    } else {
        process_ready();
        loop_run(s.w.loop);
        status = EXIT_SUCCESS;
    }
    stop(&s);
    return status;
}
