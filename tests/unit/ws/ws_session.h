/*
 * For the tests of WebSockets: a connection over a socket pair, adopted by the
 * layer, whose peer is in the same process and speaks in frames.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef UNIT_WS_WS_SESSION_H
#define UNIT_WS_WS_SESSION_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "ws/ws.h"

#define MESSAGE_MAX 100000
#define ANSWER_MAX (1 << 20)
#define TURNS 3000 /* until it fails; each may wait 10 ms */

enum { CONT = 0, TEXT = 1, BINARY = 2, CLOSE = 8, PING = 9, PONG = 10 };
enum { FIN = 0x80, RSV1 = 0x40, RSV2 = 0x20, RSV3 = 0x10 };

static struct loop *l;
static struct ws_host *host;
static bool failed; /* a test's session is gone before its WebSocket */
static const struct conn_limits conn_limits = { .in_limit = 65536,
                                                .out_limit = 65536 };

/* A session under test: notes what it is told. */
struct session {
    struct ws *w;   /* NULL: it is over */
    int peer;       /* non-blocking */
    struct buf got; /* messages: 't' or 'b', then the text, then a newline */
    size_t messages, last_len;
    bool echo;
    int rooms, closes;
    unsigned code;
    char reason[128];
    struct buf in; /* what the peer has of us */
    bool deflated; /* our answer says so */
    bool eof;
};

static inline void
send_text(struct session *s, struct str text, bool binary, bool expected)
{
    struct ws_frame *f = ws_frame_new(text.len, binary);

    assert_non_null(f);
    memcpy(f->data, text.ptr, text.len);
    assert_int_equal(ws_send(s->w, f), expected);
    ws_frame_let_go(&f);
    assert_null(f);
}

static inline void
on_message(void *arg, struct str data, bool binary)
{
    struct session *s = arg;

    s->messages++;
    s->last_len = data.len;
    if (data.len <= 1000) {
        assert_int_equal(buf_add(&s->got, binary ? "b" : "t", 1), 0);
        assert_int_equal(buf_add_str(&s->got, data), 0);
        assert_int_equal(buf_add(&s->got, "\n", 1), 0);
    }
    if (s->echo) {
        send_text(s, data, binary, true);
    }
}

static inline void
on_room(void *arg)
{
    ((struct session *)arg)->rooms++;
}

static inline void
on_close(void *arg, unsigned code, struct str reason)
{
    struct session *s = arg;

    if (failed) {
        return;
    }
    s->closes++;
    s->code = code;
    str_copy(s->reason, sizeof(s->reason), reason);
    s->w = NULL;
}

static const struct ws_handlers handlers = { .on_message = on_message,
                                             .on_room = on_room,
                                             .on_close = on_close };

/* ---- the process ---- */

static inline int
start(const struct ws_limits *limits)
{
    struct errmsg err = { "" };

    l = loop_new(&err);
    host = l == NULL ? NULL : ws_host_new(l, limits);
    if (host == NULL) {
        fprintf(stderr, "%s\n", err.text);
    }
    return host == NULL ? -1 : 0;
}

static inline int
set_up(void **state)
{
    (void)state;
    return start(&(struct ws_limits){
        .connections = 100, .deflated = 2, .unfinished = 3 * MESSAGE_MAX });
}

static inline int
tear_down(void **state)
{
    (void)state;
    failed = true;
    ws_host_free(&host);
    loop_free(&l);
    failed = false;
    return 0;
}

/* ---- one session ---- */

/* The key of RFC 6455 1.3. */
#define KEY "dGhlIHNhbXBsZSBub25jZQ=="
#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

static inline struct conn *
new_conn(struct session *s)
{
    struct addr a = { .family = AF_UNIX };
    int pair[2];
    static const struct conn_handlers none;

    *s = (struct session){ .peer = -1 };
    buf_init(&s->got, ANSWER_MAX);
    buf_init(&s->in, 16 * ANSWER_MAX);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    s->peer = pair[1];
    assert_int_equal(fcntl(s->peer, F_SETFL, O_NONBLOCK), 0);
    return conn_new(
        l, &(struct conn_socket){ .fd = pair[0], .peer = a, .local = a }, &none,
        NULL, &conn_limits);
}

/* What we sent. */
static inline void
read_peer(struct session *s)
{
    uint8_t *room;
    ssize_t n;

    do {
        room = buf_reserve(&s->in, 65536);
        assert_non_null(room);
        n = recv(s->peer, room, 65536, 0);
        if (n > 0) {
            buf_commit(&s->in, (size_t)n);
        }
    } while (n > 0);
    s->eof = s->eof || n == 0 || (n == -1 && errno != EAGAIN);
}

/* Turns until cond is true. */
#define wait_until(s, cond)               \
    do {                                  \
        int turn_ = 0;                    \
        while (read_peer(s), !(cond)) {   \
            assert_true(turn_++ < TURNS); \
            loop_turn(l, 10);             \
        }                                 \
    } while (0)

static inline struct str
head_of(struct session *s)
{
    struct str all = buf_str(&s->in);

    for (size_t i = 4; i <= all.len; i++) {
        if (memcmp(all.ptr + i - 4, "\r\n\r\n", 4) == 0) {
            return str_first(all, i);
        }
    }
    return STR_NONE;
}

/* Adopts c; early: bytes that came with the request. */
static inline void
adopt(struct session *s, struct conn *c, struct str early, bool deflate)
{
    struct ws_handshake h = { .key = STR(KEY),
                              .deflate = deflate,
                              .message_max = MESSAGE_MAX,
                              .deflate_from = 1024 };
    struct errmsg err = { "" };

    assert_int_equal(buf_add_str(&c->in, early), 0);
    s->w = ws_adopt(host, c, &h, &handlers, s, &err);
    assert_non_null(s->w);
    assert_int_equal(s->messages, 0);
    wait_until(s, head_of(s).len > 0);
    assert_non_null(memmem(s->in.mem, head_of(s).len, ACCEPT, 28));
    s->deflated =
        memmem(s->in.mem, head_of(s).len, "permessage-deflate", 18) != NULL;
    buf_take(&s->in, head_of(s).len);
}

static inline void
open_session(struct session *s)
{
    struct conn *c = new_conn(s);

    adopt(s, c, STR_NONE, false);
}

static inline void
say(struct session *s, const void *data, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t sent =
            send(s->peer, (const char *)data + done, n - done, MSG_NOSIGNAL);

        if (sent == -1 && errno == EPIPE) {
            return;
        }
        assert_true(sent > 0 || errno == EAGAIN);
        done += sent > 0 ? (size_t)sent : 0;
        if (sent == -1) {
            loop_turn(l, 10);
            read_peer(s);
        }
    }
}

static inline void
done(struct session *s)
{
    if (s->peer != -1) {
        close(s->peer);
        s->peer = -1;
    }
    for (int i = 0; s->w != NULL; i++) {
        assert_true(i < TURNS);
        loop_turn(l, 10);
    }
    loop_turn(l, 10); /* the connection, too, hears that the peer has gone */
    assert_int_equal(s->closes, 1);
    buf_clear(&s->got);
    buf_clear(&s->in);
    loop_turn(l, 0);
}

/* ---- frames ---- */

/* Length on how many bytes; SHORTEST: as the standard wants it. */
enum { SHORTEST = 0, SEVEN = 1, SIXTEEN = 2, SIXTYFOUR = 8 };

struct form {
    int bytes; /* of the length */
    bool bare; /* no mask */
};

static inline size_t
put_length(uint8_t *p, size_t len, int bytes, unsigned mask)
{
    if (bytes == SHORTEST) {
        bytes = len < 126 ? SEVEN : len < 65536 ? SIXTEEN : SIXTYFOUR;
    }
    if (bytes == SEVEN) {
        p[0] = (uint8_t)(mask | len);
        return 1;
    }
    p[0] = (uint8_t)(mask | (bytes == SIXTEEN ? 126 : 127));
    for (int i = 0; i < bytes; i++) {
        p[1 + i] = (uint8_t)((uint64_t)len >> (8 * (bytes - 1 - i)));
    }
    return 1 + (size_t)bytes;
}

/* Adds a frame to out; first: FIN, RSV and opcode. */
static inline void
put_frame(struct buf *out, unsigned first, struct str data, struct form form)
{
    static const uint8_t key[4] = { 0x37, 0xfa, 0x21, 0x3d };
    uint8_t head[14];
    size_t n = 1;
    uint8_t *p;

    head[0] = (uint8_t)first;
    n += put_length(head + 1, data.len, form.bytes, form.bare ? 0 : 0x80);
    if (!form.bare) {
        memcpy(head + n, key, 4);
        n += 4;
    }
    p = buf_reserve(out, n + data.len);
    assert_non_null(p);
    memcpy(p, head, n);
    for (size_t i = 0; i < data.len; i++) {
        p[n + i] = (uint8_t)(data.ptr[i] ^ (form.bare ? 0 : key[i % 4]));
    }
    buf_commit(out, n + data.len);
}

static inline void
say_frame(struct session *s, unsigned first, struct str data)
{
    struct buf out;

    buf_init(&out, 16 * ANSWER_MAX);
    put_frame(&out, first, data, (struct form){ 0 });
    say(s, buf_data(&out), buf_len(&out));
    buf_clear(&out);
}

struct frame {
    unsigned first;
    struct str data;
    size_t size; /* of all of it; 0: it is not whole */
};

/* The frame at the front of what the peer has. */
static inline struct frame
peek_frame(struct session *s)
{
    const uint8_t *p = buf_data(&s->in);
    size_t have = buf_len(&s->in), head = 2, len;

    if (have < 2) {
        return (struct frame){ .size = 0 };
    }
    assert_int_equal(p[1] & 0x80, 0);
    len = p[1];
    if (len >= 126) {
        size_t bytes = len == 126 ? 2 : 8;

        if (have < 2 + bytes) {
            return (struct frame){ .size = 0 };
        }
        len = 0;
        for (size_t i = 0; i < bytes; i++) {
            len = len << 8 | p[2 + i];
        }
        head += bytes;
    }
    return (struct frame){ p[0], str_of(p + head, len),
                           have < head + len ? 0 : head + len };
}

/* Waits for the next frame and checks it. */
static inline void
hears(struct session *s, unsigned first, struct str data)
{
    struct frame f;

    wait_until(s, peek_frame(s).size > 0 || s->eof);
    f = peek_frame(s);
    assert_true(f.size > 0);
    assert_int_equal(f.first, first);
    assert_int_equal(f.data.len, data.len);
    assert_memory_equal(f.data.ptr, data.ptr, data.len);
    buf_take(&s->in, f.size);
}

/* Waits for a close with that code, and for the end. */
static inline void
hears_close(struct session *s, unsigned code)
{
    struct frame f;

    wait_until(s, peek_frame(s).size > 0 || s->eof);
    f = peek_frame(s);
    assert_true(f.size > 0);
    assert_int_equal(f.first, FIN | CLOSE);
    assert_true(f.data.len >= 2 || code == WS_NONE);
    if (code != WS_NONE && f.data.ptr != NULL) {
        assert_int_equal((uint8_t)f.data.ptr[0] << 8 | (uint8_t)f.data.ptr[1],
                         code);
    }
    buf_take(&s->in, f.size);
}

/* Waits for the messages that on_message() has noted. */
static inline void
has_given(struct session *s, const char *messages)
{
    size_t len = strlen(messages);

    wait_until(s, buf_len(&s->got) >= len || s->w == NULL);
    assert_int_equal(buf_len(&s->got), len);
    assert_memory_equal(buf_data(&s->got), messages, len);
    buf_take(&s->got, len);
}

#endif
