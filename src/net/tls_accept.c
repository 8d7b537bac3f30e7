/*
 * Handshakes: from an accepted socket to one that is ready for a conn.
 *
 * A handshake waits for one thing at a time, is freed at the end of the turn
 * it ends in, and has one timer for all of it, so that who sends a byte a
 * minute gains nothing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <errno.h>
#include <openssl/err.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "net/metrics.h"
#include "net/tls_impl.h"

#define HANDSHAKE_RECORD 22 /* first byte of a ClientHello (RFC 8446, 5.1) */

struct handshake {
    struct list link; /* all of the process */
    struct io io;
    struct timer timer;
    struct later destroy;
    struct loop *loop;                 /* borrowed */
    const struct tls_context *context; /* borrowed: the generation's */
    struct conn_socket socket;         /* fd is owned until it is handed on */
    SSL *ssl;                          /* owned; NULL: nothing came yet */
    tls_accept_handler *handler;
    void *arg;
};

static struct {
    struct list list; /* struct handshake, those that are not over */
    size_t count;
} all = { .list = { &all.list, &all.list } };

size_t
tls_handshakes(void)
{
    return all.count;
}

static void
destroy(struct later *later)
{
    struct handshake *h = LIST_ITEM(later, struct handshake, destroy);

    SSL_free(h->ssl);
    mem_free(&h);
}

/* It is over; the socket is somebody else's, or closed. */
static void
leave(struct handshake *h)
{
    io_stop(h->loop, &h->io);
    timer_stop(h->loop, &h->timer);
    list_remove(&h->link);
    all.count--;
    loop_later(h->loop, &h->destroy);
}

static void
count(enum net_tls what)
{
    metric_add(&net_metrics[NET_TLS_HANDSHAKES], what, 1);
}

static void
give_up(struct handshake *h, enum net_tls what)
{
    count(what);
    leave(h);
    conn_socket_close(&h->socket);
}

/* The peer went.  Without a byte it was a probe: nobody wants to know. */
static void
peer_left(struct handshake *h)
{
    char peer[ADDR_TEXT];

    if (h->ssl == NULL) {
        log_debug("tls %s: closed without a word",
                  addr_text(&h->socket.peer, peer));
    } else {
        log_limited(LOG_INFO,
                    "tls %s: handshake failed: the peer closed the connection",
                    addr_text(&h->socket.peer, peer));
    }
    give_up(h, NET_TLS_LEFT);
}

static void
fail(struct handshake *h, int r)
{
    const char *why = tls_failure(h->ssl, r);
    char peer[ADDR_TEXT];

    if (why == NULL) {
        peer_left(h);
        return;
    }
    log_limited(LOG_INFO, "tls %s: handshake failed: %s",
                addr_text(&h->socket.peer, peer), why);
    give_up(h, NET_TLS_FAILED);
}

static void
hand_on(struct handshake *h)
{
    struct conn_socket socket = h->socket;

    leave(h);
    h->handler(h->arg, &socket);
}

static void
done(struct handshake *h)
{
    SSL *ssl = h->ssl;
    bool resumed = SSL_session_reused(ssl) == 1;
    char peer[ADDR_TEXT];

    if (SSL_version(ssl) == TLS1_3_VERSION) {
        count(resumed ? NET_TLS_RESUMED_1_3 : NET_TLS_FULL_1_3);
    } else {
        count(resumed ? NET_TLS_RESUMED_1_2 : NET_TLS_FULL_1_2);
    }
    log_debug("tls %s: %s, %s%s", addr_text(&h->socket.peer, peer),
              SSL_get_version(ssl), SSL_get_cipher_name(ssl),
              resumed ? ", resumed" : "");
    h->ssl = NULL;
    SSL_set_app_data(ssl, NULL);
    h->socket.tls = tls_new(ssl);
    hand_on(h);
}

static void
shake(struct handshake *h)
{
    int r = tls_shake(h->ssl, h->loop, &h->io);

    if (r == TLS_SHAKEN) {
        done(h);
    } else if (r != TLS_SHAKING) {
        fail(h, r);
    }
}

static void
refuse_not_tls(struct handshake *h, uint8_t first)
{
    char peer[ADDR_TEXT];

    count(NET_TLS_NOT_TLS);
    if (h->context->http) {
        h->socket.not_tls = true;
        hand_on(h);
        return;
    }
    log_limited(
        LOG_INFO,
        "tls %s: not TLS (%sthe first byte is 0x%02x): this address takes "
        "rtmps only",
        addr_text(&h->socket.peer, peer), first == 3 ? "but plain RTMP: " : "",
        first);
    leave(h);
    conn_socket_close(&h->socket);
}

/* The first byte is there: is it TLS at all? */
static void
begin(struct handshake *h)
{
    uint8_t first;
    ssize_t n = recv(h->socket.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

    if (n == -1 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    if (n != 1) {
        peer_left(h);
        return;
    }
    if (first != HANDSHAKE_RECORD) {
        refuse_not_tls(h, first);
        return;
    }
    h->ssl = SSL_new(h->context->each[0].ssl);
    if (h->ssl == NULL || SSL_set_fd(h->ssl, h->socket.fd) != 1) {
        log_error("tls: cannot begin a handshake: %s", tls_complaint());
        give_up(h, NET_TLS_FAILED);
        return;
    }
    SSL_set_app_data(h->ssl, &h->socket.place);
    SSL_set_accept_state(h->ssl);
    shake(h);
}

static void
on_ready(struct io *io, unsigned ready)
{
    struct handshake *h = LIST_ITEM(io, struct handshake, io);

    (void)ready;
    if (h->ssl == NULL) {
        begin(h);
    } else {
        shake(h);
    }
}

static void
on_due(struct timer *t)
{
    struct handshake *h = LIST_ITEM(t, struct handshake, timer);
    char peer[ADDR_TEXT];

    log_limited(LOG_INFO, "tls %s: handshake failed: it takes too long",
                addr_text(&h->socket.peer, peer));
    give_up(h, NET_TLS_TIMED_OUT);
}

void
tls_accept(struct loop *l, const struct tls_context *t,
           const struct conn_socket *s, tls_accept_handler *handler, void *arg)
{
    struct handshake *h = mem_zero(sizeof(*h));

    io_init(&h->io);
    timer_init(&h->timer, on_due);
    later_init(&h->destroy, destroy);
    h->loop = l;
    h->context = t;
    h->socket = *s;
    h->handler = handler;
    h->arg = arg;
    if (io_start(l, &h->io, s->fd, IO_READ, on_ready) == -1) {
        metric_add(&net_metrics[NET_REJECTED], NET_REJECTED_SYSTEM, 1);
        conn_socket_close(s);
        mem_free(&h);
        return;
    }
    list_append(&all.list, &h->link);
    all.count++;
    timer_set(l, &h->timer, t->handshake_timeout);
}

void
tls_accept_stop(void)
{
    while (!list_empty(&all.list)) {
        struct handshake *h = LIST_ITEM(all.list.next, struct handshake, link);

        leave(h);
        conn_socket_close(&h->socket);
    }
}
