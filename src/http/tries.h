/*
 * Servers that a handler has asked on behalf of a request, for its line in the
 * access log: $upstream_addr and the like.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_TRIES_H
#define HTTP_TRIES_H

#include "http/access_log.h"
#include "http/http.h"

struct http_try {
    struct http_try *next;
    struct str addr;    /* or the name, if it was not reached */
    int status;         /* of the answer; 0: there was none */
    int64_t connect_ms; /* until the connection was there; -1: it was not */
    int64_t head_ms;    /* until the answer's head; -1: it did not come */
    int64_t all_ms;     /* until it was over */
};

/* One more, behind those before.  It lives as long as the request, and may be
 * filled until the request ends. */
void http_add_try(struct http_request *r, struct http_try *t);

/* Of several, with ", " between them, as nginx has it. */
void http_get_upstream_addr(const void *x, struct str rest,
                            struct line_value *v);
void http_get_upstream_status(const void *x, struct str rest,
                              struct line_value *v);
void http_get_upstream_connect_time(const void *x, struct str rest,
                                    struct line_value *v);
void http_get_upstream_header_time(const void *x, struct str rest,
                                   struct line_value *v);
void http_get_upstream_response_time(const void *x, struct str rest,
                                     struct line_value *v);

#endif
