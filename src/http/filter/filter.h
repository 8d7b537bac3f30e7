/*
 * The filters of a location, which a request passes before its layers; all
 * layers share them.
 *
 * Order: the headers of cors (so that pages of other origins can read refusals,
 * too), host, access, rate, the preflight of cors, auth.  The site filter
 * follows when a handler was found.
 *
 *   site.c  whose pages may change something
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_FILTER_FILTER_H
#define HTTP_FILTER_FILTER_H

#include "http/exchange.h"

enum filter_result {
    FILTER_PASS,
    FILTER_REJECT, /* http_filter_reject() was called */
    FILTER_WAIT,   /* until http_resume(), which calls the same filter again */
};

/* From x->filter on, until one of them does not pass. */
enum filter_result http_filter(struct exchange *x);
/* Leaves a location: removes the headers that its filters have set. */
void http_filter_undo(struct exchange *x);

/* Sets the answer: the status of why, and message, which is copied.  Counts the
 * reason. */
enum filter_result http_filter_reject(struct exchange *x, enum http_refusal why,
                                      const char *message);

/* The same for a handler, which answers at once; false. */
bool http_filter_answer(struct exchange *x, enum http_refusal why,
                        const char *message);

/* ---- each of them ---- */

void http_cors_headers(struct exchange *x);
enum filter_result http_host_filter(struct exchange *x);
enum filter_result http_cors_preflight(struct exchange *x);
enum filter_result http_rate_filter(struct exchange *x);
enum filter_result http_auth_filter(struct exchange *x);
/* Before a handler of that layer: methods that change something. */
enum filter_result http_site_filter(struct exchange *x,
                                    const struct http_layer *layer);

#endif
