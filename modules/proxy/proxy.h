/*
 * Shared by the files of this module: the settings of a layer, and a layer of
 * a worker.
 *
 *   proxy.c     the module: a layer's start and stop, its handler
 *   settings.c  the rows of a layer
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_PROXY_H
#define MODULES_PROXY_PROXY_H

#include "conf/conf.h"
#include "http/text.h"

#define PROXY_HEAD_MAX 32768 /* bytes of the head of an answer */

/* For a request whose client has left. */
enum proxy_close { PROXY_ABORT, PROXY_GO_ON };

struct proxy_settings { /* of a layer; times in ms, sizes in bytes */
    struct conf_where where;
    struct str upstream;
    struct str uri; /* stands for the location's path; empty: it stays */
    bool raw_path;
    struct str host;                  /* "client", "upstream", or itself */
    struct conf_strings set_headers;  /* "Name: value", of the request */
    struct conf_strings hide_headers; /* names, of the answer */
    struct conf_strings redirects;    /* "default", or "FROM TO" */
    struct conf_strings cookies;      /* "path|domain FROM TO" */
    int64_t connect_timeout, send_timeout, read_timeout, tunnel_timeout;
    int64_t tries, retry_time, retry_buffer;
    int64_t buffer;      /* each way */
    int on_client_close; /* enum proxy_close */
    bool strip; /* the version, for a layer below a choice of versions */
    struct conf_strings pass_on; /* "404" */
};

extern const struct conf_key proxy_layer_keys[];

struct proxy_field { /* of set_headers */
    struct str name;
    const struct http_text *value; /* NULL: there is to be none */
};

/* A layer in a worker: the state of its handler. */
struct proxy_layer {
    const struct proxy_settings *settings;
    struct upstream *upstream;
    struct pool *pool;       /* owned; set lies in it */
    struct proxy_field *set; /* by settings->set_headers */
};

/* set_headers as they are written, with variables; groups of the location's
 * pattern (NULL: it has none) are some.  In pool; NULL with err. */
struct proxy_field *proxy_fields_new(struct pool *pool,
                                     const struct proxy_settings *s,
                                     const struct regex *pattern,
                                     struct errmsg *err);

http_handler proxy_on_request; /* exchange.c */

#endif
