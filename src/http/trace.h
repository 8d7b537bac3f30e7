/*
 * Names that follow a request through logs and other servers: its request id
 * and its place in a trace (W3C Trace Context, level 1).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_TRACE_H
#define HTTP_TRACE_H

#include "http/http.h"

struct http_trace {
    uint8_t flags;    /* of traceparent: 1 sampled */
    struct str state; /* tracestate as it came, or empty */
};

/* Fills request_id and trace_id of r, and *t.  An id of X-Request-ID is taken
 * when trusted and well formed; a trace is continued when its traceparent is.
 * A new id is 128 random bits. */
void http_trace_begin(struct http_request *r, bool trusted,
                      struct http_trace *t);

#endif
