/*
 * Answers of the speaker to its callers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_TTS_REPLY_H
#define MODULES_TTS_REPLY_H

#include "net/sha256.h"
#include "proc/rpc.h"
#include "request.h"

/* An answer without sound; its length and duration are -1. */
struct speech_answer reply_error_of(int status, const char *message);
/* The last answer: *r is over.  fd stays the caller's. */
void reply_last(struct rpc_request **r, const struct speech_answer *a, int fd);
/* reply_error_of() as the last answer. */
void reply_error(struct rpc_request **r, int status, const char *message);
/* 503 in the same way; retry_after: s, 0: it is not known. */
void reply_unavailable(struct rpc_request **r, enum speech_lack lack,
                       const char *message, int64_t retry_after);
/* A part; false: there is no room for it now. */
bool reply_part(struct rpc_request *r, const struct speech_answer *a, int fd);

/* A digest as an answer's tag. */
void reply_tag(const uint8_t digest[DIGEST_SHA256],
               char tag[SPEECH_TAG_MAX + 1]);

#endif
