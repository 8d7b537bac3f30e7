/*
 * Paths of targets: from the wire to the path that is routed, and back.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef HTTP_PATH_H
#define HTTP_PATH_H

#include "base/pool.h"

/* Decodes percent-encoding once ("%2F" is a slash like any other), then
 * merges slashes and resolves "." and "..".  raw starts with '/', and so does
 * *out.  -1: bad encoding, a control byte, or ".." above the root. */
int http_path_decode(struct pool *pool, struct str raw, struct str *out);
/* A target with one slash in front: behind two a client takes what follows for
 * a host, and some take a backslash for a slash.  In pool, or raw itself. */
struct str http_path_local(struct pool *pool, struct str raw);
/* Percent-encodes bytes that cannot stand in a Location or href. */
struct str http_path_encode(struct pool *pool, struct str path);
/* Its last segment; empty: it ends in a slash. */
struct str http_path_last(struct str path);

/* Decodes one query name or value: '+' is a space; an invalid encoding stands
 * for itself. */
struct str http_query_decode(struct pool *pool, struct str raw);
/* Whether it would be decoded to that text. */
bool http_query_is(struct str raw, struct str text);
/* Percent-encodes bytes that cannot stand in a name or value of a query. */
struct str http_query_encode(struct pool *pool, struct str text);
/* Whether every '%' of it begins a valid encoding. */
bool http_query_is_encoded(struct str raw);
#endif
