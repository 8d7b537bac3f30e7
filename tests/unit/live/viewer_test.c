/*
 * Viewers: entered, found, counted, kicked and ended.
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

#include "net/exceptions.h"
#include "viewer_fixture.h"

/* ---- one process ---- */

static void
on_viewer(void *arg, struct str name, enum live_kind kind)
{
    unsigned *met = arg;

    assert_true(str_eq(name, STR("live/a")));
    assert_int_equal(kind, LIVE_KIND_HLS);
    (*met)++;
}

static void
test_is_a_player_like_others(void **state)
{
    struct live_viewer v = viewer(1, "live/a");
    struct live_tally *tally;
    struct live_stream_view s;
    struct seen seen;
    uint32_t at = 0;
    unsigned met = 0;

    (void)state;
    assert_int_equal(addr_parse_ip(STR("192.0.2.7"), &v.peer), 0);
    assert_int_equal(live_viewer_came(&v, 100, 10, &(struct errmsg){ "" }),
                     LIVE_VIEWER_COUNTED);
    assert_int_equal(live_viewer_came(&v, 200, 20, &(struct errmsg){ "" }),
                     LIVE_VIEWER_COUNTED);
    assert_true(take(1, "live/a"));
    seen = sessions();
    assert_int_equal(seen.count, 1);
    assert_int_equal(live_count_viewers(), 1);
    live_each_viewer(on_viewer, &met);
    assert_int_equal(met, 1);
    assert_false(seen.last.publisher);
    assert_int_equal(slot_owner_number(seen.last.owner), LIVE_NO_SLOT);
    assert_string_equal(live_kind_name(seen.last.kind), "hls");
    assert_string_equal(seen.last.name, "live/a");
    assert_string_equal(seen.last.url, "http://h/live/a.m3u8");
    assert_true(addr_eq(&seen.last.peer, &v.peer));
    assert_int_equal(seen.last.video_bytes, 1300);
    assert_int_equal(seen.last.audio_bytes, 31);
    tally = live_tally_new();
    assert_true(live_next_stream(tally, &at, &s));
    assert_int_equal(s.players, 1);
    live_tally_free(&tally);
}

static void
test_known_by_id_and_name(void **state)
{
    (void)state;
    assert_false(take(1, "live/a"));
    assert_int_equal(sessions().count, 0);
    come(1, "live/a");
    assert_true(take(1, "live/a"));
    assert_false(take(2, "live/a"));
    assert_false(take(1, "live/b"));
    come(1, "live/b");
    come(2, "live/a");
    assert_int_equal(sessions().count, 3);
    come(2, "live/a");
    assert_int_equal(sessions().count, 3);
}

static void
test_names_that_are_too_long(void **state)
{
    char name[LIVE_NAME_MAX + 1];

    (void)state;
    memset(name, 'n', sizeof(name));
    name[LIVE_NAME_MAX] = '\0';
    assert_int_equal(come(1, name), LIVE_VIEWER_FULL);
    assert_false(take(1, name));
    name[LIVE_NAME_MAX - 1] = '\0';
    assert_int_equal(come(1, name), LIVE_VIEWER_COUNTED);
    assert_true(take(1, name));
}

static void
test_ends_when_it_does_not_come(void **state)
{
    struct live_viewer v = viewer(1, "live/a");
    int64_t before = clock_ms();

    (void)state;
    v.lasts = 30;
    come(2, "live/a");
    live_viewer_came(&v, 0, 0, &(struct errmsg){ "" });
    while (sessions().count > 1) {
        viewers_sweep();
        sched_yield();
    }
    assert_true(clock_ms() - before >= 30);
    assert_false(take(1, "live/a"));
    assert_true(take(2, "live/a"));
    sweep();
    assert_int_equal(taken(), 1);
}

/* Whatever stands in its record. */
static void
test_a_request_counts_for_no_longer_than_any_may(void **state)
{
    struct session_record *r = &arena.sessions[0];

    (void)state;
    come(1, "live/a");
    atomic_store(&r->lasts, UINT32_MAX);
    assert_true(take(1, "live/a"));
    assert_true(atomic_load(&r->until_ms) <= clock_ms() + LIVE_VIEWER_MAX);
}

static void
test_each_request_counts_for_its_time(void **state)
{
    struct session_record *r = &arena.sessions[0];

    (void)state;
    come(1, "live/a");
    assert_int_equal(taken(), 1);
    for (int i = 0; i < 3; i++) {
        atomic_store(&r->until_ms, clock_ms() + 1);
        assert_true(i % 2 == 0 ? take(1, "live/a")
                               : come(1, "live/a") == LIVE_VIEWER_COUNTED);
        assert_true(atomic_load(&r->until_ms) > clock_ms() + LASTS / 2);
    }
    sweep();
    assert_int_equal(sessions().count, 1);
}

static void
test_ends_with_its_stream(void **state)
{
    (void)state;
    come(1, "live/a");
    come(2, "live/b");
    names_release(stream_number(stream_find(STR("live/a"))));
    sweep();
    assert_int_equal(taken(), 1);
    assert_true(take(2, "live/b"));
}

/* A process that has found the record may still be counting into it. */
static void
test_not_used_again_before_all_have_made_a_turn(void **state)
{
    struct slot *self = slot_at(slot_self());

    (void)state;
    come(1, "live/a");
    atomic_store(&self->epoch_seen, atomic_load(&arena.head->epoch));
    expire_all();
    for (int i = 0; i < 3; i++) {
        sweep();
        assert_int_equal(sessions().count, 0);
        assert_int_equal(taken(), 1);
    }
    come(1, "live/a"); /* it is another one */
    assert_int_equal(taken(), 2);
    atomic_store(&self->epoch_seen, UINT64_MAX);
    sweep();
    assert_int_equal(taken(), 1);
    assert_true(take(1, "live/a"));
}

static void
test_all_are_taken(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < SESSIONS; n++) {
        assert_int_equal(come(n, "live/a"), LIVE_VIEWER_COUNTED);
    }
    assert_int_equal(come(SESSIONS, "live/a"), LIVE_VIEWER_FULL);
    for (uint64_t n = 0; n < SESSIONS; n++) {
        assert_true(take(n, "live/a"));
    }
    expire_all();
    sweep();
    assert_int_equal(taken(), 0);
    assert_int_equal(come(SESSIONS, "live/a"), LIVE_VIEWER_COUNTED);
}

static void
test_as_many_as_the_operator_allows(void **state)
{
    struct exception e = { .kind = EXCEPTION_PLAYERS, .most = 2 };
    struct errmsg err;

    (void)state;
    assert_int_equal(exceptions_create(&err), 0);
    str_copy(e.stream, sizeof(e.stream), STR("live/a"));
    assert_int_equal(exceptions_set(&e, &err), 0);
    assert_int_equal(come(1, "live/a"), LIVE_VIEWER_COUNTED);
    assert_int_equal(come(2, "live/a"), LIVE_VIEWER_COUNTED);
    assert_int_equal(come(3, "live/a"), LIVE_VIEWER_FULL);
    assert_int_equal(come(1, "live/a"), LIVE_VIEWER_COUNTED);
    assert_int_equal(come(3, "live/b"), LIVE_VIEWER_COUNTED);
    atomic_store(&arena.sessions[0].until_ms, 1);
    viewers_sweep();
    assert_int_equal(come(3, "live/a"), LIVE_VIEWER_COUNTED);
    exceptions_destroy();
}

static void
test_a_hundred_thousand(void **state)
{
    (void)state;
    for (uint64_t n = 0; n < 100000; n++) {
        if (n % SESSIONS == 0) {
            expire_all();
            sweep();
            assert_int_equal(taken(), 0);
        }
        assert_int_equal(come(n, "live/a"), LIVE_VIEWER_COUNTED);
        assert_true(take(n, "live/a"));
        assert_true(take(n - n % SESSIONS, "live/a"));
    }
}

/* ---- kicks ---- */

static unsigned
kick_stream(const char *name)
{
    struct live_kick k = { .name = str_from(name), .players = true };

    return live_kick_viewers(&k, 1000000);
}

static void
test_kicked(void **state)
{
    struct live_kick k = { .slot = LIVE_NO_SLOT };

    (void)state;
    come(1, "live/a");
    come(2, "live/a");
    k.serial = (uint32_t)sessions().last.id;
    assert_int_equal(live_kick_viewers(&k, 1000000), 1);
    assert_int_equal(live_kick_viewers(&k, 1000000), 0);
    assert_int_equal(sessions().count, 1);
    assert_int_equal(live_count_viewers(), 1);
    assert_int_equal(come(2, "live/a"), LIVE_VIEWER_KICKED);
    assert_false(take(2, "live/a"));
    assert_int_equal(come(1, "live/a"), LIVE_VIEWER_COUNTED);
    sweep();
    assert_int_equal(come(2, "live/a"), LIVE_VIEWER_KICKED);
    expire_all();
    sweep();
    assert_int_equal(come(2, "live/a"), LIVE_VIEWER_COUNTED);
    assert_int_equal(sessions().count, 1);
}

static void
test_kicked_for_no_time(void **state)
{
    struct live_kick k = { .name = STR("live/a"), .players = true };

    (void)state;
    come(1, "live/a");
    assert_int_equal(live_kick_viewers(&k, 0), 1);
    assert_int_equal(sessions().count, 0);
    viewers_sweep();
    assert_int_equal(come(1, "live/a"), LIVE_VIEWER_COUNTED);
}

static void
test_kicked_with_others(void **state)
{
    struct live_viewer v = viewer(9, "live/b");
    struct str rule = STR("allow 192.0.2.0/24");
    struct pool *pool = pool_new(256);
    struct live_kick from = { .from = access_parse(pool, &rule, 1) };
    struct live_kick publishers = { .name = STR("live/b"), .publishers = true };

    (void)state;
    come(1, "live/a");
    come(2, "live/a");
    assert_int_equal(addr_parse_ip(STR("192.0.2.7"), &v.peer), 0);
    live_viewer_came(&v, 0, 0, &(struct errmsg){ "" });
    assert_int_equal(kick_stream("live/c"), 0);
    assert_int_equal(kick_stream("live/a"), 2);
    assert_int_equal(live_kick_viewers(&publishers, 1000000), 0);
    assert_true(take(9, "live/b"));
    assert_int_equal(live_kick_viewers(&from, 1000000), 1);
    assert_false(take(9, "live/b"));
    assert_int_equal(sessions().count, 0);
    pool_free(&pool);
}

/* A session of a process is that process's to end. */
static void
test_others_are_not_kicked(void **state)
{
    struct record_text text = { .name = STR("live/a"), .role = SESSION_PLAYER };

    (void)state;
    assert_non_null(record_take(&text, &(struct errmsg){ "" }));
    assert_int_equal(kick_stream("live/a"), 0);
    assert_int_equal(sessions().count, 1);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_is_a_player_like_others),
        TEST(test_known_by_id_and_name),
        TEST(test_names_that_are_too_long),
        TEST(test_ends_when_it_does_not_come),
        TEST(test_a_request_counts_for_no_longer_than_any_may),
        TEST(test_each_request_counts_for_its_time),
        TEST(test_ends_with_its_stream),
        TEST(test_not_used_again_before_all_have_made_a_turn),
        TEST(test_all_are_taken),
        TEST(test_as_many_as_the_operator_allows),
        TEST(test_a_hundred_thousand),
        TEST(test_kicked),
        TEST(test_kicked_for_no_time),
        TEST(test_kicked_with_others),
        TEST(test_others_are_not_kicked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
