/*
 * An arena for tests of viewers (live/viewer.h), with two streams.
 *
 * Include it behind cmocka.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_VIEWER_FIXTURE_H
#define TESTS_VIEWER_FIXTURE_H

#include "arena_fixture.h"
#include "live/record.h"
#include "live/viewer.h"

#define SESSIONS 1024
#define LASTS 60000

static inline int
setup(void **state)
{
    static const struct live_settings settings = {
        .memory = 4 * 1024 * 1024,
        .max_streams = 8,
        .max_sessions = SESSIONS,
        .window = 8000,
        .max_stream_memory = 1024 * 1024,
        .hold = 10000,
    };
    struct errmsg err;

    (void)state;
    log_set(LOG_CRIT, LOG_TEXT);
    hash_init();
    assert_int_equal(slots_create(FIXTURE_SLOTS, &err), 0);
    assert_int_equal(live_create(&settings, &err), 0);
    slot_set_self((uint32_t)slot_take(SLOT_WORKER, "test", 0, 0));
    fixture_stream("live/a");
    fixture_stream("live/b");
    return 0;
}

static inline int
teardown(void **state)
{
    (void)state;
    fixture_arena_end();
    return 0;
}

static inline struct live_viewer
viewer(uint64_t n, const char *name)
{
    return (struct live_viewer){ .id = { { n, ~n } },
                                 .name = str_from(name),
                                 .url = STR("http://h/live/a.m3u8"),
                                 .kind = LIVE_KIND_HLS,
                                 .lasts = LASTS };
}

static inline enum live_viewer_answer
come(uint64_t n, const char *name)
{
    struct live_viewer v = viewer(n, name);

    return live_viewer_came(&v, 100, 10, &(struct errmsg){ "" });
}

static inline bool
take(uint64_t n, const char *name)
{
    return live_viewer_took(viewer(n, name).id, str_from(name), 1000, 1);
}

struct seen {
    unsigned count;
    struct live_session_view last;
};

static inline bool
note(void *arg, const struct live_session_view *v)
{
    struct seen *seen = arg;

    seen->count++;
    seen->last = *v;
    return true;
}

static inline struct seen
sessions(void)
{
    struct seen seen = { 0 };

    live_each_session(note, &seen);
    return seen;
}

/* Claims that are not free. */
static inline unsigned
taken(void)
{
    unsigned count = 0;

    for (uint32_t n = 0; n < SESSIONS; n++) {
        count += atomic_load(&arena.claims[n].owner) != 0;
    }
    return count;
}

/* Their time is over. */
static inline void
expire_all(void)
{
    for (uint32_t n = 0; n < SESSIONS; n++) {
        atomic_store(&arena.sessions[n].until_ms, 1);
        atomic_store(&arena.sessions[n].kicked_until, 1);
    }
}

static inline void
sweep(void)
{
    for (int i = 0; i < 4; i++) { /* VIEWER, GONE, RETIRED, free */
        while (viewers_sweep()) {
        }
    }
}

#endif
