/*
 * The life of an exchange.
 *
 * A server is asked again, or another one, only when nothing can be done twice:
 * no byte of an answer came, all of the body that was read is kept, and the
 * method may be repeated, or a kept link ended before the server had a byte of
 * this request.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "exchange.h"

#define CONTINUE_MS 1000 /* how long 100 Continue is waited for */

static void choose(struct proxy_exchange *x);

/* ---- the log ---- */

static void
note_try(struct proxy_exchange *x)
{
    struct http_try *t = pool_zero(x->r->pool, sizeof(*t));

    *t = (struct http_try){
        .addr = x->use.server->name,
        .connect_ms = -1,
        .head_ms = -1,
        .all_ms = -1,
    };
    http_add_try(x->r, t);
    x->now = t;
}

static void
note_link(struct proxy_exchange *x)
{
    char text[ADDR_TEXT];

    x->now->connect_ms = loop_now(x->r->loop) - x->asked_ms;
    if (x->link->conn->peer.family != AF_UNIX) {
        x->now->addr = pool_str(
            x->r->pool, str_from(addr_text(&x->link->conn->peer, text)));
    }
}

static void
note_end(struct proxy_exchange *x)
{
    if (x->now != NULL) {
        x->now->status = x->head_ms >= 0 ? x->answer.status : 0;
        x->now->head_ms = x->head_ms;
        x->now->all_ms = loop_now(x->r->loop) - x->asked_ms;
        x->now = NULL;
    }
}

/* ---- the end ---- */

static void
drop_link(struct proxy_exchange *x, const char *reason)
{
    struct link *l = x->link;

    x->link = NULL;
    x->paused = false;
    if (l != NULL) {
        link_close(l, reason);
    }
}

void
exchange_detach(struct proxy_exchange *x, const char *reason)
{
    timer_stop(x->r->loop, &x->timer);
    later_cancel(&x->send_head);
    outgoing_cancel(&x->connecting);
    note_end(x);
    drop_link(x, reason);
    upstream_cancel(&x->use);
    x->over = true;
    http_on_room(x->r, NULL, NULL);
}

/* The client has gone, or weir has answered it. */
static void
on_cancel(void *arg)
{
    exchange_detach(arg, "the client has gone");
}

static void
free_exchange(void *arg)
{
    struct proxy_exchange *x = arg;

    exchange_detach(x, "the request is over");
    buf_clear(&x->kept);
    buf_clear(&x->trailers);
}

static void
give_back(struct proxy_exchange *x, enum upstream_outcome outcome,
          const char *why)
{
    const struct upstream_result result = {
        .outcome = outcome,
        .status = x->head_ms >= 0 ? x->answer.status : 0,
        .head_ms = x->head_ms,
        .why = why,
    };

    note_end(x);
    if (x->use.server != NULL) {
        upstream_give_back(&x->use, &result);
    }
}

bool
exchange_finish(struct proxy_exchange *x, bool clean)
{
    struct link *l = x->link;
    bool keep = clean && !x->last && x->sent && !carry_waits(x);

    x->over = true;
    x->link = NULL;
    timer_stop(x->r->loop, &x->timer);
    if (keep) {
        keep = link_keep(l);
    } else {
        link_close(l, "it cannot be kept");
    }
    give_back(x, UPSTREAM_OK, NULL);
    http_end(x->r);
    return keep;
}

void
exchange_pass(struct proxy_exchange *x)
{
    drop_link(x, "another layer answers");
    give_back(x, UPSTREAM_OK, NULL);
    exchange_detach(x, "another layer answers");
    x->pass = true;
    http_resume(x->r);
}

static void
answer_error(struct proxy_exchange *x, int status, const char *text)
{
    exchange_detach(x, "answered");
    if (status == 503) {
        http_set_header(x->r, "Retry-After", STR("1"));
    }
    http_error(x->r, status, "%s", text);
}

/* ---- trying again ---- */

/* Whether nothing would be done twice. */
static bool
is_repeatable(const struct proxy_exchange *x, bool untouched)
{
    return !x->heard && x->infos == 0 && x->replayable &&
           (x->idempotent || untouched);
}

static bool
may_try_another(const struct proxy_exchange *x)
{
    const struct proxy_settings *s = x->layer->settings;

    return x->tries < s->tries &&
           loop_now(x->r->loop) - x->began_ms < s->retry_time;
}

/* As the last server that was asked has earned it. */
static void
answer_failure(struct proxy_exchange *x)
{
    if (x->failed == UPSTREAM_TIMED_OUT) {
        answer_error(x, 504,
                     "the server behind this one did not answer in time");
    } else {
        answer_error(x, 502, "the server behind this one gave no answer");
    }
}

static enum upstream_outcome
outcome_of(enum outgoing_cause cause)
{
    switch (cause) {
    case OUTGOING_TIMED_OUT:
        return UPSTREAM_TIMED_OUT;
    case OUTGOING_TLS:
        return UPSTREAM_NO_TLS;
    case OUTGOING_NAME:
    case OUTGOING_EGRESS:
    case OUTGOING_CONNECT:
    case OUTGOING_CAUSES:
        break;
    }
    return UPSTREAM_UNREACHED;
}

/* The link is closed or was never there.  untouched: no server had a byte of
 * this request, nor will it have one that is under way. */
static void
fail(struct proxy_exchange *x, enum upstream_outcome outcome, const char *why,
     bool untouched)
{
    bool repeat = is_repeatable(x, untouched);

    x->failed = outcome;
    timer_stop(x->r->loop, &x->timer);
    http_note(x->r, "%.*s: %s", STR_ARGS(x->use.server->name), why);
    if (repeat && x->reused && outcome == UPSTREAM_BROKEN) {
        note_end(x);
        x->fresh = true; /* the link was stale, which is not the server's
                            fault */
        choose(x);
        return;
    }
    give_back(x, outcome, why);
    if (x->started) {
        exchange_detach(x, "the answer broke off");
        http_break(x->r);
    } else if (repeat && may_try_another(x)) {
        choose(x);
    } else {
        answer_failure(x);
    }
}

void
exchange_fail(struct proxy_exchange *x, enum upstream_outcome outcome,
              const char *why)
{
    bool untouched =
        outcome == UPSTREAM_BROKEN && x->reused && link_is_untouched(x->link);

    drop_link(x, why);
    fail(x, outcome, why, untouched);
}

/* ---- time ---- */

/* Ms until what is waited for has taken too long, and what that is. */
static int64_t
time_left(struct proxy_exchange *x)
{
    const struct proxy_settings *s = x->layer->settings;
    const struct conn *c = x->link->conn;
    int64_t from;

    if (carry_waits(x)) {
        from = c->last_write_ms > x->asked_ms ? c->last_write_ms : x->asked_ms;
        return from + s->send_timeout - loop_now(x->r->loop);
    }
    if ((x->sent || (x->started && !x->reading)) && !x->paused) {
        from = c->last_read_ms > x->since_ms ? c->last_read_ms : x->since_ms;
        return from + s->read_timeout - loop_now(x->r->loop);
    }
    return s->read_timeout; /* it is the client that is waited for */
}

static void
set_timer(struct proxy_exchange *x)
{
    const struct proxy_settings *s = x->layer->settings;
    int64_t left =
        s->read_timeout < s->send_timeout ? s->read_timeout : s->send_timeout;

    if (x->expects && !x->reading && left > CONTINUE_MS) {
        left = CONTINUE_MS;
    }
    timer_set(x->r->loop, &x->timer, left);
}

static void
on_due(struct timer *t)
{
    struct proxy_exchange *x = LIST_ITEM(t, struct proxy_exchange, timer);
    int64_t left = time_left(x);

    if (x->expects && !x->reading && !x->started) {
        carry_read(x); /* the server does not say 100 */
    }
    if (left > 0) {
        timer_set(x->r->loop, &x->timer, left);
    } else {
        exchange_fail(x, UPSTREAM_TIMED_OUT,
                      x->sent ? "it sent nothing in time"
                              : "it took nothing in time");
    }
}

/* ---- asking ---- */

static void
on_send_head(struct later *later)
{
    carry_head(LIST_ITEM(later, struct proxy_exchange, send_head));
}

static void
on_writable(void *arg)
{
    carry_on(arg);
}

/* Without the end that answer_on_eof() gets: it may be a reset by a server that
 * has read the request. */
static void
on_close(void *arg, const char *reason)
{
    struct proxy_exchange *x = arg;

    x->link = NULL;
    fail(x, UPSTREAM_BROKEN, reason, false);
}

static const struct conn_handlers asking = {
    .on_data = answer_on_data,
    .on_writable = on_writable,
    .on_eof = answer_on_eof,
    .on_close = on_close,
};

static void
ask(struct proxy_exchange *x, struct link *l, bool reused)
{
    x->link = l;
    x->reused = reused;
    note_link(x);
    x->since_ms = loop_now(x->r->loop);
    x->heard = false;
    x->last = false;
    x->head_ms = -1;
    x->scan = (struct http_scan){ 0 };
    set_timer(x);
    carry_begin(x);
}

static void
on_connected(void *arg, const struct conn_socket *socket,
             const struct outgoing_failure *failure)
{
    struct proxy_exchange *x = arg;
    const struct proxy_settings *s = x->layer->settings;
    size_t buffer = (size_t)s->buffer;
    struct link *l;

    x->connecting = NULL;
    x->reused = false;
    if (socket == NULL) {
        fail(x, outcome_of(failure->cause), failure->why.text, true);
        return;
    }
    /* A head that is too long is seen to be. */
    buffer = buffer > PROXY_HEAD_MAX ? buffer : PROXY_HEAD_MAX + 1;
    l = link_new(x->r->loop, x->use.server, socket, buffer);
    if (l == NULL) {
        fail(x, UPSTREAM_UNREACHED, "the system has no room", true);
        return;
    }
    link_use(l, &asking, x);
    ask(x, l, false);
}

/* A server was chosen. */
static void
reach(struct proxy_exchange *x)
{
    struct link *l;

    note_try(x);
    x->asked_ms = loop_now(x->r->loop);
    if (ask_write_head(x) == -1) {
        answer_error(x, 503, "no memory is left to pass this on");
        return;
    }
    l = x->fresh ? NULL : link_take(x->use.server, !x->idempotent, &asking, x);
    if (l != NULL) {
        ask(x, l, true);
        return;
    }
    x->fresh = false;
    x->heard = false;
    x->head_ms = -1;
    x->connecting = upstream_connect(
        x->use.server, x->layer->settings->connect_timeout, on_connected, x);
}

static void
on_chosen(void *arg, enum upstream_choice choice)
{
    struct proxy_exchange *x = arg;

    switch (choice) {
    case UPSTREAM_CHOSEN:
        x->tries++;
        reach(x);
        return;
    case UPSTREAM_WAITS:
        return;
    case UPSTREAM_NONE:
        if (x->tries > 0) {
            answer_failure(x);
            return;
        }
        http_note(x->r, "no server of %.*s is there",
                  STR_ARGS(upstream_name(x->layer->upstream)));
        answer_error(x, 503, "no server is there to answer this");
        return;
    case UPSTREAM_FULL:
        http_note(x->r, "all servers of %.*s are busy",
                  STR_ARGS(upstream_name(x->layer->upstream)));
        answer_error(x, 503,
                     x->use.has_share
                         ? "all servers are busy, or your address has its share"
                         : "all servers are busy");
        return;
    }
}

/* A server that was asked over a stale link is asked again. */
static void
choose(struct proxy_exchange *x)
{
    if (x->use.server != NULL) {
        reach(x);
    } else {
        on_chosen(x, upstream_choose(&x->use));
    }
}

/* ---- the handler ---- */

enum http_result
proxy_on_request(struct http_request *r, void *state)
{
    const struct proxy_layer *layer = state;
    struct proxy_exchange *x = r->context;

    if (x != NULL) {
        return x->pass ? HTTP_PASS : HTTP_WAIT;
    }
    x = pool_zero(r->pool, sizeof(*x));
    *x = (struct proxy_exchange){
        .r = r,
        .layer = layer,
        .began_ms = loop_now(r->loop),
        .length = http_body_length(r),
        .idempotent = ask_is_idempotent(r->method),
        .upgrade = ask_upgrade(r),
        .replayable = true,
    };
    x->expects = x->length != 0 && r->version == 11 && r->body.len == 0 &&
                 http_header(r, "Expect") != NULL;
    buf_init(&x->kept, (size_t)layer->settings->retry_buffer);
    buf_init(&x->trailers, 4096);
    timer_init(&x->timer, on_due);
    later_init(&x->send_head, on_send_head);
    r->context = x;
    upstream_use_init(&x->use, layer->upstream, r, on_chosen, x);
    http_on_cancel(r, on_cancel, x);
    if (layer->settings->on_client_close == PROXY_ABORT &&
        x->upgrade.len == 0) {
        http_end_with_client(r); /* a tunnel may end side by side */
    }
    http_on_room(r, answer_on_room, x);
    pool_on_free(r->pool, free_exchange, x);
    choose(x);
    return x->pass ? HTTP_PASS : x->over ? HTTP_DONE : HTTP_WAIT;
}
