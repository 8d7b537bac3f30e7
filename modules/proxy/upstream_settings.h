/*
 * The rows of "upstreams" at the root of weir.conf, and what is checked of
 * them.
 *
 * A layer may name the URL of a server in place of an upstream: then it has an
 * upstream with that name and one server, with the defaults of all rows.  All
 * code goes over both kinds alike (upstream_each()).
 *
 *   upstream_settings.c  rows
 *   upstream_find.c      looking, rights
 *   upstream_check.c     mistakes in those of a file
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_UPSTREAM_SETTINGS_H
#define MODULES_PROXY_UPSTREAM_SETTINGS_H

#include "app/settings/settings.h"
#include "proc/rights.h"

#include <stdio.h>

#define UPSTREAM_NAME_MAX 64

/* Defaults of rows; times in seconds. */
#define UPSTREAM_WEIGHT 1
#define UPSTREAM_MAX_FAILS 1
#define UPSTREAM_FAIL_TIMEOUT 10
#define UPSTREAM_KEEPALIVE 64
#define UPSTREAM_KEEPALIVE_TIMEOUT 60
#define UPSTREAM_KEEPALIVE_REQUESTS 1000
#define UPSTREAM_QUEUE_TIMEOUT 5

enum upstream_balance { UPSTREAM_ROUND_ROBIN, UPSTREAM_LEAST, UPSTREAM_HASH };

struct upstream_server_settings { /* an item of "servers" */
    struct conf_where where;
    struct str address; /* "HOST:PORT", "unix:PATH" */
    int64_t weight;
    bool backup;
    int64_t max_connections; /* 0: any number */
    int64_t max_fails;
    int64_t fail_timeout, slow_start; /* ms */
};

struct upstream_tls_settings {
    struct str ca, server_name;
    bool insecure;
    struct str certificate, certificate_key; /* ours; both, or none */
};

struct upstream_health_settings {
    struct str path;
    struct str host;
    int64_t interval, timeout; /* ms */
    int64_t rise, fall;
    struct conf_strings status; /* "200", "200-299" */
};

struct upstream_settings { /* an item of "upstreams" */
    struct conf_where where;
    struct str name;
    int balance; /* enum upstream_balance */
    struct str hash_key;
    struct conf_groups servers; /* struct upstream_server_settings */
    struct conf_groups tls;     /* struct upstream_tls_settings: one or none */
    int64_t keepalive;
    int64_t keepalive_timeout; /* ms */
    int64_t keepalive_requests;
    int64_t queue;
    int64_t queue_timeout;     /* ms */
    struct conf_groups health; /* struct upstream_health_settings: one or
                                  none */
};

struct upstream_root {
    struct conf_groups upstreams; /* struct upstream_settings */
};

extern const struct conf_key upstream_root_keys[];

const struct upstream_root *upstream_root_of(const struct settings *s);
const struct upstream_server_settings *upstream_server_at(
    const struct upstream_settings *u, size_t i);
/* NULL: the upstream has none. */
const struct upstream_tls_settings *upstream_tls_of(
    const struct upstream_settings *u);
const struct upstream_health_settings *upstream_health_of(
    const struct upstream_settings *u);
/* How long a verdict counts when the role is no more there to give another,
 * ms. */
static inline int64_t
upstream_verdict_holds(const struct upstream_health_settings *how)
{
    return 10 * (how->interval + how->timeout);
}

/* Where a server is. */
struct upstream_endpoint {
    struct str host; /* lower case, without brackets; empty: path */
    uint16_t port;
    struct str path; /* of its socket */
};

/* The texts live in pool; all are NUL terminated.  -1 with err. */
int upstream_parse_address(struct pool *pool, struct str address,
                           struct upstream_endpoint *out, struct errmsg *err);

bool upstream_is_url(struct str name);
/* The upstream of a layer's setting, in pool if it is a URL's.  NULL with
 * err: there is none of that name, and the nearest. */
const struct upstream_settings *upstream_find(const struct settings *s,
                                              struct pool *pool,
                                              struct str name,
                                              struct errmsg *err);

typedef void upstream_layer_visit(void *arg, struct str name,
                                  const struct conf_where *where);
/* Calls visit for each layer of the module, with its upstream's name. */
void upstream_each_layer(const struct settings *s, upstream_layer_visit *visit,
                         void *arg);

typedef void upstream_visit(void *arg, const struct upstream_settings *u);
/* Calls visit for each upstream that a layer has, once.  That of a URL is where
 * the first of its layers is. */
void upstream_each(const struct settings *s, struct pool *pool,
                   upstream_visit *visit, void *arg);

/* Whether a status is one of health.status. */
bool upstream_is_good(const struct conf_strings *status, int64_t is);

/* Of the module's table. */
void upstream_check_file(const struct settings *s, FILE *out);
void upstream_warn(const struct settings *s);
/* The rights to connect to the servers of all upstreams that layers have. */
void upstream_may(const struct settings *s, struct rights *r);
void upstream_add_rights(const struct upstream_settings *u, struct pool *pool,
                         struct rights *r); /* those of one */
void upstream_learn(const struct settings *s, uint32_t generation);

#endif
