/*
 * Reads RTMP chunks (Adobe RTMP specification 1.0, section 5.3).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "chunk_reader.h"

#include "common.h"

#include <string.h>

enum {
    MAX_STREAMS = 64,
    MAX_COMMAND = 1 << 16, /* of what is put together */
    EXTENDED = 0xffffff,
};

/* What a chunk stream remembers from chunk to chunk. */
struct chunk_stream {
    uint32_t csid;
    uint32_t timestamp;
    uint32_t delta;
    uint32_t length;
    uint32_t msid;
    uint32_t got; /* bytes of the message under way */
    uint8_t type;
    bool known;    /* had a header of format 0 */
    bool extended; /* the last header had an extended timestamp */
    bool under_way;
    uint8_t *body; /* owned; of a message put together, otherwise NULL */
    struct frame_check check;
};

void
chunk_reader_init(struct chunk_reader *r, const struct chunk_events *events,
                  void *context)
{
    *r = (struct chunk_reader){
        .events = events,
        .context = context,
        .chunk_size = RTMP_DEFAULT_CHUNK,
    };
}

void
chunk_reader_clear(struct chunk_reader *r)
{
    for (unsigned i = 0; i < r->count; i++) {
        mem_drop(&r->streams[i]->body);
        mem_drop(&r->streams[i]);
    }
    mem_drop(&r->streams);
    r->count = 0;
    r->current = NULL;
}

static bool
is_media(uint8_t type)
{
    return type == RTMP_AUDIO || type == RTMP_VIDEO;
}

static struct chunk_stream *
find(const struct chunk_reader *r, uint32_t csid)
{
    for (unsigned i = 0; i < r->count; i++) {
        if (r->streams[i]->csid == csid) {
            return r->streams[i];
        }
    }
    return NULL;
}

static struct chunk_stream *
find_or_add(struct chunk_reader *r, uint32_t csid)
{
    struct chunk_stream *s = find(r, csid);

    if (s != NULL) {
        return s;
    }
    if (r->count == MAX_STREAMS) {
        r->wrong = "more than 64 chunk streams";
        return NULL;
    }
    r->streams = mem_grow(r->streams, (r->count + 1) * sizeof(*r->streams));
    s = mem_new(1, sizeof(*s));
    s->csid = csid;
    r->streams[r->count++] = s;
    return s;
}

/* Bytes of the basic header, from its first byte. */
static unsigned
basic_size(uint8_t first)
{
    switch (first & 0x3f) {
    case 0:
        return 2;
    case 1:
        return 3;
    default:
        return 1;
    }
}

static uint32_t
read_csid(const uint8_t *head)
{
    switch (basic_size(head[0])) {
    case 2:
        return 64U + head[1];
    case 3:
        return 64U + head[1] + 256U * head[2];
    default:
        return head[0] & 0x3f;
    }
}

/* How long the header is, as far as its first r->head_size bytes tell. */
static unsigned
header_size(const struct chunk_reader *r)
{
    static const unsigned message_size[4] = { 11, 7, 3, 0 };

    if (r->head_size == 0) {
        return 1;
    }
    unsigned format = r->head[0] >> 6;
    unsigned basic = basic_size(r->head[0]);
    unsigned size = basic + message_size[format];

    if (r->head_size < size) {
        return size;
    }
    if (format < 3) {
        return get_be24(r->head + basic) == EXTENDED ? size + 4 : size;
    }
    const struct chunk_stream *s = find(r, read_csid(r->head));

    return s != NULL && s->extended ? size + 4 : size;
}

/* What a header may not do; NULL when it is right. */
static const char *
refuse(const struct chunk_stream *s, unsigned format)
{
    if (format != 0 && !s->known) {
        return "the first chunk of a chunk stream is not of format 0";
    }
    if (s->under_way && format != 3) {
        return "a new header inside a message";
    }
    return NULL;
}

/* Takes over the fields of a message header of format 0 to 2 at p. */
static void
read_fields(struct chunk_stream *s, unsigned format, const uint8_t *p)
{
    uint32_t time = get_be24(p);

    s->extended = time == EXTENDED;
    if (format < 2) {
        s->length = get_be24(p + 3);
        s->type = p[6];
    }
    if (format == 0) {
        s->msid = get_le32(p + 7);
        s->known = true;
    }
    if (s->extended) {
        static const unsigned message_size[3] = { 11, 7, 3 };

        time = get_be32(p + message_size[format]);
    }
    s->delta = time;
    s->timestamp = format == 0 ? time : s->timestamp + time;
}

static const char *
begin_message(struct chunk_stream *s)
{
    s->got = 0;
    s->under_way = true;
    if (is_media(s->type)) {
        frame_begin(&s->check, (enum media_kind)s->type, s->length);
        return NULL;
    }
    if (s->type == 0 || s->type == 7 || s->type > RTMP_AGGREGATE) {
        return "a message of a type that does not exist";
    }
    if (s->length > MAX_COMMAND) {
        return "a control or data message above 64 KiB";
    }
    s->body = mem_new(s->length, 1);
    return NULL;
}

/* The header is complete in r->head. */
static int
end_header(struct chunk_reader *r)
{
    unsigned format = r->head[0] >> 6;
    struct chunk_stream *s = find_or_add(r, read_csid(r->head));

    if (s == NULL) {
        return -1;
    }
    r->wrong = refuse(s, format);
    if (r->wrong != NULL) {
        return -1;
    }
    if (format < 3) {
        read_fields(s, format, r->head + basic_size(r->head[0]));
    } else if (!s->under_way) {
        s->timestamp += s->delta;
    }
    if (!s->under_way) {
        r->wrong = begin_message(s);
        if (r->wrong != NULL) {
            return -1;
        }
    }
    uint32_t left = s->length - s->got;

    r->chunk_left = left < r->chunk_size ? left : r->chunk_size;
    r->current = s;
    r->head_size = 0;
    return 0;
}

/* What concerns the reader itself. */
static int
obey(struct chunk_reader *r, const struct chunk_stream *s)
{
    if (s->type == RTMP_SET_CHUNK_SIZE) {
        if (s->length != 4 || get_be32(s->body) == 0 ||
            get_be32(s->body) > INT32_MAX) {
            r->wrong = "a chunk size that is none";
            return -1;
        }
        r->chunk_size = get_be32(s->body);
    }
    if (s->type == RTMP_ABORT && s->length == 4) {
        struct chunk_stream *other = find(r, get_be32(s->body));

        if (other != NULL && other != s) {
            other->under_way = false;
            mem_drop(&other->body);
        }
    }
    return 0;
}

static int
end_message(struct chunk_reader *r, struct chunk_stream *s)
{
    int rc = 0;

    s->under_way = false;
    if (is_media(s->type)) {
        struct media m = {
            .kind = s->check.kind,
            .verdict = frame_end(&s->check),
            .timestamp = s->timestamp,
            .stamp = &s->check.stamp,
        };

        r->events->media(r->context, &m);
        return 0;
    }
    struct rtmp_message m = {
        .type = s->type,
        .timestamp = s->timestamp,
        .msid = s->msid,
        .body = s->body,
        .size = s->length,
    };

    rc = obey(r, s);
    if (rc == 0) {
        r->events->message(r->context, &m);
    }
    mem_drop(&s->body);
    return rc;
}

/* Takes what there is of the current chunk; returns the bytes used. */
static size_t
take_body(struct chunk_reader *r, const uint8_t *p, size_t n)
{
    struct chunk_stream *s = r->current;

    if (n > r->chunk_left) {
        n = r->chunk_left;
    }
    if (is_media(s->type)) {
        frame_add(&s->check, p, n);
    } else if (n > 0) {
        memcpy(s->body + s->got, p, n);
    }
    s->got += (uint32_t)n;
    r->chunk_left -= (uint32_t)n;
    return n;
}

/* Takes what there is of a header; returns the bytes used. */
static size_t
take_header(struct chunk_reader *r, const uint8_t *p, size_t n)
{
    size_t used = 0;
    unsigned wanted = header_size(r);

    while (used < n && r->head_size < wanted) {
        r->head[r->head_size++] = p[used++];
        wanted = header_size(r);
    }
    return used;
}

int
chunk_reader_feed(struct chunk_reader *r, const uint8_t *p, size_t n)
{
    while (n > 0) {
        size_t used =
            r->current != NULL ? take_body(r, p, n) : take_header(r, p, n);

        p += used;
        n -= used;
        if (r->current == NULL) {
            if (r->head_size < header_size(r)) {
                return 0;
            }
            if (end_header(r) == -1) {
                return -1;
            }
        }
        if (r->chunk_left > 0) {
            continue;
        }
        struct chunk_stream *s = r->current;

        r->current = NULL;
        if (s->got == s->length && end_message(r, s) == -1) {
            return -1;
        }
    }
    return 0;
}
