/*
 * Meters: marks and the window before now.
 *
 * A mark's bucket is stored last and read first, so that its totals are never
 * those of the mark that stood there before; that one is older than any that
 * a reader still looks for.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/meter.h"

#include <string.h>

void
meter_clear(struct meter *m)
{
    memset((void *)m, 0, sizeof(*m));
}

static void
note(struct meter_mark *mark, uint32_t bucket, uint64_t video, uint64_t audio)
{
    atomic_store_explicit(&mark->video, video, memory_order_relaxed);
    atomic_store_explicit(&mark->audio, audio, memory_order_relaxed);
    atomic_store_explicit(&mark->bucket, bucket, memory_order_release);
}

void
meter_mark(struct meter *m, uint32_t bucket)
{
    uint32_t last = atomic_load_explicit(&m->bucket, memory_order_relaxed);
    uint32_t at = atomic_load_explicit(&m->marked, memory_order_relaxed);

    atomic_store_explicit(&m->marked, at + 1, memory_order_relaxed);
    note(&m->marks[at % METER_MARKS], last,
         atomic_load_explicit(&m->video, memory_order_relaxed),
         atomic_load_explicit(&m->audio, memory_order_relaxed));
    atomic_store_explicit(&m->bucket, bucket, memory_order_release);
}

void
meter_add_shared(struct meter *m, int64_t now, uint64_t video, uint64_t audio)
{
    uint32_t bucket = meter_bucket(now);
    uint32_t last = atomic_load(&m->bucket);
    uint64_t v = atomic_load(&m->video);
    uint64_t a = atomic_load(&m->audio);

    if (last < bucket &&
        atomic_compare_exchange_strong(&m->bucket, &last, bucket)) {
        uint32_t at = atomic_fetch_add(&m->marked, 1);

        note(&m->marks[at % METER_MARKS], last, v, a);
    }
    atomic_fetch_add(&m->video, video);
    atomic_fetch_add(&m->audio, audio);
}

/* The totals at the end of the last bucket before that one. */
static void
totals_before(const struct meter *m, uint32_t first, uint64_t *video,
              uint64_t *audio)
{
    uint32_t best = 0;

    *video = *audio = 0;
    for (unsigned i = 0; i < METER_MARKS; i++) {
        const struct meter_mark *mark = &m->marks[i];
        uint32_t bucket =
            atomic_load_explicit(&mark->bucket, memory_order_acquire);

        if (bucket > best && bucket < first) {
            best = bucket;
            *video = atomic_load_explicit(&mark->video, memory_order_relaxed);
            *audio = atomic_load_explicit(&mark->audio, memory_order_relaxed);
        }
    }
}

/* No meter comes to more. */
#define BYTES_MOST (UINT64_C(1) << 60)
#define WINDOW_MOST (UINT64_C(1) << 50) /* in the window */

static uint64_t
total(const _Atomic uint64_t *bytes)
{
    uint64_t n = atomic_load_explicit(bytes, memory_order_relaxed);

    return n <= BYTES_MOST ? n : 0;
}

static uint64_t
speed(uint64_t now, uint64_t before, int64_t ms)
{
    return now > before && now - before <= WINDOW_MOST
               ? (now - before) * 8 * 1000 / (uint64_t)ms
               : 0;
}

struct meter_view
meter_read(const struct meter *m, int64_t now, int64_t started_ms)
{
    uint32_t bucket = meter_bucket(now);
    uint32_t first = bucket > METER_BUCKETS ? bucket - METER_BUCKETS : 1;
    int64_t begin = (int64_t)(first - 1) * METER_BUCKET_MS;
    uint32_t last = atomic_load_explicit(&m->bucket, memory_order_acquire);
    struct meter_view v = {
        .video = total(&m->video),
        .audio = total(&m->audio),
    };
    uint64_t video, audio;
    int64_t span;

    if (last < first) {
        return v;
    }
    totals_before(m, first, &video, &audio);
    span = now - (started_ms > begin ? started_ms : begin);
    span = span < METER_BUCKET_MS ? METER_BUCKET_MS : span;
    v.video_speed = speed(v.video, video, span);
    v.audio_speed = speed(v.audio, audio, span);
    return v;
}
