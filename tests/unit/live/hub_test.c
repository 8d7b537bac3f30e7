/*
 * The hub: when frames are released, taking part in giving memory back,
 * being woken by another process.
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

#include <signal.h>
#include <sys/wait.h>

#include "viewer.h"

static struct wire wire;
static struct author author;

static int
setup(void **state)
{
    (void)state;
    fixture_hub();
    wire_open(&wire, 0);
    author = (struct author){ 0 };
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    wire_close(&wire);
    live_unpublish(&author.p);
    fixture_turns(2);
    fixture_hub_end();
    return 0;
}

/* A player with that gathering that has all there is, pictures each 40 ms. */
static struct viewer *
watch_gathering(int64_t gather)
{
    struct live_play what = viewer_play(&wire, "live/a");
    struct viewer *v;

    what.gather = gather;
    publish(&author, "live/a");
    for (uint32_t i = 0; i < 5; i++) {
        write_frame(&author, i == 0 ? KEY : INTER, i * 40, 100);
    }
    v = watch_as(&wire, 0, &what);
    wire_settle(&wire);
    assert_int_equal(v->starts, 1);
    buf_clear(&wire.got);
    return v;
}

static bool
until_bytes(size_t n)
{
    int64_t end = clock_ms() + 1000000;

    while (buf_len(&wire.got) < n && clock_ms() < end) {
        loop_turn(fixture_loop, 10);
        wire_read(&wire, SIZE_MAX);
    }
    return buf_len(&wire.got) >= n;
}

/* Sound waits for its picture, and both go in one send. */
static void
test_sound_rides_with_the_picture(void **state)
{
    struct viewer *v = watch_gathering(LIVE_GATHER_AUTO);
    struct stream *s = v->p->hs->stream;

    (void)state;
    write_frame(&author, SOUND, 165, 50);
    frame_at(s, atomic_load(&s->tail) - 1)->arrived_ms += 100000;
    fixture_turns(3);
    wire_read(&wire, SIZE_MAX);
    expect_nothing(&wire);
    frame_at(s, atomic_load(&s->tail) - 1)->arrived_ms -= 100000;
    write_frame(&author, INTER, 200, 100);
    fixture_turns(2);
    wire_read(&wire, SIZE_MAX);
    expect(&wire, SOUND, 165, 50);
    expect(&wire, INTER, 200, 100);
}

/* No picture comes: it goes without. */
static void
test_sound_does_not_wait_for_ever(void **state)
{
    (void)state;
    watch_gathering(LIVE_GATHER_AUTO);
    write_frame(&author, SOUND, 165, 50);
    assert_true(until_bytes(62));
    expect(&wire, SOUND, 165, 50);
}

/* Longer than the distance of pictures: they wait as well. */
static void
test_gathers_pictures(void **state)
{
    struct viewer *v = watch_gathering(60);

    (void)state;
    v->p->hs->released_ms += 100000;
    write_frame(&author, INTER, 200, 100);
    fixture_turns(3);
    wire_read(&wire, SIZE_MAX);
    expect_nothing(&wire);
    v->p->hs->released_ms -= 100000 + 70;
    write_frame(&author, SOUND, 200, 50);
    fixture_turns(2);
    wire_read(&wire, SIZE_MAX);
    expect(&wire, INTER, 200, 100);
    expect(&wire, SOUND, 200, 50);
}

static void
test_zero_gathers_nothing(void **state)
{
    (void)state;
    watch_gathering(0);
    write_frame(&author, SOUND, 165, 50);
    fixture_turns(2);
    wire_read(&wire, SIZE_MAX);
    expect(&wire, SOUND, 165, 50);
}

/* A start is not held back by gathering. */
static void
test_start_does_not_wait(void **state)
{
    struct live_play what = viewer_play(&wire, "live/a");
    struct wire other;

    (void)state;
    watch_gathering(10000);
    wire_open(&other, 0);
    what.conn = other.conn;
    what.gather = 10000;
    write_frame(&author, INTER, 200, 100);
    watch_as(&other, 0, &what);
    fixture_turns(4);
    wire_read(&other, SIZE_MAX);
    for (uint32_t i = 0; i < 6; i++) {
        expect(&other, i == 0 ? KEY : INTER, i * 40, 100);
    }
    wire_close(&other);
}

/* ---- quiescence ---- */

static uint64_t seen_inside;

static void
look_inside(struct timer *t)
{
    (void)t;
    seen_inside = atomic_load(&slot_at(slot_self())->epoch_seen);
}

static void
test_epochs_are_passed(void **state)
{
    struct slot *self = slot_at(slot_self());
    struct timer timer;
    uint64_t turns = atomic_load(&self->turns);

    (void)state;
    timer_init(&timer, look_inside);
    timer_set(fixture_loop, &timer, 0);
    epoch_advance();
    epoch_advance();
    assert_true(epoch_oldest() < atomic_load(&arena.head->epoch));
    while (timer_is_set(&timer)) {
        loop_turn(fixture_loop, 1);
    }
    assert_int_equal(seen_inside, atomic_load(&arena.head->epoch));
    assert_int_equal(epoch_oldest(), seen_inside);
    assert_true(atomic_load(&self->turns) > turns);
}

/* What a segment held is not written over in the turn it was retired in. */
static void
test_own_turn_holds_back_its_own_segments(void **state)
{
    uint32_t segment;
    int taken = 0;

    (void)state;
    for (int i = 0; i < 10; i++) {
        segment = segment_take(7);
        segment_retire(segment, 7);
        assert_int_not_equal(segment_take(7), segment);
    }
    while (segment_take(7) != SEGMENT_NONE) {
        taken++;
    }
    fixture_turns(1);
    assert_int_not_equal(segment_take(7), SEGMENT_NONE);
    assert_true(taken > 0);
}

/* ---- another process ---- */

/* Another process publishes live/b while this one looks at live/a: where it
 * has looked already, and before it says that it sleeps. */
static void
publish_elsewhere(void *arg, uint32_t chunk_size)
{
    uint32_t self = slot_self();
    uint32_t other = (uint32_t)slot_take(SLOT_WORKER, "writer", 1, 0);
    struct stream *s;
    struct writer w;

    slot_set_self(other);
    s = fixture_stream("live/b");
    writer_start(&w, s);
    append(&w, KEY, 0, 100);
    wake_slot(self, stream_number(s));
    slot_set_self(self);
    viewer_on_start(arg, chunk_size);
}

static void
note_due(struct timer *t)
{
    timer_init(t, NULL);
}

static void
test_what_comes_before_it_sleeps_is_seen(void **state)
{
    struct live_player_handlers handlers = viewer_handlers;
    struct live_play what = viewer_play(&wire, "live/a");
    struct viewer *a = &wire.viewers[0], *b;
    struct timer slept;
    struct wire other;
    struct errmsg err;

    (void)state;
    wire_open(&other, 0);
    b = watch(&other, "live/b");
    handlers.on_start = publish_elsewhere;
    a->p = live_play(&what, &handlers, a, &err);
    assert_non_null(a->p);
    fixture_turns(4);
    publish(&author, "live/a");
    write_frame(&author, KEY, 0, 100);
    timer_init(&slept, note_due);
    timer_set(fixture_loop, &slept, 20000);
    while (b->starts == 0 && slept.on_due != NULL) {
        loop_turn(fixture_loop, -1);
    }
    assert_int_equal(a->starts, 1);
    assert_non_null(slept.on_due); /* else it slept until then */
    timer_stop(fixture_loop, &slept);
    wire_close(&other);
}

#define FRAMES 3000u
#define NO_WAKE_MS 100000 /* what a lost wake costs */

static void
write_and_wait(uint32_t slot, int64_t until)
{
    struct stream *s;
    struct writer w;

    slot_set_self(slot);
    s = fixture_stream("live/b");
    writer_start(&w, s);
    wake_slot(1, stream_number(s));
    for (uint32_t i = 0; i < FRAMES && clock_ms() < until; i++) {
        append(&w, i % 10 == 0 ? KEY : INTER, i, i * 31 % 700);
        if (i % 7 != 0) {
            usleep(i * 13 % 300);
        }
    }
}

/* Nobody but the writer wakes the player's process: none of the frames may
 * lie until the next one comes. */
static void
test_sleeps_and_is_woken(void **state)
{
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "writer", 1, 0), got = 0;
    int64_t end = clock_ms() + 2 * NO_WAKE_MS;
    struct message m;
    pid_t pid;

    (void)state;
    watch(&wire, "live/b");
    pid = fork();
    if (pid == 0) {
        write_and_wait(slot, end);
        _exit(0);
    }
    while (got < FRAMES && clock_ms() < end) {
        loop_turn(fixture_loop, NO_WAKE_MS); /* is woken, */
        loop_turn(fixture_loop, 0);          /* and sends */
        wire_read(&wire, SIZE_MAX);
        while (wire_next(&wire, &m)) {
            got = m.timestamp + 1;
            mem_free(&m.payload);
        }
    }
    assert_int_equal(got, FRAMES);
    assert_true(clock_ms() < end - NO_WAKE_MS); /* no sleep was a lost wake */
    waitpid(pid, NULL, 0);
}

/* ---- the end ---- */

/* Sessions that were not closed before the hub stops. */
static void
test_stops_with_players_left(void **state)
{
    struct wire other;
    struct viewer *a, *b;
    struct errmsg err;

    (void)state;
    wire_open(&other, 0);
    a = watch(&wire, "live/a");
    b = watch(&other, "live/none");
    publish(&author, "live/a");
    write_frame(&author, KEY, 0, 100);
    wire_settle(&wire);
    live_unpublish(&author.p);
    live_hub_stop();
    assert_true(a->p->stopped && b->p->stopped);
    assert_int_equal(live_hub_start(fixture_loop, &arena.settings, &err), 0);
    live_stop_playing(&a->p);
    wire_close(&other);
}

static bool
note_stream(void *arg, const struct live_stream_view *v)
{
    *(struct live_stream_view *)arg = *v;
    return false;
}

static void
test_views(void **state)
{
    struct live_stream_view view = { 0 };

    (void)state;
    watch_gathering(0);
    write_frame(&author, SOUND, 165, 50);
    live_each_stream(note_stream, &view);
    assert_string_equal(view.name, "live/a");
    assert_true(view.live);
    assert_int_equal(view.frames, 6);
    assert_int_equal(view.bytes, 550);
    assert_int_equal(view.players, 1);
    assert_int_equal(view.video_codec, CODEC_H264);
    assert_int_equal(view.memory, segments_in_use() * SEGMENT_SIZE);
    assert_true(live_is_live(STR("live/a")));
    live_unpublish(&author.p);
    live_each_stream(note_stream, &view);
    assert_false(view.live);
    assert_false(live_is_live(STR("live/a")));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_sound_rides_with_the_picture),
        TEST(test_sound_does_not_wait_for_ever),
        TEST(test_gathers_pictures),
        TEST(test_zero_gathers_nothing),
        TEST(test_start_does_not_wait),
        TEST(test_epochs_are_passed),
        TEST(test_own_turn_holds_back_its_own_segments),
        TEST(test_what_comes_before_it_sleeps_is_seen),
        TEST(test_sleeps_and_is_woken),
        TEST(test_stops_with_players_left),
        TEST(test_views),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
