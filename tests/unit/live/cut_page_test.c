/*
 * Cuts over sessions, runs and killed writers.
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

/* ---- publishers ---- */

static void
come_back(void)
{
    struct live_publish what = fixture_publish("live/a");

    assert_int_equal(stream_claim(&what, &s), STREAM_YOURS);
    writer_start(&w, s);
}

static void
test_publisher_returns(void **state)
{
    struct publishing p = { true, true, 0, 9900, 25, 2000 };
    struct live_cuts before, c;
    struct live_cut cut, last;

    (void)state;
    publish(p);
    before = find();
    assert_true(live_cut_at(&before, before.end - 1, &last));
    stream_leave(s);
    c = find();
    assert_true(!c.live && !c.over && c.hold_left > 5000);
    come_back();
    header_of_pictures(0);
    header_of_sound(0);
    append(&w, SOUND, 1000, 20); /* of nothing yet */
    c = find();
    assert_int_equal(c.end_frame, before.end_frame);
    p.from = 1000;
    p.to = 9000;
    publish(p);
    c = find();
    check_all(&c);
    assert_int_equal(c.word, before.word);
    assert_int_equal(c.older_word, 0);
    assert_int_equal(c.target, 2000);
    assert_int_equal(cut_count(&c, LIVE_CUT_DISCONTINUITY), 1);
    assert_true(live_cut_at(&c, before.end, &cut));
    assert_true((cut.flags & LIVE_CUT_DISCONTINUITY) != 0);
    assert_int_equal(cut.segment, last.segment + 1);
    assert_int_equal(cut.header, last.header);
    assert_int_equal(cut.ended_frame, before.end_frame);
    assert_true(cut.frame > cut.ended_frame);
    assert_true(cut.ended < cut.time);
}

static void
test_return_after_the_hold(void **state)
{
    struct publishing p = { true, true, 0, 9900, 25, 2000 };
    struct live_cuts before, c;
    struct live_cut first, cut;

    (void)state;
    publish(p);
    stream_leave(s);
    atomic_store(&s->hold_until, clock_ms() - 1);
    before = find();
    assert_true(before.over);
    come_back();
    c = find();
    assert_int_equal(c.target, 0);
    assert_int_equal(c.older_word, before.word);
    assert_true(c.word != before.word);
    publish(p);
    c = find();
    assert_int_equal(c.target, 2000);
    assert_int_equal(c.run, before.end);
    assert_int_equal(c.first, before.first);
    assert_true(live_cut_at(&c, before.end - 1, &cut));
    assert_true(live_cut_at(&c, c.run, &first));
    assert_int_equal(first.segment, cut.segment + 1);
}

/* Numbers never come again, not even in a stream made anew. */
static void
test_numbers_go_on(void **state)
{
    struct publishing p = { true, true, 0, 9900, 25, 2000 };
    struct live_cuts c;
    struct live_cut cut, newest;
    uint32_t n = stream_number(s);

    (void)state;
    publish(p);
    c = find();
    assert_true(live_cut_at(&c, c.end - 1, &newest));
    stream_leave(s);
    atomic_store(&arena.keys[n], 0); /* as if it had ended */
    open_stream();
    publish(p);
    c = find();
    assert_true(live_cut_at(&c, c.first, &cut));
    assert_true(cut.segment > newest.segment);
}

/* A writer is killed at any moment: what it had written so far stands. */
static void
test_killed_between_two_stores(void **state)
{
    struct publishing p = { true, true, 0, 9900, 25, 2000 };
    struct cut_page *page, *copy = mem_alloc(sizeof(*copy));

    (void)state;
    publish(p);
    page = cut_page_of(s);
    for (unsigned kind = 0; kind < 3; kind++) {
        struct live_cuts c, before = find();

        memcpy(copy, page, sizeof(*copy));
        append(&w, KEY, 10000 + kind * 100, 100);
        stream_leave(s);
        /* The frame is there; of the cut nothing, an entry, a set. */
        atomic_store(&page->next, atomic_load(&copy->next));
        if (kind == 0) {
            memcpy(page, copy, sizeof(*copy));
        } else if (kind == 1) {
            atomic_store(&page->sets[3].number, 0);
        }
        come_back();
        publish((struct publishing){ true, true, 0, 9900, 25, 2000 });
        c = find();
        check_all(&c);
        assert_int_equal(c.word, before.word);
    }
    mem_free(&copy);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_publisher_returns),
        TEST(test_return_after_the_hold),
        TEST(test_numbers_go_on),
        TEST(test_killed_between_two_stores),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
