/*
 * For the tests of this folder: writes chunks by hand, with any header.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef UNIT_RTMP_CHUNKS_H
#define UNIT_RTMP_CHUNKS_H

#include <stdlib.h>

#include "base/buf.h"

/* What was written so far. */
static struct buf wire;

static inline void
add(const void *data, size_t n)
{
    if (buf_add(&wire, data, n) != 0) {
        abort();
    }
}

static inline void
add_byte(unsigned v)
{
    uint8_t byte = (uint8_t)v;
    add(&byte, 1);
}

static inline void
add_be(unsigned bytes, uint32_t v)
{
    while (bytes-- > 0) {
        add_byte(v >> (8 * bytes) & 0xff);
    }
}

static inline void
basic(unsigned fmt, uint32_t csid)
{
    if (csid < 64) {
        add_byte(fmt << 6 | csid);
    } else if (csid < 320) {
        add_byte(fmt << 6);
        add_byte(csid - 64);
    } else {
        add_byte(fmt << 6 | 1);
        add_byte((csid - 64) & 0xff);
        add_byte((csid - 64) >> 8);
    }
}

static inline void
fmt0(uint32_t csid, uint32_t time, uint32_t len, unsigned type, uint32_t id)
{
    basic(0, csid);
    add_be(3, time < 0xffffff ? time : 0xffffff);
    add_be(3, len);
    add_byte(type);
    add_byte(id & 0xff); /* little endian */
    add_byte(id >> 8 & 0xff);
    add_byte(id >> 16 & 0xff);
    add_byte(id >> 24);
    if (time >= 0xffffff) {
        add_be(4, time);
    }
}

static inline void
fmt1(uint32_t csid, uint32_t delta, uint32_t len, unsigned type)
{
    basic(1, csid);
    add_be(3, delta < 0xffffff ? delta : 0xffffff);
    add_be(3, len);
    add_byte(type);
    if (delta >= 0xffffff) {
        add_be(4, delta);
    }
}

static inline void
fmt2(uint32_t csid, uint32_t delta)
{
    basic(2, csid);
    add_be(3, delta);
}

/* Payload bytes number from..from+n of a pattern told by seed. */
static inline void
payload(unsigned seed, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++) {
        add_byte((unsigned)(seed + i * 7 + (i >> 8)) & 0xff);
    }
}

#endif
