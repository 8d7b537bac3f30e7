/*
 * Names that follow a request through logs and other servers: its request id
 * and its place in a trace (W3C Trace Context).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_TRACE_H
#define HTTP_TRACE_H

#include "http/http.h"

/* Gives a request new names: 128 random bits, the same for both. */
void http_trace_begin(struct http_request *r);

#endif
