/*
 * Reads the versions that the Accept headers of a request name.
 *
 * One pass over their members, whatever their number; of several members that
 * name the same, the one with the highest quality counts.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_VERSION_ACCEPT_H
#define MODULES_VERSION_ACCEPT_H

#include "table.h"

struct mark {
    int quality;       /* thousandths; -1: not named */
    struct str format; /* "json" of "+json"; empty: none */
};

/* Whether it excludes a version as such, and not only one format of it. */
static inline bool
mark_excludes(const struct mark *m)
{
    return m->quality == 0 && m->format.len == 0;
}

struct marks {
    struct mark any;      /* every type */
    struct mark major;    /* application, any subtype */
    struct mark json;     /* application/json */
    bool other;           /* another type, wished for */
    struct mark *vendors; /* application/vnd.VENDOR */
    struct mark *names;   /* application/vnd.VENDOR-VERSION */
    bool *unknown;        /* by vendor: a vnd type that is none of its own */
};

/* In the request's pool. */
struct marks *version_read_accept(const struct http_request *r,
                                  const struct version_table *t);

#endif
