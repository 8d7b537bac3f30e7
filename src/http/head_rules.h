/*
 * The rules for the target and for headers taken together; a part of the work
 * of parse.c and parse_answer.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_HEAD_RULES_H
#define HTTP_HEAD_RULES_H

#include "http/parse.h"

/* "host", "host:port", "[IPv6]:port". */
bool http_is_authority(struct str s);
/* Splits head->target into authority, path and query. */
enum http_refusal http_judge_target(struct http_head *head);
/* Splits head->text, which passed the scan, into its first line and count
 * headers, in the pool (parse.c). */
void http_split(struct pool *pool, size_t count, struct http_head *head);
/* Fills length, chunked and keep_alive from headers: the rules that hold for
 * requests and answers. */
enum http_refusal http_judge_framing(struct http_head *head);
/* Fills host, length, chunked, keep_alive, expects_continue from headers. */
enum http_refusal http_judge_headers(struct http_head *head);

#endif
