/*
 * Cuts: where streams are divided, and what readers see of it.
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

#include "arena_fixture.h"
#include "live/cut.h"
#include "live/cuts.h"

static struct stream *s;
static struct writer w;
static struct live_cut_rules rules;

static void
open_stream(void)
{
    struct live_publish what = fixture_publish("live/a");

    what.cuts = rules;
    assert_int_equal(stream_claim(&what, &s), STREAM_YOURS);
    writer_start(&w, s);
}

static int
setup(void **state)
{
    (void)state;
    rules = (struct live_cut_rules){ 2000, 6000, 333, false };
    fixture_arena();
    open_stream();
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fixture_arena_end();
    return 0;
}

/* ---- what is published ---- */

static const uint8_t asc[] = { 0xaf, 0, 0x12, 0x10 }; /* AAC LC 44100 */

/* A configuration with a set of parameters. */
static const uint8_t avcc[] = { 0x17, 0,    0,    0, 0,    1,    0x64, 0,
                                0x1f, 0xff, 0xe1, 0, 4,    0x67, 0x64, 0,
                                0x1f, 1,    0,    2, 0x68, 0xee };

static void
header_of_pictures(uint32_t time)
{
    assert_int_equal(writer_append(&w, MEDIA_VIDEO, time, avcc, sizeof(avcc)),
                     0);
}

static void
header_of_sound(uint32_t time)
{
    assert_int_equal(writer_append(&w, MEDIA_AUDIO, time, asc, sizeof(asc)), 0);
}

static struct publishing {
    bool pictures, sound;
    uint32_t from, to; /* ms */
    uint32_t fps;
    uint32_t gop; /* ms; 0: one key frame only */
} both = { true, true, 0, 20000, 25, 2000 };

/* Pictures and sound in order of time. */
static void
publish(struct publishing p)
{
    uint64_t picture = 0, sound = 0;
    int64_t last_key = -1;

    if (p.pictures) {
        header_of_pictures(p.from);
    }
    if (p.sound) {
        header_of_sound(p.from);
    }
    for (;;) {
        uint32_t at = p.from + (uint32_t)(picture * 1000 / p.fps);
        uint32_t heard = p.from + (uint32_t)(sound * 1024 * 1000 / 44100);
        bool sees = p.pictures && (!p.sound || at <= heard);

        if ((sees ? at : heard) >= p.to) {
            break;
        }
        if (sees) {
            int64_t gop = p.gop == 0 ? -1 : (int64_t)(at - p.from) / p.gop;
            bool key = picture == 0 || gop > last_key;

            last_key = gop;
            append(&w, key ? KEY : INTER, at, 100);
            picture++;
        } else {
            append(&w, SOUND, heard, 20);
            sound++;
        }
    }
}

static struct live_cuts
find(void)
{
    struct live_cuts c;

    assert_true(live_cuts_find(STR("live/a"), &c));
    return c;
}

/* What every stream's cuts keep to. */
static void
check_all(const struct live_cuts *c)
{
    struct live_cut before, cut;
    uint32_t target = (c->target + 500) / 1000 * 1000;

    assert_true(c->first < c->end);
    assert_true(live_cut_at(c, c->first, &before));
    assert_true((before.flags & LIVE_CUT_SEGMENT) != 0);
    for (uint64_t n = c->first, begin = n; n + 1 < c->end; n++) {
        bool ends;

        assert_true(live_cut_at(c, n + 1, &cut));
        assert_true(live_cut_at(c, n, &before));
        ends = (cut.flags & LIVE_CUT_SEGMENT) != 0;
        assert_true(cut.frame > before.frame);
        assert_true(cut.time >= cut.ended && cut.ended >= before.time);
        if (ends) {
            struct live_cut segment;

            assert_true(live_cut_at(c, begin, &segment));
            assert_int_equal(cut.segment, before.segment + 1);
            assert_int_equal(cut.part, 0);
            assert_true(cut.ended - segment.time < target + 500);
            begin = n + 1;
        } else {
            assert_int_equal(cut.segment, before.segment);
            assert_int_equal(cut.part, before.part + 1);
            assert_in_range(cut.time - before.time,
                            (c->part_target * 85 + 99) / 100, c->part_target);
        }
        assert_true(live_cut_of(c, cut.segment, cut.part, &before));
        assert_int_equal(before.number, cut.number);
    }
}

static void
test_pictures_and_sound(void **state)
{
    struct live_cuts c;
    struct live_cut_headers h;
    struct live_cut cut;

    (void)state;
    publish(both);
    c = find();
    assert_int_equal(c.target, 2000);
    assert_int_equal(c.part_target, 321);
    assert_true(c.live && !c.over && c.strict);
    check_all(&c);
    assert_true(live_cut_at(&c, c.first, &cut));
    assert_int_equal(cut.time, 10000);
    assert_true(live_cut_headers(&c, cut.header, &h));
    assert_int_equal(h.count, 2);
    assert_int_equal(h.items[0].type, MEDIA_VIDEO);
    assert_int_equal(h.items[1].type, MEDIA_AUDIO);
    assert_int_equal(h.items[1].payload.len, sizeof(asc));
    assert_memory_equal(h.items[1].payload.ptr, asc, sizeof(asc));
}

/* Readers that step through the frames come to the times of the cuts. */
static void
test_time_of_sound(void **state)
{
    struct live_cuts c;
    struct live_cut cut, next;
    uint64_t time = 0;

    (void)state;
    publish(both);
    c = find();
    for (uint64_t n = c.first; n + 1 < c.end; n++) {
        assert_true(live_cut_at(&c, n, &cut));
        assert_true(live_cut_at(&c, n + 1, &next));
        if (n > c.first) {
            assert_int_equal(time, cut.sound[0]);
        }
        time = cut.sound[0];
        for (uint64_t i = cut.frame; i < next.ended_frame; i++) {
            struct live_cut_frame f;

            assert_true(live_cut_frame(&c, &cut, i, &f));
            if (f.type == MEDIA_AUDIO && (f.flags & MEDIA_HEADER) == 0) {
                live_cut_sound(time, f.time, 44100, 1024, &time);
            }
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_pictures_and_sound, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_time_of_sound, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
