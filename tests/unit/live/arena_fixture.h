/*
 * A small arena for tests of src/live, frames to put in it, and a parser of
 * RTMP chunks that shares no code with what is tested.
 *
 * Include it behind cmocka.h.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_ARENA_FIXTURE_H
#define TESTS_ARENA_FIXTURE_H

#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "live/arena.h"
#include "live/stream.h"
#include "live/writer.h"

#define FIXTURE_SLOTS 8
#define FIXTURE_CHUNK 4096

static struct loop *fixture_loop;
/* Whether the next hub has a ring (where the kernel grants one). */
static bool fixture_io_uring;
/* Records of streams in the next arena. */
static int64_t fixture_streams = 8;

/* 8 MB, streams of at most 2 MB, 64 sessions; this process is a worker. */
static inline void
fixture_arena(void)
{
    const struct live_settings settings = {
        .memory = 8 * 1024 * 1024,
        .max_streams = fixture_streams,
        .max_sessions = 64,
        .window = 8000,
        .max_stream_memory = 2 * 1024 * 1024,
        .hold = 10000,
        .gather = 0,
    };
    struct errmsg err;

    log_set(LOG_CRIT, LOG_TEXT);
    hash_init();
    assert_int_equal(slots_create(FIXTURE_SLOTS, &err), 0);
    assert_int_equal(live_create(&settings, &err), 0);
    slot_set_self((uint32_t)slot_take(SLOT_WORKER, "test", 0, 0));
}

static inline void
fixture_arena_end(void)
{
    live_destroy();
    slots_destroy();
}

static inline void
fixture_hub(void)
{
    struct errmsg err;

    fixture_arena();
    fixture_loop = loop_new(&err);
    assert_non_null(fixture_loop);
    arena.settings.io_uring = fixture_io_uring;
    assert_int_equal(live_hub_start(fixture_loop, &arena.settings, &err), 0);
}

static inline void
fixture_hub_end(void)
{
    live_hub_stop();
    loop_free(&fixture_loop);
    fixture_arena_end();
}

/* This process is the master; the slot of a worker. */
static inline uint32_t
fixture_master(void)
{
    struct errmsg err;

    fixture_arena();
    slot_release(slot_self());
    slot_set_self(0);
    fixture_loop = loop_new(&err);
    assert_int_equal(live_master_start(fixture_loop, &err), 0);
    return (uint32_t)slot_take(SLOT_WORKER, "writer", 0, 0);
}

static inline void
fixture_master_end(void)
{
    live_master_stop();
    loop_free(&fixture_loop);
    fixture_arena_end();
}

/* Turns of the loop until there is nothing more to do at once. */
static inline void
fixture_turns(int n)
{
    for (int i = 0; i < n; i++) {
        loop_turn(fixture_loop, 0);
    }
}

static inline struct live_publish
fixture_publish(const char *name)
{
    return (struct live_publish){ .name = str_from(name),
                                  .url = STR("rtmp://test/x"),
                                  .conflict = LIVE_REPLACE,
                                  .chunk_size = FIXTURE_CHUNK,
                                  .hold = 10000 };
}

static inline struct stream *
fixture_stream(const char *name)
{
    struct live_publish what = fixture_publish(name);
    struct stream *s = NULL;

    assert_int_equal(stream_claim(&what, &s), STREAM_YOURS);
    return s;
}

/* As if another process had players of it. */
static inline void
fixture_play(struct stream *s)
{
    atomic_fetch_or(&s->readers[0], UINT64_C(1) << (slot_self() + 1));
}

/* ---- payloads ---- */

enum kind { KEY, INTER, VIDEO_HEADER, SOUND, SOUND_HEADER, META, TEXT, EMPTY };

static inline enum media_type
kind_type(enum kind kind)
{
    if (kind == META || kind == TEXT) {
        return MEDIA_DATA;
    }
    return kind == SOUND || kind == SOUND_HEADER ? MEDIA_AUDIO : MEDIA_VIDEO;
}

/* len bytes that begin as the kind does and go on as seed says. */
static inline void
fill_payload(uint8_t *dst, enum kind kind, size_t len, uint32_t seed)
{
    static const struct {
        uint8_t bytes[13];
        size_t len;
    } heads[] = {
        [KEY] = { { 0x17, 1, 0, 0, 0 }, 5 },
        [INTER] = { { 0x27, 1, 0, 0, 0 }, 5 },
        [VIDEO_HEADER] = { { 0x17, 0, 0, 0, 0 }, 5 },
        [SOUND] = { { 0xaf, 1 }, 2 },
        [SOUND_HEADER] = { { 0xaf, 0 }, 2 },
        [META] = { { 2, 0, 10, 'o', 'n', 'M', 'e', 't', 'a', 'D', 'a', 't',
                     'a' },
                   13 },
        [TEXT] = { { 2, 0, 10, 'o', 'n', 'T', 'e', 'x', 't', 'D', 'a', 't',
                     'a' },
                   13 },
        [EMPTY] = { { 0 }, 0 },
    };
    size_t head = heads[kind].len < len ? heads[kind].len : len;

    memcpy(dst, heads[kind].bytes, head);
    for (size_t i = head; i < len; i++) {
        seed = seed * 1664525 + 1013904223;
        dst[i] = (uint8_t)(seed >> 24);
    }
}

/* Appends a frame of that kind; what writer_append answers. */
static inline int
append(struct writer *w, enum kind kind, uint32_t timestamp, size_t len)
{
    uint8_t *payload = mem_alloc(len + 1);
    int result;

    fill_payload(payload, kind, len, timestamp);
    result = writer_append(w, kind_type(kind), timestamp, payload, len);
    mem_free(&payload);
    return result;
}

/* ---- an RTMP chunk parser ---- */

struct message {
    uint8_t type;
    uint32_t csid, timestamp, stream_id, len;
    uint8_t *payload; /* owned by who parses */
};

/* One whole message at b, cut in chunks of that size, with no other chunk
 * between; the bytes it takes, 0 when it is not all there. */
static inline size_t
parse_message(const uint8_t *b, size_t n, uint32_t chunk, struct message *m)
{
    size_t at = 12, extended = 0;
    uint32_t done = 0;

    *m = (struct message){ 0 };
    if (n < at) {
        return 0;
    }
    assert_int_equal(b[0] >> 6, 0);
    m->csid = b[0] & 63;
    assert_true(m->csid >= 2);
    m->timestamp = (uint32_t)(b[1] << 16 | b[2] << 8 | b[3]);
    m->len = (uint32_t)(b[4] << 16 | b[5] << 8 | b[6]);
    m->type = b[7];
    m->stream_id = (uint32_t)b[8] | (uint32_t)b[9] << 8 |
                   (uint32_t)b[10] << 16 | (uint32_t)b[11] << 24;
    if (m->timestamp == 0xffffff) {
        if (n < 16) {
            return 0;
        }
        m->timestamp = (uint32_t)b[12] << 24 | (uint32_t)b[13] << 16 |
                       (uint32_t)b[14] << 8 | b[15];
        at = 16;
        extended = 4;
    }
    m->payload = mem_alloc(m->len + 1);
    while (done < m->len) {
        uint32_t part = m->len - done < chunk ? m->len - done : chunk;

        if (done > 0) {
            if (n - at < 1 + extended) {
                break;
            }
            assert_int_equal(b[at], 0xc0 | m->csid);
            if (extended > 0) {
                assert_memory_equal(b + at + 1, b + 12, 4);
            }
            at += 1 + extended;
        }
        if (n - at < part) {
            break;
        }
        memcpy(m->payload + done, b + at, part);
        at += part;
        done += part;
    }
    if (done < m->len) {
        mem_free(&m->payload);
        return 0;
    }
    return at;
}

/* The bytes of a frame as they lie in the media ring. */
static inline void
wire_of(struct stream *s, uint64_t number, uint8_t *dst)
{
    const struct frame *f = frame_at(s, number);

    for (uint32_t i = 0; i < f->wire_len; i++) {
        dst[i] = *media_at(s, f->position + i);
    }
}

/* The message of a frame, parsed; the payload is the caller's. */
static inline struct message
message_of(struct stream *s, uint64_t number)
{
    uint32_t len = frame_at(s, number)->wire_len;
    uint8_t *bytes = mem_alloc(len);
    struct message m;

    wire_of(s, number, bytes);
    assert_int_equal(parse_message(bytes, len, s->chunk_size, &m), len);
    mem_free(&bytes);
    return m;
}

static inline uint64_t
segments_in_use(void)
{
    struct live_memory_view v;

    live_memory(&v);
    return v.used;
}

#endif
