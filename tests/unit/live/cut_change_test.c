/*
 * Cuts: tracks that become others, and messages that change none.
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

#include "cut_fixture.h"

/* The core of HE-AAC, 22050 Hz, makes 44100 Hz: times are the core's. */
static const uint8_t sbr[] = { 0xaf, 0, 0x2b, 0x92, 0x08, 0x00 };

static void
test_header_of_sound_changes(void **state)
{
    struct live_cuts c;
    struct live_cut cut;
    unsigned others = 0, cores = 0;

    (void)state;
    publish(BOTH);
    for (uint32_t i = 0; i < 150; i++) {
        append(&w, i % 50 == 0 ? KEY : INTER, 20000 + i * 40, 100);
        if (i == 20) {
            writer_append(&w, MEDIA_AUDIO, 20800, sbr, sizeof(sbr));
        }
        append(&w, SOUND, 20000 + i * 40, 20);
    }
    c = find();
    check_all(&c);
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 1);
    for (uint64_t n = c.first + 1; n < c.end; n++) {
        assert_true(live_cut_at(&c, n, &cut));

        bool other = cut.time > 30800 && cut.time < 32000;
        int64_t rate = cut.time < 32000 ? 44100 : 22050;
        int64_t next =
            (int64_t)(cut.sound[0] & ~(LIVE_CUT_OTHER | LIVE_CUT_ANEW));

        assert_int_equal((cut.sound[0] & LIVE_CUT_OTHER) != 0, other);
        assert_in_range(next, (cut.time - 100) * rate / 1000,
                        (cut.time + 100) * rate / 1000);
        others += other;
        cores += rate == 22050;
    }
    assert_true(others >= 3 && cores >= 3);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_header_of_sound_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
