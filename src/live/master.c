/*
 * The master's part: ending streams whose hold is over, and giving back what
 * a dead process owned.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/live.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "live/metrics.h"
#include "live/stream.h"

/* How often it is looked whether others are done with a stream. */
#define LOOK_AGAIN_MS 10

static void
retire_ring(_Atomic uint32_t *ring, uint32_t size, _Atomic uint64_t *first,
            const _Atomic uint64_t *end)
{
    for (uint64_t i = atomic_load(first); i < atomic_load(end); i++) {
        segment_retire(atomic_load(&ring[i % size]));
    }
    atomic_store(first, atomic_load(end));
}

static void
end_stream(struct stream *s)
{
    uint32_t n = stream_number(s);
    uint32_t prologue = atomic_load(&s->prologue);

    atomic_store(&arena.keys[n], STREAM_ENDED);
    wake_readers(s);
    retire_ring(s->media, MEDIA_RING, &s->media_first, &s->media_end);
    retire_ring(s->index, INDEX_RING, &s->index_first, &s->index_end);
    if (prologue != SEGMENT_NONE) {
        segment_retire(prologue);
    }
    atomic_store(&s->ended_epoch, epoch_advance());
    log_limited(LOG_INFO, "stream %.*s: ended, no publisher came back",
                STR_ARGS(stream_name(s)));
    metric_add(&live_metrics[LIVE_ENDED], 0, 1);
}

/* Its hold is over, but not all that was published has gone to who can take
 * it.  Players that have it all are stopped meanwhile; a publisher that comes
 * now goes on with the stream as in the hold. */
static bool
waits_for_players(struct stream *s, int64_t hold_until)
{
    if (atomic_load(&s->owed_until) <= clock_ms() || !stream_is_owed(s)) {
        return false;
    }
    if (s->told_until != hold_until) {
        s->told_until = hold_until;
        wake_readers(s);
    }
    return true;
}

/* Ends it if its time is over; ms until then, or -1 if it is not on hold. */
static int64_t
housekeep_open(struct stream *s)
{
    slot_owner nobody = 0;
    int64_t until, left;

    if (atomic_load(&s->writer) != 0) {
        return -1;
    }
    until = atomic_load(&s->hold_until);
    left = until - clock_ms();
    if (left > 0) {
        return left;
    }
    if (waits_for_players(s, until)) {
        return LOOK_AGAIN_MS;
    }
    if (!atomic_compare_exchange_strong(&s->writer, &nobody,
                                        slot_self_owner())) {
        return -1; /* a publisher came at the last moment */
    }
    end_stream(s);
    return 1;
}

/* Ends what is over, frees what everybody has seen the end of.  Returns ms
 * until it is worth another look, -1 if there is nothing to wait for. */
static int64_t
housekeep(void)
{
    int64_t soonest = -1;
    uint64_t oldest = epoch_oldest();

    for (uint32_t i = 0; i < arena.head->stream_count; i++) {
        struct stream *s = &arena.streams[i];
        uint64_t key = atomic_load(&arena.keys[i]);
        int64_t left = -1;

        if (key_state(key) == STREAM_OPEN) {
            left = housekeep_open(s);
        } else if (key_state(key) == STREAM_ENDED) {
            left = LOOK_AGAIN_MS;
            if (atomic_load(&s->ended_epoch) <= oldest) {
                atomic_store(&arena.keys[i], STREAM_FREE);
                left = -1;
            }
        }
        if (left >= 0 && (soonest < 0 || left < soonest)) {
            soonest = left;
        }
    }
    return soonest > 100 ? 100 : soonest;
}

static struct {
    struct loop *loop;
    struct io wake_io;
    struct timer timer;
    uint32_t sleeps; /* odd: tells one sleep from the next */
} watch;

static void
keep(void)
{
    int64_t next;

    atomic_store(&arena.pages[0].pending, 0);
    next = housekeep();
    if (next >= 0) {
        timer_set(watch.loop, &watch.timer, next);
    }
    watch.sleeps += 2;
    atomic_store(&slot_at(0)->asleep, watch.sleeps | 1);
    if (atomic_load(&arena.pages[0].pending) != 0) {
        timer_set(watch.loop, &watch.timer, 0);
    }
}

static void
on_timer(struct timer *timer)
{
    (void)timer;
    keep();
}

static void
on_wake(struct io *io, unsigned ready)
{
    uint64_t count;

    (void)ready;
    while (read(io->fd, &count, sizeof(count)) > 0) {
    }
    keep();
}

int
live_master_start(struct loop *l, struct errmsg *err)
{
    watch.loop = l;
    timer_init(&watch.timer, on_timer);
    io_init(&watch.wake_io);
    atomic_store(&slot_at(0)->epoch_seen, UINT64_MAX); /* reads no media */
    if (io_start(l, &watch.wake_io, slot_eventfd(0), IO_READ, on_wake) != 0) {
        return errmsg_sys(err, "live: cannot watch the wake descriptor");
    }
    keep();
    return 0;
}

void
live_master_stop(void)
{
    if (watch.loop != NULL) {
        timer_stop(watch.loop, &watch.timer);
        io_stop(watch.loop, &watch.wake_io);
        watch.loop = NULL;
    }
}

/* Segments of a stream that a dead writer took and had not noted yet. */
static void
sweep_segments(struct stream *s)
{
    uint32_t n = stream_number(s);
    uint32_t prologue = atomic_load(&s->prologue);

    for (uint32_t i = 0; i < arena.head->segment_count; i++) {
        bool noted = i == prologue;

        if (!segment_used_by(i, n)) {
            continue;
        }
        for (uint64_t k = atomic_load(&s->media_first);
             !noted && k < atomic_load(&s->media_end); k++) {
            noted = atomic_load(&s->media[k % MEDIA_RING]) == i;
        }
        for (uint64_t k = atomic_load(&s->index_first);
             !noted && k < atomic_load(&s->index_end); k++) {
            noted = atomic_load(&s->index[k % INDEX_RING]) == i;
        }
        if (!noted) {
            segment_retire(i);
        }
    }
}

static void
sweep_stream(struct stream *s, slot_owner dead)
{
    uint32_t slot = slot_owner_number(dead);
    slot_owner asked = dead;

    atomic_fetch_and(&s->readers[slot / 64], ~(UINT64_C(1) << slot % 64));
    stream_set_owing(s, slot, false);
    atomic_compare_exchange_strong(&s->takeover, &asked, 0);
    if (atomic_load(&s->writer) == dead) {
        log_notice("stream %.*s: its publisher's process died, on hold",
                   STR_ARGS(stream_name(s)));
        metric_add(&live_metrics[LIVE_ORPHANED], 0, 1);
        sweep_segments(s);
        stream_leave(s);
    }
}

static void
sweep_sessions(slot_owner dead)
{
    for (uint32_t i = 0; i < atomic_load(&arena.head->session_end); i++) {
        if (atomic_load(&arena.sessions[i].owner) == dead) {
            atomic_store(&arena.sessions[i].owner, 0);
        }
    }
}

void
live_sweep(uint32_t slot)
{
    slot_owner dead = slot_owner_of(slot);

    for (uint32_t i = 0; i < arena.head->stream_count; i++) {
        uint64_t key = atomic_load(&arena.keys[i]);

        if (key_state(key) == STREAM_CLAIMED && key_slot(key) == slot) {
            atomic_store(&arena.keys[i], STREAM_FREE);
        } else if (key_state(key) == STREAM_OPEN) {
            sweep_stream(&arena.streams[i], dead);
        }
    }
    sweep_sessions(dead);
    memset(&arena.pages[slot], 0, sizeof(arena.pages[slot]));
    atomic_store(&slot_at(slot)->epoch_seen, UINT64_MAX);
    atomic_store(&slot_at(slot)->asleep, 0);
}
