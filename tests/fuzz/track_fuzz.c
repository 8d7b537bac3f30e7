/*
 * Fuzz target: tracks, samples, durations and names out of any messages.
 *
 * Input: the message type, the length of a first message (16 bits) and that;
 * the rest is a second message, which may hold a sample of the first one's
 * track.
 *
 * covers: src/media/track.c src/media/duration.c src/media/codec_string.c
 * covers: src/media/aac.c src/media/ac3.c src/media/colours.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/bytes.h"
#include "fuzz.h"
#include "media/track.h"

static bool
lies_in(struct str part, struct str whole)
{
    return part.ptr >= whole.ptr &&
           part.ptr + part.len <= whole.ptr + whole.len;
}

static void
look_at_track(const struct media_track *t, struct str payload)
{
    char name[MEDIA_CODEC_STRING_MAX];
    size_t len = media_codec_string(name, t);

    require(lies_in(t->config, payload) && t->config.len > 0);
    require(t->timescale > 0 && t->channels <= 64);
    require(len < sizeof(name) && strlen(name) == len);
    require(strlen(media_video_range(t)) == 3 ||
            strcmp(media_video_range(t), "PQ") == 0);
}

/* Of what begins like it, the whole message says the same. */
static void
look_at_sample(enum media_type type, struct str message,
               const struct media_track *t)
{
    struct media_sample_head all, h;
    struct str front = str_first(message, MEDIA_FRONT_MAX);

    if (media_sample_head(&h, type, front) == -1) {
        return;
    }
    require(media_sample_head(&all, type, message) == 0);
    require(h.offset == all.offset && h.cts == all.cts && h.key == all.key &&
            h.codec == all.codec && h.track == all.track);
    require(h.offset < front.len && h.cts >= -(1 << 23) && h.cts < 1 << 23);
    if (t != NULL) {
        struct str body = str_skip(front, h.offset);

        require(media_sound_duration(t, body) <= UINT16_MAX + 1u);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const enum media_type types[] = { MEDIA_AUDIO, MEDIA_VIDEO,
                                             MEDIA_DATA };
    struct str input = str_of(data, size), header;
    enum media_type type = types[take_byte(&input) % 3];
    struct media_track t;
    uint8_t len[2];

    take_bytes(&input, len, sizeof(len));
    header = str_first(input, get_be16(len));
    input = str_skip(input, header.len);
    bool begun = media_track_of(&t, type, header) == 0;
    if (begun) {
        look_at_track(&t, header);
    }
    look_at_sample(type, header, begun ? &t : NULL);
    look_at_sample(type, input, begun ? &t : NULL);
    return 0;
}
