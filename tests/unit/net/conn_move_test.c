/*
 * Giving a connection away and taking it, within one process: what moves along,
 * what is refused, and the end of a pump.
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

#include <sys/un.h>

#include "net/conn_move.h"
#include "net/tls_pump.h"
#include "tls_client.h"

#define PUMPS 3 /* at most */

static uint8_t
byte_at(size_t i)
{
    return (uint8_t)(i * 7 + i / 251);
}

/* Packs the connection of s and detaches it. */
static int
detach(struct session *s, struct buf *bytes)
{
    struct pack out = { .to = bytes };
    struct errmsg err;
    int fd;

    buf_init(bytes, 100000);
    assert_int_equal(conn_detach(s->c, &out, &fd, &err), 0);
    loop_turn(l, 0);
    assert_int_equal(s->close_calls, 0);
    return fd;
}

static void
its_facts_and_totals_move_along(void **state)
{
    struct unpack in;
    struct errmsg err;
    struct session s;
    struct buf bytes;
    int64_t opened;

    (void)state;
    open_session(&s, &handlers, &wide);
    s.eat = 2;
    say(&s, "abc");
    loop_turn(l, 1000);
    assert_int_equal(conn_write(s.c, "12345", 5), 0);
    s.c->secure = true;
    opened = s.c->opened_ms -= 7;
    conn_set_incomplete(s.c, false);
    int fd = detach(&s, &bytes);

    in = (struct unpack){ .rest = buf_str(&bytes) };
    s.c = conn_attach(l, fd, &in, &wide, &err);
    assert_non_null(s.c);
    conn_set_handlers(s.c, &handlers, &s);
    assert_int_equal(s.data_calls, 1); /* not within the call */
    loop_turn(l, 0);
    saw(&s, "abc");
    assert_int_equal(s.c->bytes_in, 3);
    assert_int_equal(s.c->bytes_out, 5);
    assert_int_equal(s.c->opened_ms, opened);
    assert_true(s.c->secure && !s.c->incomplete);
    buf_clear(&bytes);
    done(&s);
}

static struct errmsg refusal; /* of the last one that was refused */

/* Attaching to fd what was packed, with the limits. */
static bool
attaches(struct str bytes, int fd, const struct conn_limits *limits)
{
    struct unpack in = { .rest = bytes };
    struct session nobody = { .eat = 0 };
    struct conn *c = conn_attach(l, fd, &in, limits, &refusal);

    if (c == NULL) {
        assert_int_equal(fcntl(fd, F_GETFD), -1);
        return false;
    }
    nobody.c = c;
    conn_set_handlers(c, &handlers, &nobody);
    conn_close(c, "only tried");
    loop_turn(l, 0);
    return true;
}

static void
what_was_not_packed_so_is_refused(void **state)
{
    struct session s;
    struct buf bytes;
    struct str all;
    int pair[2];

    (void)state;
    open_session(&s, &handlers, &wide);
    s.eat = 0;
    say(&s, "more than sixteen bytes");
    loop_turn(l, 1000);
    int fd = detach(&s, &bytes);

    all = buf_str(&bytes);
    for (size_t n = 0; n < all.len; n++) {
        assert_false(attaches(str_first(all, n), dup(fd), &wide));
    }
    assert_false(attaches(all, dup(fd), &small)); /* more than it may keep */
    assert_string_equal(refusal.text,
                        "23 bytes unread and 0 unsent are more than "
                        "16 and 32");
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    assert_false(attaches(all, pair[0], &wide)); /* no stream */
    close(pair[1]);
    assert_false(attaches(all, open("/dev/null", O_RDONLY), &wide));
    assert_true(attaches(all, dup(fd), &wide));
    close(fd);
    close(s.peer);
    buf_clear(&bytes);
}

/* Where numbers lie in what was packed: three addresses of 21 bytes first. */
enum {
    VIA = 42,
    PORT = 1,
    OPENED = 63,
    LAST_READ = 71,
    LAST_WRITE = 79,
    BYTES_IN = 87,
    BYTES_OUT = 95,
    LISTENER = 103,
    FLAGS = 107
};

static void
numbers_out_of_bounds_are_refused(void **state)
{
    static const struct {
        size_t at;
        uint8_t byte;
    } wrong[] = {
        { VIA, 77 },
        { VIA + PORT + 2, 1 },
        { BYTES_IN + 7, 0x80 },
        { BYTES_OUT + 7, 0x80 },
        { LISTENER + 1, 0xff },
        { FLAGS, 0x10 },
    };
    struct session s;
    struct buf bytes;

    (void)state;
    open_session(&s, &handlers, &wide);
    int fd = detach(&s, &bytes);
    uint8_t *data = (uint8_t *)(uintptr_t)buf_data(&bytes);

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint8_t right = data[wrong[i].at];

        data[wrong[i].at] = wrong[i].byte;
        assert_false(attaches(buf_str(&bytes), dup(fd), &wide));
        data[wrong[i].at] = right;
    }
    assert_true(attaches(buf_str(&bytes), fd, &wide));
    close(s.peer);
    buf_clear(&bytes);
}

/* With times of that value. */
static void
attach_at(struct session *s, int fd, struct buf *bytes, int64_t ms)
{
    uint8_t *data = (uint8_t *)(uintptr_t)buf_data(bytes);
    struct unpack in = { .rest = buf_str(bytes) };
    struct errmsg err;

    memcpy(data + OPENED, &ms, sizeof(ms));
    memcpy(data + LAST_READ, &ms, sizeof(ms));
    memcpy(data + LAST_WRITE, &ms, sizeof(ms));
    s->c = conn_attach(l, fd, &in, &wide, &err);
    assert_non_null(s->c);
    conn_set_handlers(s->c, &handlers, s);
    buf_clear(bytes);
}

/* Nobody waits for them before they have come. */
static void
times_to_come_are_now(void **state)
{
    struct session s;
    struct buf bytes;
    int fd;

    (void)state;
    open_session(&s, &handlers, &wide);
    fd = detach(&s, &bytes);
    attach_at(&s, fd, &bytes, INT64_MAX);
    assert_int_equal(s.c->opened_ms, loop_now(l));
    assert_int_equal(s.c->last_read_ms, loop_now(l));
    assert_int_equal(s.c->last_write_ms, loop_now(l));
    fd = detach(&s, &bytes);
    attach_at(&s, fd, &bytes, INT64_MIN);
    assert_int_equal(s.c->opened_ms, 0);
    assert_int_equal(s.c->last_read_ms, 0);
    assert_int_equal(s.c->last_write_ms, 0);
    done(&s);
}

static void
what_was_not_sent_is_sent_on(void **state)
{
    static uint8_t data[1000000];
    size_t heard = 0;
    struct unpack in;
    struct errmsg err;
    struct session s;
    struct buf bytes;

    (void)state;
    open_session(&s, &handlers, &wide);
    assert_int_equal(conn_write(s.c, data, sizeof(data)), 0);
    assert_true(conn_unsent(s.c) > 0);
    buf_init(&bytes, CONN_MOVE_BYTES + sizeof(data));
    struct pack out = { .to = &bytes };
    int fd;

    assert_int_equal(conn_detach(s.c, &out, &fd, &err), 0);
    assert_false(attaches(buf_str(&bytes), dup(fd), &small));
    assert_non_null(strstr(refusal.text, "unsent are more than 16 and 32"));
    in = (struct unpack){ .rest = buf_str(&bytes) };
    s.c = conn_attach(l, fd, &in, &wide, &err);
    assert_non_null(s.c);
    conn_set_handlers(s.c, &handlers, &s);
    for (int i = 0; i < TURNS && heard < sizeof(data); i++) {
        heard += drain(s.peer);
        loop_turn(l, 0);
    }
    assert_int_equal(heard, sizeof(data));
    buf_clear(&bytes);
    done(&s);
}

/* Detaches a TCP connection whose peer is named as accept(2) has it. */
static int
detach_tcp(struct session *s, struct buf *bytes)
{
    struct sockaddr_storage ss = { 0 };
    socklen_t len = sizeof(ss);

    open_tcp(s, &handlers, &wide);
    assert_int_equal(getpeername(s->c->io.fd, (struct sockaddr *)&ss, &len), 0);
    addr_from_socket(&s->c->via, &ss);
    return detach(s, bytes);
}

static int
listening_socket(void)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static void
only_the_socket_that_was_packed_is_taken(void **state)
{
    struct session s, other;
    struct buf bytes, others;
    int pair[2];

    (void)state;
    int fd = detach_tcp(&s, &bytes);
    int wrong = detach_tcp(&other, &others);

    assert_false(attaches(buf_str(&bytes), wrong, &wide));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_false(attaches(buf_str(&bytes), pair[0], &wide));
    close(pair[1]);
    assert_false(attaches(buf_str(&bytes), listening_socket(), &wide));
    assert_false(
        attaches(buf_str(&bytes), socket(AF_INET, SOCK_STREAM, 0), &wide));
    assert_false(
        attaches(buf_str(&bytes), socket(AF_INET, SOCK_DGRAM, 0), &wide));
    assert_true(attaches(buf_str(&bytes), fd, &wide));
    close(s.peer);
    close(other.peer);
    buf_clear(&bytes);
    buf_clear(&others);
}

/* A stream of a unix socket that has a name is no end of a pair. */
static int
named_stream(int *far)
{
    struct sockaddr_un at = { .sun_family = AF_UNIX };
    int lfd = socket(AF_UNIX, SOCK_STREAM, 0);
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(at.sun_path, sizeof(at.sun_path), "%s", in_dir("stream"));
    unlink(at.sun_path);
    assert_int_equal(bind(lfd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(lfd, 1), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    *far = accept(lfd, NULL, NULL);
    close(lfd);
    return fd;
}

static void
only_an_end_of_a_pair_is_taken_for_a_pump(void **state)
{
    struct session s, plain;
    struct buf bytes, others;
    int far;

    (void)state;
    open_tls(&s, TLS1_3_VERSION, &wide);
    int fd = detach(&s, &bytes);
    int wrong = detach_tcp(&plain, &others);

    assert_false(attaches(buf_str(&bytes), wrong, &wide));
    assert_false(attaches(buf_str(&bytes), named_stream(&far), &wide));
    assert_true(attaches(buf_str(&bytes), fd, &wide));
    SSL_free(client);
    client = NULL;
    close(far);
    close(s.peer);
    close(plain.peer);
    loop_turn(l, 0);
    loop_turn(l, 0);
    buf_clear(&bytes);
    buf_clear(&others);
}

/* From the role that took it, for example, back to a worker. */
static void
one_at_a_pump_moves_on(void **state)
{
    struct session s;
    struct unpack in;
    struct errmsg err;
    struct buf bytes;

    (void)state;
    open_tls(&s, TLS1_3_VERSION, &wide);
    s.c->via = (struct addr){ .family = AF_INET, .port = 1, .ip = { 127 } };
    for (int i = 0; i < 3; i++) {
        int fd = detach(&s, &bytes);

        in = (struct unpack){ .rest = buf_str(&bytes) };
        s.c = conn_attach(l, fd, &in, &wide, &err);
        assert_non_null(s.c);
        conn_set_handlers(s.c, &handlers, &s);
        buf_clear(&bytes);
    }
    assert_int_equal(tls_pumps(), 1);
    tell("hello", 5);
    turns_until_got(&s, 5);
    saw(&s, "hello");
    tls_pump_stop("test is over");
    SSL_free(client);
    client = NULL;
    done(&s);
}

static void
one_that_ends_does_not_move(void **state)
{
    struct pack out;
    struct errmsg err;
    struct session s;
    struct buf bytes;
    int fd;

    (void)state;
    open_session(&s, &handlers, &wide);
    buf_init(&bytes, 10);
    out = (struct pack){ .to = &bytes };
    assert_int_equal(conn_detach(s.c, &out, &fd, &err), -1); /* no room */
    assert_false(s.c->closed);
    buf_clear(&bytes);
    buf_init(&bytes, 100000);
    out = (struct pack){ .to = &bytes };
    conn_finish(s.c, 5000, "finished");
    assert_int_equal(conn_detach(s.c, &out, &fd, &err), -1);
    buf_clear(&bytes);
    done(&s);
}

/* The far end of a pump has said much and is closed while the peer does not
 * read: nothing of it is lost, and then comes TLS's own end. */
static void
what_the_pair_holds_is_sent_at_the_end(void **state)
{
    int64_t until = clock_ms() + PATIENCE_MS;
    size_t said = 0, heard = 0;
    struct session s;
    struct buf bytes;
    uint8_t data[1000];

    (void)state;
    open_tls(&s, TLS1_3_VERSION, &wide);
    int far = detach(&s, &bytes);
    int full = 0;

    while (full < 3) { /* in the pair, the pump and the peer's socket */
        ssize_t n;

        for (size_t k = 0; k < sizeof(data); k++) {
            data[k] = byte_at(said + k);
        }
        n = send(far, data, sizeof(data), MSG_DONTWAIT);
        said += n > 0 ? (size_t)n : 0;
        full = n > 0 ? 0 : full + 1;
        loop_turn(l, 0);
    }
    close(far);
    for (int n = 0; n != -1;) {
        assert_true(clock_ms() < until);
        loop_turn(l, 0);
        n = SSL_read(client, data, sizeof(data));
        for (int k = 0; k < n; k++) {
            assert_int_equal(data[k], byte_at(heard + (size_t)k));
        }
        heard += n > 0 ? (size_t)n : 0;
        n = n > 0 || wants_more(n) ? 0 : -1;
    }
    assert_int_equal(heard, said);
    assert_true(SSL_get_shutdown(client) & SSL_RECEIVED_SHUTDOWN);
    SSL_free(client);
    client = NULL;
    close(s.peer);
    loop_turn(l, 0);
    buf_clear(&bytes);
}

static void
pumps_are_counted_and_have_a_limit(void **state)
{
    struct pack out;
    struct errmsg err;
    struct session s[PUMPS + 1];
    SSL *clients[PUMPS + 1];
    struct buf bytes[PUMPS + 1];
    int fd, ends[PUMPS];

    (void)state;
    for (size_t i = 0; i <= PUMPS; i++) {
        open_tls(&s[i], TLS1_3_VERSION, &wide);
        clients[i] = client;
        assert_int_equal(tls_pumps(), i);
        if (i < PUMPS) {
            ends[i] = detach(&s[i], &bytes[i]);
        }
    }
    buf_init(&bytes[PUMPS], 100000);
    out = (struct pack){ .to = &bytes[PUMPS] };
    assert_int_equal(conn_detach(s[PUMPS].c, &out, &fd, &err), -1);
    assert_false(s[PUMPS].c->closed);
    close(ends[0]);
    while (tls_pumps() == PUMPS) { /* the peer answers close_notify */
        SSL_read(clients[0], &(char){ 0 }, 1);
        SSL_shutdown(clients[0]);
        shutdown(s[0].peer, SHUT_WR);
        loop_turn(l, 10);
    }
    tls_pump_stop("test is over");
    assert_int_equal(tls_pumps(), 0);
    loop_turn(l, 0);
    for (size_t i = 0; i <= PUMPS; i++) {
        char byte;

        client = clients[i];
        if (i < PUMPS) { /* the others end at once, as TLS does */
            assert_int_equal(SSL_read(client, &byte, 1), 0);
            assert_true(SSL_get_shutdown(client) & SSL_RECEIVED_SHUTDOWN);
            close(s[i].peer);
        } else {
            done(&s[i]);
        }
        SSL_free(client);
        buf_clear(&bytes[i]);
    }
    client = NULL;
    close(ends[1]);
    close(ends[2]);
    loop_turn(l, 0);
}

static size_t told;

static void
tell_count(size_t now)
{
    told = now;
}

static void
those_that_were_attached_are_counted(void **state)
{
    struct unpack in;
    struct errmsg err;
    struct session s;
    struct buf bytes;

    (void)state;
    conn_on_attached(tell_count);
    open_session(&s, &handlers, &wide);
    for (int i = 0; i < 2; i++) { /* it moves on */
        int fd = detach(&s, &bytes);

        assert_int_equal(conn_attached() + told, 0);
        in = (struct unpack){ .rest = buf_str(&bytes) };
        s.c = conn_attach(l, fd, &in, &wide, &err);
        assert_non_null(s.c);
        conn_set_handlers(s.c, &handlers, &s);
        assert_int_equal(conn_attached(), 1);
        assert_int_equal(told, 1);
        buf_clear(&bytes);
    }
    done(&s);
    assert_int_equal(conn_attached() + told, 0);
    conn_on_attached(NULL);
}

#define TEST(f) cmocka_unit_test(f)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(its_facts_and_totals_move_along),
        TEST(what_was_not_packed_so_is_refused),
        TEST(numbers_out_of_bounds_are_refused),
        TEST(times_to_come_are_now),
        TEST(what_was_not_sent_is_sent_on),
        TEST(only_the_socket_that_was_packed_is_taken),
        TEST(only_an_end_of_a_pair_is_taken_for_a_pump),
        TEST(one_at_a_pump_moves_on),
        TEST(one_that_ends_does_not_move),
        TEST(what_the_pair_holds_is_sent_at_the_end),
        TEST(pumps_are_counted_and_have_a_limit),
        TEST(those_that_were_attached_are_counted),
    };

    tls_pump_limit(PUMPS);
    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
