/*
 * Commands after connect: what clients hear back.
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

#define CASE(f) cmocka_unit_test_setup_teardown(f, start, stop)

static void
heard(const char *want)
{
    assert_string_equal(peer.heard.at, want);
    forget(&peer.heard);
}

static void
told(const char *want)
{
    assert_string_equal(app.told.at, want);
    forget(&app.told);
}

static void
call_bool(const char *name, bool value)
{
    struct amf_writer *w = command(name, 0);
    amf_put_null(w);
    amf_put_bool(w, value);
    end_command(1);
}

static void
play(const char *name)
{
    call("play", 0, 1, name);
    forget(&peer.heard);
    forget(&app.told);
}

/* ---- what encoders call around publish ---- */

static void
encoder_calls(void **state)
{
    (void)state;
    get_ready();
    call("releaseStream", 2, 0, "movie");
    heard("20/0 _result 2 null null;\n");
    call("FCPublish", 3, 0, "movie");
    heard("20/0 _result 3 null null;20/0 onFCPublish 3 null ( level status "
          "code NetStream.Publish.Start description movie );\n");
    call("FCSubscribe", 4, 0, "movie");
    heard("20/0 _result 4 null null;20/0 onFCSubscribe 4 null ( level status "
          "code NetStream.Play.Start description movie );\n");
    call("getStreamLength", 5, 0, "movie");
    heard("20/0 _result 5 null 0;\n");
    call("doSomething", 6, 0, "movie");
    heard("20/0 _result 6 null null;\n");
    told("");
}

static void
without_a_number_nothing_is_answered(void **state)
{
    (void)state;
    get_ready();
    call("releaseStream", 0, 0, "movie");
    call("getStreamLength", 0, 0, "movie");
    call("doSomething", 0, 0, "movie");
    call("doSomething", -3, 0, "movie");
    heard("");
    call("FCPublish", 0, 0, "movie");
    heard("20/0 onFCPublish 0 null ( level status code "
          "NetStream.Publish.Start description movie );\n");
}

static void
answers_are_not_answered(void **state)
{
    (void)state;
    get_ready();
    call("_result", 7, 0, "x");
    call("_error", 7, 0, "x");
    call("onStatus", 7, 0, "x");
    heard("");
}

/* Clients answer onBWDone with another _checkbw: it must end. */
static void
bandwidth_check_ends(void **state)
{
    (void)state;
    get_ready();
    call("_checkbw", 5, 0, NULL);
    heard("20/0 _result 5 null null;20/0 onBWDone 0 null;\n");
    call("_checkbw", 6, 0, NULL);
    heard("20/0 _result 6 null null;\n");
    call("_checkbw", 0, 0, NULL);
    heard("");
}

static void
long_name_in_fcpublish_is_cut(void **state)
{
    (void)state;
    static char name[60000];
    memset(name, 'n', sizeof(name) - 1);
    get_ready();
    call("FCPublish", 3, 0, name);
    assert_in_range(peer.heard.len, 256, 500);
    assert_false(peer.closed);
}

/* ---- NetStreams ---- */

static void
streams_are_numbered_and_bounded(void **state)
{
    (void)state;
    get_ready(); /* has stream 1 */
    for (int id = 2; id <= RTMP_STREAMS; id++) {
        char want[64];
        call("createStream", 9, 0, NULL);
        snprintf(want, sizeof(want), "20/0 _result 9 null %d;\n", id);
        heard(want);
    }
    call("createStream", 9, 0, NULL);
    heard("20/0 _error 9 null ( level error code NetConnection.Call.Failed "
          "description too many NetStreams );\n");
    struct amf_writer *w = command("deleteStream", 0);
    amf_put_null(w);
    amf_put_number(w, 3);
    end_command(0);
    call("createStream", 9, 0, NULL);
    heard("20/0 _result 9 null 3;\n");
}

static void
delete_stream_takes_anything(void **state)
{
    (void)state;
    static const double ids[] = { -1, 0, 0.5, 7, 9, 1e300 };
    get_ready();
    for (size_t i = 0; i < 6; i++) {
        struct amf_writer *w = command("deleteStream", 0);
        amf_put_null(w);
        amf_put_number(w, ids[i]);
        end_command(0);
    }
    call("deleteStream", 8, 0, "one");
    heard("20/0 _result 8 null null;\n");
    assert_false(peer.closed);
}

static void
several_streams_at_once(void **state)
{
    (void)state;
    get_ready();
    call("publish", 0, 1, "a");
    call("play", 0, 2, "b");
    call("publish", 0, 3, "c");
    told("live 1 live|a|;play 2 live|b|;live 3 live|c|;");
    put_message(4, 8, 3, 5, STR("\xaf\x01"));
    send_wire();
    told("media 3 8 5 2 af;");
    struct amf_writer *w = command("deleteStream", 0);
    amf_put_null(w);
    amf_put_number(w, 1);
    end_command(0);
    told("end 1 a: deleteStream;");
    assert_false(peer.closed);
}

static void
impossible_stream_closes(void **state)
{
    (void)state;
    get_ready();
    call("publish", 0, 99, "a");
    assert_true(peer.closed);
    told("");
}

/* ---- publish ---- */

static void
publish_is_answered_in_one_write(void **state)
{
    (void)state;
    get_ready();
    call("publish", 5, 1, "movie?token=x");
    told("live 1 live|movie|token=x;");
    heard("4/0 0 1;20/1 onStatus 0 null ( level status code "
          "NetStream.Publish.Start description Publishing. );\n");
}

static void
publish_types(void **state)
{
    (void)state;
    static const char *const types[] = { "live", "record", "append", "what" };
    static const char *const want[] = { "live", "record", "append", "live" };
    get_ready();
    for (size_t i = 0; i < 4; i++) {
        struct amf_writer *w = command("publish", 0);
        amf_put_null(w);
        amf_put_string(w, STR("m"));
        amf_put_string(w, str_from(types[i]));
        end_command(1);
        char *begun = strstr(app.told.at, want[i]);
        assert_non_null(begun);
        assert_int_equal(strncmp(begun + strlen(want[i]), " 1 live|m|;", 11),
                         0);
        forget(&app.told);
    }
}

static void
publish_without_a_name(void **state)
{
    (void)state;
    get_ready();
    call("publish", 5, 1, "");
    heard("20/1 onStatus 0 null ( level error code "
          "NetStream.Publish.BadName description no stream is named );\n");
    told("");
    assert_true(peer.closed);
    assert_non_null(strstr(logged.at, "publish"));
}

static void
publish_with_a_name_that_is_no_string(void **state)
{
    (void)state;
    get_ready();
    call_bool("publish", true);
    assert_non_null(strstr(peer.heard.at, "no stream is named"));
    assert_true(peer.closed);
}

/* The name is in the server field (app), the key is empty. */
static void
name_from_the_app(void **state)
{
    (void)state;
    do_handshake();
    put_connect("live/movie", "rtmp://h/live/movie");
    send_wire();
    forget(&app.told);
    call("publish", 5, 1, "");
    told("live 1 live|movie|;");
}

static void
query_in_app_reaches_the_request(void **state)
{
    (void)state;
    do_handshake();
    put_connect("live?k=v", "rtmp://h/live?k=v");
    send_wire();
    forget(&app.told);
    call("publish", 5, 1, "name?a=b");
    told("live 1 live|name|a=b&k=v;");
}

/* Stream id 0, and a stream that was never created. */
static void
publish_without_a_stream(void **state)
{
    (void)state;
    do_handshake();
    do_connect();
    forget(&app.told);
    call("publish", 0, 0, "movie");
    told("live 1 live|movie|;");
    call("publish", 0, 4, "other");
    told("live 4 live|other|;");
}

static void
close_and_publish_again(void **state)
{
    (void)state;
    get_ready();
    for (int i = 0; i < 3; i++) {
        call("publish", 5, 1, "movie");
        told("live 1 live|movie|;");
        forget(&peer.heard);
        call("closeStream", 0, 1, NULL);
        told("end 1 movie: closeStream;");
        heard("20/1 onStatus 0 null ( level status code "
              "NetStream.Unpublish.Success description Stopped. );\n");
    }
    call("closeStream", 0, 1, NULL);
    call("closeStream", 0, 5, NULL);
    heard("");
    told("");
}

static void
a_new_publish_ends_the_old(void **state)
{
    (void)state;
    get_ready();
    call("publish", 0, 1, "a");
    forget(&app.told);
    call("publish", 0, 1, "b");
    told("end 1 a: a new publish;live 1 live|b|;");
    call("play", 0, 1, "c");
    told("end 1 b: a new play;play 1 live|c|;");
}

static void
fcunpublish_ends_the_stream_of_that_name(void **state)
{
    (void)state;
    get_ready();
    call("publish", 0, 1, "movie?token=x");
    call("publish", 0, 2, "other");
    forget(&app.told);
    forget(&peer.heard);
    call("FCUnpublish", 6, 0, "nothing");
    told("");
    forget(&peer.heard);
    call("FCUnpublish", 6, 0, "movie?token=x");
    told("end 1 movie: FCUnpublish;");
    heard("20/0 _result 6 null null;20/0 onFCUnpublish 6 null ( level status "
          "code NetStream.Unpublish.Success description movie?token=x );\n");
    call("publish", 0, 1, "movie");
    told("live 1 live|movie|;");
}

/* ---- play ---- */

static void
play_is_answered_in_one_write(void **state)
{
    (void)state;
    get_ready();
    struct amf_writer *w = command("play", 0);
    amf_put_null(w);
    amf_put_string(w, STR("movie"));
    amf_put_number(w, -2000);
    end_command(1);
    told("play 1 live|movie|;");
    heard("4/0 0 1;"
          "20/1 onStatus 0 null ( level status code NetStream.Play.Reset "
          "description Reset. );"
          "20/1 onStatus 0 null ( level status code NetStream.Play.Start "
          "description Playing. );"
          "18/1 |RtmpSampleAccess true true;\n");
    assert_false(app.through_say); /* no media was there yet */
}

static void
play_without_reset(void **state)
{
    (void)state;
    get_ready();
    struct amf_writer *w = command("play", 0);
    amf_put_null(w);
    amf_put_string(w, STR("movie"));
    amf_put_number(w, -1000);
    amf_put_number(w, -1);
    amf_put_bool(w, false);
    end_command(1);
    assert_null(strstr(peer.heard.at, "Play.Reset"));
    assert_non_null(strstr(peer.heard.at, "Play.Start"));
}

static void
while_playing_words_go_through_the_application(void **state)
{
    (void)state;
    get_ready();
    play("movie");
    call("doSomething", 6, 0, NULL);
    assert_true(app.through_say);
    heard("20/0 _result 6 null null;\n");
}

static void
pause_and_go_on(void **state)
{
    (void)state;
    get_ready();
    play("movie");
    call_bool("pause", true);
    told("pause 1 1;");
    heard("4/0 1 1;20/1 onStatus 0 null ( level status code "
          "NetStream.Pause.Notify description Paused. );\n");
    call_bool("pauseRaw", false);
    told("pause 1 0;");
    heard("4/0 0 1;20/1 onStatus 0 null ( level status code "
          "NetStream.Unpause.Notify description Going on. );\n");
}

static void
receive_audio_and_video(void **state)
{
    (void)state;
    get_ready();
    play("movie");
    call_bool("receiveAudio", false);
    told("receive 1 8 0;");
    heard("");
    call_bool("receiveVideo", true);
    told("receive 1 9 1;");
    heard("20/1 onStatus 0 null ( level status code NetStream.Seek.Notify "
          "description Going on. );20/1 onStatus 0 null ( level status code "
          "NetStream.Play.Start description Playing. );\n");
}

static void
seek_and_play2_are_refused_without_closing(void **state)
{
    (void)state;
    get_ready();
    play("movie");
    call("seek", 0, 1, NULL);
    assert_non_null(strstr(peer.heard.at, "error code NetStream.Seek.Failed"));
    forget(&peer.heard);
    call("play2", 0, 1, NULL);
    assert_non_null(strstr(peer.heard.at, "error code NetStream.Play.Failed"));
    assert_false(peer.closed);
    told("");
}

static void
player_commands_without_a_player(void **state)
{
    (void)state;
    get_ready();
    call_bool("pause", true);
    call_bool("receiveAudio", false);
    call("seek", 0, 1, NULL);
    heard("");
    call("pause", 7, 1, NULL);
    heard("20/0 _result 7 null null;\n");
    told("");
}

static void
close_stream_of_a_player(void **state)
{
    (void)state;
    get_ready();
    play("movie");
    call("closeStream", 0, 1, NULL);
    told("end 1 movie: closeStream;");
    heard("20/1 onStatus 0 null ( level status code NetStream.Play.Stop "
          "description Stopped. );\n");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(encoder_calls),
        CASE(without_a_number_nothing_is_answered),
        CASE(answers_are_not_answered),
        CASE(bandwidth_check_ends),
        CASE(long_name_in_fcpublish_is_cut),
        CASE(streams_are_numbered_and_bounded),
        CASE(delete_stream_takes_anything),
        CASE(several_streams_at_once),
        CASE(impossible_stream_closes),
        CASE(publish_is_answered_in_one_write),
        CASE(publish_types),
        CASE(publish_without_a_name),
        CASE(publish_with_a_name_that_is_no_string),
        CASE(name_from_the_app),
        CASE(query_in_app_reaches_the_request),
        CASE(publish_without_a_stream),
        CASE(close_and_publish_again),
        CASE(a_new_publish_ends_the_old),
        CASE(fcunpublish_ends_the_stream_of_that_name),
        CASE(play_is_answered_in_one_write),
        CASE(play_without_reset),
        CASE(while_playing_words_go_through_the_application),
        CASE(pause_and_go_on),
        CASE(receive_audio_and_video),
        CASE(seek_and_play2_are_refused_without_closing),
        CASE(player_commands_without_a_player),
        CASE(close_stream_of_a_player),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
