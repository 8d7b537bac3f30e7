/*
 * TLS as a connection's way in and out (conn_ops).
 *
 * Reading: OpenSSL reads ahead, so that bytes may lie in its buffer, for which
 * no event comes: when the reader's room was filled, OpenSSL is asked again in
 * the same turn.  We bound the bytes that OpenSSL takes off the socket in one
 * call: it would go on for as long as a peer sends key updates, and a peer that
 * sends nothing else is closed.
 *
 * Writing: small pieces are put together to records.  A record that was begun
 * has to be finished with the same bytes, but a player that is behind goes on
 * elsewhere in its stream: so bytes that the socket did not take are copied and
 * count as taken, and they go out before all others.  That is one record a
 * connection at most.
 *
 * Where the kernel encrypts, bytes go to the socket as they are.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "net/metrics.h"
#include "net/tls_impl.h"

/* Why the last call of conn_ops in this process failed. */
static const char *last_reason = "";

static const char *
tls_reason(const struct conn *c)
{
    (void)c;
    return last_reason;
}

/* The connection is of no use any more. */
static ssize_t
broken(struct conn *c, int r)
{
    bool reset = errno == ECONNRESET || errno == EPIPE;
    const char *why = tls_failure(c->tls->ssl, r);

    if (why == NULL) {
        why = reset ? "peer reset the connection"
                    : "peer closed the connection without close_notify";
        metric_add(&net_metrics[NET_TLS_BROKEN], NET_TLS_TRUNCATED, 1);
    } else {
        metric_add(&net_metrics[NET_TLS_BROKEN], NET_TLS_ERROR, 1);
    }
    c->tls->broken = true;
    last_reason = why;
    return CONN_ERROR;
}

/* ---- in ---- */

/* OpenSSL reads through this: from the socket below it, with a count. */
static int
meter_read(BIO *bio, char *dst, int n)
{
    struct tls *t = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (t->allowance == 0) {
        t->used_up = true;
        BIO_set_retry_read(bio);
        return -1;
    }
    int got = BIO_read(BIO_next(bio), dst, n);

    BIO_copy_next_retry(bio);
    if (got > 0) {
        t->allowance -= (size_t)got < t->allowance ? (size_t)got : t->allowance;
    }
    return got;
}

static long
meter_ctrl(BIO *bio, int what, long number, void *data)
{
    return BIO_next(bio) == NULL ? 0
                                 : BIO_ctrl(BIO_next(bio), what, number, data);
}

static const BIO_METHOD *
meter(void)
{
    static BIO_METHOD *method; /* of the process */

    if (method == NULL) {
        method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_FILTER, "meter");
        assert(method != NULL);
        BIO_meth_set_read(method, meter_read);
        BIO_meth_set_ctrl(method, meter_ctrl);
    }
    return method;
}

/* Puts a meter between ssl and the socket it reads from. */
static void
add_meter(struct tls *t)
{
    BIO *socket = SSL_get_rbio(t->ssl);
    BIO *bio = BIO_new(meter());

    assert(bio != NULL);
    BIO_set_data(bio, t);
    BIO_set_init(bio, 1);
    BIO_up_ref(socket);
    SSL_set0_rbio(t->ssl, BIO_push(bio, socket));
}

/* All was said: what still comes is not looked at. */
static ssize_t
discard(struct conn *c, void *dst, size_t n)
{
    c->tls->more = false;
    return conn_plain.recv(c, dst, n);
}

/* A read that gave nothing: what that means. */
static ssize_t
no_bytes(struct conn *c, int r)
{
    struct tls *t = c->tls;

    switch (SSL_get_error(t->ssl, r)) {
    case SSL_ERROR_WANT_READ:
        t->more = t->used_up;
        return CONN_AGAIN;
    case SSL_ERROR_WANT_WRITE:
        /* An answer of the protocol itself goes first. */
        c->read_waits = true;
        return CONN_AGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return CONN_EOF;
    default:
        return broken(c, r);
    }
}

/* All that may be taken at once, and not a byte of it was for us. */
static ssize_t
only_talk(struct tls *t)
{
    metric_add(&net_metrics[NET_TLS_BROKEN], NET_TLS_ERROR, 1);
    t->broken = true;
    last_reason = "peer sends nothing but messages of TLS itself";
    return CONN_ERROR;
}

static ssize_t
tls_recv(struct conn *c, void *dst, size_t n)
{
    struct tls *t = c->tls;
    size_t got = 0;

    if (c->finishing && c->ended) {
        return discard(c, dst, n);
    }
    t->more = true;
    t->used_up = false;
    t->allowance = n + TLS_RECORD;
    while (got < n) {
        ERR_clear_error();
        errno = 0;

        int r = SSL_read(t->ssl, (uint8_t *)dst + got, (int)(n - got));

        if (r > 0) {
            got += (size_t)r;
            continue;
        }
        /* The next call reports the end, which OpenSSL remembers. */
        if (got > 0 && SSL_get_error(t->ssl, r) != SSL_ERROR_WANT_READ) {
            break;
        }
        ssize_t why = no_bytes(c, r);

        return got > 0 ? (ssize_t)got : t->used_up ? only_talk(t) : why;
    }
    return (ssize_t)got;
}

static void
on_again(struct later *later)
{
    struct tls *t = LIST_ITEM(later, struct tls, again);

    conn_read(t->conn);
}

static void
tls_read_on(struct conn *c)
{
    struct tls *t = c->tls;

    if (t->more) {
        t->conn = c;
        loop_later(c->loop, &t->again);
    }
}

/* ---- out ---- */

/* Where the next bytes of a list of ranges are. */
struct place {
    const struct iovec *iov;
    int count;
    size_t done; /* bytes of iov[0] */
};

/* Where records are put together; of the whole process. */
static uint8_t *record;

static void
skip_empty(struct place *p)
{
    while (p->count > 0 && p->done == p->iov->iov_len) {
        p->iov++;
        p->count--;
        p->done = 0;
    }
}

static size_t
gather(struct place *p)
{
    size_t n = 0;

    if (record == NULL) {
        record = mem_alloc(TLS_RECORD);
    }
    for (skip_empty(p); p->count > 0 && n < TLS_RECORD; skip_empty(p)) {
        size_t part = p->iov->iov_len - p->done;

        part = part < TLS_RECORD - n ? part : TLS_RECORD - n;
        memcpy(record + n, (const uint8_t *)p->iov->iov_base + p->done, part);
        n += part;
        p->done += part;
    }
    return n;
}

/* The bytes of the next record, from where they lie if one range fills it or
 * is the last; 0: there are no more. */
static size_t
next_record(struct place *p, const uint8_t **out)
{
    skip_empty(p);
    if (p->count == 0) {
        return 0;
    }
    size_t left = p->iov->iov_len - p->done;

    if (left < TLS_RECORD && p->count > 1) {
        left = gather(p);
        *out = record;
        return left;
    }
    left = left < TLS_RECORD ? left : TLS_RECORD;
    *out = (const uint8_t *)p->iov->iov_base + p->done;
    p->done += left;
    return left;
}

/* 0: sent, or held; CONN_ERROR. */
static int
send_record(struct conn *c, const uint8_t *data, size_t n)
{
    struct tls *t = c->tls;

    ERR_clear_error();
    errno = 0;

    int r = SSL_write(t->ssl, data, (int)n);

    if (r > 0) {
        assert((size_t)r == n);
        return 0;
    }
    if (SSL_get_error(t->ssl, r) != SSL_ERROR_WANT_WRITE) {
        return (int)broken(c, r);
    }
    t->held = try_alloc(n);
    if (t->held == NULL) {
        t->broken = true;
        last_reason = "out of memory";
        return CONN_ERROR;
    }
    memcpy(t->held, data, n);
    t->held_len = n;
    c->held = true;
    return 0;
}

static ssize_t
tls_writev(struct conn *c, const struct iovec *iov, int count)
{
    struct place p = { iov, count, 0 };
    const uint8_t *data;
    size_t sent = 0, n;

    if (c->tls->kernel) {
        return conn_plain.writev(c, iov, count);
    }
    if (c->tls->broken) {
        last_reason = "the connection is broken";
        return CONN_ERROR;
    }
    while (!c->held && (n = next_record(&p, &data)) > 0) {
        if (send_record(c, data, n) != 0) {
            return CONN_ERROR;
        }
        sent += n;
    }
    return (ssize_t)sent;
}

static int
tls_flush(struct conn *c)
{
    struct tls *t = c->tls;

    ERR_clear_error();
    errno = 0;

    int r = SSL_write(t->ssl, t->held, (int)t->held_len);

    if (r > 0) {
        mem_free(&t->held);
        c->held = false;
        return 0;
    }
    return SSL_get_error(t->ssl, r) == SSL_ERROR_WANT_WRITE ? CONN_AGAIN
                                                            : (int)broken(c, r);
}

/* ---- the end ---- */

/* Says close_notify; false: the socket takes nothing now. */
static bool
say_goodbye(struct tls *t)
{
    if (t->broken || t->held != NULL) {
        return true;
    }
    ERR_clear_error();

    int r = SSL_shutdown(t->ssl);
    bool later = r < 0 && SSL_get_error(t->ssl, r) == SSL_ERROR_WANT_WRITE;

    ERR_clear_error();
    return !later;
}

static bool
tls_finish(struct conn *c)
{
    return say_goodbye(c->tls) && conn_plain.finish(c);
}

static void
tls_close(struct conn *c)
{
    if (!c->ended) {
        say_goodbye(c->tls);
    }
    tls_free(&c->tls);
}

const struct conn_ops conn_tls = {
    .recv = tls_recv,
    .writev = tls_writev,
    .finish = tls_finish,
    .flush = tls_flush,
    .read_on = tls_read_on,
    .reason = tls_reason,
    .close = tls_close,
};

/* ---- life ---- */

struct tls *
tls_new(SSL *ssl)
{
    struct tls *t = mem_zero(sizeof(*t));

    t->ssl = ssl;
    t->more = true; /* what came behind the handshake is read already */
    t->kernel = BIO_get_ktls_send(SSL_get_wbio(ssl));
    later_init(&t->again, on_again);
    add_meter(t);
    return t;
}

void
tls_free(struct tls **t)
{
    if (*t == NULL) {
        return;
    }
    later_cancel(&(*t)->again);
    SSL_free((*t)->ssl);
    mem_free(&(*t)->held);
    mem_free(t);
}
