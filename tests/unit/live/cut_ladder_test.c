/*
 * Members of a ladder: cut where their leader is, on its time and numbered like
 * it.
 *
 * Frames are noted without a writer, so that they arrive when the test says.
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
#include "live/timeline.h"

static const uint8_t avcc[] = { 0x17, 0,    0,    0, 0,    1,    0x64, 0,
                                0x1f, 0xff, 0xe1, 0, 4,    0x67, 0x64, 0,
                                0x1f, 1,    0,    2, 0x68, 0xee };
static const uint8_t asc[] = { 0xaf, 0, 0x12, 0x10 }; /* AAC LC 44100 */

/* A publisher and what it sends: pictures, or sound alone. */
struct encoder {
    const char *name;
    int64_t from;            /* ms of the test when its first frame arrives */
    int64_t to;              /* 0: to the end */
    uint32_t stamp;          /* timestamp of that frame */
    uint32_t gop;            /* ms */
    uint32_t frame;          /* ms; 0: 40 */
    int64_t stalls, goes_on; /* sent in between arrives at its end */
    bool sound;              /* alone */
    struct stream *stream;
    struct cutter cutter;
    int64_t count;   /* frames of this publisher */
    uint64_t number; /* of its next one in the stream */
    bool gone;
};

static struct live_ladder ladder;
static int64_t began; /* clock_ms() of the test's first ms */

static int
setup(void **state)
{
    (void)state;
    ladder = (struct live_ladder){ 3, { "_high", "_mid", "_low" } };
    fixture_arena();
    began = clock_ms();
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fixture_arena_end();
    return 0;
}

/* ---- encoders ---- */

static void
note(struct encoder *e, int64_t now, const uint8_t *payload, size_t len,
     uint32_t timestamp)
{
    enum media_type type = e->sound ? MEDIA_AUDIO : MEDIA_VIDEO;
    struct media_info info = media_inspect(type, payload, len);
    struct frame f = {
        .arrived_ms = began + now,
        .timestamp = timestamp,
        .payload_len = (uint32_t)len,
        .type = (uint8_t)type,
        .flags = info.flags,
    };
    bool header = (info.flags & MEDIA_HEADER) != 0;

    if (!header) {
        timeline_note(e->stream, &f);
    }
    cut_note(&e->cutter,
             &(struct cut_frame){
                 .frame = &f,
                 .number = e->number++,
                 .info = info,
                 .leading = true,
                 .start = !header && (e->sound || (info.flags & MEDIA_KEY)),
                 .payload = str_of(payload, len),
             });
}

static void
arrive(struct encoder *e)
{
    struct live_publish what = fixture_publish(e->name);

    what.cuts = (struct live_cut_rules){
        .segment = 2000, .max_segment = 6000, .part = 333, .ladder = ladder
    };
    assert_int_equal(stream_claim(&what, &e->stream), STREAM_YOURS);
    cut_start(&e->cutter, e->stream);
    note(e, e->from, e->sound ? asc : avcc,
         e->sound ? sizeof(asc) : sizeof(avcc), e->stamp);
}

static void
send_frame(struct encoder *e, int64_t now)
{
    int64_t frame = e->frame != 0 ? e->frame : 40, at = e->count * frame;
    bool key = !e->sound && at / e->gop != (at - frame) / e->gop;
    uint8_t payload[100];

    key = key || e->count == 0;
    fill_payload(payload,
                 e->sound ? SOUND
                 : key    ? KEY
                          : INTER,
                 sizeof(payload), (uint32_t)at);
    note(e, now, payload, sizeof(payload), e->stamp + (uint32_t)at);
    e->count++;
}

/* What arrives in the ms [from, to) of the test; encoders whose frames arrive
 * at once in the order given. */
static void
run(struct encoder *all, size_t count, int64_t from, int64_t to)
{
    for (int64_t now = from; now < to; now++) {
        for (size_t i = 0; i < count; i++) {
            struct encoder *e = &all[i];
            int64_t frame = e->frame != 0 ? e->frame : 40;

            if (now < e->from || e->gone) {
                continue;
            }
            if (now == e->from) {
                arrive(e);
            }
            if (e->to != 0 && now >= e->to) {
                stream_leave(e->stream);
                e->gone = true;
                continue;
            }
            while ((now < e->stalls || now >= e->goes_on) &&
                   e->from + e->count * frame <= now) {
                send_frame(e, now);
            }
        }
    }
}

/* ---- what came of it ---- */

static struct live_cuts
cuts_of(const struct encoder *e)
{
    struct live_cuts c;

    assert_true(live_cuts_find(str_from(e->name), &c));
    return c;
}

/* The cut that begins a segment, counted from the newest. */
static struct live_cut
segment_of(const struct encoder *e, unsigned back)
{
    struct live_cuts c = cuts_of(e);
    struct live_cut cut = { 0 };
    uint64_t n = c.end;

    while (n > c.run) {
        assert_true(live_cut_at(&c, --n, &cut));
        if (cut.part == 0 && back-- == 0) {
            return cut;
        }
    }
    fail_msg("%s has no such segment", e->name);
    return cut;
}

/* The newest segments have the same numbers, times and wall times, and are of
 * the same lengths. */
static void
check_alike(const struct encoder *a, const struct encoder *b, int64_t away)
{
    struct live_cut behind_a = segment_of(a, 0), behind_b = segment_of(b, 0);

    for (unsigned i = 1; i < 4; i++) {
        struct live_cut x = segment_of(a, i), y = segment_of(b, i);

        assert_int_equal(x.segment, y.segment);
        assert_in_range(x.time - y.time + 1000, 1000 - away, 1000 + away);
        assert_int_equal(x.wall_ms - y.wall_ms, x.time - y.time);
        assert_in_range(behind_a.time - x.time, 1900, 2100);
        assert_in_range(behind_b.time - y.time, 1900, 2100);
        assert_true((x.flags & y.flags & LIVE_CUT_KEY) != 0);
        behind_a = x;
        behind_b = y;
    }
    assert_int_equal(cuts_of(a).target, cuts_of(b).target);
}

static bool
is_apart(struct encoder *e)
{
    return atomic_load(&cut_run_of(e->cutter.page)->apart) != 0;
}

/* ---- tests ---- */

/* The key frames of one come before the other's, whichever of them leads. */
static void
test_one_encoder(void **state)
{
    static const int64_t later[][2] = {
        { 0, 0 },  { 0, 7 },   { 7, 0 },   { 0, 60 },
        { 60, 0 }, { 0, 400 }, { 400, 0 }, { 0, 900 },
    };

    for (size_t i = 0; i < sizeof(later) / sizeof(later[0]); i++) {
        struct encoder all[] = {
            { .name = "live/a_high", .from = later[i][0], .gop = 2000 },
            { .name = "live/a_low", .from = later[i][1], .gop = 2000 },
        };

        teardown(state);
        setup(state);
        run(all, 2, 0, 15000);
        check_alike(&all[0], &all[1], 0);
        assert_false(is_apart(&all[0]) || is_apart(&all[1]));
    }
}

/* More key frames than segments: the leader says which begin one. */
static void
test_leader_chooses(void **state)
{
    struct encoder all[] = {
        { .name = "live/a_high", .from = 900, .stamp = 400, .gop = 2000 },
        { .name = "live/a_low", .from = 500, .gop = 500, .frame = 20 },
        { .name = "live/b_low", .from = 500, .gop = 500, .frame = 20 },
    };
    struct live_cut low;

    (void)state;
    run(all, 3, 0, 30000);
    low = segment_of(&all[1], 1);
    /* Its key frames stand at 500 + n * 500, the leader's at 900 + m * 2000:
     * it follows at the next one. */
    assert_int_equal(low.time % 2000, (10000 + 500) % 2000);
    assert_true((low.flags & LIVE_CUT_KEY) != 0);
    assert_int_equal(segment_of(&all[1], 1).time - segment_of(&all[1], 2).time,
                     2000);
    /* Another ladder's stream goes its own way. */
    assert_int_equal(segment_of(&all[2], 1).time % 2000, 10000 % 2000);
}

/* The leader has a key frame every 4 s only, a member every second. */
static void
test_longer_groups_of_the_leader(void **state)
{
    struct encoder all[] = {
        { .name = "live/a_high", .from = 0, .gop = 4000 },
        { .name = "live/a_low", .from = 3, .gop = 1000 },
    };

    (void)state;
    run(all, 2, 0, 30000);
    for (unsigned i = 1; i < 5; i++) {
        struct live_cut x = segment_of(&all[0], i), y = segment_of(&all[1], i);

        assert_int_equal(x.time, y.time);
        assert_int_equal(x.segment, y.segment);
    }
    assert_int_equal(cuts_of(&all[0]).target, 6000);
    assert_int_equal(cuts_of(&all[1]).target, 6000);
}

/* A key frame of the leader comes late while its lengths are not known: the
 * list of the other begins with the next segment, so that both have one target.
 */
static void
test_first_segment_too_long(void **state)
{
    struct encoder all[] = {
        { .name = "live/a_high", .gop = 1000, .stalls = 1990, .goes_on = 2050 },
        { .name = "live/a_low", .from = 10, .stamp = 7010, .gop = 1000 },
    };
    struct live_cuts c;
    struct live_cut first;

    (void)state;
    run(all, 2, 0, 15000);
    c = cuts_of(&all[1]);
    assert_int_equal(c.target, 3000);
    assert_true(live_cut_at(&c, c.run, &first));
    assert_int_equal(first.time, 10000 + 10);
    check_alike(&all[0], &all[1], 10);
}

/* The same of one encoder: timestamps are equal. */
static void
test_first_segment_too_long_of_both(void **state)
{
    struct encoder all[] = {
        { .name = "live/a_high", .gop = 1000, .stalls = 1990, .goes_on = 2050 },
        { .name = "live/a_low", .from = 10, .stamp = 10, .gop = 1000 },
    };

    (void)state;
    run(all, 2, 0, 15000);
    assert_int_equal(cuts_of(&all[0]).target, 3000);
    check_alike(&all[0], &all[1], 10);
}

/* Two encoders, one begins later: what arrives at once has the same time. */
static void
test_two_encoders(void **state)
{
    struct encoder all[] = {
        { .name = "live/a_high", .from = 0, .stamp = 123456, .gop = 2000 },
        { .name = "live/a_low", .from = 7990, .gop = 2000 },
    };

    (void)state;
    run(all, 2, 0, 25000);
    check_alike(&all[0], &all[1], 20);
    assert_int_equal(segment_of(&all[1], 1).time % 2000, 10000 % 2000 + 1990);
    assert_false(is_apart(&all[1]));
}

/* Timestamps that have gone far, in both. */
static void
test_one_encoder_for_long(void **state)
{
    struct encoder all[] = {
        { .name = "live/a_high", .from = 0, .stamp = 0xfffff000, .gop = 2000 },
        { .name = "live/a_low", .from = 12, .stamp = 0xfffff000, .gop = 2000 },
    };

    (void)state;
    run(all, 2, 0, 15000);
    check_alike(&all[0], &all[1], 0);
}

static void
test_key_frames_apart_are_told(void **state)
{
    struct encoder all[] = {
        { .name = "live/a_high", .from = 0, .gop = 2000 },
        { .name = "live/a_mid", .from = 90, .stamp = 90, .gop = 2000 },
        { .name = "live/a_low", .from = 500, .stamp = 500, .gop = 2000 },
    };

    (void)state;
    run(all, 3, 0, 12000);
    assert_false(is_apart(&all[0]));
    assert_false(is_apart(&all[1]));
    assert_true(is_apart(&all[2]));
    /* It is cut at each of its key frames nevertheless. */
    assert_int_equal(segment_of(&all[2], 1).time - segment_of(&all[2], 2).time,
                     2000);
    assert_true((segment_of(&all[2], 1).flags & LIVE_CUT_KEY) != 0);
}

/* The next one in the order leads, until the first is back. */
static void
test_leader_dies(void **state)
{
    struct encoder all[] = {
        { .name = "live/a_high", .from = 0, .to = 9000, .gop = 2000 },
        { .name = "live/a_mid", .from = 5, .gop = 1000 },
        { .name = "live/a_low", .from = 0, .gop = 1000 },
    };
    struct live_cut before;

    (void)state;
    run(all, 3, 0, 9000);
    before = segment_of(&all[2], 0);
    run(all, 3, 9000, 20000);
    check_alike(&all[1], &all[2], 0);
    assert_int_equal(segment_of(&all[2], 0).segment - before.segment, 5);
    all[0].from = 20010;
    all[0].stamp = 20010;
    all[0].to = 0;
    all[0].gone = false;
    all[0].count = 0;
    run(all, 3, 20000, 30000);
    check_alike(&all[1], &all[2], 0);
    assert_false(is_apart(&all[2]));
}

/* A leader that sends nothing is not waited for. */
static void
test_leader_stalls(void **state)
{
    struct encoder all[] = {
        { .name = "live/a_high", .from = 0, .gop = 2000 },
        { .name = "live/a_low", .from = 5, .gop = 1000 },
    };

    (void)state;
    run(all, 2, 0, 9000);
    run(all + 1, 1, 9000, 20000);
    assert_int_equal(segment_of(&all[1], 1).time - segment_of(&all[1], 2).time,
                     2000);
    assert_true((segment_of(&all[1], 1).flags & LIVE_CUT_KEY) != 0);
}

static void
test_sound_follows(void **state)
{
    struct encoder all[] = {
        { .name = "live/a_high", .from = 0, .gop = 2000 },
        { .name = "live/a_low", .from = 9, .frame = 23, .sound = true },
    };

    (void)state;
    run(all, 2, 0, 15000);
    check_alike(&all[0], &all[1], 24);
    assert_false(is_apart(&all[1]));
}

/* Nothing that another process wrote does harm. */
static void
test_odd_pages(void **state)
{
    struct encoder all[] = {
        { .name = "live/a_high", .from = 0, .gop = 2000 },
        { .name = "live/a_low", .from = 5, .gop = 2000 },
    };
    uint8_t *page;

    (void)state;
    srand(1);
    run(all, 2, 0, 5000);
    page = (uint8_t *)all[0].cutter.page;
    for (int64_t now = 5000; now < 60000; now += 20) {
        for (size_t i = 0; i < 40; i++) {
            page[(size_t)rand() % sizeof(struct cut_page)] = (uint8_t)rand();
        }
        run(all + 1, 1, now, now + 20);
    }
    assert_true(cuts_of(&all[1]).end > 100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_encoder),
        TEST(test_leader_chooses),
        TEST(test_longer_groups_of_the_leader),
        TEST(test_first_segment_too_long),
        TEST(test_first_segment_too_long_of_both),
        TEST(test_two_encoders),
        TEST(test_one_encoder_for_long),
        TEST(test_key_frames_apart_are_told),
        TEST(test_leader_dies),
        TEST(test_leader_stalls),
        TEST(test_sound_follows),
        TEST(test_odd_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
