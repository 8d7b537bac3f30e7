/*
 * Rows of modules among weir's own: at the root, and in an application.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/rows.h"

#include "app/module.h"

bool
settings_root_part(size_t i, struct conf_part *part)
{
    if (modules[i] == NULL) {
        return false;
    }
    *part = modules[i]->root;
    return true;
}

bool
settings_application_part(size_t i, struct conf_part *part)
{
    if (modules[i] == NULL) {
        return false;
    }
    *part = modules[i]->application;
    return true;
}

static const void *
find(const struct conf_parts *parts, const struct module *m)
{
    for (size_t i = 0; i < parts->count; i++) {
        if (modules[i] == m) {
            return parts->settings[i];
        }
    }
    return NULL;
}

const void *
settings_of_module(const struct settings *s, const struct module *m)
{
    return find(&s->modules, m);
}

const void *
settings_of_application(const struct rtmp_application_settings *a,
                        const struct module *m)
{
    return find(&a->modules, m);
}
