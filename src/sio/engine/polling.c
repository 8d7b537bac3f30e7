/*
 * The transport of requests: a GET takes what waits for the client, or waits
 * for it; a POST brings what the client says (posting.c).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "sio/engine/session_impl.h"

#define TEXT "text/plain; charset=UTF-8"

void
polling_refuse(struct engine_exchange *x, enum engine_error e)
{
    x->answer(x, engine_error_status(e), "application/json",
              engine_error_body(e));
}

/* ---- answers of polls ---- */

/* How many of the first packets fit into one answer, and their bytes. */
static uint32_t
measure(const struct queue *q, size_t *bytes)
{
    uint32_t n = 0;

    *bytes = 0;
    while (n < q->count) {
        size_t more = packet_size(queue_at(q, n), PACKET_PAYLOAD);

        if (n > 0 && more > POLLING_ANSWER_MAX - *bytes) {
            break;
        }
        *bytes += more;
        n++;
        if (*bytes >= POLLING_ANSWER_MAX) {
            break;
        }
    }
    return n;
}

/* Joins the first n packets, and one more, which may be empty.  -1: memory is
 * out. */
static int
join(const struct queue *q, uint32_t n, struct str last, struct buf *out)
{
    char *at = (char *)buf_reserve(out, out->limit);
    char *begin = at;

    if (at == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < n; i++) {
        at += packet_write(queue_at(q, i), at);
        *at++ = PACKET_SEPARATOR;
    }
    memcpy(at, last.ptr, last.len);
    at += last.len;
    buf_commit(out, (size_t)(at - begin) - (last.len == 0));
    return 0;
}

static struct engine_exchange *
take_get(struct session *s)
{
    struct engine_exchange *x = s->state->get;

    s->state->get = NULL;
    if (!x->opened) {
        x->session = NULL; /* else the caller wants its id */
    }
    return x;
}

void
polling_release(struct session *s, struct str packet)
{
    if (s->state->get != NULL) {
        struct engine_exchange *x = take_get(s);

        session_count(s, METRIC_OUT, packet.len);
        x->answer(x, 200, TEXT, packet);
    }
}

/* One packet in text goes out as it lies. */
static bool
answer_alone(struct session *s, uint32_t n, struct str last)
{
    struct queue *q = &s->state->queue;

    if (n != 1 || last.len > 0 || queue_at(q, 0)->binary) {
        return false;
    }
    struct ws_frame *f = ws_frame_hold(queue_at(q, 0));
    struct engine_exchange *x = take_get(s);

    queue_pop(q, 1);
    x->answer(x, 200, TEXT, ws_frame_str(f));
    ws_frame_let_go(&f);
    return true;
}

static void
answer_joined(struct session *s, uint32_t n, size_t bytes, struct str last)
{
    struct engine_exchange *x = take_get(s);
    struct buf body;

    buf_init(&body, bytes + last.len + 1);
    if (join(&s->state->queue, n, last, &body) == -1) {
        polling_refuse(x, ENGINE_FULL);
        session_end_later(s, SESSION_TRANSPORT_LOST);
        return;
    }
    queue_pop(&s->state->queue, n);
    x->answer(x, 200, TEXT, buf_str(&body));
    buf_clear(&body);
}

void
polling_flush(struct session *s)
{
    struct session_state *st = s->state;
    bool closing = st->stage == SESSION_CLOSING;
    size_t bytes;

    if (st->get == NULL || (st->queue.count == 0 && !closing)) {
        return;
    }
    uint32_t n = measure(&st->queue, &bytes);
    bool last = closing && n == st->queue.count;

    for (uint32_t i = 0; i < n; i++) {
        session_count(s, METRIC_OUT,
                      packet_length(queue_at(&st->queue, i), PACKET_PAYLOAD));
    }
    if (!answer_alone(s, n, last ? STR("1") : STR_NONE)) {
        answer_joined(s, n, bytes, last ? STR("1") : STR_NONE);
    }
    session_note_queue(s);
    if (last) {
        session_gone(s);
    }
}

/* ---- the end ---- */

void
polling_finish(struct session *s)
{
    struct session_state *st = s->state;

    if (!session_is_graceful(st->why)) {
        polling_release(s,
                        st->why == SESSION_CLIENT_CLOSED ? STR("6") : STR("1"));
        session_gone(s);
        return;
    }
    polling_flush(s);
    if (st->stage == SESSION_CLOSING) {
        timer_set(st->engine->loop, &st->timer, POLLING_LINGER_MS);
    }
}

void
engine_poll_gone(struct engine *e, struct engine_exchange *x)
{
    struct session *s = x->session;

    (void)e;
    if (s == NULL || posting_gone(s, x)) {
        return;
    }
    take_get(s);
    session_end(s, SESSION_TRANSPORT_LOST);
}

/* ---- requests ---- */

static void
hold(struct session *s, struct engine_exchange *x)
{
    s->state->get = x;
    x->session = s;
}

static void
open_session(struct engine *e, const struct engine_request *r,
             struct engine_exchange *x)
{
    enum engine_error why = engine_admit(e, r);
    struct session *s = why == ENGINE_OK ? session_new(e, r, false) : NULL;

    if (s == NULL) {
        polling_refuse(x, why == ENGINE_OK ? ENGINE_FULL : why);
        return;
    }
    x->opened = true;
    hold(s, x);
    session_open(s);
    polling_flush(s);
}

static void
get(struct session *s, struct engine_exchange *x)
{
    struct session_state *st = s->state;

    engine_used(s);
    if (st->get != NULL) {
        session_end(s, SESSION_PARSE_ERROR); /* the other one is told */
        polling_refuse(x, ENGINE_BAD_REQUEST);
        return;
    }
    hold(s, x);
    polling_flush(s);
    if (st->upgrade != NULL && st->stage == SESSION_OPEN) {
        session_set_timer(s);
    }
    session_tell_room(s);
}

/* The media type that a client sends with binary bodies of revision 3. */
static bool
is_binary(struct str content_type)
{
    struct str type = str_trim(str_cut(&content_type, ';'));

    return str_eq_nocase(type, STR("application/octet-stream"));
}

static void
post(struct session *s, const struct engine_request *r,
     struct engine_exchange *x)
{
    if (is_binary(r->content_type)) {
        session_end(s, SESSION_PARSE_ERROR);
        polling_refuse(x, ENGINE_BAD_REQUEST);
        return;
    }
    if (r->body.len > r->settings->max_payload) {
        x->answer(x, 413, "text/plain", STR("the payload is too large\n"));
        return;
    }
    posting_take(s, r->body, x);
}

/* The session that r is for.  Clients may send the end of an upgrade and poll
 * at once: the WebSocket's bytes, which went first, count first. */
static struct session *
find(struct engine *e, const struct engine_request *r)
{
    struct session *s = engine_find_asked(e, r);

    if (s == NULL || s->state->upgrade == NULL) {
        return s;
    }
    ws_look(s->state->upgrade->ws);
    return engine_find_asked(e, r);
}

static void
ask(struct engine *e, const struct engine_request *r, struct engine_exchange *x)
{
    struct session *s = find(e, r);

    if (s == NULL || s->state->stage == SESSION_ENDING) {
        polling_refuse(x, ENGINE_SESSION_UNKNOWN);
    } else if (s->state->websocket ||
               !str_eq(r->query.transport, STR("polling"))) {
        polling_refuse(x, ENGINE_BAD_REQUEST);
    } else if (str_eq(r->method, STR("GET"))) {
        get(s, x);
    } else if (str_eq(r->method, STR("POST"))) {
        post(s, r, x);
    } else {
        polling_refuse(x, ENGINE_BAD_REQUEST);
    }
}

void
engine_poll(struct engine *e, const struct engine_request *r,
            struct engine_exchange *x)
{
    enum engine_error err = engine_check_query(&r->query, r->method, false);
    bool websocket = str_eq(r->query.transport, STR("websocket"));

    x->session = NULL;
    x->opened = false;
    if (websocket ? !r->settings->websocket : !r->settings->polling) {
        err = ENGINE_TRANSPORT_UNKNOWN;
    }
    if (err != ENGINE_OK) {
        polling_refuse(x, err);
    } else if (r->query.sid.len == 0) {
        open_session(e, r, x);
    } else {
        ask(e, r, x);
    }
}
