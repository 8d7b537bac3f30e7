/*
 * The handshake.
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
#include "net/sha256.h"

#define RTMP_VERSION 3
#define TLS_HANDSHAKE 22 /* the first byte of a client that speaks TLS */

enum {
    SCHEMES = 2,
    OFFSETS = 728, /* places a digest can have within a scheme */
    SIGNED = HANDSHAKE_BLOCK - DIGEST_SHA256, /* of S2 and C2 */
    CLIENT_SCHEME = 1,
};

/* Where the four bytes of the offset stand. */
static const size_t offset_at[SCHEMES] = { 8, 772 };

/* The bytes behind the text of both keys. */
#define KEY_TAIL                                                            \
    0xf0, 0xee, 0xc2, 0x4a, 0x80, 0x68, 0xbe, 0xe8, 0x2e, 0x00, 0xd0, 0xd1, \
        0x02, 0x9e, 0x7e, 0x57, 0x6e, 0xec, 0x5d, 0x2d, 0x29, 0x80, 0x6f,   \
        0xab, 0x93, 0xb8, 0xe6, 0x36, 0xcf, 0xeb, 0x31, 0xae

/* The text alone signs C1; with the bytes behind it it signs C2. */
static const uint8_t player_key[] = { 'G', 'e', 'n',     'u', 'i', 'n', 'e',
                                      ' ', 'A', 'd',     'o', 'b', 'e', ' ',
                                      'F', 'l', 'a',     's', 'h', ' ', 'P',
                                      'l', 'a', 'y',     'e', 'r', ' ', '0',
                                      '0', '1', KEY_TAIL };
/* The same for S1 and S2. */
static const uint8_t server_key[] = {
    'G', 'e', 'n', 'u', 'i', 'n', 'e', ' ', 'A', 'd', 'o',     'b', 'e',
    ' ', 'F', 'l', 'a', 's', 'h', ' ', 'M', 'e', 'd', 'i',     'a', ' ',
    'S', 'e', 'r', 'v', 'e', 'r', ' ', '0', '0', '1', KEY_TAIL
};
enum {
    PLAYER_TEXT = 30,
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

/* The scheme of C1 or S1, or -1 if neither digest is right. */
static int
find_scheme(const uint8_t block[HANDSHAKE_BLOCK], const uint8_t *key,
            size_t key_len)
{
    for (int scheme = SCHEMES - 1; scheme >= 0; scheme--) {
        uint8_t digest[DIGEST_SHA256];
        size_t place = digest_place(block, scheme);
        sign_block(block, place, key, key_len, digest);
        if (digest_equal(digest, block + place, DIGEST_SHA256)) {
            return scheme;
        }
    }
    return -1;
}

/* The signature at the end of S2 or C2, which answers the digest of a block:
 * key is the signer's. */
static void
sign_answer(const uint8_t digest[DIGEST_SHA256], const uint8_t *key,
            size_t key_len, const uint8_t block[HANDSHAKE_BLOCK],
            uint8_t out[DIGEST_SHA256])
{
    uint8_t answer_key[DIGEST_SHA256];
    digest_hmac_sha256(key, key_len, digest, DIGEST_SHA256, answer_key);
    digest_hmac_sha256(answer_key, sizeof(answer_key), block, SIGNED, out);
}

static void
answer_digest(const uint8_t *c1, int scheme, uint8_t *s1, uint8_t *s2)
{
    static const uint8_t version[4] = { 4, 5, 0, 1 };
    memcpy(s1 + 4, version, sizeof(version));
    size_t place = digest_place(s1, scheme);
    sign_block(s1, place, server_key, SERVER_TEXT, s1 + place);
    sign_answer(c1 + digest_place(c1, scheme), server_key, sizeof(server_key),
                s2, s2 + SIGNED);
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
    int scheme =
        get_be32(c1 + 4) == 0 ? -1 : find_scheme(c1, player_key, PLAYER_TEXT);
    if (scheme < 0) {
        memcpy(s2, c1, HANDSHAKE_BLOCK);
        return HANDSHAKE_SIMPLE;
    }
    answer_digest(c1, scheme, s1, s2);
    return scheme == 0 ? HANDSHAKE_DIGEST_0 : HANDSHAKE_DIGEST_1;
}

/* ---- client ---- */

void
handshake_ask(uint8_t ask[HANDSHAKE_ASK])
{
    /* A version of the Flash player: below 10 some servers give no H.264. */
    static const uint8_t version[4] = { 11, 1, 102, 55 };
    uint8_t *c1 = ask + 1;
    ask[0] = RTMP_VERSION;
    memset(c1, 0, 4); /* our time */
    memcpy(c1 + 4, version, sizeof(version));
    size_t place = digest_place(c1, CLIENT_SCHEME);
    sign_block(c1, place, player_key, PLAYER_TEXT, c1 + place);
}

int
handshake_conclude(const uint8_t ask[HANDSHAKE_ASK],
                   const uint8_t answer[HANDSHAKE_ANSWER],
                   uint8_t c2[HANDSHAKE_BLOCK], struct errmsg *err)
{
    const uint8_t *c1 = ask + 1;
    const uint8_t *s1 = answer + 1;
    const uint8_t *s2 = s1 + HANDSHAKE_BLOCK;
    uint8_t digest[DIGEST_SHA256];

    int scheme =
        get_be32(s1 + 4) == 0 ? -1 : find_scheme(s1, server_key, SERVER_TEXT);
    if (scheme < 0) {
        memcpy(c2, s1, HANDSHAKE_BLOCK);
        return 0;
    }
    sign_answer(c1 + digest_place(c1, CLIENT_SCHEME), server_key,
                sizeof(server_key), s2, digest);
    if (!digest_equal(digest, s2 + SIGNED, DIGEST_SHA256) &&
        memcmp(s2, c1, HANDSHAKE_BLOCK) != 0) {
        return errmsg_set(err, "its handshake (S2) does not answer ours");
    }
    sign_answer(s1 + digest_place(s1, scheme), player_key, sizeof(player_key),
                c2, c2 + SIGNED);
    return 0;
}
