/*
 * The event loop: one epoll instance, level triggered.
 *
 * An io that is stopped is taken out of the batch that is being delivered, so
 * that neither its own freed memory nor a new io with the same descriptor
 * number can meet an event that was meant for it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "event/loop.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "event/loop_impl.h"

/* Rounds of deferred calls that loop_free() makes at most. */
#define LAST_ROUNDS 16

struct loop *
loop_new(struct errmsg *err)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);

    if (fd == -1) {
        errmsg_sys(err, "cannot make an event loop");
        return NULL;
    }
    signal(SIGPIPE, SIG_IGN);
    struct loop *l = mem_zero(sizeof(*l));

    l->epoll_fd = fd;
    l->now = clock_ms();
    list_init(&l->later);
    list_init(&l->in_turn);
    return l;
}

static void
call_first(struct list *asked)
{
    struct later *later = LIST_ITEM(asked->next, struct later, link);

    list_remove(&later->link);
    later->call(later);
}

static void
run_later(struct loop *l)
{
    struct list now;

    list_init(&now);
    list_splice(&now, &l->later);
    while (!list_empty(&now)) {
        call_first(&now);
    }
}

/* Until its share of the turn is used up. */
static void
run_in_turn(struct loop *l)
{
    if (list_empty(&l->in_turn)) {
        return;
    }
    int64_t share = loop_share();

    do {
        call_first(&l->in_turn);
    } while (!list_empty(&l->in_turn) && !loop_share_used(share));
}

void
loop_free(struct loop **l)
{
    if (*l == NULL) {
        return;
    }
    list_splice(&(*l)->later, &(*l)->in_turn);
    for (int i = 0; i < LAST_ROUNDS && !list_empty(&(*l)->later); i++) {
        run_later(*l);
    }
    timers_clear(*l);
    close((*l)->epoll_fd);
    mem_free(l);
}

void
loop_set_hooks(struct loop *l, const struct loop_hooks *h, void *arg)
{
    l->hooks = h != NULL ? *h : (struct loop_hooks){ 0 };
    l->hooks_arg = arg;
}

/* Whether this turn must not sleep; the hook takes it that it may. */
static bool
has_work(struct loop *l)
{
    bool busy =
        l->hooks.before_sleep != NULL && l->hooks.before_sleep(l->hooks_arg);

    return busy || !list_empty(&l->later) || !list_empty(&l->in_turn) ||
           l->stop;
}

/* How long this turn may sleep, as epoll_wait() wants it. */
static int
sleep_ms(const struct loop *l, int64_t now_ms, int64_t max_wait_ms)
{
    int64_t wait = timers_wait(l, now_ms);

    if (wait < 0 || (max_wait_ms >= 0 && max_wait_ms < wait)) {
        wait = max_wait_ms;
    }
    if (wait < 0) {
        return -1;
    }
    return wait < INT_MAX ? (int)wait : INT_MAX;
}

static void
take_events(struct loop *l, int timeout)
{
    int n = epoll_wait(l->epoll_fd, l->ready, LOOP_BATCH, timeout);

    if (n == -1 && errno != EINTR) {
        log_alert("epoll_wait failed: %s", strerror(errno));
    }
    l->ready_count = n > 0 ? n : 0;
    l->ready_next = 0;
}

static void
wait_for_events(struct loop *l, int64_t max_wait_ms)
{
    bool busy = has_work(l);
    int64_t now_us = clock_us();
    int timeout = busy ? 0 : sleep_ms(l, now_us / 1000, max_wait_ms);

    if (l->on_turn != NULL && l->now_us != 0) {
        l->on_turn(l->on_turn_arg, now_us - l->now_us);
    }
    if (l->ready_next == l->ready_count) { /* else some are left over */
        take_events(l, timeout);
    }
    l->now_us = clock_us();
    l->now = l->now_us / 1000;
    if (l->hooks.after_wake != NULL) {
        l->hooks.after_wake(l->hooks_arg);
    }
}

static void
deliver(struct io *io, uint32_t events)
{
    unsigned ready = 0;

    if (events & EPOLLIN) {
        ready |= IO_READ;
    }
    if (events & EPOLLOUT) {
        ready |= IO_WRITE;
    }
    ready &= io->wanted; /* it may have changed within the batch */
    if (events & (EPOLLERR | EPOLLHUP)) {
        ready = IO_READ | IO_WRITE;
    }
    if (ready != 0) {
        io->on_ready(io, ready);
    }
}

/* Until the batch or its share of the turn is used up. */
static void
deliver_batch(struct loop *l)
{
    int64_t share = l->now + LOOP_MS; /* since the wait ended */

    while (l->ready_next < l->ready_count) {
        const struct epoll_event *e = &l->ready[l->ready_next++];

        if (e->data.ptr != NULL) {
            deliver(e->data.ptr, e->events);
        }
        if (l->ready_next < l->ready_count && loop_share_used(share)) {
            return;
        }
    }
}

void
loop_turn(struct loop *l, int64_t max_wait_ms)
{
    wait_for_events(l, max_wait_ms);
    deliver_batch(l);
    timers_run(l);
    run_in_turn(l);
    run_later(l);
}

void
loop_run(struct loop *l)
{
    while (!l->stop) {
        loop_turn(l, -1);
    }
    l->stop = false;
}

void
loop_stop(struct loop *l)
{
    l->stop = true;
}

int64_t
loop_now(const struct loop *l)
{
    return l->now;
}

int64_t
loop_now_us(const struct loop *l)
{
    return l->now_us;
}

void
loop_set_meter(struct loop *l, void (*on_turn)(void *arg, int64_t us),
               void *arg)
{
    l->on_turn = on_turn;
    l->on_turn_arg = arg;
}

void
loop_never_forks(struct loop *l)
{
    l->never_forks = true;
}

/* ---- descriptors ---- */

static int
control(struct loop *l, int op, struct io *io, unsigned wanted)
{
    struct epoll_event e = { .data.ptr = io };

    if (wanted & IO_READ) {
        e.events |= EPOLLIN;
    }
    if (wanted & IO_WRITE) {
        e.events |= EPOLLOUT;
    }
    if (wanted == 0) { /* what cannot be left out is told once */
        e.events = EPOLLET;
    }
    return epoll_ctl(l->epoll_fd, op, io->fd, &e);
}

void
io_init(struct io *io)
{
    *io = (struct io){ .fd = -1 };
}

int
io_start(struct loop *l, struct io *io, int fd, unsigned wanted,
         void (*on_ready)(struct io *io, unsigned ready))
{
    assert(io->fd == -1);
    *io = (struct io){ .fd = fd, .wanted = wanted, .on_ready = on_ready };
    if (control(l, EPOLL_CTL_ADD, io, wanted) == -1) {
        io->fd = -1;
        return -1;
    }
    return 0;
}

void
io_want(struct loop *l, struct io *io, unsigned wanted)
{
    if (io->fd == -1 || io->wanted == wanted) {
        return;
    }
    io->wanted = wanted;
    if (control(l, EPOLL_CTL_MOD, io, wanted) == -1) {
        log_alert("cannot watch descriptor %d: %s", io->fd, strerror(errno));
    }
}

/* No event of this batch is for it any more. */
static void
forget(struct loop *l, struct io *io)
{
    io->fd = -1;
    for (int i = l->ready_next; i < l->ready_count; i++) {
        if (l->ready[i].data.ptr == io) {
            l->ready[i].data.ptr = NULL;
            return;
        }
    }
}

void
io_stop(struct loop *l, struct io *io)
{
    if (io->fd == -1) {
        return;
    }
    control(l, EPOLL_CTL_DEL, io, 0);
    forget(l, io);
}

void
io_leave(struct loop *l, struct io *io)
{
    if (l->never_forks) {
        forget(l, io);
    } else {
        io_stop(l, io);
    }
}

/* ---- deferred calls ---- */

void
later_init(struct later *later, void (*call)(struct later *later))
{
    list_init(&later->link);
    later->call = call;
}

void
loop_later(struct loop *l, struct later *later)
{
    if (list_empty(&later->link)) {
        list_append(&l->later, &later->link);
    }
}

void
loop_in_turn(struct loop *l, struct later *later)
{
    if (list_empty(&later->link)) {
        list_append(&l->in_turn, &later->link);
    }
}

void
later_cancel(struct later *later)
{
    list_remove(&later->link);
}
