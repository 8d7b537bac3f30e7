/*
 * The form of the answers under /control, and the checks of every request
 * there.
 *
 * Bodies are {"status":N,"data":"..."}, N being the HTTP status, except the
 * keys themselves.  No cache may keep an answer.
 *
 * The checks of a request answer it when they fail: the handler then returns
 * HTTP_DONE.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_ANSWER_H
#define MODULES_RELAY_ANSWER_H

#include "relay.h"
#include "store/store.h"

/* 200 {"status":200,"data":"Ok"}. */
enum http_result relay_ok(struct http_request *r);
/* 200, text/plain: text and nothing else. */
enum http_result relay_text(struct http_request *r, struct str text);
/* 200, JSON. */
enum http_result relay_json(struct http_request *r, struct str json);
/* OPTIONS of any path here: 204 with Allow. */
http_handler relay_on_options;
/* Refuses: counts, writes to both logs, answers. */
enum http_result relay_refuse(struct http_request *r, enum relay_refused why,
                              int status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The store did not do it: 503 with Retry-After, 500 if it never will. */
enum http_result relay_refuse_store(struct http_request *r,
                                    enum store_status status);
/* The same form for all errors of the location. */
http_error_body relay_error_body;

/* Parameters of the query: given once, not empty, of the right form; else
 * 400, saying which and what is allowed. */
bool relay_get_room(struct http_request *r, struct str *room);
bool relay_get_app(struct http_request *r, struct str *app);
bool relay_get_name(struct http_request *r, struct str *name);
bool relay_get_oper(struct http_request *r, bool *start);
/* Checks only that it is there (empty when it is missing and not needed), its
 * length, and that it is a URL of rtmp:// or rtmps://. */
bool relay_get_url(struct http_request *r, bool needed, struct str *url);

#endif
