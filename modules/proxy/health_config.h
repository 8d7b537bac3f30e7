/*
 * The upstreams that have checks, as the master tells them to the role.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_HEALTH_CONFIG_H
#define MODULES_PROXY_HEALTH_CONFIG_H

#include "net/egress.h"
#include "upstream_settings.h"

struct health_upstream { /* all texts are in the pool of the plan */
    struct str name;
    struct upstream_health_settings how;
    bool tls;
    struct upstream_tls_settings secured;
    struct str *servers; /* their addresses */
    size_t count;
};

struct health_plan {
    const struct egress *egress;
    struct health_upstream *upstreams;
    size_t count;
};

/* Of the role: whether there is anything to check, and its description. */
bool health_wanted(const struct settings *s);
void health_write(const struct settings *s, struct buf *out);
/* -1: the bytes make no sense. */
int health_read_plan(struct str bytes, struct pool *pool,
                     struct health_plan *plan);

/* The rights of the role, for upstreams of root. */
void health_may(const void *root, struct rights *r);
/* Whether it has to read CAs, or to have other rights. */
bool health_changed(const struct settings *before, const struct settings *now);

#endif
