/*
 * A request's body that its handler reads piece by piece: an upload.
 *
 * The pieces are those of the connection's buffer, from where they lie; what
 * the handler does not take stays there, and the connection reads no more
 * until the handler wants on.  So a body needs no memory of its own, however
 * long it is.  It may go on while the answer is already under way.
 *
 * Its time runs only while the handler wants bytes.  A layer may have looked at
 * the body's beginning, or at all of it, to choose: that is offered from memory
 * first.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>

#include "http/exchange.h"

struct http_upload {
    struct exchange *x; /* borrowed */
    const struct http_reader *reader;
    void *arg;
    struct str kept; /* of a body that is in memory: what was not taken */
    struct timer timer;
    bool wanted;
    bool over; /* the handler was told of its end, or wants no more of it */
};

static void
hold(struct http_upload *u)
{
    struct exchange *x = u->x;

    u->wanted = false;
    x->body_waited_ms += loop_now(x->c->loop) - x->body_began_ms;
    conn_pause_reading(x->c->conn);
}

void
http_upload_drop(struct exchange *x)
{
    struct http_upload *u = x->upload;

    if (u == NULL || u->over) {
        return;
    }
    u->over = true;
    u->wanted = false;
    timer_stop(x->c->loop, &u->timer);
    if (x->c->conn != NULL) {
        conn_resume_reading(x->c->conn);
    }
}

/* Weir's answer takes the place of the handler's, which may have begun. */
static void
fail(struct exchange *x, enum http_refusal why)
{
    void (*on_cancel)(void *arg) = x->on_cancel;

    http_upload_drop(x);
    x->on_cancel = NULL;
    x->waiting = false;
    later_cancel(&x->resume);
    if (on_cancel != NULL) {
        x->running = true;
        on_cancel(x->on_cancel_arg);
        x->running = false;
    }
    if (x->status == 0) {
        http_refuse(x, why);
    } else if (!x->ended) {
        http_refusal_add(why);
        http_refusal_say(why, "http", &x->pub.client, x->head.line);
        http_break(&x->pub);
    }
}

/* How many bytes of it the handler took. */
static size_t
give(struct http_upload *u, struct str piece)
{
    size_t took;

    piece = http_hand_piece(u->x, piece);
    u->x->running = true;
    took = u->reader->on_piece(u->arg, piece);
    u->x->running = false;
    assert(took <= piece.len);
    if (took < piece.len && !u->over) {
        hold(u);
    }
    return took;
}

static void
end(struct http_upload *u)
{
    struct exchange *x = u->x;

    http_upload_drop(x);
    http_body_trailers(&x->body, x->pub.pool, &x->pub.trailers,
                       &x->pub.trailer_count);
    x->running = true;
    u->reader->on_end(u->arg);
    x->running = false;
}

static bool
wants(const struct http_upload *u)
{
    return u->wanted && !u->x->ended && !u->x->broken;
}

size_t
http_upload_take(struct exchange *x, const uint8_t *data, size_t n)
{
    struct http_upload *u = x->upload;
    enum http_refusal why;
    struct str piece;
    size_t eaten = 0;

    while (eaten < n && wants(u) && !x->body.done) {
        size_t room = http_piece_room(x);
        size_t most = n - eaten < room ? n - eaten : room;
        ssize_t ate;

        if (room == 0) {
            http_settle_later(x->c); /* on, in the next turn */
            break;
        }
        ate = http_body_next(&x->body, data + eaten, most, &piece, &why);

        if (ate < 0) {
            fail(x, why);
            return n;
        }
        eaten += (size_t)ate;
        if (piece.len > 0) {
            size_t left = piece.len - give(u, piece);

            http_body_return(&x->body, left);
            eaten -= left;
        }
    }
    return eaten;
}

/* Offers what lies in memory, and the end. */
void
http_upload_pump(struct exchange *x)
{
    struct http_upload *u = x->upload;

    if (u == NULL || u->over || x->running || x->c->conn == NULL) {
        return;
    }
    while (wants(u) && u->kept.len > 0 && http_piece_room(x) > 0) {
        struct str piece = str_first(u->kept, http_piece_room(x));

        u->kept = str_skip(u->kept, give(u, piece));
    }
    if (wants(u) && u->kept.len > 0) {
        http_settle_later(x->c); /* on, in the next turn */
    }
    if (wants(u) && u->kept.len == 0 && x->body.done) {
        end(u);
    }
}

bool
http_upload_wants(const struct exchange *x)
{
    return x->upload != NULL && !x->upload->over && wants(x->upload) &&
           x->upload->kept.len == 0 && !x->body.done;
}

bool
http_upload_is_cut(const struct exchange *x)
{
    return http_upload_wants(x) && buf_len(&x->c->conn->in) == 0;
}

/* ---- time ---- */

static void
on_due(struct timer *t)
{
    struct http_upload *u = LIST_ITEM(t, struct http_upload, timer);
    struct exchange *x = u->x;
    int64_t left;

    if (!http_upload_wants(x)) {
        return; /* set again when it wants bytes */
    }
    left = http_body_left(x);
    if (left > 0) {
        timer_set(x->c->loop, &u->timer, left);
        return;
    }
    fail(x, REFUSE_BODY_SLOW);
    http_settle(x->c);
}

/* ---- what handlers call ---- */

void
http_want_body(struct http_request *r)
{
    struct exchange *x = exchange_of(r);
    struct http_upload *u = x->upload;

    if (u == NULL || u->over || u->wanted || x->c->conn == NULL) {
        return;
    }
    u->wanted = true;
    x->body_began_ms = loop_now(x->c->loop);
    if (!x->body.done && !timer_is_set(&u->timer)) {
        timer_set(x->c->loop, &u->timer,
                  x->c->server->settings.client_body_timeout);
    }
    conn_resume_reading(x->c->conn);
    http_settle_later(x->c);
}

void
http_read_body(struct http_request *r, const struct http_reader *reader,
               void *arg)
{
    struct exchange *x = exchange_of(r);
    struct http_upload *u = pool_zero(r->pool, sizeof(*u));

    assert(x->upload == NULL);
    *u = (struct http_upload){
        .x = x, .reader = reader, .arg = arg, .kept = r->body
    };
    timer_init(&u->timer, on_due);
    x->upload = u;
    x->body_waited_ms = 0;
    x->body_began_bytes = x->c->conn != NULL ? x->c->conn->bytes_in : 0;
    http_want_body(r);
}

int64_t
http_body_length(const struct http_request *r)
{
    const struct exchange *x = exchange_of(r);

    if (x->body.done) {
        return (int64_t)r->body.len;
    }
    return x->body.is_chunked ? -1 : (int64_t)(r->body.len + x->body.left);
}
