/*
 * Sends to a player, step by step, and puts it into its list afterwards.
 *
 * A step makes at most one send.  Only the end of a frame is the time for
 * messages of the session, for pausing and for catching up.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/player.h"

#include "base/log.h"
#include "base/mem.h"
#include "live/metrics.h"
#include "live/rest.h"

static enum sent
lose(struct live_player *p, enum live_lost why, const char *reason)
{
    pass_flush(); /* before its session closes anything */
    if (p->stopped) {
        return SENT_GONE; /* with its connection, by another's failure */
    }
    log_limited_if(player_debugged(p), LOG_INFO, "player %.*s: %s",
                   STR_ARGS(record_name(p->record)), reason);
    metric_add(&live_metrics[LIVE_LOST], why, 1);
    player_stop(p, reason);
    return SENT_GONE;
}

enum sent
player_lose(struct live_player *p, const char *reason)
{
    return lose(p, LIVE_LOST_BROKEN, reason);
}

enum sent
player_too_slow(struct live_player *p, const char *reason)
{
    return lose(p, LIVE_LOST_SLOW, reason);
}

enum sent
player_break(struct live_player *p)
{
    return player_lose(p, "the connection is broken");
}

/* Sends the saved remainder of a frame that is in the arena no more. */
static enum sent
send_rest(struct live_player *p)
{
    struct rest *r = p->rest;
    struct iovec iov = { r->bytes + p->rest_done, r->len - p->rest_done };
    ssize_t n = conn_writev(p->conn, &iov, 1);

    if (n < 0) {
        return player_break(p);
    }
    rest_took(p, (size_t)n);
    if (p->rest_done < r->len) {
        return SENT_BLOCKED;
    }
    player_count(p, r->video, r->audio);
    rest_drop(p);
    p->at = (struct cursor){ .frame = p->at.frame + 1 };
    return SENT_SOME;
}

static enum sent
send_words(struct live_player *p)
{
    if (conn_write(p->conn, buf_data(&p->words), buf_len(&p->words)) != 0) {
        return player_break(p);
    }
    buf_clear(&p->words);
    return SENT_SOME; /* the next step sees whether all went out */
}

static enum sent
start_again(struct live_player *p, uint64_t not_before)
{
    p->waiting = true;
    p->not_before = not_before;
    return SENT_WAITS;
}

static void
count_dropped(struct live_player *p, uint64_t frames)
{
    char peer[ADDR_TEXT];

    atomic_fetch_add_explicit(&p->record->dropped, frames,
                              memory_order_relaxed);
    live_count_dropped(record_name(p->record), LIVE_DROPPED_SLOW, frames);
    log_limited_if(player_debugged(p), LOG_DEBUG,
                   "player %.*s: %s is too slow: %llu frames are left out",
                   STR_ARGS(record_name(p->record)),
                   addr_text(&p->record->peer, peer),
                   (unsigned long long)frames);
}

/* At a frame's boundary: a player that is too far behind goes on at the
 * newest key frame. */
static enum sent
catch_up(struct live_player *p)
{
    struct stream *s = p->hs->stream;
    uint64_t start = atomic_load(&s->start);
    uint64_t head = atomic_load(&s->head);
    bool newer = start != FRAME_NONE && start > p->at.frame;

    if (p->at.frame < head) {
        count_dropped(p, (newer ? start : head) - p->at.frame);
        return start_again(p, head);
    }
    if (newer && frame_at(s, p->at.frame)->arrived_ms <
                     loop_now(hub.loop) - arena.settings.window / 2) {
        count_dropped(p, start - p->at.frame);
        return start_again(p, start);
    }
    return SENT_SOME;
}

bool
player_take_turn(struct live_player *p)
{
    if (p->turns->last == p) {
        return true;
    }
    pass_flush(); /* before its session is told anything */
    if (p->stopped) {
        return false; /* with its connection, by another's failure */
    }
    p->turns->last = p;
    if (p->handlers->on_turn != NULL) {
        p->handlers->on_turn(p->arg, p->hs->stream->chunk_size);
    }
    return !p->stopped;
}

/* ---- how long it plays ---- */

/* How many frames ahead a step looks for the end. */
#define LOOK_AHEAD 256

/* The frame comes when the player has had its duration.  Metadata have no
 * time. */
static bool
is_too_late(const struct live_player *p, uint64_t frame)
{
    const struct frame *f = frame_at(p->hs->stream, frame);

    return (f->flags & MEDIA_META) == 0 &&
           (int32_t)(f->timestamp - p->began_time) >= (int32_t)p->duration;
}

/* Frames before that one are its own. */
static uint64_t
end_of_share(const struct live_player *p)
{
    uint64_t end = p->at.frame + (p->at.offset > 0 ? 1 : 0);
    uint64_t last = p->at.frame + LOOK_AHEAD;

    if (p->duration == 0) {
        return p->hs->reached;
    }
    last = last < p->hs->reached ? last : p->hs->reached;
    while (end < last && !is_too_late(p, end)) {
        end++;
    }
    return end;
}

/* At a frame's boundary. */
static bool
has_had_all(const struct live_player *p)
{
    return p->duration > 0 && p->at.frame < p->hs->reached &&
           is_too_late(p, p->at.frame);
}

static enum sent
end_play(struct live_player *p)
{
    pass_flush(); /* before its session is told anything */
    if (!p->stopped) {
        player_stop(p, LIVE_PLAYED);
    }
    return SENT_GONE;
}

/* ---- frames ---- */

/* Something waits for the end of the frame it stands in. */
static bool
wants_boundary(const struct live_player *p)
{
    return p->waiting || buf_len(&p->words) > 0;
}

/* The next bytes for a player; shared with those at the same place. */
static const struct batch *
next_batch(const struct live_player *p)
{
    struct hub_stream *hs = p->hs;
    bool cut = p->at.offset > 0 && wants_boundary(p);

    if (p->at.offset == 0 && batch_is_common(&p->view) && p->duration == 0) {
        return pass_batch(p);
    }
    batch_fill(&hub.own, hs->stream, &p->view, p->at,
               cut ? p->at.frame + 1 : end_of_share(p));
    return &hub.own;
}

enum sent
player_sent(struct live_player *p, const struct batch *b, size_t n)
{
    uint64_t video = b->video, audio = b->audio;

    if (n == b->bytes) {
        p->at = b->to;
    } else {
        p->at = batch_cursor(b, p->hs->stream, &p->view, n, &video, &audio);
    }
    player_count(p, video, audio);
    if (n < b->bytes) {
        return SENT_BLOCKED;
    }
    return p->at.frame == p->hs->reached && !wants_boundary(p) ? SENT_ALL
                                                               : SENT_SOME;
}

static enum sent
send_frames(struct live_player *p)
{
    const struct batch *b;
    ssize_t n = 0;

    if (!batch_is_whole(p->hs->stream, p->at.frame)) {
        return lose(p, LIVE_LOST_DAMAGED, "a frame of the stream was damaged");
    }
    if (p->turns->last != p) {
        if (!player_take_turn(p)) {
            return SENT_GONE;
        }
        if (conn_unsent(p->conn) > 0) { /* what was said just now */
            p->conn->notify_writable = true;
            return SENT_BLOCKED;
        }
    }
    b = next_batch(p);
    if (b != &hub.own && pass_send(p, b)) {
        return SENT_ASKED;
    }
    if (b->bytes > 0) {
        n = conn_writev(p->conn, b->ranges, b->count);
    }
    return n < 0 ? player_break(p) : player_sent(p, b, (size_t)n);
}

enum sent
player_step(struct live_player *p)
{
    enum sent sent = SENT_SOME;

    if (player_shut_out(p) && !p->conn->want_write) {
        return SENT_SOME; /* the other one goes on in the next pass, too */
    }
    if (player_shut_out(p) || conn_unsent(p->conn) > 0) {
        p->conn->notify_writable = true;
        return SENT_BLOCKED;
    }
    if (p->rest != NULL) {
        return send_rest(p);
    }
    if (p->at.offset == 0) {
        if (buf_len(&p->words) > 0) {
            return send_words(p);
        }
        if (p->paused || p->waiting) {
            return start_again(p, p->not_before);
        }
        sent = catch_up(p);
        if (sent == SENT_SOME && has_had_all(p)) {
            return end_play(p);
        }
    } else if (p->at.frame < atomic_load(&p->hs->stream->head)) {
        return player_too_slow(
            p, "too slow: took nothing of a frame for the whole "
               "window");
    }
    if (sent != SENT_SOME) {
        return sent;
    }
    return p->at.frame >= p->hs->reached ? SENT_ALL : send_frames(p);
}

void
player_file(struct live_player *p, enum sent sent)
{
    struct hub_stream *hs = p->hs;

    if (sent == SENT_GONE || sent == SENT_ASKED) {
        return;
    }
    if (!player_shut_out(p)) { /* with words, for they have an order, too */
        p->turns->busy =
            player_mid_frame(p) || buf_len(&p->words) > 0 ? p : NULL;
    }
    switch (sent) {
    case SENT_ALL:
        list_append(&hs->current, &p->link);
        if (!hs->live) { /* it may be the end: looked at before we sleep */
            wake_slot(slot_self(), stream_number(hs->stream));
        }
        return;
    case SENT_SOME:
        list_append(&hs->behind, &p->link);
        hub_activate(hs);
        return;
    case SENT_BLOCKED:
        if (p->blocked_ms == 0) {
            p->blocked_ms = loop_now(hub.loop);
        }
        list_append(&hs->blocked, &p->link);
        hub.check_stalls = true;
        return;
    case SENT_WAITS:
        list_append(&hs->waiting, &p->link);
        /* Looked at before we sleep: it may start at once. */
        wake_slot(slot_self(), stream_number(hs->stream));
        return;
    case SENT_ASKED:
    case SENT_GONE:
        return;
    }
}

void
live_player_writable(struct live_player *p)
{
    if (p->stopped || p->hs == NULL || p->blocked_ms == 0) {
        return;
    }
    p->blocked_ms = 0;
    list_remove(&p->link);
    if (!hub_stream_valid(p->hs)) {
        list_append(&p->hs->waiting, &p->link); /* ended: told before sleep */
        return;
    }
    player_file(p, player_step(p));
}
