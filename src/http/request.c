/*
 * The life of a request: from its head, whole or refused, by its handlers to
 * the end; and what handlers may ask about it meanwhile.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "http/client_address.h"
#include "http/exchange.h"
#include "http/filter/rate.h"
#include "http/metrics.h"
#include "http/path.h"
#include "proc/refused.h"

#define LOGGED_LINE 2048 /* bytes kept of a head that was refused */
/* Handlers and selectors that look into a body of so many bytes have their turn
 * apart from the events: to parse one may take a millisecond.  Feeds have turns
 * of their own. */
#define LONG_BODY (32 * 1024)

/* ---- begin and end ---- */

void
http_request_free(struct exchange *x)
{
    struct pool *pool = x->pub.pool;

    later_cancel(&x->resume);
    http_feed_drop(x);
    http_upload_drop(x);
    x->c->server = x->c->address->servers[x->c->place].server;
    http_file_drop(x);
    http_pieces_drop(x);
    http_body_clear(&x->body);
    gzip_free(&x->gzip);
    buf_clear(&x->out);
    unsent_set(&x->c->unsent, 0, 0);
    metric_add(&http_metrics[HTTP_IN_FLIGHT], 0, -1);
    pool_free(&pool);
}

static void
refuse(struct exchange *x, enum http_refusal why)
{
    http_refusal_add(why);
    x->c->phase = PHASE_BUSY;
    timer_stop(x->c->loop, &x->c->timer);
    /* A client that asks too often may ask again on this connection. */
    x->close = x->close || why != REFUSE_RATE || !x->body.done;
    x->note = str_from(http_refusal_text(why));
    if (why == REFUSE_CONNECT || why == REFUSE_TRACE) {
        http_allow_all(x);
    }
    if (why == REFUSE_BODY_LONG) {
        http_error(&x->pub, 413, "%s: at most %llu are taken (bytes)",
                   http_refusal_text(why), (unsigned long long)x->body.limit);
        return;
    }
    http_error(&x->pub, http_refusal_status(why), "%s", http_refusal_text(why));
}

/* Remembers it for the operator, before the client knows. */
static void
note_refusal(const struct exchange *x, enum http_refusal why, struct str bytes,
             size_t offset)
{
    char peer[ADDR_TEXT];

    refused_note(&(struct refused){
        .proto = "http",
        .peer = addr_text(&x->pub.client, peer),
        .reason = http_refusal_text(why),
        .bytes = bytes,
        .offset = offset,
    });
}

void
http_refuse(struct exchange *x, enum http_refusal why)
{
    note_refusal(x, why, x->head.line, 0);
    http_feed_drop(x);
    if (why == REFUSE_BODY_LONG) {
        http_feed_too_long(x);
    }
    http_walk_refuse(x);
    refuse(x, why);
}

void
http_wait_for_body(struct exchange *x)
{
    struct http_connection *c = x->c;

    c->phase = PHASE_BODY;
    x->body_began_ms = loop_now(c->loop);
    x->body_began_bytes = c->conn->bytes_in;
    timer_set(c->loop, &c->timer,
              x->reject != 0 ? BODY_PAUSE_MS
                             : c->server->settings.client_body_timeout);
    http_settle_later(c); /* offers what came already */
}

static void
on_resume(struct later *later)
{
    struct exchange *x = LIST_ITEM(later, struct exchange, resume);
    struct http_connection *c = x->c;

    if (x->waiting || x->long_body) {
        x->waiting = x->long_body = false;
        http_route(x);
        http_settle(c);
    }
}

void
http_body_came(struct exchange *x)
{
    x->pub.body = buf_str(&x->body.bytes);
    http_body_trailers(&x->body, x->pub.pool, &x->pub.trailers,
                       &x->pub.trailer_count);
    x->long_body = (x->feed == NULL || x->feed->piece == NULL) &&
                   x->pub.body.len >= LONG_BODY;
    if (x->long_body) {
        loop_in_turn(x->c->loop, &x->resume);
    } else {
        http_route(x);
    }
}

static struct exchange *
new_exchange(struct http_connection *c, size_t head_len)
{
    struct pool *pool = pool_new(sizeof(struct exchange) + head_len + 1024);
    struct exchange *x = pool_zero(pool, sizeof(*x));

    x->c = c;
    x->out_before = c->conn->bytes_out;
    x->began_us = loop_now_us(c->loop);
    x->head = http_head_empty;
    x->note = STR_NONE;
    x->reject_lines = x->redirect = STR_NONE;
    x->pub.pool = pool;
    x->pub.loop = c->loop;
    x->pub.peer = c->conn->peer;
    x->via = c->conn->via;
    x->pub.path = x->pub.route_path = STR("/");
    x->pub.body = x->pub.user = STR_NONE;
    x->pub.api_version = x->pub.api_vendor = x->pub.api_format = STR_NONE;
    later_init(&x->resume, on_resume);
    http_feed_init(x);
    buf_init(&x->out, SIZE_MAX / 2);
    c->x = x;
    if (c->phase == PHASE_IDLE && c->requests > 0) {
        http_not_idle(c);
    }
    conn_set_incomplete(c->conn, false);
    c->phase = PHASE_BUSY;
    c->requests++;
    c->burst++;
    timer_stop(c->loop, &c->timer);
    metric_add(&http_metrics[HTTP_IN_FLIGHT], 0, 1);
    return x;
}

static void
publish_head(struct exchange *x)
{
    x->pub.method = x->head.method;
    x->pub.target = x->head.target;
    x->pub.query = x->head.query;
    x->pub.host = x->head.host;
    x->pub.version = x->head.version;
    x->pub.headers = x->head.headers;
    x->pub.header_count = x->head.header_count;
    x->trusted =
        http_client_begin(&x->pub, x->c->server, &x->via, x->c->conn->secure);
    http_trace_begin(&x->pub, x->trusted, &x->trace);
}

void
http_request_begin(struct http_connection *c, const uint8_t *data, size_t n)
{
    struct exchange *x = new_exchange(c, n);
    enum http_refusal why =
        http_parse(x->pub.pool, &c->scan, data, n, &x->head);

    if (why == REFUSE_NONE && c->address->names != NULL) {
        why = http_choose_server(x);
    }
    publish_head(x);
    http_body_init(&x->body, &x->head);
    if (why == REFUSE_NONE && !str_eq(x->head.path, STR("*")) &&
        http_path_decode(x->pub.pool, x->head.path, &x->pub.path) == -1) {
        why = REFUSE_PATH;
    }
    if (why == REFUSE_NONE && c->not_tls) {
        why = REFUSE_NOT_TLS;
    }
    if (why == REFUSE_NONE && http_rate_exceeded(x)) {
        why = REFUSE_RATE;
    }
    if (why == REFUSE_NONE) {
        http_route(x);
    } else {
        note_refusal(x, why, str_of(data, n), 0);
        http_route_refused(x, x->head.path);
        refuse(x, why);
    }
    http_settle(c);
}

/* Of a request line that may be cut. */
static struct str
path_of(struct str line)
{
    struct str target;

    str_cut(&line, ' ');
    target = str_cut(&line, ' ');
    return str_cut(&target, '?');
}

void
http_request_refused(struct http_connection *c, const uint8_t *data, size_t n,
                     enum http_refusal why)
{
    struct exchange *x = new_exchange(c, n);
    struct str line = str_of(data, n < LOGGED_LINE ? n : LOGGED_LINE);

    line = str_first(line, str_find(line, '\r', 0));
    line = str_first(line, str_find(line, '\n', 0));
    x->head.line = pool_str(x->pub.pool, line);
    publish_head(x);
    http_body_init(&x->body, &x->head);
    note_refusal(x, why, str_of(data, n), c->scan.at);
    http_route_refused(x, path_of(line));
    refuse(x, why);
    http_settle(c);
}

/* ---- what handlers may ask of the connection ---- */

void
http_on_cancel(struct http_request *r, void (*on_cancel)(void *arg), void *arg)
{
    struct exchange *x = exchange_of(r);

    x->on_cancel = on_cancel;
    x->on_cancel_arg = arg;
}

void
http_set_endless(struct http_request *r)
{
    exchange_of(r)->endless = true;
}

void
http_end_with_client(struct http_request *r)
{
    struct exchange *x = exchange_of(r);

    x->with_client = true;
    if (x->c->eof) {
        http_settle_later(x->c);
    }
}

void
http_resume(struct http_request *r)
{
    struct exchange *x = exchange_of(r);

    if (x->c->conn != NULL) {
        loop_in_turn(x->c->loop, &x->resume);
    }
}

void
http_resume_now(struct http_request *r)
{
    struct exchange *x = exchange_of(r);

    if (x->c->conn != NULL) {
        later_cancel(&x->resume);
        on_resume(&x->resume);
    }
}

void
http_note(struct http_request *r, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    exchange_of(r)->note = pool_str(r->pool, str_from(text));
}

struct conn *
http_take_over(struct http_request *r, const struct conn_handlers *h, void *arg)
{
    struct exchange *x = exchange_of(r);
    struct http_connection *c = x->c;
    struct conn *conn = c->conn;

    assert(conn != NULL);
    http_upload_drop(x);
    http_file_other_bytes(x);
    timer_stop(c->loop, &c->timer);
    c->phase = PHASE_TAKEN;
    x->taken = true;
    conn_set_handlers(conn, h, arg);
    if (buf_len(&x->out) > 0) {
        conn_write(conn, buf_data(&x->out), buf_len(&x->out));
        buf_clear(&x->out);
        unsent_set(&x->c->unsent, 0, 0);
    }
    if (!c->in_data) {
        conn_pause_reading(conn); /* it may have stopped, being full */
        conn_resume_reading(conn);
    }
    return conn;
}

void
http_taken_away(struct http_request *r)
{
    struct exchange *x = exchange_of(r);

    assert(x->c->phase == PHASE_TAKEN);
    x->c->conn = NULL;
}

void
http_taken_done(struct http_request *r, uint64_t body_bytes)
{
    struct exchange *x = exchange_of(r);

    assert(x->c->phase == PHASE_TAKEN);
    x->body_sent = body_bytes;
    http_account(x);
    metric_add(&http_metrics[HTTP_CLOSED], HTTP_END_TAKEN, 1);
    x->c->phase = PHASE_GONE;
    x->c->conn = NULL;
    http_settle_later(x->c);
}

struct str
http_written_path(const struct http_request *r)
{
    return exchange_of(r)->head.path;
}

void
http_way_to_us(struct http_request *r, struct http_way *out)
{
    struct exchange *x = exchange_of(r);

    *out = (struct http_way){ STR_NONE, STR_NONE };
    if (x->trusted) {
        http_client_way(r, x->c->server, out);
    }
}

bool
http_is_trusted(const struct http_request *r)
{
    return exchange_of(r)->trusted;
}

void
http_set_close(struct http_request *r)
{
    exchange_of(r)->close = true;
}

void
http_break(struct http_request *r)
{
    struct exchange *x = exchange_of(r);

    assert(x->status != 0 && !x->ended);
    x->reset = !x->chunked;
    x->broken = true;
    http_settle_later(x->c);
}

bool
http_is_sent(const struct http_request *r)
{
    const struct exchange *x = exchange_of(r);

    return buf_len(&x->out) == 0 || x->stalled_ms == 0;
}

void
http_limit_unsent(struct http_request *r, int bytes)
{
    struct conn *c = exchange_of(r)->c->conn;

    if (c != NULL) {
        exchange_of(r)->c->raised = false;
        conn_limit_unsent(c, bytes);
    }
}
