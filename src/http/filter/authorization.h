/*
 * The Authorization header (RFC 9110, 11.6.2): a scheme and its credentials.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILTER_AUTHORIZATION_H
#define HTTP_FILTER_AUTHORIZATION_H

#include "base/pool.h"

#include <stdbool.h>

#define AUTHORIZATION_MAX 8192 /* bytes of one; more is malformed */

enum authorization_kind {
    AUTHORIZATION_BAD,   /* malformed, or too long */
    AUTHORIZATION_OTHER, /* well formed, of a scheme we do not know */
    AUTHORIZATION_BASIC,
    AUTHORIZATION_BEARER,
};

struct authorization {
    enum authorization_kind kind;
    struct str token;          /* BEARER: RFC 6750, 2.1 */
    struct str user, password; /* BASIC: RFC 7617, in the pool */
};

void authorization_parse(struct pool *pool, struct str value,
                         struct authorization *out);

#endif
