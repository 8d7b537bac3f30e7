/*
 * What the chunk reader refuses, what it keeps, and what that costs.
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

#include "chunks.h"
#include "rtmp/chunk.h"

#define MAX_MESSAGE (16 * 1024 * 1024 - 1)
#define MAX_MEMORY (24 * 1024 * 1024)

/* What came of one reading of the wire. */
static struct {
    int count;
    struct chunk_message last;
    uint32_t memory;  /* taken at the end */
    unsigned streams; /* remembered at the end */
    struct errmsg err;
} got;

static int
setup(void **state)
{
    (void)state;
    buf_init(&wire, 64 * 1024 * 1024);
    memset(&got, 0, sizeof(got));
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    buf_clear(&wire);
    return 0;
}

static int
on_message(void *arg, const struct chunk_message *m)
{
    struct chunk_reader *r = arg;
    struct errmsg err;
    got.count++;
    got.last = *m;
    if (m->type == 1) {
        assert_int_equal(chunk_set_size(r, 65536, &err), 0);
    }
    return 0;
}

/* 0, or -1 when the reader refused. */
static int
read_all(uint32_t max_message, uint32_t max_memory, size_t piece)
{
    struct chunk_reader r;
    const uint8_t *p = buf_data(&wire);
    size_t left = buf_len(&wire);
    ssize_t ate = 0;
    chunk_reader_init(&r, max_message, max_memory);
    while (left > 0 && ate >= 0) {
        size_t n = left < piece ? left : piece;
        ate = chunk_read(&r, p, n, on_message, &r, &got.err);
        p += n;
        left -= n;
    }
    got.memory = r.memory;
    got.streams = r.count;
    chunk_reader_clear(&r);
    return ate < 0 ? -1 : 0;
}

static void
message_over_the_cap_is_refused(void **state)
{
    (void)state;
    fmt0(6, 0, 1001, 9, 1);
    assert_int_equal(read_all(1000, MAX_MEMORY, SIZE_MAX), -1);
    assert_non_null(strstr(got.err.text, "1001"));
    buf_clear(&wire);
    fmt0(6, 0, 1000, 9, 1);
    assert_int_equal(read_all(1000, MAX_MEMORY, SIZE_MAX), 0);
}

/* 60 headers that declare 16 MiB each and send 128 bytes cost next to
 * nothing. */
static void
memory_follows_bytes_not_headers(void **state)
{
    (void)state;
    for (uint32_t csid = 3; csid < 63; csid++) {
        fmt0(csid, 0, MAX_MESSAGE, 9, 1);
        payload(1, 0, 128);
    }
    assert_int_equal(read_all(MAX_MESSAGE, MAX_MEMORY, 7), 0);
    assert_true(got.memory <= 60 * 256);
    assert_int_equal(got.count, 0);
}

static void
memory_of_a_connection_is_capped(void **state)
{
    (void)state;
    for (uint32_t csid = 3; csid < 43; csid++) {
        fmt0(csid, 0, 10000, 9, 1);
        payload(1, 0, 128);
    }
    assert_int_equal(read_all(MAX_MESSAGE, 20 * 256, SIZE_MAX), -1);
    assert_non_null(strstr(got.err.text, "5120"));
}

static void
too_many_unfinished_messages(void **state)
{
    (void)state;
    for (uint32_t csid = 3; csid < 3 + CHUNK_STREAMS_MAX; csid++) {
        fmt0(csid, 0, 200, 9, 1);
        payload(1, 0, 128);
    }
    assert_int_equal(read_all(MAX_MESSAGE, MAX_MEMORY, 7), 0);
    fmt0(500, 0, 200, 9, 1);
    assert_int_equal(read_all(MAX_MESSAGE, MAX_MEMORY, 7), -1);
    assert_non_null(strstr(got.err.text, "unfinished"));
}

/* Thousands of chunk streams one after another: the least used are
 * forgotten, the one in the middle of a message is not. */
static void
idle_chunk_streams_are_forgotten(void **state)
{
    (void)state;
    fmt0(3, 0, 200, 9, 1);
    payload(1, 0, 128);
    for (uint32_t csid = 100; csid < 65600; csid += 7) {
        fmt0(csid, 0, 1, 8, 1);
        payload(1, 0, 1);
    }
    basic(3, 3);
    payload(1, 128, 72);
    assert_int_equal(read_all(MAX_MESSAGE, MAX_MEMORY, 1000), 0);
    assert_int_equal(got.count, (65599 - 100) / 7 + 1 + 1);
    assert_int_equal(got.streams, CHUNK_STREAMS_MAX);
    assert_int_equal(got.last.len, 200); /* the one that was unfinished */
}

static int
stop_at_type_8(void *arg, const struct chunk_message *m)
{
    (*(int *)arg)++;
    return m->type == 8;
}

static void
handler_can_stop_the_reader(void **state)
{
    (void)state;
    struct chunk_reader r;
    struct errmsg err;
    int count = 0;
    fmt0(4, 0, 5, 9, 1);
    payload(1, 0, 5);
    fmt0(4, 0, 5, 8, 1);
    payload(1, 0, 5);
    size_t first = buf_len(&wire);
    fmt0(4, 0, 5, 9, 1);
    payload(1, 0, 5);
    chunk_reader_init(&r, MAX_MESSAGE, MAX_MEMORY);
    ssize_t ate = chunk_read(&r, buf_data(&wire), buf_len(&wire),
                             stop_at_type_8, &count, &err);
    assert_int_equal(ate, first);
    assert_int_equal(count, 2);
    buf_take(&wire, first);
    ate = chunk_read(&r, buf_data(&wire), buf_len(&wire), stop_at_type_8,
                     &count, &err);
    assert_int_equal(ate, buf_len(&wire));
    assert_int_equal(count, 3);
    chunk_reader_clear(&r);
}

static void
a_message_of_16_mib(void **state)
{
    (void)state;
    fmt0(2, 0, 4, 1, 0);
    add_be(4, 65536);
    fmt0(6, 7, MAX_MESSAGE, 9, 1);
    uint8_t *big = calloc(1, MAX_MESSAGE);
    for (size_t at = 0; at < MAX_MESSAGE; at += 65536) {
        if (at > 0) {
            basic(3, 6);
        }
        size_t n = MAX_MESSAGE - at;
        add(big + at, n < 65536 ? n : 65536);
    }
    free(big);
    for (size_t piece = 1000; piece < 2000000; piece *= 11) {
        got.count = 0;
        assert_int_equal(read_all(MAX_MESSAGE, MAX_MEMORY, piece), 0);
        assert_int_equal(got.count, 2);
        assert_int_equal(got.last.len, MAX_MESSAGE);
        assert_int_equal(got.memory, 0);
    }
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(message_over_the_cap_is_refused),
        CASE(memory_follows_bytes_not_headers),
        CASE(memory_of_a_connection_is_capped),
        CASE(too_many_unfinished_messages),
        CASE(idle_chunk_streams_are_forgotten),
        CASE(handler_can_stop_the_reader),
        CASE(a_message_of_16_mib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
