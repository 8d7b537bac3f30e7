/*
 * Clients that keep every single time-out and still take for ever: who sends
 * a body, or takes an answer, byte by byte.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/exchange.h"

/* Milliseconds from a slow body's or answer's begin until its average falls
 * below the rate, after the pause that each of its parts may make. */
static int64_t
allowance(uint64_t bytes, int64_t rate, int64_t pause)
{
    int64_t earned = rate > 0 ? (int64_t)(bytes / (uint64_t)rate) * 1000 : 0;

    return rate == 0 ? INT64_MAX / 2 : earned > pause ? earned : pause;
}

static int64_t
body_left(const struct http_connection *c)
{
    const struct http_settings *s = &c->server->settings;
    const struct exchange *x = c->x;

    return allowance(c->conn->bytes_in - x->body_began_bytes,
                     s->client_body_min_rate, s->client_body_timeout) -
           x->body_waited_ms - (loop_now(c->loop) - x->body_began_ms);
}

int64_t
http_body_left(const struct exchange *x)
{
    const struct http_connection *c = x->c;
    int64_t read = c->conn->last_read_ms, began = x->body_began_ms;
    int64_t pause = (read > began ? read : began) +
                    c->server->settings.client_body_timeout - loop_now(c->loop);
    int64_t whole = body_left(c);

    return pause < whole ? pause : whole;
}

int64_t
http_slow_left(const struct http_connection *c)
{
    const struct http_settings *s = &c->server->settings;
    const struct exchange *x = c->x;
    int64_t now = loop_now(c->loop);

    if ((c->phase == PHASE_BODY || c->phase == PHASE_SKIP)) {
        return body_left(c);
    }
    if (c->phase == PHASE_BUSY && x->stalled_ms != 0) {
        return allowance(c->conn->bytes_out - x->stall_bytes, s->send_min_rate,
                         s->send_timeout) -
               x->stall_total_ms - (now - x->stalled_ms);
    }
    return INT64_MAX / 2;
}
