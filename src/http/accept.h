/*
 * What clients say they like: quality values, content codings (RFC 9110,
 * 12.4.2 and 12.5.3).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_ACCEPT_H
#define HTTP_ACCEPT_H

#include "http/http.h"

/* "x=y;q=0.8" in thousandths; 1000 when there is no q or it is malformed. */
int http_quality(struct str params);

/* Whether the answer may be gzip: Accept-Encoding names it, or "*", with a
 * quality above 0 and not below that of "identity" where that is named. */
bool http_accepts_gzip(const struct http_request *r);

#endif
