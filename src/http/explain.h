/*
 * Tells what becomes of a URL at a server, step by step, as http_find() does it
 * for requests: rewrites, locations, redirects.  Nobody has asked for it, so
 * nothing is counted or logged, and no module has its turn.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_EXPLAIN_H
#define HTTP_EXPLAIN_H

#include "http/rewrite.h"

/* A GET; all of it must live as long as the explanation. */
struct http_question {
    const struct http_server *server;
    struct str scheme, host; /* "https", "example.org" */
    struct str path, query;  /* as they are sent */
};

enum http_step_kind {
    HTTP_STEP_REWRITE,  /* to another path */
    HTTP_STEP_LOCATION, /* its layers have their turn */
    HTTP_STEP_ANSWER,   /* weir answers at once */
    HTTP_STEP_END,      /* nothing more; an answer of 404 if no layer had one */
};

struct http_step {
    enum http_step_kind kind;
    /* The location that did it or has its turn; NULL: the server did it. */
    const struct http_location *location;
    struct str path, query; /* of the request now: decoded; as it was sent */
    struct str layers_path; /* what the location's layers get */
    int status;             /* of an answer */
    struct str to;          /* its Location; empty: none */
    struct str reason;      /* of one that is an error; empty: none */
};

/* All of it lives in pool.  NULL: the path is malformed. */
struct exchange *http_explain(struct pool *pool, const struct http_question *q);
void http_explain_next(struct exchange *x, struct http_step *out);
/* Group i of the location's pattern, and the text that it took; false behind
 * the last. */
bool http_explain_group(const struct exchange *x, size_t i, struct str *name,
                        struct str *value);
/* Where a return of the location it is in would send the client; false: it
 * would be too long. */
bool http_explain_return(const struct exchange *x, const struct http_return *r,
                         struct str *to);

#endif
