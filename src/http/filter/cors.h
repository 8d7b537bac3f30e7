/*
 * Which pages of other origins may read the answers of a location (the Fetch
 * standard, 3.3): the cors filter.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILTER_CORS_H
#define HTTP_FILTER_CORS_H

#include "base/errmsg.h"
#include "base/str.h"

#include <stdbool.h>

struct http_cors {
    const struct str *origins; /* checked by cors_check_origin() */
    size_t origin_count;
    struct str methods; /* "GET, POST" */
    struct str headers; /* "X-One, X-Two"; "*": whatever is asked for */
    struct str exposed; /* the same, or empty */
    bool credentials;   /* not with origin "*" */
    int64_t max_age;    /* seconds */
};

/* "*", "https://example.com", "http://localhost:3000", or "*." in front of
 * the host (at least one label more); fits struct conf_key. */
int cors_check_origin(struct str origin, struct errmsg *err);
/* A token; or, of headers, "*". */
int cors_check_method(struct str method, struct errmsg *err);
int cors_check_header(struct str header, struct errmsg *err);

bool cors_is_any(const struct http_cors *c); /* origin "*" is among them */
/* Whether the origin that a browser sent is allowed. */
bool cors_allows(const struct http_cors *c, struct str origin);

#endif
