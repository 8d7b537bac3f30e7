/*
 * The table of Engine.IO sessions: ids, bounds, the end.
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

static struct client_request q;

static void
test_ids(void **state)
{
    char ids[100][ENGINE_ID + 1];

    (void)state;
    for (int i = 0; i < 100; i++) {
        str_copy(ids[i], sizeof(ids[i]), str_from(open_polling()));
        assert_int_equal(strlen(ids[i]), 5 + 16);
        assert_memory_equal(ids[i], "node7", 5);
        assert_int_equal(strspn(ids[i], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij"
                                        "klmnopqrstuvwxyz0123456789-_"),
                         21);
        assert_int_equal(last->number, i + 1);
        for (int j = 0; j < i; j++) {
            assert_string_not_equal(ids[i], ids[j]);
        }
    }
    for (int i = 0; i < 100; i++) {
        struct session *s = engine_find(e, str_from(ids[i]));

        assert_int_equal(s->number, i + 1);
    }
}

static void
test_unknown_ids(void **state)
{
    char id[ENGINE_ID + 4];

    (void)state;
    snprintf(id, sizeof(id), "%sx", open_polling());
    assert_null(engine_find(e, str_from(id)));
    assert_null(engine_find(e, str_first(str_from(id), strlen(id) - 2)));
    assert_null(engine_find(e, STR_NONE));
    id[strlen(id) - 1] = '\0';
    assert_non_null(engine_find(e, str_from(id)));
    for (char *c = id; *c != '\0'; c++) {
        *c ^= 1;
        assert_null(engine_find(e, str_from(id)));
        *c ^= 1;
    }
}

static void
test_too_many(void **state)
{
    static const struct ws_handshake h = { .key = { "", 0 } };
    struct engine_request r = request_of("GET", "");

    (void)state;
    for (int i = 0; i < 100; i++) {
        open_polling();
    }
    ask(&q, &r);
    assert_int_equal(q.status, 503);
    assert_false(q.x.opened);
    r.query.transport = STR("websocket");
    assert_int_equal(engine_upgrade(e, &r, NULL, &h), ENGINE_FULL);
    /* One that ends has its place until its client knows. */
    session_close(last, SESSION_SERVER_CLOSED);
    assert_int_equal(engine_sessions(e), 99);
    assert_int_equal(engine_upgrade(e, &r, NULL, &h), ENGINE_FULL);
    wait_ms(30000);
    assert_int_equal(engine_upgrade(e, &r, NULL, &h), ENGINE_OK);
    ws_ends(&adopted, WS_NONE);
}

static uint64_t before;
static unsigned seen;

static void
end_each(void *arg, struct session *s)
{
    (void)arg;
    assert_true(s->number > before);
    before = s->number;
    seen++;
    if (s->number % 3 == 0) {
        session_close(s, SESSION_CLIENT_CLOSED);
    }
}

static void
test_each(void **state)
{
    (void)state;
    for (int i = 0; i < 90; i++) {
        open_polling();
    }
    before = seen = 0;
    engine_each(e, end_each, NULL);
    assert_int_equal(seen, 90);
    assert_int_equal(engine_sessions(e), 60);
    before = seen = 0;
    engine_each(e, end_each, NULL); /* those that ended are not seen */
    assert_int_equal(seen, 60);
    wait_ms(0);
    assert_int_equal(engine_sessions(e), 60);
}

static void
test_the_first_request_tells_the_client(void **state)
{
    struct engine_request r = request_of("GET", "");
    char user[] = "ann";

    (void)state;
    r.client.user = str_from(user);
    r.client.secure = true;
    r.client.address.port = 7;
    r.endpoint = &seen;
    ask(&q, &r);
    user[0] = 'x';
    assert_true(str_eq(last->client.user, STR("ann")));
    assert_true(last->client.secure);
    assert_int_equal(last->client.address.port, 7);
    assert_ptr_equal(last->endpoint, &seen);
    assert_int_equal(last->opened_ms, loop_now(l));
}

/* Whatever a session does when all end, nothing is left over. */
static void
test_the_end_of_all(void **state)
{
    static struct client_request held;
    struct ws *open, *full, *probing;
    const char *sid;

    (void)state;
    poll(&held, open_polling());
    open_polling();
    send_text(last, "4a", 0);
    open_websocket();
    open = adopted;
    open_websocket();
    full = adopted;
    full->room = 0;
    send_text(last, "4a", 0);
    sid = open_polling();
    upgrade(sid);
    probing = adopted;
    open_polling();
    session_close(last, SESSION_SERVER_CLOSED);
    open_polling();
    while (send_text(last, "4a", 0) == 0) {
    }
    noted();
    engine_free(&e, SESSION_STOPPING);
    assert_null(e);
    assert_string_equal(held.body, "1");
    assert_int_equal(open->code, WS_GOING_AWAY);
    assert_int_equal(full->code, WS_GOING_AWAY);
    assert_int_equal(probing->code, WS_NORMAL);
    assert_string_equal(noted(), "close:server shutting down "
                                 "close:server shutting down "
                                 "close:server shutting down "
                                 "close:server shutting down "
                                 "close:server shutting down "
                                 "close:too slow");
    assert_int_equal(frames_alive, 0);
    loop_turn(l, 0);
    ws_ends(&open, WS_GOING_AWAY);
    ws_gets_room(full, 9);
    ws_ends(&full, WS_GOING_AWAY);
    ws_ends(&probing, WS_NORMAL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_ids),
        TEST(test_unknown_ids),
        TEST(test_too_many),
        TEST(test_each),
        TEST(test_the_first_request_tells_the_client),
        TEST(test_the_end_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
