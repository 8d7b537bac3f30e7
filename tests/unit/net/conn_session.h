/*
 * For the tests of connections: a session that notes what it is told, does in
 * its callbacks what the test wants, and has its peer in the same process.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef UNIT_NET_CONN_SESSION_H
#define UNIT_NET_CONN_SESSION_H

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/conn.h"

#define BIG (8 * 1024 * 1024)
#define TURNS 100000

static struct loop *l;
static const struct conn_limits small = { .in_limit = 16, .out_limit = 32 };
static const struct conn_limits wide = { .in_limit = 65536, .out_limit = BIG };

/* A session under test: notes what it is told and does what it is told. */
struct session {
    struct conn *c;
    int peer; /* the other end, blocking */
    char got[256];
    size_t got_len;
    size_t eat; /* at most this much a call */
    int data_calls, writable_calls, eof_calls, close_calls;
    size_t offered; /* bytes at the last on_data */
    char reason[64];
    enum { NOTHING, CLOSE, FINISH, PAUSE, HAND_OVER, OFFER, REFUSE } then;
    struct session *heir;
};

static const struct conn_handlers handlers;

static inline void
act(struct session *s)
{
    switch (s->then) {
    case CLOSE:
        conn_close(s->c, "test is over");
        break;
    case FINISH:
        conn_finish(s->c, 5000, "finished");
        break;
    case PAUSE:
        conn_pause_reading(s->c);
        break;
    case HAND_OVER:
        s->heir->c = s->c;
        conn_set_handlers(s->c, &handlers, s->heir);
        break;
    case OFFER:
        s->then = NOTHING;
        conn_offer(s->c);
        break;
    case NOTHING:
    case REFUSE:
        break;
    }
}

static inline ssize_t
on_data(void *arg, const uint8_t *data, size_t n)
{
    struct session *s = arg;
    size_t eat = n < s->eat ? n : s->eat;

    assert_true(eat <= sizeof(s->got) - s->got_len);
    memcpy(s->got + s->got_len, data, eat);
    s->got_len += eat;
    s->offered = n;
    s->data_calls++;
    act(s);
    if (s->then == REFUSE) {
        return -1;
    }
    return s->c->closed ? -1 : (ssize_t)eat;
}

static inline void
on_writable(void *arg)
{
    struct session *s = arg;

    s->writable_calls++;
    act(s);
}

static inline void
on_eof(void *arg)
{
    struct session *s = arg;

    s->eof_calls++;
    act(s);
}

static inline void
on_close(void *arg, const char *reason)
{
    struct session *s = arg;

    s->close_calls++;
    str_copy(s->reason, sizeof(s->reason), str_from(reason));
    assert_int_equal(conn_write(s->c, "x", 1), -1);
    conn_close(s->c, "again");
}

static const struct conn_handlers handlers = { .on_data = on_data,
                                               .on_writable = on_writable,
                                               .on_eof = on_eof,
                                               .on_close = on_close };
static const struct conn_handlers hearing = { .on_data = on_data,
                                              .on_eof = on_eof,
                                              .on_close = on_close,
                                              .hears_out = true };
static const struct conn_handlers no_eof = { .on_data = on_data,
                                             .on_close = on_close };
/* A second table, so that handing over changes the handlers. */
static const struct conn_handlers first = { .on_data = on_data,
                                            .on_writable = on_writable,
                                            .on_close = on_close };

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

static inline void
open_session(struct session *s, const struct conn_handlers *h,
             const struct conn_limits *limits)
{
    struct addr a = { .family = AF_UNIX };
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    *s = (struct session){ .peer = pair[1], .eat = SIZE_MAX };
    s->c = conn_new(
        l, &(struct conn_socket){ .fd = pair[0], .peer = a, .local = a }, h, s,
        limits);
    assert_non_null(s->c);
}

/* A TCP pair over loopback, whose resets are real resets. */
static inline void
open_tcp(struct session *s, const struct conn_handlers *h,
         const struct conn_limits *limits)
{
    struct sockaddr_in in = { .sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    struct sockaddr_storage ss = { 0 };
    socklen_t len = sizeof(in);
    struct addr a = { .family = AF_INET, .ip = { 127, 0, 0, 1 } };
    int lfd = socket(AF_INET, SOCK_STREAM, 0);

    memcpy(&ss, &in, sizeof(in));
    assert_int_equal(bind(lfd, (struct sockaddr *)&ss, len), 0);
    assert_int_equal(listen(lfd, 1), 0);
    assert_int_equal(getsockname(lfd, (struct sockaddr *)&ss, &len), 0);
    *s = (struct session){ .eat = SIZE_MAX };
    s->peer = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(s->peer, (struct sockaddr *)&ss, len), 0);
    int fd = accept(lfd, NULL, NULL);

    close(lfd);
    s->c = conn_new(l, &(struct conn_socket){ .fd = fd, .peer = a, .local = a },
                    h, s, limits);
    assert_non_null(s->c);
}

static inline void
reset_peer(struct session *s)
{
    struct linger hard = { 1, 0 };

    setsockopt(s->peer, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(s->peer);
    s->peer = -1;
}

static inline void
done(struct session *s)
{
    conn_close(s->c, "test is over");
    assert_int_equal(s->close_calls, 1);
    if (s->peer != -1) {
        close(s->peer);
    }
    loop_turn(l, 0);
}

static inline void
say(struct session *s, const char *text)
{
    assert_int_equal(write(s->peer, text, strlen(text)), strlen(text));
}

static inline void
saw(const struct session *s, const char *text)
{
    assert_int_equal(s->got_len, strlen(text));
    assert_memory_equal(s->got, text, s->got_len);
}

/* Reads what comes to peer without waiting; bytes. */
static inline size_t
drain(int peer)
{
    static char sink[1 << 16];
    size_t total = 0;
    ssize_t n;

    while ((n = recv(peer, sink, sizeof(sink), MSG_DONTWAIT)) > 0) {
        total += (size_t)n;
    }
    return total;
}

#endif
