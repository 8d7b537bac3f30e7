/*
 * Noting failures of roles.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/role_failure.h"

#include <signal.h>
#include <string.h>

#include "app/roles.h"
#include "base/log.h"

/* A role of several processes fails while one of them does. */
static bool
another_fails(const struct child *c)
{
    LIST_EACH (node, &c->all->list) {
        const struct child *other = LIST_ITEM(node, struct child, link);

        if (other != c && other->role == c->role && other->failed) {
            return true;
        }
    }
    return false;
}

void
role_fails(struct child *c, const char *why)
{
    char name[CHILD_NAME];
    bool known = c->failed && strcmp(c->why.text, why) == 0;

    if (c->role == NULL) {
        return;
    }
    c->failed = true;
    str_copy(c->why.text, sizeof(c->why.text), str_from(why));
    roles_set_failing(c->role, true);
    log_write(known ? LOG_DEBUG : LOG_ERROR,
              "%s cannot start: %s; the rest serves, and it is tried again",
              child_name(c, name), why);
}

void
role_judge_end(struct child *c)
{
    if (c->role == NULL || !c->keep || c->restarts) {
        return;
    }
    if (!c->ready && !c->failed) {
        role_fails(c, "it ended before it was ready");
    } else if (c->ready && child_in_crash_loop(c)) {
        c->loops = true;
        role_fails(c, "it ends soon after each start");
    }
}

void
role_is_well(struct child *c)
{
    char name[CHILD_NAME];

    if (!c->failed) {
        return;
    }
    c->failed = c->loops = false;
    c->why.text[0] = '\0';
    if (!another_fails(c)) {
        roles_set_failing(c->role, false);
    }
    log_notice("%s has started: all is well with it again",
               child_name(c, name));
}

/* Those that were forked while it failed have no store. */
static void
start_again_without(const struct children *all)
{
    LIST_EACH (node, &all->list) {
        struct child *c = LIST_ITEM(node, struct child, link);

        if (c->role != NULL && !c->role->first && c->lacks && c->pid != 0) {
            c->restarts = true;
            kill(c->pid, SIGTERM);
        }
    }
}

/* One that ends soon after each start has to live first. */
bool
role_judge_ready(struct child *c)
{
    bool was = c->failed && c->role->first;

    if (c->failed && c->loops) {
        timer_set(c->all->loop, &c->again, FORGIVEN_MS);
        return false;
    }
    role_is_well(c);
    if (was) {
        start_again_without(c->all);
    }
    return was;
}

void
role_note_lack(struct child *c)
{
    c->lacks = false;
    LIST_EACH (node, &c->all->list) {
        const struct child *other = LIST_ITEM(node, struct child, link);

        c->lacks |= other->role != NULL && other->role->first && other->failed;
    }
}

void
role_failure_late(struct children *all)
{
    LIST_EACH (node, &all->list) {
        struct child *c = LIST_ITEM(node, struct child, link);

        if (c->role != NULL && !c->ready && !c->failed) {
            role_fails(c, "it was not ready within 10 s");
        }
    }
}
