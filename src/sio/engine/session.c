/*
 * A session: its queue, heartbeat and end, whatever its transport.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sio/channel.h"
#include "sio/engine/session_impl.h"
#include "sio/metrics.h"

#define OPEN_MAX 256 /* bytes of the open packet */

/* ---- counting ---- */

static unsigned
transport_of(const struct session *s)
{
    return s->state->websocket ? CHANNEL_WEBSOCKET : CHANNEL_POLLING;
}

static void
count_session(const struct session *s, int n)
{
    const struct metric *m = &channel_metrics[CHANNEL_SESSIONS];

    metric_add(m, metric_at(m, transport_of(s), 0, 0), n);
}

static void
count_one(enum channel_metric metric, unsigned label)
{
    const struct metric *m = &channel_metrics[metric];

    metric_add(m, metric_at(m, label, 0, 0), 1);
}

void
session_count(struct session *s, enum metric_dir dir, size_t bytes)
{
    const struct metric *packets = &channel_metrics[CHANNEL_PACKETS];
    const struct metric *sum = &channel_metrics[CHANNEL_BYTES];
    unsigned at = transport_of(s);

    if (dir == METRIC_IN) {
        engine_used(s);
    }
    s->packets[dir]++;
    s->bytes[dir] += bytes;
    metric_add(packets, metric_at(packets, dir, at, 0), 1);
    metric_add(sum, metric_at(sum, dir, at, 0), (int64_t)bytes);
}

void
session_note_queue(struct session *s)
{
    struct session_state *st = s->state;

    metric_add(&channel_metrics[CHANNEL_QUEUED], 0,
               (int64_t)st->queue.bytes - (int64_t)st->noted);
    st->noted = st->queue.bytes;
}

/* ---- timer ---- */

void
session_set_timer(struct session *s)
{
    struct session_state *st = s->state;
    const struct upgrade *u = st->upgrade;
    int64_t due = st->due;

    if (u != NULL && u->due < due) {
        due = u->due;
    }
    if (u != NULL && u->probed && st->get != NULL && u->noop_due < due) {
        due = u->noop_due;
    }
    timer_set(st->engine->loop, &st->timer, due - clock_ms());
}

static void
ping(struct session *s)
{
    struct session_state *st = s->state;
    struct ws_frame *f = st->engine->ping;

    st->awaits_pong = true;
    st->due = loop_now(st->engine->loop) + st->ping_timeout;
    if (st->ws != NULL && st->queue.count == 0 && websocket_send(s, f)) {
        return;
    }
    /* The queue may take long; the heartbeat does not wait for it.  Without
     * memory for it the client is silent, which ends the session. */
    if (queue_push_first(&st->queue, f) == 0) {
        session_note_queue(s);
        loop_later(st->engine->loop, &st->later);
    }
}

static void
on_due(struct timer *t)
{
    struct session_state *st = LIST_ITEM(t, struct session_state, timer);
    struct session *s = session_of(st);
    int64_t now = loop_now(st->engine->loop);

    if (st->stage == SESSION_CLOSING) {
        websocket_drop(s);
        session_gone(s);
        return;
    }
    websocket_tick(s, now);
    if (st->stage != SESSION_OPEN) {
        return;
    }
    if (st->due <= now && st->awaits_pong) {
        session_end(s, SESSION_PING_TIMEOUT);
        return;
    }
    if (st->due <= now) {
        ping(s);
    }
    session_set_timer(s);
}

/* ---- beginning ---- */

static void
flush(struct session *s)
{
    if (s->state->websocket) {
        websocket_flush(s);
    } else {
        polling_flush(s);
    }
}

static void
on_later(struct later *later)
{
    struct session_state *st = LIST_ITEM(later, struct session_state, later);
    struct session *s = session_of(st);

    switch (st->stage) {
    case SESSION_OPEN:
    case SESSION_CLOSING:
        flush(s);
        session_tell_room(s);
        break;
    case SESSION_ENDING:
        session_end(s, st->why);
        break;
    case SESSION_GONE:
        session_free(s);
        break;
    }
}

/* The open packet: these five keys. */
static struct ws_frame *
open_packet(const struct session *s)
{
    const struct engine_settings *set = s->settings;
    bool may_upgrade = !s->state->websocket && set->websocket;
    struct ws_frame *f = NULL;
    struct buf b;

    buf_init(&b, OPEN_MAX);
    buf_printf(&b,
               "0{\"sid\":\"%s\",\"upgrades\":[%s],\"pingInterval\":%" PRId64
               ",\"pingTimeout\":%" PRId64 ",\"maxPayload\":%zu}",
               s->id, may_upgrade ? "\"websocket\"" : "", set->ping_interval,
               set->ping_timeout, set->max_payload);
    if (buf_len(&b) > 0) {
        f = ws_frame_new(buf_len(&b), false);
    }
    if (f != NULL) {
        memcpy(f->data, buf_data(&b), f->len);
    }
    buf_clear(&b);
    return f;
}

/* -1: memory is out. */
static int
queue_open_packet(struct session *s)
{
    struct ws_frame *f = open_packet(s);
    int result = f == NULL ? -1 : queue_push(&s->state->queue, f, NULL);

    ws_frame_let_go(&f);
    return result;
}

struct session *
session_new(struct engine *e, const struct engine_request *r, bool websocket)
{
    struct str user = r->client.user;
    struct session_block *b = try_zero(sizeof(*b) + user.len + 1);

    if (b == NULL) {
        engine_give_up(r);
        return NULL;
    }
    struct session *s = &b->session;
    struct session_state *st = s->state = &b->state;

    str_copy(b->user, user.len + 1, user);
    s->client = r->client;
    s->client.user = str_of(b->user, user.len);
    s->settings = r->settings;
    s->protocol = r->protocol;
    s->endpoint = r->endpoint;
    s->opened_ms = loop_now(e->loop);
    st->engine = e;
    st->ping_interval = r->settings->ping_interval;
    st->ping_timeout = r->settings->ping_timeout;
    st->websocket = websocket;
    timer_init(&st->timer, on_due);
    later_init(&st->later, on_later);
    list_init(&st->fresh);
    list_init(&st->posting);
    queue_init(&st->queue,
               websocket ? websocket_form(&r->query) : PACKET_PAYLOAD);
    engine_draw_id(e, s->id);
    if (queue_open_packet(s) == -1) {
        engine_give_up(r);
        mem_free(&b);
        return NULL;
    }
    engine_add(e, s);
    session_note_queue(s);
    count_session(s, 1);
    count_one(CHANNEL_OPENED, transport_of(s));
    return s;
}

void
session_leave_polling(struct session *s, enum packet_form form)
{
    count_session(s, -1);
    s->state->websocket = true;
    count_session(s, 1);
    queue_set_form(&s->state->queue, form);
    session_note_queue(s);
}

void
session_open(struct session *s)
{
    s->state->due = s->opened_ms + s->state->ping_interval;
    session_set_timer(s);
    if (s->protocol->on_open != NULL) {
        s->protocol->on_open(s);
    }
}

/* ---- what the client says ---- */

void
session_take_binary(struct session *s, struct str data)
{
    if (s->protocol->on_message != NULL) {
        s->protocol->on_message(s, data, true);
    }
}

static bool
take_base64(struct session *s, struct str text)
{
    uint8_t *bytes;
    size_t n;

    if (packet_decode(text, &bytes, &n) == -1) {
        return false;
    }
    session_take_binary(s, str_of(bytes, n));
    mem_free(&bytes);
    return true;
}

/* One that was not asked for changes nothing. */
static void
take_pong(struct session *s)
{
    struct session_state *st = s->state;

    if (st->awaits_pong) {
        st->awaits_pong = false;
        st->due = loop_now(st->engine->loop) + st->ping_interval;
        session_set_timer(s);
    }
}

bool
session_take(struct session *s, struct str text)
{
    struct packet p = packet_read(text);

    switch (p.type) {
    case PACKET_BAD:
    case PACKET_PING: /* in revision 4 the server asks */
        return false;
    case PACKET_OPEN: /* as the reference server: of no meaning here */
    case PACKET_UPGRADE:
    case PACKET_NOOP:
        return true;
    case PACKET_CLOSE:
        session_end(s, SESSION_CLIENT_CLOSED);
        return true;
    case PACKET_PONG:
        take_pong(s);
        return true;
    case PACKET_MESSAGE:
        if (s->protocol->on_message != NULL) {
            s->protocol->on_message(s, p.data, false);
        }
        return true;
    case PACKET_BINARY:
        return take_base64(s, p.data);
    }
    return false;
}

/* ---- sending ---- */

static bool
has_room(const struct session *s, const struct ws_frame *f)
{
    const struct queue *q = &s->state->queue;
    size_t cost = queue_cost(q, f), most = s->settings->max_queue;

    return cost <= most && q->bytes <= most - cost;
}

/* Whether f goes out now, past the queue. */
static bool
send_at_once(struct session *s, struct ws_frame *f, uint64_t key)
{
    struct session_state *st = s->state;

    if (key != 0 && queue_drop(&st->queue, key)) {
        count_one(CHANNEL_EVENTS_DROPPED, CHANNEL_REPLACED);
    }
    if (st->ws != NULL && st->queue.count == 0 && websocket_send(s, f)) {
        session_note_queue(s);
        return true;
    }
    if (!has_room(s, f) && st->get != NULL) {
        polling_flush(s); /* the client is there: it is not slow */
    }
    return false;
}

static int
put(struct session *s, struct ws_frame *f, const struct engine_mark *mark)
{
    struct session_state *st = s->state;

    if (!has_room(s, f) || queue_push(&st->queue, f, mark) == -1) {
        session_end_later(s, SESSION_TOO_SLOW);
        return -1;
    }
    session_note_queue(s);
    if (st->get != NULL) {
        /* One answer has all that one turn sends. */
        loop_later(st->engine->loop, &st->later);
    }
    return 0;
}

int
session_send(struct session *s, struct ws_frame *f, uint64_t key)
{
    const struct engine_mark mark = { .key = key };
    struct session_state *st = s->state;

    if (st->stage != SESSION_OPEN) {
        return -1;
    }
    if (send_at_once(s, f, key)) {
        return 0;
    }
    if (st->stage != SESSION_OPEN) {
        return -1; /* there was no memory for it */
    }
    if (!has_room(s, f) && s->protocol->on_full != NULL) {
        s->protocol->on_full(s);
    }
    return put(s, f, &mark);
}

int
session_offer(struct session *s, struct ws_frame *f,
              const struct engine_mark *mark)
{
    struct session_state *st = s->state;

    if (st->stage != SESSION_OPEN) {
        return -1;
    }
    if (send_at_once(s, f, mark->key)) {
        return 0;
    }
    if (st->stage != SESSION_OPEN) {
        return -1;
    }
    return has_room(s, f) ? put(s, f, mark) : 1;
}

uint32_t
session_drop(struct session *s, uint32_t group)
{
    const struct metric *m = &channel_metrics[CHANNEL_EVENTS_DROPPED];
    uint32_t bits = 0;
    uint32_t n = queue_drop_group(&s->state->queue, group, &bits);

    metric_add(m, metric_at(m, CHANNEL_OUTDATED, 0, 0), n);
    session_note_queue(s);
    return bits;
}

/* ---- room ---- */

void
session_await_room(struct session *s)
{
    struct session_state *st = s->state;

    if (st->stage == SESSION_OPEN) {
        st->awaits_room = true;
        loop_later(st->engine->loop, &st->later);
    }
}

/* The queue was flushed before. */
static bool
takes_more(const struct session_state *st)
{
    return st->websocket ? st->ws != NULL && ws_has_room(st->ws)
                         : st->get != NULL;
}

void
session_tell_room(struct session *s)
{
    struct session_state *st = s->state;

    if (st->awaits_room && st->stage == SESSION_OPEN && takes_more(st)) {
        st->awaits_room = false;
        s->protocol->on_room(s);
    }
}

size_t
session_queued(const struct session *s)
{
    return s->state->queue.bytes;
}

bool
session_holds(const struct session *s, const struct ws_frame *f)
{
    const struct session_state *st = s->state;

    return queue_holds(&st->queue, f) ||
           (st->ws != NULL && ws_is_sending(st->ws, f));
}

bool
session_is_idle(const struct session *s)
{
    const struct session_state *st = s->state;

    return st->queue.count == 0 && (st->ws == NULL || !ws_is_busy(st->ws));
}

bool
session_is_websocket(const struct session *s)
{
    return s->state->websocket;
}

/* ---- end ---- */

bool
session_is_graceful(enum session_end why)
{
    return why == SESSION_NOT_JOINED || why == SESSION_SERVER_CLOSED ||
           why == SESSION_KICKED || why == SESSION_ENDPOINT_GONE ||
           why == SESSION_STOPPING;
}

void
session_end_later(struct session *s, enum session_end why)
{
    struct session_state *st = s->state;

    if (st->stage != SESSION_OPEN) {
        return;
    }
    st->stage = SESSION_ENDING;
    st->why = why;
    st->engine->open--;
    queue_clear(&st->queue);
    session_note_queue(s);
    timer_stop(st->engine->loop, &st->timer);
    loop_later(st->engine->loop, &st->later);
}

void
session_end(struct session *s, enum session_end why)
{
    struct session_state *st = s->state;

    if (st->stage > SESSION_ENDING) {
        return;
    }
    if (st->stage == SESSION_ENDING) {
        why = st->why; /* it ended before */
    } else {
        st->engine->open--;
    }
    st->stage = SESSION_CLOSING;
    st->why = why;
    timer_stop(st->engine->loop, &st->timer);
    count_session(s, -1);
    count_one(CHANNEL_ENDED, why);
    websocket_end_upgrade(s, session_end_text(why));
    if (s->protocol->on_close != NULL) {
        s->protocol->on_close(s, why);
    }
    posting_end(s);
    if (!session_is_graceful(why)) {
        queue_clear(&st->queue);
    }
    if (st->websocket) {
        websocket_finish(s);
    } else {
        polling_finish(s);
    }
    session_note_queue(s);
}

void
session_close(struct session *s, enum session_end why)
{
    session_end(s, why);
}

void
session_gone(struct session *s)
{
    struct session_state *st = s->state;

    if (st->stage == SESSION_GONE) {
        return;
    }
    st->stage = SESSION_GONE;
    timer_stop(st->engine->loop, &st->timer);
    queue_clear(&st->queue);
    session_note_queue(s);
    engine_remove(st->engine, s);
    loop_later(st->engine->loop, &st->later);
}

void
session_free(struct session *s)
{
    struct session_state *st = s->state;
    struct session_block *b = LIST_ITEM(s, struct session_block, session);

    timer_stop(st->engine->loop, &st->timer);
    later_cancel(&st->later);
    list_remove(&st->link);
    queue_clear(&st->queue);
    session_note_queue(s);
    mem_free(&b);
}
