/*
 * Connections that move to another process in the middle of a line, of the
 * head of a request, of RTMP's C0 and C1, with and without TLS: every byte
 * arrives once and in order, and what arrives is right as far as it goes when
 * either process is killed.
 *
 * Three processes: this one has the clients, OLD accepts and gives away, NEW
 * takes and answers.
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
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "hand_over.h"
#include "net/conn_move.h"
#include "net/tls_pump.h"
#include "spoken.h"
#include "tls_client.h"

#define COUNT 1000
#define GREETING (1024 * 1024) /* of each 50th: more than its socket takes */
#define STATE_MAX (2 * BIG)    /* bytes of one that moves */
#define DEADLINE_MS 300000

enum { PLAIN, TLS };
enum { NOBODY, OLD, NEW }; /* who is killed */

/* ---- what is said ---- */

struct words {
    uint8_t said[SPOKEN_MAX], heard[SPOKEN_MAX]; /* behind the greeting */
    size_t said_len, heard_len;
};

static struct words words[COUNT];

static void
prepare_words(void)
{
    for (int i = 0; i < COUNT; i++) {
        words[i].said_len = say_all(i, words[i].said);
        words[i].heard_len = hear_all(i, words[i].heard);
    }
}

static size_t
cut_of(int i) /* bytes that came before it moved */
{
    return (size_t)i * 7 % first_unit(i);
}

static size_t
greeting_len(int i)
{
    return i % 50 == 0 ? GREETING : 10;
}

static size_t
total_of(int i) /* bytes that its client gets */
{
    return greeting_len(i) + words[i].heard_len;
}

static uint8_t
heard_at(int i, size_t at)
{
    size_t greeting = greeting_len(i);

    return at < greeting ? (uint8_t)(i + (int)(at % 241))
                         : words[i].heard[at - greeting];
}

/* ---- the two processes ---- */

static struct speaker served[COUNT];
static int to_go; /* connections */

static void
serve_close(void *arg, const char *reason)
{
    (void)arg;
    (void)reason;
    to_go--;
}

static ssize_t
keep(void *arg, const uint8_t *data, size_t n)
{
    struct speaker *s = arg;

    (void)data;
    must(n <= cut_of(s->number));
    return 0;
}

/* It cannot answer when the process of its pump was killed. */
static ssize_t
serve(void *arg, const uint8_t *data, size_t n)
{
    struct speaker *s = arg;
    ssize_t eaten = serve_spoken(s, data, n);

    if (eaten == -1) {
        conn_close(s->c, "no answer");
    }
    return eaten;
}

static const struct conn_handlers keeping = { .on_data = keep,
                                              .on_close = serve_close };
static const struct conn_handlers serving = { .on_data = serve,
                                              .on_close = serve_close };

/* ---- OLD ---- */

static void
greet(struct speaker *s)
{
    size_t n = greeting_len(s->number);
    uint8_t *greeting = mem_alloc(n);

    for (size_t k = 0; k < n; k++) {
        greeting[k] = heard_at(s->number, k);
    }
    must(conn_write(s->c, greeting, n) == 0);
    mem_free(&greeting);
}

static void
on_accepted(void *arg, const struct conn_socket *socket)
{
    struct speaker *s = arg;

    s->c = conn_new(l, socket, &keeping, s, &wide);
    must(s->c != NULL);
    greet(s);
}

static void
give(struct speaker *s)
{
    struct buf bytes;
    struct pack out = { .to = &bytes };
    struct errmsg err;
    uint32_t len;
    int fd;

    buf_init(&bytes, STATE_MAX);
    must(conn_detach(s->c, &out, &fd, &err) == 0);
    s->c = NULL;
    len = (uint32_t)buf_len(&bytes);
    write_all(&s->number, sizeof(s->number));
    write_all(&len, sizeof(len));
    write_all(buf_data(&bytes), len);
    send_fd(fd);
    close(fd);
    buf_clear(&bytes);
}

/* Gives each away once what its client said before is there. */
static void
old_process(const int *fds, int kind)
{
    const struct addr local = { .family = AF_UNIX };
    int left = COUNT;
    struct errmsg err;

    l = loop_new(&err);
    must(l != NULL);
    for (int i = 0; i < COUNT; i++) {
        struct conn_socket s = { .fd = fds[i], .peer = local };

        served[i].number = i;
        if (kind == TLS) {
            tls_accept(l, context, &s, on_accepted, &served[i]);
        } else {
            on_accepted(&served[i], &s);
        }
    }
    while (left > 0) {
        loop_turn(l, 100);
        for (int i = 0; i < COUNT; i++) {
            struct speaker *s = &served[i];

            if (s->c != NULL && buf_len(&s->c->in) == cut_of(i)) {
                give(s);
                left--;
            }
        }
    }
    for (;;) { /* for the pumps, until it is killed */
        loop_turn(l, 1000);
    }
}

/* ---- NEW ---- */

static void
take(void)
{
    struct unpack in;
    struct errmsg err;
    uint8_t *bytes;
    uint32_t len;
    int number;

    read_all(&number, sizeof(number));
    must(number >= 0 && number < COUNT);
    read_all(&len, sizeof(len));
    bytes = mem_alloc(len);
    read_all(bytes, len);
    in = (struct unpack){ .rest = str_of(bytes, len) };

    struct speaker *s = &served[number];

    s->number = number;
    s->c = conn_attach(l, receive_fd(), &in, &wide, &err);
    must(s->c != NULL && unpack_ends(&in));
    conn_set_handlers(s->c, &serving, s);
    mem_free(&bytes);
}

static void
new_process(int done)
{
    struct errmsg err;

    l = loop_new(&err);
    must(l != NULL);
    for (int i = 0; i < COUNT; i++) {
        take();
    }
    to_go = COUNT;
    must(write(done, "d", 1) == 1);
    while (to_go > 0) {
        loop_turn(l, 1000);
    }
    _exit(0);
}

/* ---- the clients ---- */

struct client {
    int fd;
    SSL *ssl; /* NULL: plain */
    bool shaken, ended;
    size_t said, heard;
};

static struct client clients[COUNT];

/* Bytes, 0: not now, -1: the end. */
static ssize_t
client_io(struct client *c, uint8_t *data, size_t n, bool out)
{
    ssize_t r;

    if (c->ssl == NULL) {
        r = out ? send(c->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL)
                : recv(c->fd, data, n, MSG_DONTWAIT);
        return r > 0 ? r : r == -1 && errno == EAGAIN ? 0 : -1;
    }
    ERR_clear_error();
    r = out ? SSL_write(c->ssl, data, (int)n) : SSL_read(c->ssl, data, (int)n);
    if (r > 0) {
        return r;
    }
    int why = SSL_get_error(c->ssl, (int)r);

    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static void
client_says(struct client *c, int i, size_t until)
{
    ssize_t n;

    if (c->ended || c->said == until) {
        return;
    }
    n = client_io(c, words[i].said + c->said, until - c->said, true);
    c->said += n > 0 ? (size_t)n : 0;
}

/* At most `until` in all, so that something is left for later. */
static void
client_hears(struct client *c, int i, size_t until)
{
    static uint8_t data[65536];
    size_t room = until - c->heard;
    ssize_t n;

    if (c->ended || c->heard == until) {
        return;
    }
    n = client_io(c, data, room < sizeof(data) ? room : sizeof(data), false);
    for (ssize_t k = 0; k < n; k++) {
        assert_int_equal(data[k], heard_at(i, c->heard + (size_t)k));
    }
    c->heard += n > 0 ? (size_t)n : 0;
    c->ended = n == -1;
}

static void
shake(struct client *c)
{
    if (c->ssl != NULL && !c->shaken) {
        c->shaken = SSL_connect(c->ssl) == 1;
        ERR_clear_error();
    } else {
        c->shaken = true;
    }
}

/* One turn of all clients; how many have heard so much, or the end. */
static int
turn(bool moved, bool (*enough)(const struct client *c, int i))
{
    int count = 0;

    for (int i = 0; i < COUNT; i++) {
        struct client *c = &clients[i];

        shake(c);
        if (!c->shaken) {
            continue;
        }
        client_says(c, i, moved ? words[i].said_len : cut_of(i));
        if (moved) { /* before it, greetings fill the sockets */
            client_hears(c, i, total_of(i));
        }
        count += enough(c, i);
    }
    poll(NULL, 0, 1); /* the others' turn */
    return count;
}

static bool
has_begun(const struct client *c, int i)
{
    return c->said == cut_of(i);
}

static bool
has_heard_all(const struct client *c, int i)
{
    return c->heard == total_of(i);
}

static bool
has_heard_all_or_ended(const struct client *c, int i)
{
    return c->ended || has_heard_all(c, i);
}

/* ---- a test ---- */

static struct {
    pid_t old, new;
    int done; /* readable when all have moved */
} run;

/* Of the clients, and of what they are connected to. */
static void
close_ends(const int *ends)
{
    for (int i = 0; i < COUNT; i++) {
        close(clients[i].fd);
        if (ends != NULL) {
            close(ends[i]);
        }
    }
}

static void
start(int kind)
{
    static int ends[COUNT];
    int between[2], done[2];
    struct rlimit files = { .rlim_cur = 4096, .rlim_max = 4096 };

    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    memset(clients, 0, sizeof(clients));
    memset(served, 0, sizeof(served));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, between), 0);
    assert_int_equal(pipe(done), 0);
    for (int i = 0; i < COUNT; i++) {
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        fcntl(pair[1], F_SETFL, O_NONBLOCK);
        ends[i] = pair[0];
        clients[i].fd = pair[1];
    }
    for (int who = OLD; who <= NEW; who++) {
        pid_t pid = fork();

        if (pid == 0) {
            wire = between[who == NEW];
            close(between[who != NEW]);
            close(done[0]);
            close_ends(who == NEW ? ends : NULL);
            who == OLD ? old_process(ends, kind) : new_process(done[1]);
        }
        *(who == OLD ? &run.old : &run.new) = pid;
    }
    close(between[0]);
    close(between[1]);
    close(done[1]);
    run.done = done[0];
    for (int i = 0; i < COUNT; i++) {
        close(ends[i]);
        if (kind == TLS) {
            clients[i].ssl = SSL_new(client_rules);
            SSL_set_fd(clients[i].ssl, clients[i].fd);
        }
    }
}

static bool
all_moved(void)
{
    struct pollfd p = { .fd = run.done, .events = POLLIN };
    char byte;

    if (poll(&p, 1, 0) != 1) {
        return false;
    }
    assert_int_equal(read(run.done, &byte, 1), 1); /* else NEW has failed */
    return true;
}

static void
kill_one(pid_t *pid)
{
    kill(*pid, SIGKILL);
    assert_int_equal(waitpid(*pid, NULL, 0), *pid);
    *pid = 0;
}

static void
hang_up(void)
{
    for (int i = 0; i < COUNT; i++) {
        SSL_free(clients[i].ssl);
        close(clients[i].fd);
    }
    close(run.done);
}

/* Until all have begun and moved. */
static void
move_all(int64_t until)
{
    while (turn(false, has_begun) < COUNT || !all_moved()) {
        assert_true(clock_ms() < until);
    }
}

static void
move(int kind, int killed)
{
    int64_t until = clock_ms() + DEADLINE_MS;
    int status;

    start(kind);
    move_all(until);
    if (killed != NOBODY) {
        turn(true, has_heard_all); /* some of it is on its way */
        kill_one(killed == OLD ? &run.old : &run.new);
    }
    while (turn(true, has_heard_all_or_ended) < COUNT) {
        assert_true(clock_ms() < until);
    }
    if (killed == NOBODY || (killed == OLD && kind == PLAIN)) {
        assert_int_equal(turn(true, has_heard_all), COUNT);
    }
    hang_up();
    if (run.new != 0) { /* it ends with its last connection */
        assert_int_equal(waitpid(run.new, &status, 0), run.new);
        assert_int_equal(status, 0);
    }
    if (run.old != 0) {
        assert_int_equal(waitpid(run.old, &status, WNOHANG), 0);
        kill_one(&run.old);
    }
}

static void
plain_ones_move(void **state)
{
    (void)state;
    move(PLAIN, NOBODY);
}

static void
those_with_tls_move(void **state)
{
    (void)state;
    move(TLS, NOBODY);
}

static void
plain_ones_outlive_the_old_process(void **state)
{
    (void)state;
    move(PLAIN, OLD);
}

static void
those_with_tls_end_with_the_old_process(void **state)
{
    (void)state;
    move(TLS, OLD);
}

static void
plain_ones_end_with_the_new_process(void **state)
{
    (void)state;
    move(PLAIN, NEW);
}

static void
those_with_tls_end_with_the_new_process(void **state)
{
    (void)state;
    move(TLS, NEW);
}

#define TEST(f) cmocka_unit_test(f)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(plain_ones_move),
        TEST(those_with_tls_move),
        TEST(plain_ones_outlive_the_old_process),
        TEST(those_with_tls_end_with_the_old_process),
        TEST(plain_ones_end_with_the_new_process),
        TEST(those_with_tls_end_with_the_new_process),
    };

    signal(SIGPIPE, SIG_IGN);
    prepare_words();
    tls_pump_limit(COUNT);
    return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
