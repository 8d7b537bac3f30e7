/*
 * The relayer's part of weir.conf: limits, egress rules, applications, pushes
 * and pulls.
 *
 * The master writes it as bytes (plan_write()), because the relayer outlives
 * the configuration that it was started with.  The relayer reads them into a
 * struct of its own.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_ROLE_CONFIG_H
#define MODULES_RELAY_ROLE_CONFIG_H

#include "app/settings/settings.h"
#include "net/egress.h"
#include "push_names.h"
#include "tasks.h"

#define PLAN_MAX (16u << 20) /* bytes */

struct plan_app {
    struct str name;
    int64_t hold, gather;
    uint32_t chunk_size;
    bool gop_cache;
    struct live_cut_rules cuts;
};

struct plan_task {
    enum relay_kind kind;
    struct str app, name, url; /* name: as in the file */
    struct push_names of;      /* a push: which streams; a pull: the name */
};

struct plan {
    int64_t max, connect_timeout, idle_timeout;
    bool tls_verify;
    bool store; /* there are tasks in the store */
    const struct egress *egress;
    struct plan_app *apps;
    size_t app_count;
    struct plan_task *tasks;
    size_t task_count;
};

void plan_write(const struct settings *s, struct buf *out);
/* Copies all texts to pool. 0, or -1: the bytes are malformed. */
int plan_read(struct str bytes, struct pool *pool, struct plan *out);
const struct plan_app *plan_app(const struct plan *p, struct str name);
/* Whether weir.conf has this relay, or a push of several streams that includes
 * it; t->of does not count. */
bool plan_has(const struct plan *p, const struct plan_task *t);
/* Whether weir.conf has a push of that stream by its name, to that URL. */
bool plan_has_named_push(const struct plan *p, struct str app, struct str name,
                         struct str url);

/* Whether a weir with these settings relays anything, or may be asked to. */
bool plan_wants_relayer(const struct settings *s);
/* Whether it may be asked to: a location has this module. */
bool plan_wants_store(const struct settings *s);

#endif
