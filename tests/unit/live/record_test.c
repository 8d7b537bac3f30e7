/*
 * Session records: taken, filled, read while they change.
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
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arena_fixture.h"
#include "live/record.h"

static int
setup(void **state)
{
    (void)state;
    fixture_arena();
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    fixture_arena_end();
    return 0;
}

static struct session_record *
take(const char *name, const char *url)
{
    struct record_text text = { .name = str_from(name),
                                .url = str_from(url),
                                .stream_id = 3,
                                .role = SESSION_PUBLISHER };

    return record_take(&text, &(struct errmsg){ "" });
}

struct seen {
    unsigned count, wrong;
    struct live_session_view last;
};

static bool
note(void *arg, const struct live_session_view *v)
{
    struct seen *seen = arg;

    seen->count++;
    seen->last = *v;
    return true;
}

static void
test_shows_what_was_put(void **state)
{
    struct session_record *r = take("live/a", "rtmp://h/live/a");
    struct seen seen = { 0 };

    (void)state;
    record_count(r, clock_ms(), 1000, 10);
    record_count(r, clock_ms(), 1, 0);
    assert_true(str_eq(record_name(r), STR("live/a")));
    live_each_session(note, &seen);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.last.name, "live/a");
    assert_string_equal(seen.last.url, "rtmp://h/live/a");
    assert_true(seen.last.publisher);
    assert_int_equal(seen.last.stream_id, 3);
    assert_int_equal(seen.last.video_bytes, 1001);
    assert_int_equal(seen.last.audio_bytes, 10);
    record_free(&r);
    assert_null(r);
    record_free(&r);
    seen.count = 0;
    live_each_session(note, &seen);
    assert_int_equal(seen.count, 0);
}

static void
test_long_words_are_cut(void **state)
{
    char name[LIVE_NAME_MAX], url[2000];
    struct seen seen = { 0 };

    (void)state;
    memset(name, 'n', sizeof(name));
    memset(url, 'u', sizeof(url));
    name[sizeof(name) - 1] = url[sizeof(url) - 1] = '\0';
    take(name, url);
    live_each_session(note, &seen);
    assert_string_equal(seen.last.name, name);
    assert_int_equal(strlen(seen.last.url), 1024 - strlen(name) - 1);
}

static void
test_all_taken(void **state)
{
    struct session_record *r = NULL, *last = NULL;
    unsigned count = 0;

    (void)state;
    while ((r = take("live/a", "u")) != NULL) {
        last = r;
        count++;
    }
    assert_int_equal(count, arena.session_count);
    r = last;
    record_free(&last);
    assert_ptr_equal(take("live/b", "u"), r);
}

static void
test_the_dead_are_swept(void **state)
{
    uint32_t self = slot_self();
    struct session_record *r;
    struct seen seen = { 0 };

    (void)state;
    take("live/mine", "u");
    slot_set_self((uint32_t)slot_take(SLOT_WORKER, "other", 1, 0));
    r = take("live/theirs", "u");
    atomic_fetch_add(&arena.claims[r - arena.sessions].sequence, 1);
    /* killed while it wrote */
    live_sweep(slot_self());
    slot_set_self(self);
    live_each_session(note, &seen);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.last.name, "live/mine");
    while (take("live/new", "u") != NULL) {
    }
    seen.count = 0;
    live_each_session(note, &seen);
    assert_int_equal(seen.count, arena.session_count);
}

/* A look at all sessions, and the sweep, stay where records were taken: the
 * rest of a large table is memory that nobody has touched. */
static void
test_end_of_what_was_taken(void **state)
{
    uint32_t first = arena.session_hint, end;
    struct session_record *r;

    (void)state;
    assert_int_equal(atomic_load(&arena.head->session_end), 0);
    r = take("live/a", "u");
    end = atomic_load(&arena.head->session_end);
    assert_int_equal(end, first + 1);
    for (int i = 0; i < 100; i++) {
        record_free(&r);
        r = take("live/a", "u");
    }
    assert_int_equal(atomic_load(&arena.head->session_end), end);
}

static unsigned
touched_pages(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    size_t all = arena.session_count * sizeof(struct session_record);
    unsigned char touched[64];
    unsigned n = 0;

    assert_true(all / size < sizeof(touched));
    assert_int_equal(mincore(arena.sessions, all, touched), 0);
    for (size_t i = 0; i <= (all - 1) / size; i++) {
        n += touched[i] & 1;
    }
    return n;
}

static void
test_memory_of_those_that_ended_is_given_back(void **state)
{
    struct session_record *all[64];
    struct seen seen = { 0 };
    unsigned most;

    (void)state;
    for (unsigned i = 0; i < 64; i++) {
        all[i] = take("live/a", "u");
        assert_non_null(all[i]);
    }
    most = touched_pages();
    for (unsigned i = 0; i < 64; i++) {
        if (i != 20) {
            record_free(&all[i]);
        }
    }
    records_trim();
    assert_in_range(touched_pages(), 1, 2); /* those of number 20 */
    assert_true(most > 10);
    live_each_session(note, &seen);
    assert_int_equal(seen.count, 1);
    assert_string_equal(seen.last.name, "live/a");
    assert_in_range(touched_pages(), 1, 2); /* looking touches nothing */
    for (unsigned i = 0; i < 64; i++) {
        if (i != 20) {
            assert_non_null(all[i] = take("live/b", "u"));
        }
    }
    assert_null(take("live/c", "u"));
}

/* Each of the words is one letter repeated; all three are the same. */
/* ---- how many play ---- */

static struct session_record *
take_as(enum session_role role, enum live_kind kind, const char *name)
{
    struct record_text text = { .name = str_from(name),
                                .role = role,
                                .kind = kind };

    return record_take(&text, &(struct errmsg){ "" });
}

static struct session_record *
play(const char *name)
{
    return take_as(SESSION_PLAYER, LIVE_KIND_RTMP, name);
}

/* Also when all have come before the first is judged. */
static void
test_who_came_first_may_play(void **state)
{
    struct str name = STR("live/a");
    struct session_record *r[5];

    (void)state;
    take_as(SESSION_PUBLISHER, LIVE_KIND_RTMP, "live/a");
    take_as(SESSION_PLAYER, LIVE_KIND_PUSH, "live/a");
    play("live/b");
    play("live/");
    for (size_t i = 0; i < 4; i++) {
        r[i] = play("live/a");
    }
    for (uint32_t most = 0; most < 6; most++) {
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(record_is_beyond(r[i], name, most), i >= most);
        }
    }
    record_free(&r[1]);
    assert_false(record_is_beyond(r[2], name, 2));
    assert_true(record_is_beyond(r[3], name, 2));
    r[4] = play("live/a"); /* in the place of r[1] */
    assert_true(record_is_beyond(r[4], name, 3));
    assert_false(record_is_beyond(r[4], name, 4));
}

/* Serial numbers begin anew some day. */
static void
test_who_came_first_when_numbers_begin_anew(void **state)
{
    struct session_record *a, *b;

    (void)state;
    atomic_store(&arena.head->session_serial, UINT32_MAX);
    a = play("live/a");
    b = play("live/a");
    assert_false(record_is_beyond(a, STR("live/a"), 1));
    assert_true(record_is_beyond(b, STR("live/a"), 1));
}

#define COMING 4

/* Takes a record and judges it when all have come so far; says 1: may play. */
static void
come(_Atomic uint32_t *here)
{
    struct session_record *r;

    atomic_fetch_add(here, 1);
    while (atomic_load(here) < COMING) {
        sched_yield();
    }
    r = play("live/a");
    _exit(!record_is_beyond(r, STR("live/a"), 2));
}

static void
test_no_more_play_than_may(void **state)
{
    _Atomic uint32_t *here = mmap(NULL, sizeof(*here), PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    (void)state;
    for (int round = 0; round < 50; round++) {
        int status, playing = 0;

        *here = 0;
        for (int i = 0; i < COMING; i++) {
            if (fork() == 0) {
                come(here);
            }
        }
        for (int i = 0; i < COMING; i++) {
            assert_int_not_equal(wait(&status), -1);
            playing += WEXITSTATUS(status);
        }
        assert_in_range(playing, 0, 2);
        for (uint32_t n = 0; n < arena.session_count; n++) {
            struct session_record *r = &arena.sessions[n];

            record_free(&r);
        }
    }
    munmap(here, sizeof(*here));
}

static bool
is_whole(void *arg, const struct live_session_view *v)
{
    struct seen *seen = arg;
    char c = v->name[0];
    size_t len = strlen(v->name);

    seen->count++;
    for (size_t i = 0; i < len; i++) {
        seen->wrong += v->name[i] != c || v->url[i] != c;
    }
    seen->wrong += v->stream_id != (uint32_t)c || len != (size_t)c;
    return true;
}

static void
change_for_ever(void)
{
    char words[256];

    for (unsigned i = 0;; i++) {
        uint32_t letter = 'a' + i % 26;
        struct record_text text = { .stream_id = letter };
        struct session_record *r;

        memset(words, (int)letter, letter);
        text.name = text.url = str_of(words, letter);
        r = record_take(&text, &(struct errmsg){ "" });
        record_free(&r);
    }
}

static void
test_never_half_old_half_new(void **state)
{
    struct seen seen = { 0 };
    uint32_t slot = (uint32_t)slot_take(SLOT_WORKER, "other", 1, 0);
    pid_t pid = fork();
    int64_t end = clock_ms() + 1000000;

    (void)state;
    if (pid == 0) {
        slot_set_self(slot);
        change_for_ever();
    }
    while (seen.count < 20000 && clock_ms() < end) {
        live_each_session(is_whole, &seen);
        records_trim(); /* what nobody has, between one and the next */
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_true(seen.count > 0);
    assert_int_equal(seen.wrong, 0);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_shows_what_was_put),
        TEST(test_long_words_are_cut),
        TEST(test_all_taken),
        TEST(test_the_dead_are_swept),
        TEST(test_end_of_what_was_taken),
        TEST(test_memory_of_those_that_ended_is_given_back),
        TEST(test_who_came_first_may_play),
        TEST(test_who_came_first_when_numbers_begin_anew),
        TEST(test_no_more_play_than_may),
        TEST(test_never_half_old_half_new),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
