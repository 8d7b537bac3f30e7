/*
 * The checking proxy: who may use it, for what, and where to.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proxy_help.h"

/* ---- who may ---- */

static void
test_needs_the_password_of_a_run(void **state)
{
    static const char *const proofs[] = {
        "",
        "Proxy-Authorization: Basic\r\n",
        "Proxy-Authorization: Basic !!!\r\n",
        "Proxy-Authorization: Bearer cnVuOmE=\r\n",
        "Proxy-Authorization: Basic cnVuOmE=\r\n", /* run:a */
        "Authorization: Basic cnVuOmE=\r\n",
    };
    char head[1024];

    (void)state;
    for (size_t i = 0; i < sizeof(proofs) / sizeof(proofs[0]); i++) {
        int fd = dial();

        snprintf(head, sizeof(head),
                 "GET http://here.test:%u/ HTTP/1.1\r\nHost: here.test:%u\r\n"
                 "%s\r\n",
                 (unsigned)port, (unsigned)port, proofs[i]);
        say(fd, head);

        const char *answer = hear_all(fd);

        assert_true(begins(answer, "HTTP/1.1 407 "));
        assert_non_null(
            strstr(answer, "Proxy-Authenticate: Basic realm=\"weir\"\r\n"));
        close(fd);
    }
    expect_nobody();
}

static void
test_a_password_ends_with_its_run(void **state)
{
    struct proxy_pass *other = proxy_pass_new(proxy);
    char proof[256];

    (void)state;
    assert_string_not_equal(proxy_pass_url(other), proxy_pass_url(pass));
    snprintf(proof, sizeof(proof), "%s", proof_of(other));
    proxy_pass_free(&other);

    int fd = dial();

    say(fd, "GET http://here.test/ HTTP/1.0\r\n");
    say(fd, proof);
    say(fd, "\r\n");
    assert_true(begins(hear_all(fd), "HTTP/1.1 407 "));
    close(fd);
}

/* ---- http ---- */

static void
test_hands_a_request_on(void **state)
{
    char more[512], head[512];

    (void)state;
    snprintf(more, sizeof(more),
             "host: here.test:%u\r\nAccept: */*\r\nX-Mine: 1\r\n"
             "Proxy-Connection: keep-alive\r\nTE: trailers\r\n"
             "Connection: X-Mine, keep-alive\r\nRange: bytes=5-\r\n",
             (unsigned)port);

    int fd = ask("GET http://$:#/file?a=b HTTP/1.1", "here.test", more);
    int server = accept_one();

    snprintf(head, sizeof(head),
             "GET /file?a=b HTTP/1.1\r\nHost: here.test:%u\r\n"
             "Accept: */*\r\nRange: bytes=5-\r\nConnection: close\r\n\r\n",
             (unsigned)port);
    expect(server, head);
    say(server, "HTTP/1.0 206 Partial\r\n\r\nbytes");
    close(server);
    assert_string_equal(hear_all(fd), "HTTP/1.0 206 Partial\r\n\r\nbytes");
    assert_int_equal(proxy_pass_bytes(pass), 29);
    assert_string_equal(proxy_pass_refusal(pass), "");
    close(fd);
    wait_links(0);
}

static void
test_targets_are_written_for_the_server(void **state)
{
    static const char *const cases[][2] = {
        { "GET http://$:# HTTP/1.0", "GET / HTTP/1.0\r\n" },
        { "GET http://$:#?q HTTP/1.0", "GET /?q HTTP/1.0\r\n" },
        { "HEAD HTTP://$:#/a?b? HTTP/1.0", "HEAD /a?b? HTTP/1.0\r\n" },
        { "OPTIONS http://$:# HTTP/1.0", "OPTIONS * HTTP/1.0\r\n" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int fd = ask(cases[i][0], "here.test", "");
        int server = accept_one();

        expect(server, cases[i][1]);
        close(server);
        close(fd);
    }
}

static void
test_hands_a_body_on_and_no_second_request(void **state)
{
    char head[512];
    int fd = ask("POST http://$:#/ HTTP/1.0", "here.test",
                 "Content-Length: 5\r\nConnection: content-length\r\n");
    int server = accept_one();

    (void)state;
    snprintf(head, sizeof(head),
             "POST / HTTP/1.0\r\nHost: here.test:%u\r\n"
             "Content-Length: 5\r\nConnection: close\r\n\r\nhello",
             (unsigned)port);
    say(fd, "hello\r\n");
    expect(server, head);
    say(fd, "GET http://here.test/ HTTP/1.0\r\n\r\n");
    assert_int_equal(hear(fd, head, 1), -1);
    assert_int_equal(hear(server, head, 1), 0);
    close(server);
    close(fd);
}

static void
test_refuses_what_it_does_not_speak(void **state)
{
    static const struct {
        const char *line, *more;
        int status;
    } cases[] = {
        { "GET /$:# HTTP/1.0", "", 400 },
        { "GET https://$:#/ HTTP/1.0", "", 400 },
        { "GET ftp://$:#/ HTTP/1.0", "", 400 },
        { "GET http://user:word@$:#/ HTTP/1.0", "", 400 },
        { "GET http://$:#0000/ HTTP/1.0", "", 400 },
        { "GET http://$:#/ HTTP/1.1", "", 400 },
        { "GET http://$:#/ HTTP/1.1", "Host: other.test\r\n", 400 },
        { "POST http://$:#/ HTTP/1.1", "Host: here.test\r\nHost: here.test\r\n",
          400 },
        { "GET http://he re.test$:#/ HTTP/1.0", "", 400 },
        { "TRACE http://$:#/ HTTP/1.0", "", 405 },
        { "BREW http://$:#/ HTTP/1.0", "", 501 },
        { "CONNECT $ HTTP/1.0", "", 400 },
        { "CONNECT $: HTTP/1.0", "", 400 },
        { "CONNECT http://$:#/ HTTP/1.0", "", 400 },
        { "CONNECT user@$:# HTTP/1.0", "", 400 },
        { "CONNECT $:0 HTTP/1.0", "", 400 },
        { "CONNECT $:# HTTP/1.0", "Host: other.test:443\r\n", 400 },
        { "CONNECT $:# HTTP/1.0", "Content-Length: 5\r\n", 400 },
        { "CONNECT $:# HTTP/1.0", "Content-Length: x\r\n", 400 },
    };
    char status[16];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int fd = ask(cases[i].line, "here.test", cases[i].more);

        snprintf(status, sizeof(status), "HTTP/1.1 %d ", cases[i].status);
        if (!begins(hear_all(fd), status)) {
            fail_msg("%s: not %d", cases[i].line, cases[i].status);
        }
        close(fd);
    }
    expect_nobody();
}

static void
test_refuses_a_body_in_chunks(void **state)
{
    char more[256];

    (void)state;
    snprintf(more, sizeof(more),
             "Host: here.test:%u\r\nTransfer-Encoding: chunked\r\n",
             (unsigned)port);

    int fd = ask("POST http://$:#/ HTTP/1.1", "here.test", more);

    assert_true(begins(hear_all(fd), "HTTP/1.1 411 "));
    close(fd);
}

/* ---- rules ---- */

static void
test_refuses_by_the_rules_with_the_line_to_write(void **state)
{
    static const char text[] =
        "here.test: egress: 127.0.0.1 is refused: \"allow all\" leaves out "
        "loopback addresses: \"allow 127.0.0.1\" in egress would allow it; in "
        "weir.conf: egress = [ \"allow loopback\", \"deny private\", \"allow "
        "all\" ];";

    (void)state;
    allow("deny private,allow all");

    int fd = get("here.test");
    const char *answer = hear_all(fd);

    assert_true(begins(answer, "HTTP/1.1 403 Forbidden\r\n"));
    assert_non_null(strstr(answer, "egress = [ "));
    assert_string_equal(proxy_pass_refusal(pass), text);
    close(fd);

    allow("allow loopback,deny private,allow all");
    fd = get("here.test");
    close(serve_one());
    close(fd);
    assert_string_equal(proxy_pass_refusal(pass), text);

    fd = get("private.test");
    hear_all(fd);
    assert_non_null(strstr(
        proxy_pass_refusal(pass),
        "in weir.conf: egress = [ \"allow 10.0.0.1\", \"allow loopback\", "));
    close(fd);
    fd = get("0.0.0.0");
    hear_all(fd);
    assert_null(strstr(proxy_pass_refusal(pass), "weir.conf"));
    close(fd);
}

static void
test_allows_nothing_before_it_knows_the_rules(void **state)
{
    (void)state;
    proxy_set_egress(proxy, NULL, 0);

    int fd = get("here.test");

    assert_true(begins(hear_all(fd), "HTTP/1.1 403 "));
    close(fd);
    expect_nobody();
}

static void
test_tries_allowed_addresses_alone(void **state)
{
    int fd = get("mixed.test");
    int server = serve_one();

    (void)state;
    say(server, "HTTP/1.0 200 OK\r\n\r\n");
    close(server);
    assert_true(begins(hear_all(fd), "HTTP/1.0 200 "));
    assert_string_equal(proxy_pass_refusal(pass), "");
    close(fd);
}

static void
test_rules_change_under_open_connections(void **state)
{
    int fd = get("here.test"), late = get("here.test");
    int server = serve_one();

    (void)state;
    allow("deny all");
    close(serve_one());
    close(late);

    int refused = get("here.test");

    assert_true(begins(hear_all(refused), "HTTP/1.1 403 "));
    say(server, "HTTP/1.0 200 OK\r\n\r\n");
    close(server);
    assert_true(begins(hear_all(fd), "HTTP/1.0 200 "));
    close(refused);
    close(fd);
}

static void
test_tells_why_a_connection_failed(void **state)
{
    int fd = get("nobody.test");

    (void)state;
    assert_true(begins(hear_all(fd), "HTTP/1.1 502 "));
    assert_non_null(strstr(proxy_pass_refusal(pass), "Connection refused"));
    close(fd);
    fd = get("missing.test");
    assert_true(begins(hear_all(fd), "HTTP/1.1 502 "));
    assert_non_null(strstr(proxy_pass_refusal(pass), "no such name"));
    close(fd);
    fd = get("here.test");
    close(serve_one());
    hear_all(fd);
    assert_string_equal(proxy_pass_refusal(pass), "");
    close(fd);
}

/* ---- https ---- */

static void
test_tunnels_tls(void **state)
{
    int fd = ask("CONNECT $:# HTTP/1.0", "here.test", "");
    int server = accept_one();

    (void)state;
    expect(fd, "HTTP/1.1 200 Connection established\r\n\r\n");
    say(fd, "\x16hello");
    expect(server, "\x16hello");
    say(server, "answer");
    expect(fd, "answer");
    say(fd, "more");
    expect(server, "more");
    close(server);
    assert_string_equal(hear_all(fd), "");
    assert_int_equal(proxy_pass_bytes(pass), 6);
    close(fd);
    wait_links(0);
}

static void
test_tunnels_nothing_else(void **state)
{
    char byte;
    int fd = ask("CONNECT $:# HTTP/1.0", "here.test", "");
    int server = accept_one();

    (void)state;
    say(server, "220 mail.test SMTP\r\n");
    expect(fd, "HTTP/1.1 200 Connection established\r\n\r\n");
    say(fd, "HELO here\r\n");
    assert_int_equal(hear(fd, &byte, 1), -1);
    hear(server, &byte, 1);
    assert_string_equal(proxy_pass_refusal(pass),
                        "only https goes through CONNECT");
    assert_int_equal(proxy_pass_bytes(pass), 0);
    close(server);
    close(fd);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_needs_the_password_of_a_run),
        TEST(test_a_password_ends_with_its_run),
        TEST(test_hands_a_request_on),
        TEST(test_targets_are_written_for_the_server),
        TEST(test_hands_a_body_on_and_no_second_request),
        TEST(test_refuses_what_it_does_not_speak),
        TEST(test_refuses_a_body_in_chunks),
        TEST(test_refuses_by_the_rules_with_the_line_to_write),
        TEST(test_allows_nothing_before_it_knows_the_rules),
        TEST(test_tries_allowed_addresses_alone),
        TEST(test_rules_change_under_open_connections),
        TEST(test_tells_why_a_connection_failed),
        TEST(test_tunnels_tls),
        TEST(test_tunnels_nothing_else),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
