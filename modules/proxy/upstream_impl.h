/*
 * Shared by upstream.c, upstream_choose.c and upstream_names.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_PROXY_UPSTREAM_IMPL_H
#define MODULES_PROXY_UPSTREAM_IMPL_H

#include "servers.h"
#include "upstream.h"
#include "upstream_balance.h"
#include "upstream_settings.h"

struct server {
    struct upstream_server seen; /* by the exchange; first */
    const struct upstream_server_settings *settings;
    struct upstream_endpoint at;
    struct server_rules rules;
    int place;             /* in servers.h */
    bool away;             /* drained or down when we last looked */
    bool named;            /* its host is a name */
    struct resolved known; /* count 0: not yet */
    int64_t ask_ms;        /* the name is asked again */
    struct resolve *query;
};

struct upstream {
    struct list link; /* of the process */
    unsigned layers;
    struct loop *loop; /* borrowed */
    struct pool *pool; /* owned; this lies in it */
    const struct upstream_settings *settings;
    const struct egress *egress;
    struct resolver *resolver; /* the process's */
    struct tls_client *tls;    /* owned; NULL: plain */
    struct upstream_keep keep;
    struct server *servers;
    size_t count;
    bool has_backups;
    struct balance_seat seats[UPSTREAM_SERVERS];
    struct balance_ring ring;  /* of hash */
    int64_t ring_weights;      /* a sum that tells whether they have changed */
    struct fair_queue waiting; /* struct upstream_use */
    struct list given;         /* the same: gave way to others */
    uint64_t exempt;           /* serial numbers: each is an owner */
    struct timer poll;         /* other workers give back, too */
    struct later serve;
    struct timer tick;
    upstream_changed *on_changed, *on_gone;
};

/* Whether checks say that it is down; they do not count where the upstream has
 * none any more. */
static inline bool
upstream_checked_down(const struct server *s)
{
    return s->seen.upstream->settings->health.count > 0 &&
           servers_check(s->place, loop_now(s->seen.upstream->loop)) ==
               SERVER_CHECKED_DOWN;
}

/* upstream.c: the epoch grows, and the exchange is told. */
void upstream_let_go(struct server *s);

/* Clients share these, of all upstreams. */
enum { UPSTREAM_POOL_OPEN, UPSTREAM_POOL_QUEUE };

/* upstream_queue.c */
void upstream_queue_init(struct upstream *u);
void upstream_queue_clear(struct upstream *u);
void upstream_queue_prepare(struct upstream_use *use);
/* UPSTREAM_WAITS or _FULL. */
enum upstream_choice upstream_queue_enter(struct upstream_use *use);
void upstream_queue_leave(struct upstream_use *use);
/* Servers may be free: soon. */
void upstream_queue_wake(struct upstream *u);

/* upstream_choose.c: one of the servers that it has not tried; UPSTREAM_WAITS:
 * those that are left are busy, or with has_share, it has its share of them. */
enum upstream_choice upstream_choose_now(struct upstream_use *use);
/* Seats end. */
void upstream_choose_clear(struct upstream *u);
/* Weights may have been set. */
void upstream_choose_tick(struct upstream *u);

/* upstream_names.c */
void upstream_names_tick(struct server *s, int64_t now);
void upstream_names_clear(struct server *s);

#endif
