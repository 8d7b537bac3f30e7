/*
 * Players and publishers on a real loop and real sockets: a wire is a
 * connection with up to four players (NetStreams) and its other end, an
 * author publishes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_VIEWER_H
#define TESTS_VIEWER_H

#include <sys/socket.h>
#include <unistd.h>

#include "arena_fixture.h"
#include "base/buf.h"
#include "live/player.h"

#define WIRE_VIEWERS 4

struct wire;

struct viewer {
    struct wire *wire;
    struct live_player *p;
    int starts, holds, resumes, stops;
    bool close;
    char reason[128];
    enum { GO_ON, LEAVE, CLOSE } at_start; /* what on_start does */
    struct viewer *victim;                 /* stopped by on_stop */
};

struct wire {
    struct conn *conn; /* NULL once closed */
    int peer;
    struct viewer viewers[WIRE_VIEWERS];
    struct buf got; /* read from the other end, not parsed */
};

struct author {
    struct live_publisher *p;
    int starts, stops;
    char reason[512];
};

/* ---- the connection ---- */

static inline ssize_t
wire_on_data(void *arg, const uint8_t *data, size_t n)
{
    (void)arg;
    (void)data;
    return (ssize_t)n;
}

static inline void
wire_on_writable(void *arg)
{
    struct wire *wire = arg;

    for (int i = 0; i < WIRE_VIEWERS && wire->conn != NULL; i++) {
        if (wire->viewers[i].p != NULL) {
            live_player_writable(wire->viewers[i].p);
        }
    }
}

static inline void
wire_on_close(void *arg, const char *reason)
{
    struct wire *wire = arg;

    (void)reason;
    wire->conn = NULL;
    for (int i = 0; i < WIRE_VIEWERS; i++) {
        live_stop_playing(&wire->viewers[i].p);
    }
}

static const struct conn_handlers wire_handlers = {
    .on_data = wire_on_data,
    .on_writable = wire_on_writable,
    .on_close = wire_on_close,
};

/* room: of the socket, bytes; 0: the system's. */
static inline void
wire_open(struct wire *wire, int room)
{
    static const struct conn_limits limits = { .in_limit = 65536,
                                               .out_limit = 64 * 1024 * 1024 };
    struct addr nowhere = { .family = AF_UNIX };
    int fds[2];

    *wire = (struct wire){ 0 };
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    if (room > 0) {
        setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    }
    wire->conn = conn_new(fixture_loop,
                          &(struct conn_socket){
                              .fd = fds[0], .peer = nowhere, .local = nowhere },
                          &wire_handlers, wire, &limits);
    assert_non_null(wire->conn);
    wire->peer = fds[1];
    buf_init(&wire->got, 256 * 1024 * 1024);
    for (int i = 0; i < WIRE_VIEWERS; i++) {
        wire->viewers[i].wire = wire;
    }
}

static inline void
wire_close(struct wire *wire)
{
    if (wire->conn != NULL) {
        conn_close(wire->conn, "test is over");
    }
    close(wire->peer);
    buf_clear(&wire->got);
}

/* Reads at most n bytes of what has arrived. */
static inline void
wire_read(struct wire *wire, size_t n)
{
    static uint8_t bytes[65536];

    while (n > 0) {
        size_t want = n < sizeof(bytes) ? n : sizeof(bytes);
        ssize_t got = recv(wire->peer, bytes, want, MSG_DONTWAIT);

        if (got <= 0) {
            return;
        }
        buf_add(&wire->got, bytes, (size_t)got);
        n -= (size_t)got;
    }
}

/* Lets all that can happen happen, reading everything. */
static inline void
wire_settle(struct wire *wire)
{
    for (int i = 0; i < 40; i++) {
        fixture_turns(2);
        wire_read(wire, SIZE_MAX);
    }
}

/* The next message that arrived; false when there is none. */
static inline bool
wire_next(struct wire *wire, struct message *m)
{
    size_t n = parse_message(buf_data(&wire->got), buf_len(&wire->got),
                             FIXTURE_CHUNK, m);

    buf_take(&wire->got, n);
    return n > 0;
}

/* Eats a message and checks what it is. */
static inline void
expect(struct wire *wire, enum kind kind, uint32_t timestamp, size_t len)
{
    struct message m;
    uint8_t *payload = mem_alloc(len + 1);

    fill_payload(payload, kind, len, timestamp);
    assert_true(wire_next(wire, &m));
    assert_int_equal(m.type, kind_type(kind));
    assert_int_equal(m.timestamp, timestamp);
    assert_int_equal(m.len, len);
    assert_memory_equal(m.payload, payload, len);
    mem_free(&m.payload);
    mem_free(&payload);
}

static inline void
expect_nothing(struct wire *wire)
{
    assert_int_equal(buf_len(&wire->got), 0);
}

/* ---- players ---- */

static inline void
viewer_on_start(void *arg, uint32_t chunk_size)
{
    struct viewer *v = arg;

    assert_int_equal(chunk_size, FIXTURE_CHUNK);
    v->starts++;
    if (v->at_start == LEAVE) {
        live_stop_playing(&v->p);
    } else if (v->at_start == CLOSE) {
        conn_close(v->wire->conn, "closed at the start");
    }
}

static inline void
viewer_on_hold(void *arg)
{
    ((struct viewer *)arg)->holds++;
}

static inline void
viewer_on_resume(void *arg)
{
    ((struct viewer *)arg)->resumes++;
}

static inline void
viewer_on_stop(void *arg, const char *reason, bool close)
{
    struct viewer *v = arg;

    v->p = NULL;
    v->stops++;
    v->close = close;
    str_copy(v->reason, sizeof(v->reason), str_from(reason));
    if (v->victim != NULL) {
        live_stop_playing(&v->victim->p);
    }
    if (close) {
        conn_close(v->wire->conn, reason);
    }
}

static const struct live_player_handlers viewer_handlers = {
    viewer_on_start, viewer_on_hold, viewer_on_resume, viewer_on_stop, NULL,
};

static inline struct live_play
viewer_play(struct wire *wire, const char *name)
{
    return (struct live_play){
        .name = str_from(name),
        .url = STR("rtmp://test/play"),
        .framing = LIVE_RTMP,
        .stream_id = 1,
        .gather = 0,
        .gop_cache = true,
        .conn = wire->conn,
    };
}

static inline struct viewer *
watch_as(struct wire *wire, int i, const struct live_play *what)
{
    struct viewer *v = &wire->viewers[i];
    struct live_play play = *what;
    struct errmsg err;

    for (int k = 0; k < WIRE_VIEWERS; k++) {
        play.beside = k != i && wire->viewers[k].p != NULL ? wire->viewers[k].p
                                                           : play.beside;
    }
    v->p = live_play(&play, &viewer_handlers, v, &err);
    assert_non_null(v->p);
    return v;
}

static inline struct viewer *
watch(struct wire *wire, const char *name)
{
    struct live_play what = viewer_play(wire, name);

    return watch_as(wire, 0, &what);
}

/* ---- publishers ---- */

static inline void
author_on_start(void *arg)
{
    ((struct author *)arg)->starts++;
}

static inline void
author_on_stop(void *arg, const char *reason)
{
    struct author *a = arg;

    a->p = NULL;
    a->stops++;
    str_copy(a->reason, sizeof(a->reason), str_from(reason));
}

static const struct live_publisher_handlers author_handlers = {
    author_on_start,
    author_on_stop,
};

static inline void
publish_as(struct author *a, const struct live_publish *what)
{
    struct errmsg err = { "" };

    *a = (struct author){ 0 };
    a->p = live_publish(what, &author_handlers, a, &err);
    str_copy(a->reason, sizeof(a->reason), str_from(err.text));
}

static inline void
publish(struct author *a, const char *name)
{
    struct live_publish what = fixture_publish(name);

    publish_as(a, &what);
    assert_non_null(a->p);
}

static inline void
write_frame(struct author *a, enum kind kind, uint32_t timestamp, size_t len)
{
    uint8_t *payload = mem_alloc(len + 1);

    fill_payload(payload, kind, len, timestamp);
    live_write(a->p, kind_type(kind), timestamp, payload, len);
    mem_free(&payload);
}

/* All frames of the stream came that much earlier. */
static inline void
age_frames(struct stream *s, int64_t ms)
{
    for (uint64_t i = atomic_load(&s->head); i < atomic_load(&s->tail); i++) {
        frame_at(s, i)->arrived_ms -= ms;
    }
}

#endif
