/*
 * One synthesis, with a child that is played here: what it may say, and in
 * which order.
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

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "synthesis.h"

#define CHILD 4711
#define BUFFER 1000

/* ---- the engine, played ---- */

static struct {
    int fds[SPEECH_FDS]; /* the child's */
    int refuses;         /* errno of engine_send() */
    unsigned killed, aborted, seen_out;
} child;

int
engine_send(struct engine *e, struct str packet, const int *fds)
{
    (void)e;
    assert_true(str_eq(packet, STR("packet")));
    if (child.refuses != 0) {
        errno = child.refuses;
        return -1;
    }
    for (int i = 0; i < SPEECH_FDS; i++) {
        child.fds[i] = dup(fds[i]);
    }
    return 0;
}

void
engine_kill(struct engine *e, pid_t pid)
{
    (void)e;
    assert_int_equal(pid, CHILD);
    child.killed++;
}

void
engine_see_out(struct engine *e, pid_t pid, int status)
{
    (void)e;
    assert_int_equal(pid, CHILD);
    assert_int_equal(close(status), 0);
    child.seen_out++;
}

void
engine_abort(struct engine *e, const char *why)
{
    (void)e;
    (void)why;
    child.aborted++;
}

/* ---- the owner ---- */

static struct {
    struct loop *loop;
    struct synthesis *run;
    unsigned longs, pauses, wants, ends;
    enum synthesis_outcome outcome;
    enum tts_child_end reason;
    int memory;
    int64_t bytes;
} owner;

static void
on_long(void *arg, int pipe)
{
    (void)arg;
    assert_true(pipe >= 0);
    owner.longs++;
}

static void
on_paused(void *arg)
{
    (void)arg;
    owner.pauses++;
}

static void
on_wants(void *arg)
{
    (void)arg;
    owner.wants++;
}

static void
on_end(void *arg, struct synthesis_end *end)
{
    (void)arg;
    owner.ends++;
    owner.run = NULL;
    owner.outcome = end->outcome;
    owner.reason = end->reason;
    owner.memory = end->memory;
    end->memory = -1;
    owner.bytes = end->record != NULL ? end->record->bytes : -1;
}

static struct synthesis *
start(bool *again)
{
    const struct synthesis_options o = { .loop = owner.loop,
                                         .packet = STR("packet"),
                                         .buffer = BUFFER,
                                         .timeout = 60000,
                                         .on_long = on_long,
                                         .on_paused = on_paused,
                                         .on_wants = on_wants,
                                         .on_end = on_end };
    struct errmsg err;

    return synthesis_start(&o, again, &err);
}

static void
close_child(void)
{
    for (int i = 0; i < SPEECH_FDS; i++) {
        if (child.fds[i] != -1) {
            close(child.fds[i]);
        }
        child.fds[i] = -1;
    }
}

static int
set_up(void **state)
{
    struct errmsg err;
    bool again;

    (void)state;
    memset(&child, 0, sizeof(child));
    memset(&owner, 0, sizeof(owner));
    owner.memory = -1;
    owner.loop = loop_new(&err);
    owner.run = start(&again);
    return owner.run == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
    (void)state;
    close_child();
    synthesis_forget(&owner.run);
    if (owner.memory != -1) {
        close(owner.memory);
    }
    loop_free(&owner.loop);
    return 0;
}

/* ---- the child ---- */

static void
turn(void)
{
    for (int i = 0; i < 3; i++) {
        loop_turn(owner.loop, 0);
    }
}

static void
say_as(pid_t pid, enum speech_record_kind kind, int64_t bytes)
{
    const struct speech_record r = {
        .kind = kind, .pid = pid, .bytes = bytes, .status = 413
    };
    struct buf b;
    struct pack p = { .to = &b };

    buf_init(&b, SPEECH_RECORD_MAX);
    speech_pack_record(&p, &r);
    send(child.fds[SPEECH_STATUS], buf_data(&b), buf_len(&b), MSG_NOSIGNAL);
    buf_clear(&b);
    turn();
}

static void
say(enum speech_record_kind kind, int64_t bytes)
{
    say_as(CHILD, kind, bytes);
}

static void
fill(size_t n)
{
    char bytes[4096] = "";

    assert_int_equal(write(child.fds[SPEECH_MEMORY], bytes, n), n);
}

/* ---- tests ---- */

static void
a_whole_answer_is_sealed(void **state)
{
    (void)state;
    say(SPEECH_TAKEN, 0);
    fill(100);
    say(SPEECH_DONE, 100);
    assert_int_equal(owner.ends, 1);
    assert_int_equal(owner.outcome, SYNTHESIS_WHOLE);
    assert_int_equal(owner.bytes, 100);
    assert_int_equal(write(child.fds[SPEECH_MEMORY], "x", 1), -1);
    assert_int_equal(ftruncate(child.fds[SPEECH_MEMORY], 0), -1);
    assert_int_equal(lseek(owner.memory, 0, SEEK_END), 100);
}

static void
a_length_that_is_not_true_is_a_crash(void **state)
{
    (void)state;
    say(SPEECH_TAKEN, 0);
    fill(100);
    say(SPEECH_DONE, 101);
    assert_int_equal(owner.outcome, SYNTHESIS_CRASHED);
    assert_int_equal(owner.memory, -1);
    assert_int_equal(child.killed, 1);
}

static void
more_than_the_buffer_is_a_crash(void **state)
{
    (void)state;
    say(SPEECH_TAKEN, 0);
    fill(BUFFER + 1);
    say(SPEECH_DONE, BUFFER + 1);
    assert_int_equal(owner.outcome, SYNTHESIS_CRASHED);
}

static void
a_child_that_ends_has_crashed(void **state)
{
    (void)state;
    say(SPEECH_TAKEN, 0);
    close_child();
    turn();
    assert_int_equal(owner.outcome, SYNTHESIS_CRASHED);
    assert_int_equal(owner.ends, 1);
}

static void
a_packet_that_no_child_takes_may_be_asked_again(void **state)
{
    (void)state;
    close_child();
    turn();
    assert_int_equal(owner.outcome, SYNTHESIS_UNTAKEN);
}

static void
a_pause_waits_for_the_byte(void **state)
{
    char byte[2];

    (void)state;
    say(SPEECH_TAKEN, 0);
    say(SPEECH_LONG, 0);
    say(SPEECH_PAUSED, 65536);
    say(SPEECH_WANTS, 65536);
    assert_int_equal(owner.longs + owner.pauses + owner.wants, 3);
    assert_int_equal(
        recv(child.fds[SPEECH_STATUS], byte, sizeof(byte), MSG_DONTWAIT), -1);
    synthesis_grant(owner.run);
    assert_int_equal(
        recv(child.fds[SPEECH_STATUS], byte, sizeof(byte), MSG_DONTWAIT), 1);
    say(SPEECH_DONE, 100000);
    assert_int_equal(owner.outcome, SYNTHESIS_PIPED);
    assert_int_equal(owner.bytes, 100000);
}

static void
a_failure_has_its_reason(void **state)
{
    (void)state;
    say(SPEECH_TAKEN, 0);
    say(SPEECH_FAILED, 0);
    assert_int_equal(owner.outcome, SYNTHESIS_FAILED);
}

/* Each list of records makes no sense at its last one. */
static void
records_out_of_order_are_a_crash(void **state)
{
    static const enum speech_record_kind lists[][5] = {
        { SPEECH_DONE, SPEECH_RECORDS },
        { SPEECH_LONG, SPEECH_RECORDS },
        { SPEECH_TAKEN, SPEECH_TAKEN, SPEECH_RECORDS },
        { SPEECH_TAKEN, SPEECH_PAUSED, SPEECH_RECORDS },
        { SPEECH_TAKEN, SPEECH_LONG, SPEECH_LONG, SPEECH_RECORDS },
        { SPEECH_TAKEN, SPEECH_LONG, SPEECH_WANTS, SPEECH_RECORDS },
        { SPEECH_TAKEN, SPEECH_LONG, SPEECH_PAUSED, SPEECH_DONE,
          SPEECH_RECORDS },
    };

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        for (size_t k = 0; lists[i][k] != SPEECH_RECORDS; k++) {
            assert_int_equal(owner.ends, 0);
            say(lists[i][k], 0);
        }
        assert_int_equal(owner.ends, 1);
        assert_int_equal(owner.outcome, SYNTHESIS_CRASHED);
        tear_down(state);
        set_up(state);
    }
}

/* It would be killed in the place of a child. */
static void
a_pid_that_is_no_childs_is_a_crash(void **state)
{
    for (pid_t pid = 0; pid <= 1; pid++) {
        say_as(pid, SPEECH_TAKEN, 0);
        assert_int_equal(owner.ends, 1);
        assert_int_equal(owner.outcome, SYNTHESIS_CRASHED);
        tear_down(state);
        set_up(state);
    }
}

/* Nothing takes bytes out of a pipe again. */
static void
fewer_bytes_than_before_are_a_crash(void **state)
{
    (void)state;
    say(SPEECH_TAKEN, 0);
    say(SPEECH_LONG, 0);
    say(SPEECH_PAUSED, 65536);
    assert_int_equal(owner.ends, 0);
    say(SPEECH_WANTS, 65535);
    assert_int_equal(owner.ends, 1);
    assert_int_equal(owner.outcome, SYNTHESIS_CRASHED);
}

static void
bytes_that_are_no_record_are_a_crash(void **state)
{
    char bytes[2 * SPEECH_RECORD_MAX];

    (void)state;
    memset(bytes, 0x55, sizeof(bytes));
    say(SPEECH_TAKEN, 0);
    send(child.fds[SPEECH_STATUS], bytes, sizeof(bytes), 0);
    turn();
    assert_int_equal(owner.outcome, SYNTHESIS_CRASHED);
    assert_int_equal(child.killed, 1);
}

static void
a_kill_is_told_later_and_once(void **state)
{
    (void)state;
    say(SPEECH_TAKEN, 0);
    synthesis_kill(owner.run, TTS_END_SLOW);
    assert_int_equal(child.killed, 1);
    assert_int_equal(owner.ends, 0);
    turn();
    assert_int_equal(owner.ends, 1);
    assert_int_equal(owner.outcome, SYNTHESIS_KILLED);
    assert_int_equal(owner.reason, TTS_END_SLOW);
}

static void
the_end_of_its_engine_counts_what_it_said(void **state)
{
    (void)state;
    say(SPEECH_TAKEN, 0);
    fill(10);
    const struct speech_record r = { .kind = SPEECH_DONE, .bytes = 10 };
    struct buf b;
    struct pack p = { .to = &b };

    buf_init(&b, SPEECH_RECORD_MAX);
    speech_pack_record(&p, &r);
    send(child.fds[SPEECH_STATUS], buf_data(&b), buf_len(&b), MSG_NOSIGNAL);
    buf_clear(&b);
    synthesis_engine_gone(owner.run);
    assert_int_equal(owner.outcome, SYNTHESIS_WHOLE);
}

static void
an_engine_that_ends_has_crashed_it(void **state)
{
    (void)state;
    say(SPEECH_TAKEN, 0);
    synthesis_engine_gone(owner.run);
    assert_int_equal(owner.ends, 1);
    assert_int_equal(owner.outcome, SYNTHESIS_CRASHED);
}

static void
an_engine_without_room_is_asked_again(void **state)
{
    bool again = false;

    (void)state;
    child.refuses = EAGAIN;
    assert_null(start(&again));
    assert_true(again);
    child.refuses = EMSGSIZE;
    assert_null(start(&again));
    assert_false(again);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_whole_answer_is_sealed),
        TEST(a_length_that_is_not_true_is_a_crash),
        TEST(more_than_the_buffer_is_a_crash),
        TEST(a_child_that_ends_has_crashed),
        TEST(a_packet_that_no_child_takes_may_be_asked_again),
        TEST(a_pause_waits_for_the_byte),
        TEST(a_failure_has_its_reason),
        TEST(records_out_of_order_are_a_crash),
        TEST(a_pid_that_is_no_childs_is_a_crash),
        TEST(fewer_bytes_than_before_are_a_crash),
        TEST(bytes_that_are_no_record_are_a_crash),
        TEST(a_kill_is_told_later_and_once),
        TEST(the_end_of_its_engine_counts_what_it_said),
        TEST(an_engine_that_ends_has_crashed_it),
        TEST(an_engine_without_room_is_asked_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
