/*
 * Roles among the master's children: over reloads, and at the end.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/children.h"

#include <signal.h>

#include "app/child/role.h"
#include "app/roles.h"
#include "base/log.h"
#include "proc/bus.h"
#include "proc/slot.h"

uint64_t
children_role_connections(const struct children *c)
{
    uint64_t n = 0;

    LIST_EACH (node, &c->list) {
        const struct child *child = LIST_ITEM(node, struct child, link);

        if (child->role != NULL && child->pid != 0) {
            n += slot_number(&slot_at(child->slot)->attached,
                             SLOT_CONNECTIONS_MOST);
        }
    }
    return n;
}

bool
children_has_role(const struct children *c, const struct role *r)
{
    LIST_EACH (node, &c->list) {
        const struct child *child = LIST_ITEM(node, struct child, link);

        if (child->role == r && child->keep) {
            return true;
        }
    }
    return false;
}

void
children_end_role(struct children *c, const struct role *r,
                  const struct generation *g)
{
    LIST_EACH (node, &c->list) {
        struct child *child = LIST_ITEM(node, struct child, link);

        if (child->role != r || !child->keep) {
            continue;
        }
        child->keep = child->failed = false;
        child->generation = g;
        roles_set_failing(r, false);
        if (child->pid != 0) {
            kill(child->pid, SIGTERM);
        } else {
            child_forget(child);
        }
    }
}

static void
tell_settings(const struct child *c)
{
    char name[CHILD_NAME];
    struct buf text;

    buf_init(&text, ROLE_SETTINGS_MAX);
    c->role->describe(c->generation->settings, &text);
    if (bus_send(c->slot, BUS_SETTINGS, buf_data(&text), buf_len(&text), -1) ==
        -1) {
        log_error("cannot tell %s its new settings", child_name(c, name));
    }
    buf_clear(&text);
}

void
children_move_role(struct children *c, const struct role *r,
                   const struct generation *to)
{
    LIST_EACH (node, &c->list) {
        struct child *child = LIST_ITEM(node, struct child, link);
        const struct generation *from = child->generation;

        if (child->role != r || !child->keep) {
            continue;
        }
        child->generation = to;
        if (child->pid == 0) {
            timer_set(c->loop, &child->again, 0); /* it may be able to now */
            continue;
        }
        if (from == to) {
            continue;
        }
        if (r->changed != NULL && r->changed(from->settings, to->settings)) {
            child->restarts = true;
            kill(child->pid, SIGTERM);
        } else if (r->describe != NULL) {
            tell_settings(child);
        }
    }
}
