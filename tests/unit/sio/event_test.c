/*
 * Events both ways: binary, acks, rooms, keys.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "hearing.h"

/* ---- events ---- */

static void
events_reach_their_handlers(void **state)
{
    struct fake *f = join();

    (void)state;
    fake_say(f, "2[\"message\",1,\"two\",{\"three\":[]}]");
    assert_string_equal(fake_next(f), "42[\"back\",1,\"two\",{\"three\":[]}]");
    fake_say(f, "27[\"message\",\"x\"]");
    assert_string_equal(fake_next(f), "437[\"x\"]");
    fake_say(f, "28[\"message\"]");
    assert_string_equal(fake_next(f), "438[]");
    fake_say(f, "29[\"unknown\"]"); /* nobody answers */
    fake_say(f, "31[1]");           /* nobody asked */
    assert_string_equal(fake_next(f), "");
    assert_string_equal(take_heard(), "message;message;message;");
    fake_say(f, "0/any,");
    fake_forget(f);
    fake_say(f, "2/any,[\"what\",1]");
    fake_say(f, "2/any,[5]");
    assert_string_equal(fake_next(f), "42/any,[\"back\",1]");
    assert_string_equal(fake_next(f), "42/any,[\"back\"]");
    assert_string_equal(take_heard(), "what;5;");
    assert_true(f->open);
    fake_free(&f);
}

static void
binary_comes_and_goes(void **state)
{
    struct fake *f = join();

    (void)state;
    fake_say(f, "52-[\"message\",{\"_placeholder\":true,\"num\":0},"
                "{\"_placeholder\":true,\"num\":1}]");
    assert_string_equal(take_heard(), "");
    assert_true(point.halls->incoming > 0);
    fake_say_bytes(f, "one");
    assert_string_equal(take_heard(), "");
    fake_say_bytes(f, "");
    assert_string_equal(take_heard(), "message;");
    assert_int_equal(point.halls->incoming, 0);
    assert_string_equal(fake_next(f),
                        "452-[\"back\",{\"_placeholder\":true,\"num\":0},"
                        "{\"_placeholder\":true,\"num\":1}]");
    assert_string_equal(fake_next(f), "b:one");
    assert_string_equal(fake_next(f), "b:");
    fake_say(f, "51-4[\"message\",{\"_placeholder\":true,\"num\":0}]");
    fake_say_bytes(f, "x");
    assert_string_equal(fake_next(f),
                        "461-4[{\"_placeholder\":true,\"num\":0}]");
    assert_string_equal(fake_next(f), "b:x");
    fake_say(f, "61-4[{\"_placeholder\":true,\"num\":0}]"); /* ignored */
    fake_say_bytes(f, "x");
    assert_true(f->open);
    fake_free(&f);
    assert_int_equal(point.halls->incoming, 0);
}

static void
binary_out_of_place_ends_it(void **state)
{
    struct fake *f = join();

    (void)state;
    fake_say_bytes(f, "of nothing");
    assert_int_equal(f->why, SESSION_PARSE_ERROR);
    fake_free(&f);
    f = join();
    fake_say(f, "51-[\"message\",{\"_placeholder\":true,\"num\":0}]");
    fake_say(f, "2[\"message\"]");
    assert_int_equal(f->why, SESSION_PARSE_ERROR);
    assert_int_equal(point.halls->incoming, 0);
    fake_free(&f);
    f = join();
    point.settings.connect_timeout = 20;
    fake_say(f, "51-[\"message\",{\"_placeholder\":true,\"num\":0}]");
    for (int i = 0; i < 5000 && f->open; i++) {
        loop_turn(loop, 1);
    }
    assert_int_equal(f->why, SESSION_PARSE_ERROR);
    fake_free(&f);
}

static void
unfinished_packets_have_a_bound(void **state)
{
    struct fake *f = join();

    (void)state;
    fake_say(f, "52-[\"message\",{\"_placeholder\":true,\"num\":0}]");
    fake_say_bytes(f, "one");
    point.halls->incoming += (64 << 20) - 100;
    fake_say_bytes(f, "bytes that are more than the hundred that are left for "
                      "all the clients of this endpoint together at this time");
    assert_int_equal(f->why, SESSION_REFUSED);
    assert_int_equal(point.halls->incoming, (64 << 20) - 100);
    point.halls->incoming = 0;
    fake_free(&f);
}

static void
who_holds_most_makes_room(void **state)
{
    static const char begin[] =
        "52-[\"message\",{\"_placeholder\":true,\"num\":0}]";
    struct fake *greedy = join(), *modest = join();

    (void)state;
    fake_say(greedy, begin);
    fake_say_bytes(greedy, "a hundred bytes that this one holds, which is more "
                           "than what all others of this endpoint hold");
    fake_say(modest, begin);
    point.halls->incoming += ((size_t)64 << 20) - point.halls->incoming - 2;
    fake_say_bytes(modest, "one");
    assert_int_equal(greedy->why, SESSION_REFUSED);
    assert_false(greedy->open);
    assert_true(modest->open);
    fake_say_bytes(modest, "two");
    assert_string_equal(take_heard(), "message;gone forced server close;");
    point.halls->incoming = 0;
    fake_free(&greedy);
    fake_free(&modest);
}

/* ---- acks ---- */

static void
acks_are_given_later(void **state)
{
    struct sio_args args = { .json = STR("1") };
    struct fake *f = join();

    (void)state;
    fake_say(f, "25[\"hold\"]");
    assert_string_equal(fake_next(f), "");
    sio_ack_send(&held, &args);
    assert_string_equal(fake_next(f), "435[1]");
    fake_say(f, "26[\"hold\"]");
    fake_free(&f);
    take_heard();
    sio_ack_send(&held, NULL); /* its client has gone */
    sio_ack_send(&held, NULL);
}

static void
open_acks_have_a_bound(void **state)
{
    struct sio_ack *all[1024];
    struct fake *f = join();

    (void)state;
    for (size_t i = 0; i < 1024; i++) {
        fake_say(f, "25[\"hold\"]");
        all[i] = held;
    }
    assert_true(f->open);
    fake_say(f, "25[\"hold\"]");
    assert_int_equal(f->why, SESSION_TOO_SLOW);
    for (size_t i = 0; i < 1024; i++) {
        sio_ack_send(&all[i], NULL);
    }
    fake_free(&f);
}

/* ---- rooms, keys ---- */

static void
rooms_get_their_events(void **state)
{
    struct sio_message m = { .event = "ev" };
    struct fake *f[3];
    struct sio_socket *s[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        f[i] = join();
        s[i] = last;
    }
    assert_int_equal(sio_join(s[0], STR("a")), 0);
    assert_int_equal(sio_join(s[1], STR("a")), 0);
    assert_int_equal(sio_join(s[1], STR("a")), 0);
    sio_hall_emit(hall("/"), STR("a"), s[0], &m);
    sio_hall_emit(hall("/"), STR("b"), NULL, &m);
    assert_string_equal(fake_next(f[0]), "");
    assert_string_equal(fake_next(f[1]), "42[\"ev\"]");
    assert_string_equal(fake_next(f[1]), "");
    sio_hall_emit(hall("/"), STR_NONE, s[1], &m);
    assert_string_equal(fake_next(f[0]), "42[\"ev\"]");
    assert_string_equal(fake_next(f[1]), "");
    assert_string_equal(fake_next(f[2]), "42[\"ev\"]");
    sio_leave(s[1], STR("a"));
    sio_leave(s[1], STR("a"));
    f[0]->room = 0; /* the last of the room goes while it is told */
    sio_hall_emit(hall("/"), STR("a"), NULL, &m);
    assert_string_equal(fake_next(f[1]), "");
    sio_hall_emit_to(hall("/"), sio_socket_id(s[2]), &m);
    sio_hall_emit_to(hall("/"), STR("01234567890123456789"), &m);
    assert_string_equal(fake_next(f[2]), "42[\"ev\"]");
    for (int i = 0; i < 3; i++) {
        fake_free(&f[i]);
    }
}

static void
rooms_have_bounds(void **state)
{
    struct fake *f = join();
    char name[SIO_NAME_MAX + 1];

    (void)state;
    memset(name, 'x', sizeof(name));
    assert_int_equal(sio_join(last, str_of(name, SIO_NAME_MAX + 1)), -1);
    assert_int_equal(sio_join(last, STR_NONE), -1);
    for (size_t i = 1; i <= SIO_ROOMS_MAX; i++) {
        assert_int_equal(sio_join(last, str_of(name, i)), 0);
    }
    assert_int_equal(sio_join(last, STR("one more")), -1);
    assert_int_equal(sio_join(last, str_of(name, 1)), 0); /* it is there */
    fake_free(&f);
}

static void
keys_name_event_and_key(void **state)
{
    struct sio_message m = { .event = "ev", .key = STR("1") };
    const struct str bytes[] = { STR("x") };
    struct fake *f = join();

    (void)state;
    sio_hall_emit(hall("/"), STR_NONE, NULL, &m);
    sio_socket_emit(last, &m);
    m.key = STR("2");
    sio_hall_emit(hall("/"), STR_NONE, NULL, &m);
    m = (struct sio_message){ .event = "other", .key = STR("1") };
    sio_hall_emit(hall("/"), STR_NONE, NULL, &m);
    m.key = STR_NONE;
    sio_hall_emit(hall("/"), STR_NONE, NULL, &m);
    m.key = STR("1");
    m.args = (struct sio_args){ STR_NONE, bytes, 1 };
    sio_hall_emit(hall("/"), STR_NONE, NULL, &m);
    assert_int_not_equal(f->marks[0].key, 0);
    assert_int_equal(f->marks[0].key, f->marks[1].key);
    assert_int_not_equal(f->marks[2].key, f->marks[0].key);
    assert_int_not_equal(f->marks[3].key, f->marks[0].key);
    assert_int_equal(f->marks[4].key, 0);
    assert_int_equal(f->marks[5].key, 0); /* attachments cannot be replaced */
    fake_free(&f);
}

static void
volatile_events_are_dropped(void **state)
{
    struct sio_message m = { .event = "ev", .is_volatile = true };
    struct fake *f = join();

    (void)state;
    f->holds = true;
    sio_hall_emit(hall("/"), STR_NONE, NULL, &m);
    sio_hall_emit(hall("/"), STR_NONE, NULL, &m);
    assert_string_equal(fake_next(f), "42[\"ev\"]");
    assert_string_equal(fake_next(f), "");
    fake_free(&f);
}

static void
reserved_events_are_not_sent(void **state)
{
    struct fake *f = join();

    (void)state;
    emit(last, "connect", "");
    emit(last, "disconnect", "");
    assert_string_equal(fake_next(f), "");
    fake_free(&f);
}

static void
frames_are_shared(void **state)
{
    struct sio_message m = { .event = "ev" };
    struct fake *a = join(), *b = join();

    (void)state;
    sio_hall_emit(hall("/"), STR_NONE, NULL, &m);
    assert_ptr_equal(a->frames[0], b->frames[0]);
    assert_int_equal(fake_frames, 1);
    fake_free(&a);
    fake_free(&b);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(events_reach_their_handlers),
        TEST(binary_comes_and_goes),
        TEST(binary_out_of_place_ends_it),
        TEST(unfinished_packets_have_a_bound),
        TEST(who_holds_most_makes_room),
        TEST(acks_are_given_later),
        TEST(open_acks_have_a_bound),
        TEST(rooms_get_their_events),
        TEST(rooms_have_bounds),
        TEST(keys_name_event_and_key),
        TEST(volatile_events_are_dropped),
        TEST(reserved_events_are_not_sent),
        TEST(frames_are_shared),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
