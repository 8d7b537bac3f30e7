/*
 * How players start: waiting for the stream, what they get first, where.
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

#include "viewer.h"

static struct wire wire;
static struct author author;

static int
setup(void **state)
{
    (void)state;
    fixture_hub();
    wire_open(&wire, 0);
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

static void
write_head(void)
{
    write_frame(&author, META, 0, 80);
    write_frame(&author, VIDEO_HEADER, 0, 40);
    write_frame(&author, SOUND_HEADER, 0, 10);
}

/* What every player gets before its first frame. */
static void
expect_head(struct wire *at)
{
    uint8_t flags[3];

    for (int i = 0; i < 3; i++) {
        struct message m;

        assert_true(wire_next(at, &m));
        flags[i] = m.type;
        mem_free(&m.payload);
    }
    assert_int_equal(flags[0], MEDIA_DATA);
    assert_int_equal(flags[1] + flags[2], MEDIA_AUDIO + MEDIA_VIDEO);
}

static void
test_waits_for_the_publisher(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    wire_settle(&wire);
    assert_int_equal(v->starts, 0);
    assert_false(v->p->started);
    publish(&author, "live/b");
    write_head();
    write_frame(&author, KEY, 0, 100);
    wire_settle(&wire);
    live_unpublish(&author.p);
    assert_int_equal(v->starts, 0);
    publish(&author, "live/a");
    assert_int_equal(author.starts, 1);
    write_head();
    write_frame(&author, INTER, 0, 100);
    wire_settle(&wire);
    expect_nothing(&wire);
    write_frame(&author, KEY, 40, 9000);
    wire_settle(&wire);
    assert_int_equal(v->starts, 1);
    expect_head(&wire);
    expect(&wire, KEY, 40, 9000);
    write_frame(&author, SOUND, 60, 50);
    write_frame(&author, INTER, 80, 5000);
    wire_settle(&wire);
    expect(&wire, SOUND, 60, 50);
    expect(&wire, INTER, 80, 5000);
    expect_nothing(&wire);
    assert_int_equal(v->starts, 1);
}

/* A player that is a publisher elsewhere says what its metadata are for. */
static void
test_metadata_of_a_publisher_elsewhere(void **state)
{
    struct live_play what = viewer_play(&wire, "live/a");
    struct message m;

    (void)state;
    what.set_data_frame = true;
    what.stream_id = 5;
    publish(&author, "live/a");
    write_head();
    write_frame(&author, KEY, 0, 100);
    watch_as(&wire, 0, &what);
    wire_settle(&wire);
    assert_true(wire_next(&wire, &m));
    assert_int_equal(m.type, MEDIA_DATA);
    assert_int_equal(m.stream_id, 5);
    assert_int_equal(m.len, 80 + 16);
    assert_memory_equal(m.payload,
                        "\x02\x00\x0d@setDataFrame\x02\x00\x0aonMetaData", 29);
    mem_free(&m.payload);
}

/* Codec headers have the time of the frame behind them, metadata has 0. */
static void
test_prologue_has_the_first_frames_time(void **state)
{
    struct message m;

    (void)state;
    publish(&author, "live/a");
    write_head();
    write_frame(&author, KEY, 0x1234567, 100);
    watch(&wire, "live/a");
    wire_settle(&wire);
    for (int i = 0; i < 4; i++) {
        assert_true(wire_next(&wire, &m));
        assert_int_equal(m.timestamp, m.type == MEDIA_DATA ? 0 : 0x1234567);
        assert_int_equal(m.stream_id, 1);
        mem_free(&m.payload);
    }
    expect_nothing(&wire);
}

static void
test_starts_at_the_last_key_frame(void **state)
{
    (void)state;
    publish(&author, "live/a");
    write_head();
    for (uint32_t i = 0; i < 50; i++) {
        write_frame(&author, i % 20 == 0 ? KEY : INTER, i * 40, 300);
    }
    watch(&wire, "live/a");
    wire_settle(&wire);
    expect_head(&wire);
    expect(&wire, KEY, 40 * 40, 300);
    for (uint32_t i = 41; i < 50; i++) {
        expect(&wire, INTER, i * 40, 300);
    }
    expect_nothing(&wire);
}

/* Frames that come at once, before the player is looked at. */
static void
write_group(uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        write_frame(&author, i % 20 == 0 ? KEY : INTER, i * 40, 300);
    }
}

static void
expect_group(uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++) {
        expect(&wire, i % 20 == 0 ? KEY : INTER, i * 40, 300);
    }
    expect_nothing(&wire);
}

static void
test_who_waited_starts_at_the_first(void **state)
{
    (void)state;
    watch(&wire, "live/a");
    publish(&author, "live/a");
    write_head();
    write_group(0, 50);
    wire_settle(&wire);
    expect_head(&wire);
    expect_group(0, 50);
}

/* The publisher has left before anybody looked. */
static void
test_who_waited_gets_what_is_on_hold(void **state)
{
    (void)state;
    watch(&wire, "live/a");
    publish(&author, "live/a");
    write_head();
    write_group(0, 50);
    live_unpublish(&author.p);
    wire_settle(&wire);
    expect_head(&wire);
    expect_group(0, 50);
}

/* Who comes to a stream on hold gets nothing of its last publisher, and all of
 * the next one. */
static void
test_who_came_on_hold_waits(void **state)
{
    struct viewer *v;

    (void)state;
    publish(&author, "live/a");
    write_head();
    write_group(0, 50);
    live_unpublish(&author.p);
    v = watch(&wire, "live/a");
    wire_settle(&wire);
    expect_nothing(&wire);
    assert_int_equal(v->starts, 0);
    publish(&author, "live/a");
    write_head();
    write_frame(&author, KEY, 0, 300);
    write_frame(&author, KEY, 40, 300);
    live_unpublish(&author.p);
    wire_settle(&wire);
    expect_head(&wire);
    for (int i = 0; i < 2; i++) {
        struct message m;

        assert_true(wire_next(&wire, &m));
        assert_int_equal(m.len, 300);
        mem_free(&m.payload);
    }
    expect_nothing(&wire);
}

/* On the way to its first key frame, or on hold, a stream has no start. */
static void
test_who_came_before_the_first_key_frame(void **state)
{
    (void)state;
    publish(&author, "live/a");
    write_head();
    watch(&wire, "live/a");
    write_group(0, 50);
    wire_settle(&wire);
    expect_head(&wire);
    expect_group(0, 50);
}

/* Codec headers of these lengths. */
static void
expect_head_of(uint32_t video, uint32_t sound)
{
    for (int i = 0; i < 3; i++) {
        struct message m;

        assert_true(wire_next(&wire, &m));
        assert_int_equal(m.len, m.type == MEDIA_DATA    ? 80
                                : m.type == MEDIA_VIDEO ? video
                                                        : sound);
        mem_free(&m.payload);
    }
}

/* Behind the codec header in force: earlier frames need another. */
static void
test_who_waited_starts_behind_the_codec_header(void **state)
{
    (void)state;
    watch(&wire, "live/a");
    publish(&author, "live/a");
    write_head();
    write_group(0, 20);
    write_frame(&author, VIDEO_HEADER, 800, 60);
    write_group(20, 45);
    wire_settle(&wire);
    expect_head_of(60, 10);
    expect_group(20, 45);
}

/* The same for sound. */
static void
test_who_waited_starts_behind_the_header_of_sound(void **state)
{
    (void)state;
    watch(&wire, "live/a");
    publish(&author, "live/a");
    write_head();
    write_group(0, 20);
    write_frame(&author, SOUND_HEADER, 800, 11);
    write_group(15, 5);
    wire_settle(&wire);
    expect_nothing(&wire);
    write_group(20, 45);
    wire_settle(&wire);
    expect_head_of(40, 11);
    expect_group(20, 45);
}

static void
write_sound(uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        write_frame(&author, SOUND, i * 20, 60);
    }
}

/* That no picture comes is known when the grace is over; who waited gets what
 * came until then. */
static void
test_who_waited_for_sound_alone(void **state)
{
    struct message m;
    struct wire later;

    (void)state;
    wire_open(&later, 0);
    watch(&wire, "live/a");
    publish(&author, "live/a");
    write_frame(&author, SOUND_HEADER, 0, 10);
    write_sound(0, 20);
    wire_settle(&wire);
    expect_nothing(&wire);
    watch(&later, "live/a"); /* in the midst of it */
    write_sound(20, 40);
    wire_settle(&wire);
    wire_settle(&later);
    assert_true(wire_next(&wire, &m));
    assert_int_equal(m.len, 10);
    mem_free(&m.payload);
    assert_true(wire_next(&later, &m));
    assert_int_equal(m.len, 10);
    mem_free(&m.payload);
    for (uint32_t i = 0; i < 40; i++) {
        expect(&wire, SOUND, i * 20, 60);
        if (i >= 20) {
            expect(&later, SOUND, i * 20, 60);
        }
    }
    expect_nothing(&wire);
    expect_nothing(&later);
    wire_close(&later);
}

/* It asked for silence: it goes on with what is new. */
static void
test_who_paused_starts_at_the_last(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    live_player_pause(v->p, true);
    publish(&author, "live/a");
    write_head();
    write_group(0, 50);
    wire_settle(&wire);
    expect_nothing(&wire);
    live_player_pause(v->p, false);
    wire_settle(&wire);
    expect_head(&wire);
    expect_group(40, 10);
}

/* It goes on before there is anything: it has waited for all of it. */
static void
test_who_paused_before_all_starts_at_the_first(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    live_player_pause(v->p, true);
    live_player_pause(v->p, false);
    publish(&author, "live/a");
    wire_settle(&wire);
    live_player_pause(v->p, true);
    live_player_pause(v->p, false);
    write_head();
    write_group(0, 50);
    live_player_pause(v->p, false); /* says nothing new */
    wire_settle(&wire);
    expect_head(&wire);
    expect_group(0, 50);
}

static void
test_without_gop_cache_at_the_next(void **state)
{
    struct live_play what = viewer_play(&wire, "live/a");

    (void)state;
    what.gop_cache = false;
    publish(&author, "live/a");
    write_head();
    write_frame(&author, KEY, 0, 300);
    watch_as(&wire, 0, &what);
    write_frame(&author, INTER, 40, 300);
    wire_settle(&wire);
    expect_nothing(&wire);
    write_frame(&author, KEY, 80, 300);
    wire_settle(&wire);
    expect_head(&wire);
    expect(&wire, KEY, 80, 300);
    expect_nothing(&wire);
}

/* Neither headers nor pictures; both with the key frame behind the wish. */
static void
test_picture_switched_off_before_the_start(void **state)
{
    struct viewer *v = watch(&wire, "live/a");
    struct message m;

    (void)state;
    live_player_receive(v->p, MEDIA_VIDEO, false);
    publish(&author, "live/a");
    write_head();
    write_frame(&author, KEY, 0, 300);
    write_frame(&author, SOUND, 20, 60);
    wire_settle(&wire);
    for (int i = 0; i < 2; i++) {
        assert_true(wire_next(&wire, &m));
        assert_int_equal(m.type, i == 0 ? MEDIA_DATA : MEDIA_AUDIO);
        mem_free(&m.payload);
    }
    expect(&wire, SOUND, 20, 60);
    live_player_receive(v->p, MEDIA_VIDEO, true);
    write_frame(&author, INTER, 40, 300);
    write_frame(&author, KEY, 80, 300);
    wire_settle(&wire);
    for (int i = 0; i < 2; i++) {
        assert_true(wire_next(&wire, &m));
        assert_int_equal(m.timestamp, 80);
        assert_int_equal(m.len, m.type == MEDIA_VIDEO ? 40 : 10);
        mem_free(&m.payload);
    }
    expect(&wire, KEY, 80, 300);
    expect_nothing(&wire);
}

static void
test_flv(void **state)
{
    static const uint8_t header[] = { 'F', 'L', 'V', 1, 5, 0, 0,
                                      0,   9,   0,   0, 0, 0 };
    struct live_play what = viewer_play(&wire, "live/a");
    const uint8_t *got;
    size_t at = sizeof(header);
    static const uint8_t types[] = { 18, 9, 8, 9, 8 };
    static const size_t lens[] = { 80, 40, 10, 70000, 30 };

    (void)state;
    what.framing = LIVE_FLV;
    publish(&author, "live/a");
    write_head();
    write_frame(&author, KEY, 0x1020304, 70000);
    watch_as(&wire, 0, &what);
    write_frame(&author, SOUND, 0x1020304, 30);
    wire_settle(&wire);
    got = buf_data(&wire.got);
    assert_memory_equal(got, header, sizeof(header));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(got[at], types[i]);
        assert_int_equal(got[at + 1] << 16 | got[at + 2] << 8 | got[at + 3],
                         lens[i]);
        assert_memory_equal(got + at + 4,
                            i == 0 ? "\0\0\0\0\0\0\0" : "\2\3\4\1\0\0\0", 7);
        at += 11 + lens[i] + 4;
    }
    assert_int_equal(buf_len(&wire.got), at);
}

static void
test_another_stream_id(void **state)
{
    struct live_play what = viewer_play(&wire, "live/a");
    struct message m;

    (void)state;
    what.stream_id = 5;
    publish(&author, "live/a");
    write_head();
    for (uint32_t i = 0; i < 100; i++) {
        write_frame(&author, i == 0 ? KEY : INTER, i, 5000);
    }
    watch_as(&wire, 0, &what);
    wire_settle(&wire);
    for (int i = 0; i < 103; i++) {
        assert_true(wire_next(&wire, &m));
        assert_int_equal(m.stream_id, 5);
        mem_free(&m.payload);
    }
    expect_nothing(&wire);
}

static void
test_leaving_in_on_start(void **state)
{
    struct wire others[2];
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    v->at_start = LEAVE;
    for (int i = 0; i < 2; i++) {
        wire_open(&others[i], 0);
        watch(&others[i], "live/a")->at_start = i == 0 ? CLOSE : GO_ON;
    }
    publish(&author, "live/a");
    write_head();
    write_frame(&author, KEY, 0, 100);
    wire_settle(&wire);
    wire_settle(&others[1]);
    expect_nothing(&wire);
    assert_null(others[0].conn);
    expect_head(&others[1]);
    expect(&others[1], KEY, 0, 100);
    assert_int_equal(v->stops, 0);
    wire_close(&others[0]);
    wire_close(&others[1]);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_waits_for_the_publisher),
        TEST(test_metadata_of_a_publisher_elsewhere),
        TEST(test_prologue_has_the_first_frames_time),
        TEST(test_starts_at_the_last_key_frame),
        TEST(test_who_waited_starts_at_the_first),
        TEST(test_who_waited_gets_what_is_on_hold),
        TEST(test_who_came_on_hold_waits),
        TEST(test_who_came_before_the_first_key_frame),
        TEST(test_who_waited_starts_behind_the_codec_header),
        TEST(test_who_waited_starts_behind_the_header_of_sound),
        TEST(test_who_waited_for_sound_alone),
        TEST(test_who_paused_starts_at_the_last),
        TEST(test_who_paused_before_all_starts_at_the_first),
        TEST(test_without_gop_cache_at_the_next),
        TEST(test_picture_switched_off_before_the_start),
        TEST(test_flv),
        TEST(test_another_stream_id),
        TEST(test_leaving_in_on_start),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
