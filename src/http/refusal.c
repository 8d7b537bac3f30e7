/*
 * The table of refusals and their counters.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/refusal.h"

#include <assert.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/seldom.h"

static const struct {
    int status;
    const char *text;
} refusals[REFUSE_COUNT] = {
    [REFUSE_NONE] = { 200, "nothing is wrong" },
    [REFUSE_CONTROL] = { 400, "control byte in the head" },
    [REFUSE_BARE_CR] = { 400, "CR without LF" },
    [REFUSE_BARE_LF] = { 400, "LF without CR" },
    [REFUSE_REQUEST_LINE] = { 400, "malformed request line" },
    [REFUSE_METHOD] = { 400, "malformed method" },
    [REFUSE_NO_METHOD] = { 501, "unknown method" },
    [REFUSE_CONNECT] = { 405, "CONNECT is not served" },
    [REFUSE_TRACE] = { 405, "TRACE is not served" },
    [REFUSE_TARGET] = { 400, "malformed request target" },
    [REFUSE_TARGET_LONG] = { 414, "request target too long" },
    [REFUSE_PATH] = { 400, "malformed path" },
    [REFUSE_VERSION] = { 505, "only HTTP/1.0 and HTTP/1.1 are served" },
    [REFUSE_FOLDED] = { 400, "folded header line" },
    [REFUSE_NAME] = { 400, "malformed header name" },
    [REFUSE_HEADER_LONG] = { 431, "header line too long" },
    [REFUSE_HEADER_COUNT] = { 431, "too many header lines" },
    [REFUSE_HEAD_LONG] = { 431, "request head too long" },
    [REFUSE_NO_HOST] = { 400, "no Host header" },
    [REFUSE_HOSTS] = { 400, "more than one Host header" },
    [REFUSE_HOST] = { 400, "malformed or contradicting Host header" },
    [REFUSE_LENGTH] = { 400, "malformed Content-Length" },
    [REFUSE_LENGTHS] = { 400, "more than one Content-Length" },
    [REFUSE_CODING] = { 501, "unknown Transfer-Encoding" },
    [REFUSE_CODINGS] = { 400, "more than one Transfer-Encoding" },
    [REFUSE_CODING_ON_10] = { 400, "Transfer-Encoding in HTTP/1.0" },
    [REFUSE_BOTH] = { 400, "Content-Length beside Transfer-Encoding" },
    [REFUSE_UPGRADE_BODY] = { 400, "Upgrade with a body" },
    [REFUSE_EXPECT] = { 417, "unknown expectation" },
    [REFUSE_PARSER] = { 400, "malformed request" },
    [REFUSE_CHUNK] = { 400, "malformed chunk" },
    [REFUSE_CHUNK_EXTENSION] = { 400, "bad or too long chunk extension" },
    [REFUSE_TRAILER] = { 400, "bad or too long trailer" },
    [REFUSE_BODY_LONG] = { 413, "request body too long" },
    [REFUSE_HEAD_SLOW] = { 408, "the request head took too long" },
    [REFUSE_BODY_SLOW] = { 408, "the request body took too long" },
    [REFUSE_ACCESS] = { 403, "address not allowed" },
    [REFUSE_RATE] = { 429, "asked too often" },
    [REFUSE_ORIGIN] = { 403, "origin not allowed" },
    [REFUSE_AUTH] = { 401, "not authenticated" },
    [REFUSE_RIGHT] = { 403, "not authorized" },
    [REFUSE_AUTHORIZATION] = { 400, "malformed Authorization" },
    [REFUSE_BUSY] = { 503, "too many passwords to check" },
    [REFUSE_CONNECTIONS] = { 503, "too many connections of this address" },
    [REFUSE_INCOMPLETE] = { 503, "too many half-open connections of this "
                                 "address" },
    [REFUSE_SHED] = { 503, "idle while connections ran short" },
    [REFUSE_READS_SLOW] = { 408, "client takes the answer too slowly" },
};

static uint64_t counts[REFUSE_COUNT];

int
http_refusal_status(enum http_refusal why)
{
    assert(why < REFUSE_COUNT);
    return refusals[why].status;
}

const char *
http_refusal_text(enum http_refusal why)
{
    assert(why < REFUSE_COUNT);
    return refusals[why].text;
}

void
http_refusal_add(enum http_refusal why)
{
    assert(why < REFUSE_COUNT);
    counts[why]++;
}

uint64_t
http_refusal_count(enum http_refusal why)
{
    assert(why < REFUSE_COUNT);
    return counts[why];
}

void
http_refusal_say(enum http_refusal why, const struct addr *peer)
{
    static struct seldom often[REFUSE_COUNT];
    char text[ADDR_TEXT];
    uint64_t skipped;

    if (seldom(&often[why], clock_ms(), &skipped)) {
        log_info("http: %s refused: %s (%llu more since this was said last)",
                 addr_text(peer, text), http_refusal_text(why),
                 (unsigned long long)skipped);
    }
}
