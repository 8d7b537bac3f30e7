/*
 * Accepting on one listening socket.
 *
 * A process without free descriptors cannot take a connection out of the
 * queue, and a level-triggered loop would spin on it: the acceptor rests.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/listen.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/metrics.h"

#define BATCH 64       /* connections a turn */
#define LOOK_US 1000   /* between two looks whether there are more than one */
#define EMPTY_MAX 4096 /* connections that acceptor_empty() takes */
#define REST_MS 100    /* without free descriptors */
#define SAY_MS 60000   /* between two log lines about it */

struct acceptor {
    struct io io;
    struct timer rest;
    struct later destroy;
    struct loop *loop; /* borrowed */
    accept_handler *handler;
    void *arg;
    struct addr bound;
    int64_t looked_us; /* when it was told that there are no more */
    bool paused, resting, stopped;
};

/* When this process last said that it has no descriptors; 0: never. */
static int64_t said_ms;

static void
watch(struct acceptor *a)
{
    io_want(a->loop, &a->io, a->paused || a->resting ? 0 : IO_READ);
}

static void
on_rested(struct timer *t)
{
    struct acceptor *a = LIST_ITEM(t, struct acceptor, rest);

    a->resting = false;
    watch(a);
}

static void
rest(struct acceptor *a)
{
    int why = errno;
    int64_t now = clock_ms();

    if (said_ms == 0 || now - said_ms >= SAY_MS) {
        said_ms = now;
        log_error("cannot accept connections: %s; trying again every %d ms",
                  strerror(why), REST_MS);
    }
    metric_add(&net_metrics[NET_PAUSES], NET_PAUSE_DESCRIPTORS, 1);
    a->resting = true;
    timer_set(a->loop, &a->rest, REST_MS);
    watch(a);
}

static void
local_address(int fd, struct addr *out)
{
    struct sockaddr_storage ss = { .ss_family = AF_UNSPEC };
    socklen_t len = sizeof(ss);

    getsockname(fd, (struct sockaddr *)&ss, &len);
    addr_from_socket(out, &ss);
}

static void
hand_over(struct acceptor *a, int fd, const struct sockaddr_storage *from)
{
    struct conn_socket socket = { .fd = fd,
                                  .local = a->bound,
                                  .prepared = true };

    if (addr_is_any(&a->bound)) {
        local_address(fd, &socket.local);
    }
    addr_from_socket(&socket.peer, from);
    a->handler(a->arg, &socket);
}

static bool
is_shortage(int why)
{
    return why == EMFILE || why == ENFILE || why == ENOBUFS || why == ENOMEM;
}

/* Takes one connection; false when there is nothing more to take now. */
static bool
take_one(struct acceptor *a)
{
    struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
    socklen_t len = sizeof(from);
    int fd = accept4(a->io.fd, (struct sockaddr *)&from, &len,
                     SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd != -1) {
        hand_over(a, fd, &from);
        return true;
    }
    if (errno == EAGAIN) {
        return false;
    }
    metric_add(&net_metrics[NET_ACCEPT_ERRORS], net_errno_at(errno), 1);
    if (is_shortage(errno)) {
        rest(a);
        return false;
    }
    return true; /* that one connection failed (accept(2)) */
}

/* To be told that there are no more costs as much as to get one: so that is
 * asked now and then, and a turn in between takes the one that is there. */
static void
on_ready(struct io *io, unsigned ready)
{
    struct acceptor *a = LIST_ITEM(io, struct acceptor, io);
    int64_t now = loop_now_us(a->loop);
    int most = now - a->looked_us < LOOK_US ? 1 : BATCH;

    (void)ready;
    for (int i = 0; i < most && !a->paused && !a->stopped; i++) {
        if (!take_one(a)) {
            a->looked_us = now;
            break;
        }
    }
}

static void
destroy(struct later *later)
{
    struct acceptor *a = LIST_ITEM(later, struct acceptor, destroy);

    mem_free(&a);
}

struct acceptor *
acceptor_start(struct loop *l, int fd, accept_handler *handler, void *arg)
{
    struct acceptor *a = mem_zero(sizeof(*a));

    io_init(&a->io);
    timer_init(&a->rest, on_rested);
    later_init(&a->destroy, destroy);
    a->loop = l;
    a->handler = handler;
    a->arg = arg;
    local_address(fd, &a->bound);
    if (io_start(l, &a->io, fd, IO_READ, on_ready) == -1) {
        mem_free(&a);
    }
    return a;
}

void
acceptor_empty(struct acceptor *a)
{
    for (int i = 0; i < EMPTY_MAX && take_one(a); i++) {
    }
}

void
acceptor_pause(struct acceptor *a, bool pause)
{
    a->paused = pause;
    watch(a);
}

void
acceptor_stop(struct acceptor **a)
{
    if (*a == NULL) {
        return;
    }
    (*a)->stopped = true;
    io_stop((*a)->loop, &(*a)->io);
    timer_stop((*a)->loop, &(*a)->rest);
    loop_later((*a)->loop, &(*a)->destroy);
    *a = NULL;
}
