/*
 * Fuzz target: the handshake's answer.
 *
 * The input is C0 C1, repeated to full length; its last byte also chooses
 * whether a right digest is put in, so that the digest answers are reached.
 *
 * covers: src/rtmp/handshake.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdlib.h>
#include <string.h>

#include "net/sha256.h"
#include "rtmp/handshake.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
put_digest(uint8_t *c1, size_t at)
{
    uint8_t rest[HANDSHAKE_BLOCK - 32];
    size_t place =
        ((size_t)c1[at] + c1[at + 1] + c1[at + 2] + c1[at + 3]) % 728 + at + 4;
    memcpy(rest, c1, place);
    memcpy(rest + place, c1 + place + 32, sizeof(rest) - place);
    digest_hmac_sha256("Genuine Adobe Flash Player 001", 30, rest, sizeof(rest),
                       c1 + place);
}

/* We ask: our own answer is taken, and any other is judged. */
static void
conclude(const uint8_t *data, size_t size)
{
    uint8_t ask[HANDSHAKE_ASK], answer[HANDSHAKE_ANSWER] = { 3 };
    uint8_t c2[HANDSHAKE_BLOCK] = { 0 };
    struct errmsg err = { "" };

    handshake_ask(ask);
    handshake_answer(ask, answer);
    if (handshake_conclude(ask, answer, c2, &err) == -1) {
        abort();
    }
    for (size_t i = 1; i < sizeof(answer); i++) {
        answer[i] = i % 7 == 0 ? answer[i] : data[i % size];
    }
    if (handshake_conclude(ask, answer, c2, &err) == -1 && err.text[0] == 0) {
        abort();
    }
    handshake_answer(ask, answer);
    answer[1 + data[0] * 6 + data[1] % 6] ^= data[0] | 1;
    handshake_conclude(ask, answer, c2, &err);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct errmsg err;
    if (size < 2) {
        return 0;
    }
    uint8_t *ask = malloc(HANDSHAKE_ASK);
    uint8_t *answer = calloc(1, HANDSHAKE_ANSWER);
    for (size_t i = 0; i < HANDSHAKE_ASK; i++) {
        ask[i] = data[i % size];
    }
    handshake_check_version(ask[0], &err);
    unsigned how = data[size - 1] % 3;
    ask[5] |= how > 0; /* a version that is not zero */
    if (how > 0) {
        put_digest(ask + 1, how == 1 ? 8 : 772);
    }
    enum handshake_kind kind = handshake_answer(ask, answer);
    if (answer[0] != 3 || (how > 0 && kind == HANDSHAKE_SIMPLE)) {
        abort();
    }
    if (kind == HANDSHAKE_SIMPLE &&
        memcmp(answer + 1 + HANDSHAKE_BLOCK, ask + 1, HANDSHAKE_BLOCK) != 0) {
        abort();
    }
    free(ask);
    free(answer);
    conclude(data, size);
    return 0;
}
