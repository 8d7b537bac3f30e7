/*
 * Fuzz target: an engine at the checking proxy, and the server behind it.
 *
 * The input is what the engine sends; behind a byte 0xff, what the server
 * sends.  0x01 stands for the port of the server of this target, 0x02 for the
 * header with the password of the run, 0x03 for the end of what is sent so far.
 *
 * A head that is taken is one head for the server, too: it ends where ours
 * does, closes the connection, and has no password.  When both sides are gone,
 * nothing is left.
 *
 * covers: modules/downloads/fetcher/proxy_request.c
 * covers: modules/downloads/fetcher/proxy_link.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "../../modules/downloads/fetcher/proxy.h"
#include "../../modules/downloads/fetcher/proxy_link.h"
#include "../../modules/downloads/fetcher/proxy_request.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/hash.h"
#include "base/log.h"
#include "http/parse.h"

#define TURNS 12

static struct {
    struct loop *loop;
    struct proxy *proxy;
    struct proxy_pass *pass;
    int listener;
    char port[8];
    char proof[160];
} fuzz;

static void
drop_line(void *arg, const char *line, size_t len)
{
    (void)arg;
    (void)line;
    (void)len;
}

static void
listen_somewhere(void)
{
    struct sockaddr_in in = { .sin_family = AF_INET };
    socklen_t len = sizeof(in);

    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fuzz.listener =
        socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    require(bind(fuzz.listener, (struct sockaddr *)&in, len) == 0 &&
            listen(fuzz.listener, 16) == 0 &&
            getsockname(fuzz.listener, (struct sockaddr *)&in, &len) == 0);
    snprintf(fuzz.port, sizeof(fuzz.port), "%u", ntohs(in.sin_port));
}

static void
take_pass(void)
{
    struct str who;
    char text[128];

    fuzz.pass = proxy_pass_new(fuzz.proxy);
    who = str_from(fuzz.pass->credentials);
    base64_encode(BASE64, (const uint8_t *)who.ptr, who.len, text);
    snprintf(fuzz.proof, sizeof(fuzz.proof),
             "Proxy-Authorization: Basic %s\r\n", text);
}

static void
begin(void)
{
    static const struct proxy_times times = { 1000, 1000, 1000 };
    static const struct resolver_options names = { .servers = "127.0.0.1:1",
                                                   .try_ms = 10 };
    struct str rule = STR("allow 127.0.0.1");
    struct errmsg err;

    log_set(LOG_DEBUG, LOG_TEXT);
    log_set_sink(drop_line, NULL);
    hash_init();
    fuzz.loop = loop_new(&err);
    fuzz.proxy = proxy_new_with(fuzz.loop, &names, &times, &err);
    require(fuzz.proxy != NULL);
    proxy_set_egress(fuzz.proxy, &rule, 1);
    listen_somewhere();
}

/* ---- a head alone ---- */

static void
check_head(struct pool *pool, const struct proxy_request *r)
{
    struct http_scan scan = { 0 };
    struct http_head head;
    ssize_t n =
        http_scan(&scan, (const uint8_t *)r->head.ptr, r->head.len,
                  &(struct http_limits){ 1 << 20, 1 << 20, 1 << 20, 1000 });

    require(n == (ssize_t)r->head.len);
    require(http_parse(pool, &scan, (const uint8_t *)r->head.ptr, r->head.len,
                       &head) == REFUSE_NONE);
    require(!head.chunked && !head.keep_alive && head.authority.len == 0);
    require(r->length == (head.length > 0 ? head.length : 0));
    for (size_t i = 0; i < head.header_count; i++) {
        require(
            !str_eq_nocase(str_first(head.headers[i].name, 6), STR("Proxy-")));
    }
}

static void
try_head(struct str bytes)
{
    struct pool *pool = pool_new(4096);
    struct http_scan scan = { 0 };
    struct proxy_request r;
    struct errmsg why = { "" };
    ssize_t n =
        http_scan(&scan, (const uint8_t *)bytes.ptr, bytes.len, &proxy_limits);

    if (n > 0) {
        int status = proxy_request_read(pool, &scan, (const uint8_t *)bytes.ptr,
                                        (size_t)n, &r, &why);

        if (status != 0) {
            require(status >= 400 && status < 600 && why.text[0] != '\0');
        } else {
            require(r.host.len > 0 && r.port > 0);
            require(r.tunnel == (r.head.len == 0));
            if (!r.tunnel) {
                check_head(pool, &r);
            }
        }
    }
    pool_free(&pool);
}

/* ---- both sides ---- */

static void
fill_in(struct str input, struct buf *to)
{
    for (size_t i = 0; i < input.len; i++) {
        char c = input.ptr[i];

        if (c == 1) {
            buf_add_str(to, str_from(fuzz.port));
        } else if (c == 2) {
            buf_add_str(to, str_from(fuzz.proof));
        } else {
            buf_add(to, &c, 1);
        }
    }
}

static void
swallow(int fd)
{
    char bytes[16384];

    if (fd != -1) {
        while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
        }
    }
}

static void
turn(int client, int *server)
{
    for (int i = 0; i < TURNS; i++) {
        loop_turn(fuzz.loop, 0);
        if (*server == -1) {
            *server = accept4(fuzz.listener, NULL, NULL, SOCK_CLOEXEC);
        }
        swallow(client);
        swallow(*server);
    }
}

static void
run(struct str says, struct str answer)
{
    static const struct addr peer = { .family = AF_UNIX };
    int fds[2], server = -1;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == -1) {
        return;
    }
    proxy_link_begin(
        fuzz.proxy,
        &(struct conn_socket){ .fd = fds[0], .peer = peer, .local = peer });
    while (says.len > 0) {
        struct str part = str_cut(&says, 3);

        send(fds[1], part.ptr, part.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        turn(fds[1], &server);
    }
    if (server != -1) {
        send(server, answer.ptr, answer.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        turn(fds[1], &server);
        close(server);
        server = -1;
        turn(fds[1], &server);
    }
    close(fds[1]);
    turn(-1, &server);
    if (server != -1) {
        close(server);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = str_of(data, size), says;
    struct buf text;

    if (fuzz.loop == NULL) {
        begin();
    }
    says = str_cut(&rest, (char)0xff);
    take_pass();
    buf_init(&text, 1 << 20);
    fill_in(says, &text);
    try_head(buf_str(&text));
    run(buf_str(&text), rest);
    buf_clear(&text);
    proxy_pass_free(&fuzz.pass);
    LIST_EACH (node, &fuzz.proxy->strangers) {
        proxy_link_cut(node, "the input is over");
    }
    require(proxy_links(fuzz.proxy) == 0);
    loop_turn(fuzz.loop, 0);
    return 0;
}
