/*
 * The life of a worker process.
 *
 * How many connections are open is asked of HTTP and RTMP, which know; a
 * slow timer shows it to the others, a quick one waits for the number to
 * fall while the worker is full or drains.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/worker.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/admission.h"
#include "app/http_service.h"
#include "app/process.h"
#include "app/rtmp_service.h"
#include "base/log.h"
#include "live/live.h"
#include "proc/slot.h"

#define SLOW_LOOK_MS 1000
#define QUICK_LOOK_MS 20
#define THREADS 2 /* for files that are not in memory */
#define THREAD_QUEUE 1024
#define SHED_PARTS 10 /* nine of so many parts in use: idle ones go */
#define SHED_MOST 32  /* at a time */
#define LAST_TURNS 3  /* for what the closing of connections deferred */

/* A socket that this worker accepts on. */
struct door {
    struct serving *serving; /* borrowed */
    const struct binding *binding;
    bool rtmp;                 /* else HTTP */
    struct acceptor *acceptor; /* owned */
    int fd;                    /* owned: our copy of the listener's */
};

struct serving {
    struct worker w;
    struct process process;
    struct http_service *http; /* owned */
    bool hub, rtmp;            /* started */
    struct door *doors;        /* in the pool */
    size_t door_count;
    bool full;     /* at worker_connections: accepts nothing */
    bool draining; /* told to end with its last connection */
    struct timer look;
};

static size_t
connections(void)
{
    return http_connections() + rtmp_sessions();
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

/* Makes room before it is needed: who waits for a next request that may never
 * come goes before somebody is kept waiting outside. */
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
    size_t open = connections();

    atomic_store_explicit(&slot_at(slot_self())->connections, open,
                          memory_order_relaxed);
    if (s->draining) {
        return;
    }
    shed_idle(open, limit);
    if (open >= limit && !s->full) {
        log_warn("worker_connections (%zu) are in use: no more are accepted "
                 "for now",
                 limit);
        pause_doors(s, true);
        timer_set(s->w.loop, &s->look, QUICK_LOOK_MS);
    } else if (open < limit && s->full) {
        pause_doors(s, false);
    }
}

static void
on_accept(void *arg, const struct conn_socket *socket)
{
    const struct door *d = arg;
    struct serving *s = d->serving;
    struct conn_socket in = *socket;

    atomic_fetch_add_explicit(&slot_at(slot_self())->accepted, 1,
                              memory_order_relaxed);
    if (!admission_allow(&in)) {
        return;
    }
    if (d->rtmp) {
        rtmp_service_accept(d->binding->server, &in);
    } else {
        http_accept(s->w.loop, http_service_server(s->http, d->binding->server),
                    &in);
    }
    look(s);
}

/* Which sockets of a listener are worker index's: every workers-th, and the
 * only one of a unix listener is everybody's. */
static bool
is_ours(const struct listener *l, unsigned socket, const struct worker *w)
{
    return l->addr.family == AF_UNIX ||
           socket % w->generation->workers == w->index;
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

/* Keeps our own copies of the sockets and closes the others: a socket that
 * the master gives up must not live on in somebody who never looks at it. */
static void
take_sockets(struct serving *s)
{
    const struct generation *g = s->w.generation;

    s->doors = pool_zero(s->w.pool, (count_sockets(g) + 1) * sizeof(*s->doors));
    for (size_t i = 0; i < g->binding_count; i++) {
        struct listener *l = g->bindings[i].listener;

        for (unsigned k = 0; k < l->count; k++) {
            if (!is_ours(l, k, &s->w)) {
                close(l->fds[k]);
                continue;
            }
            s->doors[s->door_count++] = (struct door){
                .serving = s,
                .binding = &g->bindings[i],
                .rtmp = strcmp(l->proto, "rtmp") == 0,
                .fd = l->fds[k],
            };
        }
    }
}

static int
open_doors(struct serving *s, struct errmsg *err)
{
    for (size_t i = 0; i < s->door_count; i++) {
        struct door *d = &s->doors[i];

        d->acceptor = acceptor_start(s->w.loop, d->fd, on_accept, d);
        if (d->acceptor == NULL) {
            return errmsg_sys(err, "cannot accept on %s",
                              d->binding->listener->name);
        }
    }
    return 0;
}

static void
close_doors(struct serving *s)
{
    for (size_t i = 0; i < s->door_count; i++) {
        acceptor_stop(&s->doors[i].acceptor);
        close(s->doors[i].fd);
    }
    s->door_count = 0;
}

/* ---- the end ---- */

static void
on_look(struct timer *t)
{
    struct serving *s = LIST_ITEM(t, struct serving, look);
    bool quick = s->full || s->draining;

    look(s);
    if (s->draining && connections() == 0) {
        loop_stop(s->w.loop);
        return;
    }
    timer_set(s->w.loop, &s->look, quick ? QUICK_LOOK_MS : SLOW_LOOK_MS);
}

static void
on_drain(void *arg)
{
    struct serving *s = arg;

    if (s->draining) {
        return;
    }
    s->draining = true;
    atomic_store(&slot_at(slot_self())->state, SLOT_DRAINING);
    log_info("worker %u drains: %zu connections are open", s->w.index,
             connections());
    close_doors(s);
    http_service_drain(s->http);
    timer_set(s->w.loop, &s->look, 0);
}

static void
on_stop(void *arg)
{
    struct serving *s = arg;

    loop_stop(s->w.loop);
}

/* Closes what is open and gives back what was started, in reverse. */
static void
stop(struct serving *s)
{
    close_doors(s);
    if (s->http != NULL) {
        http_stop();
    }
    if (s->rtmp) {
        rtmp_service_stop();
    }
    for (int i = 0; s->w.loop != NULL && i < LAST_TURNS; i++) {
        loop_turn(s->w.loop, 0);
    }
    http_service_stop(&s->http);
    if (s->hub) {
        live_hub_stop();
    }
    task_threads_free(&s->w.threads);
    if (s->w.loop != NULL) {
        timer_stop(s->w.loop, &s->look);
    }
    process_end(&s->process);
    pool_free(&s->w.pool);
}

/* ---- the start ---- */

static int
start_services(struct serving *s, struct errmsg *err)
{
    const struct settings *settings = s->w.generation->settings;

    if (live_hub_start(s->w.loop, &settings->live, err) == -1) {
        return -1;
    }
    s->hub = true;
    admission_start(&s->w);
    s->w.threads = task_threads_new(s->w.loop, THREADS, THREAD_QUEUE, err);
    if (s->w.threads == NULL) {
        return -1;
    }
    s->http = http_service_start(&s->w, err);
    if (s->http == NULL) {
        return -1;
    }
    rtmp_service_start(&s->w);
    s->rtmp = true;
    return 0;
}

static int
start(struct serving *s, struct errmsg *err)
{
    take_sockets(s);
    if (process_start(&s->process, s->w.generation->settings, err) == -1) {
        return -1;
    }
    s->w.loop = s->process.loop;
    if (start_services(s, err) == -1 || open_doors(s, err) == -1) {
        return -1;
    }
    timer_set(s->w.loop, &s->look, SLOW_LOOK_MS);
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
