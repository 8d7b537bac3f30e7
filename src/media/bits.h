/*
 * Reading bits, the most significant first, as codec headers have them.
 *
 * Reading past the end gives 0 and sets `over`, which the caller checks once,
 * at the end.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MEDIA_BITS_H
#define MEDIA_BITS_H

#include "base/str.h"

struct bits {
    const uint8_t *p;
    size_t len; /* bytes */
    size_t at;  /* bits read */
    bool over;  /* more was read than there is */
};

struct bits bits_of(struct str s);
uint32_t bits_get(struct bits *b, unsigned n); /* n: 0 to 32 */
void bits_skip(struct bits *b, size_t n);
/* An exponential Golomb code: ue(v) of H.264, 9.1, uvlc() of AV1, 4.10.3. */
uint32_t bits_ue(struct bits *b);

/* The bytes of a NAL unit without its emulation prevention bytes (H.264,
 * 7.4.1), as many as fit; returns how many. */
size_t bits_unescape(uint8_t *dst, size_t size, struct str nal);

#endif
