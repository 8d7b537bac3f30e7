/*
 * Base64.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/base64.h"

int
base64_value(enum base64_kind kind, char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    if (c == (kind == BASE64_URL ? '-' : '+')) {
        return 62;
    }
    return c == (kind == BASE64_URL ? '_' : '/') ? 63 : -1;
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
base64_decode(struct pool *pool, enum base64_kind kind, struct str text,
              struct str *bytes)
{
    uint32_t bits = 0;
    unsigned have = 0;
    size_t n = 0;

    if (!cut_padding(kind, &text) || text.len % 4 == 1) {
        return false;
    }
    char *out = pool_alloc(pool, text.len / 4 * 3 + 3);

    for (size_t i = 0; i < text.len; i++) {
        int v = base64_value(kind, text.ptr[i]);

        if (v == -1) {
            return false;
        }
        bits = (bits << 6 | (uint32_t)v) & 0xffffff;
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[n++] = (char)(bits >> have & 0xff);
        }
    }
    if ((bits & ((1U << have) - 1)) != 0) {
        return false;
    }
    *bytes = str_of(out, n);
    return true;
}

void
base64_encode(const uint8_t *bytes, size_t n, char *out)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "abcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t i = 0; i < n; i += 3) {
        size_t have = n - i < 3 ? n - i : 3;
        uint32_t bits = (uint32_t)bytes[i] << 16;

        bits |= have > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        bits |= have > 2 ? bytes[i + 2] : 0;
        *out++ = letters[bits >> 18];
        *out++ = letters[bits >> 12 & 63];
        *out++ = have > 1 ? letters[bits >> 6 & 63] : '=';
        *out++ = have > 2 ? letters[bits & 63] : '=';
    }
    *out = '\0';
}
