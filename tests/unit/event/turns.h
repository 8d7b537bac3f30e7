/*
 * A loop, and what happens on it: sockets that become ready, deferred calls.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_UNIT_EVENT_TURNS_H
#define TESTS_UNIT_EVENT_TURNS_H

#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "event/loop.h"

static struct loop *l;

static inline int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    l = loop_new(&err);
    return l == NULL ? -1 : 0;
}

static inline int
tear_down(void **state)
{
    (void)state;
    loop_free(&l);
    return 0;
}

/* One end of a socket pair that notes what it was told. */
struct end {
    struct io io;
    int fd, peer;
    unsigned ready; /* last told */
    int calls;
    void (*then)(struct end *e);
    struct end *other;
};

static inline void
on_ready(struct io *io, unsigned ready)
{
    struct end *e = LIST_ITEM(io, struct end, io);

    e->ready = ready;
    e->calls++;
    if (e->then != NULL) {
        e->then(e);
    }
}

static inline void
end_open(struct end *e, unsigned wanted)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    *e = (struct end){ .fd = pair[0], .peer = pair[1] };
    io_init(&e->io);
    assert_int_equal(io_start(l, &e->io, e->fd, wanted, on_ready), 0);
}

static inline void
end_close(struct end *e)
{
    io_stop(l, &e->io);
    close(e->fd);
    if (e->peer != -1) {
        close(e->peer);
    }
}

struct counted {
    struct later later;
    int calls;
    bool again;
    struct counted *cancel;
};

static inline void
count_call(struct later *later)
{
    struct counted *c = LIST_ITEM(later, struct counted, later);

    c->calls++;
    if (c->again) {
        loop_later(l, later);
    }
    if (c->cancel != NULL) {
        later_cancel(&c->cancel->later);
    }
}

static inline void
spend(int64_t us)
{
    int64_t until = clock_us() + us;

    while (clock_us() < until) {
    }
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

#endif
