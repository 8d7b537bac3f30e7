/*
 * A GET on a connection of its own, whose answer is read whole.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "handler.h"

#include <stdio.h>
#include <string.h>

#include "upstream.h"

#define TIMEOUT_MS 5000
#define ANSWER_MAX 65536

struct exchange { /* in the pool of the request */
    struct http_request *r;
    struct upstream *upstream;
    struct upstream_use use;
    struct outgoing *outgoing;
    struct conn *conn;
    struct timer timer;
    char *answer;
    size_t len;
    int status; /* of the answer to the client; 0: not yet */
};

static void on_chosen(void *arg, enum upstream_choice choice);

static void
finish(struct exchange *x, int status)
{
    x->status = status;
    http_resume(x->r);
}

static void
leave(struct exchange *x)
{
    struct conn *c = x->conn;

    timer_stop(x->r->loop, &x->timer);
    outgoing_cancel(&x->outgoing);
    x->conn = NULL;
    if (c != NULL) {
        conn_close(c, "the exchange is over");
    }
}

static void
try_another(struct exchange *x, enum upstream_outcome outcome)
{
    const struct upstream_result result = { .outcome = outcome, .head_ms = -1 };
    enum upstream_choice choice;

    leave(x);
    upstream_give_back(&x->use, &result);
    choice = upstream_choose(&x->use);
    if (choice != UPSTREAM_WAITS) {
        on_chosen(x, choice);
    }
}

static ssize_t
on_data(void *arg, const uint8_t *data, size_t n)
{
    struct exchange *x = arg;

    if (n > ANSWER_MAX - x->len) {
        try_another(x, UPSTREAM_WRONG);
        return -1;
    }
    memcpy(x->answer + x->len, data, n);
    x->len += n;
    return (ssize_t)n;
}

static void
on_close(void *arg, const char *reason)
{
    struct exchange *x = arg;
    struct upstream_result result = { .head_ms = 1 };
    const char *body = memmem(x->answer, x->len, "\r\n\r\n", 4);

    (void)reason;
    if (x->conn == NULL) {
        return;
    }
    x->conn = NULL;
    if (body == NULL || sscanf(x->answer, "HTTP/1.1 %d", &result.status) != 1) {
        try_another(x, x->len == 0 ? UPSTREAM_BROKEN : UPSTREAM_WRONG);
        return;
    }
    leave(x);
    upstream_give_back(&x->use, &result);
    finish(x, result.status);
}

static const struct conn_handlers handlers = { .on_data = on_data,
                                               .on_close = on_close };

static void
on_connected(void *arg, const struct conn_socket *socket,
             const struct outgoing_failure *failure)
{
    static const struct conn_limits limits = { .in_limit = 16384,
                                               .out_limit = 16384 };
    struct exchange *x = arg;
    struct str head;

    (void)failure;
    x->outgoing = NULL;
    x->len = 0;
    x->conn = socket != NULL
                  ? conn_new(x->r->loop, socket, &handlers, x, &limits)
                  : NULL;
    if (x->conn == NULL) {
        try_another(x, UPSTREAM_UNREACHED);
        return;
    }
    head = pool_printf(x->r->pool,
                       "GET %.*s HTTP/1.1\r\nHost: %.*s\r\nConnection: "
                       "close\r\n\r\n",
                       STR_ARGS(x->r->path), STR_ARGS(x->r->host));
    conn_write(x->conn, head.ptr, head.len);
}

static void
on_timeout(struct timer *t)
{
    try_another(LIST_ITEM(t, struct exchange, timer), UPSTREAM_TIMED_OUT);
}

static void
on_chosen(void *arg, enum upstream_choice choice)
{
    struct exchange *x = arg;

    if (choice == UPSTREAM_CHOSEN) {
        timer_set(x->r->loop, &x->timer, TIMEOUT_MS);
        x->outgoing =
            upstream_connect(x->use.server, TIMEOUT_MS, on_connected, x);
    } else {
        finish(x, choice == UPSTREAM_NONE ? 502 : 503);
    }
}

static void
on_cancel(void *arg)
{
    struct exchange *x = arg;

    leave(x);
    upstream_cancel(&x->use);
}

static enum http_result
answer(struct exchange *x)
{
    const char *body = memmem(x->answer, x->len, "\r\n\r\n", 4);
    size_t at = body != NULL ? (size_t)(body - x->answer) + 4 : x->len;

    return http_reply(x->r, x->status, "text/plain",
                      str_of(x->answer + at, x->len - at));
}

enum http_result
proxy_on_request(struct http_request *r, void *state)
{
    struct exchange *x = r->context;
    enum upstream_choice choice;

    if (x != NULL) {
        return answer(x);
    }
    x = pool_zero(r->pool, sizeof(*x));
    x->r = r;
    x->answer = pool_zero(r->pool, ANSWER_MAX);
    r->context = x;
    timer_init(&x->timer, on_timeout);
    upstream_use_init(&x->use, state, r, on_chosen, x);
    http_on_cancel(r, on_cancel, x);
    choice = upstream_choose(&x->use);
    if (choice != UPSTREAM_WAITS) {
        on_chosen(x, choice);
    }
    return HTTP_WAIT;
}
