/*
 * Reads the first bytes of a payload: codec, key frame, codec header.
 *
 * Legacy tags are Adobe FLV 10.1, E.4.2 and E.4.3; extended ones are Enhanced
 * RTMP v2 ("ExVideoTagHeader", "ExAudioTagHeader").  Nothing here looks into a
 * coded picture: the tag's own fields are trusted.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "media/media.h"

#include <string.h>

#include "base/bytes.h"
#include "media/inspect_impl.h"

enum { /* FrameType */
       FRAME_KEY = 1,
       FRAME_GENERATED_KEY = 4,
       FRAME_COMMAND = 5,
};

enum { /* VideoPacketType, AudioPacketType; 0..2 also AVCPacketType */
       PACKET_START = 0,
       PACKET_FRAMES = 1,
       PACKET_END = 2,
       PACKET_FRAMES_X = 3, /* video: no composition time */
       PACKET_META = 4,     /* video: colorInfo, audio: MultichannelConfig */
       AUDIO_MULTITRACK = 5,
       VIDEO_START_TS = 5, /* AV1 configuration as MPEG-2 TS has it */
       VIDEO_MULTITRACK = 6,
       PACKET_MOD_EX = 7,
};

enum { SOUND_EX_HEADER = 9, SOUND_AAC = 10 };

enum { /* AvMultitrackType; others are taken for MANY_TRACKS */
       ONE_TRACK = 0,
       MANY_TRACKS = 1,
       MANY_CODECS = 2,
};

static const struct {
    char code[5];
    uint8_t codec;
} fourccs[] = {
    { "avc1", CODEC_H264 }, { "hvc1", CODEC_HEVC }, { "av01", CODEC_AV1 },
    { "vp08", CODEC_VP8 },  { "vp09", CODEC_VP9 },  { "vvc1", CODEC_VVC },
    { "mp4a", CODEC_AAC },  { ".mp3", CODEC_MP3 },  { "Opus", CODEC_OPUS },
    { "fLaC", CODEC_FLAC }, { "ac-3", CODEC_AC3 },  { "ec-3", CODEC_EAC3 },
};

/* The bytes that are not read yet. */
struct span {
    const uint8_t *p;
    size_t len;
    const uint8_t *tracks; /* several ones follow there, each with its size */
    bool codecs;           /* and with its FourCC */
    bool coded;            /* a picture or a sound follows */
    bool timed;     /* a composition time (3 bytes) stands before the body */
    uint8_t packet; /* of several tracks: VideoPacketType, AudioPacketType */
};

/* True if n bytes are there; they are then at the returned place. */
static const uint8_t *
take(struct span *s, size_t n)
{
    if (s->len < n) {
        return NULL;
    }
    const uint8_t *at = s->p;
    s->p += n;
    s->len -= n;
    return at;
}

uint8_t
inspect_codec(const uint8_t fourcc[4])
{
    for (size_t i = 0; i < sizeof(fourccs) / sizeof(fourccs[0]); i++) {
        if (memcmp(fourcc, fourccs[i].code, 4) == 0) {
            return fourccs[i].codec;
        }
    }
    return CODEC_OTHER;
}

void
inspect_fourcc(uint8_t dst[4], uint8_t codec)
{
    memset(dst, 0, 4);
    for (size_t i = 0; i < sizeof(fourccs) / sizeof(fourccs[0]); i++) {
        if (fourccs[i].codec == codec) {
            memcpy(dst, fourccs[i].code, 4);
        }
    }
}

/* ModEx prefix: modExDataSize - 1 (one byte, or 255 and two more), the data,
 * then ModExType and the packet type that follows.  -1: cut off. */
static int
skip_mod_ex(struct span *s, int packet)
{
    while (packet == PACKET_MOD_EX) {
        const uint8_t *size = take(s, 1);
        if (size == NULL) {
            return -1;
        }
        size_t n = (size_t)*size + 1;
        if (n == 256) {
            size = take(s, 2);
            if (size == NULL) {
                return -1;
            }
            n = (size_t)get_be16(size) + 1;
        }
        const uint8_t *next = take(s, n) != NULL ? take(s, 1) : NULL;
        if (next == NULL) {
            return -1;
        }
        packet = *next & 0x0f;
    }
    return packet;
}

/* Multitrack and FourCC; whether all tracks have one codec or each its own,
 * the first track's FourCC and id stand at the same place.  Returns the
 * packet type, -1: cut off. */
static int
read_tracks(struct span *s, int packet, int multitrack, struct media_info *info)
{
    bool numbered = packet == multitrack;
    int kind = ONE_TRACK;
    if (numbered) {
        const uint8_t *byte = take(s, 1);
        if (byte == NULL) {
            return -1;
        }
        info->flags |= MEDIA_MULTITRACK;
        packet = *byte & 0x0f;
        kind = *byte >> 4;
    }
    const uint8_t *code = take(s, 4);
    if (code == NULL) {
        return -1;
    }
    if (kind != ONE_TRACK) {
        info->flags |= MEDIA_MANY;
        s->packet = (uint8_t)packet;
        s->codecs = kind == MANY_CODECS;
        s->tracks = s->codecs ? code : s->p;
    }
    info->codec = inspect_codec(code);
    const uint8_t *track = numbered ? take(s, 1) : NULL;
    info->track = track != NULL ? *track : 0;
    return packet;
}

static bool
is_key(int frame)
{
    return frame == FRAME_KEY || frame == FRAME_GENERATED_KEY;
}

bool
inspect_is_timed(uint8_t codec)
{
    return codec == CODEC_H264 || codec == CODEC_HEVC;
}

/* The flag of an AVC-like packet type. */
static uint8_t
packet_flag(int packet, bool key)
{
    switch (packet) {
    case PACKET_START:
        return MEDIA_HEADER;
    case PACKET_FRAMES:
        return key ? MEDIA_KEY : 0;
    case PACKET_END:
        return MEDIA_END;
    default:
        return 0;
    }
}

static void
inspect_ex_video(struct span *s, uint8_t first, struct media_info *info)
{
    int frame = first >> 4 & 0x07;
    int packet = skip_mod_ex(s, first & 0x0f);
    if (packet >= 0) {
        packet = read_tracks(s, packet, VIDEO_MULTITRACK, info);
    }
    if (packet == VIDEO_START_TS) {
        packet = PACKET_START;
    }
    s->timed = packet == PACKET_FRAMES && inspect_is_timed(info->codec);
    if (packet == PACKET_FRAMES_X) {
        packet = PACKET_FRAMES;
    }
    /* A command frame has one byte where others have the FourCC; metadata are
     * none, though FFmpeg and OBS mark them as one. */
    if (packet == PACKET_META) {
        info->flags |= MEDIA_TRACK_META;
    } else if (packet >= 0 && frame != FRAME_COMMAND) {
        info->flags |= packet_flag(packet, is_key(frame));
        s->coded = packet == PACKET_FRAMES;
    }
}

static uint8_t
legacy_video_codec(int id)
{
    switch (id) {
    case 2:
        return CODEC_H263;
    case 3:
    case 6:
        return CODEC_SCREEN;
    case 4:
    case 5:
        return CODEC_VP6;
    case 7:
        return CODEC_H264;
    case 12: /* not Adobe's: what Chinese networks agreed on */
        return CODEC_HEVC;
    default:
        return CODEC_OTHER;
    }
}

static void
inspect_video(struct span *s, uint8_t first, struct media_info *info)
{
    if ((first & 0x80) != 0) {
        inspect_ex_video(s, first, info);
        return;
    }
    int frame = first >> 4;
    info->codec = legacy_video_codec(first & 0x0f);
    if (frame == FRAME_COMMAND) {
        return;
    }
    if (inspect_is_timed(info->codec)) {
        const uint8_t *packet = take(s, 1);
        s->timed = true;
        if (packet != NULL) {
            info->flags = packet_flag(*packet, is_key(frame));
            s->coded = *packet == PACKET_FRAMES;
        }
        return;
    }
    info->flags = is_key(frame) ? MEDIA_KEY : 0;
    s->coded = true;
}

static uint8_t
legacy_sound_codec(int format)
{
    static const uint8_t codecs[16] = {
        CODEC_PCM,        CODEC_ADPCM,      CODEC_MP3,        CODEC_PCM,
        CODEC_NELLYMOSER, CODEC_NELLYMOSER, CODEC_NELLYMOSER, CODEC_G711A,
        CODEC_G711U,      CODEC_OTHER,      CODEC_AAC,        CODEC_SPEEX,
        CODEC_OTHER,      CODEC_OTHER,      CODEC_MP3,        CODEC_OTHER,
    };
    return codecs[format & 0x0f];
}

static void
inspect_audio(struct span *s, uint8_t first, struct media_info *info)
{
    int format = first >> 4;
    info->codec = legacy_sound_codec(format);
    if (format == SOUND_AAC) {
        const uint8_t *packet = take(s, 1);
        if (packet != NULL && *packet == PACKET_START) {
            info->flags = MEDIA_HEADER;
        }
        s->coded = packet != NULL && *packet == PACKET_FRAMES;
        return;
    }
    if (format != SOUND_EX_HEADER) {
        s->coded = true;
        return;
    }
    int packet = skip_mod_ex(s, first & 0x0f);
    if (packet >= 0) {
        packet = read_tracks(s, packet, AUDIO_MULTITRACK, info);
    }
    if (packet == PACKET_META) {
        info->flags |= MEDIA_TRACK_META;
    } else if (packet >= 0) {
        info->flags |= packet_flag(packet, false);
        s->coded = packet == PACKET_FRAMES;
    }
}

/* AMF0 string marker, length, text. */
static bool
starts_with_name(struct str payload, struct str name)
{
    const uint8_t *p = (const uint8_t *)payload.ptr;
    return payload.len >= 3 + name.len && p[0] == 2 &&
           get_be16(p + 1) == name.len &&
           memcmp(p + 3, name.ptr, name.len) == 0;
}

struct str
media_data_content(struct str payload)
{
    struct str wrapper = STR("@setDataFrame");
    if (!starts_with_name(payload, wrapper)) {
        return payload;
    }
    size_t n = 3 + wrapper.len;
    return (struct str){ payload.ptr + n, payload.len - n };
}

/* Leaves in s what stands behind the words that were looked at. */
static struct media_info
inspect(enum media_type type, struct span *s)
{
    struct media_info info = { 0, CODEC_NONE, 0 };
    const uint8_t *first = take(s, 1);
    if (first == NULL) {
        return info;
    }
    info.codec = CODEC_OTHER;
    if (type == MEDIA_VIDEO) {
        inspect_video(s, *first, &info);
    } else {
        inspect_audio(s, *first, &info);
    }
    return info;
}

struct media_info
media_inspect(enum media_type type, const uint8_t *payload, size_t len)
{
    struct media_info info = { 0, CODEC_NONE, 0 };
    struct span s = { .p = payload, .len = len };
    if (type == MEDIA_DATA) {
        struct str all = { (const char *)payload, len };
        if (starts_with_name(media_data_content(all), STR("onMetaData"))) {
            info.flags = MEDIA_META;
        }
        return info;
    }
    info = inspect(type, &s);
    return s.tracks != NULL ? pieces_info(type, str_of(payload, len), info)
                            : info;
}

bool
inspect_many(struct inspect_many *m, enum media_type type, struct str front)
{
    struct span s = { .p = (const uint8_t *)front.ptr, .len = front.len };
    struct media_info info = inspect(type, &s);

    if (s.tracks == NULL) {
        return false;
    }
    *m = (struct inspect_many){
        .flags = info.flags,
        .codec = info.codec,
        .first = (uint8_t)front.ptr[0],
        .packet = s.packet,
        .coded = s.coded,
        .codecs = s.codecs,
        .timed = type == MEDIA_VIDEO && s.packet == PACKET_FRAMES,
        .offset = (uint32_t)(s.tracks - (const uint8_t *)front.ptr),
    };
    return true;
}

int
inspect_place(struct inspect_place *place, enum media_type type,
              struct str payload)
{
    struct span s = { .p = (const uint8_t *)payload.ptr, .len = payload.len };
    *place = (struct inspect_place){ .info = inspect(type, &s) };
    place->coded = s.coded;
    const uint8_t *cts = s.timed ? take(&s, 3) : NULL;
    if (payload.len == 0 || s.tracks != NULL || (s.timed && cts == NULL)) {
        return -1;
    }
    place->cts = cts == NULL ? 0 : (int32_t)(get_be24(cts) << 8) / 256;
    place->offset = (uint32_t)(payload.len - s.len);
    place->size = s.len;
    return 0;
}

int
inspect_whole(struct inspect_place *place, enum media_type type,
              struct str message)
{
    return inspect_place(place, type, message) == 0
               ? 0
               : pieces_place(place, type, message);
}

struct str
media_body(enum media_type type, const uint8_t *payload, size_t len)
{
    struct inspect_place place;
    struct str all = str_of(payload, len);
    if (type == MEDIA_DATA || inspect_whole(&place, type, all) == -1) {
        return STR_NONE;
    }
    return str_first(str_skip(all, place.offset), place.size);
}

const char *
media_codec_name(enum media_codec codec)
{
    static const char *const names[] = {
        [CODEC_NONE] = "none",         [CODEC_H264] = "H.264",
        [CODEC_HEVC] = "HEVC",         [CODEC_AV1] = "AV1",
        [CODEC_VP8] = "VP8",           [CODEC_VP9] = "VP9",
        [CODEC_VVC] = "VVC",           [CODEC_H263] = "H.263",
        [CODEC_SCREEN] = "Screen",     [CODEC_VP6] = "VP6",
        [CODEC_AAC] = "AAC",           [CODEC_MP3] = "MP3",
        [CODEC_OPUS] = "Opus",         [CODEC_FLAC] = "FLAC",
        [CODEC_AC3] = "AC-3",          [CODEC_EAC3] = "E-AC-3",
        [CODEC_PCM] = "PCM",           [CODEC_ADPCM] = "ADPCM",
        [CODEC_G711A] = "G.711 A-law", [CODEC_G711U] = "G.711 mu-law",
        [CODEC_SPEEX] = "Speex",       [CODEC_NELLYMOSER] = "Nellymoser",
        [CODEC_OTHER] = "other",
    };
    size_t n = sizeof(names) / sizeof(names[0]);
    return (size_t)codec < n ? names[codec] : names[CODEC_OTHER];
}
