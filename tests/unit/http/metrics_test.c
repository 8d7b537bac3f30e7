/*
 * What is counted of requests: who served them, how, and how they ended.
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

#include "http/metrics.h"
#include "http/refusal.h"
#include "proc/metric_text.h"
#include "proc/slot.h"
#include "serve.h"

static struct loop *l;
static struct http_server server;

static enum http_result
on_get(struct http_request *r, void *state)
{
    (void)state;
    return http_reply(r, 200, NULL, STR("12345"));
}

static const struct http_route routes[] = {
    { "GET", "/get", on_get, NULL },
    { NULL, NULL, NULL, NULL },
};
static struct http_layer layers[] = { { .module = "test", .routes = routes } };
static const struct http_location locations[] = {
    { .path = { "/", 1 },
      .client_max_body_size = 1000,
      .layers = layers,
      .layer_count = 1 },
};

static int
set_up(void **state)
{
    struct errmsg err;

    (void)state;
    if (slots_create(1, &err) == -1) {
        return -1;
    }
    metric_register(http_metrics);
    if (metrics_create(&err) == -1) {
        return -1;
    }
    metric_name_add(METRIC_MODULES, STR("test"));
    layers[0].place = http_module_place("test");
    l = loop_new(&err);
    server = (struct http_server){ .settings = SERVE_SETTINGS,
                                   .locations = locations,
                                   .location_count = 1 };
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
    metrics_destroy();
    slots_destroy();
    return 0;
}

static void
serve(const char *text)
{
    struct client c = client_open(l, &server);

    client_send(&c, str_from(text));
    for (int i = 0; i < 4; i++) {
        client_turn(&c, 65536);
    }
    client_close(&c);
    for (int i = 0; i < 4; i++) {
        loop_turn(l, 1);
    }
}

static void
assert_told(const char *line)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    assert_int_equal(metric_text(&b, METRIC_PROMETHEUS), 0);
    buf_add(&b, "", 1);
    if (strstr((const char *)buf_data(&b), line) == NULL) {
        fail_msg("no %s in\n%s", line, (const char *)buf_data(&b));
    }
    buf_clear(&b);
}

static void
test_requests(void **state)
{
    (void)state;
    serve("GET /get HTTP/1.1\r\nHost: a\r\n\r\n");
    serve("HEAD /get HTTP/1.1\r\nHost: a\r\n\r\n");
    serve("POST /get HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx");
    serve("LOCK /none HTTP/1.1\r\nHost: a\r\n\r\n");
#define REQUESTS "\nweir_http_requests_total{module="
    assert_told(REQUESTS "\"test\",method=\"GET\",code=\"200\"} 1\n");
    assert_told(REQUESTS "\"test\",method=\"HEAD\",code=\"200\"} 1\n");
    assert_told(REQUESTS "\"none\",method=\"POST\",code=\"405\"} 1\n");
    assert_told(REQUESTS "\"none\",method=\"other\",code=\"404\"} 1\n");
    assert_told("\nweir_http_requests_in_flight 0\n");
    assert_told("\nweir_http_response_size_bytes_count 4\n");
    assert_told("_duration_seconds_count{module=\"test\"} 2\n");
    assert_told("_closed_total{reason=\"client\"} 4\n");
}

static void
test_refusals(void **state)
{
    (void)state;
    serve("GET /get HTTP/1.1\r\n\r\n");
    assert_told("\nweir_http_refusals_total{reason=\"no_host\"} 1\n");
    assert_told("\nweir_http_refusals_total{reason=\"hosts\"} 0\n");
    assert_told("_closed_total{reason=\"answered\"} 1\n");
    for (unsigned i = 1; i < REFUSE_COUNT; i++) {
        assert_non_null(http_refusal_name(i));
    }
    assert_null(http_refusal_name(REFUSE_NONE));
    assert_null(http_refusal_name(REFUSE_COUNT));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_requests),
        TEST(test_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
