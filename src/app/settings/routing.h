/*
 * The part of a location that needs no module: its path, rewrites, a return,
 * headers that it adds.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_SETTINGS_ROUTING_H
#define APP_SETTINGS_ROUTING_H

#include "app/settings/settings.h"
#include "http/rewrite.h"

extern const struct conf_key settings_return_keys[];  /* return_settings */
extern const struct conf_key settings_rewrite_keys[]; /* rewrite_settings */
extern const struct conf_key settings_added_keys[]; /* added_header_settings */

/* Sets path, pattern, rewrites, added and slash of *out; all of it lives in
 * pool. 0, or -1 with err. */
int settings_make_location(struct pool *pool,
                           const struct http_location_settings *l,
                           struct http_location *out, struct errmsg *err);
/* The return of a location; *out is NULL when it has none. */
int settings_make_return(struct pool *pool,
                         const struct http_location_settings *l,
                         const struct http_location *made,
                         const struct http_return **out, struct errmsg *err);
/* Rewrites and headers of a server. */
int settings_make_rules(struct pool *pool, const struct conf_groups *rewrites,
                        const struct conf_groups *headers,
                        const struct regex *groups, struct http_rules *out,
                        struct errmsg *err);

/* check of http.servers.locations.path. */
int settings_check_path(struct str value, struct errmsg *err);
/* Whether all of that can be made, and its layers can stand there. */
int settings_check_routing(const struct http_location_settings *l,
                           struct errmsg *err);

#endif
