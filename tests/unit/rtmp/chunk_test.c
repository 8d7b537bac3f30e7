/*
 * The chunk reader: every script of bytes is given whole, byte by byte and
 * in random pieces, and must give the same messages each time.
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
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "chunks.h"
#include "rtmp/chunk.h"

#define MAX_MESSAGE (16 * 1024 * 1024 - 1)
#define MAX_MEMORY (24 * 1024 * 1024)

/* ---- reading them ---- */

/* All messages as text: "type csid stream time len sum;". */
struct script_result {
    char text[4096];
    size_t len;
    bool failed;
    char why[512];
    struct chunk_reader *reader;
};

static int
on_message(void *arg, const struct chunk_message *m)
{
    struct script_result *r = arg;
    unsigned sum = 0;
    struct errmsg err;
    for (uint32_t i = 0; i < m->len; i++) {
        sum = sum * 31 + m->payload[i];
    }
    int n = snprintf(r->text + r->len, sizeof(r->text) - r->len,
                     "%u %u %u %u %u %x;", m->type, m->csid, m->stream_id,
                     m->timestamp, m->len, sum);
    assert_true(n > 0 && (size_t)n < sizeof(r->text) - r->len);
    r->len += (size_t)n;
    if (m->type == 1) {
        assert_int_equal(chunk_set_size(r->reader, get_be32(m->payload), &err),
                         0);
    }
    if (m->type == 2) {
        chunk_abort(r->reader, get_be32(m->payload));
    }
    return 0;
}

/* pieces: 0 whole, 1 single bytes, else a seed for random pieces. */
static void
read_wire(struct script_result *out, unsigned pieces, uint32_t max_message,
          uint32_t max_memory)
{
    struct chunk_reader r;
    struct errmsg err = { "" };
    const uint8_t *p = buf_data(&wire);
    size_t left = buf_len(&wire);
    memset(out, 0, sizeof(*out));
    out->reader = &r;
    chunk_reader_init(&r, max_message, max_memory);
    srand(pieces);
    while (left > 0 && !out->failed) {
        size_t n = left;
        if (pieces == 1) {
            n = 1;
        } else if (pieces > 1) {
            n = (size_t)rand() % (pieces % 2 == 0 ? 7 : 700) + 1;
            n = n < left ? n : left;
        }
        /* An exact copy, so that the sanitizer sees a byte too far. */
        uint8_t *copy = malloc(n);
        memcpy(copy, p, n);
        ssize_t ate = chunk_read(&r, copy, n, on_message, out, &err);
        free(copy);
        if (ate < 0) {
            out->failed = true;
            memcpy(out->why, err.text, sizeof(out->why));
        } else {
            assert_int_equal(ate, n);
        }
        p += n;
        left -= n;
    }
    chunk_reader_clear(&r);
    assert_int_equal(r.memory, 0);
}

static struct script_result result;

/* Reads the wire in all ways; the result is in result. */
static void
run(void)
{
    struct script_result other;
    read_wire(&result, 0, MAX_MESSAGE, MAX_MEMORY);
    for (unsigned pieces = 1; pieces < 12; pieces++) {
        read_wire(&other, pieces, MAX_MESSAGE, MAX_MEMORY);
        assert_string_equal(other.text, result.text);
        assert_int_equal(other.failed, result.failed);
    }
}

/* The next message is this one, with this pattern as payload. */
static size_t checked;

static void
expect(unsigned type, uint32_t csid, uint32_t id, uint32_t time, uint32_t len,
       unsigned seed)
{
    char want[128];
    unsigned sum = 0;
    for (uint32_t i = 0; i < len; i++) {
        sum = sum * 31 + ((seed + i * 7 + (i >> 8)) & 0xff);
    }
    int n = snprintf(want, sizeof(want), "%u %u %u %u %u %x;", type, csid, id,
                     time, len, sum);
    if (strncmp(result.text + checked, want, (size_t)n) != 0) {
        fail_msg("wanted %s got %s", want, result.text + checked);
    }
    checked += (size_t)n;
}

static void
expect_end(void)
{
    assert_string_equal(result.text + checked, "");
}

static int
setup(void **state)
{
    (void)state;
    buf_init(&wire, 64 * 1024 * 1024);
    checked = 0;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    buf_clear(&wire);
    return 0;
}

/* ---- tests ---- */

static void
all_basic_header_forms(void **state)
{
    (void)state;
    static const uint32_t csids[] = { 2,   3,   63,  64,    65,
                                      319, 320, 575, 65598, 65599 };
    for (size_t i = 0; i < 10; i++) {
        fmt0(csids[i], 10, 5, 8, 1);
        payload(1, 0, 5);
    }
    /* An id below 320 in the three byte form means the same stream. */
    add("\xc1\x00\x00", 3); /* fmt 3, csid 64 */
    payload(2, 0, 5);
    run();
    for (size_t i = 0; i < 10; i++) {
        expect(8, csids[i], 1, 10, 5, 1);
    }
    expect(8, 64, 1, 20, 5, 2);
    expect_end();
}

static void
messages_longer_than_a_chunk(void **state)
{
    (void)state;
    fmt0(6, 0, 300, 9, 1);
    payload(9, 0, 128);
    basic(3, 6);
    payload(9, 128, 128);
    basic(3, 6);
    payload(9, 256, 44);
    run();
    expect(9, 6, 1, 0, 300, 9);
    expect_end();
}

static void
chunk_streams_interleave(void **state)
{
    (void)state;
    fmt0(6, 1, 200, 9, 1);
    payload(3, 0, 128);
    fmt0(4, 2, 10, 8, 1);
    payload(4, 0, 10);
    fmt0(1000, 3, 130, 18, 1);
    payload(5, 0, 128);
    basic(3, 6);
    payload(3, 128, 72);
    basic(3, 1000);
    payload(5, 128, 2);
    run();
    expect(8, 4, 1, 2, 10, 4);
    expect(9, 6, 1, 1, 200, 3);
    expect(18, 1000, 1, 3, 130, 5);
    expect_end();
}

static void
deltas_add_up_and_wrap(void **state)
{
    (void)state;
    fmt0(4, 1000, 3, 8, 7);
    payload(0, 0, 3);
    fmt1(4, 23, 4, 8);
    payload(1, 0, 4);
    fmt2(4, 24);
    payload(2, 0, 4);
    basic(3, 4); /* a new message, as much later as the last */
    payload(3, 0, 4);
    fmt0(4, 0xfffffff0, 1, 8, 7);
    payload(4, 0, 1);
    fmt1(4, 0x20, 1, 8);
    payload(5, 0, 1);
    run();
    expect(8, 4, 7, 1000, 3, 0);
    expect(8, 4, 7, 1023, 4, 1);
    expect(8, 4, 7, 1047, 4, 2);
    expect(8, 4, 7, 1071, 4, 3);
    expect(8, 4, 7, 0xfffffff0, 1, 4);
    expect(8, 4, 7, 0x10, 1, 5);
    expect_end();
}

static void
fmt3_after_fmt0_repeats_the_time_as_delta(void **state)
{
    (void)state;
    fmt0(4, 23, 4, 8, 1);
    payload(0, 0, 4);
    basic(3, 4);
    payload(1, 0, 4);
    basic(3, 4);
    payload(2, 0, 4);
    run();
    expect(8, 4, 1, 23, 4, 0);
    expect(8, 4, 1, 46, 4, 1);
    expect(8, 4, 1, 69, 4, 2);
    expect_end();
}

static void
any_fmt_may_come_first(void **state)
{
    (void)state;
    fmt1(5, 100, 6, 4); /* librtmp's ping */
    payload(1, 0, 6);
    basic(3, 9); /* nothing is known: an empty message */
    fmt2(10, 5);
    fmt1(5, 1, 6, 4);
    payload(2, 0, 6);
    run();
    expect(4, 5, 0, 100, 6, 1);
    expect(0, 9, 0, 0, 0, 0);
    expect(0, 10, 0, 5, 0, 0);
    expect(4, 5, 0, 101, 6, 2);
    expect_end();
}

/* repeat: 0 not, 1 the field of the header, 2 the absolute time. */
static void
extended(unsigned repeat)
{
    fmt0(6, 0x01020304, 300, 9, 1);
    for (size_t at = 0; at < 300; at += 128) {
        if (at > 0) {
            basic(3, 6);
            if (repeat != 0) {
                add_be(4, 0x01020304);
            }
        }
        payload(1, at, at + 128 < 300 ? 128 : 300 - at);
    }
    fmt1(6, 0x01000000, 300, 9);
    for (size_t at = 0; at < 300; at += 128) {
        if (at > 0) {
            basic(3, 6);
            if (repeat == 1) {
                add_be(4, 0x01000000);
            } else if (repeat == 2) {
                add_be(4, 0x02020304);
            }
        }
        payload(2, at, at + 128 < 300 ? 128 : 300 - at);
    }
    fmt2(6, 40);
    payload(3, 0, 128);
    basic(3, 6);
    payload(3, 128, 128);
    basic(3, 6);
    payload(3, 256, 44);
    run();
    expect(9, 6, 1, 0x01020304, 300, 1);
    expect(9, 6, 1, 0x02020304, 300, 2);
    expect(9, 6, 1, 0x02020304 + 40, 300, 3);
    expect_end();
}

static void
extended_not_repeated(void **state)
{
    (void)state;
    extended(0);
}

static void
extended_repeated(void **state)
{
    (void)state;
    extended(1);
}

static void
extended_repeated_as_absolute(void **state)
{
    (void)state;
    extended(2);
}

/* Not repeated, and the payload begins like the timestamp (1..3 bytes). */
static void
payload_that_looks_like_the_timestamp(void **state)
{
    (void)state;
    static const uint8_t time[4] = { 0x01, 0x02, 0x03, 0x04 };
    for (size_t alike = 1; alike < 4; alike++) {
        buf_clear(&wire);
        checked = 0;
        fmt0(6, 0x01020304, 136, 9, 1);
        payload(1, 0, 128);
        basic(3, 6);
        uint8_t rest[8];
        memset(rest, 0xee, sizeof(rest));
        memcpy(rest, time, alike);
        add(rest, sizeof(rest));
        fmt0(4, 5, 3, 8, 1);
        payload(2, 0, 3);
        run();
        assert_non_null(strstr(result.text, "9 6 1 16909060 136 "));
        char *second = strchr(result.text, ';') + 1;
        checked = (size_t)(second - result.text);
        expect(8, 4, 1, 5, 3, 2);
        expect_end();
    }
}

/* The last chunk has two payload bytes, both like the timestamp's: what
 * follows them is the next chunk's header. */
static void
timestamp_like_payload_at_the_very_end(void **state)
{
    (void)state;
    fmt0(6, 0x01020304, 130, 9, 1);
    payload(1, 0, 128);
    basic(3, 6);
    add("\x01\x02", 2);
    fmt0(4, 5, 3, 8, 1);
    payload(2, 0, 3);
    run();
    assert_non_null(strstr(result.text, "9 6 1 16909060 130 "));
    checked = (size_t)(strchr(result.text, ';') + 1 - result.text);
    expect(8, 4, 1, 5, 3, 2);
    expect_end();
}

/* One byte a chunk, extended, not repeated, every byte like the timestamp. */
static void
tiny_chunks_of_timestamp_bytes(void **state)
{
    (void)state;
    fmt0(2, 0, 4, 1, 0);
    add_be(4, 1); /* chunk size 1 */
    fmt0(6, 0x03c60601, 6, 9, 1);
    add_byte(0x03);
    for (int i = 0; i < 5; i++) {
        basic(3, 6);
        add_byte(0x03);
    }
    fmt0(4, 5, 1, 8, 1);
    payload(2, 0, 1);
    run();
    assert_non_null(strstr(result.text, ";9 6 1 63309313 6 "));
    assert_non_null(strstr(result.text, ";8 4 1 5 1 "));
    assert_false(result.failed);
}

static void
fmt3_after_absolute_extended_time_keeps_it(void **state)
{
    (void)state;
    for (int repeated = 0; repeated < 2; repeated++) {
        buf_clear(&wire);
        checked = 0;
        fmt0(4, 0x2000000, 9, 8, 1);
        payload(1, 0, 9);
        basic(3, 4);
        if (repeated) {
            add_be(4, 0x2000000);
        }
        payload(2, 0, 9);
        run();
        expect(8, 4, 1, 0x2000000, 9, 1);
        expect(8, 4, 1, 0x2000000, 9, 2);
        expect_end();
    }
}

static void
a_new_header_drops_the_unfinished_message(void **state)
{
    (void)state;
    fmt0(6, 1, 500, 9, 1);
    payload(1, 0, 128);
    fmt0(6, 2, 20, 9, 1);
    payload(2, 0, 20);
    fmt1(6, 1, 500, 9);
    payload(1, 0, 128);
    fmt1(6, 7, 30, 9);
    payload(3, 0, 30);
    run();
    expect(9, 6, 1, 2, 20, 2);
    expect(9, 6, 1, 10, 30, 3);
    expect_end();
}

static void
chunk_size_changes_within_a_message(void **state)
{
    (void)state;
    fmt0(6, 1, 400, 9, 1);
    payload(1, 0, 128);
    fmt0(2, 0, 4, 1, 0);
    add_be(4, 200);
    basic(3, 6);
    payload(1, 128, 200);
    basic(3, 6);
    payload(1, 328, 72);
    fmt0(2, 0, 4, 1, 0);
    add_be(4, 0x7fffffff); /* larger than any message */
    fmt0(6, 2, 70000, 9, 1);
    payload(2, 0, 70000);
    fmt0(2, 0, 4, 1, 0);
    add_be(4, 0x80000001); /* the top bit does not count */
    fmt0(6, 3, 2, 9, 1);
    payload(3, 0, 1);
    basic(3, 6);
    payload(3, 1, 1);
    run();
    checked = (size_t)(strchr(result.text, ';') + 1 - result.text);
    expect(9, 6, 1, 1, 400, 1);
    checked += strcspn(result.text + checked, ";") + 1;
    expect(9, 6, 1, 2, 70000, 2);
    checked += strcspn(result.text + checked, ";") + 1;
    /* One byte a chunk: this header too came in one piece. */
    expect(9, 6, 1, 3, 2, 3);
    expect_end();
}

static void
chunk_size_bounds(void **state)
{
    (void)state;
    struct chunk_reader r;
    struct errmsg err;
    chunk_reader_init(&r, MAX_MESSAGE, MAX_MEMORY);
    assert_int_equal(r.chunk_size, 128);
    assert_int_equal(chunk_set_size(&r, 0, &err), -1);
    assert_int_equal(chunk_set_size(&r, 0x80000000, &err), -1);
    assert_int_equal(chunk_set_size(&r, 1, &err), 0);
    assert_int_equal(r.chunk_size, 1);
    assert_int_equal(chunk_set_size(&r, 16 * 1024 * 1024, &err), 0);
    assert_int_equal(r.chunk_size, 0xffffff);
    chunk_reader_clear(&r);
}

static void
abort_forgets_a_message(void **state)
{
    (void)state;
    fmt0(6, 1, 200, 9, 1);
    payload(1, 0, 128);
    fmt0(2, 0, 4, 2, 0);
    add_be(4, 6);
    fmt0(2, 0, 4, 2, 0);
    add_be(4, 4711); /* not a stream there is */
    fmt1(6, 10, 20, 9);
    payload(2, 0, 20);
    run();
    checked = (size_t)(strchr(result.text, ';') + 1 - result.text);
    checked += strcspn(result.text + checked, ";") + 1;
    expect(9, 6, 1, 11, 20, 2);
    expect_end();
}

static void
zero_length_messages_are_delivered(void **state)
{
    (void)state;
    fmt0(6, 5, 0, 9, 1);
    fmt1(6, 5, 0, 9);
    basic(3, 6);
    fmt0(4, 1, 1, 8, 1);
    payload(1, 0, 1);
    run();
    expect(9, 6, 1, 5, 0, 0);
    expect(9, 6, 1, 10, 0, 0);
    expect(9, 6, 1, 15, 0, 0);
    expect(8, 4, 1, 1, 1, 1);
    expect_end();
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(all_basic_header_forms),
        CASE(messages_longer_than_a_chunk),
        CASE(chunk_streams_interleave),
        CASE(deltas_add_up_and_wrap),
        CASE(fmt3_after_fmt0_repeats_the_time_as_delta),
        CASE(any_fmt_may_come_first),
        CASE(extended_not_repeated),
        CASE(extended_repeated),
        CASE(extended_repeated_as_absolute),
        CASE(payload_that_looks_like_the_timestamp),
        CASE(timestamp_like_payload_at_the_very_end),
        CASE(tiny_chunks_of_timestamp_bytes),
        CASE(fmt3_after_absolute_extended_time_keeps_it),
        CASE(a_new_header_drops_the_unfinished_message),
        CASE(chunk_size_changes_within_a_message),
        CASE(chunk_size_bounds),
        CASE(abort_forgets_a_message),
        CASE(zero_length_messages_are_delivered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
