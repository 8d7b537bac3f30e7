/*
 * Connection state recovery.
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

#include "fake_session.h"

static struct loop *loop;
static struct sio_point point;
static struct sio_hall *hall;
static unsigned asked, joined, recovered;
static struct sio_socket *last;

static void
on_connect(struct sio_socket *s, struct str auth)
{
    (void)auth;
    asked++;
    sio_accept(s);
}

static void
on_joined(struct sio_socket *s, struct str auth)
{
    (void)auth;
    last = s;
    joined++;
    recovered += sio_socket_recovered(s);
}

static const struct sio_namespace namespaces[] = {
    { "/", .on_connect = on_connect, .on_joined = on_joined },
    { .name = NULL },
};
static const struct sio_module module = { .namespaces = namespaces };

static int
setup(void **state)
{
    struct errmsg err;

    (void)state;
    loop = loop_new(&err);
    fake_point(&point, loop, &module);
    point.settings.recovery = 60000;
    hall = sio_halls_find(&point, STR("/"));
    asked = joined = recovered = 0;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fake_turns(loop, 0);
    sio_halls_stop(&point);
    loop_free(&loop);
    assert_int_equal(fake_frames, 0);
    return 0;
}

/* What a client remembers. */
struct memory {
    char sid[SIO_ID + 1], pid[SIO_ID + 1];
};

static struct fake *
come(struct memory *m)
{
    struct fake *f = fake_open(&point);
    const char *text;

    fake_say(f, "0");
    text = fake_next(f);
    assert_int_equal(sscanf(text,
                            "40{\"sid\":\"%20[^\"]\",\"pid\":\"%20[^\"]\"}",
                            m->sid, m->pid),
                     2);
    assert_string_not_equal(m->sid, m->pid);
    return f;
}

static struct fake *
come_back(const struct memory *m, const char *offset)
{
    struct fake *f = fake_open(&point);
    char text[200];

    fake_turns(loop, 0);
    snprintf(text, sizeof(text), "0{\"pid\":\"%s\",\"offset\":\"%s\"}", m->pid,
             offset);
    fake_say(f, text);
    return f;
}

static void
tell(const char *room, const char *json)
{
    struct sio_message m = { .event = "ev",
                             .args = { .json = str_from(json) } };

    sio_hall_emit(hall, str_from(room), NULL, &m);
}

static void
assert_recovered(struct fake *f, const struct memory *m)
{
    char text[200];

    snprintf(text, sizeof(text), "40{\"sid\":\"%s\",\"pid\":\"%s\"}", m->sid,
             m->pid);
    assert_string_equal(fake_next(f), text);
}

static void
assert_new(struct fake *f, const struct memory *m)
{
    const char *text = fake_next(f);

    assert_int_equal(strncmp(text, "40{\"sid\":\"", 10), 0);
    assert_memory_not_equal(text + 10, m->sid, SIO_ID);
    assert_string_equal(fake_next(f), "");
}

/* ---- tests ---- */

static void
off_there_is_nothing_of_it(void **state)
{
    struct fake *f;
    const char *text;

    (void)state;
    point.settings.recovery = 0;
    f = fake_open(&point);
    fake_say(f, "0{\"pid\":\"x\",\"offset\":\"1\"}");
    text = fake_next(f);
    assert_int_equal(strlen(text), strlen("40{\"sid\":\"\"}") + SIO_ID);
    tell("", "1");
    assert_string_equal(fake_next(f), "42[\"ev\",1]");
    assert_null(hall->recovery);
    fake_free(&f);
}

static void
events_have_their_offset(void **state)
{
    struct sio_message m = { .event = "ev", .is_volatile = true };
    struct memory me;
    struct fake *f = come(&me);

    (void)state;
    tell("", "1");
    tell("", "");
    assert_string_equal(fake_next(f), "42[\"ev\",1,\"1\"]");
    assert_string_equal(fake_next(f), "42[\"ev\",\"2\"]");
    sio_hall_emit(hall, STR_NONE, NULL, &m);
    assert_string_equal(fake_next(f), "42[\"ev\",\"2\"]");
    fake_free(&f);
}

static void
a_lost_socket_comes_back(void **state)
{
    struct memory me;
    struct fake *f = come(&me);

    (void)state;
    sio_join(last, STR("mine"));
    tell("", "1");
    fake_free(&f);
    tell("mine", "2");
    tell("yours", "3");
    sio_hall_emit_to(hall, str_from(me.sid),
                     &(struct sio_message){ .event = "you" });
    sio_hall_emit_to(hall, STR("01234567890123456789"),
                     &(struct sio_message){ .event = "other" });
    tell("", "4");
    f = come_back(&me, "1");
    assert_recovered(f, &me);
    assert_string_equal(fake_next(f), "42[\"ev\",2,\"2\"]");
    assert_string_equal(fake_next(f), "42[\"you\",\"4\"]");
    assert_string_equal(fake_next(f), "42[\"ev\",4,\"6\"]");
    assert_string_equal(fake_next(f), "");
    assert_int_equal(asked, 1); /* it is not asked for again */
    assert_int_equal(joined, 2);
    assert_int_equal(recovered, 1);
    assert_ptr_equal(sio_hall_socket(hall, str_from(me.sid)), last);
    tell("mine", "5"); /* its rooms are there again */
    assert_string_equal(fake_next(f), "42[\"ev\",5,\"7\"]");
    fake_free(&f);
    f = come_back(&me, "7"); /* and it may be lost again */
    assert_recovered(f, &me);
    fake_free(&f);
}

static void
comes_back_once(void **state)
{
    struct memory me;
    struct fake *f = come(&me), *g;

    (void)state;
    tell("", "1");
    fake_free(&f);
    f = come_back(&me, "1");
    g = come_back(&me, "1");
    assert_recovered(f, &me);
    assert_new(g, &me);
    fake_free(&f);
    fake_free(&g);
}

/* What it lost before it joined is not missed. */
static void
does_not_get_what_was_before_it(void **state)
{
    struct memory me;
    struct fake *f;

    (void)state;
    tell("", "1");
    tell("", "2");
    f = come(&me);
    fake_free(&f);
    tell("", "3");
    f = come_back(&me, "0");
    assert_recovered(f, &me);
    assert_string_equal(fake_next(f), "42[\"ev\",3,\"3\"]");
    assert_string_equal(fake_next(f), "");
    fake_free(&f);
}

static void
wrong_claims_make_a_new_socket(void **state)
{
    static const char *const claims[] = {
        "0{\"pid\":\"nobody\",\"offset\":\"1\"}",
        "0{\"pid\":7,\"offset\":\"1\"}",
        "0{\"pid\":\"%s\"}",
        "0{\"pid\":\"%s\",\"offset\":1}",
        "0{\"pid\":\"%s\",\"offset\":\"99\"}",
        "0{\"pid\":\"%s\",\"offset\":\"-1\"}",
        "0{\"pid\":\"%s\",\"offset\":\"\"}",
        "0{\"pid\":\"%s\",\"offset\":\"x\"}",
    };
    struct memory me;
    struct fake *f = come(&me);

    (void)state;
    tell("", "1");
    fake_free(&f);
    fake_turns(loop, 0);
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        const char *pid = strstr(claims[i], "%s");
        char text[200];
        size_t n = str_copy(text, sizeof(text), str_from(claims[i]));

        if (pid != NULL) {
            n = (size_t)(pid - claims[i]);
            n = str_append(text, sizeof(text), n, str_from(me.pid));
            str_append(text, sizeof(text), n, str_from(pid + 2));
        }
        f = fake_open(&point);
        fake_say(f, text);
        assert_new(f, &me);
        fake_free(&f);
    }
    assert_int_equal(recovered, 0);
    f = come_back(&me, "1"); /* none of them has used it up */
    assert_recovered(f, &me);
    fake_free(&f);
}

static void
only_the_same_user_comes_back(void **state)
{
    struct memory me;
    struct fake *f = come(&me);

    (void)state;
    tell("", "1");
    fake_free(&f);
    fake_user = STR("eve");
    f = come_back(&me, "1");
    assert_new(f, &me);
    fake_free(&f);
    fake_user = STR("mary");
    f = come_back(&me, "1"); /* it was not used up */
    assert_recovered(f, &me);
    fake_free(&f);
}

/* What is said beside it may be anything, but not much. */
static void
claims_have_a_bound(void **state)
{
    struct memory me;
    struct fake *f = come(&me);
    char text[20000], more[17000];

    (void)state;
    tell("", "1");
    fake_free(&f);
    fake_turns(loop, 0);
    memset(more, 'x', sizeof(more));
    snprintf(text, sizeof(text),
             "0{\"pid\":\"%s\",\"offset\":\"1\",\"more\":\"%.*s\"}", me.pid,
             (int)sizeof(more), more);
    f = fake_open(&point);
    fake_say(f, text);
    assert_new(f, &me);
    fake_free(&f);
}

static void
only_losses_are_recovered(void **state)
{
    struct memory me;
    struct fake *f = come(&me);

    (void)state;
    tell("", "1");
    fake_say(f, "1");
    fake_free(&f);
    f = come_back(&me, "1");
    assert_new(f, &me);
    fake_free(&f);
    f = come(&me);
    sio_disconnect(last, true);
    fake_free(&f);
    f = come_back(&me, "1");
    assert_new(f, &me);
    fake_free(&f);
    f = come(&me);
    session_close(&f->session, SESSION_PING_TIMEOUT);
    fake_free(&f);
    f = come_back(&me, "1");
    assert_recovered(f, &me);
    fake_free(&f);
}

static void
time_ends_it(void **state)
{
    struct memory me;
    struct fake *f = come(&me);

    (void)state;
    tell("", "1");
    fake_free(&f);
    fake_turns(loop, 0);
    point.settings.recovery = 1;
    fake_turns(loop, 20);
    f = come_back(&me, "1");
    assert_new(f, &me);
    assert_int_equal(fake_frames, 0); /* nothing is kept */
    fake_free(&f);
}

static void
kept_events_have_a_bound(void **state)
{
    struct memory me, new;
    struct fake *f = come(&me), *g;
    char *large = mem_zero(1 << 20);

    (void)state;
    memset(large, '1', (1 << 20) - 1);
    fake_free(&f);
    g = come(&new);
    tell("", "1");
    fake_free(&g);
    for (int i = 0; i < 20; i++) {
        tell("", large);
    }
    assert_true(fake_frames < 9);
    f = come_back(&me, "0"); /* its events are gone */
    assert_new(f, &me);
    fake_free(&f);
    f = come_back(&new, "20"); /* this one lacks a single event */
    assert_recovered(f, &new);
    assert_int_equal(strlen(fake_next(f)), 65535); /* as much as fits here */
    assert_string_equal(fake_next(f), "");
    fake_free(&f);
    mem_free(&large);
}

static void
small_events_are_so_many(void **state)
{
    struct memory me;
    struct fake *f = come(&me);

    (void)state;
    fake_free(&f);
    fake_turns(loop, 0);
    for (int i = 0; i < 16385; i++) {
        tell("", "1");
    }
    f = come_back(&me, "0"); /* one is not kept */
    assert_new(f, &me);
    fake_free(&f);
    f = come_back(&me, "16384");
    assert_recovered(f, &me);
    assert_string_equal(fake_next(f), "42[\"ev\",1,\"16385\"]");
    fake_free(&f);
}

/* Those in many rooms are large. */
static void
large_lost_sockets_have_a_bound(void **state)
{
    struct memory first, last_one;
    char room[SIO_NAME_MAX];

    (void)state;
    memset(room, 'x', sizeof(room));
    for (int i = 0; i < 1200; i++) {
        struct fake *f = come(i == 0 ? &first : &last_one);

        for (int k = 0; k < SIO_ROOMS_MAX; k++) {
            room[0] = (char)('0' + k);
            assert_int_equal(sio_join(last, str_of(room, sizeof(room))), 0);
        }
        fake_free(&f);
        fake_turns(loop, 0);
    }
    struct fake *f = come_back(&first, "0");

    assert_new(f, &first);
    fake_free(&f);
    f = come_back(&last_one, "0");
    assert_recovered(f, &last_one);
    fake_free(&f);
}

static void
lost_sockets_have_a_bound(void **state)
{
    struct memory first, last_one;
    struct fake *f = come(&first);

    (void)state;
    fake_free(&f);
    fake_turns(loop, 0);
    for (int i = 0; i < 4096; i++) {
        f = come(&last_one);
        fake_free(&f);
        fake_turns(loop, 0);
    }
    f = come_back(&first, "0");
    assert_new(f, &first);
    fake_free(&f);
    f = come_back(&last_one, "0");
    assert_recovered(f, &last_one);
    fake_free(&f);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(off_there_is_nothing_of_it),
        TEST(events_have_their_offset),
        TEST(a_lost_socket_comes_back),
        TEST(comes_back_once),
        TEST(does_not_get_what_was_before_it),
        TEST(wrong_claims_make_a_new_socket),
        TEST(only_the_same_user_comes_back),
        TEST(claims_have_a_bound),
        TEST(only_losses_are_recovered),
        TEST(time_ends_it),
        TEST(kept_events_have_a_bound),
        TEST(small_events_are_so_many),
        TEST(large_lost_sockets_have_a_bound),
        TEST(lost_sockets_have_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
