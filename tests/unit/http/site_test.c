/*
 * The host and site filters: under which names, and by whose pages, something
 * may be asked.
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

#include <stdio.h>

#include "http/filter/cors.h"
#include "http/filter/host.h"
#include "serve.h"

static enum http_result
on_tell(struct http_request *r, void *state)
{
    (void)state;
    return http_reply(r, 200, "text/plain", STR("told"));
}

static enum http_result
on_change(struct http_request *r, void *state)
{
    return http_check_site(r) ? on_tell(r, state) : HTTP_DONE;
}

static enum http_result
on_near(struct http_request *r, void *state)
{
    return http_check_host(r) ? on_tell(r, state) : HTTP_DONE;
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/change", .handler = on_change },
    { .method = "GET", .path = "/near", .handler = on_near },
    { .method = "*", .path = "/*", .handler = on_tell },
    { .path = NULL },
};
static const struct http_layer closed[] = {
    { .module = "closed", .routes = routes },
};
static const struct http_layer open[] = {
    { .module = "open", .routes = routes, .open = true },
};
static struct str origins[] = { { "https://a.example", 17 } };
static const struct http_cors cors = {
    .origins = origins,
    .origin_count = 1,
    .methods = { "GET, PUT", 8 },
};
static struct http_location locations[] = {
    { .path = { "/guarded", 8 }, .layers = closed, .layer_count = 1 },
    { .path = { "/cors", 5 },
      .layers = closed,
      .layer_count = 1,
      .cors = &cors },
    { .path = { "/open", 5 }, .layers = open, .layer_count = 1 },
    { .path = { "/", 1 }, .layers = closed, .layer_count = 1 },
};
static const struct str hosts[] = { { "media.example.org", 17 },
                                    { "*.example.net", 13 } };
static struct http_server server = {
    .settings = SERVE_SETTINGS,
    .locations = locations,
    .location_count = 4,
    .hosts = hosts,
    .host_count = 2,
    .own_name = { "box", 3 },
};

static struct loop *l;
static struct pool *pool;
static struct conn_socket from; /* whom the next client comes from */

static struct addr
address(const char *text)
{
    struct addr a;

    assert_int_equal(addr_parse_ip(str_from(text), &a), 0);
    return a;
}

static int
set_up(void **state)
{
    static const struct str rules[] = { { "allow all", 9 } };
    static const struct str near[] = { { "allow loopback", 14 },
                                       { "allow private", 13 },
                                       { "allow 203.0.113.9", 17 },
                                       { "deny all", 8 } };
    static const struct str proxies[] = { { "10.0.0.1", 8 } };
    struct errmsg err;

    (void)state;
    l = loop_new(&err);
    pool = pool_new(1024);
    locations[3].access = access_parse(pool, rules, 1);
    locations[0].access = access_parse(pool, near, 4);
    server.trusted = access_parse_names(pool, proxies, 1);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    http_stop();
    for (int i = 0; i < 4; i++) {
        loop_turn(l, 0);
    }
    loop_free(&l);
    pool_free(&pool);
    return 0;
}

/* The status of the answer to these lines. */
static int
ask(const char *peer, const char *lines)
{
    struct client c = { .loop = l };
    struct buf b;
    int fds[2], status;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds),
                     0);
    buf_init(&c.got, 1 << 20);
    buf_init(&b, 4096);
    c.fd = fds[0];
    from.fd = fds[1];
    from.peer =
        *peer != '\0' ? address(peer) : (struct addr){ .family = AF_UNIX };
    http_accept(l, address_of(&server), &from);
    buf_printf(&b, "%s\r\nConnection: close\r\n\r\n", lines);
    client_send(&c, buf_str(&b));
    assert_true(client_hears_end(&c));
    assert_int_equal(
        sscanf((const char *)buf_data(&c.got), "HTTP/1.1 %d ", &status), 1);
    if (status == 421) {
        assert_non_null(
            memmem(buf_data(&c.got), buf_len(&c.got), "hosts = [", 9));
    }
    buf_clear(&b);
    client_close(&c);
    return status;
}

static int
ask_host(const char *peer, const char *path, const char *host)
{
    char lines[512];

    snprintf(lines, sizeof(lines), "GET %s HTTP/1.1\r\nHost: %s", path, host);
    return ask(peer, lines);
}

/* ---- names ---- */

static void
test_settings(void **state)
{
    static const char *const good[] = { "a", "media.example.org",
                                        "*.example.org", "a_b-c.d9" };
    static const char *const bad[] = {
        "", "*", "*.", ".a", "a.", "a:80", "http://a", "a/b", "*.*.a", "[::1]",
    };
    struct errmsg err;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_int_equal(http_host_check(str_from(good[i]), &err), 0);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(http_host_check(str_from(bad[i]), &err), -1);
    }
}

static void
test_names(void **state)
{
    static const char *const good[] = {
        "127.0.0.1",
        "127.0.0.1:8090",
        "192.0.2.7:1",
        "[::1]",
        "[::1]:8090",
        "localhost",
        "LocalHost:8090",
        "localhost.",
        "localhost.:8090",
        "a.localhost",
        "box",
        "BOX:8090",
        "media.example.org",
        "media.example.org.",
        "media.example.org:8090",
        "x.example.net",
        "y.x.example.net:1",
    };
    static const char *const bad[] = {
        "evil.example",
        "evil.example:8090",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "1.evil",
        "box.evil",
        "xmedia.example.org",
        "example.net",
        "a.media.example.org",
        "evilexample.net",
        "localhost..",
        "127.0.0.1.evil:8090",
        "media.example.org.xx",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (!http_host_fits(&server, str_from(good[i]))) {
            fail_msg("%s", good[i]);
        }
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (http_host_fits(&server, str_from(bad[i]))) {
            fail_msg("%s", bad[i]);
        }
    }
}

/* ---- who is asked for a name ---- */

static void
test_where_an_address_lets_in(void **state)
{
    static const char *const near[] = { "127.0.0.1", "::1", "192.168.1.7",
                                        "10.1.1.1", "fd00::7" };

    (void)state;
    for (size_t i = 0; i < sizeof(near) / sizeof(near[0]); i++) {
        assert_int_equal(ask_host(near[i], "/guarded/x", "evil:8090"), 421);
        assert_int_equal(ask_host(near[i], "/guarded/x", "box:8090"), 200);
        assert_int_equal(ask_host(near[i], "/near", "evil:8090"), 421);
        assert_int_equal(ask_host(near[i], "/near", "[::1]"), 200);
        /* Whoever comes may see it. */
        assert_int_equal(ask_host(near[i], "/x", "evil:8090"), 200);
    }
    assert_int_equal(ask("127.0.0.1", "GET http://evil/guarded/x HTTP/1.1\r\n"
                                      "Host: evil"),
                     421);
    assert_int_equal(ask("127.0.0.1",
                         "GET /guarded/x HTTP/1.1\r\nHost: evil\r\n"
                         "X-Forwarded-Host: localhost"),
                     421);
}

static void
test_who_is_not_asked(void **state)
{
    (void)state;
    assert_int_equal(ask_host("203.0.113.9", "/guarded/x", "evil"), 200);
    assert_int_equal(ask_host("10.0.0.1", "/guarded/x", "evil"), 200);
    assert_int_equal(ask_host("", "/guarded/x", "evil"), 200);
    assert_int_equal(ask("127.0.0.1", "GET /guarded/x HTTP/1.0"), 200);
    /* A proxy that spoke for a client near it. */
    from.via = address("10.0.0.1");
    assert_int_equal(ask_host("127.0.0.1", "/guarded/x", "evil"), 200);
    from.via = address("10.0.0.2");
    assert_int_equal(ask_host("127.0.0.1", "/guarded/x", "evil"), 421);
    from.via = (struct addr){ .family = AF_UNSPEC };
}

static void
test_loopback_listeners(void **state)
{
    (void)state;
    from.at_loopback = true;
    assert_int_equal(ask_host("127.0.0.1", "/x", "evil"), 421);
    assert_int_equal(ask_host("127.0.0.1", "/x", "localhost"), 200);
    from.at_loopback = false;
}

/* ---- whose pages ---- */

static int
ask_site(const char *line, const char *headers)
{
    char lines[512];

    snprintf(lines, sizeof(lines), "%s HTTP/1.1\r\nHost: localhost:8090%s%s",
             line, *headers != '\0' ? "\r\n" : "", headers);
    return ask("127.0.0.1", lines);
}

#define SITE "Sec-Fetch-Site: "
#define OWN "Origin: http://localhost:8090"
#define EVIL "Origin: http://evil:8090"

static const char *const own_pages[] = {
    "", /* no browser */
    SITE "none",
    SITE "same-origin",
    SITE "same-origin\r\n" OWN,
    OWN,
    "Origin: https://LOCALHOST:8090",
    "Referer: http://localhost:8090/a?b",
    OWN "\r\nReferer: http://evil/",
};
static const char *const other_pages[] = {
    SITE "same-site",
    SITE "cross-site",
    SITE "cross-site\r\n" OWN,
    SITE "same-origin\r\n" EVIL,
    SITE "whatever",
    SITE "same-origin\r\nOrigin: null",
    EVIL,
    "Origin: null",
    "Origin: ",
    "Origin: http://",
    "Origin: localhost:8090",
    "Origin: http://localhost",
    "Origin: http://localhost:80900",
    "Origin: http://evil.localhost:8090.evil",
    "Referer: http://evil/localhost:8090",
};

static void
test_pages(void **state)
{
    static const char *const changes[] = {
        "POST /x",   "PUT /x",      "PATCH /x",
        "DELETE /x", "GET /change", "HEAD /change",
    };
    static const char *const reads[] = { "GET /x", "HEAD /x", "OPTIONS /x" };

    (void)state;
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        for (size_t k = 0; k < sizeof(own_pages) / sizeof(own_pages[0]); k++) {
            assert_int_equal(ask_site(changes[i], own_pages[k]), 200);
        }
        for (size_t k = 0; k < sizeof(other_pages) / sizeof(other_pages[0]);
             k++) {
            if (ask_site(changes[i], other_pages[k]) != 403) {
                fail_msg("%s %s", changes[i], other_pages[k]);
            }
        }
    }
    for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++) {
        assert_int_equal(ask_site(reads[i], SITE "cross-site\r\n" EVIL), 200);
    }
}

/* Only what came by TLS is of a site that is asked by TLS. */
static void
test_schemes(void **state)
{
    static const char asked[] = "POST /x HTTP/1.1\r\nHost: box\r\n"
                                "X-Forwarded-Proto: %s\r\n%s: %s://box";
    static const struct {
        const char *ours, *header, *theirs;
        int status;
    } rows[] = {
        { "https", "Origin", "https", 200 },
        { "https", "Origin", "HTTPS", 200 },
        { "https", "Origin", "http", 403 },
        { "https", "Referer", "https", 200 },
        { "https", "Referer", "http", 403 },
        { "http", "Origin", "http", 200 },
        { "http", "Origin", "https", 200 }, /* a proxy may keep it back */
    };
    char lines[512];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        snprintf(lines, sizeof(lines), asked, rows[i].ours, rows[i].header,
                 rows[i].theirs);
        assert_int_equal(ask("10.0.0.1", lines), rows[i].status);
    }
}

/* A port that goes without saying is left out by browsers alone. */
static void
test_usual_ports(void **state)
{
    (void)state;
    assert_int_equal(ask("127.0.0.1", "POST /x HTTP/1.1\r\nHost: box:80\r\n"
                                      "Origin: http://box"),
                     200);
    assert_int_equal(ask("127.0.0.1", "POST /x HTTP/1.1\r\nHost: box:443\r\n"
                                      "Origin: https://box"),
                     200);
    assert_int_equal(ask("127.0.0.1", "POST /x HTTP/1.1\r\nHost: box:443\r\n"
                                      "Origin: http://box"),
                     403);
    assert_int_equal(ask("127.0.0.1", "POST /x HTTP/1.0\r\n"
                                      "Origin: http://box"),
                     403);
}

static void
test_pages_that_may(void **state)
{
    (void)state;
    assert_int_equal(ask_site("PUT /cors/x", SITE "cross-site\r\n"
                                                  "Origin: https://a.example"),
                     200);
    assert_int_equal(ask_site("GET /cors/change",
                              SITE "cross-site\r\nOrigin: https://a.example"),
                     200);
    assert_int_equal(ask_site("PUT /cors/x", SITE "cross-site\r\n"
                                                  "Origin: https://b.example"),
                     403);
    assert_int_equal(ask_site("POST /open/x", SITE "cross-site\r\n" EVIL), 200);
    assert_int_equal(ask_site("GET /open/change", SITE "cross-site\r\n" EVIL),
                     403);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_where_an_address_lets_in),
        cmocka_unit_test(test_who_is_not_asked),
        cmocka_unit_test(test_loopback_listeners),
        cmocka_unit_test(test_pages),
        cmocka_unit_test(test_schemes),
        cmocka_unit_test(test_usual_ports),
        cmocka_unit_test(test_pages_that_may),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
