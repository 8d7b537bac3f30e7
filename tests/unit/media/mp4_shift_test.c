/*
 * A fragment with other times is the same otherwise.
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

#include "media/container.h"

#define LIMIT 512u

static const struct media_track h264 = { .type = MEDIA_VIDEO,
                                         .codec = CODEC_H264,
                                         .timescale = 90000 };
static const struct media_track aac = { .type = MEDIA_AUDIO,
                                        .codec = CODEC_AAC,
                                        .timescale = 48000 };
static const struct media_sample sample = { .size = 1, .duration = 1 };
static const struct media_shift shift = { 9900, { 891000, 480001 }, 2 };

/* A message, pictures, sound. */
static struct buf
make(int64_t event_time, uint64_t pictures, uint64_t sound)
{
    const struct media_run runs[] = { { &h264, pictures, &sample, 1 },
                                      { &aac, sound, &sample, 1 } };
    const struct media_event event = { .time = event_time, .id = 5 };
    const struct media_fragment f = { 7, true, runs, 2, 1, &event, 1 };
    struct buf b;

    buf_init(&b, LIMIT);
    assert_int_equal(media_mp4.fragment(&b, &f), 0);
    return b;
}

static void
times_are_moved_back(void **state)
{
    struct buf b = make(10000, 900000, 480000);
    struct buf wanted = make(100, 9000, 0); /* not before the beginning */
    uint8_t bytes[LIMIT];
    size_t n = buf_len(&b);

    (void)state;
    memcpy(bytes, buf_data(&b), n);
    media_mp4_shift(bytes, n, &shift);
    assert_true(str_eq(str_of(bytes, n), buf_str(&wanted)));
    buf_clear(&b);
    buf_clear(&wanted);
}

/* Of a track without a shift, and of none at all. */
static void
others_stay(void **state)
{
    const struct media_shift first = { 0, { 1 }, 1 };
    struct buf b = make(10000, 900000, 480000);
    struct buf wanted = make(10000, 899999, 480000);
    uint8_t bytes[LIMIT];
    size_t n = buf_len(&b);

    (void)state;
    memcpy(bytes, buf_data(&b), n);
    media_mp4_shift(bytes, n, &first);
    assert_true(str_eq(str_of(bytes, n), buf_str(&wanted)));
    buf_clear(&b);
    buf_clear(&wanted);
}

/* Cut anywhere, and with a byte changed: it stays within its bytes. */
static void
any_bytes_will_do(void **state)
{
    struct buf b = make(10000, 900000, 480000);

    (void)state;
    for (size_t i = 0; i < buf_len(&b); i++) {
        uint8_t *copy = malloc(i + 1);

        assert_non_null(copy);
        memcpy(copy, buf_data(&b), i);
        media_mp4_shift(copy, i, &shift);
        copy[i / 2] ^= 0xff;
        media_mp4_shift(copy, i, &shift);
        free(copy);
    }
    buf_clear(&b);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_moved_back),
        cmocka_unit_test(others_stay),
        cmocka_unit_test(any_bytes_will_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
