/*
 * What new players get first: replaced as a whole, the newest of each kind.
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

#include "arena_fixture.h"
#include "live/init_headers.h"

static struct stream *s;
static struct prologue_writer w;

static int
setup(void **state)
{
    (void)state;
    fixture_arena();
    s = fixture_stream("live/a");
    prologue_begin(&w, s);
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fixture_arena_end();
    return 0;
}

static enum prologue_change
put(enum media_type type, uint8_t flags, uint8_t track, struct str payload)
{
    struct media_info info = { .flags = flags, .track = track };

    return prologue_put(&w, s, type, info, payload);
}

/* However often it was changed before. */
static enum prologue_change
put_late(enum media_type type, uint8_t flags, struct str payload)
{
    w.spent_until[0] = w.spent_until[1] = 0;
    return put(type, flags, 0, payload);
}

static bool
has(enum media_type type, uint8_t track, struct str payload)
{
    const struct prologue *p = prologue_of(s);
    struct prologue_item item;

    for (uint32_t i = 0; p != NULL && prologue_item(p, i, &item); i++) {
        if (item.type == type && item.track == track &&
            str_eq(str_of(p->bytes + item.offset, item.len), payload)) {
            return true;
        }
    }
    return false;
}

/* What another process has spoilt leads nobody out of the segment. */
static void
test_spoilt_items(void **state)
{
    static const uint32_t wrong[] = { PROLOGUE_BYTES + 1, 1u << 31,
                                      UINT32_MAX };
    struct prologue_item item;
    struct prologue *p;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        put_late(MEDIA_VIDEO, MEDIA_HEADER, STR("video"));
        put_late(MEDIA_AUDIO, MEDIA_HEADER, STR("audio"));
        p = (struct prologue *)(uintptr_t)prologue_of(s);
        p->count = wrong[i];
        assert_false(prologue_item(p, PROLOGUE_ITEMS, &item));
        p->items[0].len = wrong[i];
        assert_true(prologue_item(p, 0, &item));
        assert_int_equal(item.len, 0);
        p->items[1].offset = wrong[i];
        assert_true(prologue_item(p, 1, &item));
        assert_int_equal(item.offset, 0);
        p->used = wrong[i];
        put_late(MEDIA_AUDIO, MEDIA_HEADER, STR("other"));
        assert_true(has(MEDIA_AUDIO, 0, STR("other")));
    }
}

static void
test_newest_of_each_kind(void **state)
{
    (void)state;
    assert_null(prologue_of(s));
    assert_int_equal(put(MEDIA_DATA, MEDIA_META, 0, STR("meta 1")),
                     PROLOGUE_NEW);
    assert_int_equal(put(MEDIA_VIDEO, MEDIA_HEADER, 0, STR("video")),
                     PROLOGUE_NEW);
    assert_int_equal(put(MEDIA_AUDIO, MEDIA_HEADER, 0, STR("audio")),
                     PROLOGUE_NEW);
    assert_int_equal(put(MEDIA_VIDEO, MEDIA_HEADER | MEDIA_MULTITRACK, 1,
                         STR("video, second track")),
                     PROLOGUE_NEW);
    assert_int_equal(put(MEDIA_DATA, MEDIA_META, 0, STR("meta, longer")),
                     PROLOGUE_CHANGED);
    assert_int_equal(put(MEDIA_DATA, MEDIA_META, 0, STR("meta, longer")),
                     PROLOGUE_SAME);
    assert_int_equal(prologue_of(s)->count, 4);
    assert_true(has(MEDIA_DATA, 0, STR("meta, longer")));
    assert_true(has(MEDIA_VIDEO, 0, STR("video")));
    assert_true(has(MEDIA_VIDEO, 1, STR("video, second track")));
    assert_true(has(MEDIA_AUDIO, 0, STR("audio")));
    assert_int_equal(segments_in_use(), 1);
}

#define BYTES(text)            \
    {                          \
        text, sizeof(text) - 1 \
    }
#define FIRST(body) "\x90mp4a" body
#define SECOND(body) "\x95\0mp4a\1" body
#define MANY(one, two) "\x95\x10mp4a\0\0\0\1" one "\1\0\0\1" two
#define THIRD "\x95\x10mp4a\2\0\0\1x"

/* Headers of several tracks: the newest of each track comes last, and none goes
 * before all of its tracks have a newer one. */
static void
test_several_tracks_in_one(void **state)
{
    static const struct {
        struct str puts[5];
        enum prologue_change last;
        size_t kept[4]; /* which of them, in that order; from 1 */
    } rows[] = {
        { { BYTES(FIRST("a")), BYTES(SECOND("b")), BYTES(MANY("c", "d")) },
          PROLOGUE_CHANGED,
          { 3 } },
        { { BYTES(MANY("a", "b")), BYTES(FIRST("c")) },
          PROLOGUE_CHANGED,
          { 1, 2 } },
        { { BYTES(MANY("a", "b")), BYTES(FIRST("c")), BYTES(SECOND("d")) },
          PROLOGUE_CHANGED,
          { 1, 2, 3 } },
        { { BYTES(MANY("a", "b")), BYTES(FIRST("c")), BYTES(FIRST("d")) },
          PROLOGUE_CHANGED,
          { 1, 3 } },
        { { BYTES(MANY("a", "b")), BYTES(FIRST("c")), BYTES(MANY("a", "b")) },
          PROLOGUE_CHANGED,
          { 3 } },
        { { BYTES(MANY("a", "b")), BYTES(THIRD), BYTES(MANY("a", "b")) },
          PROLOGUE_SAME,
          { 1, 2 } },
        { { BYTES(FIRST("a")), BYTES(THIRD) }, PROLOGUE_NEW, { 1, 2 } },
        { { BYTES(MANY("a", "b")), BYTES(THIRD), BYTES(MANY("c", "d")) },
          PROLOGUE_CHANGED,
          { 2, 3 } },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        enum prologue_change change = PROLOGUE_FULL;
        struct prologue_item item;
        uint32_t count = 0;

        prologue_begin(&w, s);
        for (size_t k = 0; k < 5 && rows[i].puts[k].len > 0; k++) {
            struct str message = rows[i].puts[k];
            struct media_info info = media_inspect(
                MEDIA_AUDIO, (const uint8_t *)message.ptr, message.len);

            change = prologue_put(&w, s, MEDIA_AUDIO, info, message);
        }
        assert_int_equal(change, rows[i].last);
        for (; count < 4 && rows[i].kept[count] > 0; count++) {
            struct str want = rows[i].puts[rows[i].kept[count] - 1];

            assert_true(prologue_item(prologue_of(s), count, &item));
            assert_true(str_eq(
                str_of(prologue_of(s)->bytes + item.offset, item.len), want));
        }
        assert_int_equal(prologue_of(s)->count, count);
    }
}

/* What a reader looks at in its turn is not written over. */
static void
test_readers_keep_what_they_saw(void **state)
{
    const struct prologue *seen;
    uint32_t reader = (uint32_t)slot_take(SLOT_WORKER, "reader", 1, 0);

    (void)state;
    put(MEDIA_VIDEO, MEDIA_HEADER, 0, STR("first"));
    atomic_store(&slot_at(reader)->epoch_seen, atomic_load(&arena.head->epoch));
    seen = prologue_of(s);
    for (int i = 0; i < 300; i++) {
        put_late(MEDIA_VIDEO, MEDIA_HEADER, str_of(&i, sizeof(i)));
    }
    assert_int_equal(seen->count, 1);
    assert_memory_equal(seen->bytes, "first", 5);
}

static void
test_forgotten(void **state)
{
    (void)state;
    put(MEDIA_VIDEO, MEDIA_HEADER, 0, STR("video"));
    prologue_begin(&w, s);
    assert_null(prologue_of(s));
    assert_int_equal(segments_in_use(), 0);
    prologue_begin(&w, s);
}

/* One that does not fit is left out, and the older one with it. */
static void
test_too_large(void **state)
{
    static char large[PROLOGUE_BYTES];

    (void)state;
    put(MEDIA_VIDEO, MEDIA_HEADER, 0, STR("video"));
    put(MEDIA_DATA, MEDIA_META, 0, STR("small"));
    assert_int_equal(
        put(MEDIA_DATA, MEDIA_META, 0, str_of(large, sizeof(large))),
        PROLOGUE_FULL);
    assert_true(has(MEDIA_VIDEO, 0, STR("video")));
    assert_int_equal(prologue_of(s)->count, 1);
    assert_int_equal(
        put(MEDIA_DATA, MEDIA_META, 0, str_of(large, sizeof(large) - 5)),
        PROLOGUE_NEW);
    assert_true(has(MEDIA_DATA, 0, str_of(large, sizeof(large) - 5)));
    assert_int_equal(segments_in_use(), 1);
}

static void
test_too_many(void **state)
{
    (void)state;
    for (uint8_t i = 0; i < PROLOGUE_ITEMS; i++) {
        assert_int_equal(put(MEDIA_AUDIO, MEDIA_HEADER, i, STR("x")),
                         PROLOGUE_NEW);
    }
    w.spent_until[0] = 0;
    assert_int_equal(put(MEDIA_AUDIO, MEDIA_HEADER, 200, STR("x")),
                     PROLOGUE_FULL);
    assert_int_equal(put(MEDIA_AUDIO, MEDIA_HEADER, 3, STR("y")),
                     PROLOGUE_CHANGED);
    assert_true(has(MEDIA_AUDIO, 3, STR("y")));
    assert_int_equal(prologue_of(s)->count, PROLOGUE_ITEMS);
}

/* What is said of a track stands beside its header, and beside what is said of
 * the stream. */
static void
test_metadata_of_a_track(void **state)
{
    (void)state;
    put(MEDIA_DATA, MEDIA_META, 0, STR("of all"));
    put(MEDIA_VIDEO, MEDIA_HEADER, 1, STR("header"));
    assert_int_equal(put(MEDIA_VIDEO, MEDIA_TRACK_META, 0, STR("first")),
                     PROLOGUE_NEW);
    assert_int_equal(
        put(MEDIA_VIDEO, MEDIA_TRACK_META | MEDIA_MULTITRACK, 1, STR("second")),
        PROLOGUE_NEW);
    assert_int_equal(put(MEDIA_VIDEO, MEDIA_TRACK_META, 1, STR("newer")),
                     PROLOGUE_CHANGED);
    assert_int_equal(prologue_of(s)->count, 4);
    assert_true(has(MEDIA_VIDEO, 0, STR("first")));
    assert_true(has(MEDIA_VIDEO, 1, STR("header")));
    assert_true(has(MEDIA_VIDEO, 1, STR("newer")));
}

/* Changes until one is too many. */
static int
put_often(enum media_type type, uint8_t flags)
{
    for (int i = 0;; i++) {
        if (put(type, flags, 0, str_of(&i, sizeof(i))) == PROLOGUE_OFTEN) {
            return i;
        }
    }
}

/* More only for the time that went by. */
static int
at_most(int burst, int64_t began)
{
    return burst + (int)((clock_ms() - began) * PROLOGUE_RATE / 1000) + 1;
}

static void
test_a_burst_then_so_many_a_second(void **state)
{
    int64_t began = clock_ms();
    int n = put_often(MEDIA_VIDEO, MEDIA_HEADER);

    (void)state;
    assert_in_range(n, PROLOGUE_BURST, at_most(PROLOGUE_BURST, began));
    n--; /* the one before stays in force, and may be said again */
    assert_true(has(MEDIA_VIDEO, 0, str_of(&n, sizeof(n))));
    assert_int_equal(put(MEDIA_VIDEO, MEDIA_HEADER, 0, str_of(&n, sizeof(n))),
                     PROLOGUE_SAME);
    w.spent_until[0] -= 1000; /* a second later */
    began = clock_ms();
    n = put_often(MEDIA_VIDEO, MEDIA_HEADER);
    assert_in_range(n, PROLOGUE_RATE, at_most(PROLOGUE_RATE, began));
}

static void
test_metadata_leaves_headers_their_share(void **state)
{
    int64_t began = clock_ms();

    (void)state;
    assert_in_range(put_often(MEDIA_DATA, MEDIA_META), PROLOGUE_BURST,
                    at_most(PROLOGUE_BURST, began));
    assert_in_range(put_often(MEDIA_VIDEO, MEDIA_TRACK_META), 0,
                    at_most(0, began));
    assert_in_range(put_often(MEDIA_VIDEO, MEDIA_HEADER), PROLOGUE_BURST,
                    at_most(PROLOGUE_BURST, began));
}

/* Whoever may still read an old one keeps it from being used again. */
static void
test_old_ones_are_held_until_they_are_free(void **state)
{
    uint32_t reader = (uint32_t)slot_take(SLOT_WORKER, "reader", 1, 0);

    (void)state;
    atomic_store(&slot_at(slot_self())->epoch_seen, UINT64_MAX);
    assert_int_equal(prologue_held(&w, s), 0);
    put(MEDIA_VIDEO, MEDIA_HEADER, 0, STR("first"));
    assert_int_equal(prologue_held(&w, s), 1);
    atomic_store(&slot_at(reader)->epoch_seen, atomic_load(&arena.head->epoch));
    for (int i = 0; i < 5; i++) {
        put(MEDIA_VIDEO, MEDIA_HEADER, 0, str_of(&i, sizeof(i)));
    }
    assert_int_equal(prologue_held(&w, s), 6);
    atomic_store(&slot_at(reader)->epoch_seen, atomic_load(&arena.head->epoch));
    assert_int_equal(prologue_held(&w, s), 1);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_spoilt_items),
        TEST(test_newest_of_each_kind),
        TEST(test_several_tracks_in_one),
        TEST(test_readers_keep_what_they_saw),
        TEST(test_forgotten),
        TEST(test_too_large),
        TEST(test_too_many),
        TEST(test_metadata_of_a_track),
        TEST(test_a_burst_then_so_many_a_second),
        TEST(test_metadata_leaves_headers_their_share),
        TEST(test_old_ones_are_held_until_they_are_free),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
