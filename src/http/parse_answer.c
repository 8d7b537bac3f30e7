/*
 * RFC 9112, 6.3, in the order of its rules.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/parse_answer.h"

#include "http/head_rules.h"

/* "HTTP/1.1 200 reason", as the scan found it right. */
static void
split_status_line(struct http_answer *a)
{
    const char *line = a->head.line.ptr;

    a->head.version = line[7] == '1' ? 11 : 10;
    a->status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + line[11] - '0';
    a->reason = str_skip(a->head.line, 13);
}

/* Whether an answer to that method never has a body. */
static bool
has_none(const struct http_answer *a, struct str method)
{
    return a->status < 200 || a->status == 204 || a->status == 304 ||
           str_eq(method, STR("HEAD"));
}

/* Whether headers promise a body to one that does not know these rules: its
 * bytes might follow. */
static bool
promises_body(const struct http_answer *a)
{
    return (a->status < 200 || a->status == 204) &&
           (a->head.chunked || a->head.length > 0);
}

static void
judge_body(struct http_answer *a, struct str method)
{
    a->last = !a->head.keep_alive;
    if (has_none(a, method)) {
        a->framing = HTTP_BODY_NONE;
        a->last |= promises_body(a);
    } else if (a->head.chunked) {
        a->framing = HTTP_BODY_BY_CHUNKS;
    } else if (a->head.length >= 0) {
        a->framing = HTTP_BODY_BY_LENGTH;
    } else {
        a->framing = HTTP_BODY_TO_CLOSE;
        a->last = true;
    }
}

enum http_refusal
http_parse_answer(struct pool *pool, const struct http_scan *scan,
                  const uint8_t *data, size_t n, struct str method,
                  struct http_answer *out)
{
    *out = (struct http_answer){ .head = http_head_empty };
    out->head.text = pool_str(pool, str_of(data, n));
    http_split(pool, scan->headers, &out->head);
    split_status_line(out);

    enum http_refusal why = http_judge_framing(&out->head);

    if (why == REFUSE_NONE) {
        judge_body(out, method);
    }
    return why;
}
