/*
 * Which requests for a WebSocket are right.
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
#include <string.h>

#include "http/exchange.h"
#include "http/websocket.h"

#define KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define HEADERS 8

struct asked {
    struct exchange x;
    struct http_header headers[HEADERS];
    struct http_websocket ws;
    const char *why;
};

/* A right request. */
static void
begin(struct asked *a)
{
    memset(a, 0, sizeof(*a));
    a->headers[0] = (struct http_header){ STR("Upgrade"), STR("websocket") };
    a->headers[1] =
        (struct http_header){ STR("Connection"), STR("keep-alive, Upgrade") };
    a->headers[2] = (struct http_header){ STR("Sec-WebSocket-Key"), STR(KEY) };
    a->headers[3] =
        (struct http_header){ STR("Sec-WebSocket-Version"), STR("13") };
    a->x.pub.pool = pool_new(1024);
    a->x.pub.method = STR("GET");
    a->x.pub.version = 11;
    a->x.pub.headers = a->headers;
    a->x.pub.header_count = 4;
}

static void
add(struct asked *a, const char *name, const char *value)
{
    assert_in_range(a->x.pub.header_count, 0, HEADERS - 1);
    a->headers[a->x.pub.header_count++] =
        (struct http_header){ str_from(name), str_from(value) };
}

static int
check(struct asked *a)
{
    int status = http_check_websocket(&a->x.pub, &a->ws, &a->why);

    assert_int_equal(status != 0, a->why != NULL);
    return status;
}

static void
end(struct asked *a)
{
    pool_free(&a->x.pub.pool);
}

static void
a_right_one_gives_its_key(void **state)
{
    struct asked a;

    (void)state;
    begin(&a);
    a.headers[0].value = STR("h2c , WebSocket");
    a.headers[1].value = STR("upgrade");
    add(&a, "Content-Length", "0");
    assert_true(http_is_websocket(&a.x.pub));
    assert_int_equal(check(&a), 0);
    assert_true(str_eq(a.ws.key, STR(KEY)));
    assert_false(a.ws.deflate);
    end(&a);
}

/* Of header `place` another value is given; NULL: the header is left out. */
static int
with(unsigned place, const char *value)
{
    struct asked a;
    int status;

    begin(&a);
    if (value != NULL) {
        a.headers[place].value = str_from(value);
    } else {
        a.headers[place] = (struct http_header){ STR("X-Other"), STR("y") };
    }
    status = check(&a);
    end(&a);
    return status;
}

static void
wrong_headers_are_refused(void **state)
{
    static const char *const keys[] = {
        NULL,
        "",
        "dGhlIHNhbXBsZSBub25jZQ=",
        "dGhlIHNhbXBsZSBub25jZR==",
        "dGhlIHNhbXBsZSBub25jZQAA",
        "dGhlIHNhbXBsZSBub25jZQ==, x",
        "dGhlIHNhbXBsZSBub25j",
        "dGhlIHNhbXBsZS\r\nub25jZQ==",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        assert_int_equal(with(2, keys[i]), 400);
    }
    assert_int_equal(with(0, NULL), 400);
    assert_int_equal(with(0, "websockets"), 400);
    assert_int_equal(with(0, "h2c"), 400);
    assert_int_equal(with(1, NULL), 400);
    assert_int_equal(with(1, "keep-alive"), 400);
    assert_int_equal(with(1, "upgraded"), 400);
    assert_int_equal(with(3, NULL), 426);
    assert_int_equal(with(3, "8"), 426);
    assert_int_equal(with(3, "13, 8"), 426);
    assert_int_equal(with(3, ""), 426);
}

static void
what_is_named_twice_is_refused(void **state)
{
    struct asked a;

    (void)state;
    begin(&a);
    add(&a, "sec-websocket-key", KEY);
    assert_int_equal(check(&a), 400);
    end(&a);
    begin(&a);
    add(&a, "sec-websocket-version", "13");
    assert_int_equal(check(&a), 426);
    end(&a);
}

static void
the_request_itself_must_fit(void **state)
{
    struct asked a;

    (void)state;
    begin(&a);
    a.x.pub.method = STR("POST");
    assert_int_equal(check(&a), 400);
    a.x.pub.method = STR("GET");
    a.x.pub.version = 10;
    a.why = NULL;
    assert_int_equal(check(&a), 400);
    a.x.pub.version = 11;
    add(&a, "Content-Length", "3");
    a.why = NULL;
    assert_int_equal(check(&a), 400);
    a.headers[4] =
        (struct http_header){ STR("Transfer-Encoding"), STR("chunked") };
    a.why = NULL;
    assert_int_equal(check(&a), 400);
    end(&a);
}

static void
another_version_is_told_ours(void **state)
{
    struct asked a;
    bool upgrade = false, version = false;

    (void)state;
    begin(&a);
    a.headers[3].value = STR("7");
    assert_int_equal(check(&a), 426);
    for (const struct http_field *f = a.x.fields; f != NULL; f = f->next) {
        upgrade |= strcmp(f->name, "Upgrade") == 0 &&
                   str_eq(f->value, STR("websocket"));
        version |= strcmp(f->name, "Sec-WebSocket-Version") == 0 &&
                   str_eq(f->value, STR("13"));
    }
    assert_true(upgrade && version);
    end(&a);
}

static bool
deflates(const char *offer)
{
    struct asked a;

    begin(&a);
    add(&a, "Sec-WebSocket-Extensions", offer);
    assert_int_equal(check(&a), 0);
    end(&a);
    return a.ws.deflate;
}

static void
only_offers_that_need_no_answer_are_taken(void **state)
{
    (void)state;
    assert_true(deflates("permessage-deflate"));
    assert_true(deflates("Permessage-Deflate ; client_max_window_bits"));
    assert_true(deflates("permessage-deflate; client_max_window_bits=12"));
    assert_true(deflates("permessage-deflate;client_no_context_takeover"));
    assert_true(deflates("x-other; a=b, permessage-deflate"));
    assert_true(deflates("permessage-deflate; server_max_window_bits=10, "
                         "permessage-deflate"));
    assert_false(deflates(""));
    assert_false(deflates("x-webkit-deflate-frame"));
    assert_false(deflates("permessage-deflate; server_no_context_takeover"));
    assert_false(deflates("permessage-deflate; server_max_window_bits=10"));
    assert_false(deflates("permessage-deflate; client_no_context_takeover=1"));
    assert_false(deflates("permessage-deflate; unheard_of"));
    assert_false(deflates("permessage-deflate; client_max_window_bits; "
                          "client_max_window_bits"));
    assert_false(deflates("permessage-deflate;;"));
}

static void
windows_have_8_to_15_bits(void **state)
{
    static const char *const good[] = { "8", "9", "10", "15" };
    static const char *const bad[] = { "0",  "7",   "16", "99", "08",
                                       "1x", "110", "x",  "-8", "\"9" };
    char offer[80];

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        snprintf(offer, sizeof(offer),
                 "permessage-deflate; client_max_window_bits=%s", good[i]);
        assert_true(deflates(offer));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(offer, sizeof(offer),
                 "permessage-deflate; client_max_window_bits=%s", bad[i]);
        assert_false(deflates(offer));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_one_gives_its_key),
        cmocka_unit_test(wrong_headers_are_refused),
        cmocka_unit_test(what_is_named_twice_is_refused),
        cmocka_unit_test(the_request_itself_must_fit),
        cmocka_unit_test(another_version_is_told_ours),
        cmocka_unit_test(only_offers_that_need_no_answer_are_taken),
        cmocka_unit_test(windows_have_8_to_15_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
