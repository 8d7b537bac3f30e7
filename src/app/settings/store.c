/*
 * The rows of the store.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/rows.h"

#include <limits.h>

#include "base/places.h"
#include "conf/rows.h"
#include "store/lease.h"

#define ENDING 16 /* what is put behind the path of the database */

/* enum store_backend */
static const char *const backends[] = { "sqlite", "postgres", NULL };

static int
check_path(struct str value, struct errmsg *err)
{
    if (value.len == 0) {
        return errmsg_set(err, "must not be empty");
    }
    if (value.len > PATH_MAX - ENDING) {
        return errmsg_set(err, "must not be longer than %d bytes",
                          PATH_MAX - ENDING);
    }
    return 0;
}

/* It is shown, and a key of the database. */
static int
check_node(struct str value, struct errmsg *err)
{
    if (value.len > LEASE_NODE_MAX) {
        return errmsg_set(err, "must not be longer than %d bytes",
                          LEASE_NODE_MAX);
    }
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] <= ' ' || value.ptr[i] > '~') {
            return errmsg_set(err, "must be of printable ASCII without "
                                   "spaces");
        }
    }
    return 0;
}

int
settings_check_store(const void *settings, struct errmsg *err)
{
    const struct store_settings *s = settings;

    if (s->backend == STORE_POSTGRES && s->conninfo.len == 0) {
        return errmsg_set(err, "backend \"postgres\" needs conninfo");
    }
    if (s->backend == STORE_SQLITE && s->conninfo.len > 0) {
        return errmsg_set(err, "conninfo goes with backend \"postgres\"");
    }
    return 0;
}

const struct conf_key settings_store_keys[] = {
    ROW(store_settings, backend, CONF_ENUM, .words = backends,
        .preset = "sqlite", .change = CONF_RESTART,
        .help = "The backend: sqlite is a database in a file, which needs no "
                "server; postgres is a server that several weirs may share."),
    ROW(store_settings, path, CONF_STRING, .preset = places_database,
        .change = CONF_RESTART, .check = check_path,
        .help = "sqlite: the database; two more files lie beside it.  They "
                "are made if they are not there, and belong to the user that "
                "weir becomes."),
    ROW(store_settings, conninfo, CONF_STRING, .preset = "", .secret = true,
        .change = CONF_RESTART, .check = store_check_conninfo,
        .help = "postgres: where the server is, as libpq reads it: "
                "\"host=db1,db2 dbname=weir user=weir password=...\" or "
                "\"postgresql://weir@db1/weir\"; libpq's environment "
                "variables, password file and service file are not used."),
    ROW(store_settings, connections, CONF_INT, .min = 1, .max = 16,
        .preset = "2", .change = CONF_RESTART,
        .help = "postgres: connections of a process for writes and long "
                "reads; it has one more, for short reads and notices."),
    ROW(store_settings, timeout, CONF_TIME, .min = 100, .max = 60000,
        .preset = "5s",
        .help = "A request that the store does not answer in this time "
                "fails."),
    ROW(store_settings, queue, CONF_INT, .min = 16, .max = 8192,
        .preset = "1024",
        .help = "Requests of one process that may wait for the store; more "
                "are refused."),
    ROW(store_settings, node, CONF_STRING, .preset = "", .change = CONF_RESTART,
        .check = check_node,
        .help = "The name of this weir among those on the same database; no "
                "two may have the same; empty: host name, a colon and the "
                "path of the pid file."),
    ROW(store_settings, node_expiry, CONF_TIME, .min = 1000, .max = 300000,
        .preset = "15s", .change = CONF_RESTART,
        .help = "When this weir could not reach the database for so long, "
                "others on it start what it ran."),
    CONF_END,
};
