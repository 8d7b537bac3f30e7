/*
 * The hub of a process: being woken, gathering, and taking part in giving
 * memory back around every sleep.
 *
 * A struct hub_stream lives from the first player or publisher of a stream in
 * this process until the end of the turn in which the last one left, or until
 * the record is used anew.  How players are served is in pass.c and
 * player_send.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/hub.h"

#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "live/cut_watch.h"
#include "live/give.h"

#define STALL_CHECK_MS 250
/* Automatic gathering: how long sound waits for the next picture at most. */
#define AUTO_GATHER_MAX_MS 50

struct hub hub;

bool
hub_stream_valid(const struct hub_stream *hs)
{
    return stream_is_open(hs->stream) &&
           atomic_load(&hs->stream->generation) == hs->generation;
}

/* ---- our view of a stream ---- */

static void
set_reader(struct stream *s, bool on)
{
    uint32_t slot = slot_self();
    uint64_t bit = UINT64_C(1) << slot % 64;

    if (on) {
        atomic_fetch_or(&s->readers[slot / 64], bit);
    } else {
        atomic_fetch_and(&s->readers[slot / 64], ~bit);
    }
}

static void
free_hub_stream(struct hub_stream *hs)
{
    uint32_t n = stream_number(hs->stream);

    if (hub_stream_valid(hs)) {
        set_reader(hs->stream, false);
        stream_set_owing(hs->stream, slot_self(), false);
    }
    pass_forget(hs);
    if (hub.streams[n] == hs) {
        hub.streams[n] = NULL;
    }
    timer_stop(hub.loop, &hs->gather_timer);
    later_cancel(&hs->idle);
    list_remove(&hs->active);
    mem_free(&hs);
}

bool
hub_has_players(const struct hub_stream *hs)
{
    return !list_empty(&hs->waiting) || !list_empty(&hs->current) ||
           !list_empty(&hs->behind) || !list_empty(&hs->blocked);
}

static bool
is_idle(const struct hub_stream *hs)
{
    return hs->publisher == NULL && hs->asking == NULL && !hub_has_players(hs);
}

static void
on_idle(struct later *later)
{
    struct hub_stream *hs = LIST_ITEM(later, struct hub_stream, idle);

    if (is_idle(hs)) {
        free_hub_stream(hs);
    }
}

void
hub_release(struct hub_stream *hs)
{
    if (is_idle(hs)) {
        loop_later(hub.loop, &hs->idle);
    }
    if (!hs->live) { /* it may have been the last that was owed something */
        wake_slot(slot_self(), stream_number(hs->stream));
    }
}

static void
on_gathered(struct timer *timer)
{
    struct hub_stream *hs = LIST_ITEM(timer, struct hub_stream, gather_timer);

    if (hub_stream_valid(hs)) {
        hub_release_frames(hs);
    }
}

static struct hub_stream *
new_hub_stream(struct stream *s)
{
    struct hub_stream *hs = mem_zero(sizeof(*hs));

    hs->stream = s;
    hs->generation = atomic_load(&s->generation);
    hs->gather = LIVE_GATHER_AUTO;
    list_init(&hs->active);
    list_init(&hs->waiting);
    list_init(&hs->current);
    list_init(&hs->behind);
    list_init(&hs->blocked);
    list_init(&hs->rests);
    timer_init(&hs->gather_timer, on_gathered);
    later_init(&hs->idle, on_idle);
    return hs;
}

/* The record is used anew: ends the old stream's players here, and lets a
 * publisher that waits for it try again. */
static void
give_up(struct hub_stream *hs)
{
    hub.streams[stream_number(hs->stream)] = NULL;
    publisher_retry(hs);
    players_end(hs);
    hub_release(hs);
}

struct hub_stream *
hub_adopt(struct stream *s)
{
    uint32_t n = stream_number(s);

    if (hub.streams[n] != NULL && !hub_stream_valid(hub.streams[n])) {
        give_up(hub.streams[n]);
    }
    if (hub.streams[n] == NULL) {
        struct hub_stream *hs = hub.streams[n] = new_hub_stream(s);

        set_reader(s, true);
        stream_set_owing(s, slot_self(), true);
        hs->reached = hs->looked = atomic_load(&s->tail);
        hs->live = atomic_load(&s->writer) != 0;
        players_match_name(hs);
        /* It may have ended before we stood among the readers. */
        wake_slot(slot_self(), n);
    }
    return hub.streams[n];
}

/* ---- releasing frames ---- */

/* When the frames that wait may go, given the first of them came at `since`.
 *
 * The number of sends is the cost.  A frame waits only so that others are sent
 * with it.  Gathering by a time shorter than the distance between two pictures
 * can only make sound ride with the next picture, so a picture then goes at
 * once and takes waiting sound with it; gathering by a longer time releases
 * everything once in that time.  Automatic: sound waits for its next
 * picture. */
static int64_t
release_due(const struct hub_stream *hs, int64_t since)
{
    int64_t interval =
        atomic_load_explicit(&hs->stream->video_interval, memory_order_relaxed);
    int64_t gather = hs->gather;

    if (gather == LIVE_GATHER_AUTO) {
        gather = interval + interval / 4;
        if (gather > AUTO_GATHER_MAX_MS) {
            gather = AUTO_GATHER_MAX_MS;
        }
        return hs->video_pending ? since : since + gather;
    }
    if (gather < interval) {
        return hs->video_pending ? since : since + gather;
    }
    return hs->released_ms + gather;
}

static void
look_for_video(struct hub_stream *hs, uint64_t tail)
{
    for (; hs->looked < tail; hs->looked++) {
        if (frame_at(hs->stream, hs->looked)->type == MEDIA_VIDEO) {
            hs->video_pending = true;
        }
    }
}

void
hub_activate(struct hub_stream *hs)
{
    if (list_empty(&hs->active)) {
        list_append(&hub.active, &hs->active);
    }
}

void
hub_release_frames(struct hub_stream *hs)
{
    uint64_t tail =
        atomic_load_explicit(&hs->stream->tail, memory_order_acquire);

    timer_stop(hub.loop, &hs->gather_timer);
    hs->reached = hs->looked = tail;
    hs->released_ms = clock_ms();
    hs->video_pending = false;
    if (!list_empty(&hs->current)) {
        list_splice(&hs->behind, &hs->current);
        hub_activate(hs);
    }
}

static void
look_for_frames(struct hub_stream *hs)
{
    struct stream *s = hs->stream;
    uint64_t tail = atomic_load_explicit(&s->tail, memory_order_acquire);
    int64_t now = clock_ms();
    int64_t due;

    if (hs->looked < atomic_load(&s->head)) {
        hs->looked = atomic_load(&s->head); /* nobody looked for long */
    }
    if (tail <= hs->reached) {
        return;
    }
    if (list_empty(&hs->current) || !hs->live) {
        hub_release_frames(hs); /* nothing comes that it could wait for */
        return;
    }
    look_for_video(hs, tail);
    if (hs->reached < atomic_load(&s->head)) {
        hub_release_frames(hs);
        return;
    }
    due = release_due(hs, frame_at(s, hs->reached)->arrived_ms);
    if (due <= now) {
        hub_release_frames(hs);
    } else if (!timer_is_set(&hs->gather_timer)) {
        timer_set(hub.loop, &hs->gather_timer, due - now);
    }
}

/* Nobody publishes it: players that have all of it go when the hold is over,
 * and when all have, the stream need not wait for us.  sessions: of publishers,
 * before we looked. */
static void
look_at_end(struct hub_stream *hs, uint32_t sessions)
{
    struct stream *s = hs->stream;

    if (stream_hold_is_over(s)) {
        players_leave(hs);
    }
    if (!list_empty(&hs->behind) || !list_empty(&hs->blocked)) {
        return; /* looked at again when they have it */
    }
    stream_set_owing(s, slot_self(), false);
    if (atomic_load(&s->sessions) != sessions) {
        stream_set_owing(s, slot_self(), true); /* another came meanwhile */
    }
}

void
hub_look(struct hub_stream *hs)
{
    uint32_t sessions = atomic_load(&hs->stream->sessions);
    bool live;

    publisher_look(hs);
    live = atomic_load(&hs->stream->writer) != 0;
    if (live != hs->live) {
        hs->live = live;
        players_tell(hs, live);
    }
    look_for_frames(hs);
    players_start(hs);
    if (!hs->live) {
        look_at_end(hs, sessions);
    }
    if (!list_empty(&hs->blocked)) {
        players_check_stalls(hs);
        hub.check_stalls = true;
    }
}

/* ---- being woken ---- */

static void
look_at(uint32_t n)
{
    struct stream *s = &arena.streams[n];
    struct hub_stream *hs = hub.streams[n];

    if (hs != NULL && !hub_stream_valid(hs)) {
        give_up(hs);
        hs = NULL;
    }
    if (hs == NULL && stream_is_open(s)) {
        if (players_wait_for(stream_name(s))) {
            hs = hub_adopt(s);
        } else {
            stream_set_owing(s, slot_self(), false);
        }
    }
    if (hs != NULL) {
        hub_look(hs);
    } else if (stream_is_open(s) &&
               atomic_load(&s->writer) == slot_self_owner()) {
        stream_leave(s); /* handed to one who has gone meanwhile */
    }
    cut_watches_look(n);
}

static void
look_at_word(struct wake_page *page, uint32_t word)
{
    uint64_t dirty = atomic_exchange(&page->dirty[word], 0);

    while (dirty != 0) {
        uint32_t bit = (uint32_t)__builtin_ctzll(dirty);

        dirty &= dirty - 1;
        look_at(word * 64 + bit);
    }
}

static void
look_at_dirty(void)
{
    struct wake_page *page = &arena.pages[slot_self()];

    if (atomic_load_explicit(&page->pending, memory_order_relaxed) == 0) {
        return;
    }
    atomic_store(&page->pending, 0);
    for (uint32_t i = 0; i < WAKE_WORDS / 64; i++) {
        uint64_t summary = atomic_load(&page->summary[i]) == 0
                               ? 0
                               : atomic_exchange(&page->summary[i], 0);

        while (summary != 0) {
            uint32_t bit = (uint32_t)__builtin_ctzll(summary);

            summary &= summary - 1;
            look_at_word(page, i * 64 + bit);
        }
    }
}

/* ---- around sleeping ---- */

static bool
before_sleep(void *arg)
{
    struct slot *self = slot_at(slot_self());
    struct wake_page *page = &arena.pages[slot_self()];

    (void)arg;
    look_at_dirty();
    if (pass_serve()) {
        return true;
    }
    if (hub.check_stalls && !timer_is_set(&hub.stall_timer)) {
        timer_set(hub.loop, &hub.stall_timer, STALL_CHECK_MS);
    }
    atomic_store(&self->asleep, (uint32_t)hub.turn << 1 | 1);
    if (atomic_load(&page->pending) != 0) {
        atomic_store(&self->asleep, 0);
        return true;
    }
    atomic_store(&self->turn_began_ms, 0);
    atomic_store(&self->epoch_seen, UINT64_MAX);
    return false;
}

static void
after_wake(void *arg)
{
    struct slot *self = slot_at(slot_self());

    (void)arg;
    hub.turn++;
    atomic_store_explicit(&self->asleep, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&self->turns, 1, memory_order_relaxed);
    atomic_store_explicit(&self->turn_began_ms, loop_now(hub.loop),
                          memory_order_relaxed);
    atomic_store(&self->epoch_seen, atomic_load(&arena.head->epoch));
    atomic_thread_fence(memory_order_seq_cst);
}

static const struct loop_hooks hooks = { before_sleep, after_wake };

static void
on_wake(struct io *io, unsigned ready)
{
    uint64_t count;

    (void)ready;
    while (read(io->fd, &count, sizeof(count)) > 0) {
    }
}

static void
on_stall_timer(struct timer *timer)
{
    bool left = false;

    for (uint32_t n = 0; n < arena.stream_count; n++) {
        if (hub.streams[n] != NULL && hub_stream_valid(hub.streams[n])) {
            left |= players_check_stalls(hub.streams[n]);
        }
    }
    hub.check_stalls = left;
    if (left) {
        timer_set(hub.loop, timer, STALL_CHECK_MS);
    }
}

int
live_hub_start(struct loop *l, const struct live_settings *s,
               struct errmsg *err)
{
    uint32_t self = slot_self();

    memset(&hub, 0, sizeof(hub));
    arena.settings.window = s->window;
    arena.settings.max_stream_memory =
        s->max_stream_memory < s->memory ? s->max_stream_memory : s->memory;
    arena.session_hint = self * 64 % arena.session_count;
    hub.loop = l;
    hub.streams = mem_zero(arena.stream_count * sizeof(*hub.streams));
    list_init(&hub.active);
    for (size_t i = 0; i < HUB_BUCKETS; i++) {
        list_init(&hub.nameless[i]);
    }
    timer_init(&hub.stall_timer, on_stall_timer);
    io_init(&hub.wake_io);
    if (io_start(l, &hub.wake_io, slot_eventfd(self), IO_READ, on_wake) != 0) {
        mem_free(&hub.streams);
        return errmsg_sys(err, "live: cannot watch the wake descriptor");
    }
    pass_start(s->io_uring);
    give_start(l);
    atomic_store(&arena.pages[self].hub, 1);
    after_wake(NULL);
    loop_set_hooks(l, &hooks, NULL);
    return 0;
}

void
live_hub_stop(void)
{
    if (hub.loop == NULL) {
        return;
    }
    players_forget_all();
    for (uint32_t n = 0; n < arena.stream_count; n++) {
        if (hub.streams[n] != NULL) {
            free_hub_stream(hub.streams[n]);
        }
    }
    loop_set_hooks(hub.loop, NULL, NULL);
    timer_stop(hub.loop, &hub.stall_timer);
    io_stop(hub.loop, &hub.wake_io);
    pass_stop();
    give_stop();
    mem_free(&hub.streams);
    atomic_store(&slot_at(slot_self())->epoch_seen, UINT64_MAX);
    hub.loop = NULL;
}
