/*
 * Checks of servers: a role that asks each of them once a node, by GET.
 *
 * Its verdict lies in servers.h, where the workers of all generations see it,
 * and outlives the role.  It goes on through reloads, unless it needs rights
 * that it gave up, or verifies servers: a new role reads CAs anew.
 *
 *   health.c         the role
 *   health_probe.c   one server: connect, ask, read, count
 *   health_config.c  what the role has to know
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_HEALTH_H
#define MODULES_PROXY_HEALTH_H

#include "app/module.h"
#include "base/list.h"
#include "health_config.h"
#include "net/outgoing.h"

struct prober { /* the role */
    struct loop *loop;
    struct resolver *resolver; /* owned */
    struct pool *pool;         /* owned; plan lies in it */
    struct health_plan plan;
    struct list probes;  /* struct probe */
    struct list clients; /* struct tls_of, owned */
    bool draining;
};

/* TLS with those CAs and that certificate. */
struct tls_of {
    struct list link;
    struct str ca, certificate, certificate_key; /* owned */
    bool insecure;
    struct tls_client *client; /* owned */
};

struct probe { /* of a server */
    struct list link;
    struct prober *prober;
    const struct health_upstream *upstream; /* in the plan */
    struct str address;                     /* in the plan */
    struct upstream_endpoint at;            /* in the plan's pool */
    const struct tls_client *tls;           /* borrowed; NULL: plain */
    int place;
    uint32_t incarnation;
    int64_t good, failed;      /* checks in a row */
    int64_t good_since_shut;   /* by fails of requests, in a row */
    struct timer next;         /* the next check, or the end of this one */
    struct outgoing *outgoing; /* this check */
    struct conn *conn;
    struct later destroy;
};

extern const struct role health_roles[];

/* health_probe.c.  Starts checking; place and all above it are set. */
void probe_start(struct probe *p);
/* Ends the check that is under way; it is as if it had not been. */
void probe_abort(struct probe *p);
void probe_free(struct probe *p);

#endif
