/*
 * The handshake, server side.
 *
 * The digest variant was never published by Adobe; this is what Flash Media
 * Server and its clients do.  A block of 1536 bytes has its 32 byte digest at
 * an offset told by four bytes of the block itself; there are two places for
 * those four bytes (scheme 0: byte 8, scheme 1: byte 772).  The digest is the
 * HMAC of all other bytes of the block.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/handshake.h"

#include <string.h>

#include "base/bytes.h"
#include "net/digest.h"

#define RTMP_VERSION 3
#define TLS_HANDSHAKE 22 /* the first byte of a client that speaks TLS */

enum {
    SCHEMES = 2,
    OFFSETS = 728, /* places a digest can have within a scheme */
};

/* Where the four bytes of the offset stand. */
static const size_t offset_at[SCHEMES] = { 8, 772 };

static const uint8_t player_key[] = "Genuine Adobe Flash Player 001";
/* The text alone signs S1; with the 32 bytes after it it signs S2. */
static const uint8_t server_key[] = {
    'G',  'e',  'n',  'u',  'i',  'n',  'e',  ' ',  'A',  'd',  'o',  'b',
    'e',  ' ',  'F',  'l',  'a',  's',  'h',  ' ',  'M',  'e',  'd',  'i',
    'a',  ' ',  'S',  'e',  'r',  'v',  'e',  'r',  ' ',  '0',  '0',  '1',
    0xf0, 0xee, 0xc2, 0x4a, 0x80, 0x68, 0xbe, 0xe8, 0x2e, 0x00, 0xd0, 0xd1,
    0x02, 0x9e, 0x7e, 0x57, 0x6e, 0xec, 0x5d, 0x2d, 0x29, 0x80, 0x6f, 0xab,
    0x93, 0xb8, 0xe6, 0x36, 0xcf, 0xeb, 0x31, 0xae,
};
enum {
    PLAYER_TEXT = sizeof(player_key) - 1,
    SERVER_TEXT = 36,
};

int
handshake_check_version(uint8_t version, struct errmsg *err)
{
    if (version == RTMP_VERSION) {
        return 0;
    }
    if (version == 6 || version == 8 || version == 9) {
        return errmsg_set(err, "RTMPE (version %u) is not supported", version);
    }
    if (version == TLS_HANDSHAKE) {
        return errmsg_set(err, "not RTMP but TLS: this address takes plain "
                               "RTMP only");
    }
    return errmsg_set(err, "not RTMP: the first byte is 0x%02x", version);
}

/* Where the digest of a block is. */
static size_t
digest_place(const uint8_t block[HANDSHAKE_BLOCK], int scheme)
{
    const uint8_t *p = block + offset_at[scheme];
    size_t sum = (size_t)p[0] + p[1] + p[2] + p[3];
    return offset_at[scheme] + 4 + sum % OFFSETS;
}

/* The HMAC of a block without the 32 bytes at place. */
static void
sign_block(const uint8_t block[HANDSHAKE_BLOCK], size_t place,
           const uint8_t *key, size_t key_len, uint8_t out[DIGEST_SHA256])
{
    uint8_t rest[HANDSHAKE_BLOCK - DIGEST_SHA256];
    memcpy(rest, block, place);
    memcpy(rest + place, block + place + DIGEST_SHA256, sizeof(rest) - place);
    digest_hmac_sha256(key, key_len, rest, sizeof(rest), out);
}

/* The scheme of C1, or -1 if neither digest is right. */
static int
find_scheme(const uint8_t c1[HANDSHAKE_BLOCK])
{
    for (int scheme = SCHEMES - 1; scheme >= 0; scheme--) {
        uint8_t digest[DIGEST_SHA256];
        size_t place = digest_place(c1, scheme);
        sign_block(c1, place, player_key, PLAYER_TEXT, digest);
        if (digest_equal(digest, c1 + place, DIGEST_SHA256)) {
            return scheme;
        }
    }
    return -1;
}

static void
answer_digest(const uint8_t *c1, int scheme, uint8_t *s1, uint8_t *s2)
{
    static const uint8_t version[4] = { 4, 5, 0, 1 };
    memcpy(s1 + 4, version, sizeof(version));
    size_t place = digest_place(s1, scheme);
    sign_block(s1, place, server_key, SERVER_TEXT, s1 + place);

    uint8_t key[DIGEST_SHA256];
    digest_hmac_sha256(server_key, sizeof(server_key),
                       c1 + digest_place(c1, scheme), DIGEST_SHA256, key);
    size_t signed_len = HANDSHAKE_BLOCK - DIGEST_SHA256;
    digest_hmac_sha256(key, sizeof(key), s2, signed_len, s2 + signed_len);
}

enum handshake_kind
handshake_answer(const uint8_t ask[HANDSHAKE_ASK],
                 uint8_t answer[HANDSHAKE_ANSWER])
{
    const uint8_t *c1 = ask + 1;
    uint8_t *s1 = answer + 1;
    uint8_t *s2 = s1 + HANDSHAKE_BLOCK;
    answer[0] = RTMP_VERSION;
    memset(s1, 0, 8); /* our time, and zero */

    /* Version 0 in C1 means that there is no digest. */
    int scheme = get_be32(c1 + 4) == 0 ? -1 : find_scheme(c1);
    if (scheme < 0) {
        memcpy(s2, c1, HANDSHAKE_BLOCK);
        return HANDSHAKE_SIMPLE;
    }
    answer_digest(c1, scheme, s1, s2);
    return scheme == 0 ? HANDSHAKE_DIGEST_0 : HANDSHAKE_DIGEST_1;
}
