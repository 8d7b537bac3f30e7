/*
 * Going over the settings for what would be opened.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/trial.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "app/child/role.h"
#include "app/master/role_trial.h"
#include "app/module.h"
#include "app/roles.h"
#include "app/settings/servers.h"
#include "app/store_role.h"
#include "base/mem.h"
#include "base/path.h"
#include "net/listen.h"
#include "proc/logring.h"
#include "proc/rights.h"

struct trial {
    trial_owner *owner;
    void *arg;
    const struct settings *settings;
    struct str made; /* a folder that a start makes if it is not there */
    FILE *out;
};

static void
note(const struct trial *t, const struct conf_where *where, const char *key,
     const struct errmsg *err)
{
    fprintf(t->out, "%s:%d: %s: %s\n", where->file, where->line, key,
            err->text);
}

/* The folder that path is in; empty: the current one. */
static struct str
folder_of(struct str path)
{
    size_t len = path.len;

    while (len > 0 && path.ptr[len - 1] != '/') {
        len--;
    }
    return str_first(path, len);
}

/* Whether nothing is wrong but that the folder is still to be made. */
static bool
is_made(const struct trial *t, struct str path)
{
    char made[PATH_MAX];

    if (errno != ENOENT || t->made.len == 0 ||
        !str_eq(folder_of(path), t->made)) {
        return false;
    }
    str_copy(made, sizeof(made), str_first(t->made, t->made.len - 1));
    return access(made, F_OK) == -1 && path_try(made) == 0;
}

static void
try_log(const struct trial *t, const struct conf_where *where, const char *key,
        struct str path)
{
    struct errmsg err;

    if (path.len > 0 && !str_eq(path, STR("off")) &&
        logring_try(path.ptr, &err) == -1 && !is_made(t, path)) {
        note(t, where, key, &err);
    }
}

static void
try_address(const struct trial *t, const struct listen_settings *l)
{
    struct listen_options o = { .ip6only = l->ipv6only,
                                .freebind = l->freebind };
    struct addr_listen where;
    const char *owner;
    struct errmsg err, who;

    if (addr_parse_listen(l->address, &where, &err) == 0 &&
        (listener_try(&where, l->address.ptr, &o, &err) == 0 ||
         is_made(t, where.path))) {
        return;
    }
    if (errno == EADDRINUSE) {
        owner = t->owner(t->arg, &where, &who);
        if (owner == NULL) {
            return;
        }
        errmsg_set(&err, "%.*s is %s", STR_ARGS(l->address), owner);
    }
    note(t, &l->where, "listen", &err);
}

static void
try_addresses(const struct trial *t, const struct conf_groups *listen)
{
    for (size_t i = 0; i < listen->count; i++) {
        try_address(t, settings_listen(listen, i));
    }
}

/* A database that is not there yet is made, and its folder. */
static void
try_store(const struct trial *t, const struct settings *s)
{
    struct str folder = folder_of(s->store.path);
    struct errmsg err;
    char path[PATH_MAX];

    if (s->store.backend == STORE_POSTGRES || !store_role_wanted(s) ||
        access(s->store.path.ptr, F_OK) == 0) {
        return;
    }
    str_copy(path, sizeof(path),
             folder.len > 1 ? str_first(folder, folder.len - 1) : folder);
    if (folder.len > 0 && access(path, F_OK) == -1) {
        if (path_try(path) == -1) {
            errmsg_sys(&err, "cannot make the folder %s", path);
            note(t, &s->where, "store", &err);
        }
    } else if (path_try(s->store.path.ptr) == -1) {
        errmsg_sys(&err, "cannot make %s", s->store.path.ptr);
        note(t, &s->where, "store", &err);
    }
}

static void
try_folder(const struct trial *t, const struct role *r, struct str folder)
{
    struct errmsg err;
    char path[PATH_MAX];

    str_copy(path, sizeof(path), folder);
    if (access(path, F_OK) == -1 && path_try(path) == -1 &&
        !is_made(t, folder)) {
        errmsg_sys(&err, "cannot make the folder %s", path);
        note(t, &t->settings->where, r->name, &err);
    }
}

/* Those below which it writes (app/child/folders.h). */
static void
try_folders(void *arg, const struct role *r)
{
    const struct trial *t = arg;
    struct rights rights = { .fork = false };

    if (r->may == NULL || (r->wanted != NULL && !r->wanted(t->settings))) {
        return;
    }
    r->may(role_settings(r, t->settings), &rights);
    for (size_t i = 0; i < rights.write.count; i++) {
        try_folder(t, r, rights.write.items[i]);
    }
    rights_clear(&rights);
}

static void
check_there(const struct settings *s, FILE *out)
{
    for (size_t i = 0; modules[i] != NULL; i++) {
        if (modules[i]->check_there != NULL) {
            modules[i]->check_there(s, out);
        }
    }
}

static void
try_all(const struct trial *t, const struct settings *s)
{
    struct server_settings server;

    try_store(t, s);
    roles_each(modules, try_folders, (void *)(uintptr_t)t);
    check_there(s, t->out);
    try_log(t, &s->where, "error_log", s->error_log.file);
    for (size_t i = 0; settings_server(s, i, &server); i++) {
        try_log(t, server.where, "access_log", server.access_log);
        try_addresses(t, server.listen);
    }
}

char *
trial_there(const struct settings *s)
{
    size_t len = 0;
    char *text = NULL, *mistakes;
    FILE *out = open_memstream(&text, &len);

    if (out == NULL) {
        return NULL;
    }
    check_there(s, out);
    fclose(out);
    mistakes = len > 0 ? mem_dup(text, len) : NULL;
    mem_free(&text);
    return mistakes;
}

int
trial_open(const struct settings *s, trial_owner *owner, void *arg,
           char **mistakes)
{
    size_t len = 0;
    struct trial t = {
        .owner = owner, .arg = arg, .settings = s, .made = folder_of(s->pid)
    };
    char *text = NULL;

    *mistakes = NULL;
    t.out = open_memstream(&text, &len);
    if (t.out == NULL) {
        return 0;
    }
    try_all(&t, s);
    if (owner == trial_ask_system) {
        role_trial(s, t.out);
    }
    fclose(t.out);
    if (len > 0) {
        *mistakes = mem_dup(text, len);
    }
    mem_free(&text);
    return *mistakes == NULL ? 0 : -1;
}
