/*
 * Pages for people, which modules have: page.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_PAGE_H
#define HTTP_PAGE_H

#include "http/http.h"

/* Answers with a page for people, or with its script or style, which never
 * change: in pieces, because a compiler need not take a longer string; NULL
 * behind the last; 64 KB at most, else 500.  It has no inline script or style,
 * loads nothing but what `allowed` says (directives of Content-Security-Policy:
 * "script-src 'self'; img-src data:"), and stands in no frame.  The piece
 * http_page_console stands for a link to the console, where there is one. */
enum http_result http_reply_page(struct http_request *r, const char *type,
                                 const char *allowed,
                                 const char *const *pieces);
extern const char http_page_console[];
/* Where the request's server has its console, if this client may see that:
 * relative to the request's path, because a proxy may give both another path
 * ("../").  Empty: there is none.  In the pool. */
struct str http_console(struct http_request *r);
/* A small page, as errors and listings are: its head with its own style and the
 * begin of its body; and its end, with a link to the console. */
void http_page_begin(struct buf *b, struct str title);
void http_page_end(struct buf *b, struct http_request *r);

#endif
