/*
 * The WebSocket transport, and the upgrade to it.
 *
 * A client that polls may open a WebSocket of the same session.  It sends
 * "2probe", gets "3probe", lets its last poll end (polls that wait get a noop),
 * and sends "5".  From then on the session is there; until then nothing of it
 * goes that way, so no packet is lost, doubled or out of order.  A WebSocket
 * that says anything else, or nothing in time, is closed, and the session goes
 * on by polling.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "base/mem.h"
#include "sio/channel.h"
#include "sio/engine/session_impl.h"
#include "sio/metrics.h"

/* ---- connections that no session has any more ---- */

static void
drop_message(void *arg, struct str data, bool binary)
{
    (void)arg;
    (void)data;
    (void)binary;
}

static void
drop_room(void *arg)
{
    (void)arg;
}

static void
drop_close(void *arg, unsigned code, struct str reason)
{
    (void)arg;
    (void)code;
    (void)reason;
}

static const struct ws_handlers dropped = {
    .on_message = drop_message,
    .on_room = drop_room,
    .on_close = drop_close,
};

static void
drop(struct ws **w, unsigned code, const char *reason)
{
    ws_set_handlers(*w, &dropped, NULL);
    ws_close(*w, code, reason);
    *w = NULL;
}

/* ---- sending ---- */

/* A copy of a binary frame, for the few clients that take text alone. */
static struct ws_frame *
in_base64(const struct ws_frame *f)
{
    /* base64_encode() writes a NUL at the end. */
    struct ws_frame *copy =
        ws_frame_new(packet_length(f, PACKET_PAYLOAD) + 1, false);

    if (copy != NULL) {
        copy->len = packet_write(f, (char *)copy->data);
    }
    return copy;
}

bool
websocket_send(struct session *s, struct ws_frame *f)
{
    struct session_state *st = s->state;
    bool sent;

    if (f->binary && st->queue.form == PACKET_FRAME_BASE64) {
        struct ws_frame *text = in_base64(f);

        if (text == NULL) {
            session_end_later(s, SESSION_TRANSPORT_LOST);
            return false;
        }
        sent = ws_send(st->ws, text);
        ws_frame_let_go(&text);
    } else {
        sent = ws_send(st->ws, f);
    }
    if (sent) {
        session_count(s, METRIC_OUT, packet_length(f, st->queue.form));
    }
    return sent;
}

static unsigned
close_code(enum session_end why)
{
    switch (why) {
    case SESSION_STOPPING:
    case SESSION_ENDPOINT_GONE:
        return WS_GOING_AWAY;
    case SESSION_PARSE_ERROR:
        return WS_PROTOCOL;
    case SESSION_TOO_SLOW:
    case SESSION_PING_TIMEOUT:
    case SESSION_NOT_JOINED:
    case SESSION_REFUSED:
        return WS_POLICY;
    case SESSION_CLIENT_CLOSED:
    case SESSION_TRANSPORT_LOST:
    case SESSION_SERVER_CLOSED:
    case SESSION_KICKED:
    case SESSION_ENDS:
        break;
    }
    return WS_NORMAL;
}

void
websocket_drop(struct session *s)
{
    struct session_state *st = s->state;

    if (st->ws != NULL) {
        drop(&st->ws, close_code(st->why), session_end_text(st->why));
    }
}

void
websocket_flush(struct session *s)
{
    struct session_state *st = s->state;

    while (st->ws != NULL && st->queue.count > 0 &&
           websocket_send(s, queue_at(&st->queue, 0))) {
        queue_pop(&st->queue, 1);
    }
    session_note_queue(s);
    if (st->stage == SESSION_CLOSING && st->queue.count == 0) {
        websocket_drop(s);
        session_gone(s);
    }
}

void
websocket_finish(struct session *s)
{
    struct session_state *st = s->state;

    if (st->ws == NULL) {
        session_gone(s);
        return;
    }
    websocket_flush(s);
    if (st->stage == SESSION_CLOSING) {
        timer_set(st->engine->loop, &st->timer, WEBSOCKET_LINGER_MS);
    }
}

/* ---- the transport of a session ---- */

static void
on_message(void *arg, struct str data, bool binary)
{
    struct session *s = arg;

    if (s->state->stage != SESSION_OPEN) {
        return;
    }
    session_count(s, METRIC_IN, data.len);
    if (binary) {
        session_take_binary(s, data);
    } else if (!session_take(s, data)) {
        session_end(s, SESSION_PARSE_ERROR);
    }
}

static void
on_room(void *arg)
{
    websocket_flush(arg);
    session_tell_room(arg);
}

static void
on_close(void *arg, unsigned code, struct str reason)
{
    struct session *s = arg;
    struct session_state *st = s->state;
    bool bad = code == WS_PROTOCOL || code == WS_NOT_UTF8 || code == WS_TOO_BIG;
    bool lost = code == WS_ABNORMAL || code == WS_INTERNAL ||
                code == WS_TRY_LATER; /* ours, for want of memory */

    (void)reason;
    st->ws = NULL;
    session_end(s, bad    ? SESSION_PARSE_ERROR
                   : lost ? SESSION_TRANSPORT_LOST
                          : SESSION_CLIENT_CLOSED);
    session_gone(s);
}

static const struct ws_handlers transport = {
    .on_message = on_message,
    .on_room = on_room,
    .on_close = on_close,
};

/* ---- the upgrade ---- */

static struct upgrade *
take_upgrade(struct session *s, enum channel_upgrade result)
{
    const struct metric *m = &channel_metrics[CHANNEL_UPGRADES];
    struct upgrade *u = s->state->upgrade;

    s->state->upgrade = NULL;
    metric_add(m, metric_at(m, result, 0, 0), 1);
    return u;
}

void
websocket_end_upgrade(struct session *s, const char *why)
{
    if (s->state->upgrade != NULL) {
        struct upgrade *u = take_upgrade(s, CHANNEL_UPGRADE_FAILED);

        if (u->ws != NULL) {
            drop(&u->ws, WS_NORMAL, why);
        }
        mem_free(&u);
    }
}

enum packet_form
websocket_form(const struct engine_query *q)
{
    return q->base64 ? PACKET_FRAME_BASE64 : PACKET_FRAME;
}

/* The client has its last poll behind it, and takes the rest here. */
static void
switch_over(struct session *s)
{
    struct session_state *st = s->state;
    struct upgrade *u = take_upgrade(s, CHANNEL_UPGRADED);

    polling_release(s, STR("6"));
    session_leave_polling(s, u->form);
    st->ws = u->ws;
    mem_free(&u);
    ws_set_handlers(st->ws, &transport, s);
    session_set_timer(s);
    websocket_flush(s);
    session_tell_room(s);
}

static void
probe(struct session *s)
{
    struct session_state *st = s->state;
    struct upgrade *u = st->upgrade;

    if (!ws_send(u->ws, st->engine->probe_answer)) {
        websocket_end_upgrade(s, "no room");
        return;
    }
    u->probed = true;
    u->noop_due = loop_now(st->engine->loop);
    session_set_timer(s);
}

static void
on_probe_message(void *arg, struct str data, bool binary)
{
    struct session *s = arg;
    struct upgrade *u = s->state->upgrade;

    if (s->state->stage != SESSION_OPEN) {
        return;
    }
    if (!binary && str_eq(data, STR("2probe"))) {
        probe(s);
    } else if (!binary && u->probed && str_eq(data, STR("5"))) {
        switch_over(s);
    } else {
        websocket_end_upgrade(s, "no probe");
    }
}

static void
on_probe_close(void *arg, unsigned code, struct str reason)
{
    struct session *s = arg;

    (void)code;
    (void)reason;
    s->state->upgrade->ws = NULL;
    websocket_end_upgrade(s, "");
}

static const struct ws_handlers probing = {
    .on_message = on_probe_message,
    .on_room = drop_room,
    .on_close = on_probe_close,
};

void
websocket_tick(struct session *s, int64_t now)
{
    struct upgrade *u = s->state->upgrade;

    if (u == NULL) {
        return;
    }
    if (u->due <= now) {
        websocket_end_upgrade(s, "no upgrade in time");
    } else if (u->probed && u->noop_due <= now) {
        u->noop_due = now + NOOP_MS;
        polling_flush(s); /* better than a noop */
        polling_release(s, STR("6"));
    }
}

/* ---- requests ---- */

/* Says 101; nobody listens yet.  NULL: the client has gone, c is closed. */
static struct ws *
adopt(struct engine *e, const struct engine_request *r, struct conn *c,
      const struct ws_handshake *h)
{
    struct ws_handshake limited = *h;
    struct errmsg err;

    limited.message_max = r->settings->max_payload;
    limited.deflate = h->deflate && r->settings->deflate;
    return ws_adopt(e->ws_host, c, &limited, &dropped, NULL, &err);
}

static void
open_session(struct engine *e, const struct engine_request *r, struct conn *c,
             const struct ws_handshake *h)
{
    struct ws *w = adopt(e, r, c, h);

    if (w == NULL) {
        engine_give_up(r);
        return;
    }
    struct session *s = session_new(e, r, true);

    if (s == NULL) {
        ws_close(w, WS_INTERNAL, "out of memory");
        return;
    }
    s->state->ws = w;
    ws_set_handlers(w, &transport, s);
    session_open(s);
    websocket_flush(s);
}

static void
begin_upgrade(struct session *s, const struct engine_request *r, struct conn *c,
              const struct ws_handshake *h)
{
    struct session_state *st = s->state;
    struct engine *e = st->engine;
    struct ws *w = adopt(e, r, c, h);

    if (w == NULL) {
        return;
    }
    struct upgrade *u =
        st->websocket || st->upgrade != NULL ? NULL : try_zero(sizeof(*u));

    /* As the reference server: a second one is taken and closed. */
    if (u == NULL) {
        ws_close(w, WS_POLICY, "the session has a WebSocket");
        return;
    }
    u->ws = w;
    u->form = websocket_form(&r->query);
    u->due = loop_now(e->loop) + s->settings->upgrade_timeout;
    st->upgrade = u;
    ws_set_handlers(w, &probing, s);
    session_set_timer(s);
}

enum engine_error
engine_upgrade(struct engine *e, const struct engine_request *r, struct conn *c,
               const struct ws_handshake *h)
{
    enum engine_error err = engine_check_query(&r->query, r->method, true);
    bool websocket = str_eq(r->query.transport, STR("websocket"));

    if (websocket ? !r->settings->websocket : !r->settings->polling) {
        err = ENGINE_TRANSPORT_UNKNOWN;
    }
    if (err != ENGINE_OK) {
        return err;
    }
    if (r->query.sid.len == 0) {
        if (ws_host_is_full(e->ws_host)) {
            return ENGINE_FULL;
        }
        err = engine_admit(e, r);
        if (err == ENGINE_OK) {
            open_session(e, r, c, h);
        }
        return err;
    }
    struct session *s = engine_find_asked(e, r);

    if (s == NULL || s->state->stage != SESSION_OPEN) {
        return ENGINE_SESSION_UNKNOWN;
    }
    if (!websocket || !str_eq(r->method, STR("GET"))) {
        return ENGINE_BAD_REQUEST;
    }
    if (ws_host_is_full(e->ws_host)) {
        return ENGINE_FULL;
    }
    begin_upgrade(s, r, c, h);
    return ENGINE_OK;
}
