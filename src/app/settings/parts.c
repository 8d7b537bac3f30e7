/*
 * Additions of modules to weir's own settings: rows at the root and in an
 * application, values of "publish".
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/rows.h"

#include <assert.h>

#include "app/module.h"

/* ---- publish ---- */

#define PUBLISH_WORDS 8   /* "open" and the NULL at the end among them */
#define PUBLISH_PRESET 32 /* bytes */

static const char own_publish_value[] = "open";

const char *settings_publish_words[PUBLISH_WORDS];
char settings_publish_preset[PUBLISH_PRESET];

/* Comes to the same whenever it is called: what modules say is constant. */
void
settings_publish_fill(void)
{
    size_t n = 0;

    for (size_t i = 0; modules[i] != NULL; i++) {
        const char *value = modules[i]->publish;

        if (value != NULL) {
            assert(n < PUBLISH_WORDS - 2); /* more of them need more room */
            settings_publish_words[n++] = value;
        }
        if (value != NULL && modules[i]->publish_default) {
            str_copy(settings_publish_preset, PUBLISH_PRESET, str_from(value));
        }
    }
    settings_publish_words[n++] = own_publish_value;
    settings_publish_words[n] = NULL;
}

const char *
settings_own_publish_value(size_t i)
{
    return i == 0 ? own_publish_value : NULL;
}

/* ---- names ---- */

/* Row number i that stands in the file. */
static const char *
name_at(const struct conf_key *keys, size_t i)
{
    for (; keys->name != NULL; keys++) {
        if (keys->type != CONF_WHERE && keys->type != CONF_PARTS && i-- == 0) {
            return keys->name;
        }
    }
    return NULL;
}

const char *
settings_own_name(size_t i)
{
    return name_at(settings_rows(), i);
}

const char *
settings_own_application_name(size_t i)
{
    return name_at(settings_application_keys, i);
}

/* ---- rows ---- */

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
