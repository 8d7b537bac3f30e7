/*
 * HTTP servers that share an address: requests find theirs by name.
 *
 * Places count the servers at an address: 0 is its default, the others follow
 * in the order of the file.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_SETTINGS_NAMES_H
#define APP_SETTINGS_NAMES_H

#include "app/settings/settings.h"
#include "net/host_names.h"

struct http_at {   /* a server at an address; borrows from the settings */
    size_t number; /* among http.servers */
    const struct http_server_settings *server;
    const struct listen_settings *listen; /* its word on the address */
};

/* All of them by their places, in pool; *count of them. */
struct http_at *settings_http_at(struct pool *pool, const struct http_block *b,
                                 struct str address, size_t *count);
/* Whether an earlier server has that address of server number, too. */
bool settings_http_joins(const struct http_block *b, size_t number,
                         struct str address);
/* The one whose word on the socket counts: that says anything of it. */
const struct http_at *settings_http_socket(const struct http_at *all,
                                           size_t count);
/* The place whose tls group a name at place i is served by: its own, or the
 * first there is; count: none has one. */
size_t settings_http_tls_place(const struct http_at *all, size_t count,
                               size_t i);
/* The servers' names, each with its place; NULL: one server has them all. */
const struct host_names *settings_http_names(struct pool *pool,
                                             const struct http_at *all,
                                             size_t count);
/* The first name of a server that is one host's, or that text. */
struct str settings_http_known_as(const struct http_server_settings *h,
                                  struct str otherwise);
/* The TLS context of an address with all of its servers, as settings_tls() has
 * it for one. All of it lives in pool. */
int settings_http_tls(struct pool *pool, const struct http_at *all,
                      size_t count, struct tls_context **out,
                      struct errmsg *err);

/* check_among of http.servers: addresses that servers i and before share. */
int settings_check_names(const struct conf_groups *all, size_t i,
                         struct errmsg *err);

#endif
