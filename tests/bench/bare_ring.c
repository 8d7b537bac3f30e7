/*
 * Makes the bare loop's stream.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "bare_ring.h"

#include "amf.h"
#include "common.h"
#include "rtmp_wire.h"

#include <sys/mman.h>
#include <unistd.h>

enum { RING_SIZE = 16 << 20, TAG_SCRIPT = 18 };

static void
map_ring(struct bare_ring *r)
{
    int fd = memfd_create("ring", MFD_CLOEXEC);
    int access = PROT_READ | PROT_WRITE;

    r->size = RING_SIZE;
    if (fd == -1 || ftruncate(fd, (off_t)r->size) == -1) {
        fatal("no memory for the ring");
    }
    r->bytes =
        mmap(NULL, 2 * r->size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (r->bytes == MAP_FAILED ||
        mmap(r->bytes, r->size, access, MAP_SHARED | MAP_FIXED, fd, 0) ==
            MAP_FAILED ||
        mmap(r->bytes + r->size, r->size, access, MAP_SHARED | MAP_FIXED, fd,
             0) == MAP_FAILED) {
        fatal("the ring cannot be mapped");
    }
    close(fd);
}

/* One FLV tag and the size that follows it. */
static uint8_t *
put_tag(uint8_t *p, unsigned type, uint32_t timestamp, struct blob body)
{
    *p++ = (uint8_t)type;
    p = put_be24(p, (uint32_t)body.size);
    p = put_be24(p, timestamp);
    *p++ = (uint8_t)(timestamp >> 24);
    p = put_be24(p, 0);
    p = put_bytes(p, body.bytes, body.size);
    return put_be32(p, (uint32_t)body.size + 11);
}

static uint8_t *
put_message(const struct bare_ring *r, uint8_t *p, unsigned type,
            uint32_t timestamp, struct blob body)
{
    struct rtmp_head head = {
        .csid = type == RTMP_VIDEO   ? CSID_VIDEO
                : type == RTMP_AUDIO ? CSID_AUDIO
                                     : CSID_DATA,
        .type = (enum rtmp_type)type,
        .msid = 1,
        .timestamp = timestamp,
    };

    return r->flv ? put_tag(p, type, timestamp, body)
                  : rtmp_put(p, &head, body.bytes, body.size, BARE_CHUNK);
}

static void
make_opening(struct bare_ring *r)
{
    struct blob properties = source_metadata(r->source);
    uint8_t *b = amf_put_string(r->body, "onMetaData");
    uint8_t *p = mem_new(1, 8192);

    b = put_bytes(b, properties.bytes, properties.size);
    r->opening = p;
    if (r->flv) {
        p = put_bytes(p, "FLV\1\5\0\0\0\11\0\0\0\0", 13);
    }
    p = put_message(r, p, TAG_SCRIPT, 0,
                    (struct blob){ r->body, (size_t)(b - r->body) });
    p = put_message(r, p, RTMP_VIDEO, 0, source_video_header(r->source));
    p = put_message(r, p, RTMP_AUDIO, 0, source_audio_header(r->source));
    r->opening_size = (size_t)(p - r->opening);
}

void
bare_ring_init(struct bare_ring *r, struct source *source, bool flv)
{
    *r = (struct bare_ring){ .flv = flv, .source = source };
    if (source_room(source) > RING_SIZE / 8) {
        fatal("the frames are too large for the bare loop");
    }
    map_ring(r);
    r->body = mem_new(source_room(source) + 4096, 1);
    make_opening(r);
    cursor_init(&r->cursor, source, 0);
    r->start = now_ns();
}

void
bare_ring_clear(struct bare_ring *r)
{
    munmap(r->bytes, 2 * r->size);
    source_free(r->source);
    mem_drop(&r->body);
    mem_drop(&r->opening);
}

int64_t
bare_ring_due(const struct bare_ring *r)
{
    return r->start + cursor_due(&r->cursor);
}

void
bare_ring_make(struct bare_ring *r, struct frame *f)
{
    uint8_t *at = r->bytes + r->tail % r->size;

    cursor_take(&r->cursor, r->body, f);
    if (f->key) {
        r->key = r->tail;
        r->has_key = true;
    }
    uint8_t *end = put_message(r, at, f->kind, f->timestamp,
                               (struct blob){ r->body, f->size });

    r->tail += (uint64_t)(end - at);
}

const uint8_t *
bare_ring_at(const struct bare_ring *r, uint64_t position)
{
    return r->bytes + position % r->size;
}
