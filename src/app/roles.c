/*
 * Going over the tables of roles, and the word of those that fail: the bit of a
 * role is its place among all of them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/roles.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "app/channel_role.h"
#include "app/store_role.h"
#include "proc/shared.h"

#define PLACES 64 /* those behind them are not told */

static _Atomic uint64_t *failing; /* shared, the master's; NULL: not made */

/* ---- all of them ---- */

static void
each_of(const struct role *r, each_role *f, void *arg)
{
    for (; r != NULL && r->name != NULL; r++) {
        f(arg, r);
    }
}

void
roles_each(const struct module *const *table, each_role *f, void *arg)
{
    each_of(store_roles, f, arg);
    each_of(channel_roles, f, arg);
    for (size_t i = 0; table[i] != NULL; i++) {
        each_of(table[i]->roles, f, arg);
    }
}

/* ---- those that fail ---- */

int
roles_create(struct errmsg *err)
{
    if (failing == NULL) {
        failing =
            shared_create("weir roles", sizeof(*failing), SHARED_MASTER, err);
    }
    return failing != NULL ? 0 : -1;
}

void
roles_destroy(void)
{
    shared_destroy((void *)(uintptr_t)failing);
    failing = NULL;
}

struct search {
    const struct role *role;
    unsigned at, found;
};

static void
compare(void *arg, const struct role *r)
{
    struct search *s = arg;

    s->found = r == s->role ? s->at : s->found;
    s->at++;
}

/* 0: it has none. */
static uint64_t
bit_of(const struct role *r)
{
    struct search s = { .role = r, .found = PLACES };

    roles_each(modules, compare, &s);
    return s.found < PLACES ? (uint64_t)1 << s.found : 0;
}

void
roles_set_failing(const struct role *r, bool fails)
{
    uint64_t bit = bit_of(r);

    if (failing != NULL && fails) {
        atomic_fetch_or(failing, bit);
    } else if (failing != NULL) {
        atomic_fetch_and(failing, ~bit);
    }
}

bool
roles_is_failing(const struct role *r)
{
    return failing != NULL && (atomic_load(failing) & bit_of(r)) != 0;
}

struct telling {
    each_role *f;
    void *arg;
};

static void
tell(void *arg, const struct role *r)
{
    const struct telling *t = arg;

    if (roles_is_failing(r)) {
        t->f(t->arg, r);
    }
}

void
roles_each_failing(each_role *f, void *arg)
{
    struct telling t = { f, arg };

    if (failing != NULL && atomic_load(failing) != 0) {
        roles_each(modules, tell, &t);
    }
}
