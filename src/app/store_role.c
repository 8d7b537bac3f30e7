/*
 * The keeper's role, and what the master does for it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/store_role.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/database_lock.h"
#include "app/roles.h"
#include "proc/life.h"
#include "proc/reach.h"
#include "proc/rights.h"
#include "store/bus.h"
#include "store/postgres/keeper.h"
#include "store/sqlite/keeper.h"

/* ---- who needs it ---- */

static void
look_at_layer(void *arg, const struct conf_extra *layer)
{
    const struct module *m = layer->what;
    bool *found = arg;

    *found |= m != NULL && m->store != NULL;
}

/* Does a module decide who publishes there, and keep what it knows? */
static bool
asks_store(const struct rtmp_application_settings *a)
{
    for (size_t i = 0; modules[i] != NULL; i++) {
        if (modules[i]->publish != NULL && modules[i]->store != NULL &&
            str_eq(a->publish, str_from(modules[i]->publish))) {
            return true;
        }
    }
    return false;
}

static bool
any_asks_store(const struct rtmp_server_settings *r)
{
    const struct rtmp_application_settings *a = r->applications.items;

    for (size_t i = 0; i < r->applications.count; i++) {
        if (asks_store(&a[i])) {
            return true;
        }
    }
    return false;
}

bool
store_role_wanted(const struct settings *s)
{
    bool found = false;

    settings_each_layer(s, look_at_layer, &found);
    for (size_t i = 0; i < s->rtmp.servers.count && !found; i++) {
        found = any_asks_store(settings_rtmp_server(&s->rtmp, i));
    }
    return found;
}

void
store_role_register(const struct module *const *table)
{
    store_prepare();
    for (size_t i = 0; table[i] != NULL; i++) {
        if (table[i]->store != NULL) {
            store_register(table[i]->store);
        }
    }
}

int
store_role_connect(struct loop *l, const struct settings *s,
                   struct task_threads *threads, struct errmsg *err)
{
    if (!store_role_wanted(s)) {
        return 0;
    }
    if (roles_is_failing(store_roles)) {
        /* The rest of this process serves.  A database that the keeper refuses
         * is not this one's either: a newer weir may have made it. */
        store_open_away(l, &s->store);
        return 0;
    }
    return store_open(l, &s->store, threads, err);
}

/* ---- files ---- */

static bool
is_roots_alone(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == 0 &&
           st.st_nlink == 1;
}

/* One that is there and is not root's stays as it is: it may be somebody's.
 * Root's is of a weir whose processes were root's. */
static int
make_file(const char *path, uid_t owner, struct errmsg *err)
{
    int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                  0600);
    int rc = 0;

    if (fd == -1) {
        return access(path, F_OK) == 0
                   ? 0
                   : errmsg_sys(err, "cannot make %s", path);
    }
    if (owner != 0 && is_roots_alone(fd) &&
        fchown(fd, owner, (gid_t)-1) == -1) {
        rc = errmsg_sys(err, "cannot give %s to its user", path);
    }
    close(fd);
    return rc;
}

static int
make_folder_of(const char *path, struct errmsg *err)
{
    char folder[PATH_MAX];
    char *slash;

    str_copy(folder, sizeof(folder), str_from(path));
    slash = strrchr(folder, '/');
    if (slash == NULL || slash == folder) {
        return 0;
    }
    *slash = '\0';
    if (mkdir(folder, 0755) == -1 && errno != EEXIST) {
        return errmsg_sys(err, "cannot make the folder %s", folder);
    }
    return 0;
}

static bool made; /* never twice: a database that is gone may come back */

void
store_role_forget(const struct settings *s)
{
    made = made && store_role_wanted(s);
}

int
store_role_prepare(const struct settings *s, struct errmsg *err)
{
    /* The database, its write-ahead log and the index of that. */
    static const char *const ends[] = { "", "-wal", "-shm" };
    uid_t owner = 0;
    char path[PATH_MAX];

    if (made || !store_role_wanted(s) || s->store.backend == STORE_POSTGRES) {
        return 0;
    }
    if (geteuid() == 0 &&
        privilege_user_id(privilege_user(s->user), &owner, err) == -1) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        snprintf(path, sizeof(path), "%.*s%s", STR_ARGS(s->store.path),
                 ends[i]);
        if ((i == 0 && make_folder_of(path, err) == -1) ||
            make_file(path, owner, err) == -1) {
            return errmsg_prefix(err, "store: ");
        }
    }
    if (database_lock(s, err) == -1) {
        return errmsg_prefix(err, "store: ");
    }
    made = true;
    return 0;
}

/* ---- the role ---- */

/* The master has made the database.  One that is gone since is not made anew:
 * what was in it may come back, and others have it open. */
static int
start(const struct role_process *p, void **state, struct errmsg *err)
{
    const struct settings *s = p->settings;

    (void)state;
    if (s->store.backend == STORE_POSTGRES) {
        return postgres_keeper_start(p->loop, &s->store, err);
    }

    struct reach way = reach_of(s->store.path.ptr);

    if (faccessat(way.at, way.path, R_OK | W_OK, 0) == -1) {
        return errmsg_sys(err, "%s cannot open %.*s", privilege_who(),
                          STR_ARGS(s->store.path));
    }
    return keeper_start(p->loop, &s->store, err);
}

/* Its database grows and shrinks; it is open before the sandbox is entered. */
static void
may(const void *settings, struct rights *r)
{
    const struct settings *s = settings;

    r->resize = s->store.backend != STORE_POSTGRES;
}

/* One of the two was started. */
static void
stop(void *state)
{
    (void)state;
    keeper_stop();
    postgres_keeper_stop();
}

const struct role store_roles[] = {
    { .name = KEEPER_NAME,
      .count = 1,
      .first = true,
      .wanted = store_role_wanted,
      .start = start,
      .may = may,
      .stop = stop },
    { .name = NULL },
};
