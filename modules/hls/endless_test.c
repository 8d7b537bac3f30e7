/*
 * Where the times of a client of NAME.mp4 begin.
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

#include "endless.h"

#define SECOND(s) (UINT64_C(s) * 48000)

/* Two tracks of sound beside pictures, whose times are in samples. */
static void
test_first_time(void **state)
{
    static const struct {
        int64_t pictures; /* ms */
        uint64_t sound[2];
        uint64_t want; /* ms */
    } rows[] = {
        { 60000, { SECOND(60), SECOND(60) }, 60000 },
        { 60000, { SECOND(59), SECOND(61) }, 59000 },
        { 60000, { SECOND(62), SECOND(58) }, 58000 },
        { 60000, { SECOND(58) | LIVE_CUT_ANEW, SECOND(60) }, 58000 },
        { 60000, { SECOND(60), SECOND(57) | LIVE_CUT_OTHER }, 57000 },
        { 60000, { SECOND(40), SECOND(60) }, 40000 },
        { 60000, { SECOND(39), SECOND(60) }, 60000 }, /* no time of sound */
        { 60000, { LIVE_CUT_ANEW, 1 }, 60000 },
        { 60000, { UINT64_MAX, SECOND(59) }, 59000 },
        { 10000, { SECOND(9), SECOND(10) }, 9000 },
        { -1, { SECOND(1), SECOND(1) }, 0 },
    };
    const struct object_track tracks[] = {
        { .track = { .type = MEDIA_VIDEO, .timescale = 90000 } },
        { .track = { .type = MEDIA_AUDIO, .timescale = 48000 }, .sound = 1 },
        { .track = { .type = MEDIA_AUDIO, .timescale = 48000 }, .sound = 0 },
        { .track = { .type = MEDIA_AUDIO, .timescale = 0 }, .sound = 2 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct live_cut cut = { .time = rows[i].pictures };

        cut.sound[0] = rows[i].sound[0];
        cut.sound[1] = rows[i].sound[1];
        assert_int_equal(endless_first_time(&cut, tracks, 4), rows[i].want);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
