/*
 * Looking into the table of modules, and whether they get along.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/module.h"

#include <string.h>

#include "app/control/verb.h"
#include "proc/metric.h"

#define NEAR \
    3 /* edits that count as a slip in a long name; one in four letters */

const struct module *
module_find(struct str name)
{
    for (size_t i = 0; modules[i] != NULL; i++) {
        if (str_eq(str_from(modules[i]->name), name)) {
            return modules[i];
        }
    }
    return NULL;
}

int
module_unknown(struct str name, struct errmsg *err)
{
    const char *nearest = NULL;
    size_t near = (name.len + 1) / 4, best;

    near = near < 1 ? 1 : near < NEAR ? near : NEAR;
    best = near + 1;
    for (size_t i = 0; modules[i] != NULL; i++) {
        size_t d = str_distance(name, str_from(modules[i]->name), near);

        if (d < best) {
            best = d;
            nearest = modules[i]->name;
        }
    }
    if (nearest == NULL) {
        return errmsg_set(err,
                          "there is no module \"%.*s\" (weir -V lists "
                          "them)",
                          STR_ARGS(name));
    }
    return errmsg_set(err, "there is no module \"%.*s\"; did you mean \"%s\"?",
                      STR_ARGS(name), nearest);
}

/* ---- one name, one module ---- */

/* Name number i that a module takes; asked from 0 on, NULL ends. */
typedef const char *taken_name(const struct module *m, size_t i);

static const char *
own_name(const struct module *m, size_t i)
{
    return i == 0 ? m->name : NULL;
}

static const char *
publish_value(const struct module *m, size_t i)
{
    return i == 0 ? m->publish : NULL;
}

static const char *
command(const struct module *m, size_t i)
{
    return m->verbs != NULL ? m->verbs[i].words : NULL;
}

static const char *
metric(const struct module *m, size_t i)
{
    return m->metrics != NULL ? m->metrics[i].name : NULL;
}

static const char *
root_row(const struct module *m, size_t i)
{
    return m->root.keys != NULL ? m->root.keys[i].name : NULL;
}

static const char *
application_row(const struct module *m, size_t i)
{
    return m->application.keys != NULL ? m->application.keys[i].name : NULL;
}

/* How often m takes that name. */
static size_t
count_taken(const struct module *m, taken_name *taken, const char *name)
{
    const char *other;
    size_t count = 0;

    for (size_t i = 0; (other = taken(m, i)) != NULL; i++) {
        count += strcmp(other, name) == 0;
    }
    return count;
}

/* No name of table[a] is taken twice by it, or by a module behind it. */
static int
check_module(const struct module *const *table, size_t a, taken_name *taken,
             const char *what, struct errmsg *err)
{
    const char *name;

    for (size_t i = 0; (name = taken(table[a], i)) != NULL; i++) {
        for (size_t b = a; table[b] != NULL; b++) {
            if (count_taken(table[b], taken, name) > (a == b ? 1 : 0)) {
                return errmsg_set(err,
                                  "modules \"%s\" (%s) and \"%s\" (%s) both "
                                  "have the %s \"%s\"",
                                  table[a]->name, table[a]->about,
                                  table[b]->name, table[b]->about, what, name);
            }
        }
    }
    return 0;
}

/* No name of m is weir's own. */
static int
check_own(const struct module *m, taken_name *taken,
          const char *(*own)(size_t i), const char *what, struct errmsg *err)
{
    const char *name, *ours;

    for (size_t i = 0; (name = taken(m, i)) != NULL; i++) {
        for (size_t k = 0; own != NULL && (ours = own(k)) != NULL; k++) {
            if (strcmp(name, ours) == 0) {
                return errmsg_set(err,
                                  "module \"%s\" (%s) has the %s \"%s\", which "
                                  "is weir's own",
                                  m->name, m->about, what, name);
            }
        }
    }
    return 0;
}

int
module_check_table(const struct module *const *table,
                   const struct own_names *own, struct errmsg *err)
{
    const struct {
        taken_name *taken;
        const char *(*own)(size_t i); /* NULL: weir takes none */
        const char *what;
    } kinds[] = {
        { own_name, NULL, "name" },
        { command, own->command, "command" },
        { metric, own->metric, "metric" },
        { root_row, own->setting, "setting" },
        { application_row, own->application_setting,
          "setting of an application" },
        { publish_value, own->publish_value, "value of publish" },
    };

    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        for (size_t a = 0; table[a] != NULL; a++) {
            if (check_module(table, a, kinds[k].taken, kinds[k].what, err) ==
                    -1 ||
                check_own(table[a], kinds[k].taken, kinds[k].own, kinds[k].what,
                          err) == -1) {
                return -1;
            }
        }
    }
    return 0;
}
