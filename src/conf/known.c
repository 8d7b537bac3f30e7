/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/known.h"

#include <string.h>

#include "base/mem.h"
#include "conf/others.h"

void
known_add(struct reader *r, struct rows *rows, const struct conf_key *keys)
{
    const struct conf_key **tables =
        pool_zero(r->source->pool, (rows->count + 1) * sizeof(*tables));

    for (size_t i = 0; i < rows->count; i++) {
        tables[i] = rows->tables[i];
    }
    tables[rows->count++] = keys;
    rows->tables = tables;
}

/* Can it stand in the file?  The key of an EXTRA row can, too. */
static bool
is_written(const struct conf_key *key)
{
    return key->type != CONF_WHERE && key->type != CONF_PARTS;
}

static bool
is_known(const struct rows *rows, const char *name)
{
    for (size_t i = 0; i < rows->count; i++) {
        for (const struct conf_key *k = rows->tables[i]; k->name; k++) {
            if (is_written(k) && strcmp(k->name, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* The nearest name, or all that there are. */
static const char *
advice(struct reader *r, const struct rows *rows, const char *name)
{
    struct near_name near;
    struct str all = STR_NONE;

    near_start(&near, str_first(str_from(name), 80));
    for (size_t i = 0; i < rows->count; i++) {
        for (const struct conf_key *k = rows->tables[i]; k->name; k++) {
            if (!is_written(k)) {
                continue;
            }
            near_try(&near, k->name);
            all = pool_printf(r->source->pool, "%.*s%s%s", STR_ARGS(all),
                              all.len > 0 ? ", " : "", k->name);
        }
    }
    if (near.best != NULL) {
        return pool_printf(r->source->pool, "is unknown, did you mean \"%s\"?",
                           near.best)
            .ptr;
    }
    return pool_printf(r->source->pool, "is unknown; there are: %.*s",
                       STR_ARGS(all))
        .ptr;
}

/* The answer for a name that another server has; NULL: none has it. */
static const char *
others(struct reader *r, const struct scope *in, const char *name)
{
    const struct scope *root = in;
    struct str answer;

    while (root->name != NULL && root->up->name != NULL) {
        root = root->up;
    }
    answer = others_answer(r->source->pool, str_from(root->name),
                           str_from(in->name), str_from(name));
    return answer.len > 0 ? pool_printf(r->source->pool, "is unknown; %.*s",
                                        STR_ARGS(answer))
                                .ptr
                          : NULL;
}

bool
known_check(struct reader *r, const struct scope *in, const config_setting_t *c,
            const struct rows *rows)
{
    const char *name = config_setting_name(c);
    size_t at = conf_token(r->source, c);
    const char *other;

    if (r->source->tokens[at].twice) {
        name = pool_cstr(r->source->pool, source_text(r->source, at));
        return reader_mistake(r, in, name, at, "is set twice");
    }
    if (rows->unsure || is_known(rows, name)) {
        return true;
    }
    other = others(r, in, name);
    return reader_mistake(r, in, name, at,
                          other != NULL ? other : advice(r, rows, name));
}
