/*
 * Texts of the settings with $variables in them, for answers: where a redirect
 * goes, a header, a body.
 *
 * Values are a client's words.  Each is written as its place demands, so that
 * it stays within it: percent-encoded in a path, a query or a header, escaped
 * in HTML and JSON.  $request_uri, $args and $host are encoded by the client
 * already, as they were checked, and stand in a URL as they are.  All other
 * names of access logs are variables, too, with their secrets open.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_TEXT_H
#define HTTP_TEXT_H

#include "http/http.h"

enum http_place {
    HTTP_IN_URL,    /* a path, and behind '?' a query */
    HTTP_IN_HEADER, /* printable ASCII, the rest percent-encoded */
    HTTP_IN_FIELD,  /* as it is, control bytes percent-encoded: a header of a
                       request */
    HTTP_IN_HTML,
    HTTP_IN_JSON, /* within a string */
    HTTP_IN_TEXT, /* as it is */
};

struct exchange;
struct http_text;

/* groups: the pattern whose groups are variables, too, $1 and $name; NULL:
 * none.  All of it lives in pool, as text must.  NULL with err. */
const struct http_text *http_text_new(struct pool *pool, struct str text,
                                      const struct regex *groups,
                                      struct errmsg *err);
/* In the request's pool.  A URL begins with two slashes, and so with a host,
 * only if the text does.  False: it would be too long; *out is empty. */
bool http_text_write(const struct exchange *x, const struct http_text *t,
                     enum http_place place, struct str *out);
/* The same for a handler. */
bool http_text_of(struct http_request *r, const struct http_text *t,
                  enum http_place place, struct str *out);
/* Of a body of that media type. */
enum http_place http_place_of(struct str type);

#endif
