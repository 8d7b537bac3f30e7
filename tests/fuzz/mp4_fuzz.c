/*
 * Fuzz target: fragmented MP4 of any tracks and samples.
 *
 * Input: how many tracks; of each its message type, the length of the message
 * that begins it (16 bits) and that; then samples: track and flags, duration,
 * composition time, size.  The boxes that come out have to fill each other
 * exactly, also when their times are moved back; the same is done to the input
 * itself, whatever it is.
 *
 * covers: src/media/mp4.c src/media/mp4_box.c src/media/mp4_entry.c
 * covers: src/media/mp4_fragment.c src/media/mp4_shift.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/bytes.h"
#include "fuzz.h"
#include "media/container.h"

#define SAMPLES_MAX 64
#define TRACKS 4
#define LIMIT (1u << 20)

struct made {
    struct media_track track;
    struct media_sample samples[SAMPLES_MAX];
    size_t count;
};

static bool
holds_boxes(const uint8_t *type)
{
    static const char types[][5] = { "moov", "trak", "mdia", "minf", "dinf",
                                     "stbl", "mvex", "moof", "traf" };

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (memcmp(type, types[i], 4) == 0) {
            return true;
        }
    }
    return false;
}

/* Boxes of boxes lie open at the same time; one behind the other, they end
 * where the one around them ends. */
static void
look_at(struct str boxes, bool media_follows)
{
    const uint8_t *p = (const uint8_t *)boxes.ptr;
    size_t ends[8] = { boxes.len }, depth = 0, at = 0;

    while (at < boxes.len) {
        size_t left = ends[depth] - at;

        require(left >= 8 && get_be32(p + at) >= 8);
        if (media_follows && boxes.len - at == 8) {
            require(depth == 0 && memcmp(p + at + 4, "mdat", 4) == 0);
            return;
        }
        require(get_be32(p + at) <= left);
        if (holds_boxes(p + at + 4) && get_be32(p + at) > 8) {
            require(depth < 7);
            ends[++depth] = at + get_be32(p + at);
            at += 8;
            continue;
        }
        at += get_be32(p + at);
        while (depth > 0 && at == ends[depth]) {
            depth--;
        }
    }
    require(depth == 0 && !media_follows);
}

/* False: the message begins no track that can be carried. */
static bool
make_track(struct made *m, struct str *input)
{
    enum media_type type =
        take_byte(input) % 2 == 0 ? MEDIA_AUDIO : MEDIA_VIDEO;
    struct str message;
    uint8_t len[2];

    take_bytes(input, len, sizeof(len));
    message = str_first(*input, get_be16(len));
    *input = str_skip(*input, message.len);
    return media_track_of(&m->track, type, message) == 0 &&
           media_mp4.carries(&m->track);
}

static void
add_sample(struct made *m, unsigned flags, struct str *input)
{
    uint8_t head[8];

    take_bytes(input, head, sizeof(head));
    if (m->count == SAMPLES_MAX) {
        return;
    }
    m->samples[m->count++] = (struct media_sample){
        .size = get_be32(head + 4) >> (flags >> 3 & 15),
        .duration = get_be16(head),
        .cts = (int16_t)get_be16(head + 2),
        .key = (flags & 4) != 0,
    };
}

static void
shift_copy(struct str bytes, bool are_boxes)
{
    const struct media_shift shift = { 1000, { 90000, 48000 }, 2 };
    uint8_t *copy = malloc(bytes.len + 1);

    require(copy != NULL);
    if (bytes.len > 0) {
        memcpy(copy, bytes.ptr, bytes.len);
    }
    media_mp4_shift(copy, bytes.len, &shift);
    if (are_boxes) {
        look_at(str_of(copy, bytes.len), true);
    }
    free(copy);
}

static void
add_fragment(struct buf *out, const struct made *made, size_t count,
             uint32_t sequence)
{
    struct media_run runs[TRACKS];
    struct media_fragment f = {
        .sequence = sequence, .first = true, .runs = runs, .count = count
    };

    for (size_t i = 0; i < count; i++) {
        runs[i] = (struct media_run){ &made[i].track, UINT64_MAX - i,
                                      made[i].samples, made[i].count };
    }
    if (media_mp4.fragment(out, &f) == 0) {
        look_at(buf_str(out), true);
        shift_copy(buf_str(out), true);
    } else {
        require(buf_len(out) == 0);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct made made[TRACKS];
    struct media_track tracks[TRACKS];
    struct str input = str_of(data, size);
    size_t count = take_byte(&input) % TRACKS + 1;
    struct buf out;

    shift_copy(input, false);
    memset(made, 0, sizeof(made));
    for (size_t i = 0; i < count; i++) {
        if (!make_track(&made[i], &input)) {
            return 0;
        }
        tracks[i] = made[i].track;
    }
    while (input.len > 0) {
        unsigned flags = take_byte(&input);

        add_sample(&made[(flags & 3) % count], flags, &input);
    }
    buf_init(&out, LIMIT);
    require(media_mp4.init(&out, tracks, count) == 0);
    look_at(buf_str(&out), false);
    buf_clear(&out);
    buf_init(&out, size % 3 == 0 ? size : LIMIT); /* little room, too */
    add_fragment(&out, made, count, (uint32_t)size);
    buf_clear(&out);
    return 0;
}
