/*
 * For tests of entries that run: a run, its good end, and calls of the store
 * that are made later.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_LIFE_HELP_H
#define MODULES_DOWNLOADS_FETCHER_LIFE_HELP_H

#include "fetcher/queue_fake.h"

static const struct run_result good = { .finished = true,
                                        .file = { "media.mp4", 9 } };

/* It runs. */
static inline struct entry *
started(const char *url)
{
    struct entry *e;

    fetcher.draining = false;
    e = add(url, false);
    turns();
    assert_asks("claim");
    fake_answer(STORE_OK);
    turns();
    fake_log[0] = answers[0] = '\0';
    return e;
}

/* Until the oldest call that waits is that one. */
static inline void
wait_for_call(const char *name)
{
    for (int i = 0; i < 600 && fake_waiting() == 0; i++) {
        loop_turn(fetcher.loop, 10);
    }
    assert_asks(name);
}

#endif
