/*
 * Writing to connections: straight to the socket, and what it does not take
 * when it is writable again; at the end, ending our side of it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "net/conn_impl.h"

#include <errno.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "proc/metric.h"

#define IOV_COUNT_MAX 1024 /* the kernel's UIO_MAXIOV */

static void
count_sent(struct conn *c, ssize_t sent)
{
    c->bytes_out += (uint64_t)sent;
    metric_cell_add(c->meter_out, sent);
    c->last_write_ms = loop_now(c->loop);
}

static void
wait_writable(struct conn *c)
{
    c->want_write = true;
    conn_watch(c);
}

/* Bytes that the socket took, 0 if none; CONN_ERROR. */
static ssize_t
send_now(struct conn *c, const struct iovec *iov, int count)
{
    ssize_t sent = c->ops->writev(c, iov, count);

    if (sent == CONN_AGAIN) {
        return 0;
    }
    if (sent > 0) {
        count_sent(c, sent);
    }
    if (c->held) {
        wait_writable(c);
    }
    return sent;
}

int
conn_write(struct conn *c, const void *data, size_t n)
{
    struct iovec iov = { .iov_base = (void *)(uintptr_t)data, .iov_len = n };
    ssize_t sent = 0;

    if (c->closed || c->finishing) {
        return -1;
    }
    if (!c->want_write && n > 0) {
        sent = send_now(c, &iov, 1);
    }
    if (sent < 0) {
        return -1;
    }
    if ((size_t)sent == n) {
        return 0;
    }
    wait_writable(c);
    return buf_add(&c->out, (const uint8_t *)data + sent, n - (size_t)sent);
}

static size_t
iov_total(const struct iovec *iov, int count)
{
    size_t n = 0;

    for (int i = 0; i < count; i++) {
        n += iov[i].iov_len;
    }
    return n;
}

ssize_t
conn_writev(struct conn *c, const struct iovec *iov, int count)
{
    if (c->closed || c->finishing) {
        return CONN_ERROR;
    }
    if (c->want_write) {
        c->notify_writable = true;
        return 0;
    }
    int now = count < IOV_COUNT_MAX ? count : IOV_COUNT_MAX;
    ssize_t sent = send_now(c, iov, now);

    if (sent >= 0 && (now < count || (size_t)sent < iov_total(iov, count))) {
        c->notify_writable = true;
        wait_writable(c);
    }
    return sent;
}

bool
conn_has_room(struct conn *c)
{
    c->notify_writable |= c->want_write;
    return !c->want_write;
}

bool
conn_is_direct(const struct conn *c)
{
    return c->ops == &conn_plain && !c->want_write && !c->finishing &&
           !c->closed;
}

ssize_t
conn_sent(struct conn *c, size_t asked, ssize_t result)
{
    if (result == -EAGAIN || result == -EINTR) {
        result = 0;
    }
    if (result < 0) {
        errno = (int)-result;
        return CONN_ERROR;
    }
    if (result > 0) {
        count_sent(c, result);
    }
    if ((size_t)result < asked) {
        c->notify_writable = true;
        wait_writable(c);
    }
    return result;
}

ssize_t
conn_send_file(struct conn *c, struct str head, int fd, int64_t offset,
               size_t n)
{
    const int flags = MSG_MORE | MSG_DONTWAIT | MSG_NOSIGNAL;
    off_t at = offset;
    ssize_t of_head = 0, of_file = 0;

    if (head.len > 0) {
        of_head = send(c->io.fd, head.ptr, head.len, flags);
    }
    if (of_head == (ssize_t)head.len) {
        of_file = sendfile(c->io.fd, fd, &at, n);
    }
    if (of_head == -1 || (of_file == -1 && of_head == 0)) {
        return conn_sent(c, head.len + n, -errno);
    }
    return conn_sent(c, head.len + n, of_head + (of_file > 0 ? of_file : 0));
}

size_t
conn_unsent(const struct conn *c)
{
    return buf_len(&c->out);
}

/* Sends what the ops hold.  False when some of it is left, or the connection
 * was closed. */
static bool
flush_held(struct conn *c)
{
    int result = c->held ? c->ops->flush(c) : 0;

    if (result == CONN_AGAIN) {
        return false;
    }
    if (result < 0) {
        conn_close(c, conn_failure(c));
        return false;
    }
    c->last_write_ms = loop_now(c->loop);
    return true;
}

/* Sends what conn->out holds.  False when the connection was closed. */
static bool
flush(struct conn *c)
{
    struct iovec iov = { .iov_base = (void *)(uintptr_t)buf_data(&c->out),
                         .iov_len = buf_len(&c->out) };

    if (iov.iov_len == 0) {
        return true;
    }
    ssize_t sent = send_now(c, &iov, 1);

    if (sent < 0) {
        conn_close(c, conn_failure(c));
        return false;
    }
    buf_take(&c->out, (size_t)sent);
    buf_trim(&c->out);
    return true;
}

void
conn_end_our_side(struct conn *c)
{
    c->linger_until_ms = loop_now(c->loop) + c->linger_total_ms;
    bool at_once = c->eof || (c->linger_ms == 0 && c->tls == NULL);

    c->ended = at_once || c->ops->finish(c);
    if (at_once || (c->ended && c->linger_ms == 0)) {
        conn_close(c, c->finish_reason);
    } else if (!c->ended) {
        wait_writable(c);
    }
}

bool
conn_end_sending(struct conn *c)
{
    if (c->closed || c->finishing || c->ended) {
        return true;
    }
    if (!conn_has_room(c)) {
        return false;
    }
    c->ended = c->ops->finish(c);
    if (!c->ended) {
        c->notify_writable = true;
        wait_writable(c);
    }
    return c->ended;
}

void
conn_on_writable(struct conn *c)
{
    c->read_waits = false;
    if (!c->want_write || !flush_held(c) || !flush(c) || c->held ||
        buf_len(&c->out) > 0) {
        return;
    }
    c->want_write = false;
    if (c->finishing) {
        if (!c->ended) {
            timer_set(c->loop, &c->linger, c->linger_ms);
            conn_end_our_side(c);
        }
    } else if (c->notify_writable) {
        c->notify_writable = false;
        if (c->handlers->on_writable != NULL) {
            c->handlers->on_writable(c->arg);
        }
    }
}

/* ---- last words ---- */

static ssize_t
forget(void *arg, const uint8_t *data, size_t n)
{
    (void)arg;
    (void)data;
    return (ssize_t)n;
}

static const struct conn_handlers parting = { .on_data = forget };

void
conn_part(struct conn *c, struct str last, int64_t linger_ms,
          const char *reason)
{
    conn_set_handlers(c, &parting, NULL);
    if (last.len > 0 && conn_write(c, last.ptr, last.len) == -1) {
        conn_close(c, reason);
    } else {
        conn_finish(c, linger_ms, reason);
    }
}
