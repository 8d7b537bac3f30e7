/*
 * A pump: two connections, the one with TLS and the near end of a pair.  The
 * pump sends the bytes of each to the other, straight from the read buffer.  It
 * leaves bytes that the other does not take unread, and pauses reading until it
 * does.
 *
 * The end.  A peer that ends its side ends ours of the pair; the other way
 * goes on.  When the far end has ended or is gone, for example because its
 * process was killed, the peer gets what the pair still holds, then
 * close_notify.
 *
 * A pump begins with conn_detach() and is freed when both are closed.  The
 * process counts its pumps, for it must outlive them (net/tls_pump.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/tls_pump.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/list.h"
#include "base/mem.h"
#include "net/conn_impl.h"
#include "net/metrics.h"
#include "net/tls_impl.h"

#define LINGER_MS 2000 /* for the peer to read our last words */
/* The most bytes in the pair for the peer when its far end is closed. */
#define PAIR_BYTES (64 * 1024)
#define END_BYTES (2 * PAIR_BYTES + TLS_RECORD) /* the kernel doubles it */

struct pump {
    struct conn *peer; /* owned, as near is: NULL once it is closed */
    struct conn *near;
    int near_fd; /* its socket, while it is being closed, too */
    struct list link;
};

static struct {
    struct list all; /* struct pump */
    size_t count, most;
    bool ready;
} pumps;

static void
enlist(struct pump *p)
{
    if (!pumps.ready) {
        list_init(&pumps.all);
        pumps.ready = true;
    }
    list_append(&pumps.all, &p->link);
    pumps.count++;
    metric_add(&net_metrics[NET_PUMPS], 0, 1);
}

static void
end(struct pump *p)
{
    list_remove(&p->link);
    pumps.count--;
    metric_add(&net_metrics[NET_PUMPS], 0, -1);
    mem_free(&p);
}

/* Sends what came of one to the other. */
static ssize_t
carry(struct conn *from, struct conn *to, const uint8_t *data, size_t n)
{
    const struct iovec iov = { .iov_base = (void *)(uintptr_t)data,
                               .iov_len = n };
    ssize_t sent = conn_writev(to, &iov, 1);

    if (sent >= 0 && (size_t)sent < n) {
        conn_pause_reading(from);
    }
    return sent;
}

/* ---- from the peer ---- */

/* A far end that reads no more may still have said something, which near has
 * not read yet: what the peer says is forgotten meanwhile. */
static ssize_t
peer_said(void *arg, const uint8_t *data, size_t n)
{
    struct pump *p = arg;
    ssize_t sent = carry(p->peer, p->near, data, n);

    return sent >= 0 ? sent : (ssize_t)n;
}

static void
peer_has_room(void *arg)
{
    struct pump *p = arg;

    if (p->near != NULL) {
        conn_resume_reading(p->near);
    }
}

static void
peer_ended(void *arg)
{
    struct pump *p = arg;

    p->near->ops->finish(p->near);
}

static void
peer_closed(void *arg, const char *reason)
{
    struct pump *p = arg;

    p->peer = NULL;
    if (p->near != NULL) {
        conn_close(p->near, reason); /* frees p */
    } else {
        end(p);
    }
}

static const struct conn_handlers peer_handlers = {
    .on_data = peer_said,
    .on_writable = peer_has_room,
    .on_eof = peer_ended,
    .on_close = peer_closed,
    .hears_out = true,
};

/* ---- from the far end ---- */

static ssize_t
near_said(void *arg, const uint8_t *data, size_t n)
{
    struct pump *p = arg;
    ssize_t sent = carry(p->near, p->peer, data, n);

    if (sent < 0) {
        conn_close(p->peer, "the peer is gone");
        return -1;
    }
    return sent;
}

static void
near_has_room(void *arg)
{
    struct pump *p = arg;

    conn_resume_reading(p->peer);
}

/* The far end is closed, and the pair may still hold what the peer had no room
 * for. */
static void
send_last(struct pump *p)
{
    struct str kept = buf_str(&p->near->in);
    int result = conn_write(p->peer, kept.ptr, kept.len);
    uint8_t data[4096];
    ssize_t n = 0;

    while (result == 0 &&
           (n = recv(p->near_fd, data, sizeof(data), MSG_DONTWAIT)) > 0) {
        result = conn_write(p->peer, data, (size_t)n);
    }
}

/* However it came to its end; without on_eof that closes it, too. */
static void
near_closed(void *arg, const char *reason)
{
    struct pump *p = arg;

    if (p->peer == NULL) {
        end(p);
        return;
    }
    send_last(p);
    p->near = NULL;
    conn_finish(p->peer, LINGER_MS, reason);
}

static const struct conn_handlers near_handlers = {
    .on_data = near_said,
    .on_writable = near_has_room,
    .on_close = near_closed,
};

/* ---- life ---- */

/* The far end counts the connection and its bytes from now on. */
static void
stop_counting(struct conn *c)
{
    conn_leave_gauge(c);
    c->meter_in = c->meter_out = 0;
}

static void
take_over(struct conn *c, struct pump *p)
{
    p->peer = c;
    stop_counting(c);
    conn_set_handlers(c, &peer_handlers, p);
    later_cancel(&c->offer);
    buf_clear(&c->in);
    c->in.limit = TLS_RECORD;
    c->out.limit = buf_len(&c->out) + END_BYTES;
    c->notify_writable = false;
    c->read_paused = false;
    if (c->eof) {
        peer_ended(p);
    }
    conn_watch(c);
}

int
tls_pump_start(struct conn *c, int *fd, struct errmsg *err)
{
    const struct conn_limits limits = { .in_limit = TLS_RECORD };
    const int size = PAIR_BYTES;
    struct pump *p;
    int pair[2];

    if (pumps.count >= pumps.most) {
        return errmsg_set(err,
                          "%zu TLS connections of this process are with "
                          "others: no more may be",
                          pumps.count);
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                   pair) == -1) {
        return errmsg_set(err, "no pair of sockets: %s", strerror(errno));
    }
    setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    struct conn_socket s = { .fd = pair[0],
                             .peer = { .family = AF_UNIX },
                             .local = { .family = AF_UNIX },
                             .listener = c->listener };

    p = mem_zero(sizeof(*p));
    p->near = conn_new(c->loop, &s, &near_handlers, p, &limits);
    if (p->near == NULL) {
        close(pair[1]);
        mem_free(&p);
        return errmsg_set(err, "the system has no room to watch a socket");
    }
    p->near_fd = pair[0];
    enlist(p);
    stop_counting(p->near);
    take_over(c, p);
    *fd = pair[1];
    return 0;
}

/* ---- all of them ---- */

void
tls_pump_limit(size_t most)
{
    pumps.most = most;
}

size_t
tls_pumps(void)
{
    return pumps.count;
}

void
tls_pump_stop(const char *reason)
{
    while (pumps.count > 0) {
        struct pump *p = LIST_ITEM(pumps.all.next, struct pump, link);

        conn_close(p->near != NULL ? p->near : p->peer, reason);
    }
}
