/*
 * The head of another server's answer.
 *
 * Whatever comes: cutting it differently changes nothing; and a head that we
 * take, llhttp (strict) takes too, with the same status, headers and framing.
 * The first byte of the input chooses the cuts and the method of the request.
 *
 * covers: src/http/parse_answer.c
 * covers: src/http/head_scan.c:judge_status_line,scan_status,http_scan_answer
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/http/oracle.h"
#include "http/parse_answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    enum http_refusal why;
    size_t len; /* of the whole head; 0: it never got whole */
    struct http_answer answer;
};

static size_t
next_cut(uint32_t *seed, size_t at, size_t n)
{
    *seed = *seed * 1664525 + 1013904223;

    size_t step = 1 + (*seed >> 16) % 9;

    return step < n - at ? at + step : n;
}

/* seed 0: all at once. */
static struct outcome
read_answer(struct pool *pool, const uint8_t *data, size_t n, uint32_t seed,
            struct str method)
{
    static const struct http_limits limits = {
        .head = 2000, .target = 500, .header = 800, .headers = 20
    };
    struct outcome o = { .why = REFUSE_NONE };
    struct http_scan scan = { 0 };
    ssize_t len = 0;

    for (size_t at = 0; at < n && len == 0;) {
        at = seed == 0 ? n : next_cut(&seed, at, n);
        len = http_scan_answer(&scan, data, at, &limits);
    }
    if (len < 0) {
        o.why = scan.why;
    } else if (len > 0) {
        o.len = (size_t)len;
        o.why = http_parse_answer(pool, &scan, data, o.len, method, &o.answer);
    }
    return o;
}

/* What nobody can be sent on: it would end a line, or a string. */
static void
check_headers(const struct http_answer *a)
{
    for (size_t i = 0; i < a->head.header_count; i++) {
        struct str name = a->head.headers[i].name;
        struct str value = a->head.headers[i].value;

        if (name.len == 0 || memchr(value.ptr, '\r', value.len) != NULL ||
            memchr(value.ptr, '\n', value.len) != NULL ||
            memchr(value.ptr, '\0', value.len) != NULL) {
            abort();
        }
    }
}

static void
check_framing(const struct http_answer *a, struct str method)
{
    bool bodiless = str_eq(method, STR("HEAD")) || a->status < 200 ||
                    a->status == 204 || a->status == 304;

    if (a->status < 100 || a->status > 599 ||
        bodiless != (a->framing == HTTP_BODY_NONE) ||
        (a->framing == HTTP_BODY_TO_CLOSE && !a->last) ||
        (a->head.chunked && a->head.length >= 0)) {
        abort();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    struct str method = data[0] % 4 == 0 ? STR("HEAD") : STR("GET");
    struct pool *pool = pool_new(256);
    struct outcome one = read_answer(pool, data + 1, size - 1, 0, method);
    struct outcome two =
        read_answer(pool, data + 1, size - 1, data[0] + 1U, method);

    if (one.why != two.why || one.len != two.len ||
        (one.len > 0 && one.why == REFUSE_NONE &&
         (one.answer.status != two.answer.status ||
          one.answer.framing != two.answer.framing))) {
        abort();
    }
    if (one.len > 0 && one.why == REFUSE_NONE) {
        check_headers(&one.answer);
        check_framing(&one.answer, method);
        if (!oracle_agrees_with_answer(&one.answer)) {
            abort();
        }
    }
    pool_free(&pool);
    return 0;
}
