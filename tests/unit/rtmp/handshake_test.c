/*
 * The handshake, with a client of our own for both digest schemes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "net/sha256.h"
#include "rtmp/handshake.h"

static const char player_key[] = "Genuine Adobe Flash Player 001";
static const uint8_t server_key[68] =
    "Genuine Adobe Flash Media Server 001"
    "\xf0\xee\xc2\x4a\x80\x68\xbe\xe8\x2e\x00\xd0\xd1\x02\x9e\x7e\x57"
    "\x6e\xec\x5d\x2d\x29\x80\x6f\xab\x93\xb8\xe6\x36\xcf\xeb\x31\xae";

static uint8_t ask[HANDSHAKE_ASK], answer[HANDSHAKE_ANSWER];
static uint8_t *const c1 = ask + 1;
static uint8_t *const s1 = answer + 1;
static uint8_t *const s2 = answer + 1 + HANDSHAKE_BLOCK;

static void
fill(uint8_t *p, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1103515245 + 12345;
        p[i] = (uint8_t)(seed >> 16);
    }
}

static size_t
place_of_digest(const uint8_t *block, int scheme)
{
    size_t at = scheme == 0 ? 8 : 772;
    size_t sum = 0;
    for (size_t i = 0; i < 4; i++) {
        sum += block[at + i];
    }
    return sum % 728 + at + 4;
}

static void
digest_of_block(const uint8_t *block, size_t place, const void *key,
                size_t key_len, uint8_t out[32])
{
    uint8_t rest[HANDSHAKE_BLOCK - 32];
    memcpy(rest, block, place);
    memcpy(rest + place, block + place + 32, sizeof(rest) - place);
    digest_hmac_sha256(key, key_len, rest, sizeof(rest), out);
}

/* C1 as a client makes it; scheme -1: no digest. */
static void
make_ask(int scheme, uint32_t seed)
{
    ask[0] = 3;
    fill(c1, HANDSHAKE_BLOCK, seed);
    memcpy(c1 + 4, "\x80\x00\x07\x02", 4);
    fill(answer, sizeof(answer), seed + 1);
    if (scheme >= 0) {
        size_t place = place_of_digest(c1, scheme);
        digest_of_block(c1, place, player_key, 30, c1 + place);
    }
}

/* What a strict client checks in S1 and S2. */
static void
check_digests(int scheme)
{
    uint8_t want[32], key[32];
    size_t place = place_of_digest(s1, scheme);
    digest_of_block(s1, place, server_key, 36, want);
    assert_memory_equal(s1 + place, want, 32);
    size_t asked = place_of_digest(c1, scheme);
    digest_hmac_sha256(server_key, sizeof(server_key), c1 + asked, 32, key);
    digest_hmac_sha256(key, 32, s2, HANDSHAKE_BLOCK - 32, want);
    assert_memory_equal(s2 + HANDSHAKE_BLOCK - 32, want, 32);
}

static void
digest_scheme(int scheme, enum handshake_kind kind)
{
    for (uint32_t seed = 0; seed < 300; seed++) {
        make_ask(scheme, seed);
        assert_int_equal(handshake_answer(ask, answer), kind);
        assert_int_equal(answer[0], 3);
        assert_memory_not_equal(s1 + 4, "\0\0\0\0", 4);
        check_digests(scheme);
    }
}

static void
digest_in_the_first_half(void **state)
{
    (void)state;
    digest_scheme(0, HANDSHAKE_DIGEST_0);
}

static void
digest_in_the_second_half(void **state)
{
    (void)state;
    digest_scheme(1, HANDSHAKE_DIGEST_1);
}

/* The offset bytes at their extremes: the digest ends within the block. */
static void
digest_at_the_last_place(void **state)
{
    (void)state;
    for (int scheme = 0; scheme < 2; scheme++) {
        make_ask(-1, 5);
        memcpy(c1 + (scheme == 0 ? 8 : 772), "\xff\xff\xd9\x00", 4); /* 727 */
        size_t place = place_of_digest(c1, scheme);
        assert_int_equal(place, (scheme == 0 ? 12 : 776) + 727);
        digest_of_block(c1, place, player_key, 30, c1 + place);
        handshake_answer(ask, answer);
        check_digests(scheme);
    }
}

static void
check_echo(void)
{
    assert_int_equal(handshake_answer(ask, answer), HANDSHAKE_SIMPLE);
    assert_int_equal(answer[0], 3);
    assert_memory_equal(s1 + 4, "\0\0\0\0", 4);
    assert_memory_equal(s2, c1, HANDSHAKE_BLOCK);
}

static void
plain_client_gets_its_echo(void **state)
{
    (void)state;
    make_ask(-1, 1);
    memset(c1 + 4, 0, 4);
    check_echo();
}

static void
version_without_digest_falls_back(void **state)
{
    (void)state;
    make_ask(-1, 2);
    check_echo();
    make_ask(0, 3);
    c1[100] ^= 1; /* one wrong bit */
    check_echo();
}

static void
s1_keeps_the_callers_random_bytes(void **state)
{
    (void)state;
    uint8_t random[HANDSHAKE_ANSWER];
    make_ask(-1, 4);
    memcpy(random, answer, sizeof(random));
    handshake_answer(ask, answer);
    assert_memory_equal(s1 + 8, random + 9, HANDSHAKE_BLOCK - 8);
}

/* ---- client ---- */

/* What a strict server checks in C2. */
static void
check_c2(const uint8_t *c2, int scheme)
{
    uint8_t full[62], key[32], want[32];
    memcpy(full, player_key, 30);
    memcpy(full + 30, server_key + 36, 32);
    digest_hmac_sha256(full, sizeof(full), s1 + place_of_digest(s1, scheme), 32,
                       key);
    digest_hmac_sha256(key, 32, c2, HANDSHAKE_BLOCK - 32, want);
    assert_memory_equal(c2 + HANDSHAKE_BLOCK - 32, want, 32);
}

static void
client_with_a_server_of_ours(void **state)
{
    uint8_t c2[HANDSHAKE_BLOCK], want[32];
    struct errmsg err;
    (void)state;
    for (uint32_t seed = 0; seed < 100; seed++) {
        fill(ask, sizeof(ask), seed);
        fill(answer, sizeof(answer), seed + 1);
        fill(c2, sizeof(c2), seed + 2);
        handshake_ask(ask);
        assert_int_equal(ask[0], 3);
        size_t place = place_of_digest(c1, 1);
        digest_of_block(c1, place, player_key, 30, want);
        assert_memory_equal(c1 + place, want, 32);
        assert_int_equal(handshake_answer(ask, answer), HANDSHAKE_DIGEST_1);
        assert_int_equal(handshake_conclude(ask, answer, c2, &err), 0);
        check_c2(c2, 1);
        s2[seed] ^= 1;
        assert_int_equal(handshake_conclude(ask, answer, c2, &err), -1);
    }
}

/* A server may sign at the other place, whatever the client did. */
static void
client_with_a_server_of_the_other_scheme(void **state)
{
    uint8_t c2[HANDSHAKE_BLOCK] = { 0 };
    struct errmsg err;
    (void)state;
    fill(ask, sizeof(ask), 1);
    handshake_ask(ask);
    handshake_answer(ask, answer);
    fill(s1 + 8, HANDSHAKE_BLOCK - 8, 3);
    size_t place = place_of_digest(s1, 0);
    digest_of_block(s1, place, server_key, 36, s1 + place);
    assert_int_equal(handshake_conclude(ask, answer, c2, &err), 0);
    check_c2(c2, 0);
}

static void
other_versions_are_refused(void **state)
{
    (void)state;
    struct errmsg err;
    assert_int_equal(handshake_check_version(3, &err), 0);
    assert_int_equal(handshake_check_version(6, &err), -1);
    assert_non_null(strstr(err.text, "RTMPE"));
    assert_int_equal(handshake_check_version('G', &err), -1);
    assert_non_null(strstr(err.text, "not RTMP"));
    assert_int_equal(handshake_check_version(0, &err), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digest_in_the_first_half),
        cmocka_unit_test(digest_in_the_second_half),
        cmocka_unit_test(digest_at_the_last_place),
        cmocka_unit_test(plain_client_gets_its_echo),
        cmocka_unit_test(version_without_digest_falls_back),
        cmocka_unit_test(s1_keeps_the_callers_random_bytes),
        cmocka_unit_test(client_with_a_server_of_ours),
        cmocka_unit_test(client_with_a_server_of_the_other_scheme),
        cmocka_unit_test(other_versions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
