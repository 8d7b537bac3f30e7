/*
 * SipHash-2-4 (Aumasson, Bernstein: "SipHash: a fast short-input PRF").
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/hash.h"

#include <endian.h>
#include <pthread.h>
#include <string.h>

#include "base/rand.h"

static uint8_t process_key[16];

struct sip {
    uint64_t v0, v1, v2, v3;
};

static uint64_t
rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void
rounds(struct sip *s, int n)
{
    for (int i = 0; i < n; i++) {
        s->v0 += s->v1;
        s->v2 += s->v3;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 = rotate(s->v0, 32) + s->v3;
        s->v2 += s->v1;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v2 = rotate(s->v2, 32);
    }
}

static uint64_t
get_le(const uint8_t *p, size_t bytes)
{
    uint64_t n = 0;

    for (size_t i = 0; i < bytes; i++) {
        n |= (uint64_t)p[i] << (8 * i);
    }
    return n;
}

static void
absorb(struct sip *s, uint64_t word)
{
    s->v3 ^= word;
    rounds(s, 2);
    s->v0 ^= word;
}

uint64_t
hash_keyed(const uint8_t key[16], struct str s)
{
    const uint8_t *p = (const uint8_t *)s.ptr;
    uint64_t k0 = get_le(key, 8), k1 = get_le(key + 8, 8);
    struct sip sip = { k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d,
                       k0 ^ 0x6c7967656e657261, k1 ^ 0x7465646279746573 };
    size_t whole = s.len - s.len % 8;

    for (size_t i = 0; i < whole; i += 8) {
        uint64_t word;

        memcpy(&word, p + i, sizeof(word));
        absorb(&sip, le64toh(word));
    }
    absorb(&sip, (uint64_t)s.len << 56 | get_le(p + whole, s.len % 8));
    sip.v2 ^= 0xff;
    rounds(&sip, 4);
    return sip.v0 ^ sip.v1 ^ sip.v2 ^ sip.v3;
}

static void
draw_key(void)
{
    rand_bytes(process_key, sizeof(process_key));
}

void
hash_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, draw_key);
}

uint64_t
hash_str(struct str s)
{
    hash_init();
    return hash_keyed(process_key, s);
}
