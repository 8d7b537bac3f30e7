/*
 * Connections outwards: which address wins, how each failure is told, and
 * giving up at any moment.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "counted.h"
#include "dns_server.h"
#include "net/outgoing.h"
#include "tls_peer.h"

#define LOCAL "allow loopback,deny private,deny linklocal,allow all"

/* There is a listener at .1, nobody at .2, and one that is full at .3. */
static const struct dns_name names[] = {
    { "one.test", "127.0.0.1" },
    { "dead.test", "127.0.0.2 127.0.0.1" },
    { "full.test", "127.0.0.3 127.0.0.1" },
    { "alone.test", "127.0.0.3" },
    { "refusing.test", "127.0.0.3 127.0.0.2" },
    { "mixed.test", "10.0.0.1 64:ff9b::a00:1 127.0.0.1" },
    { "private.test", "10.0.0.1 192.168.0.1" },
    { "silent.test", DNS_SILENT },
};

static struct loop *l;
static struct resolver *resolver;
static struct pool *pool;
static const struct egress *egress;
static struct tls_context *server;
static uint16_t port;
static int listener, full, fillers[4];

/* An IP that the next TCP socket is bound to, with the port of the listener;
 * NULL: none.  The kernel might choose it, but hardly ever does. */
static const char *bind_next;

int
socket(int domain, int type, int protocol)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
    int fd = (int)syscall(SYS_socket, domain, type, protocol);

    if (bind_next != NULL && (type & SOCK_STREAM) != 0) {
        inet_pton(AF_INET, bind_next, &in.sin_addr);
        bind_next = NULL;
        assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    }
    return fd;
}

static int
listen_at(const char *ip, int backlog)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t len = sizeof(in);

    inet_pton(AF_INET, ip, &in.sin_addr);
    assert_int_equal(bind(fd, (struct sockaddr *)&in, len), 0);
    assert_int_equal(listen(fd, backlog), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
    port = ntohs(in.sin_port);
    return fd;
}

/* Its queue is full, so that the kernel answers nobody who is new. */
static void
fill(void)
{
    struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

    inet_pton(AF_INET, "127.0.0.3", &in.sin_addr);
    for (size_t i = 0; i < sizeof(fillers) / sizeof(fillers[0]); i++) {
        fillers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        connect(fillers[i], (struct sockaddr *)&in, sizeof(in));
    }
}

static const struct egress *
rules_of(const char *text)
{
    struct str list[8], rest = str_from(text);
    size_t count = 0;

    while (rest.len > 0) {
        list[count++] = str_cut(&rest, ',');
    }
    return egress_parse(pool, list, count);
}

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    l = loop_new(&err);
    pool = pool_new(1024);
    egress = rules_of(LOCAL);
    listener = listen_at("127.0.0.1", 16);
    full = listen_at("127.0.0.3", 0);
    fill();
    write_pair("a", "DNS:one.test");

    struct tls_options options = usual_options();

    server = tls_context_new(&options, &err);
    dns_start(l, names, sizeof(names) / sizeof(names[0]));

    struct resolver_options o = { .servers = dns.servers, .try_ms = 5000 };

    resolver = resolver_new(l, &o, &err);
    return resolver == NULL || server == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    resolver_free(&resolver);
    dns_stop();
    tls_context_free(&server);
    for (size_t i = 0; i < sizeof(fillers) / sizeof(fillers[0]); i++) {
        close(fillers[i]);
    }
    close(listener);
    close(full);
    pool_free(&pool);
    loop_free(&l);
    remove_dir();
    return 0;
}

/* ---- one attempt ---- */

static struct {
    int calls;
    struct conn_socket socket;
    struct outgoing_failure failure;
} heard;

static void
on_done(void *arg, const struct conn_socket *socket,
        const struct outgoing_failure *failure)
{
    assert_ptr_equal(arg, &heard);
    assert_true((socket == NULL) != (failure == NULL));
    heard.calls++;
    heard.socket.fd = -1;
    heard.failure.why.text[0] = 0;
    if (socket != NULL) {
        heard.socket = *socket;
    } else {
        heard.failure = *failure;
    }
}

static struct outgoing_target
target(const char *host)
{
    return (struct outgoing_target){
        .host = str_from(host),
        .port = port,
        .resolver = resolver,
        .egress = egress,
        .timeout_ms = DNS_PATIENCE_MS,
    };
}

static void
turns_until_over(void)
{
    int64_t until = clock_ms() + DNS_PATIENCE_MS;

    while (heard.calls == 0 && clock_ms() < until) {
        loop_turn(l, 100);
    }
    assert_int_equal(heard.calls, 1);
    loop_turn(l, 0);
    assert_int_equal(heard.calls, 1);
}

static void
attempt(const struct outgoing_target *t)
{
    heard.calls = 0;
    outgoing_start(l, t, on_done, &heard);
    assert_int_equal(heard.calls, 0);
    turns_until_over();
}

static const char *
failure_of(const struct outgoing_target *t, enum outgoing_cause cause)
{
    size_t open = open_descriptors();

    attempt(t);
    assert_int_equal(heard.socket.fd, -1);
    assert_int_equal(heard.failure.cause, cause);
    assert_int_equal(open_descriptors(), open);
    return heard.failure.why.text;
}

/* It is connected, to the listener, and nothing else is open. */
static void
connects(const char *host, size_t open)
{
    struct outgoing_target t = target(host);
    char text[ADDR_TEXT], byte = 0;

    attempt(&t);
    assert_string_equal(heard.failure.why.text, "");
    assert_string_equal(addr_ip_text(&heard.socket.peer, text), "127.0.0.1");
    assert_int_equal(heard.socket.peer.port, port);
    assert_int_not_equal(heard.socket.local.port, 0);
    assert_null(heard.socket.tls);

    int fd = accept(listener, NULL, NULL);

    assert_int_equal(write(heard.socket.fd, "x", 1), 1);
    assert_int_equal(read(fd, &byte, 1), 1);
    assert_int_equal(byte, 'x');
    close(fd);
    conn_socket_close(&heard.socket);
    assert_int_equal(open_descriptors(), open);
}

/* "connect to IP:PORT: what" */
static const char *
told(const char *ip, const char *what)
{
    static char text[256];

    snprintf(text, sizeof(text), "connect to %s:%u: %s", ip, port, what);
    return text;
}

/* ---- which address ---- */

static void
the_first_that_connects_wins(void **state)
{
    static const char *const hosts[] = { "127.0.0.1", "::ffff:127.0.0.1",
                                         "one.test", "dead.test",
                                         "mixed.test" };
    size_t open = open_descriptors();
    int64_t before = counted(NET_OUTGOING, NET_OUTGOING_CONNECTED);

    (void)state;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        connects(hosts[i], open);
    }
    assert_int_equal(counted(NET_OUTGOING, NET_OUTGOING_CONNECTED), before + 5);
}

static void
who_is_silent_has_a_head_start_and_no_more(void **state)
{
    size_t open = open_descriptors();
    int64_t began = clock_ms();

    (void)state;
    connects("full.test", open);
    assert_in_range(clock_ms() - began, OUTGOING_HEAD_START_MS - 5,
                    DNS_PATIENCE_MS - 1);
}

/* Nobody is asked for addresses that are known, and each is judged. */
static void
known_addresses_are_not_looked_up(void **state)
{
    struct resolved known = { .count = 2 };
    struct outgoing_target t = target("missing.test");

    (void)state;
    assert_int_equal(addr_parse_ip(STR("10.0.0.1"), &known.addrs[0]), 0);
    assert_int_equal(addr_parse_ip(STR("127.0.0.1"), &known.addrs[1]), 0);
    t.known = &known;
    attempt(&t);
    assert_int_not_equal(heard.socket.fd, -1);
    conn_socket_close(&heard.socket);
    close(accept(listener, NULL, NULL));
    known.count = 1;
    assert_non_null(strstr(failure_of(&t, OUTGOING_EGRESS), "10.0.0.1"));
}

static void
a_path_stands_for_host_and_port(void **state)
{
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    struct outgoing_target t = target("");
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)state;
    snprintf(un.sun_path, sizeof(un.sun_path), "%s/s", dir);
    assert_int_equal(bind(fd, (struct sockaddr *)&un, sizeof(un)), 0);
    assert_int_equal(listen(fd, 1), 0);
    t.path = str_from(un.sun_path);
    attempt(&t);
    assert_int_not_equal(heard.socket.fd, -1);
    assert_int_equal(heard.socket.peer.family, AF_UNIX);
    conn_socket_close(&heard.socket);
    close(fd);

    const char *why = failure_of(&t, OUTGOING_CONNECT);

    assert_true(str_starts(str_from(why), STR("connect to unix:/")));
    assert_true(str_ends(str_from(why), STR("/s: Connection refused")));
    unlink(un.sun_path);
}

/* ---- failures ---- */

static void
each_failure_is_told(void **state)
{
    struct outgoing_target t = target("127.0.0.2");

    (void)state;
    assert_string_equal(failure_of(&t, OUTGOING_CONNECT),
                        told("127.0.0.2", "Connection refused"));
    t = target("missing.test");
    assert_string_equal(failure_of(&t, OUTGOING_NAME),
                        "cannot resolve \"missing.test\": there is no such "
                        "name");
    t = target("silent.test");
    t.timeout_ms = 30;
    assert_string_equal(failure_of(&t, OUTGOING_NAME),
                        "cannot resolve \"silent.test\": no answer within 30 "
                        "ms");
    t = target("alone.test"); /* whose name is to be found in that time too */
    t.timeout_ms = 1000;
    assert_string_equal(failure_of(&t, OUTGOING_TIMED_OUT),
                        told("127.0.0.3", "no answer within 1000 ms"));
    t = target("255.255.255.255");
    assert_string_equal(failure_of(&t, OUTGOING_EGRESS),
                        "egress: 255.255.255.255 is refused: it is not the "
                        "address of one host");
}

/* 127.0.0.3 is asked first, and is silent. */
static void
who_refused_tells_more_than_who_was_silent(void **state)
{
    struct outgoing_target t = target("refusing.test");

    (void)state;
    t.timeout_ms = OUTGOING_HEAD_START_MS + 1000;
    assert_string_equal(failure_of(&t, OUTGOING_CONNECT),
                        told("127.0.0.2", "Connection refused"));
}

/* A port that nobody listens on may connect to itself: then nobody is there,
 * and the next address is tried. */
static void
who_is_connected_to_itself_is_refused(void **state)
{
    struct outgoing_target t = target("127.0.0.4");
    size_t open = open_descriptors();

    (void)state;
    bind_next = "127.0.0.4";
    assert_string_equal(failure_of(&t, OUTGOING_CONNECT),
                        told("127.0.0.4", "Connection refused"));
    assert_null(bind_next);
    bind_next = "127.0.0.2";
    connects("dead.test", open);
}

static void
egress_is_asked_about_every_address(void **state)
{
    int64_t refused = counted(NET_EGRESS_REFUSED, 0);
    int64_t failed = counted(NET_OUTGOING, NET_OUTGOING_EGRESS);
    struct outgoing_target t = target("private.test");

    (void)state;
    assert_string_equal(failure_of(&t, OUTGOING_EGRESS),
                        "egress: 10.0.0.1 is refused by \"deny private\": "
                        "\"allow 10.0.0.1\" before it in egress would allow "
                        "it");
    t = target("one.test");
    t.egress = rules_of("deny private,deny linklocal,allow all");
    assert_string_equal(failure_of(&t, OUTGOING_EGRESS),
                        "egress: 127.0.0.1 is refused: \"allow all\" leaves "
                        "out loopback addresses: \"allow 127.0.0.1\" in "
                        "egress would allow it");
    assert_int_equal(counted(NET_EGRESS_REFUSED, 0), refused + 3);
    assert_int_equal(counted(NET_OUTGOING, NET_OUTGOING_EGRESS), failed + 2);
}

/* ---- TLS ---- */

static struct conn_socket accepted;

static void
on_accepted(void *arg, const struct conn_socket *socket)
{
    (void)arg;
    accepted = *socket;
}

static struct tls_client *
client_of(const char *ca)
{
    struct tls_client_options o = { .ca = file(ca) };
    struct errmsg err;
    struct tls_client *t = tls_client_new(&o, &err);

    assert_non_null(t);
    return t;
}

/* As attempt(), with the listener's side of the handshake. */
static void
attempt_tls(const struct outgoing_target *t)
{
    int64_t until = clock_ms() + DNS_PATIENCE_MS;
    int fd = -1;

    heard.calls = 0;
    accepted.fd = -1;
    outgoing_start(l, t, on_done, &heard);
    fcntl(listener, F_SETFL, O_NONBLOCK);
    while (fd == -1 && clock_ms() < until) {
        loop_turn(l, 10);
        fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
    }
    fcntl(listener, F_SETFL, 0);
    assert_int_not_equal(fd, -1);
    tls_accept(l, server, &(struct conn_socket){ .fd = fd }, on_accepted, NULL);
    turns_until_over();
    while (tls_handshakes() > 0 && clock_ms() < until) {
        loop_turn(l, 10);
    }
    loop_turn(l, 0);
}

static void
it_is_secured_where_that_is_wanted(void **state)
{
    struct tls_client *client = client_of("a.pem");
    struct outgoing_target t = target("one.test");
    size_t open = open_descriptors();

    (void)state;
    t.tls = client;
    attempt_tls(&t);
    assert_string_equal(heard.failure.why.text, "");
    assert_non_null(heard.socket.tls);
    conn_socket_close(&heard.socket); /* with its TLS: else it is a leak */
    conn_socket_close(&accepted);
    heard.socket = accepted = (struct conn_socket){ .fd = -1 };

    t = target("127.0.0.1"); /* which the certificate does not name */
    t.tls = client;
    t.tls_name = STR("one.test");
    attempt_tls(&t);
    assert_string_equal(heard.failure.why.text, "");
    conn_socket_close(&heard.socket);
    conn_socket_close(&accepted);
    heard.socket = accepted = (struct conn_socket){ .fd = -1 };

    t = target("dead.test");
    t.tls = client;
    attempt_tls(&t);
    assert_int_equal(heard.failure.cause, OUTGOING_TLS);
    assert_string_equal(heard.failure.why.text,
                        "TLS with dead.test: certificate verify failed: "
                        "hostname mismatch");
    if (accepted.fd != -1) {
        tls_free(&accepted.tls);
        close(accepted.fd);
    }
    assert_int_equal(open_descriptors(), open);
    tls_client_free(&client);
}

/* The listener takes the connection and says nothing. */
static void
a_handshake_has_an_end(void **state)
{
    struct tls_client *client = client_of("a.pem");
    struct outgoing_target t = target("one.test");

    (void)state;
    t.tls = client;
    t.timeout_ms = 1000;
    assert_string_equal(failure_of(&t, OUTGOING_TLS),
                        "TLS with one.test: the handshake was not over within "
                        "1000 ms");
    close(accept(listener, NULL, NULL));
    tls_client_free(&client);
}

/* ---- giving up ---- */

static void
who_gives_up_leaves_nothing(void **state)
{
    static const char *const hosts[] = { "127.0.0.1",   "one.test",
                                         "silent.test", "alone.test",
                                         "full.test",   "127.0.0.2" };
    struct tls_client *client = client_of("a.pem");
    size_t open = open_descriptors();

    (void)state;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        for (int turns = 0; turns < 6; turns++) {
            struct outgoing_target t = target(hosts[i]);

            t.tls = client; /* nobody answers that, so that it goes on */
            heard.calls = 0;

            struct outgoing *o = outgoing_start(l, &t, on_done, &heard);

            for (int k = 0; k < turns && heard.calls == 0; k++) {
                loop_turn(l, 0);
            }
            if (heard.calls == 0) {
                outgoing_cancel(&o);
                assert_null(o);
            }
            loop_turn(l, 0);
            assert_int_equal(open_descriptors(), open);
        }
    }
    tls_client_free(&client);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_connects_wins),
        cmocka_unit_test(who_is_silent_has_a_head_start_and_no_more),
        cmocka_unit_test(known_addresses_are_not_looked_up),
        cmocka_unit_test(a_path_stands_for_host_and_port),
        cmocka_unit_test(each_failure_is_told),
        cmocka_unit_test(who_refused_tells_more_than_who_was_silent),
        cmocka_unit_test(who_is_connected_to_itself_is_refused),
        cmocka_unit_test(egress_is_asked_about_every_address),
        cmocka_unit_test(it_is_secured_where_that_is_wanted),
        cmocka_unit_test(a_handshake_has_an_end),
        cmocka_unit_test(who_gives_up_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
