/*
 * The version as a parameter of the query or of the body.
 *
 *   param.c      query, form and JSON
 *   multipart.c  multipart/form-data
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_VERSION_PARAM_H
#define MODULES_VERSION_PARAM_H

#include "http/http.h"

enum param {
    PARAM_ABSENT,     /* or blank */
    PARAM_GIVEN,      /* *value */
    PARAM_ODD,        /* a list or an object: no version */
    PARAM_BROKEN,     /* its percent-encoding */
    PARAM_NEEDS_BODY, /* not in the query; the body may have it */
};

/* The last one of that name in the query; else, once the body is read, in a
 * form or a JSON object, of which r->body may be the beginning alone.  *value
 * lies in the request or its pool. */
enum param version_param(struct http_request *r, struct str name,
                         const struct http_choice *choice, struct str *value);

/* multipart.c: the last field of that name in a body of multipart/form-data;
 * type is the Content-Type with its boundary.  *value lies in the body. */
enum param version_form_field(struct pool *pool, struct str type,
                              struct str body, struct str name,
                              struct str *value);

/* "name[]", "name[x]": a list or a table of frameworks that know such. */
bool version_param_is_part(struct str key, struct str name);

#endif
