/*
 * Request ids and traces.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/trace.h"

#include <string.h>

#include "base/line_format.h"
#include "base/rand.h"
#include "http/exchange.h"

#define ID_BYTES 16
#define SPAN_BYTES 8
#define STOCK 256 /* ids drawn by one system call */
#define REQUEST_ID_MAX 128
#define TRACEPARENT 55 /* bytes of version 00 */
#define STATE_MAX 512  /* bytes */
#define STATE_MEMBERS 32

/* ---- new ids ---- */

/* Random bytes, each given out once.  A process draws its own: nothing is
 * drawn before the workers are forked. */
static struct {
    uint8_t bytes[STOCK * ID_BYTES];
    size_t left;
} stock;

static const uint8_t *
draw(size_t n)
{
    if (stock.left < n) {
        rand_bytes(stock.bytes, sizeof(stock.bytes));
        stock.left = sizeof(stock.bytes);
    }
    stock.left -= n;
    return stock.bytes + stock.left;
}

/* n random bytes as lower-case hex digits, in pool. */
static struct str
random_hex(struct pool *pool, size_t n)
{
    char *text = pool_alloc(pool, 2 * n + 1);

    str_hex(text, draw(n), n);
    return str_of(text, 2 * n);
}

/* ---- what came ---- */

/* The only header of that name, NULL if there is none or more. */
static const struct str *
only_header(const struct http_request *r, const char *name)
{
    const struct str *found = NULL;

    for (size_t i = 0; i < r->header_count; i++) {
        if (str_eq_nocase(r->headers[i].name, str_from(name))) {
            if (found != NULL) {
                return NULL;
            }
            found = &r->headers[i].value;
        }
    }
    return found;
}

static bool
is_request_id(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-')) {
            return false;
        }
    }
    return s.len > 0 && s.len <= REQUEST_ID_MAX;
}

/* All lower-case hex digits; *zero: all are 0. */
static bool
is_hex(struct str s, bool *zero)
{
    *zero = true;
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (str_hex_digit(c) == -1 || (c >= 'A' && c <= 'F')) {
            return false;
        }
        *zero &= c == '0';
    }
    return true;
}

/* "00-TRACE-PARENT-FLAGS"; later versions may go on behind a dash. */
static bool
parse_traceparent(struct str s, struct str *trace, uint8_t *flags)
{
    struct str version = str_first(s, 2), id = str_first(str_skip(s, 3), 32);
    struct str parent = str_first(str_skip(s, 36), 16);
    struct str bits = str_first(str_skip(s, 53), 2);
    bool zero, no_trace, no_parent;

    if (s.len < TRACEPARENT || s.ptr[2] != '-' || s.ptr[35] != '-' ||
        s.ptr[52] != '-' || !is_hex(version, &zero) ||
        str_eq(version, STR("ff"))) {
        return false;
    }
    if (s.len > TRACEPARENT && (zero || s.ptr[TRACEPARENT] != '-')) {
        return false;
    }
    if (!is_hex(id, &no_trace) || no_trace || !is_hex(parent, &no_parent) ||
        no_parent || !is_hex(bits, &zero)) {
        return false;
    }
    *trace = id;
    *flags =
        (uint8_t)(str_hex_digit(bits.ptr[0]) << 4 | str_hex_digit(bits.ptr[1]));
    return true;
}

/* All tracestate headers as one list; empty if that is too long. */
static struct str
join_tracestate(struct http_request *r)
{
    struct str all = STR_NONE;
    size_t members = 0;

    for (size_t i = 0; i < r->header_count; i++) {
        struct str value = r->headers[i].value;

        if (!str_eq_nocase(r->headers[i].name, STR("tracestate")) ||
            value.len == 0) {
            continue;
        }
        if (all.len + (all.len > 0) + value.len > STATE_MAX) {
            return STR_NONE;
        }
        all = all.len == 0 ? value
                           : pool_printf(r->pool, "%.*s,%.*s", STR_ARGS(all),
                                         STR_ARGS(value));
    }
    for (struct str rest = all; rest.len > 0; str_cut(&rest, ',')) {
        members++;
    }
    return members <= STATE_MEMBERS ? all : STR_NONE;
}

void
http_trace_begin(struct http_request *r, bool trusted, struct http_trace *t)
{
    const struct str *id = trusted ? only_header(r, "X-Request-ID") : NULL;
    const struct str *parent = only_header(r, "traceparent");
    struct str fresh = STR_NONE;

    *t = (struct http_trace){ .state = STR_NONE };
    if (id != NULL && is_request_id(*id)) {
        r->request_id = *id;
    } else {
        r->request_id = fresh = random_hex(r->pool, ID_BYTES);
    }
    if (parent != NULL && parse_traceparent(*parent, &r->trace_id, &t->flags)) {
        t->state = join_tracestate(r);
    } else if (fresh.len > 0) {
        r->trace_id = fresh; /* random bits are as good for both */
    } else {
        r->trace_id = random_hex(r->pool, ID_BYTES);
    }
}

/* ---- for requests to others ---- */

struct str
http_traceparent(struct http_request *r)
{
    bool sampled = exchange_of(r)->trace.flags & 1;

    return pool_join(r->pool, STRS(STR("00-"), r->trace_id, STR("-"),
                                   random_hex(r->pool, SPAN_BYTES),
                                   sampled ? STR("-01") : STR("-00")));
}

struct str
http_tracestate(struct http_request *r)
{
    return exchange_of(r)->trace.state;
}

struct str
http_absolute(struct http_request *r, struct str path)
{
    if (r->host.len == 0) {
        return path;
    }
    return pool_printf(r->pool, "%.*s://%.*s%.*s", STR_ARGS(r->scheme),
                       STR_ARGS(r->host), STR_ARGS(path));
}

/* The target may be absolute (to a proxy); what is behind the host counts. */
static struct str
path_and_query(struct str target)
{
    const char *mark = memmem(target.ptr, target.len, "://", 3);

    if (str_starts(target, STR("/")) || mark == NULL) {
        return target;
    }
    target = str_skip(target, (size_t)(mark - target.ptr) + 3);
    return str_skip(target, str_find(target, '/', 0));
}

void
http_hide_target(struct http_request *r)
{
    exchange_of(r)->hidden = true;
}

struct str
http_shown_url(struct http_request *r)
{
    const struct exchange *x = exchange_of(r);
    struct line_value v;

    line_value_masked(&v, &x->c->server->settings.mask,
                      path_and_query(r->target), false);
    return pool_str(r->pool, http_absolute(r, v.text));
}
