/*
 * The rights of a client, by the credentials that the kernel gives for the
 * other end of the socket.
 *
 * Names become numbers when the settings come in force: looking a name up may
 * take long, and must not while a client waits.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/control_impl.h"

#include <unistd.h>

#include "base/mem.h"
#include "proc/life.h"

const char *
control_level_name(enum control_level level)
{
    static const char *const names[] = { "none", "user", "operator", "admin" };

    return names[level];
}

static int
read_rule(const struct control_user_settings *s, struct control_rule *r,
          struct errmsg *err)
{
    r->group = s->gid.len > 0;
    r->level = (enum control_level)(s->level + CONTROL_USER);
    return r->group ? privilege_group_id(s->gid, &r->id, err)
                    : privilege_user_id(s->uid, &r->id, err);
}

int
control_rules_read(struct control_rules *r, const struct control_settings *s,
                   struct errmsg *err)
{
    r->count = s->users.count;
    r->others = (enum control_level)s->others;
    r->list = mem_zero((r->count + 1) * sizeof(*r->list));
    for (size_t i = 0; i < r->count; i++) {
        if (read_rule(settings_control_user(s, i), &r->list[i], err) == -1) {
            control_rules_clear(r);
            return errmsg_prefix(err, "control.users: ");
        }
    }
    return 0;
}

void
control_rules_clear(struct control_rules *r)
{
    mem_free(&r->list);
    r->count = 0;
}

static bool
in_group(const struct control_peer *p, gid_t group)
{
    if (p->gid == group) {
        return true;
    }
    for (size_t i = 0; i < p->group_count; i++) {
        if (p->groups[i] == group) {
            return true;
        }
    }
    return false;
}

enum control_level
control_rules_level(const struct control_rules *r, const struct control_peer *p)
{
    enum control_level level = CONTROL_NONE;
    bool named = false;

    if (p->uid == 0 || p->uid == geteuid()) {
        return CONTROL_ADMIN;
    }
    for (size_t i = 0; i < r->count; i++) {
        const struct control_rule *rule = &r->list[i];

        if (rule->group ? in_group(p, rule->id) : p->uid == rule->id) {
            named = true;
            level = rule->level > level ? rule->level : level;
        }
    }
    return named ? level : r->others;
}
