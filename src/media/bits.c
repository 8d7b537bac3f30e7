/*
 * Bits out of bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "media/bits.h"

#include <assert.h>

struct bits
bits_of(struct str s)
{
    return (struct bits){ .p = (const uint8_t *)s.ptr, .len = s.len };
}

uint32_t
bits_get(struct bits *b, unsigned n)
{
    uint32_t value = 0;

    assert(n <= 32);
    if (b->over || n > b->len * 8 - b->at) {
        b->over = true;
        return 0;
    }
    for (unsigned i = 0; i < n; i++, b->at++) {
        value = value << 1 | (b->p[b->at / 8] >> (7 - b->at % 8) & 1u);
    }
    return value;
}

void
bits_skip(struct bits *b, size_t n)
{
    if (b->over || n > b->len * 8 - b->at) {
        b->over = true;
        return;
    }
    b->at += n;
}

/* Zero bits before the next one bit, which is read too; over 31 is over. */
static unsigned
leading_zeros(struct bits *b)
{
    unsigned n = 0;

    while (!b->over && bits_get(b, 1) == 0) {
        n++;
    }
    if (n > 31) {
        b->over = true;
    }
    return b->over ? 0 : n;
}

uint32_t
bits_ue(struct bits *b)
{
    unsigned n = leading_zeros(b);

    return ((uint32_t)1 << n) - 1 + bits_get(b, n);
}

size_t
bits_unescape(uint8_t *dst, size_t size, struct str nal)
{
    const uint8_t *p = (const uint8_t *)nal.ptr;
    size_t n = 0;
    unsigned zeros = 0;

    for (size_t i = 0; i < nal.len && n < size; i++) {
        if (zeros >= 2 && p[i] == 3) {
            zeros = 0;
            continue;
        }
        zeros = p[i] == 0 ? zeros + 1 : 0;
        dst[n++] = p[i];
    }
    return n;
}
