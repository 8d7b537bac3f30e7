/*
 * For tests: a name server on loopback, UDP and TCP, on the test's own loop.
 *
 * It knows the names of a table; all others there are not.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef UNIT_NET_DNS_SERVER_H
#define UNIT_NET_DNS_SERVER_H

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "event/loop.h"
#include "net/addr.h"
#include "net/resolve.h"

#define DNS_PATIENCE_MS 60000
#define DNS_CONNECTIONS 8

/* What a name has: addresses with blanks between them, or one of these. */
#define DNS_SILENT "silent" /* is never answered */
#define DNS_FAILS "fails"   /* SERVFAIL */
#define DNS_CUT "cut "      /* addresses, but over TCP alone */

struct dns_name {
    const char *name, *has;
};

enum { DNS_A = 1, DNS_AAAA = 28 };

static struct {
    const struct dns_name *names;
    size_t count;
    struct loop *loop;
    struct io udp, tcp, conns[DNS_CONNECTIONS];
    int udp_asked, tcp_asked;
    char servers[64]; /* for struct resolver_options */
    uint16_t port;
} dns;

static inline const char *
dns_find(const char *name)
{
    for (size_t i = 0; i < dns.count; i++) {
        if (strcmp(dns.names[i].name, name) == 0) {
            return dns.names[i].has;
        }
    }
    return NULL;
}

/* Reads the name of a question; returns where its type stands. */
static inline size_t
dns_read_name(const uint8_t *q, size_t n, char *name, size_t size)
{
    size_t at = 12, len = 0;

    while (at < n && q[at] != 0) {
        assert_true(at + q[at] < n && len + q[at] + 2 < size);
        if (len > 0) {
            name[len++] = '.';
        }
        memcpy(name + len, q + at + 1, q[at]);
        len += q[at];
        at += q[at] + 1u;
    }
    name[len] = 0;
    assert_true(at + 5 <= n);
    return at + 1;
}

static inline size_t
dns_add_address(uint8_t *at, int type, const struct addr *a)
{
    size_t len = type == DNS_A ? 4 : 16;
    /* the question's name, type, IN, 60 s */
    const uint8_t head[] = { 0xc0, 12, 0, (uint8_t)type, 0, 1, 0, 0,
                             0,    60, 0, (uint8_t)len };

    memcpy(at, head, sizeof(head));
    memcpy(at + sizeof(head), a->ip, len);
    return sizeof(head) + len;
}

static inline size_t
dns_add_addresses(uint8_t *answer, size_t at, int type, const char *has)
{
    struct str rest = str_from(has);

    while (rest.len > 0) {
        struct str word = str_cut(&rest, ' ');
        struct addr a;

        if (addr_parse_ip(word, &a) == 0 &&
            (a.family == AF_INET) == (type == DNS_A)) {
            at += dns_add_address(answer + at, type, &a);
            answer[7]++;
        }
    }
    return at;
}

/* The answer to a question of n bytes; 0: none. */
static inline size_t
dns_answer(uint8_t answer[4096], const uint8_t *q, size_t n, bool udp)
{
    char name[256];
    size_t at = dns_read_name(q, n, name, sizeof(name));
    const char *has = dns_find(name);
    int type = q[at + 1];

    at += 4;
    memcpy(answer, q, at);
    memset(answer + 6, 0, 6);
    answer[2] = 0x85; /* an answer, with authority, recursion wanted ... */
    answer[3] = 0x80; /* ... and there */
    if (has == NULL) {
        answer[3] |= 3;
    } else if (strcmp(has, DNS_SILENT) == 0) {
        return 0;
    } else if (strcmp(has, DNS_FAILS) == 0) {
        answer[3] |= 2;
    } else if (udp && strncmp(has, DNS_CUT, strlen(DNS_CUT)) == 0) {
        answer[2] |= 2;
    } else {
        at = dns_add_addresses(answer, at, type, has);
    }
    return at;
}

static inline void
dns_on_udp(struct io *io, unsigned ready)
{
    uint8_t q[512], answer[4096];
    struct sockaddr_storage from;
    socklen_t len = sizeof(from);
    ssize_t n = recvfrom(io->fd, q, sizeof(q), MSG_DONTWAIT,
                         (struct sockaddr *)&from, &len);

    (void)ready;
    if (n > 12) {
        size_t size = dns_answer(answer, q, (size_t)n, true);

        dns.udp_asked++;
        if (size > 0) {
            sendto(io->fd, answer, size, 0, (struct sockaddr *)&from, len);
        }
    }
}

static inline void
dns_close(struct io *io)
{
    int fd = io->fd;

    if (fd != -1) {
        io_stop(dns.loop, io);
        close(fd);
    }
}

/* A question comes in one piece, behind its length. */
static inline void
dns_on_conn(struct io *io, unsigned ready)
{
    uint8_t in[1024], out[4096 + 2];
    ssize_t n = recv(io->fd, in, sizeof(in), MSG_DONTWAIT);

    (void)ready;
    if (n <= 0) {
        dns_close(io);
        return;
    }
    for (size_t at = 0; at + 14 < (size_t)n; at += 2u + in[at + 1]) {
        size_t size = dns_answer(out + 2, in + at + 2, in[at + 1], false);

        dns.tcp_asked++;
        out[0] = (uint8_t)(size >> 8);
        out[1] = (uint8_t)size;
        assert_int_equal(send(io->fd, out, size + 2, MSG_NOSIGNAL), size + 2);
    }
}

static inline void
dns_on_tcp(struct io *io, unsigned ready)
{
    int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC);

    (void)ready;
    for (size_t i = 0; i < DNS_CONNECTIONS; i++) {
        if (dns.conns[i].fd == -1) {
            io_start(dns.loop, &dns.conns[i], fd, IO_READ, dns_on_conn);
            return;
        }
    }
    close(fd);
}

static inline int
dns_bind(int type, struct sockaddr_in *in)
{
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(*in);

    if (bind(fd, (struct sockaddr *)in, len) == -1) {
        close(fd);
        return -1;
    }
    assert_int_equal(getsockname(fd, (struct sockaddr *)in, &len), 0);
    return fd;
}

static inline void
dns_start(struct loop *l, const struct dns_name *names, size_t count)
{
    struct sockaddr_in in;
    int udp, tcp;

    do { /* one port that is free for both */
        in = (struct sockaddr_in){ .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        udp = dns_bind(SOCK_DGRAM, &in);
        assert_int_not_equal(udp, -1);
        tcp = dns_bind(SOCK_STREAM, &in);
        if (tcp == -1) {
            close(udp);
        }
    } while (tcp == -1);
    assert_int_equal(listen(tcp, 8), 0);
    dns.loop = l;
    dns.names = names;
    dns.count = count;
    io_init(&dns.udp);
    io_init(&dns.tcp);
    for (size_t i = 0; i < DNS_CONNECTIONS; i++) {
        io_init(&dns.conns[i]);
    }
    assert_int_equal(io_start(l, &dns.udp, udp, IO_READ, dns_on_udp), 0);
    assert_int_equal(io_start(l, &dns.tcp, tcp, IO_READ, dns_on_tcp), 0);
    dns.port = ntohs(in.sin_port);
    snprintf(dns.servers, sizeof(dns.servers), "127.0.0.1:%u",
             ntohs(in.sin_port));
}

static inline void
dns_stop(void)
{
    dns_close(&dns.udp);
    dns_close(&dns.tcp);
    for (size_t i = 0; i < DNS_CONNECTIONS; i++) {
        dns_close(&dns.conns[i]);
    }
}

/* Descriptors that are open. */
static inline size_t
open_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    size_t n = 0;

    while (readdir(d) != NULL) {
        n++;
    }
    closedir(d);
    return n - 3; /* ".", ".." and the folder itself */
}

#endif
