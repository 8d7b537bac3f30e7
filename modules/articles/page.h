/*
 * The common parts of pages of articles and of authors.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_PAGE_H
#define MODULES_ARTICLES_PAGE_H

#include "ask.h"
#include "cursor.h"
#include "tag.h"

/* ?num=, from 1 to most.  A sign may stand in front; 0 and texts that are no
 * number count as missing.  False: it is negative, and was answered with
 * 400. */
bool page_take_num(struct http_request *r, int64_t most, int64_t *num);
/* Refuses a parameter with 400; `what` says which, and why. */
enum http_result page_refuse(struct http_request *r, const char *what);
enum http_result page_refuse_cursor(struct ask *a);

/* There is a next page: sets X-Cursor and Link; returns the address of that
 * page. */
struct str page_set_next(struct ask *a, const struct cursor *last,
                         struct str filter);
/* The tag of a page, from the n numbers that it shows and whether there is a
 * next one. */
void page_tag(struct tag *t, const struct ask *a, const int64_t *shown,
              size_t n, bool more);

#endif
