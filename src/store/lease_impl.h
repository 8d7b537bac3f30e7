/*
 * Shared by the two files of leases: lease.c has the functions for owners and
 * the times, lease_write.c the writes and their results.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_LEASE_IMPL_H
#define STORE_LEASE_IMPL_H

#include "store/lease.h"
#include "store/metrics.h"

#define LEASE_TOPIC "lease"   /* of the notices; their text is the node */
#define LEASE_NEVER INT64_MAX /* until a look says more */
#define LEASE_BUCKETS 1024

struct lease {
    struct list link, bucket;
    char name[LEASE_NAME_MAX + 1];
    const struct lease_handlers *handlers; /* NULL: freed by its owner */
    void *arg;
    bool wanted;
    bool held;      /* its owner may use it */
    bool ours;      /* the database may have it as ours */
    bool asked;     /* in the write under way: claimed */
    bool got;       /* and the answer has it */
    bool released;  /* in the write under way: given back */
    bool dirty;     /* its state is to be written */
    bool said;      /* in the write under way: its state */
    bool seen;      /* in the look that is being read */
    int64_t try_at; /* when it may be free */
    char state[LEASE_STATE_MAX + 1];
};

enum write_kind { WRITE_NONE, WRITE_OPEN, WRITE_SYNC, WRITE_CLOSE };

struct leases {
    struct loop *loop; /* borrowed; NULL: not started */
    bool shared;
    char node[LEASE_NODE_MAX + 1], place[LEASE_NODE_MAX + 1], role[33];
    int64_t expiry;
    struct list all;
    size_t count;
    int64_t held;
    struct list buckets[LEASE_BUCKETS];
    struct timer tick;
    struct later act;
    struct store_call *look; /* under way */
    int64_t look_at;         /* not before */
    bool look_wanted;
    bool on_hold, stopping, stopped;

    int64_t session;  /* 0: none */
    int64_t valid_to; /* no other node can have our leases until then */
    bool alone;       /* no other node lived at the last renewal */
    bool told_alone;  /* it goes on without the database, and has said so */
    int64_t renew_at; /* the next renewal is due */
    int64_t retry_at; /* no write before: the last one failed */
    int64_t say_at;   /* no state before */

    enum write_kind writing;
    struct store_call *write;
    int64_t sent_at;
    size_t forget_step, claim_step; /* in the write under way; 0: not in it */
};
extern struct leases leases;

/* ---- lease.c ---- */

/* Milliseconds of a clock that goes on while the machine sleeps. */
int64_t lease_now(void);
/* The time between two looks for due work. */
int64_t lease_tick(void);
/* Does the work that is due. */
void lease_act(void);
struct lease *lease_find(struct str name);
/* It is ours: calls its owner. */
void lease_take(struct lease *l);
/* All are; over: the database has none of ours any more. */
void lease_lose_all(const char *reason, bool over);
/* Frees it if nobody wants it and the database has it back. */
void lease_free_if_done(struct lease *l);

/* ---- lease_write.c: one at a time ---- */

void lease_write_open(void);
/* Renews, and writes all that waits. */
void lease_write_sync(void);
/* Whether something waits. */
bool lease_is_pending(void);
void lease_write_close(void);

#endif
