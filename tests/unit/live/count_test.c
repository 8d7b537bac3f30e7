/*
 * What sessions count: payloads of whole messages, whichever way they went.
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
    wire_open(&wire, 4608);
    publish(&author, "live/a");
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
assert_counted(const struct session_record *r, uint64_t video, uint64_t audio)
{
    struct live_session_view v;

    assert_true(record_view(r, &v));
    assert_int_equal(v.video_bytes, video);
    assert_int_equal(v.audio_bytes, audio);
}

static void
assert_sent(const struct viewer *v, uint64_t video, uint64_t audio)
{
    assert_counted(v->p->record, video, audio);
}

static void
test_headers_at_the_start(void **state)
{
    struct viewer *v;

    (void)state;
    write_frame(&author, META, 0, 200);
    write_frame(&author, VIDEO_HEADER, 0, 40);
    write_frame(&author, SOUND_HEADER, 0, 7);
    write_frame(&author, KEY, 0, 100);
    write_frame(&author, SOUND, 0, 30);
    v = watch(&wire, "live/a");
    wire_settle(&wire);
    assert_sent(v, 140, 37);
    assert_counted(publisher_record(author.p), 140, 37);
    assert_int_equal(atomic_load(&v->p->hs->stream->meter.video), 140);
}

/* A frame is counted when all of it is out. */
static void
test_halves(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    write_frame(&author, KEY, 0, 100000);
    fixture_turns(5);
    assert_true(player_mid_frame(v->p));
    assert_sent(v, 0, 0);
    wire_settle(&wire);
    assert_sent(v, 100000, 0);
}

/* Also one whose rest was saved because it was about to go. */
static void
test_saved_rest(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    write_frame(&author, KEY, 0, 100000);
    fixture_turns(5);
    age_frames(v->p->hs->stream, 6500);
    v->p->hs->stalls_checked_ms = 0;
    write_frame(&author, INTER, 40, 10);
    fixture_turns(3);
    assert_non_null(v->p->rest);
    wire_settle(&wire);
    assert_null(v->p->rest);
    assert_sent(v, 100000 + 10, 0);
}

/* Also one that is finished because the player wants no more of its kind. */
static void
test_finished_at_once(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    write_frame(&author, KEY, 0, 100000);
    fixture_turns(5);
    live_player_receive(v->p, MEDIA_VIDEO, false);
    assert_sent(v, 100000, 0);
    write_frame(&author, INTER, 40, 300);
    write_frame(&author, SOUND, 40, 30);
    wire_settle(&wire);
    assert_sent(v, 100000, 30);
    assert_counted(publisher_record(author.p), 100300, 30);
}

/* What finds no memory was transferred all the same. */
static void
test_no_memory(void **state)
{
    (void)state;
    write_frame(&author, KEY, 0, 100);
    write_frame(&author, INTER, 40, 3 * 1024 * 1024);
    write_frame(&author, INTER, 80, 100);
    assert_counted(publisher_record(author.p), 3 * 1024 * 1024 + 200, 0);
    assert_int_equal(atomic_load(&stream_find(STR("live/a"))->dropped), 2);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_headers_at_the_start),
        TEST(test_halves),
        TEST(test_saved_rest),
        TEST(test_finished_at_once),
        TEST(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
