/*
 * The tables and statements of leases.
 *
 * Names, and names with their states, go as arrays of JSON: one statement for
 * any number of leases.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/lease_schema.h"

#include "store/lease.h"

/* ms since 1970.  In PostgreSQL not the time at which the transaction began:
 * it may have waited for a lock. */
#define NOW_SQLITE "cast((julianday('now') - 2440587.5) * 86400000 as integer)"
#define NOW_POSTGRES                                     \
    "cast(extract(epoch from clock_timestamp()) * 1000 " \
    "as bigint)"
#define BOTH(text) .sqlite = text(NOW_SQLITE), .postgres = text(NOW_POSTGRES)

#define OPEN(now)                                                          \
    "insert into store_node (node, role, place, session, expires) values " \
    "($1, $2, $3, $4, " now " + $5) on conflict (node, role) do update "   \
    "set expires = excluded.expires "                                      \
    "where store_node.place = excluded.place returning session"

#define RENEW(now)                                                       \
    "update store_node set expires = " now " + $2 where session = $1 "   \
    "returning (select count(*) from store_node other where other.role " \
    "= $3 and other.session <> $1 and other.expires > " now ")"

#define FORGET_NODES(now) \
    "delete from store_node where expires <= " now " returning node"

#define LOOK(now)                                                    \
    "select l.name, n.node, l.state, n.expires - " now " "           \
    "from store_lease l join store_node n on n.session = l.session " \
    "where n.role = $1"

static const struct store_migration migrations[] = {
    { .sqlite = "create table store_node ("
                "node text not null, "
                "role text not null, "
                "place text not null, "
                "session bigint not null unique, "
                "expires bigint not null, "
                "primary key (node, role))" },
    { .sqlite = "create table store_lease ("
                "name text not null primary key, "
                "session bigint not null, "
                "state text not null)" },
    { .sqlite = NULL },
};

const struct store_statement lease_statements[] = {
    [LEASE_OPEN] = { .name = "open", BOTH(OPEN) },
    [LEASE_RENEW] = { .name = "renew", BOTH(RENEW) },
    [LEASE_FORGET_NODES] = { .name = "forget_nodes", BOTH(FORGET_NODES) },
    [LEASE_FORGET] = { .name = "forget",
                       .sql = "delete from store_lease where not exists "
                              "(select 1 from store_node n where "
                              "n.session = store_lease.session)" },
    [LEASE_CLAIM] = { .name = "claim",
                      .sqlite = "insert into store_lease "
                                "(name, session, state) "
                                "select value, $1, '' from json_each($2) "
                                "where true on conflict (name) do update "
                                "set session = excluded.session "
                                "where store_lease.session = excluded.session "
                                "returning name",
                      .postgres =
                          "insert into store_lease (name, session, state) "
                          "select value, cast($1 as bigint), '' from "
                          "json_array_elements_text(cast($2 as json)) "
                          "on conflict (name) do update "
                          "set session = excluded.session "
                          "where store_lease.session = excluded.session "
                          "returning name" },
    [LEASE_RELEASE] = { .name = "release",
                        .sqlite = "delete from store_lease where session = $1 "
                                  "and name in "
                                  "(select value from json_each($2))",
                        .postgres =
                            "delete from store_lease where session = $1 "
                            "and name in (select value from "
                            "json_array_elements_text(cast($2 as json)))" },
    [LEASE_SAY] = { .name = "say",
                    .sqlite = "update store_lease "
                              "set state = json_extract(value, '$[1]') "
                              "from json_each($2) where session = $1 and "
                              "name = json_extract(value, '$[0]')",
                    .postgres = "update store_lease set state = value->>1 "
                                "from json_array_elements(cast($2 as json)) "
                                "where session = $1 and name = value->>0" },
    [LEASE_LOOK] = { .name = "look", BOTH(LOOK) },
    [LEASE_CLOSE] = { .name = "close",
                      .sql = "delete from store_lease where session = $1" },
    [LEASE_LEAVE] = { .name = "leave",
                      .sql = "delete from store_node where session = $1" },
    [LEASE_STATEMENTS] = { .name = NULL },
};

const struct store_schema lease_schema = {
    .name = "lease",
    .migrations = migrations,
    .statements = lease_statements,
};
