/*
 * A session from its first byte to its last: handshake, reading, what is
 * sent, time-outs, the end.
 *
 * One timer a session.  It stands at the next thing that can be overdue: the
 * handshake, the connect, the first publish or play, the answer to a ping, a
 * peer that does not read.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/session.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "proc/refused.h"
#include "rtmp/handshake.h"
#include "rtmp/message.h"
#include "rtmp/netstream.h"

#define LINGER_MS 2000
#define SHOWN_BYTES 16 /* of what could not be read */
/* Of this process: those that are not closed. */
static struct {
    struct list list;
    size_t count;
} sessions = { .list = { &sessions.list, &sessions.list } };

size_t
rtmp_sessions(void)
{
    return sessions.count;
}

void
rtmp_close_all(const char *reason)
{
    while (!list_empty(&sessions.list)) {
        struct rtmp_session *s =
            LIST_ITEM(sessions.list.next, struct rtmp_session, link);

        rtmp_session_close(session_ends(s, END_STOP), reason);
    }
}

void *
rtmp_session_arg(struct rtmp_session *s)
{
    return s->arg;
}

struct conn *
rtmp_session_conn(struct rtmp_session *s)
{
    return s->ch.conn;
}

const char *
rtmp_session_scheme(const struct rtmp_session *s)
{
    return s->ch.conn->secure ? "rtmps" : "rtmp";
}

const char *
session_peer(const struct rtmp_session *s)
{
    static char text[ADDR_TEXT];
    return addr_text(&s->ch.conn->peer, text);
}

/* ---- sending ---- */

int
session_say(struct rtmp_session *s, struct words *w)
{
    int result = -1;
    s->ch.chunk_size = w->chunk_size;
    if (!session_over(s) && !w->failed) {
        const uint8_t *data = buf_data(&w->wire);
        size_t n = buf_len(&w->wire);
        result = session_playing(s) ? s->handlers->say(s, data, n)
                                    : conn_write(s->ch.conn, data, n);
        if (result != 0 && conn_unsent(s->ch.conn) + n > CHANNEL_OUT_LIMIT) {
            rtmp_session_close(session_ends(s, END_STUCK),
                               "it does not read what it is told");
        } else if (result != 0) {
            rtmp_session_close(session_ends(s, END_PEER),
                               "the connection is broken");
        }
    }
    words_clear(w);
    return result == 0 && !s->closed ? 0 : -1;
}

int
rtmp_session_chunk_size(struct rtmp_session *s, uint32_t size)
{
    struct words w;
    if (size == s->ch.chunk_size) {
        return session_over(s) ? -1 : 0;
    }
    words_init(&w, s->ch.chunk_size);
    words_chunk_size(&w, size);
    return session_say(s, &w);
}

/* ---- the end ---- */

static void
on_destroy(struct later *later)
{
    struct rtmp_session *s = LIST_ITEM(later, struct rtmp_session, destroy);
    for (size_t i = 0; i < RTMP_STREAMS; i++) {
        net_stream_free(&s->streams[i]);
    }
    net_stream_free(&s->connect);
    channel_clear(&s->ch);
    mem_free(&s->text);
    mem_free(&s);
}

static void
log_end(const struct rtmp_session *s, const char *reason)
{
    metric_add(&rtmp_metrics[RTMP_CLOSED], s->end, 1);
    log_limited_if(conn_debugged(s->ch.conn), LOG_INFO,
                   "%s %s: closed after %lld ms, %llu bytes in, %llu out: %s",
                   rtmp_session_scheme(s), session_peer(s),
                   (long long)(loop_now(s->loop) - s->ch.conn->opened_ms),
                   (unsigned long long)s->ch.conn->bytes_in,
                   (unsigned long long)s->ch.conn->bytes_out, reason);
}

static void
on_close(void *arg, const char *reason)
{
    struct rtmp_session *s = arg;
    s->closed = true;
    sessions.count--;
    list_remove(&s->link);
    timer_stop(s->loop, &s->timer);
    if (!s->ending) {
        log_end(s, reason);
    }
    net_stream_end_all(s, reason);
    loop_later(s->loop, &s->destroy);
}

void
rtmp_session_close(struct rtmp_session *s, const char *reason)
{
    if (!s->closed) {
        session_ends(s, END_APPLICATION);
        conn_close(s->ch.conn, reason);
    }
}

void
session_finish(struct rtmp_session *s, const char *reason)
{
    if (session_over(s)) {
        return;
    }
    s->ending = true;
    log_end(s, reason);
    timer_stop(s->loop, &s->timer);
    net_stream_end_all(s, reason);
    if (!s->closed) {
        conn_finish(s->ch.conn, LINGER_MS, reason);
    }
}

static void
say_goodbye(struct rtmp_request *r, void *arg)
{
    rtmp_session_status(r, "status", "NetConnection.Connect.AppShutdown", arg);
}

void
rtmp_finish_all(const char *reason)
{
    struct errmsg text;

    errmsg_set(&text, "%s", reason);
    LIST_EACH (node, &sessions.list) {
        struct rtmp_session *s = LIST_ITEM(node, struct rtmp_session, link);

        rtmp_session_each(s, say_goodbye, text.text);
        session_finish(s, reason);
    }
}

/* ---- time ---- */

void
session_set_phase(struct rtmp_session *s, enum session_phase phase)
{
    s->phase = (uint8_t)phase;
    s->since_ms = loop_now(s->loop);
    session_touch_timer(s);
}

/* When the present phase is overdue; INT64_MAX: never. */
static int64_t
phase_deadline(const struct rtmp_session *s)
{
    if (s->phase < PHASE_CONNECT) {
        return s->ch.conn->opened_ms + s->settings->handshake_timeout;
    }
    if (s->waiting > 0) {
        return s->asked_ms + s->settings->connect_timeout;
    }
    return session_idle(s) ? s->since_ms + s->settings->connect_timeout
                           : INT64_MAX;
}

static int64_t
ping_deadline(const struct rtmp_session *s)
{
    if (s->phase != PHASE_READY || s->waiting > 0) {
        return INT64_MAX;
    }
    return channel_ping_deadline(&s->ch, s->settings->ping_interval,
                                 s->settings->ping_timeout);
}

void
session_touch_timer(struct rtmp_session *s)
{
    int64_t due = channel_stuck_deadline(&s->ch, loop_now(s->loop),
                                         s->settings->send_timeout);
    int64_t phase = phase_deadline(s);
    int64_t ping = ping_deadline(s);
    due = phase < due ? phase : due;
    due = ping < due ? ping : due;
    int64_t wait = due - loop_now(s->loop);
    timer_set(s->loop, &s->timer, wait > 1 ? wait : 1);
}

static void
say_ping(struct rtmp_session *s, int64_t now)
{
    struct words w;
    words_init(&w, s->ch.chunk_size);
    channel_ping(&s->ch, now, &w);
    session_say(s, &w);
}

static void
check_ping(struct rtmp_session *s, int64_t now)
{
    if (now < ping_deadline(s)) {
        return;
    }
    if (s->ch.ping_ms != 0) {
        rtmp_session_close(session_ends(s, END_PING),
                           "it does not answer pings");
    } else {
        say_ping(s, now);
    }
}

static const char *
overdue(struct rtmp_session *s)
{
    switch ((enum session_phase)s->phase) {
    case PHASE_ASK:
    case PHASE_C2:
        metric_add(&rtmp_metrics[RTMP_HANDSHAKE_ERRORS], 1, 1);
        session_ends(s, END_HANDSHAKE_SLOW);
        return "the handshake takes too long";
    case PHASE_CONNECT:
        session_ends(s, END_CONNECT_SLOW);
        return "no connect in time";
    case PHASE_READY:
        break;
    }
    session_ends(s, END_UNUSED);
    return "neither publishes nor plays";
}

static void
on_due(struct timer *t)
{
    struct rtmp_session *s = LIST_ITEM(t, struct rtmp_session, timer);
    int64_t now = loop_now(s->loop);
    if (now >= phase_deadline(s)) {
        if (s->waiting > 0) {
            net_stream_refuse_waiting(s, "no decision in time");
        } else {
            session_finish(s, overdue(s));
        }
    } else if (channel_stuck(&s->ch, now, s->settings->send_timeout)) {
        rtmp_session_close(session_ends(s, END_STUCK),
                           "it takes no more bytes");
    } else {
        check_ping(s, now);
    }
    if (!session_over(s)) {
        session_touch_timer(s);
    }
}

/* ---- receiving ---- */

/* Breaks off a peer whose bytes make no sense.  The first of them are shown
 * to the operator; more could carry secrets that nothing marks as such. */
static void
refuse_bytes(struct rtmp_session *s, const char *reason, struct str bytes)
{
    refused_note(&(struct refused){
        .proto = rtmp_session_scheme(s),
        .peer = session_peer(s),
        .reason = reason,
        .bytes = str_first(bytes, SHOWN_BYTES),
        .before = s->ch.conn->bytes_in - bytes.len,
    });
    rtmp_session_close(s, reason);
}

static ssize_t
read_ask(struct rtmp_session *s, const uint8_t *p, size_t n)
{
    struct errmsg err;
    uint8_t answer[HANDSHAKE_ANSWER];
    if (handshake_check_version(p[0], &err) == -1) {
        metric_add(&rtmp_metrics[RTMP_HANDSHAKE_ERRORS], 0, 1);
        refuse_bytes(session_ends(s, END_HANDSHAKE), err.text, str_of(p, n));
        return -1;
    }
    if (n < HANDSHAKE_ASK) {
        return 0;
    }
    rand_bytes(answer, sizeof(answer));
    handshake_answer(p, answer);
    if (conn_write(s->ch.conn, answer, sizeof(answer)) == -1) {
        metric_add(&rtmp_metrics[RTMP_HANDSHAKE_ERRORS], 2, 1);
        rtmp_session_close(session_ends(s, END_HANDSHAKE),
                           "cannot send the handshake");
        return -1;
    }
    s->c2_left = HANDSHAKE_BLOCK;
    session_set_phase(s, PHASE_C2);
    return HANDSHAKE_ASK;
}

static ssize_t
read_c2(struct rtmp_session *s, size_t n)
{
    uint16_t part = n < s->c2_left ? (uint16_t)n : s->c2_left;
    s->c2_left = (uint16_t)(s->c2_left - part);
    if (s->c2_left == 0) {
        conn_set_incomplete(s->ch.conn, false);
        session_set_phase(s, PHASE_CONNECT);
    }
    return part;
}

static ssize_t
read_chunks(struct rtmp_session *s, const uint8_t *p, size_t n)
{
    struct errmsg err;
    ssize_t eaten = chunk_read(&s->ch.reader, p, n, message_handle, s, &err);
    if (eaten == -1 && !session_over(s)) {
        refuse_bytes(session_ends(s, END_PROTOCOL), err.text, str_of(p, n));
    }
    return eaten;
}

static void
acknowledge(struct rtmp_session *s)
{
    struct words w;
    words_init(&w, s->ch.chunk_size);
    if (s->phase == PHASE_READY && channel_acknowledge(&s->ch, &w)) {
        session_say(s, &w);
    }
}

static ssize_t
read_step(void *arg, const uint8_t *p, size_t n)
{
    struct rtmp_session *s = arg;
    if (session_over(s) || s->waiting > 0) {
        return 0;
    }
    switch ((enum session_phase)s->phase) {
    case PHASE_ASK:
        return read_ask(s, p, n);
    case PHASE_C2:
        return read_c2(s, n);
    case PHASE_CONNECT:
    case PHASE_READY:
        break;
    }
    return read_chunks(s, p, n);
}

static ssize_t
on_data(void *arg, const uint8_t *data, size_t n)
{
    struct rtmp_session *s = arg;
    if (s->ch.ping_ms != 0) {
        s->ch.ping_ms = 0; /* any byte is an answer */
        session_touch_timer(s);
    }
    size_t eaten = channel_feed(&s->ch, data, n, read_step, s);
    if (!session_over(s)) {
        acknowledge(s);
    }
    return s->closed ? -1 : (ssize_t)eaten;
}

static void
on_writable(void *arg)
{
    struct rtmp_session *s = arg;
    s->handlers->on_writable(s);
}

static const struct conn_handlers session_handlers = {
    .on_data = on_data,
    .on_writable = on_writable,
    .on_close = on_close,
};

struct rtmp_session *
rtmp_accept(struct loop *l, const struct rtmp_settings *settings,
            const struct rtmp_handlers *handlers, void *arg,
            const struct conn_socket *socket)
{
    struct rtmp_session *s = mem_zero(sizeof(*s));

    if (channel_open(&s->ch, l, socket, &session_handlers, s,
                     settings->window_ack) == -1) {
        mem_free(&s);
        return NULL;
    }
    s->loop = l;
    s->settings = settings;
    s->handlers = handlers;
    s->arg = arg;
    s->app = s->tc_url = s->page_url = s->swf_url = s->flash_ver = s->node =
        STR_NONE;
    timer_init(&s->timer, on_due);
    later_init(&s->destroy, on_destroy);
    session_set_phase(s, PHASE_ASK);
    list_append(&sessions.list, &s->link);
    sessions.count++;
    return s;
}
