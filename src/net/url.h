/*
 * URLs of what weir connects to: rtmp, rtmps, http, https (RFC 3986, and
 * stricter than it).
 *
 * An operator or a client of the control API writes these URLs, and they end in
 * logs, statistics and requests to others.  So they have no control characters,
 * blanks or bytes beyond ASCII, a host is a name or an address in its one usual
 * form, and there is no fragment.  Path and query are left as they are written,
 * because servers of RTMP compare them byte by byte.
 *
 * Errors quote neither user information, path nor query: those may be secret.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_URL_H
#define NET_URL_H

#include "base/errmsg.h"
#include "base/pool.h"

#include <stdint.h>

#define URL_MAX 2048 /* bytes of a whole URL */
#define URL_MASKED_MAX                                     \
    (URL_MAX * 3) /* enough for url_masked(), with its NUL \
                   */

enum url_scheme { URL_RTMP, URL_RTMPS, URL_HTTP, URL_HTTPS };

/* All texts are NUL terminated as well. */
struct url {
    enum url_scheme scheme;
    bool tls;      /* rtmps, https */
    bool six;      /* host is an IPv6 address */
    bool has_user; /* "user@" or "user:password@" */
    bool has_password;
    bool has_query;            /* "?", with or without more */
    uint16_t port;             /* as given, or the scheme's */
    struct str user, password; /* decoded; no control characters in them */
    struct str host;           /* lower case; an IPv6 address without brackets,
                                  a name without the dot at its end */
    struct str path;           /* from its '/'; "/" when there is none */
    struct str query;          /* behind the '?' */
};

/* The texts of *out live in pool.  -1 with err: what is wrong, and what is
 * allowed. */
int url_parse(struct pool *pool, struct str text, struct url *out,
              struct errmsg *err);

const char *url_scheme_name(enum url_scheme scheme); /* "rtmp" */
uint16_t url_default_port(enum url_scheme scheme);

/* "host", "[::1]:8080": with the port unless it is the scheme's.  Cut to fit,
 * NUL added; returns dst. */
const char *url_authority(char *dst, size_t size, const struct url *u);

/* The parts of a URL to hide. */
enum url_show {
    URL_HIDE_SECRETS, /* the password, and the values of the query's arguments
                         whose names sound secret, or that have no name */
    URL_HIDE_KEY,     /* and the last segment of the path and all of the query:
                         where a stream is pushed to, those are its key */
};

/* Writes u back with "***" for the hidden parts.  Cut to fit, NUL added;
 * returns dst. */
const char *url_masked(char *dst, size_t size, const struct url *u,
                       enum url_show show);

#endif
