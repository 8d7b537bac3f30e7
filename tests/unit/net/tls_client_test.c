/*
 * TLS as a client: whom we believe, and how a handshake ends.
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

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "conn_session.h"
#include "net/tls_client.h"
#include "tls_peer.h"

#define PATIENCE_MS 60000

static X509 *
read_certificate(const char *pem)
{
    FILE *f = fopen(in_dir(pem), "r");
    X509 *x = PEM_read_X509(f, NULL, NULL, NULL);

    fclose(f);
    assert_non_null(x);
    return x;
}

/* Signs x anew, and frees it. */
static void
sign_again(X509 *x, EVP_PKEY *key, const char *pem)
{
    FILE *f = create(in_dir(pem), 0644);

    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    assert_int_equal(PEM_write_X509(f, x), 1);
    fclose(f);
    X509_free(x);
}

/* ca.pem, and leaf.pem for a.example that is signed by it. */
static void
write_chain(void)
{
    EVP_PKEY *ca_key = write_key("ca.key", 0600, NULL);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints,
                                            "critical,CA:TRUE");

    write_certificate("ca.pem", ca_key, NULL, -1, 100);

    X509 *ca = read_certificate("ca.pem");

    X509_add_ext(ca, e, -1);
    X509_EXTENSION_free(e);
    write_pair("leaf", "DNS:a.example");

    X509 *leaf = read_certificate("leaf.pem");

    X509_set_issuer_name(leaf, X509_get_subject_name(ca));
    sign_again(leaf, ca_key, "leaf.pem");
    sign_again(ca, ca_key, "ca.pem");
    EVP_PKEY_free(ca_key);
}

static void
write_dated(const char *name, long from, long until)
{
    char pem[64], key_file[64];

    snprintf(pem, sizeof(pem), "%s.pem", name);
    snprintf(key_file, sizeof(key_file), "%s.key", name);

    EVP_PKEY *key = write_key(key_file, 0600, NULL);

    write_certificate(pem, key, "DNS:a.example", from, until);
    EVP_PKEY_free(key);
}

static int
set_up_all(void **state)
{
    if (mkdtemp(dir) == NULL || set_up(state) == -1) {
        return -1;
    }
    write_pair("a", "DNS:a.example,IP:192.0.2.1,IP:2001:db8::1");
    write_pair("b", "DNS:b.example");
    write_pair("wild", "DNS:*.w.example,DNS:x*.v.example");
    write_pair("a.example", NULL); /* a common name alone */
    write_dated("old", -10, -1);
    write_dated("next", 1, 100);
    write_chain();
    setenv("SSL_CERT_FILE", in_dir("ca.pem"), 1); /* the system's */
    return 0;
}

static int
tear_down_all(void **state)
{
    unsetenv("SSL_CERT_FILE");
    remove_dir();
    return tear_down(state);
}

/* ---- the two ends ---- */

static struct tls_context *
server_of(const char *name, const char *second, enum tls_version version)
{
    char files[4][64];
    struct tls_options o = usual_options();
    struct errmsg err;

    snprintf(files[0], sizeof(files[0]), "%s.pem", name);
    snprintf(files[1], sizeof(files[1]), "%s.key", name);
    o.pairs[0] = (struct tls_pair){ file(files[0]), file(files[1]) };
    if (second != NULL) {
        snprintf(files[2], sizeof(files[2]), "%s.pem", second);
        snprintf(files[3], sizeof(files[3]), "%s.key", second);
        o.pairs[1] = (struct tls_pair){ file(files[2]), file(files[3]) };
        o.pair_count = 2;
    }
    o.min_version = o.max_version = version;

    struct tls_context *t = tls_context_new(&o, &err);

    assert_non_null(t);
    return t;
}

static struct tls_client *
client_of(const char *ca, bool insecure)
{
    struct tls_client_options o = { .ca = ca != NULL ? file(ca) : STR_NONE,
                                    .insecure = insecure };
    struct errmsg err;
    struct tls_client *t = tls_client_new(&o, &err);

    assert_non_null(t);
    return t;
}

static struct {
    struct conn_socket server, client;
    bool server_done, client_done;
    char why[512]; /* it failed */
} ends;

static void
on_server(void *arg, const struct conn_socket *socket)
{
    (void)arg;
    ends.server = *socket;
    ends.server_done = true;
}

static void
on_client(void *arg, const struct conn_socket *socket, const char *why)
{
    assert_ptr_equal(arg, &ends);
    assert_false(ends.client_done);
    assert_true((socket == NULL) != (why == NULL));
    ends.client_done = true;
    if (socket != NULL) {
        assert_non_null(socket->tls);
        ends.client = *socket;
    } else {
        str_copy(ends.why, sizeof(ends.why), str_from(why));
    }
}

static void
turns_until_done(const bool *done)
{
    int64_t until = clock_ms() + PATIENCE_MS;

    while (!*done && clock_ms() < until) {
        loop_turn(l, 100);
    }
    assert_true(*done);
    loop_turn(l, 0);
}

/* The descriptors of a connection whose client has begun. */
static int
begin(const struct tls_client *t, struct str host, struct tls_handshake **h)
{
    struct addr a = { .family = AF_UNIX };
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair),
                     0);
    memset(&ends, 0, sizeof(ends));
    *h = tls_client_begin(
        l, t, &(struct conn_socket){ .fd = pair[1], .peer = a, .local = a },
        host, on_client, &ends);
    return pair[0];
}

/* Both sides' handshake; "" or why it failed, with everything closed. */
static const char *
shake(const struct tls_context *s, const struct tls_client *t, const char *host)
{
    struct tls_handshake *h;
    int fd = begin(t, str_from(host), &h);

    assert_non_null(h);
    assert_false(ends.client_done);
    tls_accept(l, s, &(struct conn_socket){ .fd = fd }, on_server, NULL);
    turns_until_done(&ends.client_done);
    if (ends.why[0] == 0) {
        turns_until_done(&ends.server_done);
    }
    tls_accept_stop();
    loop_turn(l, 0);
    return ends.why;
}

static void
close_ends(void)
{
    if (ends.server_done) {
        tls_free(&ends.server.tls);
        close(ends.server.fd);
    }
    if (ends.client_done && ends.why[0] == 0) {
        tls_free(&ends.client.tls);
        close(ends.client.fd);
    }
}

/* ---- whom we believe ---- */

#define FAILED "certificate verify failed: "

static void
a_certificate_has_to_be_right(void **state)
{
    static const struct {
        const char *server, *ca, *host, *why;
    } cases[] = {
        { "a", "a.pem", "a.example", "" },
        { "a", "a.pem", "A.Example.", "" },
        { "a", "a.pem", "192.0.2.1", "" },
        { "a", "a.pem", "2001:db8::1", "" },
        { "leaf", "ca.pem", "a.example", "" },
        { "leaf", NULL, "a.example", "" },
        { "wild", "wild.pem", "x.w.example", "" },
        { "a", "a.pem", "b.example", FAILED "hostname mismatch" },
        { "a", "a.pem", "x.a.example", FAILED "hostname mismatch" },
        { "a", "a.pem", "192.0.2.2", FAILED "IP address mismatch" },
        { "leaf", "ca.pem", "192.0.2.1", FAILED "IP address mismatch" },
        { "wild", "wild.pem", "w.example", FAILED "hostname mismatch" },
        { "wild", "wild.pem", "y.x.w.example", FAILED "hostname mismatch" },
        { "wild", "wild.pem", "xy.v.example", FAILED "hostname mismatch" },
        { "a.example", "a.example.pem", "a.example",
          FAILED "hostname mismatch" },
        { "a", NULL, "a.example", FAILED "self-signed certificate" },
        { "a", "b.pem", "a.example", FAILED "self-signed certificate" },
        { "leaf", "b.pem", "a.example",
          FAILED "unable to get local issuer certificate" },
        { "old", "old.pem", "a.example", FAILED "certificate has expired" },
        { "next", "next.pem", "a.example",
          FAILED "certificate is not yet valid" },
    };

    (void)state;
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        size_t k = i / 2;
        struct tls_context *s =
            server_of(cases[k].server, NULL, i % 2 == 0 ? TLS_1_2 : TLS_1_3);
        struct tls_client *t = client_of(cases[k].ca, false);

        assert_string_equal(shake(s, t, cases[k].host), cases[k].why);
        close_ends();
        tls_client_free(&t);
        tls_context_free(&s);
    }
}

static void
who_is_insecure_takes_every_certificate(void **state)
{
    static const char *const servers[] = { "a", "old", "a.example" };
    struct tls_client *t = client_of(NULL, true);

    (void)state;
    for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
        struct tls_context *s = server_of(servers[i], NULL, TLS_1_3);

        assert_string_equal(shake(s, t, "nobody.example"), "");
        close_ends();
        tls_context_free(&s);
    }
    tls_client_free(&t);
}

static void
the_name_is_told(void **state)
{
    struct tls_context *s = server_of("a", "b", TLS_1_3);
    struct tls_client *t = client_of("b.pem", false);

    (void)state;
    assert_string_equal(shake(s, t, "b.example"), "");
    close_ends();
    tls_client_free(&t);
    tls_context_free(&s);
}

static void
its_file_has_to_be_right(void **state)
{
    static const char *const files[] = { "missing.pem", ".", "text.pem" };
    struct errmsg err;

    (void)state;
    write_text("text.pem", "no certificate\n");
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        struct tls_client_options o = { .ca = file(files[i]) };

        err.text[0] = 0;
        assert_null(tls_client_new(&o, &err));
        assert_non_null(strstr(err.text, "the file of CAs"));
        assert_non_null(strstr(err.text, files[i]));
    }
}

/* ---- what comes after, and what does not ---- */

static void
the_connection_carries_bytes(void **state)
{
    struct tls_context *s = server_of("a", NULL, TLS_1_3);
    struct tls_client *t = client_of("a.pem", false);
    struct session server = { .peer = -1, .eat = SIZE_MAX };
    struct session client = { .peer = -1, .eat = SIZE_MAX };
    int64_t until = clock_ms() + PATIENCE_MS;

    (void)state;
    assert_string_equal(shake(s, t, "a.example"), "");
    tls_client_free(&t); /* connections go on without it */
    server.c = conn_new(l, &ends.server, &no_eof, &server, &wide);
    client.c = conn_new(l, &ends.client, &no_eof, &client, &wide);
    assert_true(client.c->secure);
    assert_int_equal(conn_write(client.c, "question", 8), 0);
    assert_int_equal(conn_write(server.c, "answer", 6), 0);
    while ((server.got_len < 8 || client.got_len < 6) && clock_ms() < until) {
        loop_turn(l, 10);
    }
    saw(&server, "question");
    saw(&client, "answer");
    done(&client);
    while (server.close_calls == 0 && clock_ms() < until) {
        loop_turn(l, 10);
    }
    assert_string_equal(server.reason, "peer closed the connection");
    loop_turn(l, 0);
    tls_context_free(&s);
}

static void
who_does_not_speak_tls_is_left(void **state)
{
    static const struct {
        const char *says, *why;
    } cases[] = {
        { "", "the peer closed the connection" },
        { "HTTP/1.1 400 Bad Request\r\n\r\n", "wrong version number" },
        { "\x15\x03\x03\x00\x02\x02\x28", "sslv3 alert handshake failure" },
    };
    struct tls_client *t = client_of("a.pem", false);

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t len = i == 2 ? 7 : strlen(cases[i].says);
        struct tls_handshake *h;
        int fd = begin(t, STR("a.example"), &h);

        assert_int_equal(write(fd, cases[i].says, len), len);
        shutdown(fd, SHUT_WR);
        turns_until_done(&ends.client_done);
        assert_string_equal(ends.why, cases[i].why);
        close(fd);
    }
    tls_client_free(&t);
}

static void
who_gives_up_leaves_nothing(void **state)
{
    struct tls_client *t = client_of("a.pem", false);

    (void)state;
    for (int turns = 0; turns < 3; turns++) {
        struct tls_handshake *h;
        int fd = begin(t, STR("a.example"), &h);
        char bytes[4096];
        ssize_t n;

        for (int i = 0; i < turns; i++) {
            loop_turn(l, 0);
        }
        tls_client_cancel(&h);
        assert_null(h);
        tls_client_cancel(&h);
        do {
            n = read(fd, bytes, sizeof(bytes));
        } while (n > 0);
        assert_int_equal(n, 0);
        loop_turn(l, 0);
        assert_false(ends.client_done);
        close(fd);
    }
    tls_client_free(&t);
}

static void
a_host_has_to_be_one(void **state)
{
    char name[300];
    struct tls_client *t = client_of("a.pem", false);
    const struct str hosts[] = { STR_NONE, { name, sizeof(name) } };

    (void)state;
    memset(name, 'a', sizeof(name));
    for (size_t i = 0; i < 2; i++) {
        struct tls_handshake *h;
        int fd = begin(t, hosts[i], &h);
        char byte;

        assert_int_equal(errno, EINVAL);
        assert_null(h);
        assert_int_equal(read(fd, &byte, 1), 0);
        close(fd);
    }
    tls_client_free(&t);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_certificate_has_to_be_right),
        cmocka_unit_test(who_is_insecure_takes_every_certificate),
        cmocka_unit_test(the_name_is_told),
        cmocka_unit_test(its_file_has_to_be_right),
        cmocka_unit_test(the_connection_carries_bytes),
        cmocka_unit_test(who_does_not_speak_tls_is_left),
        cmocka_unit_test(who_gives_up_leaves_nothing),
        cmocka_unit_test(a_host_has_to_be_one),
    };

    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
