/*
 * A stream that is cut, publishers for it, and what holds for all cuts.
 *
 * Include it behind cmocka.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_CUT_FIXTURE_H
#define TESTS_CUT_FIXTURE_H

#include <stdlib.h>

#include "arena_fixture.h"
#include "live/cut.h"
#include "live/cuts.h"

static struct stream *s;
static struct writer w;
static struct live_cut_rules rules;

static inline void
open_stream(void)
{
    struct live_publish what = fixture_publish("live/a");

    what.cuts = rules;
    assert_int_equal(stream_claim(&what, &s), STREAM_YOURS);
    writer_start(&w, s);
}

static inline int
setup(void **state)
{
    (void)state;
    rules = (struct live_cut_rules){ .segment = 2000,
                                     .max_segment = 6000,
                                     .part = 333 };
    fixture_arena();
    open_stream();
    return 0;
}

static inline int
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

static inline void
header_of_pictures(uint32_t time)
{
    assert_int_equal(writer_append(&w, MEDIA_VIDEO, time, avcc, sizeof(avcc)),
                     0);
}

static inline void
header_of_sound(uint32_t time)
{
    assert_int_equal(writer_append(&w, MEDIA_AUDIO, time, asc, sizeof(asc)), 0);
}

struct publishing {
    bool pictures, sound;
    uint64_t from, to; /* ms */
    uint32_t fps;
    uint32_t gop; /* ms; 0: one key frame only */
};
#define BOTH ((struct publishing){ true, true, 0, 20000, 25, 2000 })

/* Pictures and sound in order of time. */
static inline void
publish(struct publishing p)
{
    uint64_t picture = 0, sound = 0;
    int64_t last_key = -1;

    if (p.pictures) {
        header_of_pictures((uint32_t)p.from);
    }
    if (p.sound) {
        header_of_sound((uint32_t)p.from);
    }
    for (;;) {
        uint64_t at = p.from + picture * 1000 / p.fps;
        uint64_t heard = p.from + sound * 1024 * 1000 / 44100;
        bool sees = p.pictures && (!p.sound || at <= heard);

        if ((sees ? at : heard) >= p.to) {
            break;
        }
        if (sees) {
            int64_t gop = p.gop == 0 ? -1 : (int64_t)(at - p.from) / p.gop;
            bool key = picture == 0 || gop > last_key;

            last_key = gop;
            append(&w, key ? KEY : INTER, (uint32_t)at, 100);
            picture++;
        } else {
            append(&w, SOUND, (uint32_t)heard, 20);
            sound++;
        }
    }
}

static inline struct live_cuts
find(void)
{
    struct live_cuts c;

    assert_true(live_cuts_find(STR("live/a"), &c));
    return c;
}

/* Parts may be too short where a frame came later than any part can wait for.
 */
static unsigned shorts_allowed;

/* What every stream's cuts keep to. */
static inline void
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
            assert_int_equal(cut.flags & LIVE_CUT_PLAIN,
                             before.flags & LIVE_CUT_PLAIN);
            if ((cut.flags & LIVE_CUT_PLAIN) != 0) {
                continue;
            }
            if (cut.time - before.time < c->part_target * 85 / 100 &&
                shorts_allowed > 0) {
                shorts_allowed--;
                continue;
            }
            assert_in_range(cut.time - before.time,
                            (c->part_target * 85 + 99) / 100, c->part_target);
        }
        assert_true(live_cut_of(c, cut.segment, cut.part, &before));
        assert_int_equal(before.number, cut.number);
    }
}

static inline uint64_t
cut_count(const struct live_cuts *c, uint32_t flags)
{
    struct live_cut cut;
    uint64_t count = 0;

    for (uint64_t n = c->first; n < c->end; n++) {
        assert_true(live_cut_at(c, n, &cut));
        count += (cut.flags & flags) == flags;
    }
    return count;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
