/*
 * The handshake of both sides: bytes in, bytes out.
 *
 * Server.
 * It answers C0 C1 by S0 S1 S2 in one piece and does not look at the content of
 * C2 (half of the clients send something else than Adobe describes).  A client
 * whose C1 carries a digest (either place it can stand at) gets digests in S1
 * and S2, without which Flash players refuse H.264; everybody else gets the
 * plain echo of RTMP 1.0, 5.2.
 *
 * Client.  C1 carries a digest, without which Flash Media Server gives no
 * H.264.  A server that signs its S1 must have signed (or echoed) S2 for us
 * and gets a signed C2; one that does not gets its S1 back.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_HANDSHAKE_H
#define RTMP_HANDSHAKE_H

#include "base/errmsg.h"

#include <stdint.h>

enum {
    HANDSHAKE_BLOCK = 1536,          /* C1, C2, S1, S2 */
    HANDSHAKE_ASK = 1 + 1536,        /* C0 C1 */
    HANDSHAKE_ANSWER = 1 + 2 * 1536, /* S0 S1 S2 */
};

enum handshake_kind {
    HANDSHAKE_SIMPLE,
    HANDSHAKE_DIGEST_0, /* digest in the first half of C1 */
    HANDSHAKE_DIGEST_1, /* digest in the second half */
};

/* Looks at C0, which may come alone: 0, or -1 with err for a version that weir
 * does not speak (RTMPE), or a byte that is not RTMP at all. */
int handshake_check_version(uint8_t version, struct errmsg *err);

/* Answers C0 C1.  The caller has filled answer with random bytes. */
enum handshake_kind handshake_answer(const uint8_t ask[HANDSHAKE_ASK],
                                     uint8_t answer[HANDSHAKE_ANSWER]);

/* Makes C0 C1 of random bytes. */
void handshake_ask(uint8_t ask[HANDSHAKE_ASK]);
/* Judges S0 S1 S2 and makes C2, which the caller has filled with random
 * bytes. 0, or -1 with err: S2 does not answer our C1. */
int handshake_conclude(const uint8_t ask[HANDSHAKE_ASK],
                       const uint8_t answer[HANDSHAKE_ANSWER],
                       uint8_t c2[HANDSHAKE_BLOCK], struct errmsg *err);

#endif
