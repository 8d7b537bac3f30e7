/*
 * A client and a session of our own server, one speaking to the other.
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

#include "remote.h"

/* The application of peer.h, at the other end of a new connection. */
static void
serve(void)
{
    static const struct addr nobody = { .family = AF_UNIX };

    memset(&app, 0, sizeof(app));
    owner.socket_type = SOCK_STREAM;
    peer.settings = (struct rtmp_settings){
        .chunk_size = 60000,
        .handshake_timeout = 600000,
        .connect_timeout = 600000,
        .ping_interval = 600000,
        .ping_timeout = 600000,
        .send_timeout = 600000,
        .max_message = 1 << 20,
        .max_memory = 2 << 20,
        .window_ack = 2500000,
    };
    assert_int_equal(connect_again(), 0);
    peer.session =
        rtmp_accept(peer.loop, &peer.settings, &app_handlers, &app,
                    &(struct conn_socket){
                        .fd = peer.fd, .peer = nobody, .local = nobody });
    assert_non_null(peer.session);
    peer.fd = -1;
}

static int
end_test(void **state)
{
    rtmp_close_all("the test is over");
    return rtmp_sessions() == 0 ? stop_client(state) : -1;
}

static void
run(void)
{
    for (int i = 0; i < 40; i++) {
        loop_turn(peer.loop, 0);
    }
}

/* One message of media with the chunk size that was told. */
static void
send_media(struct conn *to, uint32_t stream_id, uint8_t type, uint32_t time,
           size_t len)
{
    static uint8_t body[200000];

    buf_clear(&wire);
    fmt0(6, time, (uint32_t)len, type, stream_id);
    for (size_t at = 0; at < len; at += 60000) {
        if (at > 0) {
            basic(3, 6);
        }
        add(body, len - at < 60000 ? len - at : 60000);
    }
    assert_int_equal(conn_write(to, buf_data(&wire), buf_len(&wire)), 0);
    buf_clear(&wire);
}

static void
publishing(void **state)
{
    (void)state;
    owner.wanted.node = STR("node-1");
    serve();
    run();
    assert_string_equal(app.told.at, "connect 0 live||;live 1 live|movie|k=v;");
    assert_string_equal(owner.told.at, "ready 1;");
    assert_true(str_eq(app.asked->node, STR("node-1")));
    assert_true(str_eq(app.asked->tc_url, STR("rtmp://h:1935/live")));
    forget(&app.told);
    send_media(rtmp_client_conn(owner.client), owner.stream_id, 9, 40, 150000);
    send_media(rtmp_client_conn(owner.client), owner.stream_id, 8, 41, 3);
    run();
    assert_string_equal(app.told.at,
                        "media 1 9 40 150000 00;media 1 8 41 3 00;");
    forget(&app.told);
    rtmp_client_close(owner.client, "stopped");
    run();
    assert_string_equal(app.told.at, "end 1 movie: FCUnpublish;");
    assert_int_equal(rtmp_clients(), 0);
    assert_int_equal(rtmp_sessions(), 0);
}

static void
playing(void **state)
{
    (void)state;
    serve();
    run();
    assert_string_equal(app.told.at, "connect 0 live||;play 1 live|movie|k=v;");
    assert_string_equal(owner.told.at, "ready 1;");
    forget(&owner.told);
    send_media(rtmp_session_conn(peer.session), 1, 9, 40, 150000);
    send_media(rtmp_session_conn(peer.session), 1, 8, 41, 3);
    run();
    assert_string_equal(owner.told.at, "media 9 40 150000 00;media 8 41 3 00;");
    forget(&owner.told);
    rtmp_session_finish(app.asked, "status", "NetStream.Play.UnpublishNotify",
                        "gone");
    run();
    assert_string_equal(owner.told.at,
                        "stopped NetStream.Play.UnpublishNotify: gone;");
    assert_over(RTMP_CLIENT_LOST, "peer closed the connection");
}

static void
refused(void **state)
{
    (void)state;
    serve();
    app.publish = RTMP_REFUSE;
    app.code = "NetStream.Publish.BadName";
    app.reason = "no such key";
    run();
    assert_over(RTMP_CLIENT_REFUSED,
                "publish was refused: NetStream.Publish.BadName: no such key");
    serve();
    app.connect = RTMP_REFUSE;
    app.code = "NetConnection.Connect.InvalidApp";
    app.reason = "there is no application \"live\" here";
    run();
    assert_over(RTMP_CLIENT_REFUSED,
                "connect was refused: NetConnection.Connect.InvalidApp: "
                "there is no application \"live\" here");
}

static void
accepted_late(void **state)
{
    (void)state;
    serve();
    app.publish = RTMP_WAIT;
    run();
    assert_string_equal(owner.told.at, "");
    rtmp_session_decide(app.asked, RTMP_DONE, NULL);
    run();
    assert_string_equal(owner.told.at, "ready 1;");
}

static void
pings_go_both_ways(void **state)
{
    (void)state;
    owner.settings.idle = 20;
    owner.settings.ping_timeout = 60000;
    serve();
    run();
    int64_t end = clock_ms() + 60000;
    uint64_t in = rtmp_client_conn(owner.client)->bytes_in;

    for (int answers = 0; answers < 3; answers++) {
        while (rtmp_client_conn(owner.client)->bytes_in == in) {
            assert_true(clock_ms() < end);
            loop_turn(peer.loop, 5);
            assert_non_null(owner.client);
        }
        in = rtmp_client_conn(owner.client)->bytes_in;
    }
}

#define BOTH(f, start) cmocka_unit_test_setup_teardown(f, start, end_test)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        BOTH(publishing, start_publish),
        BOTH(playing, start_play),
        BOTH(refused, start_publish),
        BOTH(accepted_late, start_publish),
        BOTH(pings_go_both_ways, start_play),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
