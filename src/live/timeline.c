/*
 * The time of a stream: joining clocks, and mending those that jump back.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/timeline.h"

#include "base/log.h"
#include "live/metrics.h"
#include "live/stream.h"

/* A publisher's clock that jumps back further than this was set anew. */
#define CLOCK_BACK_MS 1000

/* Of the arrays of two. */
static unsigned
kind_of(const struct frame *f)
{
    return f->type == MEDIA_VIDEO ? 1 : 0;
}

/* On the circle of 32 bits. */
static bool
is_later(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

/* The latest time the stream has reached, of sound or picture. */
static uint32_t
latest(struct stream *s)
{
    uint32_t timed = atomic_load(&s->timed);
    uint32_t sound = atomic_load(&s->last_times[0]);
    uint32_t picture = atomic_load(&s->last_times[1]);

    if (timed == (TRACK_AUDIO | TRACK_VIDEO)) {
        return is_later(sound, picture) ? sound : picture;
    }
    return timed == TRACK_AUDIO ? sound : picture;
}

void
timeline_start(struct timeline *t, struct stream *s)
{
    *t = (struct timeline){ .later = atomic_load(&s->timed) != 0 };
}

/* This frame comes as much later than the stream's last sound or picture as it
 * arrived later; data have the time of those.  Earlier times of the clock do
 * not count any more. */
static void
join_clock(struct timeline *t, struct stream *s, const struct frame *f,
           uint32_t timestamp)
{
    int64_t gap = f->arrived_ms - atomic_load(&s->timed_ms);

    gap = gap < 1 ? 1 : gap;
    t->offset = latest(s) + (uint32_t)gap - timestamp;
    for (unsigned i = 0; i < 2; i++) {
        t->kinds[i].known = false;
        t->kinds[i].behind = (atomic_load(&s->timed) & 1u << i) != 0;
    }
}

/* No frame before its kind's last one, as long as a new clock is behind: until
 * the leading track has caught up. */
static uint32_t
never_back(struct timeline_kind *k, uint32_t last, uint32_t time, bool leading)
{
    bool behind = k->behind && !is_later(time, last);

    k->behind = leading ? behind : k->behind;
    return behind ? last + 1 : time;
}

/* Data are placed by the clock of sound and pictures, but not before this
 * publisher's first frame (metadata often say 0). */
static uint32_t
place_data(const struct timeline *t, struct stream *s, uint32_t timestamp)
{
    uint32_t time = timestamp + t->offset;

    return t->later && (!t->joined || is_later(t->first, time)) ? latest(s)
                                                                : time;
}

uint32_t
timeline_place(struct timeline *t, struct stream *s, const struct frame *f,
               uint32_t timestamp, bool leading)
{
    struct timeline_kind *k = &t->kinds[kind_of(f)];
    uint32_t last = atomic_load(&s->last_times[kind_of(f)]);
    uint32_t time = timestamp + t->offset;
    int32_t ahead = (int32_t)(time - k->last);

    if (f->type == MEDIA_DATA) {
        return place_data(t, s, timestamp);
    }
    if (!t->joined && t->later) {
        join_clock(t, s, f, timestamp);
    } else if (leading && k->known && ahead < -CLOCK_BACK_MS) {
        if ((f->flags & MEDIA_KEPT) != 0) {
            /* Many encoders send one again with time 0. */
            return k->behind ? last : k->last;
        }
        log_limited(LOG_INFO,
                    "stream %.*s: publisher's clock went back %u ms, mended",
                    STR_ARGS(stream_name(s)), -(uint32_t)ahead);
        metric_add(&live_metrics[LIVE_CLOCK_MENDED], 0, 1);
        join_clock(t, s, f, timestamp);
    }
    time = timestamp + t->offset;
    if (leading && (!k->known || is_later(time, k->last))) {
        k->known = true;
        k->last = time;
    }
    if (!t->joined) {
        t->joined = true;
        t->first = time;
    }
    return never_back(k, last, time, leading);
}

void
timeline_note(struct stream *s, const struct frame *f)
{
    unsigned kind = kind_of(f);
    uint32_t timed = atomic_load_explicit(&s->timed, memory_order_relaxed);
    uint32_t last =
        atomic_load_explicit(&s->last_times[kind], memory_order_relaxed);

    if (f->type == MEDIA_DATA) {
        return;
    }
    if ((timed & 1u << kind) == 0 || is_later(f->timestamp, last)) {
        atomic_store_explicit(&s->last_times[kind], f->timestamp,
                              memory_order_relaxed);
    }
    atomic_store_explicit(&s->timed, timed | 1u << kind, memory_order_relaxed);
    atomic_store_explicit(&s->timed_ms, f->arrived_ms, memory_order_relaxed);
}
