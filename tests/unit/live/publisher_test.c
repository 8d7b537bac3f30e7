/*
 * Publishers: getting a name and losing it, in one process and across two.
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

#include "proc/shared.h"
#include "viewer.h"

static struct wire wire;
static struct author first, second, third;

/* Another process that publishes live/a and notes what becomes of it. */
static struct other {
    _Atomic int starts, stops;
    _Atomic int leave; /* set: it unpublishes */
} * other;
static pid_t other_pid;
static uint32_t other_slot;

static void
run_other(void)
{
    struct errmsg err;
    struct author a;

    slot_set_self(other_slot);
    fixture_loop = loop_new(&err);
    live_hub_start(fixture_loop, &arena.settings, &err);
    publish(&a, "live/a");
    write_frame(&a, VIDEO_HEADER, 0, 40);
    write_frame(&a, KEY, 0, 100);
    for (uint32_t i = 1;; i++) {
        atomic_store(&other->starts, a.starts);
        atomic_store(&other->stops, a.stops);
        if (atomic_load(&other->leave)) {
            live_unpublish(&a.p);
        }
        if (a.p != NULL && a.starts > 0) {
            write_frame(&a, INTER, i, 100);
        }
        loop_turn(fixture_loop, 5);
    }
}

static int
setup(void **state)
{
    struct errmsg err;

    (void)state;
    fixture_hub();
    wire_open(&wire, 0);
    first = second = third = (struct author){ 0 };
    other = shared_create("other", sizeof(*other), SHARED_ALL, &err);
    other_pid = 0;
    return 0;
}

static void
end_other(void)
{
    if (other_pid > 0) {
        kill(other_pid, SIGKILL);
        waitpid(other_pid, NULL, 0);
        slot_bury(other_slot);
        live_sweep(other_slot);
        slot_release(other_slot);
        other_pid = 0;
    }
}

static int
teardown(void **state)
{
    (void)state;
    end_other();
    wire_close(&wire);
    live_unpublish(&first.p);
    live_unpublish(&second.p);
    live_unpublish(&third.p);
    fixture_turns(2);
    fixture_hub_end();
    shared_destroy(other);
    return 0;
}

static void
start_other(void)
{
    other_slot = (uint32_t)slot_take(SLOT_WORKER, "other", 1, 0);
    other_pid = fork();
    if (other_pid == 0) {
        run_other();
    }
    while (atomic_load(&other->starts) == 0) {
        loop_turn(fixture_loop, 1);
    }
}

static bool
until(const int *count)
{
    int64_t end = clock_ms() + 1000000;

    while (*count == 0 && clock_ms() < end) {
        loop_turn(fixture_loop, 10);
    }
    return *count == 1;
}

static bool
until_other(const _Atomic int *count)
{
    int64_t end = clock_ms() + 1000000;

    while (atomic_load(count) == 0 && clock_ms() < end) {
        loop_turn(fixture_loop, 10);
    }
    return atomic_load(count) == 1;
}

/* ---- one process ---- */

static void
test_newest_replaces(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    publish(&first, "live/a");
    assert_int_equal(first.starts, 1);
    write_frame(&first, KEY, 1000, 100);
    wire_settle(&wire);
    publish(&second, "live/a");
    assert_int_equal(second.starts, 1);
    assert_int_equal(first.stops, 1);
    assert_string_equal(first.reason, "replaced by a newer publisher");
    wire_settle(&wire);
    write_frame(&second, KEY, 0, 200);
    wire_settle(&wire);
    expect(&wire, KEY, 1000, 100);
    assert_true(buf_len(&wire.got) > 200);
    assert_int_equal(v->holds + v->resumes + v->stops, 0);
    live_unpublish(&second.p);
    assert_false(live_is_live(STR("live/a")));
}

static void
test_refused(void **state)
{
    struct live_publish what = fixture_publish("live/a");

    (void)state;
    what.conflict = LIVE_REFUSE;
    publish_as(&first, &what);
    assert_int_equal(first.starts, 1);
    publish_as(&second, &what);
    assert_null(second.p);
    assert_int_equal(second.starts + second.stops, 0);
    assert_non_null(strstr(second.reason, "has a publisher already"));
    assert_int_equal(first.stops, 0);
    live_unpublish(&first.p);
    publish_as(&second, &what); /* on hold: it may */
    assert_int_equal(second.starts, 1);
}

static void
test_replaced_too_often(void **state)
{
    struct live_publish what = fixture_publish("live/a");

    (void)state;
    publish(&first, "live/a");
    publish(&second, "live/a");
    publish(&first, "live/a");
    assert_int_equal(second.stops, 1);
    publish_as(&third, &what);
    assert_null(third.p);
    assert_non_null(strstr(third.reason, "twice within 10 s"));
    assert_int_equal(first.stops, 0);
}

static void
test_no_room(void **state)
{
    struct live_publish what = fixture_publish("live/x");
    static const char *const names[] = {
        "1", "2", "3", "4", "5", "6", "7", "8"
    };

    (void)state;
    for (int i = 0; i < 8; i++) {
        fixture_stream(names[i]);
    }
    publish_as(&first, &what);
    assert_null(first.p);
    assert_non_null(strstr(first.reason, "live.max_streams is 8"));
}

static void
test_name_too_long(void **state)
{
    char name[LIVE_NAME_MAX + 1];
    struct live_publish what;

    (void)state;
    memset(name, 'x', LIVE_NAME_MAX);
    name[LIVE_NAME_MAX] = '\0';
    what = fixture_publish(name);
    publish_as(&first, &what);
    assert_null(first.p);
    what.name.len--;
    publish_as(&first, &what);
    assert_non_null(first.p);
    assert_true(live_is_live(what.name));
}

/* Handed to a process whose publisher has gone: it does not keep it. */
static void
test_a_stream_nobody_wants(void **state)
{
    struct stream *s = fixture_stream("live/a");

    (void)state;
    wake_slot(slot_self(), stream_number(s));
    fixture_turns(3);
    assert_int_equal(atomic_load(&s->writer), 0);
}

static void
test_headers_that_change_too_often(void **state)
{
    (void)state;
    publish(&first, "live/a");
    for (uint32_t i = 0; i < 1000; i++) {
        write_frame(&first, VIDEO_HEADER, i, 40);
    }
    assert_int_equal(first.stops, 0); /* not while it writes */
    assert_true(until(&first.stops));
    assert_string_equal(first.reason, "its codec headers change too often");
    assert_false(live_is_live(STR("live/a")));
    publish(&second, "live/a");
    assert_true(live_is_live(STR("live/a")));
}

/* Metadata that changes all the time is passed on. */
static void
test_metadata_that_changes_too_often(void **state)
{
    (void)state;
    publish(&first, "live/a");
    for (uint32_t i = 0; i < 1000; i++) {
        write_frame(&first, META, i, 40);
    }
    write_frame(&first, VIDEO_HEADER, 1000, 40);
    write_frame(&first, KEY, 1000, 40);
    fixture_turns(10);
    assert_int_equal(first.stops, 0);
    assert_int_equal(atomic_load(&stream_find(STR("live/a"))->tail), 1002);
}

/* ---- two processes ---- */

static void
test_replaces_across_processes(void **state)
{
    struct viewer *v = watch(&wire, "live/a");
    struct message m;
    uint32_t last = 0;

    (void)state;
    start_other();
    assert_true(until(&v->starts));
    publish(&first, "live/a");
    assert_true(until(&first.starts));
    assert_true(until_other(&other->stops));
    write_frame(&first, VIDEO_HEADER, 500, 40);
    write_frame(&first, KEY, 500, 100);
    wire_settle(&wire);
    while (wire_next(&wire, &m)) {
        assert_true(m.timestamp >= last);
        last = m.timestamp;
        mem_free(&m.payload);
    }
    expect_nothing(&wire);
    assert_int_equal(v->stops, 0);
    assert_int_equal(first.stops, 0);
}

static void
test_refused_across_processes(void **state)
{
    struct live_publish what = fixture_publish("live/a");

    (void)state;
    start_other();
    what.conflict = LIVE_REFUSE;
    publish_as(&first, &what);
    assert_null(first.p);
    assert_non_null(strstr(first.reason, "has a publisher already"));
}

static bool
is_asking(void)
{
    struct live_session_view v;

    assert_true(record_view(publisher_record(first.p), &v));
    assert_true(v.publisher);
    return v.asking;
}

/* Its process is killed while we ask: the sweep gives it to us. */
static void
test_gets_it_from_the_dead(void **state)
{
    (void)state;
    start_other();
    kill(other_pid, SIGSTOP);
    waitpid(other_pid, NULL, WUNTRACED);
    publish(&first, "live/a");
    fixture_turns(5);
    assert_int_equal(first.starts, 0);
    assert_true(is_asking());
    end_other();
    assert_true(until(&first.starts));
    assert_false(is_asking());
    assert_int_equal(atomic_load(&stream_find(STR("live/a"))->takeover), 0);
}

static void
test_gives_up_on_a_stuck_process(void **state)
{
    (void)state;
    start_other();
    kill(other_pid, SIGSTOP);
    waitpid(other_pid, NULL, WUNTRACED);
    publish(&first, "live/a");
    assert_true(until(&first.stops));
    assert_int_equal(first.starts, 0);
    assert_non_null(strstr(first.reason, "does not answer"));
    kill(other_pid, SIGCONT);
    fixture_turns(5);
    assert_int_equal(atomic_load(&other->stops), 0); /* it goes on */
}

/* We leave while the question stands: nobody is stuck with the answer. */
static void
test_leaves_while_asking(void **state)
{
    struct stream *s;

    (void)state;
    start_other();
    for (int i = 0; i < 50; i++) {
        s = stream_find(STR("live/a"));
        atomic_store(&s->replaced_ms[0], 0); /* not too often */
        publish(&first, "live/a");
        for (int k = 0; k < i % 4; k++) {
            loop_turn(fixture_loop, 1);
        }
        live_unpublish(&first.p);
        fixture_turns(3);
        if (atomic_load(&other->stops) > 0) {
            break;
        }
    }
    fixture_turns(10);
    s = stream_find(STR("live/a"));
    assert_int_not_equal(atomic_load(&s->writer), slot_self_owner());
    atomic_store(&s->replaced_ms[0], 0);
    publish(&first, "live/a");
    assert_true(until(&first.starts));
}

static void
test_plays_from_another_process(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    start_other();
    assert_true(until(&v->starts));
    atomic_store(&other->leave, 1);
    assert_true(until(&v->holds));
    end_other();
    assert_int_equal(v->stops, 0);
}

static void
test_publisher_killed(void **state)
{
    struct viewer *v = watch(&wire, "live/a");

    (void)state;
    start_other();
    assert_true(until(&v->starts));
    end_other();
    assert_true(until(&v->holds));
    publish(&first, "live/a");
    assert_int_equal(first.starts, 1);
    assert_true(until(&v->resumes));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_newest_replaces),
        TEST(test_refused),
        TEST(test_replaced_too_often),
        TEST(test_no_room),
        TEST(test_name_too_long),
        TEST(test_a_stream_nobody_wants),
        TEST(test_headers_that_change_too_often),
        TEST(test_metadata_that_changes_too_often),
        TEST(test_replaces_across_processes),
        TEST(test_refused_across_processes),
        TEST(test_gets_it_from_the_dead),
        TEST(test_gives_up_on_a_stuck_process),
        TEST(test_leaves_while_asking),
        TEST(test_plays_from_another_process),
        TEST(test_publisher_killed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
