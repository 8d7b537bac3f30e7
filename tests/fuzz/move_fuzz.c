/*
 * Fuzz target: a connection that another process has packed.
 *
 * Whatever the bytes say, one that is made of them keeps no more than its
 * limits, was opened by now, and packed again is made again; one that is not
 * made has its descriptor closed.
 *
 * covers: src/net/conn_move.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include <sys/socket.h>
#include <unistd.h>

#include "net/conn_move.h"
#include "proc/census.h"
#include "proc/slot.h"

static const struct conn_limits limits = { .in_limit = 64, .out_limit = 128 };

static ssize_t
on_data(void *arg, const uint8_t *data, size_t n)
{
    (void)arg;
    (void)data;
    return (ssize_t)(n / 2);
}

static void
on_close(void *arg, const char *reason)
{
    (void)reason;
    *(bool *)arg = true;
}

static const struct conn_handlers handlers = { .on_data = on_data,
                                               .on_close = on_close };

/* Packs it and makes it again; c is gone then, and so is what comes of it. */
static void
move_again(struct loop *l, struct conn *c, bool *closed)
{
    uint64_t in = c->bytes_in, out = c->bytes_out;
    struct errmsg err;
    struct buf bytes;
    int fd;

    buf_init(&bytes, CONN_MOVE_BYTES + limits.in_limit + limits.out_limit);
    struct pack p = { .to = &bytes };

    require(conn_detach(c, &p, &fd, &err) == 0);
    struct unpack u = { .rest = buf_str(&bytes) };

    c = conn_attach(l, fd, &u, &limits, &err);
    require(c != NULL && unpack_ends(&u));
    conn_set_handlers(c, &handlers, closed);
    require(c->bytes_in == in && c->bytes_out == out);
    conn_close(c, "it was made again");
    buf_clear(&bytes);
}

/* A loop, and a slot whose clients are counted. */
static struct loop *
set_up(void)
{
    struct errmsg err;

    require(slots_create(2, &err) == 0 && census_create(4096, 2, &err) == 0);
    slot_set_self((uint32_t)slot_take(SLOT_WORKER, "one", 0, 1));
    return loop_new(&err);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct loop *l;
    struct unpack u = { .rest = str_of(data, size) };
    struct errmsg err;
    struct conn *c;
    bool closed = false;
    int pair[2];

    if (l == NULL) {
        l = set_up();
    }
    require(l != NULL);
    require(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    c = conn_attach(l, pair[0], &u, &limits, &err);
    if (c == NULL) {
        require(close(pair[0]) == -1);
    } else {
        conn_set_handlers(c, &handlers, &closed);
        require(buf_len(&c->in) <= limits.in_limit);
        require(buf_len(&c->out) <= limits.out_limit);
        require(c->opened_ms >= 0 && c->opened_ms <= loop_now(l));
        loop_turn(l, 0);
        if (!closed) {
            move_again(l, c, &closed);
        }
    }
    close(pair[1]);
    loop_turn(l, 0);
    return 0;
}
