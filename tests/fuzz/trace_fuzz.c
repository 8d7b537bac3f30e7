/*
 * Fuzz target: X-Request-ID, traceparent, tracestate.
 *
 * The first byte says who is trusted, the rest are header lines.  Ids are
 * well formed whatever comes, and what is told to others continues the same
 * trace.
 *
 * covers: src/http/trace.c:http_trace_begin,parse_traceparent,is_hex
 * covers: src/http/trace.c:is_request_id,only_header,join_tracestate
 * covers: src/http/trace.c:http_traceparent,http_tracestate,random_hex
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fuzz.h"

#include "http/exchange.h"

#define HEADERS 40
#define ID_MAX 128

static bool
has_only(struct str s, const char *letters)
{
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '\0' || strchr(letters, s.ptr[i]) == NULL) {
            return false;
        }
    }
    return true;
}

static void
look_at(const struct exchange *x)
{
    const struct http_request *r = &x->pub;

    require(r->request_id.len > 0 && r->request_id.len <= ID_MAX);
    require(has_only(r->request_id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO"
                                    "PQRSTUVWXYZ0123456789._-"));
    require(r->trace_id.len == 32 &&
            has_only(r->trace_id, "0123456789abcdef") &&
            !has_only(r->trace_id, "0"));
    require(x->trace.state.len <= 512);
}

/* Who is told of it goes on with the same trace. */
static void
pass_on(struct pool *pool, struct exchange *x)
{
    struct http_header headers[] = {
        { STR("traceparent"), http_traceparent(&x->pub) },
        { STR("tracestate"), http_tracestate(&x->pub) },
    };
    struct http_request r = { .pool = pool,
                              .headers = headers,
                              .header_count = 2 };
    struct http_trace t;

    http_trace_begin(&r, false, &t);
    require(str_eq(r.trace_id, x->pub.trace_id));
    require(t.flags == (x->trace.flags & 1));
    require(str_eq(t.state, x->trace.state));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct exchange x;
    struct http_header headers[HEADERS];
    struct str input = str_of(data, size);
    bool trusted = (take_byte(&input) & 1) != 0;
    struct pool *pool = pool_new(1024);
    size_t count = 0;

    while (input.len > 0 && count < HEADERS) {
        struct http_header *h = &headers[count];

        count += cut_field(str_cut(&input, '\n'), &h->name, &h->value);
    }
    x.pub = (struct http_request){ .pool = pool,
                                   .headers = headers,
                                   .header_count = count };
    http_trace_begin(&x.pub, trusted, &x.trace);
    look_at(&x);
    if (!trusted) {
        require(x.pub.request_id.len == 32);
    }
    pass_on(pool, &x);
    pool_free(&pool);
    return 0;
}
