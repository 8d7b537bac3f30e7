/*
 * Owners of leases, for tests of them: what each was told, and another node.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_STORE_LEASE_OWNER_H
#define TESTS_STORE_LEASE_OWNER_H

#include "lease_store.h"

#define FAR 60000  /* ms: nothing expires while a test runs */
#define SHORT 1000 /* ms: expires while it runs */
#define LONG_AGO "1"
#define LONG_AHEAD "9000000000000"

/* What the owner of a lease was told. */
struct owner {
    struct lease *lease;
    int taken, lost, seen;
    char reason[256], node[64], state[64];
};

static inline void
on_taken(void *arg)
{
    ((struct owner *)arg)->taken++;
}

static inline void
on_lost(void *arg, const char *reason)
{
    struct owner *o = arg;

    o->lost++;
    str_copy(o->reason, sizeof(o->reason), str_from(reason));
}

static inline void
on_seen(void *arg, struct str node, struct str state)
{
    struct owner *o = arg;

    o->seen++;
    str_copy(o->node, sizeof(o->node), node);
    str_copy(o->state, sizeof(o->state), state);
}

static const struct lease_handlers handlers = {
    .on_taken = on_taken,
    .on_lost = on_lost,
    .on_seen = on_seen,
};

static inline int
set_up(void **state)
{
    (void)state;
    return fake_start();
}

static inline int
tear_down(void **state)
{
    (void)state;
    fake_stop();
    return 0;
}

static inline void
start_at(bool shared, int64_t expiry, const char *place)
{
    struct lease_options o = {
        .shared = shared,
        .node = STR("here"),
        .place = str_from(place),
        .role = STR("role"),
        .expiry = expiry,
    };

    lease_start(l, &o);
}

static inline void
begin(struct owner *o, const char *name)
{
    memset(o, 0, sizeof(*o));
    o->lease = lease_new(str_from(name), &handlers, o);
}

/* Another node has it. */
static inline void
let_other_have(const char *name, const char *expires)
{
    char text[512];

    snprintf(text, sizeof(text),
             "insert into store_node (node, role, place, session, expires) "
             "values ('there', 'role', 'p', 77, %s);"
             "insert into store_lease (name, session, state) "
             "values ('%s', 77, 'busy')",
             expires, name);
    sql(text);
}

#define UNTIL(condition)       \
    do {                       \
        while (!(condition)) { \
            loop_turn(l, 20);  \
        }                      \
    } while (0)

#define LEASES "select count(*) from store_lease"
#define OURS                                                   \
    "select count(*) from store_lease l join store_node n on " \
    "n.session = l.session where n.node = 'here'"

#endif
