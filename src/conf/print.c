/*
 * Printing a configuration (weir -T) and the keys there are (weir -K).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/layout.h"

#include <string.h>

#include "base/buf.h"
#include "conf/value.h"

struct printer {
    FILE *out;
    int depth;
    bool changed; /* leaves out what has its default */
    const struct origins *origins;
};

static void print_rows(struct printer *p, const struct conf_key *keys,
                       const void *settings);

static void
indent(const struct printer *p)
{
    fprintf(p->out, "%*s", p->depth * 4, "");
}

static void
flush(const struct printer *p, struct buf *text)
{
    fwrite(buf_data(text), 1, buf_len(text), p->out);
    buf_clear(text);
}

static void
print_strings(const struct printer *p, const struct conf_key *key,
              const struct conf_strings *list)
{
    struct buf text;

    buf_init(&text, SIZE_MAX / 2);
    buf_printf(&text, "[");
    for (size_t i = 0; i < list->count; i++) {
        buf_printf(&text, i > 0 ? ", " : " ");
        value_print_string(key, list->items[i], &text);
    }
    buf_printf(&text, " ]");
    flush(p, &text);
}

static void
print_scalar(const struct printer *p, const struct conf_key *key,
             const void *field)
{
    struct buf text;

    buf_init(&text, SIZE_MAX / 2);
    value_print(key, field, &text);
    flush(p, &text);
}

static void
print_group(struct printer *p, const struct conf_key *key, const void *settings)
{
    fprintf(p->out, "{\n");
    p->depth++;
    print_rows(p, key->keys, settings);
    p->depth--;
    indent(p);
    fprintf(p->out, "}");
}

static void
print_groups(struct printer *p, const struct conf_key *key,
             const struct conf_groups *list)
{
    const char *items = list->items;

    fprintf(p->out, "(");
    for (size_t i = 0; i < list->count; i++) {
        fprintf(p->out, i > 0 ? ", " : " ");
        print_group(p, key, items + i * key->size);
    }
    fprintf(p->out, " )");
}

/* Where the value came from.  A group begins where its first field does. */
static void
print_origin(const struct printer *p, const struct conf_key *key,
             const void *field)
{
    const char *from = origins_find(p->origins, field);

    if (from != NULL && key->type != CONF_GROUP && key->type != CONF_GROUPS) {
        fprintf(p->out, " # from %s", from);
    }
}

static void
print_value(struct printer *p, const struct conf_key *key, const void *field)
{
    indent(p);
    fprintf(p->out, "%s = ", key->name);
    switch (key->type) {
    case CONF_STRINGS:
        print_strings(p, key, field);
        break;
    case CONF_GROUP:
        print_group(p, key, field);
        break;
    case CONF_GROUPS:
        print_groups(p, key, field);
        break;
    case CONF_STRING:
    case CONF_INT:
    case CONF_BOOL:
    case CONF_TIME:
    case CONF_SIZE:
    case CONF_DECIMAL:
    case CONF_ENUM:
    case CONF_INSTANCE:
        print_scalar(p, key, field);
        break;
    case CONF_WHERE:
    case CONF_EXTRA:
    case CONF_PARTS:
        break;
    }
    fprintf(p->out, ";");
    print_origin(p, key, field);
    fprintf(p->out, "\n");
}

static bool
has_own_row(const struct conf_key *keys, const char *name)
{
    for (; keys->name != NULL; keys++) {
        if (conf_is_key(keys) && strcmp(keys->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The key that chooses, if no row of its own prints it, and what it chose. */
static void
print_extra(struct printer *p, const struct conf_key *table,
            const struct conf_key *key, const struct conf_extra *extra)
{
    const struct conf_key *keys = conf_extra_keys(key, extra);
    const struct conf_key name = { .name = key->name, .type = CONF_STRING };

    if (extra->name.len > 0 && !has_own_row(table, key->name)) {
        print_value(p, &name, &extra->name);
    }
    if (keys != NULL) {
        print_rows(p, keys, extra->settings);
    }
}

static void
print_parts(struct printer *p, const struct conf_key *key,
            const struct conf_parts *parts)
{
    struct conf_part part;

    for (size_t i = 0; key->part(i, &part); i++) {
        if (part.keys != NULL) {
            print_rows(p, part.keys, parts->settings[i]);
        }
    }
}

static bool
has_preset_text(const struct conf_key *key, const void *field)
{
    struct conf_key plain = *key;
    struct pool *pool = pool_new(256);
    void *preset = pool_zero(pool, sizeof(struct str) + sizeof(int64_t));
    struct scalar v = value_preset(key);
    struct buf a, b;
    struct errmsg unused;
    bool same;

    plain.check = NULL;
    plain.secret = false; /* or all would be "***" */
    buf_init(&a, SIZE_MAX / 2);
    buf_init(&b, SIZE_MAX / 2);
    value_print(&plain, field, &a);
    same = value_read(&plain, &v, pool, preset, &unused) == 0;
    if (same) {
        value_print(&plain, preset, &b);
        same = str_eq(buf_str(&a), buf_str(&b));
    }
    buf_clear(&a);
    buf_clear(&b);
    pool_free(&pool);
    return same;
}

static bool
has_preset_items(const struct conf_key *key, const struct conf_strings *list)
{
    struct str rest = str_from(key->preset);

    for (size_t i = 0; i < list->count; i++) {
        if (rest.len == 0 ||
            !str_eq(str_trim(str_cut(&rest, ',')), list->items[i])) {
            return false;
        }
    }
    return rest.len == 0;
}

/* Whether leaving the key out would say the same. */
static bool
has_default(const struct conf_key *key, const void *field)
{
    const struct conf_groups *groups = field;

    switch (key->type) {
    case CONF_GROUP:
        for (const struct conf_key *k = key->keys; k->name != NULL; k++) {
            if (k->type == CONF_EXTRA ||
                !has_default(k, (const char *)field + k->offset)) {
                return false;
            }
        }
        return true;
    case CONF_GROUPS:
        return key->preset != NULL && groups->count == 0;
    case CONF_STRINGS:
        return key->preset != NULL && has_preset_items(key, field);
    case CONF_STRING:
    case CONF_INT:
    case CONF_BOOL:
    case CONF_TIME:
    case CONF_SIZE:
    case CONF_DECIMAL:
    case CONF_ENUM:
        return key->preset != NULL && has_preset_text(key, field);
    case CONF_WHERE:
        return true;
    case CONF_INSTANCE:
    case CONF_EXTRA:
    case CONF_PARTS:
        break;
    }
    return false;
}

static void
print_rows(struct printer *p, const struct conf_key *keys, const void *settings)
{
    for (const struct conf_key *k = keys; k->name != NULL; k++) {
        const void *field = (const char *)settings + k->offset;

        if (k->type == CONF_EXTRA) {
            print_extra(p, keys, k, field);
        } else if (k->type == CONF_PARTS) {
            print_parts(p, k, field);
        } else if (k->type != CONF_WHERE &&
                   !(p->changed && has_default(k, field))) {
            print_value(p, k, field);
        }
    }
}

void
conf_print(const struct conf *c, FILE *out)
{
    struct printer p = { out, 0, false, &c->origins };

    print_rows(&p, c->keys, c->settings);
}

void
conf_print_changed(const struct conf *c, FILE *out)
{
    struct printer p = { out, 0, true, &c->origins };

    print_rows(&p, c->keys, c->settings);
}

/* ---- keys ---- */

/* A group that is being listed, with those it is in. */
struct listing {
    const struct listing *up;
    const struct conf_key *keys;
    const char *prefix;
    FILE *out;
};

static const char *
type_name(enum conf_type type)
{
    static const char *const names[] = {
        [CONF_STRING] = "string",     [CONF_INT] = "int",
        [CONF_BOOL] = "bool",         [CONF_TIME] = "time",
        [CONF_SIZE] = "size",         [CONF_ENUM] = "enum",
        [CONF_STRINGS] = "strings",   [CONF_GROUP] = "group",
        [CONF_GROUPS] = "groups",     [CONF_WHERE] = "",
        [CONF_EXTRA] = "string",      [CONF_PARTS] = "",
        [CONF_INSTANCE] = "instance", [CONF_DECIMAL] = "decimal",
    };

    return names[type];
}

static void
add_bounds(const struct conf_key *key, struct buf *out)
{
    size_t start = buf_len(out);

    if (key->or_zero) {
        buf_printf(out, "0|");
    }
    if (value_has_max(key)) {
        value_print_number(key->type, key->min, out);
        buf_printf(out, "..");
        value_print_number(key->type, key->max, out);
    } else if (key->min > 0) {
        value_print_number(key->type, key->min, out);
        buf_printf(out, "..");
    }
    for (size_t i = 0; key->words != NULL && key->words[i] != NULL; i++) {
        buf_printf(out, "%s%s", buf_len(out) > start ? "|" : "", key->words[i]);
    }
    if (key->of != NULL) {
        buf_printf(out, "%s", key->of);
    }
    if (buf_len(out) == start) {
        buf_printf(out, "-");
    }
}

static void
add_preset(const struct conf_key *key, struct buf *out)
{
    bool group = key->type == CONF_GROUP || key->type == CONF_GROUPS;

    if (key->preset == NULL && key->type != CONF_EXTRA &&
        key->type != CONF_INSTANCE) {
        buf_printf(out, "required");
    } else if (key->preset == NULL || group) {
        buf_printf(out, "-");
    } else {
        buf_printf(out, "\"%s\"", key->preset);
    }
}

static void
list_key(const struct listing *in, const struct conf_key *key)
{
    struct buf text;

    buf_init(&text, SIZE_MAX / 2);
    buf_printf(&text, "%s%s  %s  ", in->prefix, key->name,
               type_name(key->type));
    add_bounds(key, &text);
    buf_printf(&text, "  ");
    add_preset(key, &text);
    buf_printf(&text, "  %s  %s\n",
               key->change == CONF_RESTART ? "restart" : "reload",
               key->help != NULL ? key->help : "");
    fwrite(buf_data(&text), 1, buf_len(&text), in->out);
    buf_clear(&text);
}

/* Groups may hold groups of their own kind: these are listed once. */
static bool
is_listed(const struct listing *in, const struct conf_key *keys)
{
    for (; in != NULL; in = in->up) {
        if (in->keys == keys) {
            return true;
        }
    }
    return false;
}

static void list_rows(const struct listing *in);

static void
list_parts(const struct listing *in, const struct conf_key *key)
{
    struct conf_part part;

    for (size_t i = 0; key->part(i, &part); i++) {
        struct listing rows = { in, part.keys, in->prefix, in->out };

        if (part.keys != NULL) {
            list_rows(&rows);
        }
    }
}

static void
list_rows(const struct listing *in)
{
    for (const struct conf_key *k = in->keys; k->name != NULL; k++) {
        char prefix[256];
        struct listing group = { in, k->keys, prefix, in->out };

        if (k->type == CONF_WHERE ||
            (k->type == CONF_EXTRA && has_own_row(in->keys, k->name))) {
            continue;
        }
        if (k->type == CONF_PARTS) {
            list_parts(in, k);
            continue;
        }
        list_key(in, k);
        if ((k->type == CONF_GROUP || k->type == CONF_GROUPS) &&
            !is_listed(in, k->keys)) {
            snprintf(prefix, sizeof(prefix), "%s%s.", in->prefix, k->name);
            list_rows(&group);
        }
    }
}

void
conf_print_keys(const struct conf_key *keys, const char *prefix, FILE *out)
{
    char start[256] = "";
    struct listing all = { NULL, keys, start, out };

    if (prefix != NULL && prefix[0] != '\0') {
        snprintf(start, sizeof(start), "%s.", prefix);
    }
    list_rows(&all);
}
