/*
 * Going over the tables of roles.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/role_table.h"

#include "app/child/folders.h"
#include "app/child/role.h"
#include "app/roles.h"

static void
count(void *arg, const struct role *r)
{
    uint32_t *n = arg;

    *n += r->count;
}

uint32_t
role_table_count(const struct module *const *table)
{
    uint32_t n = 0;

    roles_each(table, count, &n);
    return n;
}

static bool
is_wanted(const struct role *r, const struct settings *s)
{
    return r->wanted == NULL || r->wanted(s);
}

struct preparing {
    const struct settings *settings;
    struct errmsg *err;
    int result;
};

static void
make_folders(void *arg, const struct role *r)
{
    struct rights rights = { .fork = false };
    struct preparing *p = arg;

    if (p->result == -1 || r->may == NULL || !is_wanted(r, p->settings)) {
        return;
    }
    r->may(role_settings(r, p->settings), &rights);
    p->result = folders_make(&rights, p->settings, p->err);
    rights_clear(&rights);
}

int
role_table_make_folders(const struct module *const *table,
                        const struct settings *s, struct errmsg *err)
{
    struct preparing p = { .settings = s, .err = err };

    roles_each(table, make_folders, &p);
    return p.result;
}

struct step {
    struct children *children;
    const struct generation *g;
    bool first_only;
};

static void
start(void *arg, const struct role *r)
{
    const struct step *s = arg;

    if ((r->first || !s->first_only) && is_wanted(r, s->g->settings) &&
        !children_has_role(s->children, r)) {
        children_start_role(s->children, s->g, r);
    }
}

void
role_table_start(struct children *c, const struct module *const *table,
                 const struct generation *g, bool first_only)
{
    struct step s = { .children = c, .g = g, .first_only = first_only };

    roles_each(table, start, &s);
}

bool
role_table_first_ready(const struct children *c, const struct generation *g)
{
    LIST_EACH (node, &c->list) {
        const struct child *child = LIST_ITEM(node, struct child, link);

        if (child->role != NULL && child->role->first &&
            child->generation == g && child->keep && !child->ready &&
            !child->failed) {
            return false;
        }
    }
    return true;
}

static void
move(void *arg, const struct role *r)
{
    const struct step *s = arg;

    if (is_wanted(r, s->g->settings)) {
        children_move_role(s->children, r, s->g);
    } else {
        children_end_role(s->children, r, s->g);
    }
}

void
role_table_move(struct children *c, const struct module *const *table,
                const struct generation *g)
{
    struct step s = { .children = c, .g = g };

    roles_each(table, move, &s);
    roles_each(table, start, &s);
}
