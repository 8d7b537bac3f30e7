/*
 * The rules for the target and for headers taken together; a part of parse.c's
 * work.
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
/* Fills host, length, chunked, keep_alive, expects_continue from headers. */
enum http_refusal http_judge_headers(struct http_head *head);

#endif
