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
#include "live/prologue.h"

static struct stream *s;

static int
setup(void **state)
{
    (void)state;
    fixture_arena();
    s = fixture_stream("live/a");
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

    return prologue_put(s, type, info, payload);
}

static bool
has(enum media_type type, uint8_t track, struct str payload)
{
    const struct prologue *p = prologue_of(s);

    for (uint32_t i = 0; p != NULL && i < p->count; i++) {
        const struct prologue_item *item = &p->items[i];

        if (item->type == type && item->track == track &&
            str_eq(str_of(p->bytes + item->offset, item->len), payload)) {
            return true;
        }
    }
    return false;
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
        put(MEDIA_VIDEO, MEDIA_HEADER, 0, str_of(&i, sizeof(i)));
    }
    assert_int_equal(seen->count, 1);
    assert_memory_equal(seen->bytes, "first", 5);
}

static void
test_forgotten(void **state)
{
    (void)state;
    put(MEDIA_VIDEO, MEDIA_HEADER, 0, STR("video"));
    prologue_forget(s);
    assert_null(prologue_of(s));
    assert_int_equal(segments_in_use(), 0);
    prologue_forget(s);
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
    assert_int_equal(put(MEDIA_AUDIO, MEDIA_HEADER, 200, STR("x")),
                     PROLOGUE_FULL);
    assert_int_equal(put(MEDIA_AUDIO, MEDIA_HEADER, 3, STR("y")),
                     PROLOGUE_CHANGED);
    assert_true(has(MEDIA_AUDIO, 3, STR("y")));
    assert_int_equal(prologue_of(s)->count, PROLOGUE_ITEMS);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_newest_of_each_kind),
        TEST(test_readers_keep_what_they_saw),
        TEST(test_forgotten),
        TEST(test_too_large),
        TEST(test_too_many),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
