/*
 * A stream with its writer, played by another process, for tests of appending.
 *
 * Include it behind cmocka.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_WRITER_FIXTURE_H
#define TESTS_WRITER_FIXTURE_H

#include "arena_fixture.h"

static struct stream *s;
static struct writer w;

static inline int
setup(void **state)
{
    (void)state;
    fixture_arena();
    s = fixture_stream("live/a");
    writer_start(&w, s);
    fixture_play(s);
    return 0;
}

static inline int
teardown(void **state)
{
    (void)state;
    fixture_arena_end();
    return 0;
}

static inline uint64_t
tail(void)
{
    return atomic_load(&s->tail);
}

static inline uint64_t
head(void)
{
    return atomic_load(&s->head);
}

static inline uint64_t
start(void)
{
    return atomic_load(&s->start);
}

static inline uint32_t
time_of_last(void)
{
    return frame_at(s, tail() - 1)->timestamp;
}

#endif
