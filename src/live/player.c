/*
 * Players: their life, and what their sessions wish.
 *
 * A player is made by live_play(), stands in one list of the hub, and is freed
 * at the end of the turn in which it was stopped or left.  It neither frees nor
 * outlives its connection.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/player.h"

#include "base/hash.h"
#include "base/mem.h"
#include "live/give.h"
#include "live/metrics.h"
#include "live/rest.h"

/* Words of the session that wait for the end of a frame, bytes. */
#define WORDS_MAX (64 * 1024)

/* ---- life ---- */

struct list *
hub_bucket(struct str name)
{
    return &hub.nameless[hash_str(name) % HUB_BUCKETS];
}

/* Those of the connection, or new ones. */
static struct turns *
turns_hold(const struct live_player *beside)
{
    struct turns *t =
        beside != NULL ? beside->turns : mem_zero(sizeof(struct turns));

    t->holders++;
    return t;
}

static void
turns_drop(struct turns **t)
{
    (*t)->holders--;
    if ((*t)->holders == 0) {
        mem_free(t);
    }
    *t = NULL;
}

static void
on_destroy(struct later *later)
{
    struct live_player *p = LIST_ITEM(later, struct live_player, destroy);

    buf_clear(&p->words);
    turns_drop(&p->turns);
    mem_free(&p);
}

bool
player_mid_frame(const struct live_player *p)
{
    return p->at.offset > 0 || p->rest != NULL;
}

bool
player_shut_out(const struct live_player *p)
{
    return p->turns->busy != NULL && p->turns->busy != p;
}

struct live_player *
live_player_busy(const struct live_player *p)
{
    return p->turns->busy;
}

/* How many play in this way. */
static const struct metric *
gauge_of(const struct live_player *p)
{
    static const unsigned gauges[] = {
        [LIVE_RTMP] = LIVE_RTMP_PLAYERS,
        [LIVE_FLV] = LIVE_FLV_PLAYERS,
        [LIVE_FLV_WS] = LIVE_WS_PLAYERS,
    };

    return &live_metrics[gauges[p->view.framing]];
}

void
player_forget(struct live_player *p)
{
    struct hub_stream *hs = p->hs;

    if (buf_len(&p->words) > 0 && !player_mid_frame(p) && !player_shut_out(p)) {
        conn_write(p->conn, buf_data(&p->words), buf_len(&p->words));
    }
    p->stopped = true;
    metric_add(gauge_of(p), p->app, -1);
    p->hs = NULL;
    list_remove(&p->link);
    give_note(p->record, NULL);
    record_free(&p->record);
    if (p->turns->busy == p) {
        p->turns->busy = NULL;
    }
    if (p->turns->last == p) {
        p->turns->last = NULL;
    }
    rest_drop(p);
    if (hs != NULL) {
        hub_release(hs);
    }
    loop_later(hub.loop, &p->destroy);
}

void
player_stop(struct live_player *p, const char *reason)
{
    const struct live_player_handlers *handlers = p->handlers;
    void *arg = p->arg;
    bool close = player_mid_frame(p);

    player_forget(p);
    handlers->on_stop(arg, reason, close);
}

void
player_await_name(struct live_player *p)
{
    list_remove(&p->link);
    p->hs = NULL;
    p->waiting = false;
    p->early = !p->paused;
    p->not_before = 0;
    list_append(hub_bucket(record_name(p->record)), &p->link);
}

/* A stream of its name exists. */
void
player_meet(struct live_player *p, struct hub_stream *hs)
{
    list_remove(&p->link);
    p->hs = hs;
    p->waiting = true;
    hs->gather = p->gather;
    list_append(&hs->waiting, &p->link);
}

/* From now on it wants a frame of the stream to start at. */
static void
await_start(struct live_player *p, struct stream *s)
{
    uint64_t tail = atomic_load(&s->tail);

    p->early =
        atomic_load(&s->start) == FRAME_NONE || atomic_load(&s->writer) == 0;
    p->not_before = p->early || !p->gop_cache ? tail : 0;
}

/* It comes to a stream that is there already. */
static void
join(struct live_player *p, struct stream *s)
{
    await_start(p, s);
    player_meet(p, hub_adopt(s));
    wake_slot(slot_self(), stream_number(s)); /* started before we sleep */
}

/* The record of a new player, or NULL with err. */
static struct session_record *
take_record(const struct live_play *what, struct errmsg *err)
{
    struct record_text text = { what->name,      what->url,  what->peer,
                                what->stream_id, what->kind, SESSION_PLAYER };
    struct session_record *r;

    if (what->name.len >= LIVE_NAME_MAX) {
        live_count_refused(LIVE_REFUSED_NAME);
        errmsg_set(err, "the stream's name is longer than %d bytes",
                   LIVE_NAME_MAX - 1);
        return NULL;
    }
    r = record_take(&text, err);
    if (r != NULL && what->kind != LIVE_KIND_PUSH &&
        record_is_too_many(r, what->name)) {
        record_free(&r);
        live_count_refused(LIVE_REFUSED_PLAYERS);
        errmsg_set(err, "the stream has as many players as the operator "
                        "allows");
    }
    return r;
}

struct live_player *
live_play(const struct live_play *what, const struct live_player_handlers *h,
          void *arg, struct errmsg *err)
{
    struct session_record *record = take_record(what, err);
    struct live_player *p;
    struct stream *s;

    if (record == NULL) {
        return NULL;
    }
    p = mem_zero(sizeof(*p));
    p->record = record;
    give_note(record, p);
    p->conn = what->conn;
    p->turns = turns_hold(what->beside);
    p->handlers = h;
    p->arg = arg;
    p->gather = what->gather;
    p->asked_ms = loop_now(hub.loop);
    p->app = live_app_place(what->name);
    p->gop_cache = what->gop_cache;
    p->duration = what->duration;
    p->view.framing = what->framing;
    p->view.stream_id = what->stream_id;
    p->view.set_data_frame = what->set_data_frame;
    metric_add(gauge_of(p), p->app, 1);
    list_init(&p->link);
    buf_init(&p->words, WORDS_MAX);
    later_init(&p->destroy, on_destroy);
    s = stream_find(what->name);
    if (s == NULL) {
        player_await_name(p);
    } else {
        join(p, s);
    }
    return p;
}

/* The session goes on with its connection: what is left of a frame that has
 * begun must go out first. */
static void
finish_frame(struct live_player *p)
{
    struct cursor end = { .frame = p->at.frame + 1 };
    int failed = 0;

    if (p->conn->closed || !player_mid_frame(p)) {
        return;
    }
    if (p->rest != NULL) {
        failed = conn_write(p->conn, p->rest->bytes + p->rest_done,
                            p->rest->len - p->rest_done);
        rest_drop(p);
        p->at = end;
    } else if (p->hs == NULL || !hub_stream_valid(p->hs) ||
               p->at.frame < atomic_load(&p->hs->stream->head)) {
        failed = -1;
    }
    while (failed == 0 && p->at.frame < end.frame) {
        batch_fill(&hub.own, p->hs->stream, &p->view, p->at, end.frame);
        for (int i = 0; failed == 0 && i < hub.own.count; i++) {
            failed = conn_write(p->conn, hub.own.ranges[i].iov_base,
                                hub.own.ranges[i].iov_len);
        }
        player_count(p, hub.own.video, hub.own.audio);
        p->at = hub.own.to;
    }
    p->turns->busy = NULL;
    if (failed != 0) {
        conn_close(p->conn, "left a stream in the middle of a large frame");
    }
}

void
live_stop_playing(struct live_player **pp)
{
    struct live_player *p = *pp;

    *pp = NULL;
    if (p != NULL && !p->stopped) {
        finish_frame(p);
        player_forget(p);
    }
}

/* ---- the session's wishes ---- */

void
live_player_sent(const struct live_player *p, struct live_sent *sent)
{
    const struct session_record *r = p->record;

    sent->bytes = atomic_load_explicit(&r->meter.video, memory_order_relaxed) +
                  atomic_load_explicit(&r->meter.audio, memory_order_relaxed);
    sent->frames = p->sent_frames + p->at.frame - p->first_frame;
}

int
live_player_say(struct live_player *p, const void *data, size_t n)
{
    if (!player_mid_frame(p) && buf_len(&p->words) == 0) {
        return conn_write(p->conn, data, n);
    }
    return buf_add(&p->words, data, n);
}

/* Takes a player out of the flow; it starts anew with a later key frame: its
 * time never goes back. */
static void
make_wait(struct live_player *p)
{
    if (p->hs == NULL || p->waiting) {
        return;
    }
    p->waiting = true;
    p->not_before = p->at.frame + (player_mid_frame(p) ? 1 : 0);
    if (player_mid_frame(p) || p->blocked_ms != 0) {
        return; /* when the frame is finished */
    }
    list_remove(&p->link);
    list_append(&p->hs->waiting, &p->link);
}

void
live_player_pause(struct live_player *p, bool pause)
{
    if (pause == p->paused) {
        return;
    }
    p->paused = pause;
    if (pause) {
        p->early = false; /* goes on with what is new */
        p->unbroken |= p->started && !p->waiting && p->gop_cache;
        make_wait(p);
    } else if (p->hs == NULL) {
        p->early = true;
    } else {
        if (!p->started) {
            await_start(p, p->hs->stream);
        }
        wake_slot(slot_self(), stream_number(p->hs->stream));
    }
}

void
live_player_receive(struct live_player *p, enum media_type type, bool on)
{
    bool *off = type == MEDIA_AUDIO ? &p->view.no_audio : &p->view.no_video;

    if (*off != on) {
        return;
    }
    if (player_mid_frame(p) && p->rest == NULL) {
        finish_frame(p); /* it is under way: only whole frames are left out */
    }
    *off = !on;
    if (on && type == MEDIA_VIDEO) {
        p->unbroken = false; /* it lacks the pictures before */
        make_wait(p);
        if (p->hs != NULL) {
            wake_slot(slot_self(), stream_number(p->hs->stream));
        }
    }
}

static void
forget_each(struct list *players)
{
    while (!list_empty(players)) {
        player_forget(LIST_ITEM(players->next, struct live_player, link));
    }
}

void
players_forget_all(void)
{
    for (size_t i = 0; i < HUB_BUCKETS; i++) {
        forget_each(&hub.nameless[i]);
    }
    for (uint32_t n = 0; n < arena.stream_count; n++) {
        struct hub_stream *hs = hub.streams[n];

        if (hs != NULL) {
            forget_each(&hs->waiting);
            forget_each(&hs->current);
            forget_each(&hs->behind);
            forget_each(&hs->blocked);
        }
    }
}
