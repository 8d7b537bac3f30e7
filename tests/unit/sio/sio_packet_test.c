/*
 * Packets of Socket.IO, read and written.
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

#include "fake_session.h"
#include "sio/sio_packet.h"

static const char *why;

static int
read_text(struct sio_packet *p, const char *text)
{
    why = NULL;
    return sio_packet_read(p, str_from(text), &why);
}

static void
assert_str(struct str s, const char *expected)
{
    char text[200];

    assert_true(s.len < sizeof(text));
    str_copy(text, sizeof(text), s);
    assert_string_equal(text, expected);
}

static void
reads_what_clients_send(void **state)
{
    static const struct {
        const char *text, *namespace_name, *id, *json, *event, *args;
        enum sio_packet_type type;
        size_t attachments;
    } rows[] = {
        { "0", "/", "", "", "", "", SIO_PACKET_CONNECT, 0 },
        { "0{\"a\":1}", "/", "", "{\"a\":1}", "", "", SIO_PACKET_CONNECT, 0 },
        { "0/custom", "/custom", "", "", "", "", SIO_PACKET_CONNECT, 0 },
        { "0/custom,", "/custom", "", "", "", "", SIO_PACKET_CONNECT, 0 },
        { "0/c?x=1,{}", "/c?x=1", "", "{}", "", "", SIO_PACKET_CONNECT, 0 },
        { "1", "/", "", "", "", "", SIO_PACKET_DISCONNECT, 0 },
        { "1/c,", "/c", "", "", "", "", SIO_PACKET_DISCONNECT, 0 },
        { "2[\"ev\"]", "/", "", "[\"ev\"]", "ev", "", SIO_PACKET_EVENT, 0 },
        { "2[\"ev\",1,{\"b\":[2]}]", "/", "", "[\"ev\",1,{\"b\":[2]}]", "ev",
          "1,{\"b\":[2]}", SIO_PACKET_EVENT, 0 },
        { "2/c,12[ \"e\\u0076\" , 1 ] ", "/c", "12", "[ \"e\\u0076\" , 1 ] ",
          "ev", "1", SIO_PACKET_EVENT, 0 },
        { "2[7,\"x\"]", "/", "", "[7,\"x\"]", "7", "\"x\"", SIO_PACKET_EVENT,
          0 },
        { "2[\"\"]", "/", "", "[\"\"]", "", "", SIO_PACKET_EVENT, 0 },
        { "30[]", "/", "0", "[]", "", "", SIO_PACKET_ACK, 0 },
        { "3/c,7[1]", "/c", "7", "[1]", "", "", SIO_PACKET_ACK, 0 },
        { "51-[\"b\",{\"_placeholder\":true,\"num\":0}]", "/", "",
          "[\"b\",{\"_placeholder\":true,\"num\":0}]", "b",
          "{\"_placeholder\":true,\"num\":0}", SIO_PACKET_BINARY_EVENT, 1 },
        { "510-/c,4[\"b\"]", "/c", "4", "[\"b\"]", "b", "",
          SIO_PACKET_BINARY_EVENT, 10 },
        { "50-[\"b\"]", "/", "", "[\"b\"]", "b", "", SIO_PACKET_BINARY_EVENT,
          0 },
        { "61-8[{\"num\":0,\"_placeholder\":true}]", "/", "8",
          "[{\"num\":0,\"_placeholder\":true}]", "", "", SIO_PACKET_BINARY_ACK,
          1 },
        /* In a packet without attachments it is an object as any other. */
        { "2[\"e\",{\"_placeholder\":true,\"num\":5}]", "/", "",
          "[\"e\",{\"_placeholder\":true,\"num\":5}]", "e",
          "{\"_placeholder\":true,\"num\":5}", SIO_PACKET_EVENT, 0 },
        { "51-[\"b\",{\"_placeholder\":false,\"num\":5}]", "/", "",
          "[\"b\",{\"_placeholder\":false,\"num\":5}]", "b",
          "{\"_placeholder\":false,\"num\":5}", SIO_PACKET_BINARY_EVENT, 1 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sio_packet p;

        assert_int_equal(read_text(&p, rows[i].text), 0);
        assert_int_equal(p.type, rows[i].type);
        assert_int_equal(p.attachments, rows[i].attachments);
        assert_str(p.namespace_name, rows[i].namespace_name);
        assert_str(p.id, rows[i].id);
        assert_str(p.json, rows[i].json);
        assert_str(p.event, rows[i].event);
        assert_str(p.args, rows[i].args);
    }
}

static const char *const wrong[] = {
    "",
    "7",
    "9",
    "a",
    "abc",
    "4{\"message\":\"x\"}", /* types */
    "0[]",
    "0\"x\"",
    "0null",
    "0{",
    "012{}", /* CONNECT */
    "1{}",
    "1[]",
    "11",
    "1/c,{}", /* DISCONNECT */
    "2",
    "2{}",
    "2[]",
    "2abc[\"x\"]",
    "2[{}]",
    "2[null]",
    "2[[\"x\"]]",
    "2[\"x\"",
    "2[\"x\"]]",
    "2\"x\"",
    "2[\"\xff\"]",
    "2[\"a\",]",
    "21234567890123456[\"x\"]",
    "2-1[\"x\"]",
    "2/c[\"x\"]", /* EVENT */
    "2[\"\\udd080a\"]",
    "2[\"connect\"]",
    "2[\"connect_error\"]",
    "2[\"disconnect\"]",
    "2[\"disconnecting\"]",
    "2[\"newListener\"]",
    "2[\"removeListener\"]",
    "2[\"conn\\u0065ct\"]",
    "51-[\"connect\"]", /* names of theirs */
    "3",
    "31{}",
    "31", /* ACK */
    "5[\"x\"]",
    "5-[\"x\"]",
    "511-[\"x\"]",
    "5a-[\"x\"]",
    "5-1-[\"x\"]",
    "51",
    "51[\"x\"]",
    "51-",
    "599999999999999999999-[\"x\"]",
    "51-[\"x\",{\"_placeholder\":true}]",
    "51-[\"x\",{\"_placeholder\":true,\"num\":1}]",
    "51-[\"x\",{\"_placeholder\":true,\"num\":-1}]",
    "51-[\"x\",{\"_placeholder\":true,\"num\":\"0\"}]",
    "51-[\"x\",{\"_placeholder\":true,\"num\":0.5}]",
    "51-[\"x\",[{\"a\":{\"_placeholder\":true,\"num\":{}}}]]",
    "50-[\"x\",{\"_placeholder\":true,\"num\":0}]",
    "0/\xff,",
};

static void
refuses_the_rest(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sio_packet p;

        assert_int_equal(read_text(&p, wrong[i]), -1);
        assert_non_null(why);
    }
}

static void
names_have_bounds(void **state)
{
    char text[2 * SIO_NAME_MAX];
    struct sio_packet p;

    (void)state;
    for (int n = SIO_NAME_MAX; n <= SIO_NAME_MAX + 1; n++) {
        int expected = n > SIO_NAME_MAX ? -1 : 0;
        char name[2 * SIO_NAME_MAX];

        memset(name, 'x', sizeof(name));
        snprintf(text, sizeof(text), "2[\"%.*s\"]", n, name);
        assert_int_equal(read_text(&p, text), expected);
        snprintf(text, sizeof(text), "0/%.*s", n - 1, name);
        assert_int_equal(read_text(&p, text), expected);
        assert_int_equal(
            sio_check_event(str_of(name, (size_t)n), &(struct errmsg){ "" }),
            expected);
    }
}

static void
assert_frames(struct sio_frames *f, const char *text)
{
    assert_true(f->count > 0);
    assert_false(f->frame[0]->binary);
    assert_str(ws_frame_str(f->frame[0]), text);
    sio_frames_let_go(f);
    assert_int_equal(f->count, 0);
}

static void
writes_packets(void **state)
{
    struct sio_args args = { .json = STR("1,{}") };
    struct sio_frames f;

    (void)state;
    sio_packet_event(&f, STR("/"), STR("e\"v"), &args, STR_NONE);
    assert_int_equal(f.bytes, 15);
    assert_frames(&f, "42[\"e\\\"v\",1,{}]");
    sio_packet_event(&f, STR("/c"), STR("ev"), &args, STR("17"));
    assert_frames(&f, "42/c,[\"ev\",1,{},\"17\"]");
    args.json = STR_NONE;
    sio_packet_event(&f, STR("/c"), STR("ev"), &args, STR("17"));
    assert_frames(&f, "42/c,[\"ev\",\"17\"]");
    sio_packet_event(&f, STR("/"), STR("ev"), &args, STR_NONE);
    assert_frames(&f, "42[\"ev\"]");
    sio_packet_ack(&f, STR("/"), STR("12"), &args);
    assert_frames(&f, "4312[]");
    args.json = STR("true");
    sio_packet_ack(&f, STR("/c"), STR("12"), &args);
    assert_frames(&f, "43/c,12[true]");
    sio_packet_connected(&f, STR("/"), STR("abc"), STR_NONE);
    assert_frames(&f, "40{\"sid\":\"abc\"}");
    sio_packet_connected(&f, STR("/c"), STR("abc"), STR("def"));
    assert_frames(&f, "40/c,{\"sid\":\"abc\",\"pid\":\"def\"}");
    sio_packet_refused(&f, STR("/c"), "no \"way\"", STR_NONE);
    assert_frames(&f, "44/c,{\"message\":\"no \\\"way\\\"\"}");
    sio_packet_refused(&f, STR("/"), "no", STR("{\"code\":1}"));
    assert_frames(&f, "44{\"message\":\"no\",\"data\":{\"code\":1}}");
    sio_packet_left(&f, STR("/"));
    assert_frames(&f, "41");
    sio_packet_left(&f, STR("/c"));
    assert_frames(&f, "41/c,");
    sio_packet_left(&f, STR("/c\0d"));
    assert_int_equal(f.frame[0]->len, strlen("41/c") + 3);
    sio_frames_let_go(&f);
    assert_int_equal(fake_frames, 0);
}

static void
writes_attachments(void **state)
{
    const struct str bytes[] = { STR("\0\1"), STR("") };
    struct sio_args args = { STR("{\"_placeholder\":true,\"num\":0}"), bytes,
                             2 };
    struct sio_frames f, also;

    (void)state;
    sio_packet_event(&f, STR("/c"), STR("b"), &args, STR_NONE);
    assert_int_equal(f.count, 3);
    assert_true(f.frame[1]->binary && f.frame[2]->binary);
    assert_int_equal(f.frame[1]->len, 2);
    assert_memory_equal(f.frame[1]->data, "\0\1", 2);
    assert_int_equal(f.frame[2]->len, 0);
    sio_frames_hold(&also, &f);
    sio_frames_let_go(&f);
    assert_frames(&also, "452-/c,[\"b\",{\"_placeholder\":true,\"num\":0}]");
    sio_packet_ack(&f, STR("/"), STR("3"), &args);
    assert_frames(&f, "462-3[{\"_placeholder\":true,\"num\":0}]");
    assert_int_equal(fake_frames, 0);
}

static void
checks_arguments(void **state)
{
    static const char *const good[] = { "", "1", "1,2", "[],{}",
                                        "{\"_placeholder\":true,\"num\":1}" };
    static const char *const bad[] = {
        "1,", ",", "1 2", "]", "],[", "{\"_placeholder\":true,\"num\":2}"
    };
    const struct str bytes[SIO_ATTACHMENTS + 1] = { STR("a"), STR("b") };
    struct sio_args args = { STR_NONE, bytes, 2 };
    struct errmsg err = { "" };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        args.json = str_from(good[i]);
        assert_int_equal(sio_check_args(&args, &err), 0);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        args.json = str_from(bad[i]);
        assert_int_equal(sio_check_args(&args, &err), -1);
    }
    args = (struct sio_args){ STR("1"), bytes, SIO_ATTACHMENTS + 1 };
    assert_int_equal(sio_check_args(&args, &err), -1);
    assert_string_equal(err.text, "11 attachments; at most 10 are allowed");
    assert_int_equal(sio_check_event(STR("connect"), &err), -1);
    assert_int_equal(sio_check_event(STR(""), &err), -1);
    assert_int_equal(sio_check_event(STR("\xff"), &err), -1);
    assert_int_equal(sio_check_event(STR("connected"), &err), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_clients_send),
        cmocka_unit_test(refuses_the_rest),
        cmocka_unit_test(names_have_bounds),
        cmocka_unit_test(writes_packets),
        cmocka_unit_test(writes_attachments),
        cmocka_unit_test(checks_arguments),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
