/*
 * Chunked bodies: payload, end, and everything that is refused, cut in every
 * way.
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

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "http/chunk.h"

struct outcome {
    enum http_refusal why;
    bool done;
    size_t eaten;
    struct buf payload;
};

/* Feeds pieces of step bytes, 0: random ones. */
static struct outcome
read_chunks(struct str bytes, size_t step)
{
    struct http_chunked c = { 0 };
    struct outcome o = { .why = REFUSE_NONE };
    size_t have = 0;

    buf_init(&o.payload, 1 << 20);
    while (have < bytes.len && !http_chunked_done(&c)) {
        size_t n = step > 0 ? step : 1 + (size_t)rand() % 5;

        n = n < bytes.len - have ? n : bytes.len - have;
        char *copy = mem_dup(bytes.ptr + have, n);
        ssize_t ate = 0;

        for (size_t at = 0; at < n && !http_chunked_done(&c);
             at += (size_t)ate) {
            struct str piece;

            ate = http_chunked_eat(&c, (uint8_t *)copy + at, n - at, &piece);
            if (ate < 0) {
                break;
            }
            have += (size_t)ate;
            assert_int_equal(buf_add_str(&o.payload, piece), 0);
        }
        mem_free(&copy);
        if (ate < 0) {
            o.why = c.why;
            break;
        }
    }
    o.done = http_chunked_done(&c);
    o.eaten = have;
    return o;
}

static struct outcome
read_all_ways(struct str bytes)
{
    struct outcome first = read_chunks(bytes, bytes.len);

    for (size_t step = 0; step < 4; step++) {
        struct outcome o = read_chunks(bytes, step);

        assert_int_equal(o.why, first.why);
        assert_int_equal(o.done, first.done);
        assert_true(o.why != REFUSE_NONE || o.eaten == first.eaten);
        assert_true(o.why != REFUSE_NONE ||
                    str_eq(buf_str(&o.payload), buf_str(&first.payload)));
        buf_clear(&o.payload);
    }
    return first;
}

static void
test_payload(void **state)
{
    const struct {
        struct str bytes;
        const char *payload;
    } rows[] = {
        { STR("0\r\n\r\n"), "" },
        { STR("3\r\nabc\r\n0\r\n\r\n"), "abc" },
        { STR("3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"), "abc0123456789" },
        { STR("a\r\n0123456789\r\n0\r\n\r\n"), "0123456789" },
        { STR("0000000000000003\r\na\r\n\r\n000\r\n\r\n"), "a\r\n" },
        { STR("3;a;bc=de;f\r\nabc\r\n0;b=c\r\n\r\n"), "abc" },
        { STR("1\r\nx\r\n0\r\nX-T: 1\r\nY:\r\n\r\n"), "x" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct outcome o = read_all_ways(rows[i].bytes);

        assert_int_equal(o.why, REFUSE_NONE);
        assert_true(o.done);
        assert_int_equal(o.eaten, rows[i].bytes.len);
        assert_true(str_eq(buf_str(&o.payload), str_from(rows[i].payload)));
        buf_clear(&o.payload);
    }
}

static void
test_stops_at_the_end(void **state)
{
    struct outcome o = read_all_ways(STR("0\r\n\r\nGET / HTTP/1.1\r\n"));

    (void)state;
    assert_true(o.done);
    assert_int_equal(o.eaten, 5);
    buf_clear(&o.payload);
}

static void
test_unfinished(void **state)
{
    struct str text = STR("3;x=y\r\nabc\r\n0\r\nX: y\r\n\r\n");

    (void)state;
    for (size_t n = 0; n < text.len; n++) {
        struct outcome o = read_all_ways(str_first(text, n));

        assert_int_equal(o.why, REFUSE_NONE);
        assert_false(o.done);
        buf_clear(&o.payload);
    }
}

static void
test_refused(void **state)
{
    const struct {
        struct str bytes;
        enum http_refusal why;
    } rows[] = {
        { STR("\r\n"), REFUSE_CHUNK },
        { STR("x\r\n"), REFUSE_CHUNK },
        { STR("0x3\r\n"), REFUSE_CHUNK },
        { STR("-3\r\n"), REFUSE_CHUNK },
        { STR("+3\r\n"), REFUSE_CHUNK },
        { STR(" 3\r\n"), REFUSE_CHUNK },
        { STR("3 \r\n"), REFUSE_CHUNK },
        { STR("3 ;a\r\n"), REFUSE_CHUNK },
        { STR("3\nabc"), REFUSE_CHUNK },
        { STR("3\rabc"), REFUSE_CHUNK },
        { STR("3\r\nabcX0\r\n\r\n"), REFUSE_CHUNK },
        { STR("3\r\nabc\n0\r\n\r\n"), REFUSE_CHUNK },
        { STR("3\r\nabc\rX"), REFUSE_CHUNK },
        { STR("3\r\nabcd\r\n"), REFUSE_CHUNK },
        { STR("00000000000000003\r\nabc"), REFUSE_CHUNK },
        { STR("fffffffffffffffff\r\n"), REFUSE_CHUNK },
        { STR("ffffffffffffffff\r\n"), REFUSE_CHUNK },
        { STR("8000000000000000\r\n"), REFUSE_CHUNK },
        { STR("3;a\nb\r\nabc"), REFUSE_CHUNK_EXTENSION },
        { STR("3;a\0b\r\nabc"), REFUSE_CHUNK_EXTENSION },
        { STR("3;a\x7f\r\nabc"), REFUSE_CHUNK_EXTENSION },
        { STR("3;a\rb"), REFUSE_CHUNK },
        { STR("3;\r\nabc"), REFUSE_CHUNK_EXTENSION },
        { STR("3;;a\r\nabc"), REFUSE_CHUNK_EXTENSION },
        { STR("3;=b\r\nabc"), REFUSE_CHUNK_EXTENSION },
        { STR("3;a=\r\nabc"), REFUSE_CHUNK_EXTENSION },
        { STR("3;a=b=c\r\nabc"), REFUSE_CHUNK_EXTENSION },
        { STR("3; a\r\nabc"), REFUSE_CHUNK_EXTENSION },
        { STR("3;a=\"b\"\r\nabc"), REFUSE_CHUNK_EXTENSION },
        { STR("0\r\nContent-Length: 5\r\n\r\n"), REFUSE_TRAILER },
        { STR("0\r\ncontent-length: 5\r\n\r\n"), REFUSE_TRAILER },
        { STR("0\r\nTransfer-Encoding: chunked\r\n\r\n"), REFUSE_TRAILER },
        { STR("0\r\nX: y\r\nHost: a\r\n\r\n"), REFUSE_TRAILER },
        { STR("0\r\n: y\r\n\r\n"), REFUSE_TRAILER },
        { STR("0\r\nX\r\n\r\n"), REFUSE_TRAILER },
        { STR("0\r\nX : y\r\n\r\n"), REFUSE_TRAILER },
        { STR("0\r\nX: y\r\n z\r\n\r\n"), REFUSE_TRAILER },
        { STR("0\r\nX: y\n\r\n"), REFUSE_TRAILER },
        { STR("0\r\nX: \x01\r\n\r\n"), REFUSE_TRAILER },
        { STR("0\r\nX: y\rz"), REFUSE_CHUNK },
        { STR("0\r\n\rX"), REFUSE_CHUNK },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct outcome o = read_all_ways(rows[i].bytes);

        if (o.why != rows[i].why) {
            fail_msg("\"%s\": %s", rows[i].bytes.ptr, http_refusal_text(o.why));
        }
        buf_clear(&o.payload);
    }
}

/* prefix, n times 'a', suffix. */
static enum http_refusal
read_filled(const char *prefix, size_t n, const char *suffix)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    buf_add_str(&b, str_from(prefix));
    for (size_t i = 0; i < n; i++) {
        buf_add(&b, "a", 1);
    }
    buf_add_str(&b, str_from(suffix));

    struct outcome o = read_all_ways(buf_str(&b));

    buf_clear(&b);
    buf_clear(&o.payload);
    return o.why;
}

static void
test_bounds(void **state)
{
    (void)state;
    assert_int_equal(read_filled("3;", 255, "\r\nabc\r\n"), REFUSE_NONE);
    assert_int_equal(read_filled("3;", 256, "\r\nabc\r\n"),
                     REFUSE_CHUNK_EXTENSION);
    /* in all, not in each chunk */
    assert_int_equal(read_filled("3;", 200,
                                 "\r\nabc\r\n3;aaaaaaaaaaaaaaaaaaaa"
                                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                                 "aaaaaaa\r\n"),
                     REFUSE_CHUNK_EXTENSION);
    assert_int_equal(read_filled("0\r\nX:", 4090, "\r\n\r\n"), REFUSE_NONE);
    assert_int_equal(read_filled("0\r\nX:", 4091, "\r\n\r\n"), REFUSE_TRAILER);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_payload),
        cmocka_unit_test(test_stops_at_the_end),
        cmocka_unit_test(test_unfinished),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_bounds),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
