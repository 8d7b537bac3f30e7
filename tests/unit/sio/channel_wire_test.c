/*
 * Bytes of calls to the channel.
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

#include <string.h>

#include "base/mem.h"
#include "sio/channel_wire.h"

static struct buf bytes;
static struct pack out;

static int
set_up(void **state)
{
    (void)state;
    buf_init(&bytes, 1 << 20);
    out = (struct pack){ .to = &bytes };
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    buf_clear(&bytes);
    return 0;
}

static void
assert_text(struct str s, const char *wanted)
{
    assert_int_equal(s.len, strlen(wanted));
    assert_memory_equal(s.ptr, wanted, s.len);
}

/* ---- requests of clients ---- */

static const struct channel_ask an_ask = {
    .module = { "echo", 4 },
    .endpoint = { "main", 4 },
    .plain = true,
    .client = { .generation = 7,
                .address = { .family = AF_INET, .port = 80, .ip = { 127 } },
                .secure = true,
                .user = { "anna", 4 } },
    .method = { "POST", 4 },
    .content_type = { "text/plain", 10 },
    .query = { .eio = { "4", 1 },
               .transport = { "polling", 7 },
               .sid = { "abc", 3 },
               .base64 = true },
    .body = { "4a\0b", 4 },
    .handshake = { .key = { "key", 3 }, .deflate = true },
};

static void
an_ask_arrives_whole(void **state)
{
    struct channel_ask a;
    struct unpack in;

    (void)state;
    channel_pack_ask(&out, &an_ask);
    pack_u8(&out, 7);
    in = (struct unpack){ .rest = buf_str(&bytes) };
    assert_true(channel_unpack_ask(&in, &a));
    assert_text(a.module, "echo");
    assert_text(a.endpoint, "main");
    assert_true(a.plain && a.client.secure && a.query.base64);
    assert_true(addr_eq(&a.client.address, &an_ask.client.address));
    assert_text(a.client.user, "anna");
    assert_int_equal(a.client.generation, 7);
    assert_text(a.method, "POST");
    assert_text(a.content_type, "text/plain");
    assert_text(a.query.eio, "4");
    assert_text(a.query.transport, "polling");
    assert_text(a.query.sid, "abc");
    assert_true(str_eq(a.body, an_ask.body));
    assert_text(a.handshake.key, "key");
    assert_true(a.handshake.deflate);
    assert_int_equal(in.rest.len, 1);
}

static void
a_part_of_an_ask_is_none(void **state)
{
    struct channel_ask a;

    (void)state;
    channel_pack_ask(&out, &an_ask);
    for (size_t n = 0; n < buf_len(&bytes); n++) {
        struct unpack in = { .rest = str_first(buf_str(&bytes), n) };

        assert_false(channel_unpack_ask(&in, &a));
    }
}

static void
texts_of_an_ask_have_bounds(void **state)
{
    struct channel_ask a = an_ask;
    char *longer = mem_zero(CHANNEL_TEXT + 1);
    struct unpack in;

    (void)state;
    a.query.sid = str_of(longer, CHANNEL_TEXT + 1);
    channel_pack_ask(&out, &a);
    in = (struct unpack){ .rest = buf_str(&bytes) };
    assert_false(channel_unpack_ask(&in, &a));
    mem_free(&longer);
}

static void
an_answer_arrives_whole(void **state)
{
    struct channel_answer a = { .status = 403,
                                .type = CHANNEL_JSON,
                                .opened = STR("id"),
                                .body = STR("{}") };

    (void)state;
    channel_pack_answer(&out, &a);
    memset(&a, 0, sizeof(a));
    assert_true(channel_unpack_answer(buf_str(&bytes), &a));
    assert_int_equal(a.status, 403);
    assert_int_equal(a.type, CHANNEL_JSON);
    assert_text(a.opened, "id");
    assert_text(a.body, "{}");
    pack_u8(&out, 0);
    assert_false(channel_unpack_answer(buf_str(&bytes), &a));
}

static void
an_answer_has_a_status_and_a_known_type(void **state)
{
    static const struct channel_answer wrong[] = { { .status = 101 },
                                                   { .status = 600 },
                                                   { .type = CHANNEL_TYPES } };
    struct channel_answer a;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        a = wrong[i];
        a.status = a.status == 0 ? 200 : a.status;
        a.opened = a.body = STR_NONE;
        buf_take(&bytes, buf_len(&bytes));
        channel_pack_answer(&out, &a);
        assert_false(channel_unpack_answer(buf_str(&bytes), &a));
    }
}

static void
types_are_those_that_are_known(void **state)
{
    (void)state;
    assert_int_equal(channel_type_of("text/html"), CHANNEL_HTML);
    assert_int_equal(channel_type_of("application/json"), CHANNEL_JSON);
    assert_int_equal(channel_type_of("text/x\r\nevil: 1"), CHANNEL_PLAIN);
    assert_int_equal(channel_type_of(NULL), CHANNEL_PLAIN);
}

/* ---- events ---- */

static const struct str two[] = { { "\0\1", 2 }, { "", 0 } };
static const struct sio_target a_target = {
    .module = "echo",
    .endpoint = { "main", 4 },
    .namespace_name = "/custom",
    .room = { "hall", 4 },
    .socket = { "id", 2 },
};
static const struct sio_message a_message = {
    .event = "news",
    .args = { .json = { "1,2", 3 }, .attachments = two, .attachment_count = 2 },
    .key = { "k", 1 },
    .is_volatile = true,
    .stales = "all",
};

static void
an_event_arrives_whole(void **state)
{
    struct str attachments[SIO_ATTACHMENTS];
    struct sio_target to;
    struct sio_message m;

    (void)state;
    channel_pack_emit(&out, &a_target, &a_message);
    assert_true(channel_unpack_emit(buf_str(&bytes), &to, &m, attachments));
    assert_string_equal(to.module, "echo");
    assert_text(to.endpoint, "main");
    assert_string_equal(to.namespace_name, "/custom");
    assert_text(to.room, "hall");
    assert_text(to.socket, "id");
    assert_string_equal(m.event, "news");
    assert_text(m.args.json, "1,2");
    assert_int_equal(m.args.attachment_count, 2);
    assert_true(str_eq(m.args.attachments[0], two[0]));
    assert_text(m.key, "k");
    assert_true(m.is_volatile);
    assert_string_equal(m.stales, "all");
}

static void
an_event_that_stales_nothing(void **state)
{
    struct str attachments[SIO_ATTACHMENTS];
    struct sio_message m = { .event = "news", .args.json = STR("1") };
    struct sio_target to = { .module = "echo", .namespace_name = "/" };

    (void)state;
    m.key = to.endpoint = to.room = to.socket = STR_NONE;
    channel_pack_emit(&out, &to, &m);
    assert_true(channel_unpack_emit(buf_str(&bytes), &to, &m, attachments));
    assert_null(m.stales);
    assert_false(m.is_volatile);
}

/* What is packed, with another byte at the text, or so far behind it. */
static bool
event_is_taken(const char *text, size_t behind, uint8_t byte)
{
    struct str attachments[SIO_ATTACHMENTS];
    struct sio_target to;
    struct sio_message m;
    uint8_t *at;

    buf_take(&bytes, buf_len(&bytes));
    channel_pack_emit(&out, &a_target, &a_message);
    at = memmem(buf_data(&bytes), buf_len(&bytes), text, strlen(text));
    assert_non_null(at);
    at[behind] = byte;
    return channel_unpack_emit(buf_str(&bytes), &to, &m, attachments);
}

static void
an_event_has_words_and_flags(void **state)
{
    (void)state;
    assert_true(event_is_taken("news", 0, 'N'));
    assert_false(event_is_taken("news", 2, '\0')); /* it would be another */
    assert_false(event_is_taken("/custom", 3, '\0'));
    assert_true(event_is_taken("k", 2, 0)); /* behind the key: the flag */
    assert_false(event_is_taken("k", 2, 2));
}

static void
an_event_has_so_many_attachments(void **state)
{
    struct str many[SIO_ATTACHMENTS + 1];
    struct str attachments[SIO_ATTACHMENTS];
    struct sio_message m = a_message;
    struct sio_target to;

    (void)state;
    for (size_t i = 0; i <= SIO_ATTACHMENTS; i++) {
        many[i] = STR("x");
    }
    m.args.attachments = many;
    m.args.attachment_count = SIO_ATTACHMENTS;
    channel_pack_emit(&out, &a_target, &m);
    assert_true(channel_unpack_emit(buf_str(&bytes), &to, &m, attachments));
    buf_take(&bytes, buf_len(&bytes));
    m = a_message;
    m.args.attachments = many;
    m.args.attachment_count = SIO_ATTACHMENTS + 1;
    channel_pack_emit(&out, &a_target, &m);
    assert_false(channel_unpack_emit(buf_str(&bytes), &to, &m, attachments));
}

/* ---- commands ---- */

static void
rows_come_until_none_is_left(void **state)
{
    struct channel_row row = { .number = 7,
                               .module = STR("echo"),
                               .endpoint = STR("main"),
                               .websocket = true,
                               .namespaces = STR("/,/custom"),
                               .client = an_ask.client.address,
                               .user = STR("anna"),
                               .age_ms = 1500,
                               .queued = 3,
                               .packets = { 1, 2 },
                               .bytes = { 10, 20 } };
    struct unpack in;

    (void)state;
    channel_pack_row(&out, &row);
    row.number = 8;
    channel_pack_row(&out, &row);
    in = (struct unpack){ .rest = buf_str(&bytes) };
    for (uint64_t n = 7; n < 9; n++) {
        assert_true(channel_unpack_row(&in, &row));
        assert_int_equal(row.number, n);
        assert_text(row.namespaces, "/,/custom");
        assert_true(row.websocket && !row.plain && !row.secure);
        assert_int_equal(row.age_ms, 1500);
        assert_int_equal(row.packets[1], 2);
        assert_int_equal(row.bytes[0], 10);
    }
    assert_false(channel_unpack_row(&in, &row));
    assert_false(in.bad);
    in = (struct unpack){ .rest = str_first(buf_str(&bytes), 20) };
    assert_false(channel_unpack_row(&in, &row));
    assert_true(in.bad);
}

static void
numbers_are_not_negative(void **state)
{
    uint64_t n;

    (void)state;
    channel_pack_number(&out, 101);
    assert_true(channel_unpack_number(buf_str(&bytes), &n));
    assert_int_equal(n, 101);
    assert_false(channel_unpack_number(str_first(buf_str(&bytes), 7), &n));
    buf_take(&bytes, buf_len(&bytes));
    pack_int(&out, -1);
    assert_false(channel_unpack_number(buf_str(&bytes), &n));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_ask_arrives_whole),
        TEST(a_part_of_an_ask_is_none),
        TEST(texts_of_an_ask_have_bounds),
        TEST(an_answer_arrives_whole),
        TEST(an_answer_has_a_status_and_a_known_type),
        TEST(types_are_those_that_are_known),
        TEST(an_event_arrives_whole),
        TEST(an_event_that_stales_nothing),
        TEST(an_event_has_words_and_flags),
        TEST(an_event_has_so_many_attachments),
        TEST(rows_come_until_none_is_left),
        TEST(numbers_are_not_negative),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
