/*
 * Cuts: pictures whose intervals differ, and key frames that come early.
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

#define LASTS 30000 /* ms */

/* Pictures beside even sound.  Each comes at its place of fps, moved by up to
 * shake ms; of each left_out, that at left_at and left_more behind it are left
 * out; those from late_at on are late by late ms. */
struct row {
    uint32_t fps;
    int32_t shake;
    uint32_t left_out, left_at, left_more;
    uint32_t late_at, late;
    uint32_t keys;  /* frames from one key frame to the next */
    bool scenes;    /* each second one comes after 1.4 to 1.97 s */
    bool plain;     /* no parts in any segment */
    uint32_t heard; /* parts that begin with sound */
};

/* Parts that ended only when the next picture was there. */
static uint32_t hindsight;

static int64_t
time_of(const struct row *row, uint32_t i)
{
    static const int32_t moves[] = { 0, 2, -2, 1, -2, 2, -1 };
    int64_t time =
        (int64_t)i * 1000 / row->fps +
        moves[i % (sizeof(moves) / sizeof(moves[0]))] * row->shake / 2;

    return time + (row->late != 0 && time >= row->late_at ? row->late : 0);
}

/* Whether the picture is a key frame; since: frames since the last one. */
static bool
is_key(const struct row *row, uint32_t *since, uint32_t *scene)
{
    uint32_t after = *scene % 2 == 0 ? 42 + *scene % 18 : row->keys;

    if (++*since < (row->scenes ? after : row->keys)) {
        return false;
    }
    *since = 0;
    ++*scene;
    return true;
}

static void
sound_up_to(int64_t time, uint32_t *heard)
{
    int64_t at = (int64_t)*heard * 1024 * 1000 / 44100;

    for (; at < time; at = (int64_t)++ * heard * 1024 * 1000 / 44100) {
        append(&w, SOUND, (uint32_t)at, 20);
    }
}

static void
picture(enum kind kind, int64_t time)
{
    uint64_t before = w.cuts.last.number;

    append(&w, kind, (uint32_t)(time > 0 ? time : 0), 100);
    hindsight += w.cuts.last.number != before &&
                 w.cuts.last.frame + 1 != atomic_load(&s->tail);
}

static bool
is_left_out(const struct row *row, uint32_t i)
{
    return row->left_out != 0 &&
           i % row->left_out - row->left_at <= row->left_more;
}

static void
publish_row(const struct row *row)
{
    uint32_t heard = 0, since = row->keys, scene = 0;

    header_of_pictures(0);
    header_of_sound(0);
    for (uint32_t i = 0; i < LASTS * row->fps / 1000; i++) {
        int64_t time = time_of(row, i);
        bool key = is_key(row, &since, &scene);

        sound_up_to(time, &heard);
        if (key || !is_left_out(row, i)) {
            picture(key ? KEY : INTER, time);
        }
    }
}

static void
check_keys(const struct live_cuts *c)
{
    struct live_cut cut;

    for (uint64_t n = c->first; n < c->end; n++) {
        assert_true(live_cut_at(c, n, &cut));
        assert_true((cut.flags & LIVE_CUT_SEGMENT) == 0 ||
                    (cut.flags & LIVE_CUT_KEY) != 0);
    }
}

/* Parts keep between 85 and 100 % of their target, end as soon as they can and
 * begin with pictures where they can, segments begin with key frames, and
 * nothing is told to be missing. */
static void
test_intervals(void **state)
{
    static const struct row rows[] = {
        { .fps = 30, .shake = 12, .keys = 60 },
        { .fps = 25, .shake = 15, .keys = 50 },
        { .fps = 60, .shake = 7, .keys = 120 },
        { .fps = 60, .left_out = 2, .keys = 120 },
        { .fps = 30, .left_out = 3, .keys = 60 },
        { .fps = 25, .left_out = 7, .keys = 50, .plain = true },
        { .fps = 60,
          .left_out = 60,
          .left_at = 21,
          .left_more = 1,
          .keys = 120 },
        { .fps = 30, .late_at = 9000, .late = 33, .keys = 60 },
        { .fps = 30, .late_at = 9000, .late = 120, .keys = 60 },
        { .fps = 30, .late_at = 9500, .late = 250, .keys = 60 },
        { .fps = 30, .late_at = 9500, .late = 340, .keys = 60, .heard = 1 },
        { .fps = 30, .keys = 60, .scenes = true },
        { .fps = 30, .shake = 12, .keys = 60, .scenes = true },
        { .fps = 12, .keys = 24, .plain = true },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct live_cuts c;

        teardown(state);
        setup(state);
        hindsight = 0;
        publish_row(&rows[i]);
        c = find();
        assert_true(c.strict);
        shorts_allowed = rows[i].late != 0;
        check_all(&c);
        check_keys(&c);
        assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 0);
        assert_int_equal(cut_count(&c, LIVE_CUT_HEARD), rows[i].heard);
        assert_true(hindsight <= (rows[i].late != 0));
        assert_int_equal(cut_count(&c, LIVE_CUT_PLAIN),
                         rows[i].plain ? c.end - c.first : 1);
    }
}

/* The target of the run is that of its first rate; where frames are further
 * apart later, segments have no parts until they fit again. */
static void
test_rates_that_change(void **state)
{
    static const struct {
        uint32_t fps[3];
        bool plain;
    } rows[] = { { { 25, 50, 25 }, false }, { { 50, 25, 50 }, false },
                 { { 25, 50, 12 }, true },  { { 25, 12, 25 }, true },
                 { { 30, 24, 60 }, false }, { { 60, 10, 30 }, true } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct live_cut last;
        struct live_cuts c;

        teardown(state);
        setup(state);
        for (uint32_t k = 0; k < 3; k++) {
            publish((struct publishing){ true, true, k * 8000, (k + 1) * 8000,
                                         rows[i].fps[k], 2000 });
        }
        c = find();
        /* Until the segment ends in which the rate changed. */
        shorts_allowed = rows[i].plain ? 9 : 2;
        check_all(&c);
        check_keys(&c);
        assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 0);
        assert_int_equal(cut_count(&c, LIVE_CUT_PLAIN) > 1, rows[i].plain);
        assert_true(live_cut_at(&c, c.end - 1, &last));
        assert_int_equal((last.flags & LIVE_CUT_PLAIN) != 0,
                         rows[i].fps[2] < 14);
    }
}

/* One picture that comes late says little of the next: the stream ends where
 * the last one ends that there is. */
static void
test_one_long_way(void **state)
{
    static const uint32_t late[] = { 100, 200, 400, 480 };

    for (size_t i = 0; i < sizeof(late) / sizeof(late[0]); i++) {
        teardown(state);
        setup(state);
        publish((struct publishing){ true, true, 0, 10000, 25, 2000 });
        append(&w, INTER, 10000 + late[i], 100);
        append(&w, INTER, 10040 + late[i], 100);
        assert_in_range(find().end_time, 20080 + late[i], 20082 + late[i]);
    }
}

static void
pictures_up_to(uint32_t from, uint32_t to)
{
    for (uint32_t at = from; at < to; at += 40) {
        append(&w, at % 2000 == 0 ? KEY : INTER, at, 100);
    }
}

/* Frames of a network that stood still come all at once, so much of one track
 * and then of the other: no track has ended, and no picture is missing. */
static void
test_tracks_that_are_late(void **state)
{
    static const struct {
        bool sound_first;
        uint32_t late, much; /* ms */
        uint32_t times;
    } rows[] = {
        { false, 5000, 2480, 1 }, { false, 1200, 400, 3 },
        { true, 5000, 1200, 3 },  { true, 3600, 600, 5 },
        { true, 1200, 400, 3 },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct publishing p = { true, true, 0, 10000, 25, 2000 };
        uint32_t heard = 431;
        struct live_cuts c;

        teardown(state);
        setup(state);
        publish(p);
        w.cuts.skew -= rows[i].late;
        for (uint32_t n = 0; n < rows[i].times; n++) {
            uint32_t at = 10000 + n * rows[i].much, to = at + rows[i].much;

            if (rows[i].sound_first) {
                sound_up_to(to, &heard);
            }
            pictures_up_to(at, to);
            sound_up_to(to, &heard);
        }
        p.from = p.to + rows[i].times * rows[i].much;
        p.to = p.from + 4000;
        publish(p);
        c = find();
        assert_true(c.strict);
        assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 0);
        assert_int_equal(cut_count(&c, LIVE_CUT_DARK), 1); /* the first */
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_intervals),
        TEST(test_rates_that_change),
        TEST(test_one_long_way),
        TEST(test_tracks_that_are_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
