/*
 * Bodies of many packets, which take several turns.
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

#include "engine_help.h"

#define UNKNOWN "{\"code\":1,\"message\":\"Session ID unknown\"}"
#define BAD "{\"code\":3,\"message\":\"Bad request\"}"

static void
is(const struct client_request *q, int status, const char *body)
{
    assert_int_equal(q->status, status);
    assert_string_equal(q->body, body);
}

static void
is_unknown(const char *sid)
{
    static struct client_request q;

    poll(&q, sid);
    is(&q, 400, UNKNOWN);
}

#define PACKETS 40000 /* of two bytes, and a separator between two */

static char many[3 * PACKETS];

/* A POST of them, which goes on with the next turn. */
static void
post_many(struct client_request *q, const char *sid)
{
    struct engine_request r = request_of("POST", sid);

    for (int i = 0; i < PACKETS; i++) {
        memcpy(many + 3 * i, "4x\x1e", 3);
    }
    settings.max_payload = sizeof(many);
    r.body = str_of(many, sizeof(many) - 1);
    ask(q, &r);
    assert_int_equal(q->status, 0);
    assert_true(last->packets[METRIC_IN] * 3 >= 64 * 1024);
    assert_true(last->packets[METRIC_IN] < PACKETS);
    events[0] = '\0';
}

static void
test_a_long_body_takes_turns(void **state)
{
    const char *sid = open_polling();
    static struct client_request q;

    (void)state;
    post_many(&q, sid);
    for (int i = 0; i < 3 && q.status == 0; i++) {
        wait_ms(1);
        events[0] = '\0';
    }
    is(&q, 200, "ok");
    assert_int_equal(last->packets[METRIC_IN], PACKETS);
    assert_null(q.x.session);
    assert_int_equal(post(sid, "4y"), 200);
}

static void
test_a_second_body_ends_it(void **state)
{
    const char *sid = open_polling();
    static struct client_request q;

    (void)state;
    post_many(&q, sid);
    assert_int_equal(post(sid, "4y"), 400);
    is(&q, 400, BAD);
    is_unknown(sid);
    wait_ms(1);
}

static void
test_a_wrong_packet_behind_many(void **state)
{
    const char *sid = open_polling();
    static struct client_request q;

    (void)state;
    post_many(&q, sid);
    many[sizeof(many) - 3] = 'x';
    wait_ms(1);
    is(&q, 400, BAD);
    is_unknown(sid);
}

static void
test_the_client_of_a_long_body_goes(void **state)
{
    const char *sid = open_polling();
    static struct client_request q;

    (void)state;
    post_many(&q, sid);
    engine_poll_gone(e, &q.x);
    memset(many, 0, sizeof(many)); /* no longer the engine's */
    is_unknown(sid);
    wait_ms(1);
    assert_int_equal(q.status, 0);
}

static void
test_the_end_while_a_body_is_taken(void **state)
{
    const char *sid = open_polling();
    static struct client_request q;

    (void)state;
    post_many(&q, sid);
    engine_end_all(e, NULL, SESSION_STOPPING);
    is(&q, 200, "ok");
    wait_ms(1);
    (void)sid;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_long_body_takes_turns),
        TEST(test_a_second_body_ends_it),
        TEST(test_a_wrong_packet_behind_many),
        TEST(test_the_client_of_a_long_body_goes),
        TEST(test_the_end_while_a_body_is_taken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
