/*
 * Tests of the judge itself: what the load tool's readers accept, what they
 * find wrong, and how it is counted. The chunks are written here in every way
 * RTMP allows, which no server does.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "../chunk_reader.h"
#include "../common.h"
#include "../flv_client.h"
#include "../source.h"
#include "../tally.h"

#include <stdio.h>
#include <string.h>

enum { MESSAGES = 400, ROOM = 16 << 20, FIRST_TIME = 0xfff000 };

static unsigned tests;
static unsigned failures;
static uint32_t seed = 12345;

static void
ok(bool good, const char *what)
{
    tests++;
    failures += !good;
    printf("%sok %u - %s\n", good ? "" : "not ", tests, what);
}

/* A number from 0 to n - 1. */
static uint32_t
pick(uint32_t n)
{
    seed = seed * 1664525 + 1013904223;
    return (seed >> 8) % n;
}

/* One message on its way into chunks. */
struct lane {
    uint32_t csid;
    uint8_t type;
    uint32_t timestamp; /* of the message under way */
    uint32_t delta;
    size_t size;
    size_t sent;
    uint8_t *body;
    bool begun;         /* had a message before */
    bool extended;      /* its last header's timestamp was */
    uint32_t last_time; /* of the message before */
    uint32_t last_delta;
    size_t last_size;
};

struct stream {
    uint8_t *bytes;
    size_t size;
    uint32_t chunk_size;
    uint32_t times[2][MESSAGES]; /* sent ones, by audio and video */
    unsigned count[2];
};

static uint8_t *
put_basic(uint8_t *p, unsigned format, uint32_t csid)
{
    if (csid < 64) {
        *p++ = (uint8_t)(format << 6 | csid);
    } else if (csid < 320 && pick(2) == 0) {
        *p++ = (uint8_t)(format << 6);
        *p++ = (uint8_t)(csid - 64);
    } else {
        *p++ = (uint8_t)(format << 6 | 1);
        *p++ = (uint8_t)((csid - 64) & 0xff);
        *p++ = (uint8_t)((csid - 64) >> 8);
    }
    return p;
}

/* The shortest format a new message may have, or a longer one. */
static unsigned
pick_format(const struct lane *l)
{
    unsigned best = 0;

    if (l->begun && l->timestamp >= l->last_time) {
        best = 1;
        if (l->size == l->last_size) {
            best = l->timestamp - l->last_time == l->last_delta ? 3 : 2;
        }
    }
    return best == 0 ? 0 : pick(best + 1);
}

/* The next chunk of a lane's message. */
static void
put_chunk(struct stream *s, struct lane *l)
{
    uint8_t *p = s->bytes + s->size;
    unsigned format = l->sent > 0 ? 3 : pick_format(l);
    uint32_t time = format == 0 ? l->timestamp : l->timestamp - l->last_time;
    size_t part = l->size - l->sent;

    part = part < s->chunk_size ? part : s->chunk_size;
    p = put_basic(p, format, l->csid);
    if (format < 3) {
        l->extended = time >= 0xffffff;
        l->delta = time;
        p = put_be24(p, l->extended ? 0xffffff : time);
    }
    if (format < 2) {
        p = put_be24(p, (uint32_t)l->size);
        *p++ = l->type;
    }
    if (format == 0) {
        p = put_le32(p, 1);
    }
    if (l->extended) {
        p = put_be32(p, l->delta);
    }
    p = put_bytes(p, l->body + l->sent, part);
    l->sent += part;
    s->size = (size_t)(p - s->bytes);
}

/* A message is complete: remembers what the next header refers to. */
static void
end_message(struct stream *s, struct lane *l)
{
    unsigned kind = l->type == RTMP_VIDEO;

    s->times[kind][s->count[kind]++] = l->timestamp;
    l->begun = true;
    l->last_time = l->timestamp;
    l->last_delta = l->delta;
    l->last_size = l->size;
    l->size = 0;
    l->sent = 0;
}

/* Writes messages of both kinds, chunks in turn by chance, with changes of
 * the chunk size between them (never below what its own message takes). */
static void
write_stream(struct stream *s, struct lane lanes[2])
{
    struct source *source = source_synthetic(2500000, 30, 2);
    struct cursor cursor;
    struct frame f;

    cursor_init(&cursor, source, 7);
    s->chunk_size = RTMP_DEFAULT_CHUNK;
    for (unsigned made = 0; made < MESSAGES;) {
        uint8_t body[1 << 18];

        cursor_take(&cursor, body, &f);
        struct lane *l = &lanes[f.kind == MEDIA_VIDEO];

        while (l->size > 0) { /* its turn before the new one */
            struct lane *any = &lanes[pick(2)];

            if (any->size == 0) {
                continue;
            }
            put_chunk(s, any);
            if (any->sent == any->size) {
                end_message(s, any);
            }
        }
        if (pick(20) == 0) {
            s->chunk_size = pick(2) == 0 ? 4 + pick(300) : 4 + pick(70000);
            uint8_t *p = s->bytes + s->size;

            p = rtmp_put_control(p, RTMP_SET_CHUNK_SIZE, s->chunk_size);
            s->size = (size_t)(p - s->bytes);
        }
        memcpy(l->body, body, f.size);
        l->type = (uint8_t)f.kind;
        l->size = f.size;
        l->timestamp = FIRST_TIME + f.timestamp;
        made++;
    }
    source_free(source);
}

struct seen {
    const struct stream *stream;
    unsigned count[2];
    unsigned good;
    unsigned corrupt;
    unsigned wrong_time;
};

static void
on_media(void *context, const struct media *m)
{
    struct seen *seen = context;
    unsigned kind = m->kind == MEDIA_VIDEO;
    unsigned at = seen->count[kind]++;

    seen->good += m->verdict == FRAME_GOOD;
    seen->corrupt += m->verdict == FRAME_CORRUPT;
    if (seen->stream != NULL && at < MESSAGES &&
        seen->stream->times[kind][at] != m->timestamp) {
        seen->wrong_time++;
    }
}

static void
on_message(void *context, const struct rtmp_message *m)
{
    (void)context;
    (void)m;
}

static const struct chunk_events EVENTS = { on_media, on_message };

/* Feeds a stream in pieces by chance; -1 when it was refused. */
static int
read_stream(const struct stream *s, struct seen *seen)
{
    struct chunk_reader r;
    size_t at = 0;
    int rc = 0;

    chunk_reader_init(&r, &EVENTS, seen);
    while (at < s->size && rc == 0) {
        size_t part = pick(4) == 0 ? 1 + pick(20) : 1 + pick(40000);

        part = part < s->size - at ? part : s->size - at;
        rc = chunk_reader_feed(&r, s->bytes + at, part);
        at += part;
    }
    chunk_reader_clear(&r);
    return rc;
}

static void
test_chunks(struct stream *s)
{
    static const uint32_t csids[][2] = { { 4, 6 },
                                         { 64, 319 },
                                         { 320, 65599 } };

    for (unsigned i = 0; i < 3; i++) {
        struct lane lanes[2] = {
            { .csid = csids[i][0], .body = mem_new(1 << 18, 1) },
            { .csid = csids[i][1], .body = mem_new(1 << 18, 1) },
        };
        struct seen seen = { .stream = s };

        s->size = 0;
        memset(s->count, 0, sizeof(s->count));
        write_stream(s, lanes);
        unsigned whole = s->count[0] + s->count[1];
        int rc = read_stream(s, &seen);

        ok(rc == 0 && seen.good == whole && seen.corrupt == 0,
           "chunks of every format and size are read");
        ok(seen.wrong_time == 0, "with their times, also extended ones");
        mem_drop(&lanes[0].body);
        mem_drop(&lanes[1].body);
    }
}

/* One changed byte is never taken for right, wherever it is. */
static void
test_damage(struct stream *s)
{
    unsigned unseen = 0;

    for (unsigned i = 0; i < 200; i++) {
        struct seen seen = { 0 };
        size_t at = pick((uint32_t)s->size);
        uint8_t was = s->bytes[at];

        s->bytes[at] = (uint8_t)(was ^ (1 + pick(255)));
        if (read_stream(s, &seen) == 0 && seen.corrupt == 0 &&
            seen.good == s->count[0] + s->count[1]) {
            unseen++;
        }
        s->bytes[at] = was;
    }
    /* A timestamp, or the message stream id, has no redundancy. */
    ok(unseen <= 2, "a changed byte is found");
}

static void
test_refused(void)
{
    static const struct {
        const char *what;
        uint8_t bytes[24];
        size_t size;
    } cases[] = {
        { "format 3 first", { 0xc4 }, 1 },
        { "format 1 first", { 0x44, 0, 0, 0, 0, 0, 1, 9 }, 8 },
        { "a chunk size of 0",
          { 2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, 0, 0 },
          16 },
        { "type 0", { 3, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 9 }, 13 },
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct seen seen = { 0 };
        struct chunk_reader r;

        chunk_reader_init(&r, &EVENTS, &seen);
        ok(chunk_reader_feed(&r, cases[i].bytes, cases[i].size) == -1 &&
               r.wrong != NULL,
           cases[i].what);
        chunk_reader_clear(&r);
    }
}

enum flv_way { PLAIN, CHUNKED, FRAMED };

/* Returns what follows the head of a piece of that way. */
static uint8_t *
begin_piece(uint8_t *p, enum flv_way way, size_t size)
{
    if (way == CHUNKED) {
        return p + snprintf((char *)p, 32, "%zx\r\n", size);
    }
    if (way != FRAMED) {
        return p;
    }
    *p++ = 0x82;
    if (size < 126) {
        *p++ = (uint8_t)size;
    } else if (size < 65536) {
        *p++ = 126;
        p = put_be16(p, (uint32_t)size);
    } else {
        *p++ = 127;
        p = put_be32(p, 0);
        p = put_be32(p, (uint32_t)size);
    }
    return p;
}

/* An answer with FLV tags; each is a chunk, or a message of a WebSocket, if
 * wanted. */
static size_t
write_flv(uint8_t *out, enum flv_way way, bool wrong_size)
{
    static const char *const heads[] = {
        [PLAIN] = "HTTP/1.1 200 OK\r\n\r\n",
        [CHUNKED] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        [FRAMED] = "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    };
    struct source *source = source_synthetic(2500000, 30, 2);
    struct cursor cursor;
    struct frame f;
    uint8_t tag[1 << 18];
    uint8_t *p = out;

    p = put_bytes(p, heads[way], strlen(heads[way]));
    cursor_init(&cursor, source, 0);
    for (unsigned i = 0; i < 100; i++) {
        uint8_t *t = tag;

        if (i == 0) {
            t = put_bytes(t, "FLV\1\5\0\0\0\11\0\0\0\0", 13);
        }
        cursor_take(&cursor, t + 11, &f);
        *t++ = (uint8_t)f.kind;
        t = put_be24(t, (uint32_t)f.size);
        t = put_be24(t, f.timestamp);
        t = put_be32(t, 0);
        t = put_be32(t + f.size, (uint32_t)f.size + 11 + wrong_size);
        size_t size = (size_t)(t - tag);

        p = begin_piece(p, way, size);
        p = put_bytes(p, tag, size);
        if (way == CHUNKED) {
            p = put_bytes(p, "\r\n", 2);
        }
    }
    source_free(source);
    return (size_t)(p - out);
}

static int
read_flv(const uint8_t *bytes, size_t size, enum flv_way way, struct seen *seen)
{
    struct target target = { .http = true, .socket = way == FRAMED };
    struct flv_client c = { .target = &target,
                            .on_media = on_media,
                            .context = seen };
    size_t at = 0;
    int rc = 0;

    flv_client_init(&c);
    while (at < size && rc == 0) {
        size_t part = 1 + pick(3000);

        part = part < size - at ? part : size - at;
        rc = flv_client_feed(&c, bytes + at, part);
        at += part;
    }
    flv_client_clear(&c);
    return rc;
}

static void
test_flv(uint8_t *room)
{
    static const char *const what[] = {
        [PLAIN] = "FLV is read",
        [CHUNKED] = "FLV in HTTP chunks is read",
        [FRAMED] = "FLV in messages of a WebSocket is read",
    };

    for (enum flv_way way = PLAIN; way <= FRAMED; way++) {
        struct seen seen = { 0 };
        size_t size = write_flv(room, way, false);

        ok(read_flv(room, size, way, &seen) == 0 && seen.good == 100,
           what[way]);
    }
    struct seen seen = { 0 };
    size_t size = write_flv(room, PLAIN, true);

    ok(read_flv(room, size, PLAIN, &seen) == -1, "a wrong tag size is found");
}

static void
take(struct viewer *v, struct tally *t, uint32_t number, bool key)
{
    struct stamp stamp = {
        .kind = MEDIA_VIDEO,
        .number = number,
        .key = key,
        .sent = 1000,
    };
    struct media m = {
        .kind = MEDIA_VIDEO,
        .verdict = FRAME_GOOD,
        .timestamp = number * 33,
        .stamp = &stamp,
    };

    t->now = 2001000;
    viewer_take(v, t, &m);
}

static void
test_tally(void)
{
    struct tally *t = mem_new(1, sizeof(*t));
    struct viewer v = { .asked = 500, .connected = 100 };

    take(&v, t, 60, true);
    take(&v, t, 61, false);
    ok(t->dropped == 0 && t->off_key == 0, "a player starts anywhere");
    take(&v, t, 64, false);
    ok(t->dropped == 2 && t->off_key == 1, "a gap is counted");
    take(&v, t, 120, true);
    ok(t->dropped == 57 && t->off_key == 1, "a gap up to a key frame too");
    take(&v, t, 120, true);
    ok(t->repeated == 1, "a repeated frame is counted");
    double ms = histogram_ms(&t->video_latency, 0.5);

    ok(ms > 1.95 && ms < 2.05, "latency is what has passed since sending");
    mem_drop(&t);
}

static void
test_histogram(void)
{
    struct histogram *h = mem_new(1, sizeof(*h));
    bool good = true;

    for (int64_t i = 1; i <= 100000; i++) {
        histogram_add(h, i * 1000);
    }
    for (int i = 1; i < 100; i++) {
        double ms = histogram_ms(h, i / 100.0);

        good = good && ms > i * 0.98 && ms < i * 1.02;
    }
    ok(good, "percentiles are right to 2 %");
    mem_drop(&h);
}

int
main(void)
{
    struct stream *s = mem_new(1, sizeof(*s));

    s->bytes = mem_new(ROOM, 1);
    test_chunks(s);
    test_damage(s);
    test_refused();
    test_flv(s->bytes);
    test_tally();
    test_histogram();
    printf("1..%u\n", tests);
    mem_drop(&s->bytes);
    mem_drop(&s);
    return failures > 0;
}
