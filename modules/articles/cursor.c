/*
 * A cursor is 33 bytes: a version, created_at, id (both big-endian), and the
 * first half of an HMAC-SHA256 of these and the filter.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "cursor.h"

#include <string.h>

#include "base/base64.h"
#include "net/sha256.h"

#define VERSION 1
#define SIGNED 17 /* bytes in front of the signature */
#define WHOLE 33
#define FILTER_MAX 64 /* bytes of a filter that count */

static void
put(uint8_t *dst, int64_t n)
{
    for (int i = 7; i >= 0; i--) {
        dst[i] = (uint8_t)((uint64_t)n >> (8 * (7 - i)));
    }
}

static int64_t
take(const uint8_t *from)
{
    uint64_t n = 0;

    for (int i = 0; i < 8; i++) {
        n = n << 8 | from[i];
    }
    return (int64_t)n;
}

static void
sign(const uint8_t *bytes, struct digest_key *secret, struct str filter,
     uint8_t out[DIGEST_SHA256])
{
    uint8_t text[SIGNED + FILTER_MAX];

    filter = str_first(filter, FILTER_MAX);
    memcpy(text, bytes, SIGNED);
    memcpy(text + SIGNED, filter.ptr, filter.len);
    digest_key_sign(secret, text, SIGNED + filter.len, out);
}

void
cursor_write(char dst[CURSOR_TEXT], const struct cursor *c,
             struct digest_key *secret, struct str filter)
{
    uint8_t bytes[SIGNED + DIGEST_SHA256];

    bytes[0] = VERSION;
    put(bytes + 1, c->created_at);
    put(bytes + 9, c->id);
    sign(bytes, secret, filter, bytes + SIGNED);
    base64_encode(BASE64_URL, bytes, WHOLE, dst);
}

bool
cursor_read(struct pool *pool, struct str text, struct digest_key *secret,
            struct str filter, struct cursor *out)
{
    uint8_t right[DIGEST_SHA256];
    const uint8_t *bytes;
    struct str raw;

    if (text.len != CURSOR_TEXT - 1 ||
        !base64_decode(pool, BASE64_URL, text, &raw) || raw.len != WHOLE) {
        return false;
    }
    bytes = (const uint8_t *)raw.ptr;
    sign(bytes, secret, filter, right);
    if (bytes[0] != VERSION ||
        !digest_equal(right, bytes + SIGNED, WHOLE - SIGNED)) {
        return false;
    }
    *out = (struct cursor){ take(bytes + 1), take(bytes + 9) };
    return true;
}
