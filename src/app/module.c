/*
 * Looking into the table of modules.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/module.h"

#define NEAR 3 /* edits that still count as a slip */

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
    size_t best = NEAR + 1;

    for (size_t i = 0; modules[i] != NULL; i++) {
        size_t d = str_distance(name, str_from(modules[i]->name), NEAR);

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
