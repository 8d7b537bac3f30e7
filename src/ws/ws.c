/*
 * A connection, and its end.
 *
 * Ends are made at the end of the turn, never within a callback: the caller may
 * be in the middle of a message.
 *
 *   ours       a close is sent, then the peer's is waited for
 *   the peer's its close is answered, then it is over
 *   a fault    the peer broke the protocol: a close is sent, then it is over
 *   broken     it is over
 *
 * The deadline ends all of them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ws/ws_impl.h"

#include "base/mem.h"

#define LINGER_MS 1000 /* for the peer to read our close */

/* ---- the end ---- */

bool
ws_is_open(const struct ws *w)
{
    return w->end == NULL;
}

void
ws_forget_message(struct ws *w)
{
    w->host->unfinished -= buf_len(&w->message);
    buf_clear(&w->message);
}

static void
note_end(struct ws *w, unsigned code, struct str reason)
{
    if (w->end == NULL) {
        w->end = mem_zero(sizeof(*w->end));
        w->end->code = (uint16_t)code;
        w->end->len =
            (uint8_t)str_copy(w->end->reason, sizeof(w->end->reason), reason);
        ws_forget_message(w);
    }
}

void
ws_end(struct ws *w, unsigned code, struct str reason, bool answers)
{
    note_end(w, code, reason);
    w->peer_closed |= answers;
    if (!timer_is_set(&w->deadline)) {
        timer_set(w->host->loop, &w->deadline, WS_CLOSE_MS);
    }
    loop_later(w->host->loop, &w->act);
}

void
ws_close(struct ws *w, unsigned code, const char *reason)
{
    if (ws_is_open(w)) {
        ws_end(w, code, str_from(reason), false);
    }
}

void
ws_break(struct ws *w)
{
    note_end(w, WS_ABNORMAL, STR_NONE);
    w->broken = true;
    loop_later(w->host->loop, &w->act);
}

/* Tells it, and frees w; the connection is not its own any more. */
static void
is_over(struct ws *w)
{
    const struct ws_handlers *h = w->handlers;

    note_end(w, WS_ABNORMAL, STR_NONE);
    if (h->on_close != NULL) {
        h->on_close(w->arg, w->end->code, str_of(w->end->reason, w->end->len));
    }
    ws_free(w);
}

/* All was said: the peer still gets what the system holds for it. */
static void
finish(struct ws *w)
{
    struct conn *c = w->conn;
    const char *why = w->end->len > 0 ? w->end->reason : "closed";

    conn_part(c, STR_NONE, LINGER_MS, why);
    is_over(w);
}

/* The owner ends its message under way; false: the connection is over. */
static bool
end_owner(struct ws *w)
{
    const struct conn *c = w->conn;

    if (w->handlers->on_ending != NULL && !w->sent_close) {
        w->handlers->on_ending(w->arg);
    }
    return !c->closed;
}

static void
act(struct later *later)
{
    struct ws *w = LIST_ITEM(later, struct ws, act);

    if (w->end == NULL) {
        conn_offer(w->conn); /* after ws_adopt() */
        return;
    }
    if (!end_owner(w)) {
        return;
    }
    if (!w->broken && !w->sent_close) {
        w->sent_close = ws_send_close(w, w->end);
    }
    if (w->broken) {
        conn_close(w->conn, "the connection broke");
    } else if (w->sent_close && (w->peer_closed || w->reader.deaf)) {
        finish(w);
    }
}

/* The peer takes too long. */
static void
on_deadline(struct timer *t)
{
    ws_break(LIST_ITEM(t, struct ws, deadline));
}

/* ---- the connection's events ---- */

static void
on_writable(void *arg)
{
    struct ws *w = arg;
    const struct conn *c = w->conn;

    if (w->handlers->on_writable != NULL) {
        w->handlers->on_writable(w->arg);
    }
    if (c->closed || !ws_send_waiting(w)) {
        return;
    }
    if (w->end != NULL) {
        loop_later(w->host->loop, &w->act);
    } else if (w->wants_room) {
        w->wants_room = false;
        if (w->handlers->on_room != NULL) {
            w->handlers->on_room(w->arg);
        }
    }
}

static void
on_eof(void *arg)
{
    struct ws *w = arg;

    if (!w->peer_closed) {
        ws_break(w);
    }
}

static void
on_close(void *arg, const char *reason)
{
    (void)reason;
    is_over(arg);
}

const struct conn_handlers ws_conn_handlers = { .on_data = ws_on_data,
                                                .on_writable = on_writable,
                                                .on_eof = on_eof,
                                                .on_close = on_close };

void
ws_look(struct ws *w)
{
    conn_read(w->conn);
}

/* ---- life ---- */

void
ws_init(struct ws *w)
{
    buf_init(&w->message, w->message_max);
    buf_init(&w->pongs, WS_PONGS_MAX);
    later_init(&w->act, act);
    timer_init(&w->deadline, on_deadline);
}

void
ws_free(struct ws *w)
{
    later_cancel(&w->act);
    timer_stop(w->host->loop, &w->deadline);
    list_remove(&w->link);
    w->host->count--;
    w->host->deflated -= w->deflated;
    ws_forget_message(w);
    buf_clear(&w->pongs);
    ws_frame_let_go(&w->sending.frame);
    ws_inflater_free(&w->inflater);
    mem_free(&w->end);
    mem_free(&w);
}

void
ws_set_handlers(struct ws *w, const struct ws_handlers *h, void *arg)
{
    w->handlers = h;
    w->arg = arg;
}
