/*
 * How often a client may ask a location, over all workers: the rate filter.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILTER_RATE_H
#define HTTP_FILTER_RATE_H

#include "base/str.h"
#include "net/addr.h"
#include "proc/rate_limit.h"

enum rate_key {
    RATE_ADDRESS,  /* of the client; IPv6 by its first 64 bits */
    RATE_LOCATION, /* everybody together */
    RATE_HEADER,   /* a header's value; without it by address */
};

struct http_rate {
    enum rate_key key;
    struct str header;   /* HEADER: its name */
    struct str identity; /* separates its counts from those of other rates */
    struct rate_limit_rule pace;
    bool others_only; /* this host itself may ask as often as it likes */
};

/* "10/s", "600/m", "5000/h" as the microseconds for one; at most one a
 * microsecond. */
int rate_parse(struct str s, int64_t *interval_us, struct errmsg *err);
int rate_check(struct str s, struct errmsg *err);
struct exchange;
/* Whether the client asks more often than the operator allows it
 * (net/exceptions.h), over all workers; then Retry-After is set. */
bool http_rate_exceeded(struct exchange *x);
/* "address", "location", "header:NAME". */
int rate_parse_key(struct str s, enum rate_key *key, struct str *header,
                   struct errmsg *err);
int rate_check_key(struct str s, struct errmsg *err);

#endif
