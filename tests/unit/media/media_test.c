/*
 * The wire forms: exact bytes, on both sides of the extended timestamp.
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

#include "media/media.h"

static void
header_is_fmt0_with_absolute_time(void **state)
{
    (void)state;
    static const uint8_t want[] = {
        6, 0x01, 0x02, 0x03, 0, 1, 0, 9, 1, 0, 0, 0
    };
    uint8_t got[RTMP_HEADER_MAX];
    assert_int_equal(media_rtmp_header(got, MEDIA_VIDEO, 0x010203, 256, 1), 12);
    assert_memory_equal(got, want, sizeof(want));
    assert_int_equal(media_rtmp_continue(got, MEDIA_VIDEO, 0x010203), 1);
    assert_int_equal(got[0], 0xc6);
}

static void
time_from_ffffff_on_is_extended(void **state)
{
    (void)state;
    static const uint8_t want[] = { 4, 0xff, 0xff, 0xff, 0, 0,    5,    8,
                                    3, 0,    0,    0,    0, 0xff, 0xff, 0xff };
    uint8_t got[RTMP_HEADER_MAX];
    assert_int_equal(media_rtmp_header(got, MEDIA_AUDIO, 0xfffffe, 5, 3), 12);
    assert_int_equal(media_rtmp_header(got, MEDIA_AUDIO, 0xffffff, 5, 3), 16);
    assert_memory_equal(got, want, sizeof(want));
    assert_int_equal(media_rtmp_continue(got, MEDIA_AUDIO, 0xfffffe), 1);
    assert_int_equal(media_rtmp_continue(got, MEDIA_AUDIO, 0xfedcba98), 5);
    assert_memory_equal(got, "\xc4\xfe\xdc\xba\x98", 5);
}

static void
each_type_has_its_chunk_stream(void **state)
{
    (void)state;
    uint8_t got[RTMP_HEADER_MAX];
    media_rtmp_header(got, MEDIA_AUDIO, 0, 0, 1);
    assert_int_equal(got[0], CSID_AUDIO);
    media_rtmp_header(got, MEDIA_VIDEO, 0, 0, 1);
    assert_int_equal(got[0], CSID_VIDEO);
    media_rtmp_header(got, MEDIA_DATA, 0, 0, 1);
    assert_int_equal(got[0], CSID_DATA);
    assert_int_equal(got[7], 18);
}

static void
size_counts_every_header(void **state)
{
    (void)state;
    assert_int_equal(media_rtmp_size(0, 0, 128), 12);
    assert_int_equal(media_rtmp_size(0, 128, 128), 12 + 128);
    assert_int_equal(media_rtmp_size(0, 129, 128), 12 + 129 + 1);
    assert_int_equal(media_rtmp_size(0xffffff, 257, 128), 16 + 257 + 2 * 5);
    assert_int_equal(media_rtmp_size(0, 0xffffff, 1),
                     12 + (size_t)2 * 0xffffff - 1);
}

static void
flv_tag(void **state)
{
    (void)state;
    static const uint8_t head[] = { 9, 0, 1, 2, 2, 3, 4, 1, 0, 0, 0 };
    uint8_t got[FLV_FILE_HEADER];
    media_flv_tag_header(got, MEDIA_VIDEO, 0x01020304, 258);
    assert_memory_equal(got, head, sizeof(head));
    media_flv_tag_trailer(got, 258);
    assert_memory_equal(got, "\0\0\x01\x0d", 4);
}

static void
flv_file_header_says_what_is_in(void **state)
{
    (void)state;
    uint8_t got[FLV_FILE_HEADER];
    media_flv_file_header(got, true, true);
    assert_memory_equal(got, "FLV\x01\x05\0\0\0\x09\0\0\0\0", sizeof(got));
    media_flv_file_header(got, false, true);
    assert_int_equal(got[4], 1);
    media_flv_file_header(got, true, false);
    assert_int_equal(got[4], 4);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(header_is_fmt0_with_absolute_time),
        cmocka_unit_test(time_from_ffffff_on_is_extended),
        cmocka_unit_test(each_type_has_its_chunk_stream),
        cmocka_unit_test(size_counts_every_header),
        cmocka_unit_test(flv_tag),
        cmocka_unit_test(flv_file_header_says_what_is_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
