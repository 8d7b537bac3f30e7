/*
 * What a play, a publish and an accepted connection cost inside a worker, in a
 * small installation and in the largest: none may grow with what there is.
 *
 *   costs [--check]   prints a table; --check: exits with 1 when a bar is
 * missed
 *
 * It is linked with weir's own code and needs a second.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "live/arena.h"
#include "live/stream.h"
#include "proc/census.h"

#define NAMES 32 /* that are played and published */
#define ROUNDS 300
#define WORKERS 4
#define BAR_NS 1000 /* more than in the small installation, at most */

enum { PLAY, PLAY_ABSENT, PUBLISH, ACCEPT, COSTS };

static const char *const titles[COSTS] = {
    [PLAY] = "play: the stream is there",
    [PLAY_ABSENT] = "play: it is not",
    [PUBLISH] = "publish: a new name",
    [ACCEPT] = "accept: connections of an address",
};

static void
give_up(const struct errmsg *err)
{
    fprintf(stderr, "costs: %s\n", err->text);
    exit(2);
}

static void
begin(int64_t streams, uint32_t slots)
{
    struct live_settings settings = { .memory = INT64_C(8) << 20,
                                      .max_streams = streams,
                                      .max_sessions = 64,
                                      .window = 8000,
                                      .max_stream_memory = 1 << 20,
                                      .hold = 10000 };
    struct errmsg err;

    if (slots_create(slots, &err) == -1 || live_create(&settings, &err) == -1 ||
        census_create(4096, slots, &err) == -1) {
        give_up(&err);
    }
    for (uint32_t i = 0; i < WORKERS; i++) {
        slot_set_self((uint32_t)slot_take(SLOT_WORKER, "worker", i, 0));
    }
}

static void
end(void)
{
    census_destroy();
    live_destroy();
    slots_destroy();
}

/* Keys alone: nobody looks into the records of these. */
static void
fill(uint32_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t hash = i * UINT64_C(0x9e3779b97f4a7c15) >> 12;
        uint32_t n = names_claim(key_make(STREAM_CLAIMED, slot_self(), hash));

        if (n == RECORD_NONE || !names_enter(n)) {
            give_up(&(struct errmsg){ "the table cannot be filled" });
        }
        atomic_store(&arena.keys[n], key_make(STREAM_OPEN, 0, hash));
    }
}

static struct str
name_of(char text[32], int i)
{
    int len = snprintf(text, 32, "live/stream-%d", i);

    return str_of(text, (size_t)len);
}

static void
publish_all(void)
{
    char text[32];

    for (int i = 0; i < NAMES; i++) {
        struct live_publish what = { .name = name_of(text, i),
                                     .chunk_size = 4096 };
        struct stream *s;

        if (stream_claim(&what, &s) != STREAM_YOURS) {
            give_up(&(struct errmsg){ "a name cannot be had" });
        }
    }
}

static void
play_all(int first)
{
    char text[32];
    int found = 0;

    for (int i = 0; i < NAMES; i++) {
        found += stream_find(name_of(text, first + i)) != NULL;
    }
    if (found != (first == 0 ? NAMES : 0)) {
        give_up(&(struct errmsg){ "a name is not found" });
    }
}

static void
release_all(void)
{
    char text[32];

    for (int i = 0; i < NAMES; i++) {
        names_release(stream_number(stream_find(name_of(text, i))));
    }
}

static void
accept_all(void)
{
    for (uint64_t i = 0; i < NAMES; i++) {
        if (census_of(i * UINT64_C(0x9e3779b97f4a7c15)).connections != 0) {
            give_up(&(struct errmsg){ "a connection that is not there" });
        }
    }
}

/* Nanoseconds of each since *from: the least of all rounds, for the machine may
 * do something else meanwhile. */
static void
stop_watch(int64_t *from, double *least)
{
    int64_t now = clock_us();
    double ns = (double)(now - *from) * 1000 / NAMES;

    *least = *least == 0 || ns < *least ? ns : *least;
    *from = clock_us();
}

static void
measure(int64_t streams, uint32_t slots, double ns[COSTS])
{
    begin(streams, slots);
    fill((uint32_t)streams - NAMES);
    memset(ns, 0, COSTS * sizeof(*ns));
    for (int i = 0; i < ROUNDS; i++) {
        int64_t at = clock_us();

        publish_all();
        stop_watch(&at, &ns[PUBLISH]);
        play_all(0);
        stop_watch(&at, &ns[PLAY]);
        play_all(NAMES);
        stop_watch(&at, &ns[PLAY_ABSENT]);
        accept_all();
        stop_watch(&at, &ns[ACCEPT]);
        release_all();
    }
    end();
}

int
main(int argc, char **argv)
{
    bool check = argc == 2 && strcmp(argv[1], "--check") == 0;
    double small[COSTS], large[COSTS];
    int missed = 0;

    log_set(LOG_CRIT, LOG_TEXT);
    hash_init();
    measure(64, 16, small);
    measure(65536, 1024, large);
    printf("\nOne call, in ns, with max_streams 64, 16 slots and with "
           "max_streams 65536, 1024 slots; all records taken, %d workers\n\n"
           "| call | small | large |\n|---|---|---|\n",
           WORKERS);
    for (int i = 0; i < COSTS; i++) {
        bool over = large[i] - small[i] > BAR_NS;

        missed += over;
        printf("| %s | %.0f | %.0f%s |\n", titles[i], small[i], large[i],
               over ? " (bar missed)" : "");
    }
    return check && missed > 0 ? 1 : 0;
}
