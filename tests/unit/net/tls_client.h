/*
 * For the tests of TLS: sessions as conn_session.h has them, whose peer is
 * OpenSSL's client.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef UNIT_NET_TLS_CLIENT_H
#define UNIT_NET_TLS_CLIENT_H

#include "base/clock.h"
#include "conn_session.h"
#include "tls_peer.h"

#define PATIENCE_MS 60000

static struct tls_context *context;
static SSL_CTX *client_rules;

static inline int
set_up_all(void **state)
{
    struct tls_options o;
    struct errmsg err;

    if (mkdtemp(dir) == NULL || set_up(state) == -1) {
        return -1;
    }
    write_pair("a", "DNS:a.example");
    o = usual_options();
    context = tls_context_new(&o, &err);
    client_rules = SSL_CTX_new(TLS_client_method());
    return context == NULL ? -1 : 0;
}

static inline int
tear_down_all(void **state)
{
    tls_context_free(&context);
    SSL_CTX_free(client_rules);
    remove_dir();
    return tear_down(state);
}

/* ---- a session with a client ---- */

static SSL *client; /* of the session under test */
static const struct conn_limits *limits_now;

static inline void
on_secured(void *arg, const struct conn_socket *socket)
{
    struct session *s = arg;

    assert_non_null(socket->tls);
    s->c = conn_new(l, socket, &handlers, s, limits_now);
    assert_non_null(s->c);
}

/* The two ends of a connection, the server's in its handshake. */
static inline void
connect_to(const struct tls_context *t, struct session *s,
           tls_accept_handler *handler)
{
    struct addr a = { .family = AF_UNIX };
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair),
                     0);
    *s = (struct session){ .peer = pair[1], .eat = SIZE_MAX };
    tls_accept(l, t, &(struct conn_socket){ .fd = pair[0], .peer = a }, handler,
               s);
    assert_int_equal(tls_handshakes(), 1);
}

static inline bool
wants_more(int r)
{
    int why = SSL_get_error(client, r);

    ERR_clear_error();
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE;
}

static inline void
open_tls(struct session *s, int version, const struct conn_limits *limits)
{
    int64_t until = clock_ms() + PATIENCE_MS;
    int r;

    limits_now = limits;
    connect_to(context, s, on_secured);
    client = SSL_new(client_rules);
    SSL_set_min_proto_version(client, version);
    SSL_set_max_proto_version(client, version);
    SSL_set_fd(client, s->peer);
    while ((r = SSL_connect(client)) != 1 || s->c == NULL) {
        assert_true(r == 1 || wants_more(r));
        assert_true(clock_ms() < until);
        loop_turn(l, 0);
    }
    assert_int_equal(tls_handshakes(), 0);
}

static inline void
close_tls(struct session *s)
{
    SSL_free(client);
    client = NULL;
    done(s);
}

/* After the server has closed. */
static inline void
leave_closed(struct session *s)
{
    assert_int_equal(s->close_calls, 1);
    SSL_free(client);
    client = NULL;
    close(s->peer);
    loop_turn(l, 0);
}

/* All of it, turning the loop as the server has to read. */
static inline void
tell(const void *data, size_t n)
{
    int64_t until = clock_ms() + PATIENCE_MS;
    int r;

    while ((r = SSL_write(client, data, (int)n)) <= 0) {
        assert_true(wants_more(r) && clock_ms() < until);
        loop_turn(l, 0);
    }
    assert_int_equal(r, n);
}

/* Exactly n bytes that come to the client. */
static inline void
hear(uint8_t *dst, size_t n)
{
    int64_t until = clock_ms() + PATIENCE_MS;
    size_t got = 0;

    while (got < n) {
        int r = SSL_read(client, dst + got, (int)(n - got));

        if (r > 0) {
            got += (size_t)r;
            continue;
        }
        assert_true(wants_more(r));
        assert_true(clock_ms() < until);
        loop_turn(l, 0);
    }
}

static inline void
turns_until_got(const struct session *s, size_t n)
{
    int64_t until = clock_ms() + PATIENCE_MS;

    while (s->got_len < n && clock_ms() < until) {
        loop_turn(l, 0);
    }
    assert_int_equal(s->got_len, n);
}

#endif
