/*
 * Lines of the access log, through the log ring into a file.
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

#include <fcntl.h>
#include <regex.h>
#include <stdio.h>

#include "http/access_log.h"
#include "proc/logring.h"
#include "proc/slot.h"
#include "serve.h"

static struct loop *l;
static struct http_server server;
static char path[] = "/tmp/weir-access-XXXXXX";

static enum http_result
on_get(struct http_request *r, void *state)
{
    (void)state;
    if (str_eq(r->query, STR("note"))) {
        http_note(r, "said \"%s\"", "more");
    }
    return http_reply(r, 200, NULL, STR("12345"));
}

static enum http_result
on_wait(struct http_request *r, void *state)
{
    (void)r;
    (void)state;
    return HTTP_WAIT;
}

static enum http_result
on_secret(struct http_request *r, void *state)
{
    (void)state;
    http_hide_target(r);
    return http_error(r, 404, "nothing");
}

static const struct http_route routes[] = {
    { "GET", "/get", on_get, NULL },
    { "GET", "/secret/*", on_secret, NULL },
    { "GET", "/wait", on_wait, NULL },
    { NULL, NULL, NULL, NULL },
};
static const struct http_layer layers[] = { { .module = "test",
                                              .routes = routes } };
static const struct http_location locations[] = {
    { .path = { "/", 1 },
      .client_max_body_size = 1000,
      .layers = layers,
      .layer_count = 1 },
};

static struct pool *pool;
static const struct str secrets[] = { { "key", 3 }, { "token", 5 } };

static void
use_format(const char *text)
{
    struct errmsg err = { "" };

    server.settings.access_format = line_format_compile(
        pool, str_from(text), http_log_variables, http_log_presets, &err);
    if (server.settings.access_format == NULL) {
        fail_msg("%s", err.text);
    }
}

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    close(mkstemp(path));
    if (slots_create(4, &err) == -1 || logring_create(&err) == -1 ||
        logring_open(str_from(path), &err) != 0 || logring_start(&err) == -1) {
        return -1;
    }
    slot_set_self(0);
    l = loop_new(&err);
    server = (struct http_server){ .settings = SERVE_SETTINGS,
                                   .locations = locations,
                                   .location_count = 1 };
    server.settings.access_log = 0;
    server.settings.mask = (struct line_mask){ secrets, 2 };
    pool = pool_new(1024);
    use_format("combined");
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    http_stop();
    loop_turn(l, 0);
    loop_turn(l, 0);
    loop_free(&l);
    logring_stop();
    logring_destroy();
    slots_destroy();
    pool_free(&pool);
    unlink(path);
    return 0;
}

/* One connection with that much to say; the first line in the log after
 * it. */
static const char *
line_of(struct str text)
{
    static char line[8192];
    struct client c = client_open(l, &server);
    int64_t until = clock_ms() + PATIENCE_MS;
    int fd = open(path, O_RDWR | O_TRUNC);

    client_send(&c, text);
    for (int i = 0; i < 4; i++) {
        client_turn(&c, 65536);
    }
    client_close(&c);
    line[0] = '\0';
    while (strchr(line, '\n') == NULL && clock_ms() < until) {
        loop_turn(l, 5);
        ssize_t n = pread(fd, line, sizeof(line) - 1, 0);

        line[n > 0 ? n : 0] = '\0';
    }
    close(fd);
    return line;
}

static void
assert_line(struct str text, const char *pattern)
{
    const char *line = line_of(text);
    regex_t re;

    assert_int_equal(regcomp(&re, pattern, REG_EXTENDED | REG_NOSUB), 0);
    if (regexec(&re, line, 0, NULL, 0) != 0) {
        fail_msg("not %s\nbut %s", pattern, line);
    }
    regfree(&re);
}

#define DATE "\\[[0-9]{2}/[A-Z][a-z]{2}/20[0-9]{2}(:[0-9]{2}){3} \\+0000\\]"

static void
test_combined(void **state)
{
    (void)state;
    assert_line(STR("GET /get?a=%22b HTTP/1.1\r\nHost: a\r\nReferer: http://r/"
                    "\r\nUser-Agent: me \"\\\xff\r\n\r\n"),
                "^127\\.0\\.0\\.1 - - " DATE
                " \"GET /get\\?a=%22b HTTP/1\\.1\" 200 5 \"http://r/\" "
                "\"me \\\\x22\\\\x5[cC]\\\\x[fF]{2}\"\n$");
    assert_line(STR("HEAD /get HTTP/1.1\r\nHost: a\r\n\r\n"),
                " \"HEAD /get HTTP/1\\.1\" 200 0 \"-\" \"-\"\n$");
    assert_line(STR("GET /get?note HTTP/1.1\r\nHost: a\r\n\r\n"),
                " 200 5 \"-\" \"-\" \"said \\\\x22more\\\\x22\"\n$");
    assert_line(STR("GET /none HTTP/1.1\r\nHost: a\r\n\r\n"), " 404 ");
    assert_line(STR("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n"),
                " \"GET /wait HTTP/1\\.1\" 499 0 ");
}

static void
test_a_target_that_is_secret(void **state)
{
    (void)state;
    use_format("$request|$request_uri|$uri|$status");
    assert_line(STR("GET /secret/key?a HTTP/1.0\r\nHost: a\r\n\r\n"),
                "^GET \\*\\*\\* HTTP/1\\.0\\|\\*\\*\\*\\|\\*\\*\\*\\|404\n$");
    assert_line(STR("GET /get HTTP/1.1\r\nHost: a\r\n\r\n"),
                "^GET /get HTTP/1\\.1\\|/get\\|/get\\|200\n$");
    use_format("combined");
}

/* One line, whatever the client sent. */
static void
test_refused(void **state)
{
    (void)state;
    assert_line(STR("GET / HTTP/1.1\r\n\r\n"),
                "\"GET / HTTP/1\\.1\" 400 [0-9]+ \"-\" \"-\" "
                "\"no Host header\"\n$");
    assert_line(STR("GET /\x01\x1b[2J\nx HTTP/1.1\r\n\r\n"),
                "\"GET /\\\\x01\\\\x1[bB]\\[2J\" 400 ");
    assert_line(STR("\x16\x03\x01"), "\"\\\\x16\\\\x03\\\\x01\" 400 ");
}

static void
test_json(void **state)
{
    (void)state;
    use_format("json");
    assert_line(STR("GET /get?note HTTP/1.1\r\nHost: h\r\n"
                    "User-Agent: \"\r\n\r\n"),
                "^\\{\"time\":\"20[^\"]*Z\",\"client\":\"127\\.0\\.0\\.1\","
                "\"peer\":\"127\\.0\\.0\\.1\","
                "\"request\":\"GET /get\\?note HTTP/1\\.1\",\"host\":\"h\","
                "\"status\":200,\"bytes\":5,\"ms\":[0-9]+,"
                "\"request_id\":\"[0-9a-f]{32}\","
                "\"trace_id\":\"[0-9a-f]{32}\","
                "\"user_agent\":\"\\\\\"\","
                "\"note\":\"said \\\\\"more\\\\\"\"\\}\n$");
    assert_line(STR("nonsense\r\n"), "\"request\":\"nonsense\",.*400.*\\}\n$");
    use_format("combined");
}

static void
test_variables(void **state)
{
    (void)state;
    use_format("$remote_addr $remote_port|$remote_user|$request_method|"
               "$request_uri|$uri|$args|$server_protocol|$host|$scheme");
    assert_line(STR("GET /get?x=1 HTTP/1.1\r\nHost: h:80\r\n"
                    "Authorization: Basic YWxpY2U6c2VjcmV0\r\n\r\n"),
                "^127\\.0\\.0\\.1 1234\\|alice\\|GET\\|/get\\?x=1\\|/get\\|"
                "x=1\\|HTTP/1\\.1\\|h:80\\|http\n$");
    use_format("$status $body_bytes_sent $bytes_sent $request_length "
               "$request_time ${module}$location $connection_requests $$");
    assert_line(STR("GET /get HTTP/1.1\r\nHost: h\r\n\r\n"),
                "^200 5 [1-9][0-9]+ 30 [0-9]+\\.[0-9]{3} test/ 1 \\$\n$");
    use_format("$http_x_a_b|$http_none|$http_authorization|"
               "$sent_http_x_made|$worker");
    assert_line(STR("GET /get HTTP/1.1\r\nHost: h\r\nX-A-b: \"y\r\n"
                    "Authorization: Bearer abc\r\n\r\n"),
                "^\\\\x22y\\|-\\|\\*\\*\\*\\|-\\|0\n$");
    use_format("combined");
}

/* The values of secret arguments are in no line, wherever they stood. */
static void
test_masked(void **state)
{
    (void)state;
    use_format("$request|$args|$http_referer");
    assert_line(STR("GET /get?KEY=s1&a=b&token=s2 HTTP/1.1\r\nHost: h\r\n"
                    "Referer: http://x/?a&key=s3#f\r\n\r\n"),
                "^GET /get\\?KEY=\\*{3}&a=b&token=\\*{3} HTTP/1\\.1\\|"
                "KEY=\\*{3}&a=b&token=\\*{3}\\|"
                "http://x/\\?a&key=\\*{3}#f\n$");
    use_format("combined");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_combined),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_variables),
        cmocka_unit_test(test_masked),
        cmocka_unit_test(test_a_target_that_is_secret),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
