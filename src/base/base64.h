/*
 * Base64 (RFC 4648), strict: each value has exactly one text.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/pool.h"

#include <stdbool.h>

enum base64_kind {
    BASE64,     /* section 4: '+' and '/', padded with '=' */
    BASE64_URL, /* section 5: '-' and '_', no padding */
};

/* The bytes of text, in the pool; false when it is not exactly the encoding
 * of some bytes: other letters, wrong padding, bits left over. */
bool base64_decode(struct pool *pool, enum base64_kind kind, struct str text,
                   struct str *bytes);
/* The same into out, which has room for text.len / 4 * 3 + 3 bytes; *n: how
 * many they are. */
bool base64_decode_to(enum base64_kind kind, struct str text, uint8_t *out,
                      size_t *n);

/* The encoding of n bytes into out, which has room for BASE64_ROOM(n); NUL
 * added. */
#define BASE64_ROOM(n) (((n) + 2) / 3 * 4 + 1)
void base64_encode(enum base64_kind kind, const uint8_t *bytes, size_t n,
                   char *out);

/* The six bits that a letter stands for, or -1 when it is no letter of the
 * alphabet.  For a caller that must not decode the whole text. */
int base64_value(enum base64_kind kind, char c);

#endif
