/*
 * GET /openapi.json: an OpenAPI 3.1 document of what a layer serves.
 *
 * It is made for each request, which alone shows the layer's address, its
 * version of an API, and whether clients have to log in.
 *
 *   openapi_write.c    the document
 *   openapi_version.c  how a request names the version
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_OPENAPI_H
#define MODULES_ARTICLES_OPENAPI_H

#include "articles.h"
#include "json/json.h"

struct openapi_writer {
    struct json_out json;
    struct pool *pool;
    const struct articles *layer;
    const struct articles_settings *settings;
    const struct http_api *api;   /* NULL: it is no version of an API */
    const struct http_auth *auth; /* NULL: nobody has to log in */
};

/* Paths and components, as members of the object that is open. */
void openapi_write(struct openapi_writer *w);

/* ---- names of versions: openapi_version.c ---- */

/* The parameters with which a request gets this version: components, and
 * references to them in the parameters of an operation.  A version that the
 * path names has none. */
void openapi_put_version_parameters(struct openapi_writer *w);
void openapi_put_version_references(struct openapi_writer *w);
/* The type of an answer in that form; NULL: the version has no such answer. */
const char *openapi_answer_type(const struct openapi_writer *w,
                                const struct article_format *f);
/* A sentence about the version; empty without one. */
struct str openapi_about_version(struct pool *pool, const struct http_api *api);
/* Whether it is deprecated by now. */
bool openapi_is_deprecated(const struct http_api *api);

#endif
