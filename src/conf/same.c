/*
 * Comparing two configurations: what a reload cannot change.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/layout.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "conf/value.h"

/* Two groups of the same rows. */
struct pair {
    const struct conf_key *keys;
    const char *a, *b;     /* their settings */
    bool whole;            /* they lie in something marked CONF_RESTART */
    const struct pair *up; /* what they lie in; NULL: the root */
    const char *name;      /* of the group there; NULL: the root's, or rows
                              that stand beside those of up */
    FILE *out;             /* a line for each difference */
};

static void compare_rows(const struct pair *p);

bool
conf_is_key(const struct conf_key *key)
{
    return key->type != CONF_WHERE && key->type != CONF_EXTRA &&
           key->type != CONF_PARTS;
}

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
    case CONF_INSTANCE: /* whose name comes first */
        return str_eq(*(const struct str *)a, *(const struct str *)b);
    case CONF_INT:
    case CONF_TIME:
    case CONF_SIZE:
    case CONF_DECIMAL:
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
    case CONF_PARTS:
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

/* ---- differences ---- */

static void
print_path(const struct pair *p)
{
    if (p->up != NULL) {
        print_path(p->up);
    }
    if (p->name != NULL) {
        fprintf(p->out, "%s.", p->name);
    }
}

static void
tell(const struct pair *in, const struct conf_key *key)
{
    print_path(in);
    fprintf(in->out, "%s\n", key->name);
}

/* With both values: "live.memory (from 512M to 16M)". */
static void
tell_values(const struct pair *in, const struct conf_key *key)
{
    struct buf text;

    if (key->type == CONF_STRINGS) {
        tell(in, key);
        return;
    }
    buf_init(&text, SIZE_MAX / 2);
    value_print(key, in->a + key->offset, &text);
    buf_printf(&text, " to ");
    value_print(key, in->b + key->offset, &text);
    print_path(in);
    fprintf(in->out, "%s (from %.*s)\n", key->name, STR_ARGS(buf_str(&text)));
    buf_clear(&text);
}

static void
compare_groups(const struct pair *in, const struct conf_key *key, bool whole)
{
    const struct conf_groups *a = (const void *)(in->a + key->offset);
    const struct conf_groups *b = (const void *)(in->b + key->offset);
    const char *items = a->items;

    if (whole && a->count != b->count) {
        tell(in, key);
        return;
    }
    for (size_t i = 0; i < a->count; i++) {
        const char *item = items + i * key->size;
        const char *other = counterpart(key, b, item, i);
        struct pair pair = { key->keys, item,      other,  whole,
                             in,        key->name, in->out };

        if (other != NULL) {
            compare_rows(&pair);
        } else if (whole) {
            tell(in, key);
        }
    }
}

static void
compare_extra(const struct pair *in, const struct conf_key *key, bool whole)
{
    const struct conf_extra *a = (const void *)(in->a + key->offset);
    const struct conf_extra *b = (const void *)(in->b + key->offset);
    struct pair pair = { conf_extra_keys(key, a),
                         a->settings,
                         b->settings,
                         whole,
                         in,
                         NULL,
                         in->out };

    if (a->what != b->what) {
        if (whole) {
            tell(in, key);
        }
    } else if (pair.keys != NULL) {
        compare_rows(&pair);
    }
}

static void
compare_parts(const struct pair *in, const struct conf_key *key, bool whole)
{
    const struct conf_parts *a = (const void *)(in->a + key->offset);
    const struct conf_parts *b = (const void *)(in->b + key->offset);
    struct conf_part part;

    for (size_t i = 0; key->part(i, &part); i++) {
        struct pair pair = { part.keys, a->settings[i], b->settings[i], whole,
                             in,        NULL,           in->out };

        if (part.keys != NULL) {
            compare_rows(&pair);
        }
    }
}

static void
compare_key(const struct pair *in, const struct conf_key *key, bool whole)
{
    struct pair pair = { key->keys,
                         in->a + key->offset,
                         in->b + key->offset,
                         whole,
                         in,
                         key->name,
                         in->out };

    if (key->type == CONF_GROUP) {
        compare_rows(&pair);
    } else if (key->type == CONF_GROUPS) {
        compare_groups(in, key, whole);
    } else if (key->type == CONF_EXTRA) {
        compare_extra(in, key, whole);
    } else if (key->type == CONF_PARTS) {
        compare_parts(in, key, whole);
    } else if (whole && !same_value(key->type, pair.a, pair.b)) {
        tell_values(in, key);
    }
}

static void
compare_rows(const struct pair *p)
{
    for (const struct conf_key *k = p->keys; k->name != NULL; k++) {
        compare_key(p, k, p->whole || k->change == CONF_RESTART);
    }
}

int
conf_same_start(const struct conf *a, const struct conf *b, char **differences)
{
    size_t len = 0;
    struct pair all = { a->keys,
                        a->settings,
                        b->settings,
                        false,
                        NULL,
                        NULL,
                        open_memstream(differences, &len) };

    if (all.out == NULL) {
        *differences = mem_dup("out of memory\n", 14);
        return -1;
    }
    compare_rows(&all);
    fclose(all.out);
    if (len == 0) {
        mem_free(differences);
    }
    return len == 0 ? 0 : -1;
}
