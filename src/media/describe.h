/*
 * Reads the properties of picture and sound from codec headers, for statistics.
 *
 * Pure functions over bytes of strangers: bounded, no memory.  A value that a
 * header lacks, or that is invalid, stays unknown.
 *
 *   h264.c   H.264
 *   hevc.c   HEVC
 *   av1.c    AV1
 *   vpx.c    VP8 and VP9
 *   audio.c  sound
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MEDIA_DESCRIBE_H
#define MEDIA_DESCRIBE_H

#include "media/media.h"

struct media_video {
    uint8_t codec;          /* enum media_codec */
    char profile[24];       /* "High"; empty: unknown */
    char level[8];          /* "3.1" */
    uint32_t width, height; /* as shown, pixels; 0: unknown */
    uint32_t fps;           /* thousandths; 0: unknown */
};

struct media_audio {
    uint8_t codec;     /* enum media_codec */
    char profile[16];  /* "LC" */
    uint32_t rate;     /* of samples, Hz; 0: unknown */
    uint32_t channels; /* 0: unknown */
};

/* The message is a codec header, or, of a codec that has none, a frame. */
struct media_video media_describe_video(const uint8_t *payload, size_t len);
struct media_audio media_describe_audio(const uint8_t *payload, size_t len);

/* The size of the picture from a key frame, for codecs whose header lacks it:
 * VP8 and VP9.  False: the frame has no size. */
bool media_frame_size(const uint8_t *payload, size_t len, uint32_t *width,
                      uint32_t *height);

/* ---- for each codec: its configuration ---- */

/* AVCDecoderConfigurationRecord (ISO/IEC 14496-15, 5.3.3.1). */
void describe_h264(struct media_video *v, struct str config);
/* HEVCDecoderConfigurationRecord (14496-15, 8.3.3.1). */
void describe_hevc(struct media_video *v, struct str config);
/* AV1CodecConfigurationRecord (AV1 in ISOBMFF, 2.3). */
void describe_av1(struct media_video *v, struct str config);
/* VPCodecConfigurationRecord (VP in ISOBMFF), with or without the version and
 * flags of a full box before it. */
void describe_vp9(struct media_video *v, struct str config);
/* AudioSpecificConfig (ISO/IEC 14496-3, 1.6.2.1). */
void describe_aac(struct media_audio *a, struct str config);
/* A frame (ISO/IEC 11172-3, 2.4.1.3; 13818-3). */
void describe_mp3(struct media_audio *a, struct str frame);
/* Identification header (RFC 7845, 5.1). */
void describe_opus(struct media_audio *a, struct str header);
/* "fLaC" and STREAMINFO (RFC 9639, 8.2). */
void describe_flac(struct media_audio *a, struct str header);

/* Width and height as shown: reads the cropping of a sequence parameter set
 * (frame_cropping_flag, conformance_window_flag, and what follows), whose
 * numbers are in units of so many pixels. */
struct bits;
void describe_size(struct media_video *v, struct bits *b, uint64_t width,
                   uint64_t height, uint64_t unit_x, uint64_t unit_y);

/* Thousandths of frames a second; 0 when that is no rate. */
uint32_t describe_fps(uint64_t ticks_a_second, uint64_t ticks_a_frame);

#endif
