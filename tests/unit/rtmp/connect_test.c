/*
 * The connect command: what clients put in it, and the answer.
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

#include "peer.h"
#include "rtmp/session.h"

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)

static void
put_member(struct amf_writer *w, const char *name, const char *value)
{
    amf_put_name(w, str_from(name));
    amf_put_string(w, str_from(value));
}

static void
the_answer_is_one_write(void **state)
{
    (void)state;
    do_handshake();
    do_connect();
    assert_string_equal(
        peer.heard.at,
        "5/0 2500000;6/0 2500000;1/0 60000;"
        "20/0 _result 1 ( fmsVer FMS/3,5,7,7009 capabilities 31 mode 1 ) "
        "( level status code NetConnection.Connect.Success description "
        "Connection succeeded. objectEncoding 0 );\n");
    assert_string_equal(app.told.at, "connect 0 live||;");
}

static void
small_chunk_size_is_kept_by_the_answer(void **state)
{
    (void)state;
    peer.settings.chunk_size = 128;
    do_handshake();
    do_connect();
    assert_non_null(strstr(peer.heard.at, "objectEncoding 0 );\n"));
}

static void
enhanced_clients_are_told_what_is_passed_on(void **state)
{
    (void)state;
    do_handshake();
    struct amf_writer *w = command("connect", 1);
    amf_begin_object(w);
    put_member(w, "app", "live");
    amf_put_name(w, STR("objectEncoding"));
    amf_put_number(w, 3);
    amf_put_name(w, STR("fourCcList"));
    amf_begin_array(w, 2);
    amf_put_string(w, STR("hvc1"));
    amf_put_string(w, STR("av01"));
    amf_end_object(w);
    end_command(0);
    assert_non_null(strstr(peer.heard.at,
                           "fourCcList ( * ) videoFourCcInfoMap ( * 4 ) "
                           "audioFourCcInfoMap ( * 4 ) capsEx 6 )"));
    assert_non_null(strstr(peer.heard.at, "objectEncoding 0 "));
}

static void
the_request_knows_the_client(void **state)
{
    (void)state;
    do_handshake();
    struct amf_writer *w = command("connect", 1);
    amf_begin_object(w);
    put_member(w, "APP", "live/inst?token=secret");
    put_member(w, "tcurl", "'rtmp://h/live/inst?token=secret'");
    put_member(w, "pageUrl", "http://page");
    put_member(w, "swfUrl", "http://swf");
    put_member(w, "flashVer", "FMLE/3.0");
    amf_put_name(w, STR("capabilities"));
    amf_put_number(w, 15);
    amf_end_object(w);
    app.connect = RTMP_WAIT;
    end_command(0);
    assert_string_equal(app.told.at, "connect 0 live||token=secret;");
    assert_true(str_eq(app.asked->tc_url, STR("rtmp://h/live/inst")));
    assert_true(str_eq(app.asked->page_url, STR("http://page")));
    assert_true(str_eq(app.asked->swf_url, STR("http://swf")));
    assert_true(str_eq(app.asked->flash_ver, STR("FMLE/3.0")));
    assert_ptr_equal(app.asked->session, peer.session);
    assert_ptr_equal(rtmp_session_arg(peer.session), &app);
}

static void
object_as_ecma_array(void **state)
{
    (void)state;
    do_handshake();
    command("connect", 1);
    buf_add(&peer.body, "\x08\0\0\0\x63", 5);
    amf_put_name(&peer.amf, STR("app"));
    amf_put_string(&peer.amf, STR("live"));
    end_command(0); /* and its end is missing */
    assert_non_null(strstr(peer.heard.at, "Connect.Success"));
}

static void
amf3_envelope(void **state)
{
    (void)state;
    do_handshake();
    put_connect("live", "rtmp://h/live");
    send_wire();
    forget(&peer.heard);
    command("createStream", 2);
    struct buf body = peer.body;
    char envelope[200] = { 0 };
    memcpy(envelope + 1, buf_data(&body), buf_len(&body));
    put_message(3, 17, 0, 0, str_of(envelope, buf_len(&body) + 1));
    send_wire();
    put_message(3, 17, 0, 0, buf_str(&peer.body)); /* without its byte */
    send_wire();
    assert_string_equal(peer.heard.at, "20/0 _result 2 null 1;\n"
                                       "20/0 _result 2 null 2;\n");
}

static void
refused(const char *reason)
{
    assert_int_equal(
        strncmp(peer.heard.at, "20/0 _error 1 null ( level error", 32), 0);
    assert_non_null(strstr(peer.heard.at, reason));
    assert_true(peer.closed);
    assert_non_null(strstr(logged.at, "connect"));
    assert_non_null(strstr(logged.at, "refused"));
}

static void
app_that_is_not_a_string(void **state)
{
    (void)state;
    do_handshake();
    struct amf_writer *w = command("connect", 1);
    amf_begin_object(w);
    amf_put_name(w, STR("app"));
    amf_put_number(w, 7);
    amf_end_object(w);
    end_command(0);
    refused("no application is named");
}

static void
no_object_at_all(void **state)
{
    (void)state;
    do_handshake();
    command("connect", 1);
    end_command(0);
    refused("no application is named");
}

static void
null_instead_of_the_object(void **state)
{
    (void)state;
    do_handshake();
    call("connect", 1, 0, "live");
    refused("no application is named");
}

static void
app_that_is_too_long(void **state)
{
    (void)state;
    static char name[9000];
    memset(name, 'a', sizeof(name) - 1);
    do_handshake();
    put_connect(name, "rtmp://h/");
    send_wire();
    refused("too long");
}

static void
unknown_app_is_refused_by_the_application(void **state)
{
    (void)state;
    app.connect = RTMP_REFUSE;
    app.code = "NetConnection.Connect.InvalidApp";
    app.reason = "there is no application \"live\"";
    do_handshake();
    do_connect();
    refused("code NetConnection.Connect.InvalidApp description there is no");
    /* on_end tells the application that it need not think any more. */
    assert_non_null(strstr(app.told.at, "end 0 "));
}

static void
refusals_do_not_log_secrets(void **state)
{
    (void)state;
    app.connect = RTMP_REFUSE;
    app.reason = "no";
    do_handshake();
    put_connect("live?token=secret", "rtmp://h/live?token=secret");
    send_wire();
    refused("Connect.Rejected");
    assert_null(strstr(logged.at, "secret"));
}

static void
command_before_connect_closes(void **state)
{
    (void)state;
    do_handshake();
    call("createStream", 1, 0, NULL);
    assert_true(peer.closed);
    assert_non_null(strstr(logged.at, "before connect"));
}

static void
second_connect_closes(void **state)
{
    (void)state;
    get_ready();
    do_connect();
    assert_true(peer.closed);
    assert_non_null(strstr(logged.at, "second connect"));
}

static void
messages_without_values_close(void **state)
{
    (void)state;
    do_handshake();
    put_message(3, 17, 0, 0, STR("\0"));
    send_wire();
    assert_true(peer.closed);
    assert_non_null(strstr(logged.at, "without a name"));
}

static void
broken_values_close(void **state)
{
    (void)state;
    do_handshake();
    put_message(3, 20, 0, 0, STR("\x07\0\x01garbage"));
    send_wire();
    assert_true(peer.closed);
}

static void
huge_commands_close(void **state)
{
    (void)state;
    static char body[65537];
    do_handshake();
    put_message(3, 20, 0, 0, str_of(body, sizeof(body)));
    send_wire();
    assert_true(peer.closed);
    assert_non_null(strstr(logged.at, "64 KB"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_answer_is_one_write),
        CASE(small_chunk_size_is_kept_by_the_answer),
        CASE(enhanced_clients_are_told_what_is_passed_on),
        CASE(the_request_knows_the_client),
        CASE(object_as_ecma_array),
        CASE(amf3_envelope),
        CASE(app_that_is_not_a_string),
        CASE(no_object_at_all),
        CASE(null_instead_of_the_object),
        CASE(app_that_is_too_long),
        CASE(unknown_app_is_refused_by_the_application),
        CASE(refusals_do_not_log_secrets),
        CASE(command_before_connect_closes),
        CASE(second_connect_closes),
        CASE(messages_without_values_close),
        CASE(broken_values_close),
        CASE(huge_commands_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
