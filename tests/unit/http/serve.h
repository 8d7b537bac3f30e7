/*
 * An HTTP server on a real loop, and clients of it on the other ends of
 * socket pairs; both in the test's own process and thread.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_UNIT_HTTP_SERVE_H
#define TESTS_UNIT_HTTP_SERVE_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "event/loop.h"
#include "http/http.h"

#define PATIENCE_MS 60000 /* then what was waited for does not happen */

struct client {
    struct loop *loop; /* borrowed */
    int fd;
    struct buf got; /* everything that came */
    bool ended;     /* end of file, or a reset */
};

/* Nothing times out unless a test wants it; no access log. */
#define SERVE_SETTINGS                                                  \
    {                                                                   \
        .client_header_timeout = 600000, .client_body_timeout = 600000, \
        .send_timeout = 600000, .keepalive_timeout = 600000,            \
        .keepalive_requests = 1000, .keepalive_time = 3600000,          \
        .lingering_timeout = 2000, .lingering_time = 10000,             \
        .lingering_size = 1 << 20, .client_max_head_size = 16384,       \
        .client_max_uri_size = 8192, .client_max_header_size = 8192,    \
        .client_max_headers = 100, .access_log = -1,                    \
    }

/* The address of one server; good until the next call for another one. */
static inline const struct http_address *
address_of(const struct http_server *s)
{
    static struct http_named named;
    static struct http_address address = { .servers = &named, .count = 1 };

    named.server = s;
    return &address;
}

static inline struct client
client_open(struct loop *l, const struct http_server *s)
{
    static const struct addr peer = { .family = AF_INET,
                                      .port = 1234,
                                      .ip = { 127, 0, 0, 1 } };
    struct client c = { .loop = l };
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
                     0);
    buf_init(&c.got, 64 << 20);
    c.fd = fds[0];
    http_accept(
        l, address_of(s),
        &(struct conn_socket){ .fd = fds[1], .peer = peer, .local = peer });
    return c;
}

static inline void
client_close(struct client *c)
{
    if (c->fd != -1) {
        close(c->fd);
    }
    c->fd = -1;
    buf_clear(&c->got);
}

/* Turns the loop, and takes what came, but only up to most bytes. */
static inline void
client_turn(struct client *c, size_t most)
{
    uint8_t *dst;
    ssize_t n;

    loop_turn(c->loop, 5);
    if (c->fd == -1 || most == 0) {
        return;
    }
    dst = buf_reserve(&c->got, most < 65536 ? most : 65536);
    n = recv(c->fd, dst, most < 65536 ? most : 65536, 0);
    if (n > 0) {
        buf_commit(&c->got, (size_t)n);
    } else if (n == 0 || errno != EAGAIN) {
        c->ended = true;
    }
}

/* Sends all of it, turning the loop when the socket is full; what the server
 * does not take any more is lost. */
static inline void
client_send(struct client *c, struct str s)
{
    int64_t until = clock_ms() + PATIENCE_MS;

    while (s.len > 0 && clock_ms() < until) {
        ssize_t n = send(c->fd, s.ptr, s.len, MSG_NOSIGNAL);

        if (n > 0) {
            s = str_skip(s, (size_t)n);
        } else if (errno != EAGAIN) {
            return;
        }
        client_turn(c, 65536);
    }
    assert_int_equal(s.len, 0);
}

#define client_say(c, text) client_send((c), STR(text))

static inline const char *
client_find(const struct client *c, const char *text)
{
    return memmem(buf_data(&c->got), buf_len(&c->got), text, strlen(text));
}

/* Until that text came; false if the connection ended before, or nothing
 * comes. */
static inline bool
client_hears(struct client *c, const char *text)
{
    int64_t until = clock_ms() + PATIENCE_MS;

    while (client_find(c, text) == NULL) {
        if (c->ended || clock_ms() > until) {
            return false;
        }
        client_turn(c, 65536);
    }
    return true;
}

static inline bool
client_hears_end(struct client *c)
{
    int64_t until = clock_ms() + PATIENCE_MS;

    while (!c->ended && clock_ms() < until) {
        client_turn(c, 65536);
    }
    return c->ended;
}

/* Forgets everything up to and with that text. */
static inline void
client_forget(struct client *c, const char *text)
{
    const char *at = client_find(c, text);

    assert_non_null(at);
    buf_take(&c->got,
             (size_t)(at - (const char *)buf_data(&c->got)) + strlen(text));
}

/* How often it stands in what came. */
static inline size_t
client_count(const struct client *c, const char *text)
{
    struct str rest = buf_str(&c->got);
    size_t n = 0, len = strlen(text);

    while (rest.len >= len) {
        const char *at = memmem(rest.ptr, rest.len, text, len);

        if (at == NULL) {
            break;
        }
        rest = str_skip(rest, (size_t)(at - rest.ptr) + len);
        n++;
    }
    return n;
}

/* A few turns in which nothing new has to happen. */
static inline void
client_idle(struct client *c, int turns)
{
    while (turns-- > 0) {
        client_turn(c, 65536);
    }
}

/* The whole answer to a request with this line, NUL terminated, until the
 * next call; with a body if there is one. */
static inline const char *
client_ask(struct loop *l, const struct http_server *server, const char *line,
           const char *body)
{
    static char answer[4096];
    struct client c = client_open(l, server);
    struct buf b;

    buf_init(&b, 4096);
    buf_printf(&b, "%s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n", line);
    if (*body != '\0') {
        buf_printf(&b, "Content-Length: %zu\r\n", strlen(body));
    }
    buf_printf(&b, "\r\n%s", body);
    client_send(&c, buf_str(&b));
    buf_clear(&b);
    assert_true(client_hears_end(&c));
    str_copy(answer, sizeof(answer), buf_str(&c.got));
    client_close(&c);
    return answer;
}

#endif
