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
