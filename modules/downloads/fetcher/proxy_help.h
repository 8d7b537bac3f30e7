/*
 * For tests of the checking proxy: a proxy, sockets of engines, and a server
 * that the test itself plays.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_PROXY_HELP_H
#define MODULES_DOWNLOADS_FETCHER_PROXY_HELP_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <stdlib.h>

#include "base/base64.h"
#include "dns_server.h"
#include "fetcher/proxy.h"

#define PATIENCE_MS 60000
#define PIECE 65536

static const struct dns_name names[] = {
    { "here.test", "127.0.0.1" },   { "mixed.test", "10.0.0.1 127.0.0.1" },
    { "private.test", "10.0.0.1" }, { "nobody.test", "127.0.0.2" },
    { "silent.test", DNS_SILENT },
};

static struct loop *l;
static struct proxy *proxy;
static struct proxy_pass *pass;
static int origin = -1; /* it listens */
static uint16_t port;   /* of it */

static inline void
allow(const char *text)
{
    struct str list[8], rest = str_from(text);
    size_t count = 0;

    while (rest.len > 0) {
        list[count++] = str_cut(&rest, ',');
    }
    proxy_set_egress(proxy, list, count);
}

static inline int
set_up_with(const struct proxy_times *times)
{
    struct sockaddr_in in = { .sin_family = AF_INET };
    socklen_t len = sizeof(in);
    struct errmsg err;

    l = loop_new(&err);
    dns_start(l, names, sizeof(names) / sizeof(names[0]));

    struct resolver_options o = { .servers = dns.servers, .try_ms = 5000 };

    proxy = proxy_new_with(l, &o, times, &err);
    if (proxy == NULL) {
        return -1;
    }
    allow("allow loopback,deny private,deny linklocal,allow all");
    pass = proxy_pass_new(proxy);
    origin = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    inet_pton(AF_INET, "127.0.0.1", &in.sin_addr);
    if (bind(origin, (struct sockaddr *)&in, len) == -1 ||
        listen(origin, 128) == -1 ||
        getsockname(origin, (struct sockaddr *)&in, &len) == -1) {
        return -1;
    }
    port = ntohs(in.sin_port);
    return 0;
}

static inline int
set_up(void **state)
{
    (void)state;
    return set_up_with(NULL);
}

#define LONG 60000

static inline int
set_up_head(void **state)
{
    (void)state;
    return set_up_with(&(struct proxy_times){ 50, LONG, LONG });
}

static inline int
set_up_connect(void **state)
{
    (void)state;
    return set_up_with(&(struct proxy_times){ LONG, 50, LONG });
}

static inline int
set_up_idle(void **state)
{
    (void)state;
    return set_up_with(&(struct proxy_times){ LONG, LONG, 50 });
}

static inline int
tear_down(void **state)
{
    (void)state;
    proxy_pass_free(&pass);
    proxy_free(&proxy);
    dns_stop();
    close(origin);
    loop_free(&l);
    return 0;
}

/* ---- sockets of the test ---- */

static inline int
dial(void)
{
    struct sockaddr_in in = { .sin_family = AF_INET,
                              .sin_port = htons(proxy_port(proxy)) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    inet_pton(AF_INET, "127.0.0.1", &in.sin_addr);
    assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    return fd;
}

static inline void
say(int fd, const char *text)
{
    assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Turns the loop until n bytes are there or the other side has ended; how many
 * there are, -1: it was reset. */
static inline ssize_t
hear(int fd, char *dst, size_t n)
{
    int64_t until = clock_ms() + PATIENCE_MS;
    size_t len = 0;

    while (len < n) {
        ssize_t got = recv(fd, dst + len, n - len, MSG_DONTWAIT);

        if (got == 0) {
            break;
        }
        if (got > 0) {
            len += (size_t)got;
            continue;
        }
        if (errno != EAGAIN) {
            return -1;
        }
        assert_true(clock_ms() < until);
        loop_turn(l, 10);
    }
    return (ssize_t)len;
}

/* All that comes until the end, as a text. */
static inline const char *
hear_all(int fd)
{
    static char text[8192];
    ssize_t n = hear(fd, text, sizeof(text) - 1);

    text[n < 0 ? 0 : n] = '\0';
    return n < 0 ? "reset" : text;
}

/* The text comes, and nothing that differs. */
static inline void
expect(int fd, const char *text)
{
    char got[8192] = "";

    assert_int_equal(hear(fd, got, strlen(text)), strlen(text));
    assert_string_equal(got, text);
}

static inline int
accept_one(void)
{
    int64_t until = clock_ms() + PATIENCE_MS;
    int fd;

    while ((fd = accept4(origin, NULL, NULL, SOCK_CLOEXEC)) == -1) {
        assert_true(clock_ms() < until);
        loop_turn(l, 10);
    }
    return fd;
}

/* The same, and reads the head: who closes on unread bytes resets. */
static inline int
serve_one(void)
{
    int fd = accept_one();
    char last[4] = "";

    while (memcmp(last, "\r\n\r\n", 4) != 0) {
        memmove(last, last + 1, 3);
        assert_int_equal(hear(fd, last + 3, 1), 1);
    }
    return fd;
}

/* Nobody has connected to the server; all that is under way was done. */
static inline void
expect_nobody(void)
{
    assert_int_equal(accept4(origin, NULL, NULL, SOCK_CLOEXEC), -1);
}

static inline void
wait_links(size_t n)
{
    int64_t until = clock_ms() + PATIENCE_MS;

    while (proxy_links(proxy) != n) {
        assert_true(clock_ms() < until);
        loop_turn(l, 10);
    }
}

/* "Proxy-Authorization: Basic ...\r\n" of the pass. */
static inline const char *
proof_of(const struct proxy_pass *p)
{
    static char line[256];
    struct str url = str_skip(str_from(proxy_pass_url(p)), 7);
    struct str who = str_first(url, str_find(url, '@', 0));
    char text[128];

    base64_encode(BASE64, (const uint8_t *)who.ptr, who.len, text);
    snprintf(line, sizeof(line), "Proxy-Authorization: Basic %s\r\n", text);
    return line;
}

/* Writes a line with its "$" as the host and its "#" as the port. */
static inline void
fill_in(char *dst, size_t size, const char *line, const char *host)
{
    char number[8];
    size_t len = 0;

    snprintf(number, sizeof(number), "%u", (unsigned)port);
    for (; *line != '\0'; line++) {
        struct str part = str_of(line, 1);

        part = *line == '$' ? str_from(host) : part;
        part = *line == '#' ? str_from(number) : part;
        len = str_append(dst, size, len, part);
    }
}

/* A request with its proof. */
static inline int
ask(const char *line, const char *host, const char *more)
{
    char head[4096], first[2048];
    int fd = dial();

    fill_in(first, sizeof(first), line, host);
    snprintf(head, sizeof(head), "%s\r\n%s%s\r\n", first, proof_of(pass), more);
    say(fd, head);
    return fd;
}

static inline int
get(const char *host)
{
    char more[256];

    snprintf(more, sizeof(more), "Host: %s:%u\r\n", host, (unsigned)port);
    return ask("GET http://$:#/file?a=b HTTP/1.1", host, more);
}

static inline bool
begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

#endif
