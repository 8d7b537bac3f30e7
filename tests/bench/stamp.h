/*
 * The stamp: what every media message of the load tool carries so that a
 * player can tell what it is, when it was sent and whether it came whole.
 *
 * It hides where a real decoder skips it, so that a stamped stream stays a
 * valid one: in H.264 in an SEI message (user data, unregistered), in AAC in
 * a data stream element in front of the sound.  Every byte has its high bit
 * set, so it needs no emulation prevention.
 *
 * What follows the stamp is, in a synthetic stream, a stretch of one fixed
 * pattern, so that a player checks it by comparing; in a stream from a file
 * the stamp has its Adler-32 sum.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_STAMP_H
#define BENCH_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STAMP_SIZE = 32,
    /* The bytes of a message up to and with what holds the stamp: the FLV
     * video header (5) and the SEI unit with its length (4 + 52); for sound
     * the FLV audio header (2) and the element (2 + 32). */
    VIDEO_STAMPED = 61,
    AUDIO_STAMPED = 36,
    /* And up to where the pattern begins: a picture's unit has its length
     * and type (4 + 1) before it. */
    VIDEO_PREFIX = 66,
    AUDIO_PREFIX = 36,
    PATTERN_SIZE = 1 << 16,
};

enum media_kind { MEDIA_AUDIO = 8, MEDIA_VIDEO = 9 }; /* RTMP and FLV types */

struct stamp {
    enum media_kind kind;
    bool key;
    bool pattern;    /* the rest is pattern; otherwise sum holds */
    uint32_t stream; /* number of the stream, below 2^21 */
    uint32_t number; /* counts the messages of this kind and stream */
    int64_t sent;    /* CLOCK_MONOTONIC, ns */
    uint32_t size;   /* of the whole message, below 2^28 */
    uint32_t sum;    /* Adler-32 of what is after the stamped part */
};

/* Writes the beginning of a message and returns the byte after it: with a
 * pattern the whole prefix, otherwise only the stamped part. first5 are the
 * bytes a video message without a pattern begins with. */
uint8_t *stamp_put(uint8_t *p, const struct stamp *s, const uint8_t *first5);
/* Reads a prefix; false when there is no valid stamp in it. */
bool stamp_get(const uint8_t *prefix, enum media_kind kind, struct stamp *s);

/* The next stamp in bytes of any form, and the byte behind it; NULL: there is
 * none. */
const uint8_t *stamp_find(const uint8_t *p, size_t n, struct stamp *s);

/* The pattern, PATTERN_SIZE bytes that repeat; where a message begins in it
 * follows from its stamp. It lies in memory twice, one after the other. */
const uint8_t *pattern_bytes(void);
size_t pattern_start(const struct stamp *s);

/* Goes on with an Adler-32 sum, which starts as 1. */
uint32_t adler_add(uint32_t sum, const uint8_t *p, size_t n);

#endif
