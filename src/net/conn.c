/*
 * Connections: reading through one buffer of the process, closing at the end
 * of the turn.  conn_write.c writes.
 *
 * The socket is watched for what conn_watch() says and nothing else; it is
 * called wherever one of its reasons changes, and costs a system call only
 * when the answer does.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/conn_impl.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/metrics.h"
#include "net/tls.h"
#include "proc/census.h"

#define READ_SIZE 65536 /* bytes read at once, by all connections */
/* How long and how much is read of a peer that we have finished with, but
 * that goes on sending: closing on it would cost it our last words. */
#define LINGER_TIMES 5
#define LINGER_BYTES ((uint64_t)1024 * 1024)

/* Where all connections of the process read to; made by the first read. */
static uint8_t *read_buffer;

/* ---- plain sockets ---- */

static ssize_t
plain_recv(struct conn *c, void *dst, size_t n)
{
    ssize_t got;

    do {
        got = recv(c->io.fd, dst, n, MSG_DONTWAIT);
    } while (got == -1 && errno == EINTR);
    if (got > 0) {
        return got;
    }
    if (got == 0) {
        return CONN_EOF;
    }
    return errno == EAGAIN ? CONN_AGAIN : CONN_ERROR;
}

static ssize_t
plain_writev(struct conn *c, const struct iovec *iov, int count)
{
    struct msghdr m = { .msg_iov = (struct iovec *)(uintptr_t)iov,
                        .msg_iovlen = (size_t)count };
    const int flags = MSG_DONTWAIT | MSG_NOSIGNAL;
    ssize_t sent;

    do { /* one range is the usual case, and cheaper without a msghdr */
        sent = count == 1 ? send(c->io.fd, iov->iov_base, iov->iov_len, flags)
                          : sendmsg(c->io.fd, &m, flags);
    } while (sent == -1 && errno == EINTR);
    if (sent >= 0) {
        return sent;
    }
    return errno == EAGAIN ? CONN_AGAIN : CONN_ERROR;
}

static bool
plain_finish(struct conn *c)
{
    shutdown(c->io.fd, SHUT_WR);
    return true;
}

const struct conn_ops conn_plain = {
    .recv = plain_recv,
    .writev = plain_writev,
    .finish = plain_finish,
};

/* ---- what the socket is watched for ---- */

static bool
wants_bytes(const struct conn *c)
{
    if (c->read_waits) {
        return false;
    }
    if (c->finishing) {
        return !c->eof; /* after it only what is left to send counts */
    }
    /* Kept bytes that are about to be offered go first: then the buffer is
     * empty again, and nothing has to be moved in it. */
    return !c->eof && !c->read_paused && buf_room(&c->in) > 0 &&
           list_empty(&c->offer.link);
}

void
conn_watch(struct conn *c)
{
    unsigned wanted = 0;

    if (wants_bytes(c)) {
        wanted |= IO_READ;
        if (c->ops->read_on != NULL) {
            c->ops->read_on(c);
        }
    }
    if (c->want_write || c->read_waits) {
        wanted |= IO_WRITE;
    }
    io_want(c->loop, &c->io, wanted);
}

const char *
conn_failure(const struct conn *c)
{
    if (c->finishing) {
        return c->finish_reason;
    }
    return c->ops->reason != NULL ? c->ops->reason(c) : strerror(errno);
}

/* ---- reading ---- */

/* Offers data to the handlers until they eat no more; returns bytes eaten,
 * -1 when the connection was closed. */
static ssize_t
feed(struct conn *c, const uint8_t *data, size_t n)
{
    const struct conn_handlers *before;
    size_t eaten = 0;

    c->offering = true;
    do {
        before = c->handlers;
        ssize_t ate = c->handlers->on_data(c->arg, data + eaten, n - eaten);

        if (c->closed) {
            return -1;
        }
        if (ate < 0) {
            conn_close(c, "refused by its handler");
            return -1;
        }
        assert((size_t)ate <= n - eaten);
        eaten += (size_t)ate;
        /* New owners see the rest at once, unless they finish or pause. */
    } while (c->handlers != before && eaten < n && !c->finishing &&
             !c->read_paused);
    c->offering = false;
    return c->finishing ? (ssize_t)n : (ssize_t)eaten;
}

void
conn_offer(struct conn *c)
{
    if (c->closed || c->finishing) {
        return;
    }
    if (c->offering) {
        loop_later(c->loop, &c->offer);
        return;
    }
    if (buf_len(&c->in) == 0) {
        conn_watch(c);
        return;
    }
    ssize_t ate = feed(c, buf_data(&c->in), buf_len(&c->in));

    if (ate < 0) {
        return;
    }
    /* conn_finish() within the handler left the bytes to us. */
    buf_take(&c->in, (size_t)ate);
    buf_trim(&c->in);
    conn_watch(c);
}

static void
offer_later(struct later *later)
{
    struct conn *c = LIST_ITEM(later, struct conn, offer);

    if (!c->read_paused) {
        conn_offer(c);
    }
}

/* Bytes came and nothing was kept: the usual case, without a copy. */
static void
take_fresh(struct conn *c, const uint8_t *data, size_t n)
{
    ssize_t ate = feed(c, data, n);

    if (ate < 0 || (size_t)ate == n) {
        return;
    }
    if (buf_add(&c->in, data + ate, n - (size_t)ate) == -1) {
        metric_add(&net_metrics[NET_NO_MEMORY], 0, 1);
        conn_close(c, "out of memory");
    }
}

static void
take_more(struct conn *c, const uint8_t *data, size_t n)
{
    if (buf_add(&c->in, data, n) == -1) {
        metric_add(&net_metrics[NET_NO_MEMORY], 0, 1);
        conn_close(c, "out of memory");
        return;
    }
    conn_offer(c);
}

static void
on_end(struct conn *c)
{
    c->eof = true;
    if (c->finishing && c->want_write) {
        conn_watch(c); /* it may still read our last words */
    } else if (c->finishing) {
        conn_close(c, c->finish_reason);
    } else if (c->handlers->on_eof == NULL) {
        conn_close(c, "peer closed the connection");
    } else {
        conn_watch(c);
        c->handlers->on_eof(c->arg);
    }
}

/* n bytes came that nobody wants: a peer that goes on sending is heard out
 * within bounds, because closing on unread bytes would reset the connection
 * under our last words. */
static void
linger_on(struct conn *c, ssize_t n)
{
    int64_t left = c->linger_until_ms - loop_now(c->loop);

    if (!c->ended || c->linger_total_ms == 0) {
        return;
    }
    c->linger_size -= n;
    if (c->linger_size < 0 || left <= 0) {
        conn_close(c, c->finish_reason);
    } else {
        timer_set(c->loop, &c->linger,
                  left < c->linger_ms ? left : c->linger_ms);
    }
}

static void
on_readable(struct conn *c)
{
    size_t room = c->finishing ? READ_SIZE : buf_room(&c->in);

    if (read_buffer == NULL) {
        read_buffer = mem_alloc(READ_SIZE);
    }
    ssize_t n =
        c->ops->recv(c, read_buffer, room < READ_SIZE ? room : READ_SIZE);

    if (n == CONN_AGAIN) {
        return;
    }
    if (n == CONN_EOF) {
        on_end(c);
        return;
    }
    if (n < 0) {
        conn_close(c, conn_failure(c));
        return;
    }
    c->last_read_ms = loop_now(c->loop);
    c->bytes_in += (uint64_t)n;
    metric_cell_add(c->meter_in, n);
    if (c->finishing) {
        linger_on(c, n);
        return;
    }
    if (buf_len(&c->in) == 0) {
        take_fresh(c, read_buffer, (size_t)n);
    } else {
        take_more(c, read_buffer, (size_t)n);
    }
}

void
conn_read(struct conn *c)
{
    if (!c->closed && wants_bytes(c)) {
        on_readable(c);
    }
    if (!c->closed) {
        conn_watch(c);
    }
}

void
conn_pause_reading(struct conn *c)
{
    if (!c->closed) {
        c->read_paused = true;
        conn_watch(c);
    }
}

void
conn_resume_reading(struct conn *c)
{
    if (c->closed || !c->read_paused) {
        return;
    }
    c->read_paused = false;
    loop_later(c->loop, &c->offer);
    conn_watch(c);
}

/* ---- life ---- */

/* Whether the peer has ended in good order while its owner reads nothing, and
 * is heard out later: what it sent lies with the system.  A local socket is
 * told as broken then; the loop tells it once. */
static bool
ended_in_pause(const struct conn *c)
{
    char byte;

    return c->handlers->hears_out && c->read_paused && !c->finishing &&
           c->io.wanted == 0 &&
           recv(c->io.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0;
}

static void
on_ready(struct io *io, unsigned ready)
{
    struct conn *c = LIST_ITEM(io, struct conn, io);

    if ((ready & ~io->wanted) != 0 && (io->wanted & IO_READ) == 0) {
        /* Broken, and there is no read that would tell how. */
        if (!ended_in_pause(c)) {
            conn_close(c, "peer reset the connection");
        }
        return;
    }
    if ((ready & IO_WRITE) && (io->wanted & IO_WRITE)) {
        conn_on_writable(c);
    }
    if (!c->closed && (ready & IO_READ) && wants_bytes(c)) {
        on_readable(c);
    }
    if (!c->closed) {
        conn_watch(c);
    }
}

static void
destroy(struct later *later)
{
    struct conn *c = LIST_ITEM(later, struct conn, destroy);

    buf_clear(&c->in);
    buf_clear(&c->out);
    mem_free(&c->finish_reason);
    mem_free(&c);
}

static void
on_linger_over(struct timer *t)
{
    struct conn *c = LIST_ITEM(t, struct conn, linger);

    conn_close(c, c->finish_reason);
}

void
conn_prepare(int fd, uint8_t family)
{
    int on = 1;
    int unsent = CONN_UNSENT;
    int flags = fcntl(fd, F_GETFL);

    if (flags != -1 && (flags & O_NONBLOCK) == 0) {
        fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    }
    if (family == AF_INET || family == AF_INET6) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
    }
}

void
conn_limit_unsent(struct conn *c, int bytes)
{
    if (!c->closed) {
        setsockopt(c->io.fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes,
                   sizeof(bytes));
    }
}

void
conn_set_user_timeout(struct conn *c, int64_t ms)
{
    unsigned value = (unsigned)(ms > INT_MAX ? INT_MAX : ms);

    if (c->peer.family == AF_INET || c->peer.family == AF_INET6) {
        setsockopt(c->io.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &value,
                   sizeof(value));
    }
}

void
conn_socket_close(const struct conn_socket *s)
{
    struct tls *tls = s->tls;

    tls_free(&tls);
    if (s->census != 0) {
        census_leave(s->census, true);
        conn_leave_pool(&s->peer);
    }
    close(s->fd);
}

static void
leave_census(struct conn *c)
{
    if (c->census != 0) {
        census_leave(c->census, c->incomplete);
        conn_leave_pool(&c->peer);
        c->census = 0;
    }
}

void
conn_leave_gauge(struct conn *c)
{
    if (!c->uncounted) {
        c->uncounted = true;
        metric_add(&net_metrics[NET_CONNECTIONS], c->listener, -1);
        conn_leave_attached(c);
    }
}

void
conn_leave_counts(struct conn *c)
{
    conn_leave_gauge(c);
    leave_census(c);
}

struct conn *
conn_new(struct loop *l, const struct conn_socket *s,
         const struct conn_handlers *handlers, void *arg,
         const struct conn_limits *limits)
{
    struct conn *c = mem_zero(sizeof(*c));

    io_init(&c->io);
    later_init(&c->destroy, destroy);
    later_init(&c->offer, offer_later);
    timer_init(&c->linger, on_linger_over);
    c->loop = l;
    c->ops = s->tls != NULL ? &conn_tls : &conn_plain;
    c->tls = s->tls;
    c->handlers = handlers;
    c->arg = arg;
    c->peer = s->peer;
    c->local = s->local;
    c->via = s->via.family == AF_UNSPEC ? s->peer : s->via;
    if (!s->prepared) {
        conn_prepare(s->fd, c->via.family);
    }
    c->secure = s->secure || s->tls != NULL;
    c->listener = s->listener;
    c->census = s->census;
    c->incomplete = true;
    c->flush_ms = (uint32_t)limits->flush_ms;
    c->linger_total_ms = (uint32_t)limits->linger_total_ms;
    c->linger_size = limits->linger_size;
    buf_init(&c->in, limits->in_limit);
    buf_init(&c->out, limits->out_limit);
    c->opened_ms = c->last_read_ms = c->last_write_ms = loop_now(l);
    if (io_start(l, &c->io, s->fd, IO_READ, on_ready) == -1) {
        tls_free(&c->tls);
        close(s->fd);
        leave_census(c);
        mem_free(&c);
        metric_add(&net_metrics[NET_REJECTED], NET_REJECTED_SYSTEM, 1);
        return NULL;
    }
    if (c->ops->read_on != NULL) {
        c->ops->read_on(c);
    }
    metric_add(&net_metrics[NET_CONNECTIONS], c->listener, 1);
    return c;
}

void
conn_set_incomplete(struct conn *c, bool incomplete)
{
    if (c->incomplete != incomplete && c->census != 0) {
        census_mark(c->census, incomplete);
    }
    c->incomplete = incomplete;
}

void
conn_set_handlers(struct conn *c, const struct conn_handlers *handlers,
                  void *arg)
{
    c->handlers = handlers;
    c->arg = arg;
}

void
conn_close(struct conn *c, const char *reason)
{
    if (c->closed) {
        return;
    }
    int fd = c->io.fd;

    c->closed = true;
    io_leave(c->loop, &c->io);
    timer_stop(c->loop, &c->linger);
    later_cancel(&c->offer);
    loop_later(c->loop, &c->destroy);
    conn_leave_gauge(c);
    if (c->handlers->on_close != NULL) {
        c->handlers->on_close(c->arg, reason);
    }
    if (c->ops->close != NULL) {
        c->ops->close(c);
    }
    leave_census(c);
    close(fd);
}

void
conn_reset(struct conn *c, const char *reason)
{
    struct linger now = { .l_onoff = 1, .l_linger = 0 };

    if (!c->closed) {
        setsockopt(c->io.fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
        conn_close(c, reason);
    }
}

void
conn_finish(struct conn *c, int64_t linger_ms, const char *reason)
{
    if (c->closed || c->finishing) {
        return;
    }
    c->finishing = true;
    c->linger_ms = (uint32_t)linger_ms;
    c->finish_reason = mem_dup(reason, strlen(reason));
    timer_set(c->loop, &c->linger,
              c->want_write && c->flush_ms > 0 ? c->flush_ms : linger_ms);
    if (!c->offering) {
        buf_clear(&c->in);
    }
    if (!c->want_write) {
        conn_end_our_side(c);
    }
    if (!c->closed) {
        conn_watch(c);
    }
}
