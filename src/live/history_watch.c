/*
 * The master's look at the speeds of all streams, once a second.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/clock.h"
#include "live/history.h"
#include "live/stream.h"

#define SECOND INT64_C(1000)
/* Seconds that are made up for when the master was stopped: a whole ring. */
#define LATE_MOST (INT64_C(24) * 3600)

static struct {
    struct loop *loop; /* NULL: not started */
    struct timer timer;
    history_totals *totals;
    int64_t began_ms, before_ms;
    uint64_t in, out; /* at before_ms */
} watch;

static void
put_stream(struct stream *s, int64_t now)
{
    char name[LIVE_NAME_MAX]; /* what stands there may change */
    struct meter_view m =
        meter_read(&s->meter, now, shared_time(&s->created_ms, now));

    str_copy(name, sizeof(name), stream_name(s));
    if (name[0] != '\0') {
        history_put(str_from(name), m.video_speed, m.audio_speed);
    }
}

static uint64_t
speed(uint64_t now, uint64_t before, int64_t ms)
{
    return now > before ? (now - before) * 8 * SECOND / (uint64_t)ms : 0;
}

static void
put_node(int64_t now)
{
    int64_t ms = now > watch.before_ms ? now - watch.before_ms : 1;
    uint64_t in, out;

    watch.totals(&in, &out);
    history_put(STR_NONE, speed(in, watch.in, ms), speed(out, watch.out, ms));
    watch.in = in;
    watch.out = out;
    watch.before_ms = now;
}

static void
on_second(struct timer *timer)
{
    int64_t now = clock_ms();
    int64_t due = (now - watch.began_ms) / SECOND - (int64_t)history_ticks();

    if (due > LATE_MOST) {
        watch.began_ms += (due - LATE_MOST) * SECOND;
        due = LATE_MOST;
    }
    for (; due > 1; due--) {
        history_tick(); /* nobody looked */
    }
    if (due == 1) {
        put_node(now);
        for (uint32_t i = 0; i < arena.stream_count; i++) {
            if (stream_is_open(&arena.streams[i])) {
                put_stream(&arena.streams[i], now);
            }
        }
        history_tick();
    }
    timer_set(watch.loop, timer,
              SECOND - (clock_ms() - watch.began_ms) % SECOND);
}

void
history_start(struct loop *l, history_totals *totals)
{
    watch.loop = l;
    watch.totals = totals;
    watch.began_ms = watch.before_ms = clock_ms();
    totals(&watch.in, &watch.out);
    timer_init(&watch.timer, on_second);
    timer_set(l, &watch.timer, SECOND);
}

void
history_stop(void)
{
    if (watch.loop != NULL) {
        timer_stop(watch.loop, &watch.timer);
        watch.loop = NULL;
    }
}
