/*
 * Endpoints of the channel over reloads: with the real engine, and WebSockets
 * that remember what they were sent.
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

#include "base/hash.h"
#include "base/str.h"
#include "sio/channel_impl.h"
#include "sio/sio_impl.h"

/* ---- a module with two namespaces, each of which tells the other ---- */

static void
tell_other(struct sio_hall *h)
{
    static const struct sio_message m = { .event = "left" };
    bool is_a = strcmp(sio_hall_namespace(h)->name, "/a") == 0;

    sio_hall_emit(sio_halls_find(h->point, is_a ? STR("/b") : STR("/a")),
                  STR_NONE, NULL, &m);
}

static void
on_stop(struct sio_hall *h, void *state)
{
    (void)state;
    tell_other(h);
    note("stop:", str_from(sio_hall_namespace(h)->name), "");
}

static void
on_disconnect(struct sio_socket *s, const char *reason)
{
    struct sio_hall *h = sio_socket_hall(s);

    (void)reason;
    tell_other(h);
    note("over:", str_from(sio_hall_namespace(h)->name), "");
}

#define TALKATIVE(n)                                                  \
    {                                                                 \
        .name = n, .on_stop = on_stop, .on_disconnect = on_disconnect \
    }

static const struct sio_namespace namespaces[] = {
    TALKATIVE("/a"),
    TALKATIVE("/b"),
    { .name = NULL },
};

static const struct sio_module module = { .namespaces = namespaces };
static const struct channel_module modules[] = { { "mine", &module },
                                                 { NULL, NULL } };

/* ---- a channel ---- */

static struct channel c;
static struct sio_settings now;

static void
configure(const char *const *names)
{
    struct buf description;

    buf_init(&description, 65536);
    for (; *names != NULL; names++) {
        const struct sio_endpoint point = { str_from(*names), STR("plain"),
                                            &now };

        channel_describe(&description, "mine", &point);
    }
    channel_configure(&c, buf_str(&description));
    buf_clear(&description);
}

static const char *const nothing[] = { NULL };
static const char *const main_alone[] = { "main", NULL };

static int
start(void **state)
{
    static struct str transports[] = { { "polling", 7 }, { "websocket", 9 } };

    hash_init();
    if (set_up(state) == -1) {
        return -1;
    }
    now = (struct sio_settings){
        .ping_interval = 25000,
        .ping_timeout = 20000,
        .upgrade_timeout = 10000,
        .connect_timeout = 45000,
        .max_payload = 1000,
        .max_queue = 2000,
        .transports = { transports, 2 },
    };
    c = (struct channel){
        .loop = l, .engine = e, .modules = modules, .sessions_max = 100
    };
    list_init(&c.points);
    list_init(&c.polls);
    configure(main_alone);
    return 0;
}

static int
stop(void **state)
{
    configure(nothing);
    return tear_down(state);
}

static struct sio_point *
point(const char *name)
{
    return channel_find_point(&c, STR("mine"), str_from(name));
}

/* A client with a WebSocket, in both namespaces. */
static struct session *
join_both(void)
{
    static const struct ws_handshake h = { .deflate = false };
    struct sio_point *p = point("main");
    struct engine_request r = request_of("GET", "");

    r.query.transport = STR("websocket");
    r.settings = &p->engine_settings;
    r.protocol = &sio_protocol;
    r.endpoint = p;
    assert_int_equal(engine_upgrade(e, &r, NULL, &h), ENGINE_OK);
    ws_says(adopted, "40/a,");
    ws_says(adopted, "40/b,");
    wait_ms(0);
    ws_sent(adopted);
    assert_int_equal(p->halls->halls[0].count, 1);
    return LIST_ITEM(p->halls->halls[0].sockets.next, struct sio_socket,
                     in_hall)
        ->client->session;
}

/* ---- tests ---- */

/* No turn of the loop lies between: the session has not ended yet. */
static void
test_an_endpoint_ends_with_a_session_that_was_too_slow(void **state)
{
    struct session *s = join_both();
    char long_text[2001];
    struct ws *w = adopted;

    (void)state;
    w->room = 0;
    memset(long_text, '4', sizeof(long_text));
    long_text[sizeof(long_text) - 1] = '\0';
    assert_int_equal(send_text(s, long_text, 0), -1);
    configure(nothing);
    assert_null(point("main"));
    assert_string_equal(noted(), "over:/a over:/b stop:/a stop:/b");
    wait_ms(0);
    assert_int_not_equal(w->code, 0);
    assert_int_equal(engine_sessions(e), 0);
    ws_ends(&w, 1006);
    wait_ms(0);
}

/* Each hall is told of what happens in the other one, with and without
 * recovery, which keeps what is emitted. */
static void
test_halls_that_end_may_be_emitted_to(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct ws *w;

        now.recovery = i == 0 ? 0 : 60000;
        configure(main_alone);
        join_both();
        w = adopted;
        configure(nothing);
        assert_string_equal(noted(), "over:/a over:/b stop:/a stop:/b");
        ws_ends(&w, 1006);
        wait_ms(0);
    }
}

/* ---- points that stay ---- */

static const char *found; /* while another one ended */

static void
look_for_main(struct session *s, enum session_end why)
{
    (void)s;
    found = why == SESSION_ENDPOINT_GONE && point("main") != NULL ? "found"
                                                                  : "lost";
}

static void
test_points_that_stay_can_be_found(void **state)
{
    static const char *const both[] = { "other", "main", NULL };
    static const struct engine_protocol looking = { .on_close = look_for_main };
    struct engine_request r = request_of("GET", "");
    struct client_request q;

    (void)state;
    configure(both);
    r.protocol = &looking;
    r.settings = &point("other")->engine_settings;
    r.endpoint = point("other");
    ask(&q, &r);
    assert_int_equal(q.status, 200);
    configure(main_alone);
    assert_string_equal(found, "found");
    assert_null(point("other"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_endpoint_ends_with_a_session_that_was_too_slow),
        TEST(test_halls_that_end_may_be_emitted_to),
        TEST(test_points_that_stay_can_be_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
