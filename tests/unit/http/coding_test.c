/*
 * What handlers answer, compressed on its way out: which of it, what is said
 * of it, and streams whose pieces can be read at once.
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
#include <zlib.h>

#include "serve.h"

#define SIZE 5000

static struct loop *l;
static struct http_server server;
static struct client c;
static char text[SIZE];
static struct http_request *stream;

static enum http_result
on_reply(struct http_request *r, void *state)
{
    struct str length;
    int64_t n = SIZE;

    (void)state;
    if (http_query(r, "n", &length)) {
        str_to_int(length, 0, SIZE, &n);
    }
    if (http_query(r, "vary", &length)) {
        http_set_header(r, "Vary", length);
    }
    if (http_query(r, "control", &length)) {
        http_set_header(r, "Cache-Control", length);
    }
    if (http_query(r, "coding", &length)) {
        http_set_header(r, "Content-Encoding", length);
    }
    http_set_header(r, "ETag", STR("\"strong\""));
    return http_reply(r, 200, "text/plain; charset=utf-8",
                      str_of(text, (size_t)n));
}

static enum http_result
on_stream(struct http_request *r, void *state)
{
    (void)state;
    stream = r;
    http_start(r, 200, "text/plain");
    return HTTP_DONE;
}

static enum http_result
on_picture(struct http_request *r, void *state)
{
    (void)state;
    return http_reply(r, 200, "image/png", str_of(text, SIZE));
}

static const struct http_route routes[] = {
    { "GET", "/reply", on_reply, NULL },
    { "GET", "/stream", on_stream, NULL },
    { "GET", "/picture", on_picture, NULL },
    { NULL, NULL, NULL, NULL },
};
static const struct http_layer layers[] = { { .module = "test",
                                              .routes = routes } };
static const struct http_location locations[] = {
    { .path = { "/", 1 },
      .client_max_body_size = 100000,
      .layers = layers,
      .layer_count = 1 },
};
static const struct str types[] = { { "text/html", 9 }, { "text/plain", 10 } };

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    for (size_t i = 0; i < SIZE; i++) {
        text[i] = (char)('a' + i % 17);
    }
    l = loop_new(&err);
    server = (struct http_server){ .settings = SERVE_SETTINGS,
                                   .locations = locations,
                                   .location_count = 1 };
    server.settings.gzip = true;
    server.settings.gzip_level = 6;
    server.settings.gzip_min_length = 100;
    server.settings.gzip_types = types;
    server.settings.gzip_type_count = 2;
    c = client_open(l, &server);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    client_close(&c);
    http_stop();
    for (int i = 0; i < 4; i++) {
        loop_turn(l, 0);
    }
    assert_int_equal(http_connections(), 0);
    loop_free(&l);
    return 0;
}

/* Whether the answer to it is compressed; its head is left in c.got. */
static bool
gzipped(const char *target, const char *more)
{
    char request[512];
    int n = snprintf(request, sizeof(request),
                     "GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                     "%s\r\n\r\n",
                     target, more);

    client_close(&c);
    c = client_open(l, &server);
    client_send(&c, str_of(request, (size_t)n));
    assert_true(client_hears(&c, "\r\n\r\n"));
    return client_find(&c, "Content-Encoding: gzip\r\n") != NULL;
}

#define ACCEPTS "Accept-Encoding: gzip"

static void
test_which(void **state)
{
    (void)state;
    assert_true(gzipped("/reply", ACCEPTS));
    assert_true(gzipped("/reply?n=100", ACCEPTS));
    assert_false(gzipped("/reply?n=99", ACCEPTS));
    assert_null(client_find(&c, "Vary"));
    assert_false(gzipped("/reply", "Accept-Encoding: gzip;q=0"));
    assert_non_null(client_find(&c, "Vary: Accept-Encoding\r\n"));
    assert_false(gzipped("/picture", ACCEPTS));
    assert_false(gzipped("/reply?control=no-cache,%20No-Transform", ACCEPTS));
    assert_true(gzipped("/reply?control=no-cache", ACCEPTS));
    assert_false(gzipped("/reply?coding=br", ACCEPTS));
    server.settings.gzip = false;
    assert_false(gzipped("/reply", ACCEPTS));
    assert_null(client_find(&c, "Vary"));
}

static void
test_what_is_said(void **state)
{
    (void)state;
    assert_true(gzipped("/reply", ACCEPTS));
    assert_non_null(client_find(&c, "Vary: Accept-Encoding\r\n"));
    assert_non_null(client_find(&c, "ETag: W/\"strong\"\r\n"));
    assert_non_null(client_find(&c, "Content-Length: "));
    assert_false(gzipped("/reply", "Accept-Encoding: br"));
    assert_non_null(client_find(&c, "ETag: \"strong\"\r\n"));
    gzipped("/reply?vary=Origin", ACCEPTS);
    assert_non_null(client_find(&c, "Vary: Origin, Accept-Encoding\r\n"));
    gzipped("/reply?vary=accept-encoding", ACCEPTS);
    assert_non_null(client_find(&c, "Vary: accept-encoding\r\n"));
    gzipped("/reply?vary=*", ACCEPTS);
    assert_non_null(client_find(&c, "Vary: *\r\n"));
}

/* The payload of the one chunk that came, put through z. */
static size_t
inflate_chunk(z_stream *z, char *to, size_t room)
{
    struct str rest = buf_str(&c.got);
    char size[16];

    str_copy(size, sizeof(size), str_first(rest, str_find(rest, '\r', 0)));
    z->avail_in = (uInt)strtoul(size, NULL, 16);
    z->next_in = (Bytef *)(uintptr_t)(rest.ptr + strlen(size) + 2);
    assert_true(z->avail_in > 0);
    assert_true(strlen(size) + 4 + z->avail_in <= rest.len);
    buf_take(&c.got, strlen(size) + 4 + z->avail_in);
    z->next_out = (Bytef *)to;
    z->avail_out = (uInt)room;
    inflate(z, Z_SYNC_FLUSH);
    return room - z->avail_out;
}

static void
test_stream(void **state)
{
    char got[SIZE];
    z_stream z = { .next_in = NULL };

    (void)state;
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    client_say(&c, "GET /stream HTTP/1.1\r\nHost: a\r\n"
                   "Accept-Encoding: gzip\r\n\r\n");
    assert_true(client_hears(&c, "\r\n\r\n"));
    assert_non_null(client_find(&c, "Content-Encoding: gzip\r\n"));
    assert_non_null(client_find(&c, "Transfer-Encoding: chunked\r\n"));
    client_forget(&c, "\r\n\r\n");
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(http_send_more(stream, str_of(text, 500 + i)), 0);
        client_idle(&c, 3);
        assert_int_equal(inflate_chunk(&z, got, sizeof(got)), 500 + i);
        assert_memory_equal(got, text, 500 + i);
    }
    http_end(stream);
    assert_true(client_hears(&c, "0\r\n\r\n"));
    inflateEnd(&z);
}

/* A client that goes in the middle leaves nothing behind. */
static void
test_stream_is_left(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_true(gzipped("/stream", ACCEPTS));
        assert_int_equal(http_send_more(stream, str_of(text, SIZE)), 0);
    }
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_which),
        TEST(test_what_is_said),
        TEST(test_stream),
        TEST(test_stream_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
