/*
 * Walks over ten thousand sessions: all of them, quickly, in short steps.
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

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/log.h"
#include "collect.h"
#include "live/record.h"

#define SESSIONS 10000
#define PUBLISHERS 500

/* Microseconds of processor time.  Usual are 20 000 for all and less than 1000
 * for a step: no busy machine gets here, nor do sanitizers. */
#define BLUNDER (2000 * 1000)
#define BLUNDER_OF_STEP (200 * 1000)

static void
take(unsigned i)
{
    char name[64], url[128];
    struct record_text text = {
        .peer = { .family = AF_INET, .port = 1935, .ip = { 10, 0, 0, 1 } },
        .stream_id = 1,
        .role = i < PUBLISHERS ? SESSION_PUBLISHER : SESSION_PLAYER,
    };
    struct session_record *r;

    snprintf(name, sizeof(name), "live/room-%u", i % PUBLISHERS);
    snprintf(url, sizeof(url), "rtmp://media.example:1935/%s?token=***&n=%u",
             name, i);
    text.name = str_from(name);
    text.url = str_from(url);
    r = record_take(&text, &(struct errmsg){ "" });
    assert_non_null(r);
    record_count(r, 1000000, 1000000 + i, 50000);
}

static int
setup(void **state)
{
    static const struct live_settings settings = {
        .memory = 8 * 1024 * 1024,
        .max_streams = 8,
        .max_sessions = 65536,
        .window = 8000,
        .max_stream_memory = 2 * 1024 * 1024,
    };
    struct errmsg err;

    (void)state;
    log_set(LOG_CRIT, LOG_TEXT);
    hash_init();
    assert_int_equal(slots_create(4, &err), 0);
    assert_int_equal(live_create(&settings, &err), 0);
    slot_set_self((uint32_t)slot_take(SLOT_WORKER, "worker 0", 0, 0));
    return 0;
}

static int
setup_many(void **state)
{
    setup(state);
    for (unsigned i = 0; i < SESSIONS; i++) {
        take(i);
    }
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    live_destroy();
    slots_destroy();
    return 0;
}

/* Processor time of this thread, microseconds. */
static int64_t
cpu_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

struct outcome {
    unsigned rows;
    int64_t us, longest_us;
    size_t bytes, largest;
};

static unsigned
count(struct str text, const char *word)
{
    unsigned n = 0;
    size_t len = strlen(word);
    const char *at;

    while ((at = memmem(text.ptr, text.len, word, len)) != NULL) {
        n++;
        text = str_skip(text, (size_t)(at - text.ptr) + len);
    }
    return n;
}

static struct outcome
walk(enum walk_kind kind, struct str key, uint32_t limit, struct buf *all)
{
    struct outcome o = { 0 };
    struct walk w;
    bool more = true;
    int64_t begin = cpu_us();

    walk_begin(&w, kind, key, limit);
    while (more) {
        int64_t before = cpu_us(), us;

        more = walk_step(&w);
        us = cpu_us() - before;
        o.longest_us = us > o.longest_us ? us : o.longest_us;
        o.largest = buf_len(&w.out) > o.largest ? buf_len(&w.out) : o.largest;
        o.bytes += buf_len(&w.out);
        buf_add_str(all, buf_str(&w.out));
        buf_take(&w.out, buf_len(&w.out));
    }
    walk_end(&w);
    o.us = cpu_us() - begin;
    o.rows = count(buf_str(all), "{\"key\":") + count(buf_str(all), "{\"id\":");
    return o;
}

static void
test_livestat(void **state)
{
    struct buf all;
    struct outcome o;

    (void)state;
    buf_init(&all, 64 * 1024 * 1024);
    o = walk(WALK_LIVESTAT, STR_NONE, 0, &all);
    print_message("%u sessions, %zu bytes: %lld us, a step %lld us and %zu "
                  "bytes at most\n",
                  o.rows, o.bytes, (long long)o.us, (long long)o.longest_us,
                  o.largest);
    assert_int_equal(o.rows, SESSIONS);
    assert_true(o.us < BLUNDER);
    assert_true(o.longest_us < BLUNDER_OF_STEP);
    assert_true(o.largest < 256 * 1024);
    assert_true(str_starts(buf_str(&all), STR("{\"publishers\":[{\"key\":")));
    assert_true(str_ends(buf_str(&all), STR("}]}")));
    buf_clear(&all);
}

static void
test_one_room(void **state)
{
    struct buf all;
    struct outcome o;

    (void)state;
    buf_init(&all, 1024 * 1024);
    o = walk(WALK_LIVESTAT, STR("live/room-7"), 0, &all);
    assert_int_equal(o.rows, SESSIONS / PUBLISHERS);
    assert_int_equal(count(buf_str(&all), "\"key\":\"live/room-7\""), o.rows);
    assert_true(o.us < BLUNDER);
    buf_clear(&all);
}

static void
test_limit(void **state)
{
    struct buf all;
    struct outcome o;

    (void)state;
    buf_init(&all, 64 * 1024 * 1024);
    o = walk(WALK_SESSIONS, STR_NONE, 1000, &all);
    assert_int_equal(o.rows, 1000);
    assert_true(str_ends(buf_str(&all), STR("}],\"more\":9000}")));
    buf_clear(&all);
}

static void
test_nobody(void **state)
{
    static const struct {
        enum walk_kind kind;
        const char *text;
    } rows[] = {
        { WALK_LIVESTAT, "{\"publishers\":[],\"players\":[]}" },
        { WALK_STREAMS, "{\"streams\":[]}" },
        { WALK_SESSIONS, "{\"sessions\":[]}" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf all;

        buf_init(&all, 1000);
        walk(rows[i].kind, STR_NONE, 0, &all);
        assert_true(str_eq(buf_str(&all), str_from(rows[i].text)));
        buf_clear(&all);
    }
}

/* The client went: what was made is given back. */
static void
test_given_up(void **state)
{
    struct walk w;

    (void)state;
    walk_begin(&w, WALK_STREAMS, STR_NONE, 0);
    walk_end(&w);
    walk_begin(&w, WALK_SESSIONS, STR_NONE, 0);
    walk_step(&w);
    walk_end(&w);
}

/* Names are bytes of strangers: the answer is JSON all the same, however long
 * they get. */
static void
test_strange_words(void **state)
{
    char name[LIVE_NAME_MAX], url[LIVE_URL_MAX];
    struct record_text text = { .role = SESSION_PLAYER };
    struct buf all;
    struct outcome o;

    (void)state;
    memset(name, 1, sizeof(name));
    memset(url, 0xff, sizeof(url));
    text.name = str_of(name, sizeof(name) - 1);
    text.url = str_of(url, sizeof(url));
    for (int i = 0; i < 1000; i++) {
        assert_non_null(record_take(&text, &(struct errmsg){ "" }));
    }
    buf_init(&all, 64 * 1024 * 1024);
    o = walk(WALK_LIVESTAT, STR_NONE, 0, &all);
    assert_int_equal(o.rows, 1000);
    assert_true(str_ends(buf_str(&all), STR("}]}")));
    buf_clear(&all);
}

int
main(void)
{
#define TEST(f, setup) cmocka_unit_test_setup_teardown(f, setup, teardown)
    static const struct CMUnitTest tests[] = {
        TEST(test_livestat, setup_many), TEST(test_one_room, setup_many),
        TEST(test_limit, setup_many),    TEST(test_nobody, setup),
        TEST(test_given_up, setup_many), TEST(test_strange_words, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
