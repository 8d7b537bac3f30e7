/*
 * Streams by name: finding, claiming (also by several processes at once),
 * asking, handing over, holding.
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

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena_fixture.h"
#include "proc/shared.h"

static int
setup(void **state)
{
    (void)state;
    fixture_arena();
    return 0;
}

/* So many that looking for a name takes its time. */
static int
setup_many(void **state)
{
    fixture_streams = 16384;
    setup(state);
    fixture_streams = 8;
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fixture_arena_end();
    return 0;
}

static enum stream_answer
claim(const char *name, struct stream **s)
{
    struct live_publish what = fixture_publish(name);

    return stream_claim(&what, s);
}

static void
test_finds_what_was_claimed(void **state)
{
    struct stream *a = fixture_stream("live/a");
    struct stream *b = fixture_stream("live/ab");

    (void)state;
    assert_ptr_not_equal(a, b);
    assert_ptr_equal(stream_find(STR("live/a")), a);
    assert_ptr_equal(stream_find(STR("live/ab")), b);
    assert_null(stream_find(STR("live/")));
    assert_null(stream_find(STR("live/b")));
    assert_true(stream_is_live(a));
    assert_true(str_eq(stream_name(b), STR("live/ab")));
    assert_int_equal(a->chunk_size, FIXTURE_CHUNK);
}

static void
write_frame(struct stream *s)
{
    struct writer w;

    writer_start(&w, s);
    append(&w, KEY, 0, 100);
}

static void
test_one_publisher_a_name(void **state)
{
    struct stream *s = fixture_stream("live/a"), *again;

    (void)state;
    assert_int_equal(claim("live/a", &again), STREAM_TAKEN);
    assert_ptr_equal(again, s);
    write_frame(s);
    stream_leave(s);
    assert_true(stream_is_open(s));
    assert_false(stream_is_live(s));
    assert_ptr_equal(stream_find(STR("live/a")), s); /* on hold */
    assert_true(atomic_load(&s->hold_until) > clock_ms() + 5000);
    assert_int_equal(claim("live/a", &again), STREAM_YOURS);
    assert_ptr_equal(again, s);
    assert_true(stream_is_live(s));
}

static void
test_what_had_no_frame_is_not_held(void **state)
{
    struct stream *s = fixture_stream("live/a");

    (void)state;
    stream_leave(s);
    assert_true(atomic_load(&s->hold_until) <= clock_ms());
}

static void
test_no_room(void **state)
{
    char name[32];
    struct stream *s;

    (void)state;
    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof(name), "live/%d", i);
        fixture_stream(name);
    }
    assert_int_equal(claim("live/8", &s), STREAM_NO_ROOM);
    assert_int_equal(claim("live/3", &s), STREAM_TAKEN);
}

/* Somebody is at it, or its record is on its way out. */
static void
test_asks_to_come_again(void **state)
{
    struct stream *s = fixture_stream("live/a"), *again;
    _Atomic uint64_t *key = &arena.keys[stream_number(s)];
    uint64_t open = atomic_load(key);

    (void)state;
    atomic_store(key, (open & ~UINT64_C(3)) | STREAM_CLAIMED);
    assert_int_equal(claim("live/a", &again), STREAM_RETRY);
    assert_null(stream_find(STR("live/a")));
    atomic_store(key, open);
    atomic_store(&s->writer, slot_owner_of(0)); /* the master ends it */
    assert_int_equal(claim("live/a", &again), STREAM_RETRY);
}

static void
test_a_record_used_anew_is_another(void **state)
{
    struct stream *s = fixture_stream("live/a"), *again;
    uint64_t generation = atomic_load(&s->generation);

    (void)state;
    atomic_store(&s->tail, 77);
    names_release(stream_number(s));
    again = fixture_stream("live/b");
    assert_ptr_equal(again, s);
    assert_int_equal(atomic_load(&s->generation), generation + 1);
    assert_int_equal(atomic_load(&s->tail), 0);
    assert_int_equal(atomic_load(&s->start), FRAME_NONE);
    assert_int_equal(atomic_load(&s->prologue), SEGMENT_NONE);
}

/* ---- several processes ---- */

#define ROUNDS 3000
#define CLAIMERS 3

struct race {
    _Atomic uint32_t round;   /* they all claim the name of this round */
    _Atomic uint32_t arrived; /* answers in this round */
    _Atomic uint32_t yours, odd;
};

static void
claim_in_turn(struct race *race, int me)
{
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        enum stream_answer answer;
        struct stream *s = NULL;
        char name[32];

        while (atomic_load(&race->round) < round) {
            sched_yield();
        }
        snprintf(name, sizeof(name), "live/%u", round);
        do {
            answer = claim(name, &s);
            if (answer == STREAM_RETRY && (round + (uint32_t)me) % 2 == 0) {
                usleep((useconds_t)me * 10 + 1);
            }
        } while (answer == STREAM_RETRY);
        if (answer == STREAM_YOURS) {
            atomic_fetch_add(&race->yours, 1);
        } else if (answer != STREAM_TAKEN) {
            atomic_fetch_add(&race->odd, 1);
        }
        atomic_fetch_add(&race->arrived, 1);
    }
}

static uint32_t
used_records(void)
{
    struct live_memory_view v;

    live_memory(&v);
    return v.streams;
}

static void
test_processes_claim_one_name(void **state)
{
    struct errmsg err;
    int status;
    struct race *race = shared_create("race", sizeof(*race), SHARED_ALL, &err);

    (void)state;
    for (int i = 0; i < CLAIMERS; i++) {
        int slot = slot_take(SLOT_WORKER, "claimer", (uint32_t)i, 0);

        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody else would end it */
            slot_set_self((uint32_t)slot);
            claim_in_turn(race, i);
            _exit(0);
        }
    }
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        atomic_store(&race->arrived, 0);
        atomic_store(&race->round, round);
        while (atomic_load(&race->arrived) < CLAIMERS) {
            sched_yield();
        }
        assert_int_equal(atomic_load(&race->odd), 0);
        assert_int_equal(atomic_load(&race->yours), round);
        assert_int_equal(used_records(), 1);
        for (uint32_t n = 0; n < arena.stream_count; n++) {
            names_release(n);
        }
    }
    for (int i = 0; i < CLAIMERS; i++) {
        wait(&status);
        assert_int_equal(status, 0);
    }
    shared_destroy(race);
}

/* ---- changing hands ---- */

/* Speaks as another process from now; returns who spoke before. */
static uint32_t
become(uint32_t slot)
{
    uint32_t before = slot_self();

    slot_set_self(slot);
    return before;
}

static uint32_t
new_process(void)
{
    return (uint32_t)slot_take(SLOT_WORKER, "other", 1, 0);
}

static void
test_asked_and_handed_over(void **state)
{
    struct stream *s = fixture_stream("live/a");
    uint32_t other = new_process(), third = new_process();
    uint32_t self = become(other);
    struct errmsg err;

    (void)state;
    assert_int_equal(stream_ask(s, &err), 0);
    assert_int_equal(atomic_load(&arena.pages[self].pending), 1);
    become(third);
    assert_int_equal(stream_ask(s, &err), -1);
    assert_non_null(strstr(err.text, "taking live/a over"));
    assert_false(stream_unask(s)); /* not its question */
    become(self);
    assert_true(stream_hand_over(s));
    assert_false(stream_hand_over(s));
    assert_int_equal(atomic_load(&s->writer), slot_owner_of(other));
    assert_int_equal(atomic_load(&arena.pages[other].pending), 1);
    become(other);
    assert_false(stream_unask(s)); /* it was answered */
    become(self);
}

static void
test_question_taken_back(void **state)
{
    struct stream *s = fixture_stream("live/a");
    uint32_t other = new_process(), self = become(other);
    struct errmsg err;

    (void)state;
    assert_int_equal(stream_ask(s, &err), 0);
    assert_true(stream_unask(s));
    become(self);
    assert_false(stream_hand_over(s));
    assert_int_equal(atomic_load(&s->writer), slot_owner_of(self));
}

static void
test_leaving_gives_it_to_who_asked(void **state)
{
    struct stream *s = fixture_stream("live/a");
    uint32_t other = new_process(), self = become(other);
    struct errmsg err;

    (void)state;
    assert_int_equal(stream_ask(s, &err), 0);
    become(self);
    stream_leave(s);
    assert_int_equal(atomic_load(&s->writer), slot_owner_of(other));
}

/* The heir died and was swept between its question and the answer. */
static void
test_a_dead_heir_gets_nothing(void **state)
{
    struct stream *s = fixture_stream("live/a"), *again;
    uint32_t other = new_process();

    (void)state;
    atomic_store(&s->takeover, slot_owner_of(other));
    write_frame(s);
    slot_release(other);
    assert_true(stream_hand_over(s));
    assert_int_equal(atomic_load(&s->writer), 0);
    assert_true(atomic_load(&s->hold_until) > clock_ms());
    assert_int_equal(claim("live/a", &again), STREAM_YOURS);
}

static void
test_replaced_too_often(void **state)
{
    struct stream *s = fixture_stream("live/a");
    uint32_t other = new_process(), self = become(other);
    struct errmsg err;

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(stream_ask(s, &err), 0);
        assert_true(stream_unask(s));
    }
    assert_int_equal(stream_ask(s, &err), -1);
    assert_non_null(strstr(err.text, "twice within 10 s"));
    assert_int_equal(atomic_load(&s->takeover), 0);
    /* The first of them is long ago: one more may come. */
    atomic_store(&s->replaced_ms[0], clock_ms() - 10001);
    assert_int_equal(stream_ask(s, &err), 0);
    become(self);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_finds_what_was_claimed),
        TEST(test_one_publisher_a_name),
        TEST(test_what_had_no_frame_is_not_held),
        TEST(test_no_room),
        TEST(test_asks_to_come_again),
        TEST(test_a_record_used_anew_is_another),
        TEST(test_processes_claim_one_name),
        cmocka_unit_test_setup_teardown(test_processes_claim_one_name,
                                        setup_many, teardown),
        TEST(test_asked_and_handed_over),
        TEST(test_question_taken_back),
        TEST(test_leaving_gives_it_to_who_asked),
        TEST(test_a_dead_heir_gets_nothing),
        TEST(test_replaced_too_often),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
