/*
 * Stream keys: random bytes, their alphabet, their hash.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "key.h"

#include "base/rand.h"

static const char letters[] = "0123456789"
                              "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

void
key_make(char key[KEY_LENGTH + 1])
{
    for (size_t i = 0; i < KEY_LENGTH; i++) {
        key[i] = letters[rand_below(sizeof(letters) - 1)];
    }
    key[KEY_LENGTH] = '\0';
}

bool
key_is_well_formed(struct str s)
{
    struct str all = STR(letters);

    for (size_t i = 0; i < s.len; i++) {
        if (str_find(all, s.ptr[i], 0) == all.len) {
            return false;
        }
    }
    return s.len == KEY_LENGTH;
}

bool
key_equal(struct str a, struct str b)
{
    return a.len == b.len && digest_equal(a.ptr, b.ptr, a.len);
}

void
key_hash(struct str key, char hash[KEY_HASH + 1])
{
    uint8_t digest[DIGEST_SHA256];

    digest_sha256(key.ptr, key.len, digest);
    str_hex(hash, digest, sizeof(digest));
}
