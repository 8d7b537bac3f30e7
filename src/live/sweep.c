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
#include "base/mem.h"
#include "live/cut.h"
#include "live/give.h"
#include "live/metrics.h"
#include "live/record.h"
#include "live/stream.h"
#include "live/viewer.h"

/* How often the master checks whether others are done with a stream. */
#define LOOK_AGAIN_MS 10
/* How often it checks at the latest, in case a wake-up is missed. */
#define LOOK_MS 1000
/* How often memory is given back and viewers are ended, and looked for when
 * there are none. */
#define TRIM_MS 100
#define TRIM_LOOK_MS 1000

/* Gives back what a ring of stream n names; false: some of that cannot be. */
static bool
retire_ring(uint32_t n, const _Atomic uint32_t *ring, uint32_t size,
            const _Atomic uint64_t *first, const _Atomic uint64_t *end)
{
    uint64_t from = atomic_load(first);
    uint64_t count = atomic_load(end) - from;
    bool good = count <= size;

    for (uint64_t i = 0; count <= size && i < count; i++) {
        good &= segment_retire(atomic_load(&ring[(from + i) % size]), n);
    }
    return good;
}

/* All segments that a stream names; what it has of others, segments_trim()
 * finds. */
static void
retire_segments(struct stream *s)
{
    uint32_t n = stream_number(s);
    uint32_t prologue = atomic_load(&s->prologue);
    uint32_t cuts = atomic_load(&s->cuts);
    bool good =
        retire_ring(n, s->media, MEDIA_RING, &s->media_first, &s->media_end);

    good &=
        retire_ring(n, s->index, INDEX_RING, &s->index_first, &s->index_end);
    good &= prologue == SEGMENT_NONE || segment_retire(prologue, n);
    good &= cuts == SEGMENT_NONE || segment_retire(cuts, n);
    if (!good) {
        log_limited(LOG_ERROR, "stream %.*s: its record was damaged",
                    STR_ARGS(stream_name(s)));
    }
}

static void
end_stream(struct stream *s)
{
    atomic_store(&arena.keys[stream_number(s)], STREAM_ENDED);
    wake_readers(s);
    wake_cut_readers(s);
    retire_segments(s);
    atomic_store(&s->ended_epoch, epoch_advance());
    log_limited(LOG_INFO, "stream %.*s: ended, no publisher came back",
                STR_ARGS(stream_name(s)));
    metric_add(&live_metrics[LIVE_ENDED], 0, 1);
}

/* The longest that settings allow so far, ms; 0: not known yet. */
static struct {
    int64_t hold, window;
} allowed;

static int64_t
either(int64_t known, int64_t largest)
{
    return known != 0 ? known : largest;
}

/* Until when something lasts: ms from now at the most, and said so in the
 * record where it tells of a later time. */
static int64_t
until_of(_Atomic int64_t *at, int64_t most)
{
    int64_t told = atomic_load(at);
    int64_t until = shared_time(at, clock_ms() + most);

    if (told != until) {
        atomic_compare_exchange_strong(at, &told, until);
    }
    return until;
}

/* The hold is over: readers are told so once. */
static void
tell_over(struct stream *s, int64_t hold_until)
{
    if (atomic_load(&s->told_until) != hold_until) {
        atomic_store(&s->told_until, hold_until);
        wake_readers(s);
        wake_cut_readers(s);
    }
}

/* Its hold is over, but players that can take more do not have all of it yet.
 * Players that have it all are stopped meanwhile; a publisher that comes now
 * goes on with the stream as in the hold. */
static bool
waits_for_players(struct stream *s, int64_t hold_until)
{
    int64_t owed =
        until_of(&s->owed_until, either(allowed.window, LIVE_WINDOW_MAX));

    if (owed <= clock_ms() || !stream_is_owed(s)) {
        return false;
    }
    tell_over(s, hold_until);
    return true;
}

/* Its hold is over, but what was cut off it stays for those who are still
 * watching that: for as long as their list is.  ms; 0: no longer. */
static int64_t
stays_for_cuts(struct stream *s, int64_t hold_until)
{
    struct cut_page *page = cut_page_of(s);
    int64_t left = hold_until - clock_ms();
    int64_t target;

    if (page == NULL) {
        return 0;
    }
    target = atomic_load(&cut_run_of(page)->target);
    left += LIVE_CUT_TARGETS *
            (target < LIVE_CUT_TARGET_MAX ? target : LIVE_CUT_TARGET_MAX);
    if (left <= 0) {
        return 0;
    }
    tell_over(s, hold_until);
    return left;
}

static void
note(uint64_t *noted, uint32_t segment)
{
    if (segment < arena.segment_count) {
        noted[segment / 64] |= UINT64_C(1) << segment % 64;
    }
}

static void
note_ring(uint64_t *noted, const _Atomic uint32_t *ring, uint32_t size,
          const _Atomic uint64_t *first, const _Atomic uint64_t *end)
{
    uint64_t from = atomic_load(first);
    uint32_t count = ring_held(from, atomic_load(end), size);

    for (uint32_t i = 0; i < count; i++) {
        note(noted, atomic_load(&ring[(from + i) % size]));
    }
}

/* Segments of a stream that a dead writer took and had not noted yet. */
static void
sweep_segments(struct stream *s)
{
    uint64_t *noted = mem_zero((arena.segment_count / 64 + 1) * sizeof(*noted));
    uint32_t n = stream_number(s);

    note(noted, atomic_load(&s->prologue));
    note(noted, atomic_load(&s->cuts));
    note_ring(noted, s->media, MEDIA_RING, &s->media_first, &s->media_end);
    note_ring(noted, s->index, INDEX_RING, &s->index_first, &s->index_end);
    for (uint32_t i = 0; i < arena.segment_count; i++) {
        if ((noted[i / 64] >> i % 64 & 1) == 0) {
            segment_retire(i, n);
        }
    }
    mem_free(&noted);
}

/* Its writer is no process, or none any more.  The master has it meanwhile, so
 * that nobody takes it in between. */
static void
take_from_dead(struct stream *s, slot_owner dead)
{
    if (!atomic_compare_exchange_strong(&s->writer, &dead, slot_self_owner())) {
        return; /* another one has it by now */
    }
    log_limited(LOG_NOTICE,
                "stream %.*s: its publisher's process died, on hold",
                STR_ARGS(stream_name(s)));
    metric_add(&live_metrics[LIVE_ORPHANED], 0, 1);
    sweep_segments(s);
    stream_leave(s);
}

/* Ends it if its time is over; ms until then, or -1 if it is not on hold.
 * Processes that die are swept: one that is not there never was, and somebody
 * wrote that word who should not have. */
static int64_t
housekeep_open(struct stream *s)
{
    slot_owner writer = atomic_load(&s->writer), nobody = 0;
    int64_t until, left;

    if (writer != 0 && slot_owner_alive(writer)) {
        return -1;
    }
    if (writer != 0) {
        take_from_dead(s, writer);
        return LOOK_AGAIN_MS;
    }
    until = until_of(&s->hold_until, either(allowed.hold, LIVE_HOLD_MAX));
    left = until - clock_ms();
    if (left > 0) {
        return left;
    }
    if (waits_for_players(s, until)) {
        return LOOK_AGAIN_MS;
    }
    left = stays_for_cuts(s, until);
    if (left > 0) {
        return left;
    }
    if (!atomic_compare_exchange_strong(&s->writer, &nobody,
                                        slot_self_owner())) {
        return -1; /* a publisher came at the last moment */
    }
    end_stream(s);
    return 1;
}

/* Whether everybody has seen the end of a stream.  An epoch that is still to
 * come is none that it ended in. */
static bool
is_seen(struct stream *s, uint64_t oldest)
{
    uint64_t now = atomic_load(&arena.head->epoch);

    if (atomic_load(&s->ended_epoch) > now) {
        atomic_store(&s->ended_epoch, now);
    }
    return atomic_load(&s->ended_epoch) <= oldest;
}

/* A record that is being made by no process, or by the master, which makes
 * none. */
static bool
is_claimed_by_nobody(uint64_t key)
{
    uint32_t slot = key_slot(key);

    return key_state(key) == STREAM_CLAIMED &&
           (slot == 0 || !slot_owner_alive(slot_owner_of(slot)));
}

/* Its client holds one less of live.max_streams. */
static void
set_free(uint32_t n)
{
    struct tally_holder holder = holder_read(arena.streams[n].holder);

    names_release(n);
    tally_leave_nobody(&live_pools[LIVE_POOL_STREAMS], &holder);
}

/* Ends what is over, frees what everybody has seen the end of.  Returns ms
 * until it is worth another look. */
static int64_t
housekeep(void)
{
    int64_t soonest = LOOK_MS;
    uint64_t oldest = epoch_oldest();

    for (uint32_t i = 0; i < arena.stream_count; i++) {
        struct stream *s = &arena.streams[i];
        uint64_t key = atomic_load(&arena.keys[i]);
        int64_t left = -1;

        if (key_state(key) == STREAM_OPEN) {
            left = housekeep_open(s);
        } else if (key_state(key) == STREAM_ENDED) {
            left = LOOK_AGAIN_MS;
            if (is_seen(s, oldest)) {
                set_free(i);
                left = -1;
            }
        } else if (is_claimed_by_nobody(key)) {
            atomic_compare_exchange_strong(&arena.keys[i], &key, STREAM_FREE);
        } else {
            names_mend(i);
        }
        if (left >= 0 && left < soonest) {
            soonest = left < 100 ? left : 100;
        }
    }
    return soonest;
}

static struct {
    struct loop *loop;
    struct io wake_io;
    struct timer timer;
    struct timer trim_timer;
    uint32_t sleeps; /* odd: tells one sleep from the next */
} watch;

static void
keep(void)
{
    atomic_store(&arena.pages[0].pending, 0);
    timer_set(watch.loop, &watch.timer, housekeep());
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
    if (read(io->fd, &count, sizeof(count)) > 0) {
        keep();
    }
}

static void
on_trim(struct timer *timer)
{
    bool more = segments_trim();

    more |= viewers_sweep();
    records_trim();
    timer_set(watch.loop, timer, more ? TRIM_MS : TRIM_LOOK_MS);
}

int
live_master_start(struct loop *l, struct errmsg *err)
{
    watch.loop = l;
    timer_init(&watch.timer, on_timer);
    timer_init(&watch.trim_timer, on_trim);
    io_init(&watch.wake_io);
    slot_reads_no_media(0);
    if (io_start(l, &watch.wake_io, slot_eventfd(0), IO_READ, on_wake) != 0) {
        return errmsg_sys(err, "live: cannot watch the wake descriptor");
    }
    keep();
    on_trim(&watch.trim_timer);
    return 0;
}

void
live_master_allow(int64_t hold, int64_t window)
{
    hold = hold > 0 ? hold : 1; /* 0 would be "not known" */
    allowed.hold = hold > allowed.hold ? hold : allowed.hold;
    allowed.window = window > allowed.window ? window : allowed.window;
}

void
live_master_stop(void)
{
    memset(&allowed, 0, sizeof(allowed));
    if (watch.loop != NULL) {
        timer_stop(watch.loop, &watch.timer);
        timer_stop(watch.loop, &watch.trim_timer);
        io_stop(watch.loop, &watch.wake_io);
        watch.loop = NULL;
    }
}

static void
sweep_stream(struct stream *s, slot_owner dead)
{
    uint32_t slot = slot_owner_number(dead);
    slot_owner asked = dead;

    atomic_fetch_and(&s->readers[slot / 64], ~(UINT64_C(1) << slot % 64));
    atomic_fetch_and(&s->cut_readers[slot / 64], ~(UINT64_C(1) << slot % 64));
    stream_set_owing(s, slot, false);
    atomic_compare_exchange_strong(&s->takeover, &asked, 0);
    take_from_dead(s, dead);
}

static void
sweep_sessions(slot_owner dead)
{
    for (uint32_t i = 0; i < sessions_end(); i++) {
        if (atomic_load(&arena.claims[i].owner) == dead) {
            atomic_store(&arena.claims[i].plays, 0);
            atomic_store(&arena.claims[i].owner, 0);
        }
    }
}

void
live_sweep(uint32_t slot)
{
    slot_owner dead = slot_owner_of(slot);

    for (uint32_t i = 0; i < arena.stream_count; i++) {
        uint64_t key = atomic_load(&arena.keys[i]);

        if (key_state(key) == STREAM_CLAIMED && key_slot(key) == slot) {
            names_release(i);
        } else if (key_state(key) == STREAM_OPEN) {
            sweep_stream(&arena.streams[i], dead);
        }
    }
    sweep_sessions(dead);
    memset(&arena.pages[slot], 0, sizeof(arena.pages[slot]));
    atomic_store(&slot_at(slot)->epoch_seen, UINT64_MAX);
    atomic_store(&slot_at(slot)->asleep, 0);
}
