/*
 * Conditional requests (RFC 9110, 13): whether a client wants the answer, given
 * the copy that it has.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILE_CONDITION_H
#define HTTP_FILE_CONDITION_H

#include "http/http.h"

struct http_validators { /* of the answer */
    struct str tag;      /* ETag as sent, with its quotes and W/ */
    int64_t modified;    /* Last-Modified, s since 1970 */
};

enum http_verdict {
    HTTP_PERFORM,      /* as without conditions */
    HTTP_NOT_MODIFIED, /* 304 */
    HTTP_FAILED,       /* 412 */
};

/* If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since in the
 * order of 13.2.2; called only when the answer would be a 2xx.  A malformed
 * date, and a field that must not stand together with another, is ignored. */
enum http_verdict http_judge_conditions(const struct http_request *r,
                                        const struct http_validators *v);

/* Whether a Range counts (13.1.5): there is no If-Range, or its validator is
 * strong and is that of the answer. now: s since 1970. */
bool http_range_counts(const struct http_request *r,
                       const struct http_validators *v, int64_t now);

#endif
