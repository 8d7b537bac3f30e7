/*
 * For the tests of connections that move: what a client of each protocol says
 * and hears, and a server of it that starts anywhere.
 *
 * One speaks lines, which are echoed; one HTTP, whose requests are answered
 * with their targets; one RTMP's handshake.  The parsers are weir's own.  Each
 * leaves bytes unread until the line, the head, or C0 and C1 are whole.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef UNIT_NET_SPOKEN_H
#define UNIT_NET_SPOKEN_H

#include <stdio.h>
#include <string.h>

#include "base/pool.h"
#include "http/parse.h"
#include "net/conn.h"
#include "rtmp/handshake.h"

#define ROUNDS 3 /* lines, and requests, of a client */
#define LINE_LEN 40
#define HEAD_LEN 300
#define ANSWER_LEN 48 /* at most */
#define SPOKEN_MAX (HANDSHAKE_ANSWER + 4)

enum spoken { LINES, REQUESTS, HANDSHAKE, PROTOCOLS };

/* The server's side of one connection. */
struct speaker {
    struct conn *c;
    int number;
    struct http_scan scan;
    bool shaken; /* S0 to S2 are sent */
    size_t c2;   /* bytes of C2 that came */
};

static inline enum spoken
spoken_by(int number)
{
    return (enum spoken)(number % PROTOCOLS);
}

static inline size_t
first_unit(int number)
{
    static const size_t lens[] = { LINE_LEN, HEAD_LEN, HANDSHAKE_ASK };

    return lens[spoken_by(number)];
}

static inline uint8_t
letter(int number, size_t at)
{
    return (uint8_t)('a' + ((size_t)number * 31 + at * 7 + at / 251) % 26);
}

/* ---- what is said ---- */

static inline void
make_request(int number, int round, char out[HEAD_LEN])
{
    int n =
        snprintf(out, HEAD_LEN,
                 "GET /%d/%d HTTP/1.1\r\nHost: a\r\nX-Much: ", number, round);

    for (; n < HEAD_LEN - 4; n++) {
        out[n] = (char)letter(number, (size_t)n);
    }
    memcpy(out + n, "\r\n\r\n", 4);
}

/* C0 C1 without a digest, and C2. */
static inline void
make_handshake(int number, uint8_t *out)
{
    for (size_t k = 0; k < HANDSHAKE_ASK + HANDSHAKE_BLOCK; k++) {
        out[k] = letter(number, k);
    }
    out[0] = 3;
    memset(out + 1, 0, 8);
}

/* Bytes that the client says in all, at most SPOKEN_MAX. */
static inline size_t
say_all(int number, uint8_t *out)
{
    switch (spoken_by(number)) {
    case LINES:
        for (size_t k = 0; k < (size_t)ROUNDS * LINE_LEN; k++) {
            out[k] = k % LINE_LEN == LINE_LEN - 1 ? '\n' : letter(number, k);
        }
        return (size_t)ROUNDS * LINE_LEN;
    case REQUESTS:
        for (int r = 0; r < ROUNDS; r++) {
            make_request(number, r, (char *)out + r * HEAD_LEN);
        }
        return (size_t)ROUNDS * HEAD_LEN;
    case HANDSHAKE:
    case PROTOCOLS:
        break;
    }
    make_handshake(number, out);
    return HANDSHAKE_ASK + HANDSHAKE_BLOCK;
}

/* ---- what is heard ---- */

static inline size_t
make_answer(struct str target, char out[ANSWER_LEN])
{
    return (size_t)snprintf(out, ANSWER_LEN, "HTTP/1.1 200 OK\r\n\r\n%.*s\n",
                            (int)target.len, target.ptr);
}

/* The server's random bytes, of which the client knows. */
static inline void
make_random(int number, uint8_t answer[HANDSHAKE_ANSWER])
{
    for (size_t k = 0; k < HANDSHAKE_ANSWER; k++) {
        answer[k] = letter(number + 1, k);
    }
}

static inline size_t
hear_handshake(int number, uint8_t *out)
{
    uint8_t said[SPOKEN_MAX];

    make_handshake(number, said);
    make_random(number, out);
    out[0] = 3;
    memset(out + 1, 0, 8);
    memcpy(out + 1 + HANDSHAKE_BLOCK, said + 1, HANDSHAKE_BLOCK); /* S2: C1 */
    memcpy(out + HANDSHAKE_ANSWER, "C2!\n", 4);
    return HANDSHAKE_ANSWER + 4;
}

/* Bytes that the client hears in all, at most SPOKEN_MAX. */
static inline size_t
hear_all(int number, uint8_t *out)
{
    char target[32];
    size_t len = 0;

    switch (spoken_by(number)) {
    case LINES:
        return say_all(number, out);
    case REQUESTS:
        for (int r = 0; r < ROUNDS; r++) {
            snprintf(target, sizeof(target), "/%d/%d", number, r);
            len += make_answer(str_from(target), (char *)out + len);
        }
        return len;
    case HANDSHAKE:
    case PROTOCOLS:
        break;
    }
    return hear_handshake(number, out);
}

/* ---- the server ---- */

/* Each returns bytes eaten, -1 when what it was offered is wrong. */

static inline ssize_t
serve_lines(struct speaker *s, const uint8_t *data, size_t n)
{
    while (n > 0 && data[n - 1] != '\n') {
        n--;
    }
    return conn_write(s->c, data, n) == 0 ? (ssize_t)n : -1;
}

static inline ssize_t
serve_request(struct speaker *s, const uint8_t *data, size_t n)
{
    const struct http_limits limits = {
        .head = 1024, .target = 1024, .header = 1024, .headers = 8
    };
    ssize_t len = http_scan(&s->scan, data, n, &limits);
    struct pool *pool;
    struct http_head head;
    char answer[ANSWER_LEN];

    if (len <= 0) {
        return len;
    }
    pool = pool_new(1024);
    if (http_parse(pool, &s->scan, data, (size_t)len, &head) != REFUSE_NONE ||
        conn_write(s->c, answer, make_answer(head.target, answer)) == -1) {
        len = -1;
    }
    s->scan = (struct http_scan){ 0 };
    pool_free(&pool);
    return len;
}

static inline ssize_t
serve_handshake(struct speaker *s, const uint8_t *data, size_t n)
{
    uint8_t answer[HANDSHAKE_ANSWER];
    struct errmsg err;

    if (handshake_check_version(data[0], &err) == -1) {
        return -1;
    }
    if (n < HANDSHAKE_ASK) {
        return 0;
    }
    make_random(s->number, answer);
    handshake_answer(data, answer);
    s->shaken = true;
    return conn_write(s->c, answer, sizeof(answer)) == 0 ? HANDSHAKE_ASK : -1;
}

static inline ssize_t
serve_c2(struct speaker *s, const uint8_t *data, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (data[k] != letter(s->number, HANDSHAKE_ASK + s->c2++)) {
            return -1;
        }
    }
    if (s->c2 == HANDSHAKE_BLOCK && conn_write(s->c, "C2!\n", 4) == -1) {
        return -1;
    }
    return (ssize_t)n;
}

static inline ssize_t
serve_unit(struct speaker *s, const uint8_t *data, size_t n)
{
    switch (spoken_by(s->number)) {
    case LINES:
        return serve_lines(s, data, n);
    case REQUESTS:
        return serve_request(s, data, n);
    case HANDSHAKE:
    case PROTOCOLS:
        break;
    }
    return s->shaken ? serve_c2(s, data, n) : serve_handshake(s, data, n);
}

/* As many units as are whole. */
static inline ssize_t
serve_spoken(struct speaker *s, const uint8_t *data, size_t n)
{
    size_t eaten = 0;
    ssize_t one = 1;

    while (eaten < n && one > 0) {
        one = serve_unit(s, data + eaten, n - eaten);
        eaten += one > 0 ? (size_t)one : 0;
    }
    return one < 0 ? -1 : (ssize_t)eaten;
}

#endif
