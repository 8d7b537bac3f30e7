/*
 * For the tests of this folder: a session over a socket pair, the client
 * that speaks to it and the application behind it.
 *
 * The pair keeps packet boundaries, so that a test sees what went out in one
 * write.  What the client hears and what the application is told become
 * lines of text, in order.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef UNIT_RTMP_PEER_H
#define UNIT_RTMP_PEER_H

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/log.h"
#include "chunks.h"
#include "rtmp/amf.h"
#include "rtmp/chunk.h"
#include "rtmp/handshake.h"
#include "rtmp/rtmp.h"

struct text {
    char at[32768];
    size_t len;
};

static inline void __attribute__((format(printf, 2, 3)))
note(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->len, sizeof(t->at) - t->len, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof(t->at) - t->len) {
        abort();
    }
    t->len += (size_t)n;
}

static inline void
forget(struct text *t)
{
    t->len = 0;
    t->at[0] = '\0';
}

/* ---- the application ---- */

static struct {
    struct text told;
    enum rtmp_result connect, publish, play; /* its answers */
    const char *code, *reason;               /* of a refusal */
    struct rtmp_request *asked;              /* the last, while it lives */
    size_t media_bytes;
    bool through_say;   /* say() was called */
    bool decide_within; /* decides before it answers RTMP_WAIT */
} app;

static inline enum rtmp_result
app_answer(const char *what, struct rtmp_request *r, enum rtmp_result result,
           struct rtmp_refusal *no)
{
    note(&app.told, "%s %u %.*s|%.*s|%.*s;", what, r->stream_id,
         STR_ARGS(r->app), STR_ARGS(r->name), STR_ARGS(r->args));
    app.asked = r;
    if (result == RTMP_REFUSE) {
        no->code = app.code;
        errmsg_set(&no->reason, "%s", app.reason);
    }
    if (app.decide_within) {
        rtmp_session_decide(r, RTMP_DONE, NULL);
        return RTMP_WAIT;
    }
    return result;
}

static inline enum rtmp_result
app_connect(struct rtmp_request *r, struct rtmp_refusal *no)
{
    return app_answer("connect", r, app.connect, no);
}

static inline enum rtmp_result
app_publish(struct rtmp_request *r, struct rtmp_refusal *no)
{
    return app_answer(r->publish_type, r, app.publish, no);
}

static inline enum rtmp_result
app_play(struct rtmp_request *r, struct rtmp_refusal *no)
{
    return app_answer("play", r, app.play, no);
}

static inline void
app_media(struct rtmp_request *r, enum media_type type, uint32_t timestamp,
          const uint8_t *payload, size_t len)
{
    note(&app.told, "media %u %u %u %zu %02x;", r->stream_id, (unsigned)type,
         timestamp, len, len > 0 ? payload[0] : 0);
    app.media_bytes += len;
}

static inline void
app_pause(struct rtmp_request *r, bool pause)
{
    note(&app.told, "pause %u %d;", r->stream_id, pause);
}

static inline void
app_receive(struct rtmp_request *r, enum media_type type, bool on)
{
    note(&app.told, "receive %u %u %d;", r->stream_id, (unsigned)type, on);
}

static inline void
app_writable(struct rtmp_session *s)
{
    (void)s;
    note(&app.told, "writable;");
}

static inline void
app_end(struct rtmp_request *r, const char *reason)
{
    note(&app.told, "end %u %.*s: %s;", r->stream_id, STR_ARGS(r->name),
         reason);
    app.asked = NULL;
}

static inline int
app_say(struct rtmp_session *s, const void *data, size_t n)
{
    app.through_say = true;
    return conn_write(rtmp_session_conn(s), data, n);
}

static const struct rtmp_handlers app_handlers = {
    .on_connect = app_connect,
    .on_publish = app_publish,
    .on_play = app_play,
    .on_media = app_media,
    .on_pause = app_pause,
    .on_receive = app_receive,
    .on_writable = app_writable,
    .on_end = app_end,
    .say = app_say,
};

/* ---- the client ---- */

static struct {
    struct loop *loop;
    struct rtmp_session *session;
    struct rtmp_settings settings;
    int fd;
    struct chunk_reader reader;
    struct text heard; /* packets end with a newline */
    struct buf body;   /* of the command being written */
    struct amf_writer amf;
    bool closed; /* the server closed */
} peer;

static inline void
print_values(struct text *t, struct amf_reader *r)
{
    struct amf_value v;
    struct str name = STR_NONE;
    while (amf_read(r, &name, &v)) {
        if (r->named) {
            note(t, " %.*s", STR_ARGS(name));
        }
        if (v.kind == AMF_NUMBER) {
            note(t, " %g", v.number);
        } else if (v.kind == AMF_BOOL) {
            note(t, " %s", v.boolean ? "true" : "false");
        } else if (v.kind == AMF_STRING) {
            note(t, " %.*s", STR_ARGS(v.string));
        } else if (v.kind == AMF_OBJECT || v.kind == AMF_ARRAY) {
            note(t, " (");
            print_values(t, &v.inside);
            note(t, " )");
        } else {
            note(t, " null");
        }
    }
}

static inline int
hear(void *arg, const struct chunk_message *m)
{
    struct amf_reader r;
    struct errmsg err;
    (void)arg;
    note(&peer.heard, "%u/%u", m->type, m->stream_id);
    if (m->type == 20 || m->type == 18) {
        amf_reader_init(&r, m->payload, m->len);
        print_values(&peer.heard, &r);
    } else if (m->type == 4) {
        note(&peer.heard, " %u %u", get_be16(m->payload),
             get_be32(m->payload + 2));
    } else {
        note(&peer.heard, " %u", get_be32(m->payload));
    }
    note(&peer.heard, ";");
    if (m->type == 1) {
        chunk_set_size(&peer.reader, get_be32(m->payload), &err);
    }
    return 0;
}

/* Some turns of the loop, then what has come is heard. */
static inline void
turns(void)
{
    static uint8_t packet[1 << 20];
    struct errmsg err;
    for (int i = 0; i < 4; i++) {
        loop_turn(peer.loop, 0);
    }
    for (;;) {
        ssize_t n = recv(peer.fd, packet, sizeof(packet), MSG_DONTWAIT);
        if (n <= 0) {
            peer.closed = peer.closed || n == 0 || errno == ECONNRESET;
            return;
        }
        if (chunk_read(&peer.reader, packet, (size_t)n, hear, NULL, &err) !=
            n) {
            abort();
        }
        note(&peer.heard, "\n");
    }
}

/* Sends what stands in wire, in packets that fit a read of the server. */
static inline void
send_wire(void)
{
    while (buf_len(&wire) > 0) {
        size_t n = buf_len(&wire) < 32000 ? buf_len(&wire) : 32000;
        if (send(peer.fd, buf_data(&wire), n, MSG_NOSIGNAL) != (ssize_t)n) {
            note(&peer.heard, "cannot send;");
        }
        buf_take(&wire, n);
        turns();
    }
}

/* A message in chunks of 128 to the wire. */
static inline void
put_message(uint32_t csid, unsigned type, uint32_t id, uint32_t time,
            struct str body)
{
    fmt0(csid, time, (uint32_t)body.len, type, id);
    while (body.len > 128) {
        add(body.ptr, 128);
        basic(3, csid);
        body = str_skip(body, 128);
    }
    add(body.ptr, body.len);
}

static inline void
send_number(unsigned type, uint32_t v)
{
    uint8_t bytes[4];
    put_be32(bytes, v);
    put_message(2, type, 0, 0, str_of(bytes, 4));
    send_wire();
}

/* Begins a command; arguments are put to the result, then end_command(). */
static inline struct amf_writer *
command(const char *name, double tid)
{
    buf_clear(&peer.body);
    amf_put_string(&peer.amf, str_from(name));
    amf_put_number(&peer.amf, tid);
    return &peer.amf;
}

static inline void
put_command(uint32_t id)
{
    put_message(3, 20, id, 0, buf_str(&peer.body));
}

static inline void
end_command(uint32_t id)
{
    put_command(id);
    send_wire();
}

/* name(tid, null, text). */
static inline void
call(const char *name, double tid, uint32_t id, const char *text)
{
    struct amf_writer *w = command(name, tid);
    amf_put_null(w);
    if (text != NULL) {
        amf_put_string(w, str_from(text));
    }
    end_command(id);
}

static inline void
put_connect(const char *app_name, const char *tc_url)
{
    struct amf_writer *w = command("connect", 1);
    amf_begin_object(w);
    amf_put_name(w, STR("app"));
    amf_put_string(w, str_from(app_name));
    amf_put_name(w, STR("tcUrl"));
    amf_put_string(w, str_from(tc_url));
    amf_end_object(w);
    put_command(0);
}

static inline void
do_connect(void)
{
    put_connect("live", "rtmp://h/live");
    send_wire();
}

/* The handshake; what comes back is checked by the handshake's own test. */
static inline void
do_handshake(void)
{
    static uint8_t ask[HANDSHAKE_ASK] = { 3 };
    static uint8_t answer[HANDSHAKE_ANSWER + 1];
    add(ask, sizeof(ask));
    send(peer.fd, buf_data(&wire), buf_len(&wire), MSG_NOSIGNAL);
    buf_clear(&wire);
    loop_turn(peer.loop, 0);
    if (recv(peer.fd, answer, sizeof(answer), MSG_DONTWAIT) !=
        HANDSHAKE_ANSWER) {
        abort(); /* S0 S1 S2 is not one write */
    }
    add(ask, HANDSHAKE_BLOCK);
    send_wire();
}

/* Connected, stream 1 created, nothing heard. */
static inline void
get_ready(void)
{
    do_handshake();
    do_connect();
    call("createStream", 2, 0, NULL);
    forget(&peer.heard);
    forget(&app.told);
}

static inline void
drop_log(void *arg, const char *line, size_t len)
{
    struct text *t = arg;
    note(t, "%.*s", (int)len, line);
}

static struct text logged;

static inline int
start(void **state)
{
    static const struct addr nobody = { .family = AF_UNIX };
    struct errmsg err;
    int fds[2];
    (void)state;
    memset(&app, 0, sizeof(app));
    memset(&peer, 0, sizeof(peer));
    forget(&logged);
    log_set(LOG_INFO, LOG_TEXT);
    log_set_sink(drop_log, &logged);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds) != 0) {
        return -1;
    }
    peer.settings = (struct rtmp_settings){
        .chunk_size = 60000,
        .handshake_timeout = 600000,
        .connect_timeout = 600000,
        .ping_interval = 600000,
        .ping_timeout = 600000,
        .send_timeout = 600000,
        .max_message = 1 << 20,
        .max_memory = 2 << 20,
        .window_ack = 2500000,
    };
    buf_init(&wire, 4 << 20);
    buf_init(&peer.body, 1 << 20);
    peer.amf.b = &peer.body;
    peer.fd = fds[1];
    peer.loop = loop_new(&err);
    chunk_reader_init(&peer.reader, 1 << 20, 1 << 20);
    peer.session = rtmp_accept(
        peer.loop, &peer.settings, &app_handlers, &app,
        &(struct conn_socket){ .fd = fds[0], .peer = nobody, .local = nobody });
    return peer.session != NULL ? 0 : -1;
}

static inline int
stop(void **state)
{
    (void)state;
    rtmp_close_all("the test is over");
    loop_turn(peer.loop, 0);
    loop_turn(peer.loop, 0);
    chunk_reader_clear(&peer.reader);
    buf_clear(&wire);
    buf_clear(&peer.body);
    loop_free(&peer.loop);
    close(peer.fd);
    return rtmp_sessions() == 0 ? 0 : -1;
}

/* Turns the loop until the server closed, at most a minute. */
static inline bool
wait_closed(void)
{
    int64_t end = clock_ms() + 60000;
    while (!peer.closed && clock_ms() < end) {
        loop_turn(peer.loop, 10);
        turns();
    }
    return peer.closed;
}

#endif
