/*
 * Wishes for named instances are noted, and granted when all is filled.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/instance.h"

#include <string.h>

struct wish { /* in the source's pool */
    struct wish *next;
    const struct conf_key *key;
    struct conf_instance *field;
    const struct scope *in;
    size_t at;
};

/* A list at the root. */
struct named_list {
    const struct conf_key *key;
    const struct conf_groups *groups;
};

/* ---- noting ---- */

/* The scopes of the walk live as long as it is in them. */
static const struct scope *
copy_scope(struct pool *pool, const struct scope *in)
{
    struct scope *copy;

    if (in == NULL) {
        return NULL;
    }
    copy = pool_zero(pool, sizeof(*copy));
    *copy = *in;
    copy->up = copy_scope(pool, in->up);
    return copy;
}

void
instance_wish(struct reader *r, const struct scope *in,
              const struct conf_key *key, struct conf_instance *field,
              size_t at)
{
    struct wish *w = pool_zero(r->source->pool, sizeof(*w));

    *w = (struct wish){ r->wishes, key, field, copy_scope(r->source->pool, in),
                        at };
    r->wishes = w;
}

/* ---- finding ---- */

static bool
find_row(const struct conf_key *keys, const void *settings, const char *name,
         struct named_list *out)
{
    for (; keys->name != NULL; keys++) {
        if (keys->type == CONF_GROUPS && strcmp(keys->name, name) == 0) {
            out->key = keys;
            out->groups = (const void *)((const char *)settings + keys->offset);
            return true;
        }
    }
    return false;
}

static bool
find_list(const struct conf_key *keys, const void *settings, const char *name,
          struct named_list *out)
{
    if (find_row(keys, settings, name, out)) {
        return true;
    }
    for (; keys->name != NULL; keys++) {
        const struct conf_parts *parts =
            (const void *)((const char *)settings + keys->offset);
        struct conf_part part;

        for (size_t i = 0; keys->type == CONF_PARTS && keys->part(i, &part);
             i++) {
            if (part.keys != NULL &&
                find_row(part.keys, parts->settings[i], name, out)) {
                return true;
            }
        }
    }
    return false;
}

struct str
instance_name(const struct conf_key *key, const struct conf_groups *all,
              size_t i)
{
    const char *item = (const char *)all->items + i * key->size;

    for (const struct conf_key *k = key->keys; k->name != NULL; k++) {
        if (k->type == CONF_STRING && strcmp(k->name, "name") == 0) {
            return *(const struct str *)(const void *)(item + k->offset);
        }
    }
    return STR_NONE;
}

static void
take(const struct wish *w, const struct named_list *list, size_t i)
{
    w->field->name = instance_name(list->key, list->groups, i);
    w->field->settings =
        (const char *)list->groups->items + i * list->key->size;
}

static void
say_unknown(struct reader *r, const struct wish *w,
            const struct named_list *list)
{
    struct near_name near;
    struct errmsg err;

    near_start(&near, str_first(w->field->name, 80));
    for (size_t i = 0; i < list->groups->count; i++) {
        near_try(&near, pool_cstr(r->source->pool,
                                  instance_name(list->key, list->groups, i)));
    }
    if (near.best != NULL) {
        errmsg_set(&err, "there is no %s \"%.*s\"; did you mean \"%s\"?",
                   w->key->of, STR_ARGS(w->field->name), near.best);
    } else {
        errmsg_set(&err, "there is no %s \"%.*s\" in the file", w->key->of,
                   STR_ARGS(w->field->name));
    }
    reader_mistake(r, w->in, w->key->name, w->at, err.text);
}

/* Which of several, or why there has to be one. */
static void
say_missing(struct reader *r, const struct wish *w,
            const struct named_list *list)
{
    struct str names = STR_NONE;

    for (size_t i = 0; i < list->groups->count; i++) {
        names =
            pool_printf(r->source->pool, "%.*s%s\"%.*s\"", STR_ARGS(names),
                        i > 0 ? ", " : "",
                        STR_ARGS(instance_name(list->key, list->groups, i)));
    }
    names = names.len > 0
                ? pool_printf(r->source->pool, "must be one of %.*s",
                              STR_ARGS(names))
                : pool_printf(r->source->pool, "there is no %s in the file",
                              w->key->of);
    reader_mistake(r, w->in, w->key->name, w->at, names.ptr);
}

static void
find(struct reader *r, const struct wish *w, const struct named_list *list)
{
    size_t count = list->groups->count;

    if (w->field->name.len == 0) {
        if (count == 1) {
            take(w, list, 0);
        } else if (count > 1 || w->key->preset == NULL) {
            say_missing(r, w, list);
        }
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (str_eq(instance_name(list->key, list->groups, i), w->field->name)) {
            take(w, list, i);
            return;
        }
    }
    say_unknown(r, w, list);
}

void
instance_find_all(struct reader *r, const struct conf_key *keys,
                  const void *settings)
{
    static const struct conf_groups none = { .count = 0 };

    for (const struct wish *w = r->wishes; w != NULL; w = w->next) {
        struct named_list list = { .groups = &none };

        find_list(keys, settings, w->key->of, &list);
        find(r, w, &list);
    }
}
