/*
 * The preferences of clients: quality values, media types, content codings (RFC
 * 9110, 12.4.2, 12.5.1 and 12.5.3).
 *
 *   accept.c     members, quality values, codings
 *   negotiate.c  which format is liked best
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_ACCEPT_H
#define HTTP_ACCEPT_H

#include "http/http.h"

/* "x=y;q=0.8" in thousandths; 1000 when there is no q or it is malformed. */
int http_quality(struct str params);

/* A member of an Accept header. */
struct http_media {
    const struct http_media *next; /* of the same request; NULL: the last */
    struct str name;               /* "text/html", as it was written */
    unsigned major;                /* bytes of it before the slash */
    int quality; /* thousandths; 1000 when there is none or a bad one */
};

/* "text" */
static inline struct str
http_media_major(const struct http_media *m)
{
    return str_first(m->name, m->major);
}

/* "html", "*" */
static inline struct str
http_media_minor(const struct http_media *m)
{
    return str_skip(m->name, m->major + 1);
}

/* Takes the next member off a list; empty ones and those that are no media
 * range are left out.  False: there are no more.  out->next is NULL. */
bool http_media_next(struct str *list, struct http_media *out);

/* The members of all Accept headers of a request, in order; NULL: there are
 * none.  They are read once a request and lie in its pool. */
const struct http_media *http_accept_members(const struct http_request *r);

/* A format of a resource, in a table of the module's that ends with name NULL.
 * Of two formats of one quality the first is chosen. */
struct http_format {
    const char *name; /* "json", as in "application/vnd.acme-v2+json" */
    const char *type; /* "application/json" */
};

/* Which of the formats the client likes best: its place in the table; -1 when
 * it accepts none of them (406).  Media types of a version that a layer in
 * front chose count as well.  A client that names text/html and likes nothing
 * more, as browsers do, gets the first one that is accepted.  Adds Accept to
 * the answer's Vary. */
int http_choose_format(struct http_request *r,
                       const struct http_format *formats);

/* The vendor's type of the version that a layer in front chose, in that
 * format, where Accept names it whole: "application/vnd.acme-v2+json", in the
 * pool.  Otherwise empty: the answer has the format's own type. */
struct str http_vendor_type(struct http_request *r,
                            const struct http_format *format);

/* How much the client wishes for the best of the formats.  Without an Accept
 * header it accepts all. */
struct http_wish http_best_wish(const struct http_request *r,
                                const struct http_format *formats);

/* Whether the answer may be gzip: Accept-Encoding names it, or "*", with a
 * quality above 0 and not below that of "identity" where that is named. */
bool http_accepts_gzip(const struct http_request *r);

#endif
