/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "pipe_reader.h"

struct seen {
    struct pipe_reader *reader;
    char bytes[256 * 1024];
    size_t len, calls, ends, largest;
    size_t room; /* after so many bytes there is none; 0: always */
    bool broken, free_at_bytes;
};

static struct loop *loop;
static int writer;

static bool
on_bytes(void *arg, struct str data)
{
    struct seen *s = arg;

    assert_int_equal(s->ends, 0);
    memcpy(s->bytes + s->len, data.ptr, data.len);
    s->len += data.len;
    s->calls++;
    s->largest = data.len > s->largest ? data.len : s->largest;
    if (s->free_at_bytes) {
        pipe_reader_free(&s->reader);
    }
    return s->room == 0 || s->len < s->room;
}

static void
on_end(void *arg, bool broken)
{
    struct seen *s = arg;

    s->ends++;
    s->broken = broken;
    pipe_reader_free(&s->reader);
}

static const struct pipe_taker taker = { on_bytes, on_end };

static void
begin(struct seen *s)
{
    struct errmsg err;
    int ends[2];

    memset(s, 0, sizeof(*s));
    loop = loop_new(&err);
    assert_non_null(loop);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    writer = ends[1];
    s->reader = pipe_reader_new(loop, ends[0], &taker, s);
    assert_non_null(s->reader);
}

static void
finish(struct seen *s)
{
    pipe_reader_free(&s->reader);
    if (writer != -1) {
        close(writer);
    }
    loop_free(&loop);
}

static void
close_writer(void)
{
    close(writer);
    writer = -1;
}

static void
turns(int n)
{
    for (int i = 0; i < n; i++) {
        loop_turn(loop, 0);
    }
}

/* Until the pipe is full; every byte differs from its neighbours. */
static size_t
fill(void)
{
    size_t sum = 0;
    char block[4096];

    for (;;) {
        for (size_t i = 0; i < sizeof(block); i++) {
            block[i] = (char)((sum + i) % 251);
        }
        ssize_t n = write(writer, block, sizeof(block));

        if (n == -1) {
            assert_int_equal(errno, EAGAIN);
            return sum;
        }
        sum += (size_t)n;
    }
}

static void
all_bytes_come_then_the_end(void **state)
{
    static struct seen s;

    (void)state;
    begin(&s);
    turns(2);
    assert_int_equal(s.calls, 0);
    size_t n = fill();

    close_writer();
    turns(20);
    assert_int_equal(s.len, n);
    assert_true(s.largest <= PIPE_PIECE);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal((unsigned char)s.bytes[i], i % 251);
    }
    assert_int_equal(s.ends, 1);
    assert_false(s.broken);
    finish(&s);
}

/* It reads nothing meanwhile, and does not wake the loop for the end that has
 * come already. */
static void
a_taker_without_room_is_left_alone(void **state)
{
    static struct seen s;

    (void)state;
    begin(&s);
    s.room = 1;
    size_t n = fill();

    close_writer();
    turns(20);
    assert_int_equal(s.calls, 1);
    assert_int_equal(pipe_reader_bytes(s.reader), s.len);
    assert_int_equal(s.ends, 0);
    for (size_t calls = 2; s.len < n; calls++) {
        pipe_reader_go_on(s.reader);
        pipe_reader_go_on(s.reader);
        turns(3);
        assert_int_equal(s.calls, calls);
    }
    assert_int_equal(s.ends, 0);
    pipe_reader_go_on(s.reader);
    turns(3);
    assert_int_equal(s.ends, 1);
    assert_int_equal(s.len, n);
    finish(&s);
}

/* The writer is told. */
static void
a_reader_that_goes_closes_the_pipe(void **state)
{
    static struct seen s;

    (void)state;
    begin(&s);
    assert_int_equal(write(writer, "a", 1), 1);
    s.free_at_bytes = true;
    turns(3);
    assert_int_equal(s.calls, 1);
    assert_null(s.reader);
    assert_int_equal(write(writer, "b", 1), -1);
    assert_int_equal(errno, EPIPE);
    turns(3);
    assert_int_equal(s.calls, 1);
    assert_int_equal(s.ends, 0);
    finish(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bytes_come_then_the_end),
        cmocka_unit_test(a_taker_without_room_is_left_alone),
        cmocka_unit_test(a_reader_that_goes_closes_the_pipe),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
