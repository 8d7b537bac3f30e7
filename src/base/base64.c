/*
 * Base64.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/base64.h"

int
base64_value(enum base64_kind kind, char c)
{
    /* From the space on; 64: none.  The last two letters are those of both
     * kinds.  Which letters come cannot be foretold, so there is no branch for
     * each sort of them. */
    static const uint8_t values[96] = {
        /* clang-format off */
        64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 62, 64, 62, 64, 63,
        52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 64, 64, 64, 64, 64, 64,
        64,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14,
        15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 64, 64, 64, 64, 63,
        64, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
        41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 64, 64, 64, 64, 64,
        /* clang-format on */
    };
    unsigned at = (unsigned char)c - (unsigned)' ';
    uint8_t value = at < sizeof(values) ? values[at] : 64;

    if (value >= 62 && c != (kind == BASE64_URL ? "-_" : "+/")[value & 1]) {
        return -1;
    }
    return value;
}

/* Takes the padding off; false if it is not as long as it has to be. */
static bool
cut_padding(enum base64_kind kind, struct str *text)
{
    size_t pads = 0;

    if (kind == BASE64_URL) {
        return true;
    }
    while (pads < 2 && text->len > 0 && text->ptr[text->len - 1] == '=') {
        text->len--;
        pads++;
    }
    return (text->len + pads) % 4 == 0;
}

bool
base64_decode_to(enum base64_kind kind, struct str text, uint8_t *out,
                 size_t *n)
{
    uint32_t bits = 0;
    unsigned have = 0;
    size_t made = 0;

    if (!cut_padding(kind, &text) || text.len % 4 == 1) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        int v = base64_value(kind, text.ptr[i]);

        if (v == -1) {
            return false;
        }
        bits = (bits << 6 | (uint32_t)v) & 0xffffff;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[made++] = (uint8_t)(bits >> have);
        }
    }
    *n = made;
    return (bits & ((1U << have) - 1)) == 0;
}

bool
base64_decode(struct pool *pool, enum base64_kind kind, struct str text,
              struct str *bytes)
{
    uint8_t *out = pool_alloc(pool, text.len / 4 * 3 + 3);
    size_t n;

    if (!base64_decode_to(kind, text, out, &n)) {
        return false;
    }
    *bytes = str_of(out, n);
    return true;
}

/* The letter of six bits. */
static char
letter(enum base64_kind kind, uint32_t bits)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789";

    bits &= 63;
    if (bits < 62) {
        return letters[bits];
    }
    if (kind == BASE64_URL) {
        return bits == 62 ? '-' : '_';
    }
    return bits == 62 ? '+' : '/';
}

void
base64_encode(enum base64_kind kind, const uint8_t *bytes, size_t n, char *out)
{
    for (size_t i = 0; i < n; i += 3) {
        size_t have = n - i < 3 ? n - i : 3;
        uint32_t bits = (uint32_t)bytes[i] << 16;

        bits |= have > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        bits |= have > 2 ? bytes[i + 2] : 0;
        for (size_t k = 0; k <= have; k++) {
            *out++ = letter(kind, bits >> (18 - 6 * k));
        }
        for (; have < 3 && kind == BASE64; have++) {
            *out++ = '=';
        }
    }
    *out = '\0';
}
