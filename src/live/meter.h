/*
 * Bytes through a session or a stream: totals, and the recent speed.
 *
 * Its owner alone adds, or, where it has none, any process by
 * meter_add_shared().  Any process reads, by its own clock, so that the speed
 * of an idle session, or of a dead process, falls to 0.  Time is cut in
 * buckets.  When the owner comes to a new bucket it notes the totals so far (a
 * mark).  The speed is that of the bytes added since the newest mark before the
 * window.  The last marks are kept, however far apart they are.
 *
 * An addition touches one cache line; a mark is made twice a second at most.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_METER_H
#define LIVE_METER_H

#include <stdatomic.h>
#include <stdint.h>

#define METER_BUCKET_MS 500
/* The window: so many whole buckets and the present one. */
#define METER_BUCKETS 10
/* More marks than the window has buckets, so that the mark before it is still
 * there. */
#define METER_MARKS 16

struct meter_mark {
    _Atomic uint32_t bucket; /* that it is the end of; 0: none */
    _Atomic uint64_t video, audio;
};

struct meter {
    _Alignas(64) _Atomic uint64_t video; /* bytes */
    _Atomic uint64_t audio;
    _Atomic uint32_t bucket; /* of the last addition */
    _Atomic uint32_t marked; /* marks made */
    _Alignas(64) struct meter_mark marks[METER_MARKS];
};

struct meter_view {
    uint64_t video, audio;             /* bytes, in all */
    uint64_t video_speed, audio_speed; /* bit/s */
};

/* Owner, before any process may read: sets all to 0. */
void meter_clear(struct meter *m);
/* Owner: leaves a bucket for a later one; for meter_add(). */
void meter_mark(struct meter *m, uint32_t bucket);

/* The bucket of a moment; never 0. */
static inline uint32_t
meter_bucket(int64_t now)
{
    return (uint32_t)(now / METER_BUCKET_MS) + 1;
}

/* Owner: adds bytes; now is clock_ms() as its loop has it. */
static inline void
meter_add(struct meter *m, int64_t now, uint64_t video, uint64_t audio)
{
    uint32_t bucket = meter_bucket(now);
    uint64_t v, a;

    if (atomic_load_explicit(&m->bucket, memory_order_relaxed) != bucket) {
        meter_mark(m, bucket);
    }
    v = atomic_load_explicit(&m->video, memory_order_relaxed);
    a = atomic_load_explicit(&m->audio, memory_order_relaxed);
    atomic_store_explicit(&m->video, v + video, memory_order_relaxed);
    atomic_store_explicit(&m->audio, a + audio, memory_order_relaxed);
}

/* The same for a meter that several processes add to; totals are exact.  The
 * first that comes to a new bucket makes the mark: of totals that lack what
 * others add at the same moment, which then counts for the new bucket.  When it
 * is killed before the mark is made, the speed is for a window too high by at
 * most the bytes of the bucket before. */
void meter_add_shared(struct meter *m, int64_t now, uint64_t video,
                      uint64_t audio);

/* Anybody, who believes no number that no meter comes to: it is 0.  now is
 * clock_ms(), started_ms the start of the session or stream.
 * One younger than the window has the speed over its whole life, at least half
 * a second. */
struct meter_view meter_read(const struct meter *m, int64_t now,
                             int64_t started_ms);

#endif
