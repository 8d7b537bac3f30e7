/*
 * Which headers go on, and which are for one connection.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "exchange.h"

/* Names with a kind. */
#define NAMED(text, what)                    \
    {                                        \
        { (text), sizeof(text) - 1 }, (what) \
    }
static const struct known {
    struct str name;
    unsigned is;
} known[] = {
    NAMED("Connection", HEADER_HOP),
    NAMED("Keep-Alive", HEADER_HOP),
    NAMED("Proxy-Connection", HEADER_HOP),
    NAMED("TE", HEADER_HOP),
    NAMED("Transfer-Encoding", HEADER_HOP),
    NAMED("Upgrade", HEADER_HOP),
    NAMED("Content-Length", HEADER_HOP),
    NAMED("Proxy-Authorization", HEADER_HOP),
    NAMED("HTTP2-Settings", HEADER_HOP),

    NAMED("Host", HEADER_ASKED | HEADER_FRONT),
    NAMED("Expect", HEADER_ASKED | HEADER_FRONT),
    NAMED("X-Request-ID", HEADER_ASKED | HEADER_SAID | HEADER_FRONT),
    NAMED("traceparent", HEADER_ASKED | HEADER_FRONT),
    NAMED("tracestate", HEADER_ASKED | HEADER_FRONT),
    NAMED("Forwarded", HEADER_ASKED | HEADER_FRONT),
    NAMED("X-Real-IP", HEADER_ASKED | HEADER_FRONT),
    NAMED("Trailer", HEADER_ASKED | HEADER_FRONT),

    NAMED("Server", HEADER_SAID),
    NAMED("Date", HEADER_SAID | HEADER_FRONT),
    NAMED("Content-Type", HEADER_SAID | HEADER_FRONT),
    NAMED("X-Cascade", HEADER_SAID),

    NAMED("Location", HEADER_CHANGED | HEADER_FRONT),
    NAMED("Content-Location", HEADER_CHANGED),
    NAMED("Refresh", HEADER_CHANGED),
    NAMED("Set-Cookie", HEADER_CHANGED | HEADER_FRONT),
    NAMED("Vary", HEADER_CHANGED | HEADER_FRONT),

    NAMED("Content-Encoding", HEADER_FRONT),
    NAMED("Content-Range", HEADER_FRONT),
    NAMED("Range", HEADER_FRONT),
    NAMED("If-Match", HEADER_FRONT),
    NAMED("If-None-Match", HEADER_FRONT),
    NAMED("If-Modified-Since", HEADER_FRONT),
    NAMED("If-Unmodified-Since", HEADER_FRONT),
    NAMED("If-Range", HEADER_FRONT),
    NAMED("Max-Forwards", HEADER_FRONT),
    NAMED("Cache-Control", HEADER_FRONT),
    NAMED("Pragma", HEADER_FRONT),
    NAMED("Age", HEADER_FRONT),
    NAMED("Expires", HEADER_FRONT),
    NAMED("Retry-After", HEADER_FRONT),
    NAMED("Authorization", HEADER_FRONT),
    NAMED("Proxy-Authenticate", HEADER_FRONT),
    NAMED("WWW-Authenticate", HEADER_FRONT),
    NAMED("Cookie", HEADER_FRONT),
};
#undef NAMED

#define KNOWN (sizeof(known) / sizeof(known[0]))
#define LENGTHS 32
_Static_assert(KNOWN <= 64, "a bit for each");

/* Which of them have a length: a bit for each, made by the first look. */
static uint64_t
known_of_length(size_t n)
{
    static uint64_t of_length[LENGTHS];
    static bool made;

    for (size_t i = 0; !made && i < KNOWN; i++) {
        of_length[known[i].name.len] |= UINT64_C(1) << i;
    }
    made = true;
    return n < LENGTHS ? of_length[n] : 0;
}

static bool
begins(struct str name, struct str front)
{
    return str_eq_nocase(str_first(name, front.len), front);
}

unsigned
header_is(struct str name)
{
    for (uint64_t left = known_of_length(name.len); left != 0;
         left &= left - 1) {
        const struct known *k = &known[__builtin_ctzll(left)];

        if (str_eq_nocase(k->name, name)) {
            return k->is;
        }
    }
    if (begins(name, STR("X-Forwarded-"))) {
        return HEADER_ASKED | HEADER_FRONT;
    }
    return begins(name, STR("X-API-")) ? HEADER_VERSION | HEADER_FRONT : 0;
}

bool
header_goes_on(struct str connection, struct str name, unsigned is)
{
    return (is & HEADER_HOP) == 0 &&
           (connection.len == 0 || !http_has_word(connection, name));
}

struct proxy_field *
proxy_fields_new(struct pool *pool, const struct proxy_settings *s,
                 const struct regex *pattern, struct errmsg *err)
{
    const struct conf_strings *set = &s->set_headers;
    struct proxy_field *all = pool_zero(pool, (set->count + 1) * sizeof(*all));

    for (size_t i = 0; i < set->count; i++) {
        struct str value = set->items[i], name = str_cut(&value, ':');

        all[i].name = name;
        value = str_trim(value);
        if (value.len == 0) {
            continue;
        }
        all[i].value = http_text_new(pool, value, pattern, err);
        if (all[i].value == NULL) {
            errmsg_prefix(err, "set_headers: ");
            return NULL;
        }
    }
    return all;
}

bool
header_named(const struct conf_strings *names, struct str name)
{
    for (size_t i = 0; i < names->count; i++) {
        struct str rest = names->items[i];

        if (str_eq_nocase(str_cut(&rest, ':'), name)) {
            return true;
        }
    }
    return false;
}
