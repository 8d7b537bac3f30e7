/*
 * A client of the control socket.
 *
 * Lines come through the connection's bounded buffer and are run one command
 * after the other; while one runs nothing more is read.  An answer is made in
 * pieces: the next one when the client has taken the last, so that neither a
 * long answer nor a slow reader takes memory or the master's time.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/control_impl.h"

#include <stdio.h>
#include <string.h>

#include "app/metrics/metrics.h"
#include "base/mask.h"
#include "base/mem.h"

#define LINGER_MS 500 /* for the peer to read our last words */
#define OUT_LIMIT 1   /* conn->out is not used: ours is sent by conn_writev */

static const struct conn_limits limits = { .in_limit = CONTROL_LINE_MAX,
                                           .out_limit = OUT_LIMIT };

static int64_t
timeout_of(const struct control_client *c)
{
    return c->control->m->generation->settings->control.timeout;
}

static struct loop *
loop_of(const struct control_client *c)
{
    return c->control->m->loop;
}

/* ---- the end of a client ---- */

static void
drop_call(struct control_client *c)
{
    struct control_call *call = c->call;

    if (call == NULL) {
        return;
    }
    c->call = NULL;
    timer_stop(loop_of(c), &call->again);
    if (call->json && call->out.gen != NULL) {
        json_end(&call->out);
    }
    if (call->state != NULL && call->done != NULL) {
        call->done(call->state);
    }
    mem_free(&call->state);
    mem_free(&call);
}

static void
on_destroy(struct later *later)
{
    struct control_client *c = LIST_ITEM(later, struct control_client, destroy);

    buf_clear(&c->out);
    mem_free(&c->peer.groups);
    mem_free(&c);
}

static void
on_close(void *arg, const char *reason)
{
    struct control_client *c = arg;

    (void)reason;
    c->conn = NULL;
    drop_call(c);
    mem_free(&c->line);
    timer_stop(loop_of(c), &c->timer);
    later_cancel(&c->step);
    list_remove(&c->link);
    c->control->count--;
    loop_later(loop_of(c), &c->destroy);
}

/* ---- sending ---- */

static void
set_timer(struct control_client *c)
{
    if (buf_len(&c->out) > 0 || c->partial) {
        timer_set(loop_of(c), &c->timer, timeout_of(c));
    } else if (c->call != NULL) {
        timer_stop(loop_of(c), &c->timer); /* the command's own business */
    } else {
        timer_set(loop_of(c), &c->timer, CONTROL_IDLE_MS);
    }
}

/* Sends what the socket takes.  False: the client is gone. */
static bool
flush(struct control_client *c)
{
    struct iovec iov = { (void *)(uintptr_t)buf_data(&c->out),
                         buf_len(&c->out) };
    ssize_t sent;

    if (iov.iov_len == 0) {
        return true;
    }
    sent = conn_writev(c->conn, &iov, 1);
    if (sent < 0) {
        conn_close(c->conn, "control: write failed");
        return false;
    }
    buf_take(&c->out, (size_t)sent);
    buf_trim(&c->out);
    return true;
}

/* ---- the log of what was done ---- */

/* The URL of a stream is as good as its key. */
static bool
is_secret(struct str word)
{
    for (size_t i = str_find(word, ':', 0); i < word.len;
         i = str_find(word, ':', i + 1)) {
        if (str_starts(str_skip(word, i), STR("://"))) {
            return true;
        }
    }
    return false;
}

/* The command with its secrets masked, as one text. */
static void
text_of(const struct control_call *call, char *dst, size_t size)
{
    char text[512];
    size_t len = 0;

    for (size_t i = 0; i < call->count; i++) {
        struct str word = call->words[i];

        len = str_append(text, sizeof(text), len, i > 0 ? STR(" ") : STR_NONE);
        len = str_append(text, sizeof(text), len,
                         is_secret(word) ? STR("***") : word);
    }
    mask_secrets(text, len);
    str_escape(dst, size, str_of(text, len));
}

static void
audit(const struct control_call *call, const char *outcome)
{
    const struct control_peer *p = &call->client->peer;
    char text[1024], line[2048];

    text_of(call, text, sizeof(text));
    snprintf(line, sizeof(line), "pid %d uid %d (%s) level %s: %s%s%s",
             (int)p->pid, (int)p->uid, p->name, control_level_name(p->level),
             text, *outcome != '\0' ? ": " : "", outcome);
    if (p->level < call->verb->level) { /* who may not may try for ever */
        log_limited(LOG_NOTICE, "control: %s", line);
    } else {
        log_notice("control: %s", line);
    }
}

/* ---- running a command ---- */

static void
end_call(struct control_call *call)
{
    struct control_client *c = call->client;

    control_answer_end(call);
    if (call->failure[0] != '\0' && call->verb != NULL &&
        call->verb->level > CONTROL_USER) {
        audit(call, call->failure);
    }
    drop_call(c);
    if (buf_room(&c->out) == 0) {
        conn_close(c->conn, "control: the answer is too large");
    } else if (c->prompt) {
        buf_printf(&c->out, "> ");
    }
}

static void
run(struct control_call *call)
{
    call->wanted = call->paused = false;
    switch (call->verb->run(call)) {
    case CONTROL_DONE:
        end_call(call);
        break;
    case CONTROL_MORE:
        call->paused = true;
        break;
    case CONTROL_LATER:
        break;
    }
}

static void
on_again(struct timer *t)
{
    struct control_call *call = LIST_ITEM(t, struct control_call, again);

    control_resume(call);
}

void
control_again(struct control_call *call, int64_t ms)
{
    timer_set(loop_of(call->client), &call->again, ms);
}

void
control_resume(struct control_call *call)
{
    call->wanted = true;
    if (call->client->conn != NULL) {
        loop_later(loop_of(call->client), &call->client->step);
    }
}

void *
control_state(struct control_call *call, size_t size, void (*done)(void *state))
{
    if (call->state == NULL) {
        call->state = mem_zero(size);
        call->done = done;
    }
    return call->state;
}

/* "prompt" is the connection's own. */
static bool
is_prompt(struct control_call *call)
{
    struct control_client *c = call->client;

    if (call->count - call->skip > 0 ||
        strcmp(call->verb->words, "prompt") != 0) {
        return false;
    }
    c->prompt = !c->prompt;
    return true;
}

static void
begin(struct control_call *call)
{
    struct control_client *c = call->client;
    struct errmsg err;

    call->verb = control_find(call->words, call->count, &call->skip, &err);
    if (call->verb == NULL) {
        control_fail(call, "unknown", "%s", err.text);
        end_call(call);
    } else if (c->peer.level < call->verb->level) {
        control_fail(call, "denied", "%s needs level %s, yours is %s",
                     call->verb->words, control_level_name(call->verb->level),
                     control_level_name(c->peer.level));
        end_call(call);
    } else if (call->count - call->skip > call->verb->most) {
        control_usage(call);
        end_call(call);
    } else if (is_prompt(call)) {
        control_ok(call, "prompt is %s", c->prompt ? "on" : "off");
        end_call(call);
    } else {
        if (call->verb->level > CONTROL_USER) {
            audit(call, "");
        }
        run(call);
    }
}

/* Cuts the next command off the line and begins it. */
static void
next_command(struct control_client *c)
{
    struct control_call *call = mem_zero(sizeof(*call));
    struct errmsg err;

    call->client = c;
    timer_init(&call->again, on_again);
    c->call = call;
    if (control_split(&c->rest, call->words, &call->count, &err) == -1) {
        control_fail(call, "usage", "%s", err.text);
        c->rest = STR_NONE;
        end_call(call);
        return;
    }
    if (call->count > 0 &&
        str_eq(call->words[call->count - 1], STR("--json"))) {
        call->json = true;
        call->count--;
    }
    if (call->count == 0) {
        drop_call(c);
        return;
    }
    begin(call);
}

/* ---- from one to the next ---- */

static void
line_is_done(struct control_client *c)
{
    mem_free(&c->line);
    c->rest = STR_NONE;
    if (c->eof) {
        conn_finish(c->conn, LINGER_MS, "control: done");
        return;
    }
    conn_resume_reading(c->conn);
}

/* One thing that can be done now, in each turn, so that other work of the
 * master comes in between. */
static void
do_next(struct control_client *c)
{
    if (c->call == NULL && c->rest.len > 0) {
        next_command(c);
    } else if (c->call == NULL) {
        line_is_done(c);
    } else if (c->call->wanted || c->call->paused) {
        run(c->call);
    }
}

static bool
has_more(const struct control_client *c)
{
    return c->line != NULL && buf_len(&c->out) == 0 &&
           (c->call == NULL || c->call->wanted || c->call->paused);
}

static void
step(struct control_client *c)
{
    if (!flush(c)) {
        return;
    }
    if (has_more(c)) {
        do_next(c);
    }
    if (c->conn == NULL || c->conn->finishing || !flush(c)) {
        return;
    }
    set_timer(c);
    if (has_more(c)) {
        loop_later(loop_of(c), &c->step);
    }
}

static void
on_step(struct later *later)
{
    step(LIST_ITEM(later, struct control_client, step));
}

static void
on_writable(void *arg)
{
    step(arg);
}

/* Says why and ends, whatever else was meant. */
static void
end_with(struct control_client *c, const char *words)
{
    buf_printf(&c->out, "%s\n\n", words);
    if (flush(c)) {
        conn_finish(c->conn, LINGER_MS, words);
    }
}

static void
on_due(struct timer *t)
{
    struct control_client *c = LIST_ITEM(t, struct control_client, timer);

    if (buf_len(&c->out) > 0 || c->partial) {
        metric_add(&app_metrics[APP_CONTROL_REFUSED], APP_CONTROL_SLOW, 1);
    }
    if (buf_len(&c->out) > 0) {
        log_notice("control: pid %d (%s) does not read its answer and is "
                   "dropped",
                   (int)c->peer.pid, c->peer.name);
        conn_close(c->conn, "control: it does not read");
    } else if (c->partial) {
        end_with(c, "ERR timeout the line was not finished in time");
    } else {
        conn_close(c->conn, "control: idle");
    }
}

/* ---- receiving ---- */

/* No whole line yet: it has a time from its first byte on. */
static ssize_t
wait_for_line(struct control_client *c, size_t n)
{
    if (n >= CONTROL_LINE_MAX) {
        end_with(c, "ERR long the line is longer than 8 KB");
        return (ssize_t)n;
    }
    if (!c->partial) {
        c->partial = true;
        set_timer(c);
    }
    return 0;
}

static ssize_t
on_data(void *arg, const uint8_t *data, size_t n)
{
    struct control_client *c = arg;
    const uint8_t *end = memchr(data, '\n', n);
    size_t len;

    if (c->line != NULL) {
        return 0; /* one line at a time */
    }
    if (end == NULL) {
        return wait_for_line(c, n);
    }
    len = (size_t)(end - data);
    c->partial = false;
    c->line = mem_dup((const char *)data, len);
    c->rest = str_of(c->line, len);
    if (c->rest.len > 0 && c->line[c->rest.len - 1] == '\r') {
        c->rest.len--;
    }
    conn_pause_reading(c->conn);
    loop_later(loop_of(c), &c->step);
    return (ssize_t)len + 1;
}

static void
on_eof(void *arg)
{
    struct control_client *c = arg;

    c->eof = true;
    if (c->line == NULL && buf_len(&c->out) == 0) {
        conn_finish(c->conn, LINGER_MS, "control: the client is done");
    }
}

static const struct conn_handlers handlers = {
    .on_data = on_data,
    .on_writable = on_writable,
    .on_eof = on_eof,
    .on_close = on_close,
};

/* ---- life ---- */

void
control_client_new(struct control *control, const struct conn_socket *socket,
                   const struct control_peer *peer)
{
    struct control_client *c = mem_zero(sizeof(*c));

    c->control = control;
    c->peer = *peer;
    c->rest = STR_NONE;
    list_init(&c->link);
    buf_init(&c->out, CONTROL_ANSWER);
    timer_init(&c->timer, on_due);
    later_init(&c->step, on_step);
    later_init(&c->destroy, on_destroy);
    c->conn = conn_new(control->m->loop, socket, &handlers, c, &limits);
    if (c->conn == NULL) {
        mem_free(&c->peer.groups);
        mem_free(&c);
        return;
    }
    list_append(&control->clients, &c->link);
    control->count++;
    set_timer(c);
}

void
control_client_end(struct control_client *c)
{
    c->ending = true;
    if (c->call != NULL && c->call->shape == SHAPE_NONE &&
        c->call->verb != NULL && c->call->state != NULL) {
        run(c->call); /* who waits for the end is told */
    }
    if (c->conn != NULL && flush(c)) {
        conn_close(c->conn, "weir ends");
    }
}
