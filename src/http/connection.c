/*
 * The life of a connection: requests come and are served one after the other.
 * The next head is read when the kernel has the last byte of the answer before
 * it.  Bytes that a client sends ahead meanwhile stay unread in the
 * connection's bounded buffer.  At most BURST requests are served in one turn,
 * so that a client that pipelines does not keep others waiting.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/exchange.h"

#include <assert.h>

#include "base/log.h"
#include "base/mem.h"
#include "http/metrics.h"

#define BURST 16          /* requests of a connection in one turn */
#define AHEAD (16 * 1024) /* bytes kept of what is sent ahead */
#define TLS_HANDSHAKE 22  /* the first byte of a client that speaks TLS */

/* ---- from one request to the next ---- */

static void
drop_exchange(struct http_connection *c)
{
    if (c->x != NULL) {
        struct exchange *x = c->x;

        c->x = NULL;
        http_request_free(x);
    }
}

void
http_settle_later(struct http_connection *c)
{
    loop_later(c->loop, &c->later);
}

void
http_connection_end(struct http_connection *c, enum http_end why,
                    const char *reason)
{
    c->end = (uint8_t)why;
    conn_close(c->conn, reason);
}

/* The answer stays without its end. */
static void
end_broken(struct http_connection *c)
{
    c->end = HTTP_END_WRITE;
    if (c->x->reset) {
        conn_reset(c->conn, "the answer broke off");
    } else {
        conn_close(c->conn, "write failed");
    }
}

/* The client has said that it sends no other request, and all of this one was
 * read. */
static bool
sends_no_more(const struct exchange *x)
{
    return x != NULL && !x->head.keep_alive && x->body.done && !x->broken;
}

/* Closes when the last bytes are with the client. */
static void
finish(struct http_connection *c, enum http_end why, const char *reason)
{
    int64_t linger_ms =
        sends_no_more(c->x) ? 0 : c->server->settings.lingering_timeout;

    c->end = (uint8_t)why;
    timer_stop(c->loop, &c->timer);
    c->phase = PHASE_CLOSING;
    drop_exchange(c);
    conn_set_incomplete(c->conn, false);
    conn_finish(c->conn, linger_ms, reason);
}

static void
next_request(struct http_connection *c)
{
    drop_exchange(c);
    c->phase = PHASE_IDLE;
    c->scan = (struct http_scan){ 0 };
    http_idle(c);
    if (!c->in_data) {
        http_settle_later(c);
    }
}

static void
answered(struct http_connection *c)
{
    struct exchange *x = c->x;

    http_account(x);
    http_upload_drop(x);
    if (x->close) {
        finish(c, HTTP_END_ANSWERED, "answered");
    } else if (!x->body.done) {
        c->phase = PHASE_SKIP;
        x->body.keep = false;
        x->body_waited_ms = 0;
        x->body_began_ms = loop_now(c->loop);
        x->body_began_bytes = c->conn->bytes_in;
        timer_set(c->loop, &c->timer, c->server->settings.client_body_timeout);
        if (!c->in_data) {
            http_settle_later(c);
        }
    } else {
        next_request(c);
    }
}

/* Looks what became of the answer; no handler is on the stack. */
void
http_settle(struct http_connection *c)
{
    struct exchange *x = c->x;

    if (x == NULL || c->conn == NULL || x->running ||
        (c->phase != PHASE_BUSY && c->phase != PHASE_BODY)) {
        return;
    }
    if (!http_flush(x)) {
        if (x->broken) {
            end_broken(c);
        }
        return;
    }
    if (x->stalled_ms != 0) {
        x->stall_total_ms += loop_now(c->loop) - x->stalled_ms;
        x->stalled_ms = 0;
    }
    if (c->phase == PHASE_BUSY) {
        timer_stop(c->loop, &c->timer);
    }
    if (x->file != NULL) {
        http_file_pump(x);
    }
    if (x->pieces != NULL) {
        http_pieces_pump(x);
    }
    if (x->ended && !x->broken && buf_len(&x->out) == 0) {
        answered(c);
    }
}

void
http_answer_stalls(struct http_connection *c)
{
    if (c->x->stalled_ms == 0) {
        c->x->stalled_ms = loop_now(c->loop);
        if (c->x->stall_total_ms == 0) {
            c->x->stall_bytes = c->conn->bytes_out;
        }
    }
    if (c->phase == PHASE_BUSY && !timer_is_set(&c->timer)) {
        timer_set(c->loop, &c->timer, c->server->settings.send_timeout);
    }
}

/* ---- bytes from the peer ---- */

static struct http_limits
limits_of(const struct http_settings *s)
{
    return (struct http_limits){
        .head = (size_t)s->client_max_head_size,
        .target = (size_t)s->client_max_uri_size,
        .header = (size_t)s->client_max_header_size,
        .headers = (size_t)s->client_max_headers,
    };
}

static void
head_began(struct http_connection *c)
{
    if (c->phase == PHASE_HEAD) {
        return;
    }
    c->phase = PHASE_HEAD;
    http_not_idle(c);
    conn_set_incomplete(c->conn, true);
    if (c->requests > 0) { /* for the first the clock runs since accept */
        timer_set(c->loop, &c->timer,
                  c->server->settings.client_header_timeout);
    }
}

static size_t
take_head(struct http_connection *c, const uint8_t *data, size_t n)
{
    struct http_limits limits = limits_of(&c->server->settings);

    if (c->burst >= BURST) {
        http_settle_later(c);
        return 0;
    }
    ssize_t len = http_scan(&c->scan, data, n, &limits);

    if (len > 0) {
        c->offered = n - (size_t)len;
        http_request_begin(c, data, (size_t)len);
        return (size_t)len;
    }
    if (len < 0 && data[0] == TLS_HANDSHAKE) {
        c->scan.why = REFUSE_TLS;
    }
    if (len < 0) {
        http_request_refused(c, data, n, c->scan.why);
        return n;
    }
    head_began(c);
    return 0;
}

static size_t
take_body(struct http_connection *c, const uint8_t *data, size_t n)
{
    struct exchange *x = c->x;
    assert(!x->needs_body || buf_len(&x->body.bytes) <= HTTP_LOOK);
    size_t room = x->needs_body ? HTTP_LOOK - buf_len(&x->body.bytes) : n;
    enum http_refusal why;
    ssize_t eaten = http_body_eat(&x->body, data, n < room ? n : room, &why);

    c->offered = eaten < 0 ? 0 : n - (size_t)eaten;
    if (eaten < 0) {
        http_refuse(x, why);
    } else if (x->body.done || (x->needs_body && http_body_looked(x))) {
        c->phase = PHASE_BUSY;
        timer_stop(c->loop, &c->timer);
        http_body_came(x);
    } else {
        http_feed_more(x);
    }
    http_settle(c);
    return eaten < 0 ? n : (size_t)eaten;
}

/* A handler that reads the body itself is offered it. */
static size_t
take_upload(struct http_connection *c, const uint8_t *data, size_t n)
{
    struct exchange *x = c->x;
    size_t eaten;

    if (!http_upload_wants(x)) {
        return 0;
    }
    eaten = http_upload_take(x, data, n);
    http_upload_pump(x);
    http_settle(c);
    return eaten;
}

static size_t
skip_body(struct http_connection *c, const uint8_t *data, size_t n)
{
    enum http_refusal why;
    ssize_t eaten = http_body_eat(&c->x->body, data, n, &why);

    if (eaten < 0) {
        http_refusal_add(why);
        http_refusal_say(why, "http", &c->x->pub.client, c->x->head.line);
        finish(c, HTTP_END_BODY_BAD, http_refusal_text(why));
        return n;
    }
    if (c->x->body.done) {
        next_request(c);
    }
    return (size_t)eaten;
}

/* Bytes eaten; 0: nothing can be done with them now. */
static size_t
take(struct http_connection *c, const uint8_t *data, size_t n)
{
    switch ((enum http_phase)c->phase) {
    case PHASE_IDLE:
    case PHASE_HEAD:
        return take_head(c, data, n);
    case PHASE_BODY:
        return take_body(c, data, n);
    case PHASE_SKIP:
        return skip_body(c, data, n);
    case PHASE_BUSY:
        return take_upload(c, data, n);
    case PHASE_CLOSING:
    case PHASE_TAKEN:
    case PHASE_GONE:
        break;
    }
    return n;
}

static ssize_t
on_data(void *arg, const uint8_t *data, size_t n)
{
    struct http_connection *c = arg;
    size_t used = 0;

    c->in_data = true;
    while (used < n && c->phase != PHASE_TAKEN) {
        c->offered = n - used;
        size_t ate = take(c, data + used, n - used);

        if (ate == 0) {
            break;
        }
        used += ate;
    }
    c->in_data = false;
    c->offered = 0;
    if (c->phase == PHASE_GONE) {
        return -1;
    }
    return c->phase == PHASE_CLOSING ? (ssize_t)n : (ssize_t)used;
}

/* ---- everything else that happens to it ---- */

static void
on_writable(void *arg)
{
    struct http_connection *c = arg;
    struct exchange *x = c->x;

    http_settle(c);
    if (c->x == x && x != NULL && c->conn != NULL && x->on_room != NULL &&
        buf_len(&x->out) == 0) {
        x->on_room(x->on_room_arg);
    }
}

static bool
reads(const struct http_connection *c)
{
    return c->phase == PHASE_IDLE || c->phase == PHASE_HEAD ||
           c->phase == PHASE_BODY || c->phase == PHASE_SKIP ||
           (c->phase == PHASE_BUSY && http_upload_wants(c->x));
}

/* Nobody waits for its answer. */
static bool
has_left(const struct http_connection *c)
{
    return c->phase == PHASE_BUSY &&
           (c->x->endless || (c->x->with_client && c->x->status == 0));
}

static void
on_eof(void *arg)
{
    struct http_connection *c = arg;

    c->eof = true;
    if (has_left(c)) {
        conn_close(c->conn, "client closed the connection");
    } else {
        /* Requests that it sent before are still served: it may have ended its
         * side only.  If it is gone, the answer is wasted and ends in a reset.
         */
        http_settle_later(c);
    }
}

static void
on_close(void *arg, const char *reason)
{
    struct http_connection *c = arg;
    struct exchange *x = c->x;
    char peer[ADDR_TEXT];

    log_limited_if(conn_debugged(c->conn), LOG_DEBUG,
                   "http %s: closed after %u requests: %s",
                   addr_text(&c->conn->peer, peer), c->requests, reason);
    if (x != NULL) {
        http_upload_drop(x);
    }
    if (x != NULL && c->phase != PHASE_SKIP) {
        if (x->note.len == 0) {
            http_note(&x->pub, "%s", reason);
        }
        http_account(x);
    }
    metric_add(&http_metrics[HTTP_CLOSED], c->end, 1);
    http_connection_closed(c);
    c->phase = PHASE_GONE;
    c->conn = NULL;
    unsent_set(&c->unsent, 0, 0);
    timer_stop(c->loop, &c->timer);
    http_settle_later(c);
    if (x != NULL) {
        later_cancel(&x->resume);
        http_feed_drop(x);
        if (x->on_cancel != NULL && !x->ended) {
            x->on_cancel(x->on_cancel_arg);
        }
    }
}

static const struct conn_handlers handlers = {
    .on_data = on_data,
    .on_writable = on_writable,
    .on_eof = on_eof,
    .on_close = on_close,
};

static void
free_connection(struct http_connection *c)
{
    drop_exchange(c);
    http_connection_gone(c);
    mem_free(&c);
}

/* A handler waits for a body of which nothing came: a client that asked
 * whether to send it gets its word. */
static void
send_continue(struct exchange *x)
{
    struct iovec iov = { (void *)(uintptr_t) "HTTP/1.1 100 Continue\r\n\r\n",
                         25 };

    if (x->head.expects_continue && x->status == 0) {
        x->head.expects_continue = false;
        if (x->body.seen == 0 && x->body.chunked.digits == 0) {
            http_send_bytes(x, &iov, 1);
        }
    }
}

/* The client has ended its side: nothing is left that could be taken. */
static bool
is_cut(const struct http_connection *c)
{
    if (c->phase == PHASE_BUSY) {
        return http_upload_is_cut(c->x);
    }
    return c->burst < BURST || buf_len(&c->conn->in) == 0;
}

static void
on_later(struct later *later)
{
    struct http_connection *c = LIST_ITEM(later, struct http_connection, later);

    if (c->phase == PHASE_GONE) {
        free_connection(c);
        return;
    }
    c->burst = 0;
    http_settle(c);
    if (c->phase == PHASE_BUSY) {
        http_upload_pump(c->x);
        http_settle(c);
    }
    if (reads(c)) {
        conn_offer(c->conn);
    }
    if (c->eof && (has_left(c) || reads(c))) {
        if (has_left(c) || is_cut(c)) {
            conn_close(c->conn, "client closed the connection");
        }
    } else if (reads(c) && c->x != NULL && c->phase != PHASE_SKIP) {
        send_continue(c->x);
    }
}

/* When that was which the time-out of this phase counts from. */
static int64_t
last_progress(const struct http_connection *c)
{
    if (c->phase == PHASE_BODY || c->phase == PHASE_SKIP) {
        return c->conn->last_read_ms;
    }
    if (c->phase == PHASE_BUSY) {
        int64_t sent = c->conn->last_write_ms;

        return sent > c->x->stalled_ms ? sent : c->x->stalled_ms;
    }
    return INT64_MIN / 2;
}

static int64_t
time_out(const struct http_connection *c)
{
    const struct http_settings *s = &c->server->settings;

    if (c->phase == PHASE_BUSY) {
        return s->send_timeout;
    }
    return c->phase == PHASE_BODY && c->x->reject != 0 ? BODY_PAUSE_MS
                                                       : s->client_body_timeout;
}

/* The body did not come in time. */
static void
body_timed_out(struct http_connection *c)
{
    if (c->x->reject == 0) {
        http_refuse(c->x, REFUSE_BODY_SLOW);
    } else {
        c->phase = PHASE_BUSY;
        http_reject(c->x);
    }
    http_settle(c);
}

/* Too much is kept for all clients together, and this one takes it slowest. */
static void
cut(struct unsent *u)
{
    struct http_connection *c = LIST_ITEM(u, struct http_connection, unsent);

    http_refusal_add(REFUSE_UNSENT);
    http_refusal_say(REFUSE_UNSENT, "http", &c->x->pub.client, c->x->head.line);
    c->end = HTTP_END_UNSENT;
    conn_reset(c->conn, http_refusal_text(REFUSE_UNSENT));
}

static void
timed_out(struct http_connection *c)
{
    switch ((enum http_phase)c->phase) {
    case PHASE_HEAD:
        http_request_refused(c, buf_data(&c->conn->in), buf_len(&c->conn->in),
                             REFUSE_HEAD_SLOW);
        break;
    case PHASE_BODY:
        body_timed_out(c);
        break;
    case PHASE_IDLE:
        http_connection_end(c, HTTP_END_IDLE, "idle");
        break;
    case PHASE_SKIP:
        http_connection_end(c, HTTP_END_BODY_SLOW,
                            "request body took too long");
        break;
    case PHASE_BUSY:
        http_refusal_add(REFUSE_READS_SLOW);
        http_refusal_say(REFUSE_READS_SLOW, "http", &c->x->pub.client,
                         c->x->head.line);
        http_connection_end(c, HTTP_END_SEND_SLOW,
                            http_refusal_text(REFUSE_READS_SLOW));
        break;
    case PHASE_CLOSING:
    case PHASE_TAKEN:
    case PHASE_GONE:
        break;
    }
}

static void
on_due(struct timer *t)
{
    struct http_connection *c = LIST_ITEM(t, struct http_connection, timer);
    int64_t left = last_progress(c) + time_out(c) - loop_now(c->loop);
    int64_t whole = http_slow_left(c);

    left = whole < left ? whole : left;
    if (left > 0) {
        timer_set(c->loop, &c->timer, left);
    } else {
        timed_out(c);
    }
}

int
http_connection_begin(struct http_connection *c,
                      const struct conn_socket *socket)
{
    const struct http_settings *s = &c->server->settings;
    struct conn_limits limits = {
        .in_limit = (size_t)s->client_max_head_size + AHEAD,
        .out_limit = AHEAD,
        .linger_total_ms = s->lingering_time,
        .linger_size = s->lingering_size,
        .flush_ms = s->send_timeout,
    };

    timer_init(&c->timer, on_due);
    later_init(&c->later, on_later);
    unsent_init(&c->unsent, cut);
    c->conn = conn_new(c->loop, socket, &handlers, c, &limits);
    if (c->conn == NULL) {
        return -1;
    }
    c->conn->meter_in = http_metrics[HTTP_BYTES].first + METRIC_IN;
    c->conn->meter_out = http_metrics[HTTP_BYTES].first + METRIC_OUT;
    timer_set(c->loop, &c->timer, s->client_header_timeout);
    return 0;
}
