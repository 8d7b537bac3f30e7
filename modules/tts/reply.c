/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "reply.h"

#include <stdio.h>

struct speech_answer
reply_error_of(int status, const char *message)
{
    return (struct speech_answer){ .status = status,
                                   .length = -1,
                                   .duration = -1,
                                   .message = str_from(message) };
}

void
reply_last(struct rpc_request **r, const struct speech_answer *a, int fd)
{
    struct buf b;
    struct pack out = { .to = &b };

    buf_init(&b, SPEECH_ANSWER_MAX);
    speech_pack_answer(&out, a);
    if (out.full) {
        rpc_refuse(r, "the answer is too long");
    } else {
        rpc_reply(r, buf_data(&b), buf_len(&b), fd);
    }
    buf_clear(&b);
}

void
reply_error(struct rpc_request **r, int status, const char *message)
{
    struct speech_answer no = reply_error_of(status, message);

    reply_last(r, &no, -1);
}

void
reply_unavailable(struct rpc_request **r, enum speech_lack lack,
                  const char *message, int64_t retry_after)
{
    struct speech_answer no = reply_error_of(503, message);

    no.lack = lack;
    no.retry_after = retry_after;
    reply_last(r, &no, -1);
}

bool
reply_part(struct rpc_request *r, const struct speech_answer *a, int fd)
{
    struct buf b;
    struct pack out = { .to = &b };
    bool sent;

    buf_init(&b, SPEECH_ANSWER_MAX);
    speech_pack_answer(&out, a);
    sent = !out.full && rpc_part(r, buf_data(&b), buf_len(&b), fd) == 0;
    buf_clear(&b);
    return sent;
}

void
reply_tag(const uint8_t digest[DIGEST_SHA256], char tag[SPEECH_TAG_MAX + 1])
{
    for (size_t i = 0; i < SPEECH_TAG_MAX / 2; i++) {
        snprintf(&tag[2 * i], 3, "%02x", digest[i]);
    }
}
