/*
 * The key of a request by which a hash chooses its server.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_UPSTREAM_KEY_H
#define MODULES_PROXY_UPSTREAM_KEY_H

#include "http/http.h"

/* check of the row hash_key. */
int upstream_check_key(struct str key, struct errmsg *err);
/* key was checked.  A request without the header or parameter has the same
 * key as all of these. */
uint64_t upstream_key(struct str key, struct http_request *r);

#endif
