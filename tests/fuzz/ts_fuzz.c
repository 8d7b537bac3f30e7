/*
 * Fuzz target: transport streams from any samples.
 *
 * Input: how many tracks; of each its codec, the length of its configuration
 * and that; then samples: track and flags, duration, composition time, length,
 * bytes.  Two fragments are made of them, and their packets are looked at.
 *
 * covers: src/media/ts.c src/media/ts_packet.c src/media/ts_stream.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/bytes.h"
#include "fuzz.h"
#include "media/container.h"

#define PACKET 188
#define SAMPLES_MAX 64
#define TRACKS 4
#define PIDS 0x2000

struct made {
    struct media_track track;
    struct media_sample samples[SAMPLES_MAX];
    struct iovec pieces[SAMPLES_MAX][2];
    size_t count;
};

static struct str
take_str(struct str *input, size_t n)
{
    struct str s = str_first(*input, n);

    *input = str_skip(*input, n);
    return s;
}

static void
make_track(struct made *m, struct str *input)
{
    static const uint8_t codecs[] = { CODEC_H264, CODEC_HEVC, CODEC_AAC,
                                      CODEC_MP3,  CODEC_AC3,  CODEC_EAC3,
                                      CODEC_OPUS, CODEC_AV1 };
    uint8_t codec = codecs[take_byte(input) % sizeof(codecs)];
    bool video =
        codec == CODEC_H264 || codec == CODEC_HEVC || codec == CODEC_AV1;

    m->track = (struct media_track){
        .type = video ? MEDIA_VIDEO : MEDIA_AUDIO,
        .codec = codec,
        .timescale = video ? MEDIA_VIDEO_TIMESCALE : 44100,
        .rate = video ? 0 : 44100,
    };
    m->track.config = take_str(input, take_byte(input));
}

static void
add_sample(struct made *m, unsigned flags, struct str *input)
{
    uint8_t head[6];

    take_bytes(input, head, sizeof(head));
    struct str body = take_str(input, get_be16(head + 4));
    struct iovec *pieces = m->pieces[m->count];
    size_t half = body.len / 2;

    pieces[0] = (struct iovec){ (void *)(uintptr_t)body.ptr, half };
    pieces[1] =
        (struct iovec){ (void *)(uintptr_t)(body.ptr + half), body.len - half };
    m->samples[m->count++] = (struct media_sample){
        .size = (uint32_t)body.len + ((flags & 0x20) != 0), /* one too many */
        .duration = get_be16(head) << ((flags & 0x40) != 0 ? 16 : 0),
        .cts = (int16_t)get_be16(head + 2),
        .key = (flags & 0x80) != 0,
        .pieces = pieces,
        .piece_count = 2,
    };
}

/* Every PID with media counts from 0 to 15, PAT and PMT the fragments; packets
 * without a payload do not count. */
static void
look_at(struct str ts, const struct media_fragment *f)
{
    size_t tables = f->steps > 0 ? (f->steps - 1) % 16 + 1 : 1;

    static uint8_t counters[PIDS];

    memset(counters, 15, sizeof(counters));
    require(ts.len >= 2 * PACKET && ts.len % PACKET == 0);
    for (size_t at = 0; at < ts.len; at += PACKET) {
        const uint8_t *p = (const uint8_t *)ts.ptr + at;
        uint32_t pid = get_be16(p + 1) & 0x1fff;

        require(p[0] == 0x47 && (p[3] & 0x10 || p[3] & 0x20));
        require((p[3] & 0x20) == 0 || p[4] <= 183);
        if (at < 2 * PACKET * tables) {
            require((p[3] & 15) == ((f->sequence + at / PACKET / 2) & 15));
            require(pid == (at / PACKET % 2 == 0 ? 0 : 0x1000));
            continue;
        }
        counters[pid] = (counters[pid] + ((p[3] & 0x10) != 0)) & 15;
        require((p[3] & 15) == counters[pid]);
    }
    for (size_t i = 0; i < PIDS; i++) {
        require(counters[i] == 15);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct made made[TRACKS];
    struct media_run runs[TRACKS];
    struct str input = str_of(data, size);
    struct buf out, again;

    memset(made, 0, sizeof(made));
    size_t count = take_byte(&input) % (TRACKS + 1);
    for (size_t i = 0; i < count; i++) {
        make_track(&made[i], &input);
        media_ts.carries(&made[i].track);
    }
    while (input.len > 0 && count > 0) {
        unsigned flags = take_byte(&input);
        struct made *m = &made[(flags & 15) % count];
        if (m->count < SAMPLES_MAX) {
            add_sample(m, flags, &input);
        }
    }
    for (size_t i = 0; i < count; i++) {
        runs[i] = (struct media_run){ &made[i].track, 0 - (uint64_t)i,
                                      made[i].samples, made[i].count };
    }
    struct media_fragment f = { .sequence = (uint32_t)size,
                                .first = true,
                                .runs = runs,
                                .count = count,
                                .steps = (uint32_t)size % 40 };
    buf_init(&out, 1 << 21);
    buf_init(&again, 1 << 21);
    int result = media_ts.fragment(&out, &f);
    require(media_ts.fragment(&again, &f) == result);
    require(str_eq(buf_str(&out), buf_str(&again)));
    if (result == 0) {
        look_at(buf_str(&out), &f);
    } else {
        require(buf_len(&out) == 0);
    }
    buf_clear(&out);
    buf_clear(&again);
    return 0;
}
