/*
 * Players whose stream comes, goes on hold or ends, and players whose socket
 * takes nothing.
 *
 * Callbacks in here may stop any player of any stream: lists are walked by
 * taking the first element away, never by remembering the next.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/log.h"
#include "live/rest.h"

/* A player whose socket takes nothing for this long is closed. */
#define STALL_MS 30000
/* Blocked players are looked at no more often than this. */
#define STALL_CHECK_PAUSE_MS 20

/* ---- what becomes of the stream ---- */

bool
players_wait_for(struct str name)
{
    struct list *bucket = hub_bucket(name);

    LIST_EACH (node, bucket) {
        struct live_player *p = LIST_ITEM(node, struct live_player, link);

        if (str_eq(record_name(p->record), name)) {
            return true;
        }
    }
    return false;
}

void
players_match_name(struct hub_stream *hs)
{
    struct str name = stream_name(hs->stream);
    struct list *bucket = hub_bucket(name);

    LIST_EACH (node, bucket) {
        struct live_player *p = LIST_ITEM(node, struct live_player, link);

        if (str_eq(record_name(p->record), name)) {
            player_meet(p, hs);
        }
    }
}

/* Calls f for each player of a list, whatever f does to lists. */
static void
each_of(struct list *players, void (*f)(struct live_player *p))
{
    struct list done;

    list_init(&done);
    while (!list_empty(players)) {
        struct live_player *p =
            LIST_ITEM(players->next, struct live_player, link);

        list_remove(&p->link);
        list_append(&done, &p->link);
        f(p);
    }
    list_splice(players, &done);
}

static void
each_player(struct hub_stream *hs, void (*f)(struct live_player *p))
{
    each_of(&hs->waiting, f);
    each_of(&hs->current, f);
    each_of(&hs->behind, f);
    each_of(&hs->blocked, f);
}

static void
say(struct live_player *p, const char *what)
{
    char peer[ADDR_TEXT];

    log_limited_if(player_debugged(p), LOG_DEBUG, "player %.*s: %s %s",
                   STR_ARGS(record_name(p->record)),
                   addr_text(&p->record->peer, peer), what);
}

static void
tell_hold(struct live_player *p)
{
    if (p->started) {
        say(p, "is on hold with its stream");
        p->handlers->on_hold(p->arg);
    }
}

static void
tell_resume(struct live_player *p)
{
    if (p->started) {
        say(p, "goes on with its stream");
        p->handlers->on_resume(p->arg);
    }
}

void
players_tell(struct hub_stream *hs, bool live)
{
    each_player(hs, live ? tell_resume : tell_hold);
}

/* Players of a stream that is over are stopped; those that never saw it go
 * back to waiting for its name. */
static void
end_player(struct live_player *p)
{
    struct hub_stream *hs = p->hs;
    struct stream *next;

    if (p->started) {
        player_stop(p, LIVE_OVER);
        return;
    }
    player_await_name(p);
    hub_release(hs);
    next = stream_find(record_name(p->record));
    if (next != NULL) { /* published anew before we looked */
        player_meet(p, hub_adopt(next));
        wake_slot(slot_self(), stream_number(next));
    }
}

void
players_end(struct hub_stream *hs)
{
    each_player(hs, end_player);
}

/* A player that never started goes on waiting: a publisher may still come. */
static void
leave_player(struct live_player *p)
{
    if (p->started) {
        player_stop(p, LIVE_OVER);
    }
}

void
players_leave(struct hub_stream *hs)
{
    each_of(&hs->current, leave_player);
    each_of(&hs->waiting, leave_player);
}

/* ---- players that take nothing ---- */

/* A frame in the older part of the window will go before long. */
static bool
about_to_go(const struct live_player *p, int64_t now)
{
    struct stream *s = p->hs->stream;
    uint64_t kept = atomic_load(&s->tail) - atomic_load(&s->head);

    return frame_at(s, p->at.frame)->arrived_ms <
               now - arena.settings.window * 3 / 4 ||
           p->at.frame < atomic_load(&s->head) + kept / 4;
}

/* False: the player was stopped. */
static bool
check_stall(struct live_player *p, int64_t now)
{
    int64_t limit = p->rest != NULL ? arena.settings.window : STALL_MS;

    if (now - p->conn->last_write_ms > limit && now - p->blocked_ms > limit) {
        player_too_slow(p, p->rest != NULL
                               ? "too slow: took nothing for the whole window"
                               : "too slow: took nothing for 30 s");
        return false;
    }
    if (p->rest != NULL || p->at.offset == 0) {
        return true;
    }
    if (p->at.frame < atomic_load(&p->hs->stream->head) ||
        (about_to_go(p, now) && rest_save(p) == -1)) {
        player_too_slow(p, "too slow: its frame is no longer kept");
        return false;
    }
    return true;
}

bool
players_check_stalls(struct hub_stream *hs)
{
    int64_t now = loop_now(hub.loop);
    struct list checked;

    list_init(&checked);
    if (now - hs->stalls_checked_ms < STALL_CHECK_PAUSE_MS) {
        return !list_empty(&hs->blocked);
    }
    hs->stalls_checked_ms = now;
    while (!list_empty(&hs->blocked)) {
        struct live_player *p =
            LIST_ITEM(hs->blocked.next, struct live_player, link);

        list_remove(&p->link);
        list_append(&checked, &p->link);
        check_stall(p, now);
    }
    list_splice(&hs->blocked, &checked);
    return !list_empty(&hs->blocked);
}
