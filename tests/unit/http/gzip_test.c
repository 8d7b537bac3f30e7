/*
 * Compressing, read back by zlib itself.
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
#include <zlib.h>

#include "base/mem.h"
#include "http/file/gzip.h"

#define SIZE 300000

static char *text; /* SIZE bytes, half of them easy */

static int
make_text(void **state)
{
    uint32_t n = 1;

    (void)state;
    text = mem_alloc(SIZE);
    for (size_t i = 0; i < SIZE; i++) {
        n = n * 1664525 + 1013904223;
        text[i] = (char)(i / 1000 % 2 == 0 ? 'a' + i % 20 : n >> 24);
    }
    return 0;
}

static int
free_text(void **state)
{
    (void)state;
    mem_free(&text);
    return 0;
}

/* Bytes that come of what is in b; the stream must end when it is whole. */
static size_t
inflated(const struct buf *b, char *to, size_t size, bool whole)
{
    z_stream z = { .next_in = (Bytef *)(uintptr_t)buf_data(b),
                   .avail_in = (uInt)buf_len(b),
                   .next_out = (Bytef *)to,
                   .avail_out = (uInt)size };

    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    int result = inflate(&z, Z_SYNC_FLUSH);

    assert_int_equal(result, whole ? Z_STREAM_END : Z_OK);
    inflateEnd(&z);
    return size - z.avail_out;
}

static void
test_whole(void **state)
{
    static const int levels[] = { 1, 9, 9, 4 };
    static char back[SIZE + 1];
    struct buf b;

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        size_t size = i == 2 ? 0 : SIZE;

        buf_init(&b, 2 * SIZE);
        assert_int_equal(gzip_whole(str_of(text, size), levels[i], &b), 0);
        assert_int_equal(inflated(&b, back, sizeof(back), true), size);
        assert_memory_equal(back, text, size);
        buf_clear(&b);
    }
}

/* What does not fit is told, and the next one is not spoilt by it. */
static void
test_no_room(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 8192);
    assert_int_equal(gzip_whole(str_of(text, SIZE), 1, &b), -1);
    buf_clear(&b);
    test_whole(NULL);
}

static void
test_pieces_can_be_read_at_once(void **state)
{
    static char back[SIZE];
    struct gzip *g = gzip_new(6);
    struct buf b;
    size_t sent = 0;

    (void)state;
    buf_init(&b, 2 * SIZE);
    for (size_t n = 1; sent + n < SIZE; n *= 3) {
        assert_int_equal(gzip_add(g, str_of(text + sent, n), GZIP_FLUSH, &b),
                         0);
        sent += n;
        assert_int_equal(inflated(&b, back, sizeof(back), false), sent);
        assert_memory_equal(back, text, sent);
    }
    assert_int_equal(gzip_add(g, STR_NONE, GZIP_END, &b), 0);
    assert_int_equal(inflated(&b, back, sizeof(back), true), sent);
    buf_clear(&b);
    gzip_free(&g);
}

static void
test_as_many_as_allowed(void **state)
{
    struct gzip *all[GZIP_STREAMS_MAX + 1];
    size_t n = 0;

    (void)state;
    while (n <= GZIP_STREAMS_MAX && gzip_has_room()) {
        all[n] = gzip_new(1);
        assert_non_null(all[n]);
        n++;
    }
    assert_true(n > GZIP_STREAMS_MAX / 2 && n <= GZIP_STREAMS_MAX);
    assert_null(gzip_new(1));
    while (n > 0) {
        gzip_free(&all[--n]);
    }
    assert_true(gzip_has_room());
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole),
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_pieces_can_be_read_at_once),
        cmocka_unit_test(test_as_many_as_allowed),
    };

    return cmocka_run_group_tests(tests, make_text, free_text);
}
