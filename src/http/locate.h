/*
 * Finds the location of a path: the exact one, then patterns in the order of
 * the file, then beginnings of paths, the longest first.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_LOCATE_H
#define HTTP_LOCATE_H

#include "base/regex.h"
#include "http/http.h"

/* The parts of a path that groups of a pattern took, for $name and $1. */
struct http_groups {
    const struct regex *pattern; /* NULL: no pattern has fitted */
    struct regex_match *match;
};

enum http_fit {
    HTTP_FITS_NOT,
    HTTP_FITS,
    HTTP_FITS_LIMIT, /* its pattern takes too long */
};

/* Reads "= /x", "~ PATTERN", "~* PATTERN" or "/x" of the file into kind, name,
 * path, exact and pattern of *out; all of it lives in pool. 0, or -1 with
 * err. */
int http_location_parse(struct pool *pool, struct str text,
                        struct http_location *out, struct errmsg *err);
/* For qsort(): the order in which locations are asked. */
int http_location_order(const void *a, const void *b);
/* Whether the path belongs there; with a pattern *groups is set, in pool. */
enum http_fit http_location_fits(struct pool *pool,
                                 const struct http_location *l, struct str path,
                                 struct http_groups *groups);

#endif
