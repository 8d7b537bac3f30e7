/*
 * Comparing two configurations: what a reload cannot change.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/layout.h"

#include <string.h>

#include "base/errmsg.h"

/* Two groups of the same rows. */
struct pair {
    const struct conf_key *keys;
    const char *a, *b; /* their settings */
    bool whole;        /* they lie in something marked CONF_RESTART */
};

static int compare_rows(const struct pair *p, struct errmsg *err);

const struct conf_key *
conf_extra_keys(const struct conf_key *key, const struct conf_extra *extra)
{
    struct conf_choice choice = { .keys = NULL };
    struct errmsg unused;

    if (extra->settings == NULL ||
        key->choose(extra->name, &choice, &unused) == -1) {
        return NULL;
    }
    return choice.keys;
}

static bool
same_strings(const struct conf_strings *a, const struct conf_strings *b)
{
    if (a->count != b->count) {
        return false;
    }
    for (size_t i = 0; i < a->count; i++) {
        if (!str_eq(a->items[i], b->items[i])) {
            return false;
        }
    }
    return true;
}

static bool
same_value(enum conf_type type, const void *a, const void *b)
{
    switch (type) {
    case CONF_STRING:
        return str_eq(*(const struct str *)a, *(const struct str *)b);
    case CONF_INT:
    case CONF_TIME:
    case CONF_SIZE:
        return *(const int64_t *)a == *(const int64_t *)b;
    case CONF_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case CONF_ENUM:
        return *(const int *)a == *(const int *)b;
    case CONF_STRINGS:
        return same_strings(a, b);
    case CONF_GROUP:
    case CONF_GROUPS:
    case CONF_WHERE:
    case CONF_EXTRA:
        return true;
    }
    return true;
}

/* The row with the name that an item of a list goes by, if there is one. */
static const struct conf_key *
name_row(const struct conf_key *keys)
{
    for (; keys->name != NULL; keys++) {
        if (keys->type == CONF_STRING && strcmp(keys->name, "name") == 0) {
            return keys;
        }
    }
    return NULL;
}

/* The item of list that is the same thing as item number i of another one:
 * the one of its name, or, without names, at its place.  NULL: it is gone. */
static const char *
counterpart(const struct conf_key *key, const struct conf_groups *list,
            const char *item, size_t i)
{
    const struct conf_key *name = name_row(key->keys);
    const char *items = list->items;

    if (name == NULL) {
        return i < list->count ? items + i * key->size : NULL;
    }
    for (size_t k = 0; k < list->count; k++) {
        const char *other = items + k * key->size;

        if (same_value(CONF_STRING, item + name->offset,
                       other + name->offset)) {
            return other;
        }
    }
    return NULL;
}

static int
compare_groups(const struct conf_key *key, const struct conf_groups *a,
               const struct conf_groups *b, bool whole, struct errmsg *err)
{
    const char *items = a->items;

    if (whole && a->count != b->count) {
        return errmsg_set(err, "%s", key->name);
    }
    for (size_t i = 0; i < a->count; i++) {
        const char *item = items + i * key->size;
        const char *other = counterpart(key, b, item, i);
        struct pair pair = { key->keys, item, other, whole };

        if (whole && other == NULL) {
            return errmsg_set(err, "%s", key->name);
        }
        if (other != NULL && compare_rows(&pair, err) == -1) {
            return errmsg_prefix(err, "%s.", key->name);
        }
    }
    return 0;
}

static int
compare_extra(const struct conf_key *key, const struct conf_extra *a,
              const struct conf_extra *b, bool whole, struct errmsg *err)
{
    struct pair pair = { conf_extra_keys(key, a), a->settings, b->settings,
                         whole };

    if (a->what != b->what) {
        return whole ? errmsg_set(err, "%s", key->name) : 0;
    }
    return pair.keys != NULL ? compare_rows(&pair, err) : 0;
}

static int
compare_key(const struct conf_key *key, const void *a, const void *b,
            bool whole, struct errmsg *err)
{
    struct pair pair = { key->keys, a, b, whole };

    if (key->type == CONF_GROUP) {
        return compare_rows(&pair, err) == -1
                   ? errmsg_prefix(err, "%s.", key->name)
                   : 0;
    }
    if (key->type == CONF_GROUPS) {
        return compare_groups(key, a, b, whole, err);
    }
    if (key->type == CONF_EXTRA) {
        return compare_extra(key, a, b, whole, err);
    }
    if (whole && !same_value(key->type, a, b)) {
        return errmsg_set(err, "%s", key->name);
    }
    return 0;
}

static int
compare_rows(const struct pair *p, struct errmsg *err)
{
    for (const struct conf_key *k = p->keys; k->name != NULL; k++) {
        bool whole = p->whole || k->change == CONF_RESTART;

        if (compare_key(k, p->a + k->offset, p->b + k->offset, whole, err) ==
            -1) {
            return -1;
        }
    }
    return 0;
}

int
conf_same_start(const struct conf *a, const struct conf *b, struct errmsg *err)
{
    struct pair all = { a->keys, a->settings, b->settings, false };

    return compare_rows(&all, err);
}
