/*
 * The table of refusals.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/refusal.h"

#include <assert.h>

#include "base/log.h"
#include "http/metrics.h"
#include "net/exceptions.h"

static const struct {
    int status;
    const char *text;
} refusals[REFUSE_COUNT] = {
    [REFUSE_NONE] = { 200, "nothing is wrong" },
    [REFUSE_CONTROL] = { 400, "control byte in the head" },
    [REFUSE_BARE_CR] = { 400, "CR without LF" },
    [REFUSE_BARE_LF] = { 400, "LF without CR" },
    [REFUSE_REQUEST_LINE] = { 400, "malformed request line" },
    [REFUSE_STATUS_LINE] = { 502, "malformed status line" },
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
    [REFUSE_UPGRADE_BODY] = { 400, "WebSocket with a body" },
    [REFUSE_EXPECT] = { 417, "unknown expectation" },
    [REFUSE_CHUNK] = { 400, "malformed chunk" },
    [REFUSE_CHUNK_EXTENSION] = { 400, "bad or too long chunk extension" },
    [REFUSE_TRAILER] = { 400, "bad or too long trailer" },
    [REFUSE_BODY_LONG] = { 413, "request body too long" },
    [REFUSE_OTHER_NAME] = { 421, "this name needs a TLS handshake for it" },
    [REFUSE_PATTERN] = { 500, "a pattern takes too many steps" },
    [REFUSE_REWRITES] = { 500, "rewrite rules turn in a circle" },
    [REFUSE_TEXT_LONG] = { 500, "a text with variables got too long" },
    [REFUSE_NOT_TLS] = { 400, "plain HTTP request sent to an HTTPS port" },
    [REFUSE_TLS] = { 400, "TLS handshake sent to a plain HTTP port" },
    [REFUSE_HEAD_SLOW] = { 408, "the request head took too long" },
    [REFUSE_BODY_SLOW] = { 408, "the request body took too long" },
    [REFUSE_MISDIRECTED] = { 421, "unknown name in Host (hosts)" },
    [REFUSE_ACCESS] = { 403, "address not allowed" },
    [REFUSE_RATE] = { 429, "asked too often" },
    [REFUSE_ORIGIN] = { 403, "origin not allowed" },
    [REFUSE_AUTH] = { 401, "not authenticated" },
    [REFUSE_RIGHT] = { 403, "not authorized" },
    [REFUSE_AUTHORIZATION] = { 400, "malformed Authorization" },
    [REFUSE_BUSY] = { 503, "too many passwords to check" },
    [REFUSE_SITE] = { 403, "asked by a page of another site" },
    [REFUSE_CONNECTIONS] = { 503, "too many connections of this address" },
    [REFUSE_INCOMPLETE] = { 503, "too many half-open connections of this "
                                 "address" },
    [REFUSE_SHED] = { 503, "idle while connections ran short" },
    [REFUSE_READS_SLOW] = { 408, "client takes the answer too slowly" },
    [REFUSE_UNSENT] = { 503, "slowest client while too much was kept unsent" },
};

/* As the label of the counter: stable, whatever the words become. */
static const char *const names[REFUSE_COUNT] = {
    [REFUSE_CONTROL] = "control",
    [REFUSE_BARE_CR] = "bare_cr",
    [REFUSE_BARE_LF] = "bare_lf",
    [REFUSE_REQUEST_LINE] = "request_line",
    [REFUSE_STATUS_LINE] = "status_line",
    [REFUSE_METHOD] = "method",
    [REFUSE_NO_METHOD] = "no_method",
    [REFUSE_CONNECT] = "connect",
    [REFUSE_TRACE] = "trace",
    [REFUSE_TARGET] = "target",
    [REFUSE_TARGET_LONG] = "target_long",
    [REFUSE_PATH] = "path",
    [REFUSE_VERSION] = "version",
    [REFUSE_FOLDED] = "folded",
    [REFUSE_NAME] = "name",
    [REFUSE_HEADER_LONG] = "header_long",
    [REFUSE_HEADER_COUNT] = "header_count",
    [REFUSE_HEAD_LONG] = "head_long",
    [REFUSE_NO_HOST] = "no_host",
    [REFUSE_HOSTS] = "hosts",
    [REFUSE_HOST] = "host",
    [REFUSE_LENGTH] = "length",
    [REFUSE_LENGTHS] = "lengths",
    [REFUSE_CODING] = "coding",
    [REFUSE_CODINGS] = "codings",
    [REFUSE_CODING_ON_10] = "coding_on_10",
    [REFUSE_BOTH] = "both",
    [REFUSE_UPGRADE_BODY] = "upgrade_body",
    [REFUSE_EXPECT] = "expect",
    [REFUSE_CHUNK] = "chunk",
    [REFUSE_CHUNK_EXTENSION] = "chunk_extension",
    [REFUSE_TRAILER] = "trailer",
    [REFUSE_BODY_LONG] = "body_long",
    [REFUSE_OTHER_NAME] = "other_name",
    [REFUSE_PATTERN] = "pattern",
    [REFUSE_REWRITES] = "rewrites",
    [REFUSE_TEXT_LONG] = "text_long",
    [REFUSE_NOT_TLS] = "not_tls",
    [REFUSE_TLS] = "tls",
    [REFUSE_HEAD_SLOW] = "head_slow",
    [REFUSE_BODY_SLOW] = "body_slow",
    [REFUSE_MISDIRECTED] = "misdirected",
    [REFUSE_ACCESS] = "access",
    [REFUSE_RATE] = "rate",
    [REFUSE_ORIGIN] = "origin",
    [REFUSE_AUTH] = "auth",
    [REFUSE_RIGHT] = "right",
    [REFUSE_AUTHORIZATION] = "authorization",
    [REFUSE_BUSY] = "busy",
    [REFUSE_SITE] = "site",
    [REFUSE_CONNECTIONS] = "connections",
    [REFUSE_INCOMPLETE] = "incomplete",
    [REFUSE_SHED] = "shed",
    [REFUSE_READS_SLOW] = "reads_slow",
    [REFUSE_UNSENT] = "unsent",
};

const char *
http_refusal_name(unsigned why)
{
    return why < REFUSE_COUNT ? names[why] : NULL;
}

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
    metric_add(&http_metrics[HTTP_REFUSALS], why, 1);
}

void
http_refusal_say(enum http_refusal why, const char *proto,
                 const struct addr *peer, struct str bytes)
{
    struct debug_mark mark = { 0 };
    char text[ADDR_TEXT];

    refused_note(&(struct refused){
        .proto = proto,
        .peer = addr_text(peer, text),
        .reason = http_refusal_text(why),
        .bytes = bytes,
    });
    log_limited_if(debug_wanted(&mark, peer, STR_NONE), LOG_INFO,
                   "%s: %s refused: %s", proto, text, http_refusal_text(why));
}
