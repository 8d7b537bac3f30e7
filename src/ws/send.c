/*
 * Frames of ours.
 *
 * A message goes from the frame that all connections share straight to the
 * socket.  Bytes that the socket does not take stay there: the connection
 * remembers how far it is, and copies nothing.  Control frames are small and
 * are copied.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ws/ws_impl.h"

#include <string.h>

#define WS_CONTROL_FRAME (2 + WS_CONTROL_MAX) /* bytes of one, at most */

/* Whether nothing waits; if not, it is told when the socket has room. */
static bool
has_room(struct ws *w)
{
    return conn_has_room(w->conn) && w->sending.frame == NULL;
}

/* ---- messages ---- */

static void
send_on(struct ws *w)
{
    struct ws_sending *s = &w->sending;
    struct iovec rest = { (void *)(uintptr_t)s->next, s->left };
    ssize_t sent = conn_writev(w->conn, &rest, 1);

    if (sent < 0) {
        ws_break(w);
        return;
    }
    s->next += sent;
    s->left -= (size_t)sent;
    if (s->left == 0) {
        ws_frame_let_go(&s->frame);
    }
}

/* The header lies in front of the message, the same for all. */
static void
begin(struct ws *w, struct ws_frame *f)
{
    struct ws_sending *s = &w->sending;

    s->frame = ws_frame_hold(f);
    s->next = ws_put_head(f->data, FIN | (f->binary ? BINARY : TEXT), f->len);
    s->left = (size_t)(f->data - s->next) + f->len;
    send_on(w);
}

/* small: what f says, compressed; it is f's, and has its header. */
static void
begin_compressed(struct ws *w, struct ws_frame *f, const struct ws_frame *small)
{
    w->sending.frame = ws_frame_hold(f);
    w->sending.next = small->data;
    w->sending.left = small->len;
    send_on(w);
}

bool
ws_has_room(struct ws *w)
{
    if (!ws_is_open(w)) {
        return false;
    }
    w->wants_room = w->wants_room || !has_room(w);
    return !w->wants_room;
}

bool
ws_send(struct ws *w, struct ws_frame *f)
{
    struct ws_frame *small = NULL;

    if (!ws_has_room(w)) {
        return false;
    }
    if (w->deflated && f->len >= w->deflate_from) {
        small = ws_deflate(w->host, f);
    }
    if (small != NULL) {
        begin_compressed(w, f, small);
    } else {
        begin(w, f);
    }
    return true;
}

bool
ws_is_sending(const struct ws *w, const struct ws_frame *f)
{
    return w->sending.frame == f;
}

bool
ws_is_busy(const struct ws *w)
{
    return w->sending.frame != NULL;
}

/* ---- control frames ---- */

/* Returns bytes; there is room for WS_CONTROL_FRAME. */
static size_t
put_control(uint8_t *to, unsigned opcode, struct str data)
{
    to[0] = (uint8_t)(FIN | opcode);
    to[1] = (uint8_t)data.len;
    memcpy(to + 2, data.ptr, data.len);
    return 2 + data.len;
}

void
ws_owe_pong(struct ws *w, struct str data)
{
    uint8_t *room;

    if (!ws_is_open(w)) {
        return;
    }
    if ((w->handlers->say == NULL && !has_room(w)) ||
        buf_room(&w->pongs) < WS_CONTROL_FRAME) {
        buf_clear(&w->pongs);
    }
    room = buf_reserve(&w->pongs, WS_CONTROL_FRAME);
    if (room != NULL) {
        buf_commit(&w->pongs, put_control(room, PONG, data));
    }
}

void
ws_send_pongs(struct ws *w)
{
    struct str all = buf_str(&w->pongs);
    int bad;

    if (all.len == 0 || w->sent_close || w->broken) {
        return;
    }
    if (w->handlers->say != NULL) {
        bad = w->handlers->say(w->arg, all.ptr, all.len);
    } else if (has_room(w)) {
        bad = conn_write(w->conn, all.ptr, all.len);
    } else {
        return;
    }
    if (bad != 0) {
        ws_break(w);
    }
    buf_clear(&w->pongs);
}

bool
ws_send_close(struct ws *w, const struct ws_end *end)
{
    char data[2 + WS_REASON_MAX] = { (char)(end->code >> 8), (char)end->code };
    uint8_t frame[WS_CONTROL_FRAME];
    size_t n;

    if (!has_room(w)) {
        return false;
    }
    memcpy(data + 2, end->reason, end->len);
    n = put_control(frame, CLOSE,
                    str_of(data, end->code == WS_NONE ? 0 : 2U + end->len));
    if (conn_write(w->conn, frame, n) == -1) {
        ws_break(w);
    }
    return true;
}

bool
ws_send_waiting(struct ws *w)
{
    if (w->sending.frame != NULL) {
        send_on(w);
    }
    if (!has_room(w)) {
        return false;
    }
    ws_send_pongs(w);
    return true;
}
