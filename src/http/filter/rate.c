/*
 * Request rates: the settings as numbers, and the filter that counts a request
 * and refuses it with 429.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "http/filter/rate.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "http/filter/filter.h"
#include "net/exceptions.h"
#include "net/share.h"

#define PER_MAX 1000000 /* a rate's number */

/* ---- settings ---- */

int
rate_parse(struct str s, int64_t *interval_us, struct errmsg *err)
{
    static const struct {
        struct str unit;
        int64_t us;
    } units[] = {
        { { "s", 1 }, 1000000 },
        { { "m", 1 }, 60 * (int64_t)1000000 },
        { { "h", 1 }, 3600 * (int64_t)1000000 },
    };
    struct str unit = s;
    struct str number = str_cut(&unit, '/');
    int64_t n;

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (str_eq(unit, units[i].unit) && str_to_int(number, 1, PER_MAX, &n)) {
            *interval_us = units[i].us / n;
            return 0;
        }
    }
    return errmsg_set(
        err,
        "\"%.*s\" must be a whole number from 1 to %d and \"/s\", "
        "\"/m\" or \"/h\", as \"10/s\"",
        STR_ARGS(s), PER_MAX);
}

int
rate_check(struct str s, struct errmsg *err)
{
    int64_t ignored;

    return rate_parse(s, &ignored, err);
}

int
rate_parse_key(struct str s, enum rate_key *key, struct str *header,
               struct errmsg *err)
{
    struct str prefix = STR("header:");

    *header = STR_NONE;
    if (str_eq(s, STR("address"))) {
        *key = RATE_ADDRESS;
        return 0;
    }
    if (str_eq(s, STR("location"))) {
        *key = RATE_LOCATION;
        return 0;
    }
    if (str_starts(s, prefix) && s.len > prefix.len) {
        *key = RATE_HEADER;
        *header = str_skip(s, prefix.len);
        return 0;
    }
    return errmsg_set(err,
                      "must be \"address\", \"location\" or \"header:NAME\", "
                      "not \"%.*s\"",
                      STR_ARGS(s));
}

int
rate_check_key(struct str s, struct errmsg *err)
{
    enum rate_key key;
    struct str header;

    return rate_parse_key(s, &key, &header, err);
}

/* ---- the filter ---- */

static uint64_t
hash_of_client(const struct exchange *x)
{
    struct tally_holder client = share_prefix(&x->pub.client);

    return hash_str(str_of(&client, sizeof(client)));
}

/* Under which name this request is counted. */
static uint64_t
key_of(struct exchange *x, const struct http_rate *rate)
{
    enum rate_key kind = rate->key;
    uint64_t value = 0;

    if (kind == RATE_HEADER) {
        const struct str *sent = http_header(&x->pub, rate->header.ptr);

        if (sent != NULL) {
            value = hash_str(*sent);
        } else {
            kind = RATE_ADDRESS;
        }
    }
    if (kind == RATE_ADDRESS) {
        value = hash_of_client(x);
    }

    uint64_t parts[] = { hash_str(rate->identity), (uint64_t)kind, value };

    return hash_str(str_of(parts, sizeof(parts)));
}

static int64_t
seconds_up(int64_t us)
{
    return (us + 999999) / 1000000;
}

static void
say_number(struct exchange *x, const char *name, int64_t n)
{
    http_set_header(&x->pub, name,
                    pool_printf(x->pub.pool, "%lld", (long long)n));
}

static void
say_full(void)
{
    log_limited(LOG_WARN,
                "limits.keys: more clients at once than there is room to "
                "count: some may ask more often than their rate");
}

/* The tightest of the rules is what a client has to keep to. */
static void
say_state(struct exchange *x, const struct http_rate *rate,
          const struct rate_limit_answer *a)
{
    say_number(x, "RateLimit-Limit", rate->pace.burst);
    say_number(x, "RateLimit-Remaining", a->left);
    say_number(x, "RateLimit-Reset", seconds_up(a->reset_us));
}

enum filter_result
http_rate_filter(struct exchange *x)
{
    const struct http_location *l = x->pub.location;
    const struct http_rate *tight = NULL;
    struct rate_limit_answer least = { .left = INT64_MAX }, a;

    for (size_t i = 0; i < l->rate_count; i++) {
        const struct http_rate *rate = &l->rates[i];

        if (rate->others_only && addr_is_loopback(&x->pub.client)) {
            continue;
        }
        rate_limit_take(key_of(x, rate), &rate->pace, clock_us(), &a);
        if (a.gave_up) {
            say_full();
        }
        if (!a.allowed) {
            say_state(x, rate, &a);
            say_number(x, "Retry-After", seconds_up(a.wait_us));
            return http_filter_reject(x, REFUSE_RATE,
                                      "too many requests: ask again later");
        }
        if (a.left < least.left) {
            least = a;
            tight = rate;
        }
    }
    if (tight != NULL) {
        say_state(x, tight, &least);
    }
    return FILTER_PASS;
}

bool
http_rate_exceeded(struct exchange *x)
{
    const struct exception *e =
        exception_of_client(EXCEPTION_REQUESTS, &x->pub.client);
    struct rate_limit_rule rule;
    struct rate_limit_answer a;

    if (e == NULL) {
        return false;
    }

    uint64_t parts[] = { hash_str(STR("exception")), hash_of_client(x) };

    rule = (struct rate_limit_rule){ e->interval_us, e->most };
    rate_limit_take(hash_str(str_of(parts, sizeof(parts))), &rule, clock_us(),
                    &a);
    if (!a.allowed) {
        exception_strikes(e);
        say_number(x, "Retry-After", seconds_up(a.wait_us));
    }
    return !a.allowed;
}
