/*
 * Making and unmaking what all processes share.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/shared_state.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/master/role_table.h"
#include "app/metrics/metrics.h"
#include "app/node_state.h"
#include "app/recent_log.h"
#include "app/roles.h"
#include "app/store_role.h"
#include "base/hash.h"
#include "base/log.h"
#include "http/filter/auth.h"
#include "live/live.h"
#include "net/conn.h"
#include "net/exceptions.h"
#include "net/share.h"
#include "net/tls_ticket.h"
#include "proc/bus.h"
#include "proc/census.h"
#include "proc/crash_dump.h"
#include "proc/life.h"
#include "proc/logring.h"
#include "proc/rate_limit.h"
#include "proc/refused.h"
#include "proc/rpc.h"
#include "proc/slot.h"
#include "proc/tally.h"
#include "sio/engine/engine.h"

#define SLOT_FILES 3    /* descriptors of a slot: eventfd and mailbox */
#define ROOM_FILES 1024 /* beside those and those of connections */

/* ---- limits ---- */

static rlim_t
wanted_files(const struct settings *s, uint32_t slots)
{
    rlim_t own = slots * SLOT_FILES + ROOM_FILES;
    int64_t most = s->worker_connections;

    if (s->worker_rlimit_nofile == 0) {
        most = most > s->channel.max_sessions ? most : s->channel.max_sessions;
        return (rlim_t)most + own;
    }
    return (rlim_t)s->worker_rlimit_nofile > own
               ? (rlim_t)s->worker_rlimit_nofile
               : own;
}

static void
raise_files(const struct settings *s, uint32_t slots)
{
    rlim_t wanted = wanted_files(s, slots);
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == -1) {
        return;
    }
    if (limit.rlim_max < wanted) {
        struct rlimit more = { .rlim_cur = wanted, .rlim_max = wanted };

        if (setrlimit(RLIMIT_NOFILE, &more) == 0) {
            return;
        }
        wanted = limit.rlim_max;
    }
    if (s->worker_rlimit_nofile > 0 || limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void
warn_about_files(const struct settings *s)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
        limit.rlim_cur < (rlim_t)s->worker_connections) {
        log_warn("worker_connections = %lld, but a process may only have "
                 "%llu open files",
                 (long long)s->worker_connections,
                 (unsigned long long)limit.rlim_cur);
    }
}

void
shared_state_limit(const struct generation *g)
{
    raise_files(g->settings, slots_count());
}

/* ---- pieces ---- */

/* The folder of the pid file is weir's to make ("run"). */
static int
make_folder(struct str file, struct errmsg *err)
{
    char path[PATH_MAX];
    char *slash;

    str_copy(path, sizeof(path), file);
    slash = strrchr(path, '/');
    if (slash == NULL || slash == path) {
        return 0;
    }
    *slash = '\0';
    if (mkdir(path, 0755) == -1 && errno != EEXIST) {
        return errmsg_sys(err, "cannot make the folder %s", path);
    }
    return 0;
}

/* Slots for max_generations of the most workers that a later reload may want,
 * and for one generation more, which starts before the oldest has ended.  They
 * cost memory only when used, but open files: fewer where those are scarce. */
static uint32_t
count_slots(const struct generation *g, const struct module *const *table)
{
    /* One for the master; a role's successor may start before it ended. */
    uint32_t fixed = 1 + 2 * role_table_count(table);
    uint32_t least = fixed + 2 * g->workers;
    uint32_t wanted =
        fixed + WORKERS_MAX * (uint32_t)(g->settings->max_generations + 1);
    struct rlimit limit;

    wanted = wanted < SLOT_MAX ? wanted : SLOT_MAX;
    raise_files(g->settings, wanted);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
        limit.rlim_cur / 2 / SLOT_FILES < wanted) {
        wanted = (uint32_t)(limit.rlim_cur / 2 / SLOT_FILES);
    }
    return wanted > least ? wanted : least;
}

/* Makes the shared memory of modules, and registers the methods of roles. */
static int
share(const struct module *const *table, struct errmsg *err)
{
    if (tally_register(conn_pools, err) == -1 ||
        tally_register(live_pools, err) == -1 ||
        tally_register(engine_pools, err) == -1 ||
        tally_register(auth_pools, err) == -1 ||
        rpc_register(channel_methods, err) == -1) {
        return -1;
    }
    for (size_t i = 0; table[i] != NULL; i++) {
        if (tally_register(table[i]->pools, err) == -1 ||
            rpc_register(table[i]->methods, err) == -1 ||
            (table[i]->share != NULL && table[i]->share(err) == -1)) {
            return errmsg_prefix(err, "%s: ", table[i]->name);
        }
    }
    return 0;
}

/* ---- all of it ---- */

int
shared_state_create(const struct generation *g,
                    const struct module *const *table, struct errmsg *err)
{
    const struct settings *s = g->settings;
    uint32_t slots = count_slots(g, table);

    log_set((enum log_level)s->error_log.level,
            (enum log_format)s->error_log.format);
    hash_init();
    metrics_register(table);
    store_role_register(table);
    if ((s->pid.len > 0 && (make_folder(s->pid, err) == -1 ||
                            pidfile_create(s->pid.ptr, err) == -1)) ||
        slots_create(slots, err) == -1 || crash_dump_create(slots, err) == -1 ||
        metrics_create(err) == -1 || bus_create(err) == -1 ||
        logring_create(err) == -1 || life_create(err) == -1 ||
        node_state_create(err) == -1 || roles_create(err) == -1 ||
        recent_log_create(err) == -1 || refused_create(err) == -1 ||
        tls_tickets_create(err) == -1 ||
        rate_limit_create((size_t)s->limits.keys, err) == -1 ||
        census_create((size_t)s->limits.keys, slots, err) == -1 ||
        tally_create((size_t)s->limits.keys, slots, err) == -1 ||
        exceptions_create(err) == -1) {
        return -1;
    }
    return live_create(&s->live, err) == -1 ? -1 : share(table, err);
}

int
shared_state_start(const struct generation *g, struct errmsg *err)
{
    slot_say(SLOT_READY);
    if (logring_start(err) == -1) {
        return -1;
    }
    log_set_sink(logring_sink, NULL);
    warn_about_files(g->settings);
    return 0;
}

/* Streams are kept for so long at most, whatever stands in shared memory. */
static void
allow_holds(const struct settings *s)
{
    int64_t hold = s->live.hold;

    for (size_t i = 0; i < s->rtmp.servers.count; i++) {
        const struct conf_groups *all =
            &settings_rtmp_server(&s->rtmp, i)->applications;
        const struct rtmp_application_settings *items = all->items;

        for (size_t k = 0; k < all->count; k++) {
            int64_t own = settings_hold(s, &items[k]);

            hold = own > hold ? own : hold;
        }
    }
    live_master_allow(hold, s->live.window);
}

void
shared_state_learn(const struct generation *g,
                   const struct module *const *table)
{
    metrics_learn(g);
    allow_holds(g->settings);
    share_start(NULL, g->settings->limits.ipv4_prefix,
                g->settings->limits.ipv6_prefix);
    for (size_t i = 0; table[i] != NULL; i++) {
        if (table[i]->learn != NULL) {
            table[i]->learn(g->settings, g->number);
        }
    }
}

void
shared_state_destroy(void)
{
    logring_stop();
    log_set_sink(NULL, NULL);
    logring_destroy();
    live_destroy();
    tls_tickets_destroy();
    refused_destroy();
    recent_log_destroy();
    roles_destroy();
    node_state_destroy();
    exceptions_destroy();
    tally_destroy();
    census_destroy();
    rate_limit_destroy();
    life_destroy();
    rpc_destroy();
    bus_destroy();
    metrics_destroy();
    crash_dump_destroy();
    slots_destroy();
    pidfile_remove();
}
