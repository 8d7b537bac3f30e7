/*
 * A frame is one RTMP message of audio, video or data.  This reads the
 * properties of a frame from its first bytes.  No I/O, no memory.
 *
 * Video and audio payloads are FLV tag bodies (Adobe FLV 10.1, E.4) with the
 * Enhanced RTMP extensions (v1 2023 and v2 2025: FourCC, ModEx, multitrack).
 *
 *   media.c    messages
 *   inspect.c  what first bytes say
 *
 * Beside it: describe.h (properties for statistics), track.h (tracks and
 * samples), pieces.h (several tracks in one message), container.h (fMP4 and
 * MPEG-TS).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MEDIA_MEDIA_H
#define MEDIA_MEDIA_H

#include "base/str.h"

enum media_type { /* RTMP message types = FLV tag types */
                  MEDIA_AUDIO = 8,
                  MEDIA_VIDEO = 9,
                  MEDIA_DATA = 18, /* AMF0: onMetaData, onTextData, ... */
};

enum media_flag {
    MEDIA_KEY = 1,    /* a picture decoding can start at; never audio */
    MEDIA_HEADER = 2, /* codec configuration, no picture or sound */
    MEDIA_META = 4,   /* onMetaData; at time 0 wherever it stands: ffmpeg takes
                         later ones for a track of subtitles */
    MEDIA_END = 8,    /* end of sequence, nothing to decode */
    MEDIA_MULTITRACK = 16, /* it says of which track it is, or of which ones */
    MEDIA_MANY = 64,       /* of several tracks: media/pieces.h */
    MEDIA_TRACK_META = 32, /* of one track: colours of its pictures, speakers of
                              its channels (Enhanced RTMP); in force until the
                              next one */
};
/* Messages that are sent once and hold for the frames that follow. */
#define MEDIA_KEPT (MEDIA_HEADER | MEDIA_META | MEDIA_TRACK_META)

enum media_codec {
    CODEC_NONE,
    CODEC_H264,
    CODEC_HEVC,
    CODEC_AV1,
    CODEC_VP8,
    CODEC_VP9,
    CODEC_VVC,
    CODEC_H263,
    CODEC_SCREEN,
    CODEC_VP6,
    CODEC_AAC,
    CODEC_MP3,
    CODEC_OPUS,
    CODEC_FLAC,
    CODEC_AC3,
    CODEC_EAC3,
    CODEC_PCM,
    CODEC_ADPCM,
    CODEC_G711A,
    CODEC_G711U,
    CODEC_SPEEX,
    CODEC_NELLYMOSER,
    CODEC_OTHER,
};

struct media_info {
    uint8_t flags; /* enum media_flag */
    uint8_t codec; /* enum media_codec */
    uint8_t track; /* Enhanced RTMP multitrack id, else 0 */
};
/* Of several tracks in one message codec and track are those of the lowest one
 * that has bytes in it. */

/* Looks at the front of a payload, or at all of it where it has several tracks;
 * never fails: an unknown payload has flags 0 and CODEC_OTHER.  A zero-length
 * payload has flags 0, CODEC_NONE; one whose tracks do not end where it does
 * has CODEC_NONE, too. */
struct media_info media_inspect(enum media_type type, const uint8_t *payload,
                                size_t len);
/* The body behind the tag's own bytes: of a codec header the codec's
 * configuration, else the coded picture or sound; of several tracks that of the
 * lowest one.  Empty when there is nothing. */
struct str media_body(enum media_type type, const uint8_t *payload, size_t len);
const char *media_codec_name(enum media_codec codec); /* "H.264", "AAC" */

/* Data messages: a leading "@setDataFrame" string is cut off, since players
 * get what follows it.  Returns the rest of the payload. */
struct str media_data_content(struct str payload);

/* That string in AMF0, which a publisher puts before its metadata. */
enum { MEDIA_SET_DATA_FRAME = 16 };
extern const uint8_t media_set_data_frame[MEDIA_SET_DATA_FRAME];

/* The wire form weir uses towards players (RTMP 1.0, 5.3.1): always a fmt 0
 * header with an absolute timestamp, message stream id 1. */
enum {
    CSID_CONTROL = 2,
    CSID_COMMAND = 3,
    CSID_DATA = 5,
    CSID_AUDIO = 4,
    CSID_VIDEO = 6,
    RTMP_HEADER_MAX = 16, /* fmt 0 with extended timestamp */
    FLV_TAG_HEADER = 11,
    FLV_TAG_TRAILER = 4,
    FLV_FILE_HEADER = 13, /* with PreviousTagSize0 */
};

/* Writes the fmt 0 chunk header; returns its length (12 or 16). */
size_t media_rtmp_header(uint8_t dst[RTMP_HEADER_MAX], enum media_type type,
                         uint32_t timestamp, uint32_t len, uint32_t stream_id);
/* Writes the fmt 3 header between chunks; returns its length (1 or 5). */
size_t media_rtmp_continue(uint8_t dst[RTMP_HEADER_MAX], enum media_type type,
                           uint32_t timestamp);
/* Length of a whole message on the wire in chunks of chunk_size. */
size_t media_rtmp_size(uint32_t timestamp, uint32_t len, uint32_t chunk_size);

void media_flv_tag_header(uint8_t dst[FLV_TAG_HEADER], enum media_type type,
                          uint32_t timestamp, uint32_t len);
void media_flv_tag_trailer(uint8_t dst[FLV_TAG_TRAILER], uint32_t len);
void media_flv_file_header(uint8_t dst[FLV_FILE_HEADER], bool audio,
                           bool video);

#endif
