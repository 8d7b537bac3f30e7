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

/* Messages without a body, and single ones of another codec. */
static void
test_strays(void **state)
{
    static const struct {
        enum media_type type;
        uint8_t bytes[8];
        size_t len;
    } strays[] = {
        { MEDIA_VIDEO, { 0 }, 0 },
        { MEDIA_AUDIO, { 0 }, 0 },
        { MEDIA_VIDEO, { 0x17 }, 1 },
        { MEDIA_VIDEO, { 0x17, 0, 0, 0, 0 }, 5 },
        { MEDIA_VIDEO, { 0x17, 1, 0, 0, 0 }, 5 },
        { MEDIA_VIDEO, { 0x22 }, 1 },
        { MEDIA_VIDEO, { 0x12, 0, 0, 0x84 }, 4 },
        { MEDIA_VIDEO, { 0x91, 'h', 'v', 'c', '1', 0, 0, 0 }, 8 },
        { MEDIA_AUDIO, { 0xaf, 0 }, 2 },
        { MEDIA_AUDIO, { 0xaf, 1 }, 2 },
        { MEDIA_AUDIO, { 0x2f, 0xff, 0xfb, 0x90, 0x44 }, 5 },
        { MEDIA_AUDIO, { 0x90, 'O', 'p', 'u', 's' }, 5 },
    };
    struct live_cuts c;
    struct live_cut cut;
    uint64_t sound = 0, at;

    (void)state;
    publish(BOTH);
    for (uint32_t i = 0; i < 500; i++) {
        append(&w, i % 50 == 0 ? KEY : INTER, 20000 + i * 40, 100);
        append(&w, SOUND, 20000 + i * 40, 20);
        append(&w, SOUND, 20000 + i * 40 + 20, 20);
        if (i > 60 && i < 300) {
            size_t k = i % (sizeof(strays) / sizeof(strays[0]));

            writer_append(&w, strays[k].type, 20000 + i * 40, strays[k].bytes,
                          strays[k].len);
        }
    }
    c = find();
    check_all(&c);
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 0);
    for (uint64_t n = c.first + 1; n < c.end; n++) {
        assert_true(live_cut_at(&c, n, &cut));
        assert_int_equal(cut.header, 1);
        assert_true(n == c.first + 1 || cut.sound[0] == sound);
        sound = cut.sound[0];

        struct live_cut next;

        for (uint64_t i = cut.frame;
             live_cut_at(&c, n + 1, &next) && i < next.frame; i++) {
            struct live_cut_frame f;

            assert_true(live_cut_frame(&c, &cut, i, &f));
            if (f.type == MEDIA_AUDIO && f.len == 20) {
                live_cut_sound(&sound, f.time, 44100, 1024, &at);
            }
        }
    }
}

/* A message of pictures that nobody knows makes no track of pictures: sound
 * alone goes on as it was. */
static void
test_unknown_pictures_beside_sound(void **state)
{
    static const uint8_t unknown[2][32] = { { 0x1f },
                                            { 0x91, 'z', 'z', 'z', 'z' } };
    struct live_cut cut;
    struct live_cuts c;

    (void)state;
    publish((struct publishing){ false, true, 0, 8000, 25, 0 });
    for (size_t i = 0; i < 2; i++) {
        writer_append(&w, MEDIA_VIDEO, 8000, unknown[i], sizeof(unknown[i]));
        for (uint32_t n = 0; n < 400; n++) {
            append(&w, SOUND, 8000 + (uint32_t)(i * 400 + n) * 1024 * 10 / 441,
                   20);
        }
    }
    c = find();
    check_all(&c);
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 0);
    for (uint64_t n = c.first + 1; n < c.end; n++) {
        assert_true(live_cut_at(&c, n, &cut));
        assert_int_equal(cut.header, 1);
        assert_true((cut.flags & LIVE_CUT_KEY) != 0);
    }
}

/* Eight seconds of pictures, and of sound that is that frame. */
static void
go_on_with(const uint8_t *sound, size_t len)
{
    for (uint32_t i = 0; i < 200; i++) {
        append(&w, i % 50 == 0 ? KEY : INTER, 20000 + i * 40, 100);
        writer_append(&w, MEDIA_AUDIO, 20000 + i * 40, sound, len);
    }
}

/* Frames of a codec without a header make the track theirs when they are
 * many. */
static void
test_another_codec(void **state)
{
    static const uint8_t mp3[] = { 0x2f, 0xff, 0xfb, 0x90, 0x44, 0, 1, 2 };
    struct live_cut_headers h;
    struct live_cuts c;
    struct live_cut cut;

    (void)state;
    publish(BOTH);
    go_on_with(mp3, sizeof(mp3));
    c = find();
    check_all(&c);
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 1);
    assert_true(live_cut_at(&c, c.end - 1, &cut));
    assert_int_equal(cut.header, 2);
    assert_true(live_cut_headers(&c, 2, &h));
    assert_int_equal(h.count, 2);
    assert_memory_equal(h.items[1].payload.ptr, mp3, sizeof(mp3));
}

/* Of a codec that needs a header, frames without one are nothing to hear: the
 * track ends. */
static void
test_another_codec_without_its_header(void **state)
{
    static const uint8_t opus[] = { 0x91, 'O', 'p', 'u', 's', 0xfc, 1, 2 };
    struct live_cut_headers h;
    struct live_cuts c;
    struct live_cut cut;

    (void)state;
    publish(BOTH);
    go_on_with(opus, sizeof(opus));
    c = find();
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 1);
    assert_true(live_cut_at(&c, c.end - 1, &cut));
    assert_true(live_cut_headers(&c, cut.header, &h));
    assert_int_equal(h.count, 1);
    assert_int_equal(h.items[0].type, MEDIA_VIDEO);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_header_of_sound_changes),          TEST(test_strays),
        TEST(test_unknown_pictures_beside_sound),    TEST(test_another_codec),
        TEST(test_another_codec_without_its_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
