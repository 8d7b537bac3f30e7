/*
 * Synthetic streams, and the cursor for both kinds.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "source.h"

#include "amf.h"
#include "common.h"
#include "source_impl.h"

enum {
    AUDIO_RATE = 44100,
    AUDIO_SAMPLES = 1024, /* in an AAC frame */
    KEY_WEIGHT = 10,      /* a key frame is as large as so many others */
};

/* 1280 x 720, Constrained Baseline, as x264 writes it. */
static const uint8_t AVC_HEADER[] = {
    0x17, 0x00, 0x00, 0x00, 0x00, 0x01, 0x42, 0xc0, 0x1f, 0xff, 0xe1,
    0x00, 0x17, 0x67, 0x42, 0xc0, 0x1f, 0xda, 0x01, 0x40, 0x16, 0xec,
    0x04, 0x40, 0x00, 0x00, 0x03, 0x00, 0x40, 0x00, 0x00, 0x0f, 0x03,
    0xc6, 0x0c, 0xa8, 0x01, 0x00, 0x04, 0x68, 0xce, 0x0f, 0xc8,
};
/* AAC-LC, 44100 Hz, two channels. */
static const uint8_t AAC_HEADER[] = { 0xaf, 0x00, 0x12, 0x10 };

static uint8_t *
put_number_property(uint8_t *p, const char *key, double v)
{
    return amf_put_number(amf_put_key(p, key), v);
}

static void
make_metadata(struct source *s, uint64_t bitrate, uint64_t audio_bitrate)
{
    uint8_t *p = mem_new(1, 512);

    s->metadata = p;
    p = amf_begin_array(p, 8);
    p = put_number_property(p, "width", 1280);
    p = put_number_property(p, "height", 720);
    p = put_number_property(p, "framerate", s->fps);
    p = put_number_property(p, "videocodecid", 7);
    p = put_number_property(p, "videodatarate",
                            (double)(bitrate - audio_bitrate) / 1000);
    p = put_number_property(p, "audiocodecid", 10);
    p = put_number_property(p, "audiosamplerate", AUDIO_RATE);
    p = put_number_property(p, "audiodatarate", (double)audio_bitrate / 1000);
    p = amf_end_object(p);
    s->metadata_size = (size_t)(p - s->metadata);
}

static void
copy_header(uint8_t **to, size_t *size, const uint8_t *bytes, size_t n)
{
    *to = mem_new(1, n);
    *size = n;
    put_bytes(*to, bytes, n);
}

struct source *
source_synthetic(uint64_t bitrate, unsigned fps, unsigned gop)
{
    struct source *s = mem_new(1, sizeof(*s));
    uint64_t audio = bitrate >= 1000000 ? 128000 : 64000;

    if (bitrate < 2 * audio) {
        fatal("a bitrate below %u bits a second is too low",
              (unsigned)(2 * audio));
    }
    s->fps = fps;
    s->gop_frames = fps * gop;
    s->audio_size = (size_t)(audio / 8 * AUDIO_SAMPLES / AUDIO_RATE);
    uint64_t gop_bytes = (bitrate - audio) / 8 * gop;

    s->unit = (size_t)(gop_bytes / (s->gop_frames - 1 + KEY_WEIGHT));
    if (s->unit < 2 * VIDEO_PREFIX || s->audio_size < AUDIO_PREFIX) {
        fatal("the bitrate leaves no room for a stamp in every frame");
    }
    s->room = s->unit * KEY_WEIGHT;
    make_metadata(s, bitrate, audio);
    copy_header(&s->video_header, &s->video_header_size, AVC_HEADER,
                sizeof(AVC_HEADER));
    copy_header(&s->audio_header, &s->audio_header_size, AAC_HEADER,
                sizeof(AAC_HEADER));
    return s;
}

void
source_free(struct source *s)
{
    mem_drop(&s->metadata);
    mem_drop(&s->video_header);
    mem_drop(&s->audio_header);
    mem_drop(&s->tags);
    mem_drop(&s->file);
    mem_drop(&s);
}

size_t
source_room(const struct source *s)
{
    return s->room;
}

struct blob
source_metadata(const struct source *s)
{
    return (struct blob){ s->metadata, s->metadata_size };
}

struct blob
source_video_header(const struct source *s)
{
    return (struct blob){ s->video_header, s->video_header_size };
}

struct blob
source_audio_header(const struct source *s)
{
    return (struct blob){ s->audio_header, s->audio_header_size };
}

void
cursor_init(struct cursor *c, const struct source *s, uint32_t stream)
{
    *c = (struct cursor){ .source = s, .stream = stream };
}

static int64_t
video_due(const struct cursor *c)
{
    return c->video * NS_PER_S / c->source->fps;
}

static int64_t
audio_due(const struct cursor *c)
{
    return c->audio * NS_PER_S * AUDIO_SAMPLES / AUDIO_RATE;
}

int64_t
cursor_due(const struct cursor *c)
{
    if (c->source->tags != NULL) {
        return (c->loop_ms + c->source->tags[c->tag].timestamp) * NS_PER_MS;
    }
    return video_due(c) <= audio_due(c) ? video_due(c) : audio_due(c);
}

/* Frames between key frames differ by up to 30 % in size, the mean being one
 * unit. */
static size_t
video_size(const struct source *s, uint32_t number)
{
    if (number % s->gop_frames == 0) {
        return s->unit * KEY_WEIGHT;
    }
    return s->unit * (70 + number * 2654435761U / 7 % 61) / 100;
}

static void
take_synthetic(struct cursor *c, uint8_t *room, struct frame *f)
{
    const struct source *s = c->source;
    bool video = video_due(c) <= audio_due(c);
    int64_t due = video ? video_due(c) : audio_due(c);

    f->kind = video ? MEDIA_VIDEO : MEDIA_AUDIO;
    f->key = video && c->video % s->gop_frames == 0;
    f->timestamp = (uint32_t)(due / NS_PER_MS);
    f->size = video ? video_size(s, c->video) : s->audio_size;
    struct stamp stamp = {
        .kind = f->kind,
        .key = f->key,
        .pattern = true,
        .stream = c->stream,
        .number = video ? c->video++ : c->audio++,
        .sent = now_ns(),
        .size = (uint32_t)f->size,
    };
    uint8_t *p = stamp_put(room, &stamp, NULL);
    size_t left = f->size - (size_t)(p - room);
    const uint8_t *from = pattern_bytes() + pattern_start(&stamp);

    while (left > 0) {
        size_t part = left < PATTERN_SIZE ? left : PATTERN_SIZE;

        p = put_bytes(p, from, part);
        left -= part;
    }
}

static void
take_file(struct cursor *c, uint8_t *room, struct frame *f)
{
    const struct source *s = c->source;
    const struct source_tag *tag = &s->tags[c->tag];
    bool video = tag->kind == MEDIA_VIDEO;
    size_t head = video ? 5 : 2; /* what the file's message begins with */

    f->kind = tag->kind;
    f->key = tag->key;
    f->timestamp = (uint32_t)(c->loop_ms + tag->timestamp);
    f->size = source_stamped_size(tag);
    struct stamp stamp = {
        .kind = tag->kind,
        .key = tag->key,
        .stream = c->stream,
        .number = video ? c->video++ : c->audio++,
        .sent = now_ns(),
        .size = (uint32_t)f->size,
        .sum = tag->sum,
    };
    uint8_t *p = stamp_put(room, &stamp, tag->body);

    put_bytes(p, tag->body + head, tag->size - head);
    if (++c->tag == s->tag_count) {
        c->tag = 0;
        c->loop_ms += s->length_ms;
    }
}

void
cursor_take(struct cursor *c, uint8_t *room, struct frame *f)
{
    if (c->source->tags != NULL) {
        take_file(c, room, f);
    } else {
        take_synthetic(c, room, f);
    }
}
