/*
 * The checking proxy: back-pressure, bounds, and how connections end.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proxy_help.h"

#include <sys/resource.h>

/* ---- pressure ---- */

/* Sends until the other side has to read first; how many bytes. */
static size_t
fill(int fd, size_t most)
{
    static char piece[PIECE];
    size_t sent = 0;

    for (int quiet = 0; quiet < 20 && sent < most;) {
        size_t n = most - sent < PIECE ? most - sent : PIECE;

        for (size_t i = 0; i < n; i++) {
            piece[i] = (char)((sent + i) * 31 >> 7);
        }
        ssize_t got = send(fd, piece, n, MSG_DONTWAIT | MSG_NOSIGNAL);

        sent += got > 0 ? (size_t)got : 0;
        quiet = got > 0 ? 0 : quiet + 1;
        loop_turn(l, got > 0 ? 0 : 5);
    }
    return sent;
}

static void
expect_filled(int fd, size_t total)
{
    static char piece[PIECE];

    for (size_t at = 0; at < total;) {
        size_t n = total - at < PIECE ? total - at : PIECE;

        assert_int_equal(hear(fd, piece, n), n);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(piece[i], (char)((at + i) * 31 >> 7));
        }
        at += n;
    }
}

static void
bound_buffers(int fd)
{
    int size = 65536;

    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

/* Sockets of the kernel and 64 KB of ours: not all of it. */
#define MUCH ((size_t)64 << 20)

static void
test_a_slow_reader_holds_its_server(void **state)
{
    int fd = get("here.test");
    int server = serve_one();

    (void)state;
    bound_buffers(fd);
    bound_buffers(server);

    size_t sent = fill(server, MUCH);

    assert_in_range(sent, 1, MUCH / 2);
    expect_filled(fd, sent);
    say(server, "the end");
    close(server);
    assert_string_equal(hear_all(fd), "the end");
    assert_int_equal(proxy_pass_bytes(pass), sent + 7);
    close(fd);
}

static void
test_a_slow_server_holds_its_engine(void **state)
{
    char more[64], head[512];

    (void)state;
    snprintf(more, sizeof(more), "Content-Length: %zu\r\n", MUCH);

    int fd = ask("POST http://$:#/ HTTP/1.0", "here.test", more);
    int server = accept_one();

    bound_buffers(fd);
    bound_buffers(server);
    snprintf(head, sizeof(head),
             "POST / HTTP/1.0\r\nHost: here.test:%u\r\nContent-Length: %zu\r\n"
             "Connection: close\r\n\r\n",
             (unsigned)port, MUCH);
    expect(server, head);

    size_t sent = fill(fd, MUCH);

    assert_in_range(sent, 1, MUCH / 2);
    expect_filled(server, sent);
    say(server, "HTTP/1.0 413 Too much\r\n\r\n");
    close(server);
    assert_true(begins(hear_all(fd), "HTTP/1.0 413 "));
    close(fd);
}

/* A server that ends while its last bytes wait for a slow reader. */
static void
test_last_bytes_reach_a_slow_reader(void **state)
{
    int fd = get("here.test");
    int server = serve_one();

    (void)state;
    bound_buffers(fd);

    size_t sent = fill(server, MUCH);

    shutdown(server, SHUT_WR);
    for (int i = 0; i < 20; i++) {
        loop_turn(l, 0);
    }
    expect_filled(fd, sent);
    assert_string_equal(hear_all(fd), "");
    close(server);
    close(fd);
}

static void
test_a_reset_of_the_server_is_no_end(void **state)
{
    struct linger now = { .l_onoff = 1, .l_linger = 0 };
    int fd = get("here.test");
    int server = serve_one();
    char text[64];

    (void)state;
    say(server, "HTTP/1.0 200 OK\r\n\r\npart");
    expect(fd, "HTTP/1.0 200 OK\r\n\r\npart");
    setsockopt(server, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(server);
    assert_int_equal(hear(fd, text, 1), -1);
    close(fd);
}

/* ---- bounds and ends ---- */

static void
test_a_run_has_so_many_connections(void **state)
{
    int fds[PROXY_PASS_LINKS];

    (void)state;
    for (size_t i = 0; i < PROXY_PASS_LINKS; i++) {
        fds[i] = get("here.test");
        close(accept_one());
    }
    /* Ended by their servers, and still to be read: they count. */
    for (size_t i = 0; i < PROXY_PASS_LINKS; i++) {
        close(fds[i]);
    }
    wait_links(0);

    int servers[PROXY_PASS_LINKS];

    for (size_t i = 0; i < PROXY_PASS_LINKS; i++) {
        fds[i] = get("here.test");
        servers[i] = accept_one();
    }
    int more = get("here.test");

    assert_true(begins(hear_all(more), "HTTP/1.1 503 "));
    close(more);
    proxy_pass_free(&pass);
    wait_links(0);
    for (size_t i = 0; i < PROXY_PASS_LINKS; i++) {
        char byte;

        assert_int_equal(hear(fds[i], &byte, 1), -1);
        close(fds[i]);
        close(servers[i]);
    }
}

/* Both ends of each connection are this process's. */
static void
need_descriptors(rlim_t n)
{
    struct rlimit most;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &most), 0);
    most.rlim_cur = most.rlim_cur < n && n <= most.rlim_max ? n : most.rlim_cur;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &most), 0);
    if (most.rlim_cur < n) {
        print_message("not run: it needs %u descriptors\n", (unsigned)n);
        skip();
    }
}

static void
test_all_runs_have_so_many_connections(void **state)
{
    struct proxy_pass *passes[PROXY_LINKS / PROXY_PASS_LINKS];
    int fds[PROXY_LINKS], more;
    char byte;

    (void)state;
    need_descriptors(3 * PROXY_LINKS);
    proxy_pass_free(&pass);
    for (size_t i = 0; i < PROXY_LINKS; i++) {
        if (i % PROXY_PASS_LINKS == 0) {
            pass = passes[i / PROXY_PASS_LINKS] = proxy_pass_new(proxy);
        }
        fds[i] = get("silent.test");
        wait_links(i + 1);
    }
    more = dial();
    while (recv(more, &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN) {
        assert_int_equal(proxy_links(proxy), PROXY_LINKS);
        loop_turn(l, 10);
    }
    close(more);
    proxy_pass_free(&passes[0]);
    assert_int_equal(proxy_links(proxy), PROXY_LINKS - PROXY_PASS_LINKS);
    more = dial(); /* there is room again */
    wait_links(PROXY_LINKS - PROXY_PASS_LINKS + 1);
    close(more);
    for (size_t i = 1; i < PROXY_LINKS / PROXY_PASS_LINKS; i++) {
        proxy_pass_free(&passes[i]);
    }
    wait_links(0);
    for (size_t i = 0; i < PROXY_LINKS; i++) {
        close(fds[i]);
    }
    pass = NULL;
}

static void
test_the_oldest_stranger_goes(void **state)
{
    int fds[PROXY_STRANGERS + 1];
    char byte;

    (void)state;
    for (size_t i = 0; i < PROXY_STRANGERS; i++) {
        fds[i] = dial();
    }
    wait_links(PROXY_STRANGERS);
    fds[PROXY_STRANGERS] = dial();
    assert_int_equal(hear(fds[0], &byte, 1), -1);
    wait_links(PROXY_STRANGERS);
    for (size_t i = 0; i <= PROXY_STRANGERS; i++) {
        close(fds[i]);
    }
    wait_links(0);
}

static void
test_heads_are_bounded(void **state)
{
    static char line[8192];
    int fd = dial();

    (void)state;
    memset(line, 'a', sizeof(line) - 1);
    say(fd, "GET http://here.test/ HTTP/1.0\r\n");
    for (int i = 0; i < 9; i++) {
        say(fd, "X: ");
        say(fd, line);
        say(fd, "\r\n");
        loop_turn(l, 0);
    }
    assert_true(begins(hear_all(fd), "HTTP/1.1 431 "));
    close(fd);
}

static void
test_ends_with_the_engine_at_every_step(void **state)
{
    int fd = dial();

    (void)state;
    wait_links(1);
    close(fd);
    wait_links(0);

    fd = get("here.test");
    int server = accept_one();
    char head[512];

    close(fd);
    wait_links(0);
    while (hear(server, head, sizeof(head)) > 0) {
    }
    close(server);

    fd = get("silent.test");
    wait_links(1);
    for (int i = 0; i < 20; i++) {
        loop_turn(l, 0);
    }
    proxy_pass_free(&pass);
    assert_int_equal(proxy_links(proxy), 0);
    close(fd);
}

static void
test_waits_so_long_for_a_head(void **state)
{
    int fd = dial();

    (void)state;
    say(fd, "GET http://here.test/ HTTP/1.0\r\n");
    assert_true(begins(hear_all(fd), "HTTP/1.1 408 "));
    close(fd);
}

static void
test_waits_so_long_for_a_connection(void **state)
{
    int fd = get("silent.test");

    (void)state;
    assert_true(begins(hear_all(fd), "HTTP/1.1 502 "));
    assert_non_null(strstr(proxy_pass_refusal(pass), "no answer"));
    close(fd);
}

static void
test_waits_so_long_in_silence(void **state)
{
    char byte;
    int fd = get("here.test");
    int server = accept_one();

    (void)state;
    assert_int_equal(hear(fd, &byte, 1), -1);
    close(server);
    close(fd);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define HASTY(name, with) cmocka_unit_test_setup_teardown(name, with, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_slow_reader_holds_its_server),
        TEST(test_a_slow_server_holds_its_engine),
        TEST(test_last_bytes_reach_a_slow_reader),
        TEST(test_a_reset_of_the_server_is_no_end),
        TEST(test_a_run_has_so_many_connections),
        TEST(test_the_oldest_stranger_goes),
        TEST(test_heads_are_bounded),
        TEST(test_ends_with_the_engine_at_every_step),
        HASTY(test_waits_so_long_for_a_head, set_up_head),
        HASTY(test_waits_so_long_for_a_connection, set_up_connect),
        HASTY(test_waits_so_long_in_silence, set_up_idle),
        HASTY(test_all_runs_have_so_many_connections, set_up_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
