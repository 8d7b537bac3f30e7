/*
 * Cuts as readers see them: rings, memory, bytes, and pages that an
 * attacker wrote.
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

/* ---- rings and memory ---- */

static void
test_old_cuts_go(void **state)
{
    struct publishing p = { true, true, 0, 200000, 25, 2000 };
    struct live_cuts c;
    struct live_cut cut;

    (void)state;
    publish(p);
    c = find();
    check_all(&c);
    assert_true(c.end > 2 * LIVE_CUT_RING);
    assert_false(live_cut_at(&c, c.end - LIVE_CUT_RING, &cut));
    assert_false(live_cut_at(&c, c.end, &cut));
    assert_false(live_cut_at(&c, 0, &cut));
    assert_true(live_cut_at(&c, c.end - 1, &cut));
    assert_false(live_cut_of(&c, cut.segment + 1, 0, &cut));
    assert_true(c.end_frame == atomic_load(&s->tail));
}

static void
age_all(int64_t ms)
{
    for (uint64_t i = atomic_load(&s->head); i < atomic_load(&s->tail); i++) {
        frame_at(s, i)->arrived_ms -= ms;
    }
}

static void
test_targets_are_kept(void **state)
{
    struct live_cuts c;
    struct live_cut cut;

    (void)state;
    for (uint32_t i = 0; i < 50; i++) {
        publish((struct publishing){ true, true, i * 1000, i * 1000 + 1000, 25,
                                     1000 });
        age_all(1000);
    }
    c = find();
    assert_true(live_cut_at(&c, c.first, &cut));
    assert_true(c.end_time - cut.time >= (int64_t)LIVE_CUT_TARGETS * c.target);
}

/* As long as it would be if its publisher had not been away: what was there
 * before is kept when it comes back, however long that took. */
static void
test_targets_are_kept_for_a_return(void **state)
{
    static const int64_t away[] = { 200, 3000, 9000, 60000 };

    for (size_t i = 0; i < sizeof(away) / sizeof(away[0]); i++) {
        struct publishing p = { true, true, 0, 60000, 25, 1000 };
        struct live_cuts before, c;
        struct live_cut cut;

        teardown(state);
        setup(state);
        publish(p);
        before = find();
        stream_leave(s);
        age_all(away[i] + arena.settings.window);
        atomic_store(&s->timed_ms, clock_ms() - away[i]);
        open_stream();
        publish((struct publishing){ true, true, 0, 40, 25, 1000 });
        c = find();
        assert_true(c.live && c.target == 3000);
        assert_int_equal(c.end, before.end + 1);
        assert_true(live_cut_at(&c, before.end, &cut));
        assert_true(cut.time >= cut.ended + away[i] - 100);
        assert_true(live_cut_at(&c, c.first, &cut));
        assert_true(before.end_time - cut.time >=
                    (int64_t)LIVE_CUT_TARGETS * c.target);
        publish((struct publishing){ true, true, 40, 5000, 25, 1000 });
        c = find();
        assert_true(live_cut_at(&c, c.first, &cut));
        assert_true(before.end_time - cut.time >=
                    (int64_t)LIVE_CUT_TARGETS * c.target - 5000);
    }
}

/* A stream too fat for its list has a shorter one, then none. */
static void
fat(uint32_t bytes)
{
    header_of_pictures(0);
    for (uint32_t i = 0; i < 25 * 40; i++) {
        append(&w, i % 50 == 0 ? KEY : INTER, i * 40, bytes);
    }
}

/* Forty seconds more.  Returns how often it was not offered any more, or was
 * again. */
static unsigned
fatter(uint32_t *next, uint32_t bytes)
{
    bool offered = find().target != 0;
    unsigned changes = 0;

    for (uint32_t end = *next + 25 * 40; *next < end; (*next)++) {
        append(&w, *next % 50 == 0 ? KEY : INTER, *next * 40, bytes);
        changes += offered != (find().target != 0);
        offered = find().target != 0;
    }
    return changes;
}

/* Between three targets and four: what it was. */
static void
test_memory_at_the_edge(void **state)
{
    uint32_t next = 25 * 40;

    (void)state;
    fat(4000);
    assert_int_equal(fatter(&next, 4000), 0);
    assert_int_equal(fatter(&next, 5500), 1);
    assert_true(find().short_of_memory);
    assert_int_equal(fatter(&next, 10000), 0);
    assert_int_equal(fatter(&next, 5500), 0);
    assert_int_equal(fatter(&next, 4000), 1);
    assert_int_equal(find().target, 4000);
    assert_int_equal(fatter(&next, 4400), 0);
}

static void
test_memory_makes_the_list_shorter(void **state)
{
    struct live_cuts c;
    struct live_cut cut;

    (void)state;
    fat(4000);
    c = find();
    assert_int_equal(c.target, 4000);
    assert_true(live_cut_at(&c, c.first, &cut));
    assert_in_range(c.end_time - cut.time, 12000, 20000);
    check_all(&c);
}

static void
test_memory_is_too_little(void **state)
{
    struct live_cuts c;

    (void)state;
    fat(10000);
    c = find();
    assert_int_equal(c.target, 0);
    assert_true(c.short_of_memory);
}

static void
test_no_cuts_without_rules(void **state)
{
    struct live_cuts c;

    teardown(state);
    rules.segment = 0;
    fixture_arena();
    open_stream();
    publish(BOTH);
    assert_false(live_cuts_find(STR("live/a"), &c));
    assert_false(live_cuts_find(STR("live/b"), &c));
    assert_int_equal(atomic_load(&s->cuts), SEGMENT_NONE);
}

/* ---- bytes ---- */

static void
test_bytes_of_frames(void **state)
{
    static const uint32_t lens[] = { 5, 64, 65, 4096, 4097, 65536, 200000 };
    struct live_cuts c;
    struct live_cut cut;

    (void)state;
    publish((struct publishing){ true, false, 0, 1000, 25, 2000 });
    for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
        uint8_t *want = mem_alloc(lens[i]);
        struct iovec ranges[128];
        struct live_cut_frame f;
        uint64_t number = atomic_load(&s->tail);
        int count;

        append(&w, INTER, 1000 + (uint32_t)i, lens[i]);
        fill_payload(want, INTER, lens[i], 1000 + (uint32_t)i);
        c = find();
        assert_true(live_cut_at(&c, c.end - 1, &cut));
        assert_true(live_cut_frame(&c, &cut, number, &f));
        assert_int_equal(f.len, lens[i]);
        assert_int_equal(f.time, 11000 + (int64_t)i);
        assert_int_equal(f.front_len, lens[i] < 64 ? lens[i] : 64);
        assert_memory_equal(f.front, want, f.front_len);
        for (uint32_t skip = 0; skip < 6 && skip <= lens[i]; skip += 5) {
            size_t at = skip;

            count = live_cut_ranges(&c, number, skip, UINT32_MAX, ranges, 128);
            assert_true(count >= 0);
            for (int k = 0; k < count; k++) {
                assert_memory_equal(ranges[k].iov_base, want + at,
                                    ranges[k].iov_len);
                at += ranges[k].iov_len;
            }
            assert_int_equal(at, lens[i]);
        }
        assert_false(live_cut_frame(&c, &cut, number + 1, &f));
        mem_free(&want);
    }
    assert_int_equal(live_cut_ranges(&c, atomic_load(&s->tail) - 1, 0,
                                     UINT32_MAX, (struct iovec[2]){ { 0 } }, 2),
                     -1);
}

/* An hour of sound: frames neither overlap nor leave gaps. */
static void
test_an_hour_of_sound(void **state)
{
    uint64_t next = 0, begin = 0, frames = 44100u * 3600 / 1024, time;

    (void)state;
    for (uint64_t i = 0; i < frames; i++) {
        assert_true(live_cut_sound(&next,
                                   (int64_t)(10000 + i * 1024 * 1000 / 44100),
                                   44100, 1024, &time));
        begin = i == 0 ? time : begin;
        assert_int_equal(time, begin + i * 1024);
    }
    /* The clock of the stream is ahead: followed, once. */
    assert_true(live_cut_sound(&next, 5000000, 44100, 1024, &time));
    assert_int_equal(time, 220500000);
    assert_int_equal(next, 220501024);
}

/* Two frames are 46 ms. */
static void
test_sound_never_goes_back(void **state)
{
    static const struct {
        uint64_t next;
        int64_t now;
        uint64_t time; /* 0: left out */
    } rows[] = {
        { 441000, 9954, 441000 },
        { 441000, 9953, 0 },
        { 441000, 8000, 0 },
        { 441000, 7999, 441000 }, /* the clock tells nothing */
        { 441000, 10046, 441000 },
        { 441000, 10047, 443072 },
        { LIVE_CUT_ANEW | 441000, 9954, 441000 },
        { LIVE_CUT_ANEW | 441000, 9953, 0 },
        { LIVE_CUT_ANEW | 441000, 10001, 441044 },
        { LIVE_CUT_ANEW, 10000, 441000 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t next = rows[i].next, time = 0;
        bool heard = live_cut_sound(&next, rows[i].now, 44100, 1024, &time);

        assert_int_equal(heard, rows[i].time != 0);
        assert_int_equal(time, rows[i].time);
        assert_int_equal(next, heard ? time + 1024 : rows[i].next);
    }
}

static void
test_a_part_is_no_longer_than_a_segment(void **state)
{
    struct publishing p = { true, true, 0, 9900, 25, 2000 };
    struct live_cuts c;

    (void)state;
    publish(p);
    atomic_store(&cut_run_of(cut_page_of(s))->part_target, UINT32_MAX);
    c = find();
    assert_int_equal(c.target, 4000);
    assert_int_equal(c.part_target, 4000);
}

/* An attacker wrote the page: readers answer something. */
static void
test_any_page(void **state)
{
    struct cut_page *page;

    (void)state;
    publish(BOTH);
    page = cut_page_of(s);
    srandom(3);
    for (unsigned i = 0; i < 3000; i++) {
        uint8_t *bytes = (uint8_t *)page;
        struct live_cuts c;
        struct live_cut cut;
        struct live_cut_headers h;
        struct live_cut_frame f;
        struct iovec ranges[4];

        for (unsigned k = 0; k < 40; k++) {
            size_t area = i % 2 == 0 ? 200 : sizeof(*page);

            bytes[(size_t)random() % area] = (uint8_t)random();
        }
        if (!live_cuts_find(STR("live/a"), &c)) {
            continue;
        }
        for (uint64_t n = c.end - 5; n != c.end + 2; n++) {
            if (live_cut_at(&c, n, &cut)) {
                live_cut_headers(&c, cut.header, &h);
                live_cut_frame(&c, &cut, cut.frame, &f);
                live_cut_ranges(&c, cut.frame, 0, UINT32_MAX, ranges, 4);
                live_cut_of(&c, cut.segment, cut.part, &cut);
            }
        }
        append(&w, i % 50 == 0 ? KEY : INTER, 20000 + i * 40, 100);
        if (i % 100 == 0) {
            writer_start(&w, s);
            header_of_pictures(0);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_old_cuts_go),
        TEST(test_targets_are_kept),
        TEST(test_targets_are_kept_for_a_return),
        TEST(test_memory_makes_the_list_shorter),
        TEST(test_memory_is_too_little),
        TEST(test_memory_at_the_edge),
        TEST(test_no_cuts_without_rules),
        TEST(test_bytes_of_frames),
        TEST(test_an_hour_of_sound),
        TEST(test_sound_never_goes_back),
        TEST(test_a_part_is_no_longer_than_a_segment),
        TEST(test_any_page),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
