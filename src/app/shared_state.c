/*
 * Making and unmaking what all processes share.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/shared_state.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/node_state.h"
#include "base/hash.h"
#include "base/log.h"
#include "live/live.h"
#include "proc/bus.h"
#include "proc/census.h"
#include "proc/life.h"
#include "proc/logring.h"
#include "proc/pace.h"
#include "proc/slot.h"

#define GENERATIONS 8   /* of workers that may run at once */
#define WORKERS_MIN 8   /* slots for so many, for a later reload */
#define SLOT_FILES 3    /* descriptors of a slot: eventfd and mailbox */
#define ROOM_FILES 1024 /* beside those and those of connections */

/* ---- limits ---- */

static rlim_t
wanted_files(const struct settings *s, uint32_t slots)
{
    rlim_t own = slots * SLOT_FILES + ROOM_FILES;

    if (s->worker_rlimit_nofile == 0) {
        return (rlim_t)s->worker_connections + own;
    }
    return (rlim_t)s->worker_rlimit_nofile > own
               ? (rlim_t)s->worker_rlimit_nofile
               : own;
}

/* Raises the number of open files as far as may be; children inherit it. */
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

static uint32_t
count_slots(const struct generation *g, const struct module *const *table)
{
    uint32_t workers = g->workers > WORKERS_MIN ? g->workers : WORKERS_MIN;
    uint32_t roles = 0;

    for (size_t i = 0; table[i] != NULL; i++) {
        const struct role *r = table[i]->roles;

        for (; r != NULL && r->name != NULL; r++) {
            roles += r->count;
        }
    }
    /* One for the master; a role's successor may start before it ended. */
    return 1 + workers * GENERATIONS + 2 * roles;
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
    raise_files(s, slots);
    hash_init();
    if (make_folder(s->pid, err) == -1 ||
        pidfile_create(s->pid.ptr, err) == -1 ||
        slots_create(slots, err) == -1 || bus_create(err) == -1 ||
        logring_create(err) == -1 || life_create(err) == -1 ||
        node_state_create(err) == -1 ||
        pace_create((size_t)s->limits.keys, err) == -1 ||
        census_create((size_t)s->limits.keys, slots, err) == -1) {
        return -1;
    }
    return live_create(&s->live, err);
}

int
shared_state_start(const struct generation *g, struct errmsg *err)
{
    atomic_store(&slot_at(0)->state, SLOT_READY);
    if (logring_start(err) == -1) {
        return -1;
    }
    log_set_sink(logring_sink, NULL);
    warn_about_files(g->settings);
    return 0;
}

void
shared_state_destroy(void)
{
    logring_stop();
    log_set_sink(NULL, NULL);
    logring_destroy();
    live_destroy();
    node_state_destroy();
    census_destroy();
    pace_destroy();
    life_destroy();
    bus_destroy();
    slots_destroy();
    pidfile_remove();
}
