/*
 * The common parts of all answers of this module: the format that the client
 * prefers, errors, the rights of other sites to read, and of clients to write.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_ANSWER_H
#define MODULES_ARTICLES_ANSWER_H

#include "ask.h"
#include "tag.h"

#define ANSWER_NOT_FOUND "your requested Item is not found"
#define ANSWER_TAKEN "your Item already exist"
#define ANSWER_BAD_PARAMETER "given Param is not valid"

/* Chooses the format of the answer to a->request.  False: it is answered with
 * 406. */
bool answer_choose(struct ask *a);

/* Answers a GET from the cache, if that has the answer; whether it did. */
bool answer_from_cache(struct ask *a);
/* Sets ETag of a GET.  False: If-Match lacks the present tag, and the request
 * was answered with 412 (RFC 9110, 13.2.2). answer_send() checks
 * If-None-Match. */
bool answer_is_expected(struct ask *a, const struct tag *t);

/* Sets the headers of every answer; the handlers call it. */
void answer_set_headers(struct http_request *r);
/* A whole answer in a->format.  The format's functions have written body and
 * returned `written`.  The answer to a read is kept.  A client that has it
 * already (If-None-Match) gets 304, with the headers that the 200 would
 * have. */
enum http_result answer_send(struct ask *a, int status, struct buf *body,
                             int written);
/* Room for the body of the one answer that is being made; empty. */
struct buf *answer_body(void);

/* Refuses: counts it, notes it in the log. message is for programs, the format
 * gives the details (NULL: the message again). */
enum http_result answer_refuse(struct http_request *r,
                               enum articles_refused why, int status,
                               const char *message, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
enum http_result answer_not_found(struct http_request *r);
/* For ask_go_on(): 404; 412; 503, when others edit the item all the time. */
enum http_result answer_missing(struct ask *a);
enum http_result answer_condition(struct ask *a);
enum http_result answer_race(struct ask *a);
/* 503 with Retry-After; 500 if trying again is of no use. */
enum http_result answer_refuse_store(struct http_request *r,
                                     enum store_status status);
/* The same form for all errors of the location. */
http_error_body answer_error_body;

/* Whether the client may write here; if not, it is answered with 403. */
bool answer_may_write(struct http_request *r, const struct articles *layer);

/* "/api/articles?num=2": the path of the request, and its query without the
 * cursor that is in it, but with this one unless it is empty; in the pool. */
struct str answer_link(struct http_request *r, struct str cursor);
/* The path of an article in the list that is at r->path, with the query that
 * leads to the same version. */
struct str answer_item_path(struct http_request *r, int64_t id);

/* Whether pages of any origin may read the answers: the location has no cors,
 * and anybody may ask. */
bool answer_is_open(const struct http_request *r);

#endif
