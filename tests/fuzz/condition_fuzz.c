/*
 * Fuzz target: conditional requests, and the dates in them.
 *
 * Lines: a method, an entity tag, the time of the last change, then headers.
 * 304 is for reads alone; whoever names the very tag has it; a date is read as
 * the same when it is written again.
 *
 * covers: src/http/file/condition.c src/http/file/date.c
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "base/clock.h"
#include "http/file/condition.h"
#include "http/file/date.h"

#define HEADERS 16
#define LAST_SECOND 253402300799 /* 9999-12-31T23:59:59Z */

static void
try_date(struct str text)
{
    char again[64];
    int64_t s = -1, same;

    if (!http_date_parse(text, &s)) {
        require(s == -1);
        return;
    }
    if (s >= 0 && s <= LAST_SECOND) {
        clock_http_date(again, sizeof(again), s * 1000);
        require(http_date_parse(str_from(again), &same) && same == s);
    }
}

static bool
is_read(const struct http_request *r)
{
    return str_eq(r->method, STR("GET")) || str_eq(r->method, STR("HEAD"));
}

/* If-None-Match with the tag in front of what there is. */
static void
try_known(const struct http_request *was, const struct http_validators *v)
{
    struct http_header headers[HEADERS + 1] = { { STR("if-none-match"),
                                                  v->tag } };
    struct http_request r = *was;

    memcpy(headers + 1, was->headers, was->header_count * sizeof(headers[0]));
    r.headers = headers;
    r.header_count++;
    require(http_judge_conditions(&r, v) != HTTP_PERFORM);
}

static bool
is_tag(struct str s)
{
    s = str_starts(s, STR("W/")) ? str_skip(s, 2) : s;
    return s.len >= 2 && s.ptr[0] == '"' && str_find(s, '"', 1) == s.len - 1;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_header headers[HEADERS];
    struct str input = str_of(data, size);
    struct http_request r = { .method = str_cut(&input, '\n'),
                              .headers = headers };
    struct http_validators v = { str_cut(&input, '\n'), 784111777 };

    str_to_int(str_cut(&input, '\n'), 0, LAST_SECOND, &v.modified);
    while (input.len > 0 && r.header_count < HEADERS) {
        struct http_header *h = &headers[r.header_count];

        r.header_count += cut_field(str_cut(&input, '\n'), &h->name, &h->value);
        try_date(h->value);
    }
    enum http_verdict verdict = http_judge_conditions(&r, &v);

    require(verdict != HTTP_NOT_MODIFIED || is_read(&r));
    if (is_tag(v.tag)) {
        try_known(&r, &v);
    }
    if (http_range_counts(&r, &v, v.modified)) { /* within the same second */
        const struct str *field = http_header(&r, "If-Range");

        require(field == NULL || str_eq(*field, v.tag));
    }
    http_range_counts(&r, &v, v.modified + 1);
    return 0;
}
