/*
 * UTF-8: the table of well-formed byte sequences (RFC 3629, section 4).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/utf8.h"

#include <string.h>

/* How many bytes follow the first one, and what the first of these may be
 * (that alone shuts out overlong forms, surrogates and what is too large). */
struct lead {
    uint8_t from, to;          /* first byte */
    uint8_t second, second_to; /* bounds of the second byte */
    uint8_t more;              /* bytes after the first */
};

static const struct lead leads[] = {
    { 0xc2, 0xdf, 0x80, 0xbf, 1 }, { 0xe0, 0xe0, 0xa0, 0xbf, 2 },
    { 0xe1, 0xec, 0x80, 0xbf, 2 }, { 0xed, 0xed, 0x80, 0x9f, 2 },
    { 0xee, 0xef, 0x80, 0xbf, 2 }, { 0xf0, 0xf0, 0x90, 0xbf, 3 },
    { 0xf1, 0xf3, 0x80, 0xbf, 3 }, { 0xf4, 0xf4, 0x80, 0x8f, 3 },
};

static size_t
sequence(const struct lead *l, const uint8_t *p, size_t len)
{
    if (len <= l->more || p[1] < l->second || p[1] > l->second_to) {
        return 0;
    }
    for (size_t i = 2; i <= l->more; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return l->more + (size_t)1;
}

size_t
utf8_char(struct str s)
{
    const uint8_t *p = (const uint8_t *)s.ptr;

    if (s.len == 0) {
        return 0;
    }
    if (p[0] < 0x80) {
        return 1;
    }
    for (size_t i = 0; i < sizeof(leads) / sizeof(leads[0]); i++) {
        if (p[0] >= leads[i].from && p[0] <= leads[i].to) {
            return sequence(&leads[i], p, s.len);
        }
    }
    return 0;
}

/* Whole words of ASCII at the front, bytes. */
static size_t
ascii_words(struct str s)
{
    uint64_t word;
    size_t n = 0;

    while (s.len - n >= sizeof(word)) {
        memcpy(&word, s.ptr + n, sizeof(word));
        if ((word & 0x8080808080808080u) != 0) {
            break;
        }
        n += sizeof(word);
    }
    return n;
}

size_t
utf8_length(struct str s)
{
    size_t whole = s.len;

    while (s.len > 0) {
        size_t n = ascii_words(s);

        if (n == 0) {
            n = utf8_char(s);
        }
        if (n == 0) {
            break;
        }
        s = str_skip(s, n);
    }
    return whole - s.len;
}

bool
utf8_valid(struct str s)
{
    return utf8_length(s) == s.len;
}
