/*
 * Sessions that speak Socket.IO: joining, leaving, ending.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "hearing.h"

/* ---- joining ---- */

static void
joins(void **state)
{
    struct fake *f = fake_open(&point);
    struct buf names;
    const char *text;

    (void)state;
    fake_say(f, "0{\"token\":1}");
    text = fake_next(f);
    assert_int_equal(strncmp(text, "40{\"sid\":\"", 10), 0);
    assert_int_equal(strlen(text), 10 + SIO_ID + 2);
    assert_memory_equal(text + 10, sio_socket_id(last).ptr, SIO_ID);
    assert_string_equal(fake_next(f), "42[\"auth\",{}]");
    assert_string_equal(take_heard(),
                        "connect {\"token\":1};joined {\"token\":1};");
    fake_say(f, "0/any,");
    assert_int_equal(strncmp(fake_next(f), "40/any,{\"sid\":\"", 15), 0);
    buf_init(&names, 100);
    sio_session_namespaces(&f->session, &names);
    assert_true(str_eq(buf_str(&names), STR("/,/any")));
    buf_clear(&names);
    assert_int_equal(sio_hall_sockets(hall("/")), 1);
    assert_ptr_equal(sio_hall_socket(hall("/"), sio_socket_id(last)), last);
    assert_null(sio_hall_socket(hall("/any"), sio_socket_id(last)));
    fake_free(&f);
    assert_string_equal(take_heard(),
                        "gone transport close;gone transport close;");
    assert_int_equal(sio_hall_sockets(hall("/")), 0);
}

static void
without_auth_it_is_empty(void **state)
{
    struct fake *f = fake_open(&point);

    (void)state;
    fake_say(f, "0");
    assert_string_equal(take_heard(), "connect {};joined {};");
    fake_free(&f);
}

static void
is_decided_later(void **state)
{
    struct fake *f = fake_open(&point);

    (void)state;
    decide_later = true;
    fake_say(f, "0");
    assert_string_equal(take_heard(), "connect {};");
    fake_say(f, "0"); /* impatient */
    assert_string_equal(take_heard(), "");
    assert_string_equal(fake_next(f), "");
    emit(last, "early", "");
    sio_accept(last);
    sio_accept(last);
    sio_refuse(last, "too late", STR_NONE);
    assert_int_equal(strncmp(fake_next(f), "40{", 3), 0);
    assert_string_equal(fake_next(f), "42[\"auth\",{}]");
    assert_string_equal(fake_next(f), "");
    fake_free(&f);
}

static void
goes_before_it_is_decided(void **state)
{
    struct fake *f = fake_open(&point);

    (void)state;
    decide_later = true;
    fake_say(f, "0");
    fake_free(&f);
    sio_accept(last); /* in the same turn */
    assert_string_equal(take_heard(), "connect {};gone transport close;");
}

static void
is_refused(void **state)
{
    struct fake *f = fake_open(&point);

    (void)state;
    fake_say(f, "0{\"no\":1}");
    assert_string_equal(fake_next(f), "44{\"message\":\"no\",\"data\":[1]}");
    assert_string_equal(take_heard(), "connect {\"no\":1};");
    fake_say(f, "0/nowhere,{}");
    assert_string_equal(fake_next(f),
                        "44/nowhere,{\"message\":\"Invalid namespace\"}");
    assert_true(f->open);
    fake_say(f, "0"); /* asks again */
    assert_int_equal(strncmp(fake_next(f), "40{", 3), 0);
    fake_free(&f);
}

static void
ends_without_a_namespace(void **state)
{
    struct fake *late, *joined;

    (void)state;
    point.settings.connect_timeout = 20;
    late = fake_open(&point);
    joined = join();
    fake_say(joined, "1");
    for (int i = 0; i < 5000 && late->open; i++) {
        loop_turn(loop, 1);
    }
    assert_false(late->open);
    assert_int_equal(late->why, SESSION_NOT_JOINED);
    assert_true(joined->open); /* it had joined once */
    fake_free(&late);
    fake_free(&joined);
}

static void
ends_undecided(void **state)
{
    struct fake *f;

    (void)state;
    f = fake_open(&point);
    fake_say(f, "0/any,");
    point.settings.connect_timeout = 20;
    decide_later = true;
    fake_say(f, "0");
    for (int i = 0; i < 5000 && f->open; i++) {
        loop_turn(loop, 1);
    }
    assert_int_equal(f->why, SESSION_NOT_JOINED);
    assert_string_equal(take_heard(), "connect {};gone forced server close;"
                                      "gone forced server close;");
    fake_free(&f);
}

/* ---- what ends a session ---- */

static void
ends_on_what_is_out_of_place(void **state)
{
    static const char *const texts[] = {
        "0",   "2/any,[\"x\"]", "1/any,", "3/any,1[]", "4{}", "2[\"connect\"]",
        "abc", "2{}",           "1{}",    "9",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct fake *f = join();

        fake_say(f, texts[i]);
        assert_false(f->open);
        assert_int_equal(f->why, SESSION_PARSE_ERROR);
        assert_string_equal(take_heard(), "gone parse error;");
        fake_free(&f);
    }
}

static void
ends_when_the_first_is_no_connect(void **state)
{
    struct fake *f = fake_open(&point);

    (void)state;
    fake_say(f, "2[\"message\"]");
    assert_false(f->open);
    assert_string_equal(take_heard(), "");
    fake_free(&f);
}

static void
reasons_are_the_usual(void **state)
{
    static const struct {
        enum session_end why;
        const char *heard;
    } rows[] = {
        { SESSION_CLIENT_CLOSED, "gone transport close;" },
        { SESSION_PING_TIMEOUT, "gone ping timeout;" },
        { SESSION_STOPPING, "gone server shutting down;" },
        { SESSION_SERVER_CLOSED, "gone server namespace disconnect;" },
        { SESSION_KICKED, "gone server namespace disconnect;" },
        { SESSION_TOO_SLOW, "gone forced server close;" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct fake *f = join();

        session_close(&f->session, rows[i].why);
        assert_string_equal(take_heard(), rows[i].heard);
        fake_free(&f);
    }
}

/* ---- leaving ---- */

static void
leaves_by_itself(void **state)
{
    struct fake *f = join();

    (void)state;
    fake_say(f, "1");
    assert_string_equal(take_heard(), "gone client namespace disconnect;");
    assert_true(f->open);
    assert_string_equal(fake_next(f), "");
    fake_say(f, "0"); /* and comes back */
    assert_int_equal(strncmp(fake_next(f), "40{", 3), 0);
    fake_free(&f);
}

static void
joins_so_often_in_a_turn(void **state)
{
    struct fake *f = fake_open(&point);
    int n = 0;

    (void)state;
    for (; n < 20; n++) {
        fake_say(f, "0");
        fake_say(f, "1");
    }
    assert_true(f->open);
    while (n++ < 1000 && f->open) {
        fake_say(f, "0{\"no\":1}"); /* refused ones are counted as well */
        fake_forget(f);
    }
    assert_false(f->open);
    assert_int_equal(f->why, SESSION_PARSE_ERROR);
    assert_in_range(n, 60, 100);
    fake_free(&f);
    take_heard();
    f = fake_open(&point);
    for (n = 0; n < 1000; n++) {
        fake_say(f, "0");
        fake_say(f, "1");
        fake_forget(f);
        take_heard(); /* a turn */
    }
    assert_true(f->open);
    fake_free(&f);
}

static void
is_sent_away(void **state)
{
    struct fake *f = join();

    (void)state;
    fake_say(f, "2[\"leave\"]");
    assert_string_equal(take_heard(), "left;gone server namespace disconnect;");
    assert_string_equal(fake_next(f), "41");
    assert_string_equal(fake_next(f), "");
    assert_true(f->open);
    fake_free(&f);
}

static void
is_sent_away_with_its_session(void **state)
{
    struct fake *f = join();

    (void)state;
    fake_say(f, "0/any,");
    fake_forget(f);
    fake_say(f, "2[\"leave\",true]");
    assert_string_equal(take_heard(), "left;gone server namespace disconnect;"
                                      "gone server namespace disconnect;");
    assert_string_equal(fake_next(f), "41");
    assert_string_equal(fake_next(f), "41/any,");
    assert_false(f->open);
    assert_int_equal(f->why, SESSION_SERVER_CLOSED);
    fake_free(&f);
}

static void
ends_within_an_emit(void **state)
{
    struct fake *f = join();
    struct fake *other = join();
    struct sio_message m = { .event = "ev" };

    (void)state;
    f->room = 0;
    sio_hall_emit(hall("/"), STR_NONE, NULL, &m);
    assert_false(f->open);
    assert_string_equal(heard, ""); /* never within the module's own call */
    assert_string_equal(take_heard(), "gone forced server close;");
    assert_string_equal(fake_next(other), "42[\"ev\"]");
    fake_free(&f);
    fake_free(&other);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(joins),
        TEST(without_auth_it_is_empty),
        TEST(is_decided_later),
        TEST(goes_before_it_is_decided),
        TEST(is_refused),
        TEST(ends_without_a_namespace),
        TEST(ends_undecided),
        TEST(ends_on_what_is_out_of_place),
        TEST(ends_when_the_first_is_no_connect),
        TEST(reasons_are_the_usual),
        TEST(leaves_by_itself),
        TEST(joins_so_often_in_a_turn),
        TEST(is_sent_away),
        TEST(is_sent_away_with_its_session),
        TEST(ends_within_an_emit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
