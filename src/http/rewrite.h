/*
 * Rules that give a request another path, or send the client there; and the
 * answers that a location gives without a module.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_REWRITE_H
#define HTTP_REWRITE_H

#include "http/text.h"

#define HTTP_REWRITES_MAX 10 /* of one request */

enum http_then { HTTP_THEN_LAST, HTTP_THEN_REDIRECT, HTTP_THEN_PERMANENT };

struct http_rewrite {
    struct regex *pattern;
    const struct http_text *to; /* with groups of the pattern */
    enum http_then then;
};

struct http_return {
    int status;
    const struct http_text *to;   /* a URL; NULL: there is a text */
    const struct http_text *text; /* NULL: none */
    const char *type;             /* of the text */
    enum http_place place;
};

enum http_rewritten {
    HTTP_REWROTE_NOT,
    HTTP_REWROTE,       /* the path is another one: seek its location */
    HTTP_REWROTE_ENDED, /* x->reject is set */
};

/* The first rule whose pattern fits. */
enum http_rewritten http_rewrite(struct exchange *x,
                                 const struct http_rewrite *rules,
                                 size_t count);

/* The walk ends with a redirect to that URL. */
void http_end_with_redirect(struct exchange *x, int status, struct str to);

/* The routes of a layer whose state is a struct http_return. */
extern const struct http_route http_return_routes[];

#endif
