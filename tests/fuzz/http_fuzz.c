/*
 * A connection's bytes through head scanner, parser and body reader.
 *
 * Whatever comes: cutting it differently changes nothing; and a request that
 * we take, llhttp (strict) takes too, with the same method, target, headers,
 * framing, body and end.
 * The first byte of the input chooses the cuts.
 *
 * covers: src/http/head_scan.c:scan_method,scan_target,judge_version
 * covers: src/http/head_scan.c:scan_version,scan_header_start,line_fits
 * covers: src/http/head_scan.c:scan_name,scan_value,scan_start,scan_lf
 * covers: src/http/head_scan.c:scan_state,wants_lf,scan_byte,is_target_char
 * covers: src/http/head_scan.c:is_value_char,run_of,skip_run,http_scan
 * covers: src/http/parse.c src/http/head_rules.c
 * covers: src/http/body.c:http_body_init,http_body_eat,next_piece,take_piece
 * covers: src/http/body.c:keep_piece,http_body_next
 * covers: src/http/chunk.c src/http/path.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/http/oracle.h"
#include "base/mem.h"
#include "http/body.h"
#include "http/parse.h"
#include "http/path.h"

#define BODY_LIMIT 100000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What became of one request. */
struct outcome {
    enum http_refusal why;
    bool whole;
    size_t len; /* of the whole request, with its body */
    size_t begin;
    struct buf body;
};

/* What was decoded is decoded as the same when it is encoded again. */
static void
try_path(struct pool *pool, struct str path)
{
    struct str again, encoded = http_path_encode(pool, path);

    if (path.ptr[0] != '/' || http_path_decode(pool, encoded, &again) == -1 ||
        !str_eq(again, path)) {
        abort();
    }
    encoded = http_query_encode(pool, path);
    if (!http_query_is_encoded(encoded) ||
        !str_eq(http_query_decode(pool, encoded), path) ||
        !http_query_is(path, http_query_decode(pool, path))) {
        abort();
    }
    http_query_is_encoded(path);
}

static size_t
next_cut(uint32_t *seed, size_t at, size_t n)
{
    if (*seed == 0) {
        return n;
    }
    *seed = *seed * 1664525 + 1013904223;

    size_t step = 1 + (*seed >> 16) % 9;

    return step < n - at ? at + step : n;
}

static void
read_body(struct outcome *o, const struct http_head *head, const uint8_t *data,
          size_t n, uint32_t seed)
{
    struct http_body body;
    size_t at = 0, end = 0;

    http_body_init(&body, head);
    body.keep = true;
    body.limit = BODY_LIMIT;
    while (!body.done && at < n) {
        end = next_cut(&seed, at, n);
        ssize_t ate = http_body_eat(&body, data + at, end - at, &o->why);

        if (ate < 0) {
            break;
        }
        if ((size_t)ate != end - at && !body.done) {
            abort(); /* it must eat all or be done */
        }
        at += (size_t)ate;
    }
    o->whole = body.done;
    o->len += at;
    o->body = body.bytes;
    buf_clear(&body.trailers);
}

static struct outcome
read_request(const uint8_t *data, size_t n, uint32_t seed)
{
    static const struct http_limits limits = {
        .head = 2000, .target = 500, .header = 800, .headers = 20
    };
    struct outcome o = { .why = REFUSE_NONE };
    struct http_scan scan = { 0 };
    struct http_head head;
    struct pool *pool = pool_new(256);
    struct str path;
    ssize_t len = 0;

    for (size_t at = 0; at < n && len == 0;) {
        at = next_cut(&seed, at, n);
        len = http_scan(&scan, data, at, &limits);
    }
    if (len < 0) {
        o.why = scan.why;
    } else if (len > 0) {
        o.len = (size_t)len;
        o.begin = scan.begin;
        o.why = http_parse(pool, &scan, data, o.len, &head);
    }
    if (len > 0 && o.why == REFUSE_NONE) {
        if (!oracle_agrees(&head)) {
            abort();
        }
        if (http_path_decode(pool, head.path, &path) == 0) {
            try_path(pool, path);
        }
        http_query_decode(pool, head.query);
        read_body(&o, &head, data + o.len, n - o.len, seed);
    }
    pool_free(&pool);
    return o;
}

/* ---- the oracle ---- */

struct oracle {
    struct buf body;
    bool done;
};

static int
on_body(llhttp_t *p, const char *at, size_t n)
{
    struct oracle *o = p->data;

    return buf_add(&o->body, at, n);
}

static int
on_complete(llhttp_t *p)
{
    struct oracle *o = p->data;

    o->done = true;
    return HPE_PAUSED;
}

static void
ask_oracle(const struct outcome *mine, const uint8_t *data)
{
    static const llhttp_settings_t settings = { .on_body = on_body,
                                                .on_message_complete =
                                                    on_complete };
    struct oracle o = { .done = false };
    llhttp_t p;

    buf_init(&o.body, BODY_LIMIT);
    llhttp_init(&p, HTTP_REQUEST, &settings);
    p.data = &o;

    /* A request it takes ends neither earlier nor later than ours. */
    llhttp_errno_t rc = llhttp_execute(&p, (const char *)data + mine->begin,
                                       mine->len - mine->begin);

    /* It knows fewer methods.  Its own slip: it takes ";a=b" but not ";a=b;c"
     * (RFC 9112, 7.1.1). */
    if (rc == HPE_INVALID_METHOD || (rc == HPE_INVALID_CHUNK_SIZE && !o.done)) {
        buf_clear(&o.body);
        return;
    }
    if (!o.done || (rc != HPE_PAUSED && rc != HPE_PAUSED_UPGRADE)) {
        abort();
    }
    const char *end = llhttp_get_error_pos(&p);

    if (end != NULL && end + 1 < (const char *)data + mine->len) {
        abort();
    }
    if (!str_eq(buf_str(&o.body), buf_str(&mine->body))) {
        abort();
    }
    buf_clear(&o.body);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    uint32_t seed = data[0] + 1U;
    struct outcome one = read_request(data + 1, size - 1, 0);
    struct outcome two = read_request(data + 1, size - 1, seed);

    if (one.why != two.why || one.whole != two.whole ||
        (one.why == REFUSE_NONE && one.len != two.len) ||
        (one.whole && !str_eq(buf_str(&one.body), buf_str(&two.body)))) {
        abort();
    }
    if (one.whole && one.why == REFUSE_NONE) {
        ask_oracle(&one, data + 1);
    }
    buf_clear(&one.body);
    buf_clear(&two.body);
    return 0;
}
