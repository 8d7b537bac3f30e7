/*
 * Fuzz target: answers of name servers, and resolv.conf.
 *
 * The first byte says how: over TCP, cancelled, never answered, with a name of
 * the input's; or that the rest is a resolv.conf.  Else two bytes are a length,
 * and so many bytes the answer to the first question, and so on; each answer
 * has the number and the question that were asked.  Each look-up is told once
 * (never when it was cancelled): addresses within their number, or a reason;
 * no descriptor is left.
 *
 * covers: src/net/resolve.c src/net/resolve_conf.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "net/resolve_conf.h"

#define PATIENCE 40 /* turns of the loop */
#define QUESTION_MAX 512
#define MANY (RESOLVE_AT_ONCE + RESOLVE_WAITING + 1)

enum { TCP = 1, CANCELS = 2, CONF = 4, SILENT = 8, ODD_NAME = 16 };

static struct {
    struct loop *loop;
    struct io udp, tcp, conn;
    char servers[64];
    char path[32]; /* of a resolv.conf */
    unsigned how;
    struct str answers; /* what is left of the input */
    unsigned told, open;
} dns;

/* ---- the server ---- */

/* The number and the question of what was asked, then what the input says;
 * the header's counts are the input's as well. */
static size_t
make_answer(uint8_t *out, const uint8_t *asked, size_t n)
{
    unsigned len = take_byte(&dns.answers) << 8 | take_byte(&dns.answers);
    struct str rest = str_first(dns.answers, len);
    size_t question = n - 12;

    dns.answers = str_skip(dns.answers, len);
    memcpy(out, asked, 2);
    take_bytes(&rest, out + 2, 10);
    out[2] |= 0x80; /* an answer */
    out[4] = 0;
    out[5] = 1; /* one question */
    memcpy(out + 12, asked + 12, question);
    memcpy(out + 12 + question, rest.ptr, rest.len);
    return 12 + question + rest.len;
}

static void
on_udp(struct io *io, unsigned ready)
{
    static uint8_t out[65536 + QUESTION_MAX];
    uint8_t asked[QUESTION_MAX];
    struct sockaddr_storage from;
    socklen_t len = sizeof(from);
    ssize_t n = recvfrom(io->fd, asked, sizeof(asked), MSG_DONTWAIT,
                         (struct sockaddr *)&from, &len);

    (void)ready;
    if (n <= 12 || (dns.how & SILENT) != 0) {
        return;
    }
    size_t size = make_answer(out, asked, (size_t)n);

    if ((dns.how & TCP) != 0) {
        out[2] |= 2; /* the rest by TCP */
        size = (size_t)n;
    }
    sendto(io->fd, out, size, MSG_DONTWAIT, (struct sockaddr *)&from, len);
}

static void
hang_up(void)
{
    int fd = dns.conn.fd;

    if (fd != -1) {
        io_stop(dns.loop, &dns.conn);
        close(fd);
    }
}

static void
on_conn(struct io *io, unsigned ready)
{
    static uint8_t out[2 + 65536 + QUESTION_MAX];
    uint8_t asked[4 * QUESTION_MAX];
    ssize_t n = recv(io->fd, asked, sizeof(asked), MSG_DONTWAIT);

    (void)ready;
    if (n <= 0) {
        hang_up();
        return;
    }
    /* A question that came in parts, or whose first half was read before, is
     * not answered. */
    for (size_t at = 0; at + 14 < (size_t)n; at += 2u + asked[at + 1]) {
        if (asked[at + 1] <= 12 || at + 2 + asked[at + 1] > (size_t)n) {
            return;
        }
        size_t size = make_answer(out + 2, asked + at + 2, asked[at + 1]);

        out[0] = (uint8_t)(size >> 8);
        out[1] = (uint8_t)size;
        send(io->fd, out, size + 2, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

static void
on_tcp(struct io *io, unsigned ready)
{
    int fd = accept4(io->fd, NULL, NULL, SOCK_CLOEXEC);

    (void)ready;
    if (fd != -1 && dns.conn.fd == -1) {
        io_start(dns.loop, &dns.conn, fd, IO_READ, on_conn);
    } else if (fd != -1) {
        close(fd);
    }
}

/* ---- life ---- */

static void
clean_up(void)
{
    unlink(dns.path);
}

static void
drop_line(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)line;
    (void)len;
}

static int
bind_to(int type, struct sockaddr_in *in)
{
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(*in);

    if (bind(fd, (struct sockaddr *)in, len) == -1) {
        close(fd);
        return -1;
    }
    require(getsockname(fd, (struct sockaddr *)in, &len) == 0);
    return fd;
}

static void
set_up(void)
{
    struct sockaddr_in in;
    struct errmsg err;
    int udp, tcp;

    do { /* one port that is free for both */
        in = (struct sockaddr_in){ .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        udp = bind_to(SOCK_DGRAM, &in);
        tcp = bind_to(SOCK_STREAM, &in);
        if (tcp == -1) {
            close(udp);
        }
    } while (tcp == -1);
    log_set_sink(drop_line, NULL);
    dns.loop = loop_new(&err);
    require(dns.loop != NULL && udp != -1 && listen(tcp, 8) == 0);
    io_init(&dns.udp);
    io_init(&dns.tcp);
    io_init(&dns.conn);
    require(io_start(dns.loop, &dns.udp, udp, IO_READ, on_udp) == 0 &&
            io_start(dns.loop, &dns.tcp, tcp, IO_READ, on_tcp) == 0);
    snprintf(dns.servers, sizeof(dns.servers), "127.0.0.1:%u",
             ntohs(in.sin_port));
    snprintf(dns.path, sizeof(dns.path), "/tmp/resolve_fuzz.XXXXXX");
    close(mkstemp(dns.path));
    atexit(clean_up);
}

/* ---- the client ---- */

static void
on_resolved(void *arg, const struct resolved *found, const struct errmsg *why)
{
    (void)arg;
    dns.told++;
    dns.open--;
    require((found == NULL) == (why != NULL));
    if (found != NULL) {
        require(found->count > 0 && found->count <= RESOLVE_ADDRESSES);
    }
    for (size_t i = 0; found != NULL && i < found->count; i++) {
        require(found->addrs[i].family == AF_INET ||
                found->addrs[i].family == AF_INET6);
        require(found->addrs[i].port == 0);
    }
    require(why == NULL || why->text[0] != '\0');
}

static void
wait_for_all(void)
{
    for (int i = 0; i < PATIENCE && dns.open > 0; i++) {
        loop_turn(dns.loop, (dns.how & SILENT) != 0);
    }
}

static void
ask(struct resolver *r, struct str name, int64_t ms)
{
    struct resolve *q = resolve_start(r, name, ms, on_resolved, NULL);

    dns.open++;
    if ((dns.how & CANCELS) != 0) {
        loop_turn(dns.loop, 0);
        if (dns.open > 0) { /* else it was told */
            resolve_cancel(&q);
            dns.open--;
        }
    } else {
        wait_for_all();
        if (dns.open > 0) {
            resolve_cancel(&q);
            dns.open--;
        }
    }
}

static void
look_at_rights(void)
{
    struct rights rights = { .fork = false };

    resolve_rights(&rights);
    require(rights.ports.count > 0 && rights.read.count <= 8);
    rights_clear(&rights);
}

static void
run(const struct resolver_options *o)
{
    struct errmsg err = { "" };
    struct resolver *r = resolver_new(dns.loop, o, &err);
    struct str name = STR("a.example");

    if (r == NULL) {
        require(err.text[0] != '\0');
        return;
    }
    look_at_rights();
    if ((dns.how & ODD_NAME) != 0) {
        name = str_cut(&dns.answers, '\n');
    }
    ask(r, name, (dns.how & SILENT) != 0 ? 2 : 1000);
    for (int i = 0; i < 4; i++) {
        loop_turn(dns.loop, 0);
    }
    resolver_free(&r);
}

/* More look-ups than there is room for, once. */
static void
crowd(void)
{
    static struct resolve *all[MANY];
    const struct resolver_options o = { .servers = dns.servers };
    struct errmsg err;
    struct resolver *r = resolver_new(dns.loop, &o, &err);

    require(r != NULL);
    for (size_t i = 0; i < MANY; i++) {
        all[i] = resolve_start(r, STR("a.example"), 1000, on_resolved, NULL);
    }
    dns.open = 1;
    loop_turn(dns.loop, 0);
    require(dns.open == 0); /* the last was refused */
    for (size_t i = MANY - 1; i > 0; i--) {
        resolve_cancel(&all[i - 1]);
    }
    resolver_free(&r);
}

static void
write_conf(struct str text)
{
    FILE *f = fopen(dns.path, "w");

    require(f != NULL && fwrite(text.ptr, 1, text.len, f) == text.len &&
            fclose(f) == 0);
}

/* A resolv.conf that was read, and is written anew.  Nobody is asked. */
static void
try_conf(struct str text)
{
    struct resolver_options o = { .path = dns.path };
    struct resolve_conf c = { .servers = NULL };
    struct ares_addr_port_node *server;
    ares_channel channel;
    int count = 0;

    write_conf(str_first(text, text.len / 2));
    if (resolve_conf_init(&c, &o) != ARES_SUCCESS) {
        return;
    }
    write_conf(text);
    resolve_conf_look(&c);
    for (server = c.servers; server != NULL; server = server->next) {
        count++;
    }
    require(count <= RESOLVE_SERVERS);
    if (resolve_conf_open(&c, &channel, NULL, NULL) == ARES_SUCCESS) {
        ares_destroy(channel);
    }
    resolve_conf_clear(&c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct resolver_options o = { .try_ms = 50 };

    if (dns.loop == NULL) {
        set_up();
        dns.how = SILENT;
        crowd();
    }
    size_t before = open_descriptors();

    dns.answers = str_of(data, size);
    dns.how = take_byte(&dns.answers);
    dns.open = 0;
    if ((dns.how & CONF) != 0) {
        try_conf(dns.answers);
    } else {
        o.servers = dns.servers;
        run(&o);
    }
    hang_up();
    require(dns.open == 0 && open_descriptors() == before);
    return 0;
}
