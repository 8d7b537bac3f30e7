/*
 * Checks one media message while its bytes come in, in pieces of any size and
 * without keeping them: only the prefix with the stamp is held.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_FRAME_CHECK_H
#define BENCH_FRAME_CHECK_H

#include "stamp.h"

enum frame_verdict {
    FRAME_GOOD,    /* whole, and as its publisher made it */
    FRAME_HEADER,  /* a codec header, or empty: neither has a stamp */
    FRAME_FOREIGN, /* without a stamp: nothing of ours */
    FRAME_CORRUPT,
};

struct frame_check {
    enum media_kind kind;
    uint32_t size; /* of the message, as the framing says */
    uint32_t got;
    bool stamped;
    bool bad;
    uint32_t sum; /* Adler-32 so far, if there is no pattern */
    size_t place; /* in the pattern, of the next byte */
    struct stamp stamp;
    uint8_t prefix[VIDEO_PREFIX];
};

/* What a reader hands on of each whole media message. */
struct media {
    enum media_kind kind;
    enum frame_verdict verdict;
    uint32_t timestamp;        /* ms, from the framing */
    const struct stamp *stamp; /* only of FRAME_GOOD; for the call */
};

void frame_begin(struct frame_check *f, enum media_kind kind, uint32_t size);
/* The next n bytes of the message; never more than are missing. */
void frame_add(struct frame_check *f, const uint8_t *p, size_t n);
/* After the last byte. */
enum frame_verdict frame_end(const struct frame_check *f);

#endif
