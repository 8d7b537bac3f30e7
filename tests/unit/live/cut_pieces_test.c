/*
 * Cuts: several tracks of sound in one message.
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

#include "base/bytes.h"
#include "cut_fixture.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* What one message holds. */
struct says {
    uint8_t packet; /* 0: codec headers, 1: frames */
    size_t count;
    uint8_t ids[8];
    const uint8_t *bodies[8];
    size_t lens[8];
};

static const uint8_t aac[] = { 0x12, 0x10 };        /* AAC LC 44100 */
static const uint8_t mono[] = { 0x12, 0x08 };       /* the same, one channel */
static const uint8_t slow[] = { 0x11, 0x90 };       /* AAC LC 48000 */
static const uint8_t frame[80] = { 0x21, 0x10, 4 }; /* beyond a front */

static int
say(const struct says *m, uint32_t time, size_t missing)
{
    uint8_t bytes[2048] = { 0x95, (uint8_t)(0x10 | m->packet), 'm', 'p', '4',
                            'a' };
    size_t at = 6;

    for (size_t i = 0; i < m->count; i++) {
        bytes[at] = m->ids[i];
        put_be24(bytes + at + 1, (uint32_t)m->lens[i]);
        memcpy(bytes + at + 4, m->bodies[i], m->lens[i]);
        at += 4 + m->lens[i];
    }
    return writer_append(&w, MEDIA_AUDIO, time, bytes, at - missing);
}

/* The same, each in a message of its own, the lowest first. */
static void
say_alone(const struct says *m, uint32_t time)
{
    static const size_t order[] = { 1, 2, 0 };

    for (size_t k = 0; k < m->count; k++) {
        size_t i = order[k];
        uint8_t bytes[256] = { 0x95, m->packet, 'm', 'p', '4', 'a', m->ids[i] };

        memcpy(bytes + 7, m->bodies[i], m->lens[i]);
        writer_append(&w, MEDIA_AUDIO, time, bytes, 7 + m->lens[i]);
    }
}

static const struct says headers = {
    0, 3, { 5, 0, 3 }, { slow, aac, aac }, { 2, 2, 2 }
};
static const struct says frames = {
    1, 3, { 5, 0, 3 }, { frame, frame, frame }, { 70, 80, 60 }
};

/* From that time on so much sound, with pictures or without. */
static void
sound(uint32_t from, uint32_t ms, bool pictures, bool together)
{
    uint32_t picture = 0;

    for (uint32_t i = 0; i * 1024 * 10 / 441 < ms; i++) {
        uint32_t at = from + i * 1024 * 10 / 441;

        for (; pictures && from + picture * 40 <= at; picture++) {
            append(&w, picture % 50 == 0 ? KEY : INTER, from + picture * 40,
                   100);
        }
        if (together) {
            say(&frames, at, 0);
        } else {
            say_alone(&frames, at);
        }
    }
}

/* What all cuts say: their times, and where each sound is. */
static size_t
gather(struct live_cut all[LIVE_CUT_RING])
{
    struct live_cuts c = find();
    size_t count = 0;

    check_all(&c);
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 0);
    for (uint64_t n = c.first; n < c.end; n++) {
        assert_true(live_cut_at(&c, n, &all[count++]));
    }
    return count;
}

static void
check_headers(void)
{
    static const uint8_t ids[] = { 0, 3, 5 };
    static struct live_cut_headers h;
    struct live_cuts c = find();
    struct media_track t;
    size_t sounds = 0;

    assert_true(live_cut_headers(&c, 1, &h));
    for (uint32_t i = 0; i < h.count; i++) {
        if (h.items[i].type == MEDIA_VIDEO) {
            continue;
        }
        assert_int_equal(live_cut_track(&h.items[i], &t), 0);
        assert_int_equal(t.id, ids[sounds]);
        assert_int_equal(t.codec, CODEC_AAC);
        assert_int_equal(t.rate, t.id == 5 ? 48000 : 44100);
        sounds++;
    }
    assert_int_equal(sounds, 3);
}

/* Cuts and times of sound are those of messages of one track each. */
static void
test_as_if_alone(void **state)
{
    static struct live_cut together[LIVE_CUT_RING], apart[LIVE_CUT_RING];

    for (unsigned pictures = 0; pictures < 2; pictures++) {
        size_t count[2];

        for (unsigned alone = 0; alone < 2; alone++) {
            teardown(state);
            setup(state);
            if (pictures) {
                header_of_pictures(0);
            }
            if (alone) {
                say_alone(&headers, 0);
            } else {
                say(&headers, 0, 0);
            }
            sound(0, 20000, pictures, !alone);
            check_headers();
            count[alone] = gather(alone ? apart : together);
        }
        assert_int_equal(count[0], count[1]);
        assert_true(count[0] > 20);
        for (size_t i = 0; i < count[0]; i++) {
            assert_int_equal(together[i].time, apart[i].time);
            assert_int_equal(together[i].ended, apart[i].ended);
            assert_int_equal(together[i].flags, apart[i].flags);
            assert_memory_equal(together[i].sound, apart[i].sound,
                                sizeof(together[i].sound));
            assert_true(i < 2 || together[i].sound[2] != 0);
        }
    }
}

/* Each step of each track that the writer took leads readers to where the next
 * cut says it is; what a frame holds of a track can be copied. */
static void
test_readers_come_to_the_same(void **state)
{
    static const uint8_t ids[] = { 0, 3, 5 };
    static struct media_pieces pieces;
    struct live_cuts c;
    struct live_cut cut, next;
    struct live_cut_frame f;

    (void)state;
    header_of_pictures(0);
    say(&headers, 0, 0);
    sound(0, 20000, true, true);
    c = find();
    for (uint64_t n = c.first; n + 1 < c.end; n++) {
        assert_true(live_cut_at(&c, n, &cut) && live_cut_at(&c, n + 1, &next));
        for (uint64_t i = cut.frame; i < next.frame; i++) {
            uint8_t bytes[80];
            uint64_t time;

            assert_true(live_cut_frame(&c, &cut, i, &f));
            if (f.type != MEDIA_AUDIO) {
                assert_false(live_cut_pieces(&c, &f, &pieces));
                continue;
            }
            assert_true(live_cut_pieces(&c, &f, &pieces));
            assert_int_equal(pieces.count, 3);
            for (unsigned k = 0; k < 3; k++) {
                const struct media_piece *p = &pieces.all[k];
                unsigned place = p->track == ids[0]   ? 0
                                 : p->track == ids[1] ? 1
                                                      : 2;

                assert_int_equal(p->len, frames.lens[k]);
                assert_true(live_cut_bytes(&c, i, p->at, bytes, p->len));
                assert_memory_equal(bytes, frame, p->len);
                live_cut_sound(&cut.sound[place], f.time,
                               p->track == 5 ? 48000 : 44100, 1024, &time);
            }
            assert_false(live_cut_bytes(&c, i, f.len - 1, bytes, 2));
            assert_false(live_cut_bytes(&c, i, f.len + 1, bytes, 0));
            assert_false(live_cut_bytes(&c, i, 1, bytes, UINT32_MAX));
        }
        assert_memory_equal(cut.sound, next.sound, 3 * sizeof(cut.sound[0]));
    }
}

/* Messages that do not fit together: their pictures and sounds, and codec
 * headers in them, change nothing. */
static void
test_broken_ones(void **state)
{
    static const struct {
        const char *what;
        struct says says;
        size_t missing;
    } rows[] = {
        { "a header twice", { 0, 2, { 0, 0 }, { mono, mono }, { 2, 2 } }, 0 },
        { "headers cut", { 0, 2, { 0, 3 }, { mono, mono }, { 2, 2 } }, 1 },
        { "a size cut", { 0, 2, { 0, 3 }, { mono, mono }, { 2, 2 } }, 4 },
        { "no header", { 0, 0, { 0 }, { NULL }, { 0 } }, 0 },
        { "a frame twice", { 1, 2, { 3, 3 }, { frame, frame }, { 9, 9 } }, 0 },
        { "frames cut", { 1, 2, { 0, 3 }, { frame, frame }, { 9, 9 } }, 1 },
        { "empty ones", { 1, 2, { 0, 3 }, { frame, frame }, { 0, 0 } }, 0 },
        { "no frame", { 1, 0, { 0 }, { NULL }, { 0 } }, 0 },
        { "an end", { 2, 2, { 0, 3 }, { frame, frame }, { 0, 0 } }, 0 },
        { "an unknown kind",
          { 8, 2, { 0, 3 }, { frame, frame }, { 9, 9 } },
          0 },
        { "metadata", { 4, 2, { 0, 3 }, { frame, frame }, { 2, 2 } }, 0 },
    };
    static struct live_cut with[LIVE_CUT_RING], without[LIVE_CUT_RING];
    size_t count = 0;

    for (size_t i = 0; i <= COUNT(rows); i++) { /* first without any */
        teardown(state);
        setup(state);
        header_of_pictures(0);
        say(&headers, 0, 0);
        sound(0, 10000, true, true);
        for (uint32_t k = 0; i > 0 && k < 20; k++) {
            assert_int_equal(say(&rows[i - 1].says, 9990, rows[i - 1].missing),
                             0);
        }
        sound(10000, 10000, true, true);
        check_headers();
        if (i == 0) {
            count = gather(without);
            continue;
        }
        print_message("%s\n", rows[i - 1].what);
        assert_int_equal(gather(with), count);
        assert_int_equal(with[count - 1].header, 1);
        for (size_t k = 0; k < count; k++) {
            assert_int_equal(with[k].time, without[k].time);
            assert_memory_equal(with[k].sound, without[k].sound,
                                sizeof(with[k].sound));
        }
    }
}

/* Codec headers that say the same in another kind of message are no others. */
static void
test_headers_again(void **state)
{
    struct live_cut all[LIVE_CUT_RING];
    size_t count;

    (void)state;
    header_of_pictures(0);
    say(&headers, 0, 0);
    sound(0, 10000, true, true);
    say_alone(&headers, 10000);
    header_of_sound(10000);
    sound(10000, 5000, true, true);
    say(&headers, 15000, 0);
    sound(15000, 5000, true, true);
    count = gather(all);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(all[i].header, 1);
        assert_int_equal(all[i].sound[0] & LIVE_CUT_OTHER, 0);
    }
}

/* More tracks than are offered: the first that came stay. */
static void
test_more_than_are_offered(void **state)
{
    static struct live_cut_headers h;
    struct says many = { .packet = 0, .count = 8 };
    struct live_cuts c;

    (void)state;
    header_of_pictures(0);
    for (uint8_t i = 0; i < 8; i++) {
        many.ids[i] = (uint8_t)(i * 30);
        many.bodies[i] = aac;
        many.lens[i] = 2;
    }
    say(&many, 0, 0);
    many.packet = 1;
    for (uint8_t i = 0; i < 8; i++) {
        many.bodies[i] = frame;
        many.lens[i] = 80;
    }
    for (uint32_t i = 0; i < 250; i++) {
        append(&w, i % 50 == 0 ? KEY : INTER, i * 40, 100);
        say(&many, i * 40, 0);
    }
    c = find();
    assert_true(live_cut_headers(&c, 1, &h));
    assert_int_equal(h.count, 1 + LIVE_CUT_SOUNDS);
    for (uint32_t i = 1; i < h.count; i++) {
        assert_int_equal(h.items[i].track, (i - 1) * 30);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        TEST(test_as_if_alone),           TEST(test_readers_come_to_the_same),
        TEST(test_broken_ones),           TEST(test_headers_again),
        TEST(test_more_than_are_offered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
