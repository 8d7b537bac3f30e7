/*
 * Walking the rows: finds each key in the file or takes its default, and
 * notes every mistake with the path of its key.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/fill.h"

#include <stdio.h>
#include <string.h>

#include "conf/elsewhere.h"
#include "conf/expand.h"
#include "conf/instance.h"
#include "conf/known.h"
#include "conf/layout.h"
#include "conf/parse.h"
#include "conf/reader.h"
#include "conf/value.h"

/* The file's content for a group. */
struct given {
    const config_setting_t *group; /* NULL: nothing */
    const char *shorthand;         /* or only this key, */
    const config_setting_t *value; /* with this value */
};

static bool fill_group(struct reader *r, const struct scope *in,
                       const struct given *given, const struct conf_key *keys,
                       void *out);

/* ---- what the file has ---- */

static const config_setting_t *
find(const struct given *g, const char *name)
{
    if (g->group != NULL) {
        return config_setting_get_member(g->group, name);
    }
    if (g->shorthand != NULL && strcmp(g->shorthand, name) == 0) {
        return g->value;
    }
    return NULL;
}

static bool
is_list(const config_setting_t *c)
{
    return config_setting_is_list(c) || config_setting_is_array(c);
}

/* A list's items, or a single value as if it were a list of one. */
static size_t
item_count(const config_setting_t *c)
{
    return is_list(c) ? (size_t)config_setting_length(c) : 1;
}

static const config_setting_t *
item(const config_setting_t *c, size_t i)
{
    return is_list(c) ? config_setting_get_elem(c, (unsigned)i) : c;
}

static void *
field_of(const struct conf_key *key, void *out)
{
    return (char *)out + key->offset;
}

/* ---- keys of each type ---- */

static void
came_from(struct reader *r, const void *field, const char *from)
{
    if (from != NULL) {
        origins_add(r->origins, r->pool, field, from);
    }
}

/* The sources of several values, in their order. */
static const char *
join(struct pool *pool, const char *all, const char *more)
{
    if (all == NULL || more == NULL) {
        return all != NULL ? all : more;
    }
    return pool_printf(pool, "%s, %s", all, more).ptr;
}

static bool
fill_scalar(struct reader *r, const struct scope *in, const config_setting_t *c,
            const struct conf_key *key, void *field)
{
    struct scalar v;
    struct errmsg err;

    if (!reader_value(r, in, key, c, &v)) {
        return false;
    }
    if (value_read(key, &v, r->pool, field, &err) == -1) {
        reader_wrong(r, c);
        return reader_mistake(r, in, key->name, conf_token(r->source, c),
                              err.text);
    }
    came_from(r, field, v.from);
    return true;
}

static bool
check_count(struct reader *r, const struct scope *in,
            const struct conf_key *key, size_t count, size_t at)
{
    char text[128];

    if (count < (size_t)key->min && count == 0) {
        return reader_mistake(r, in, key->name, at, "must not be empty");
    }
    if (count >= (size_t)key->min &&
        (!value_has_max(key) || count <= (size_t)key->max)) {
        return true;
    }
    if (value_has_max(key)) {
        snprintf(text, sizeof(text), "must have %lld to %lld items, not %zu",
                 (long long)key->min, (long long)key->max, count);
    } else {
        snprintf(text, sizeof(text), "must have %lld items, not %zu",
                 (long long)key->min, count);
    }
    return reader_mistake(r, in, key->name, at, text);
}

static bool
fill_strings(struct reader *r, const struct scope *in,
             const config_setting_t *c, const struct conf_key *key,
             struct conf_strings *out)
{
    const char *from = NULL;
    bool ok = true;

    out->count = item_count(c);
    out->items = pool_zero(r->pool, out->count * sizeof(*out->items));
    for (size_t i = 0; i < out->count; i++) {
        const config_setting_t *one = item(c, i);
        struct scalar v;
        struct errmsg err;

        if (!reader_value(r, in, key, one, &v)) {
            ok = false;
        } else if (value_read_string(key, &v, r->pool, &out->items[i], &err) ==
                   -1) {
            ok = reader_mistake(r, in, key->name, conf_token(r->source, one),
                                err.text);
        } else {
            from = join(r->source->pool, from, v.from);
        }
    }
    came_from(r, out, from != NULL ? pool_cstr(r->pool, str_from(from)) : NULL);
    return ok && check_count(r, in, key, out->count, conf_token(r->source, c));
}

static bool
check_whole(struct reader *r, const struct scope *in,
            const struct conf_key *key, const void *settings)
{
    struct errmsg err;

    if (key->check_group == NULL || key->check_group(settings, &err) == 0) {
        return true;
    }
    return reader_mistake(r, in, NULL, in->at, err.text);
}

static bool
fill_one_group(struct reader *r, const struct scope *in,
               const config_setting_t *c, const struct conf_key *key, void *out)
{
    struct scope scope = { in, key->name, conf_token(r->source, c) };
    struct scalar v = reader_scalar(c);
    struct given given = { .group = c };

    if (v.kind == SCALAR_STRING && key->type == CONF_GROUPS &&
        key->shorthand != NULL) {
        given = (struct given){ NULL, key->shorthand, c };
    } else if (!config_setting_is_group(c)) {
        return reader_refuse(r, in, key, &v, scope.at);
    }
    return fill_group(r, &scope, &given, key->keys, out) &&
           check_whole(r, &scope, key, out);
}

/* No item of list before item i has its name. */
static bool
check_name_among(struct reader *r, const struct scope *in,
                 const config_setting_t *list, const struct conf_key *key,
                 const struct conf_groups *all, size_t i)
{
    struct str name = instance_name(key, all, i);
    struct errmsg err;

    for (size_t k = 0; key->named && k < i; k++) {
        if (str_eq(instance_name(key, all, k), name)) {
            size_t at = conf_token(r->source, item(list, k));

            errmsg_set(&err, "\"%.*s\" is the name of the one in line %u",
                       STR_ARGS(name), r->source->tokens[at].line);
            return reader_mistake(r, in, NULL, in->at, err.text);
        }
    }
    return true;
}

/* Item i of a list: by itself, then beside those before it. */
static bool
fill_item(struct reader *r, const struct scope *in,
          const config_setting_t *list, const struct conf_key *key,
          const struct conf_groups *all, size_t i)
{
    const config_setting_t *c = item(list, i);
    struct scope scope = { in, key->name, conf_token(r->source, c) };
    struct errmsg err;

    if (!fill_one_group(r, in, c, key, (char *)all->items + i * key->size) ||
        !check_name_among(r, &scope, list, key, all, i)) {
        return false;
    }
    if (key->check_among == NULL || key->check_among(all, i, &err) == 0) {
        return true;
    }
    return reader_mistake(r, &scope, NULL, scope.at, err.text);
}

static bool
fill_groups(struct reader *r, const struct scope *in, const config_setting_t *c,
            const struct conf_key *key, struct conf_groups *out)
{
    bool ok = true;

    out->count = item_count(c);
    out->items = pool_zero(r->pool, out->count * key->size);
    for (size_t i = 0; i < out->count; i++) {
        ok = fill_item(r, in, c, key, out, i) && ok;
    }
    return ok && check_count(r, in, key, out->count, conf_token(r->source, c));
}

/* ---- defaults ---- */

static void
preset_strings(struct reader *r, const struct conf_key *key,
               struct conf_strings *out)
{
    struct str rest = str_from(key->preset);
    size_t most = 1;

    for (size_t i = 0; i < rest.len; i++) {
        most += rest.ptr[i] == ',';
    }
    out->items = pool_zero(r->pool, most * sizeof(*out->items));
    out->count = 0;
    while (rest.len > 0) {
        struct str one = str_trim(str_cut(&rest, ','));

        out->items[out->count++] = pool_str(r->pool, one);
    }
}

static bool
preset_scalar(struct reader *r, const struct scope *in,
              const struct conf_key *key, void *field)
{
    struct scalar v = value_preset(key);
    struct errmsg err;

    if (value_read(key, &v, r->pool, field, &err) == 0) {
        return true;
    }
    errmsg_prefix(&err, "the default of weir itself ");
    return reader_mistake(r, in, key->name, in->at, err.text);
}

static bool
fill_preset(struct reader *r, const struct scope *in,
            const struct conf_key *key, void *field)
{
    struct scope scope = { in, key->name, in->at };
    struct given nothing = { .group = NULL };

    if (key->type == CONF_INSTANCE) {
        instance_wish(r, in, key, field, in->at);
        return true;
    }
    if (key->preset == NULL) { /* fill_group() asks otherwise() */
        return key->otherwise != NULL || reader_missing(r, in, key);
    }
    if (elsewhere_variable(r, key, field)) {
        return true;
    }
    switch (key->type) {
    case CONF_STRING:
        *(struct str *)field = pool_str(r->pool, str_from(key->preset));
        return true;
    case CONF_STRINGS:
        preset_strings(r, key, field);
        return true;
    case CONF_GROUP:
        return fill_group(r, &scope, &nothing, key->keys, field) &&
               check_whole(r, &scope, key, field);
    case CONF_INT:
    case CONF_BOOL:
    case CONF_TIME:
    case CONF_SIZE:
    case CONF_DECIMAL:
    case CONF_ENUM:
        return preset_scalar(r, in, key, field);
    case CONF_GROUPS:
    case CONF_WHERE:
    case CONF_EXTRA:
    case CONF_PARTS:
    case CONF_INSTANCE:
        return true; /* zero is right */
    }
    return true;
}

/* ---- one key, one group ---- */

static bool
fill_key(struct reader *r, const struct scope *in, const struct given *given,
         const struct conf_key *key, void *field)
{
    const config_setting_t *c = find(given, key->name);
    struct scalar v;

    if (c == NULL) {
        return fill_preset(r, in, key, field);
    }
    switch (key->type) {
    case CONF_STRINGS:
        return fill_strings(r, in, c, key, field);
    case CONF_GROUP:
        return fill_one_group(r, in, c, key, field);
    case CONF_GROUPS:
        v = reader_scalar(c);
        if (v.kind != SCALAR_OTHER && key->shorthand == NULL) {
            return reader_refuse(r, in, key, &v, conf_token(r->source, c));
        }
        return fill_groups(r, in, c, key, field);
    case CONF_STRING:
    case CONF_INT:
    case CONF_BOOL:
    case CONF_TIME:
    case CONF_SIZE:
    case CONF_DECIMAL:
    case CONF_ENUM:
        return fill_scalar(r, in, c, key, field);
    case CONF_INSTANCE:
        instance_wish(r, in, key, field, conf_token(r->source, c));
        return fill_scalar(r, in, c, key, field);
    case CONF_WHERE:
    case CONF_EXTRA:
    case CONF_PARTS:
        return true;
    }
    return true;
}

static void
fill_where(const struct reader *r, const struct scope *in,
           struct conf_where *out)
{
    const struct token *t = &r->source->tokens[in->at];

    out->file = r->source->files[t->file].path;
    out->line = (int)t->line;
}

/* The row of a name that has a value of its own. */
static const struct conf_key *
row_of(const struct conf_key *keys, const char *name)
{
    for (; keys->name != NULL; keys++) {
        if (conf_is_key(keys) && strcmp(keys->name, name) == 0) {
            return keys;
        }
    }
    return NULL;
}

/* The value that chooses: of the key's own row if it has one, else from the
 * file.  False if it is wrong. */
static bool
choosing_value(struct reader *r, const struct scope *in,
               const struct given *given, const struct conf_key *key,
               struct str *out)
{
    const config_setting_t *c = find(given, key->name);
    struct scalar v;

    *out = str_from(key->preset);
    if (c == NULL) {
        return true;
    }
    if (!reader_value(r, in, key, c, &v)) {
        return false;
    }
    if (v.kind != SCALAR_STRING) {
        return reader_refuse(r, in, key, &v, conf_token(r->source, c));
    }
    *out = pool_str(r->pool, v.text);
    came_from(r, out, v.from);
    return true;
}

/* The value of the key's own row.  False if that of the file was wrong. */
static bool
own_value(const struct reader *r, const struct given *given,
          const struct conf_key *own, void *out, struct str *value)
{
    const config_setting_t *c = find(given, own->name);
    const void *field = field_of(own, out);

    if (own->type == CONF_STRING) {
        *value = *(const struct str *)field;
    } else if (own->type == CONF_ENUM) {
        *value = str_from(own->words[*(const int *)field]);
    }
    return c == NULL || !reader_was_wrong(r, c);
}

/* An empty list is none. */
static bool
has_some(const struct given *given, const char *name)
{
    const config_setting_t *c = find(given, name);

    return c != NULL &&
           (!config_setting_is_aggregate(c) || config_setting_length(c) > 0);
}

/* Finds out what an EXTRA row chooses; false if that is a mistake. */
static bool
choose(struct reader *r, const struct scope *in, const struct given *given,
       const struct conf_key *key, const struct str *value,
       struct conf_choice *choice)
{
    const config_setting_t *c = find(given, key->name);
    size_t at = c != NULL ? conf_token(r->source, c) : in->at;
    struct errmsg err;

    if (value->len == 0 && c == NULL) {
        return true;
    }
    if (key->instead != NULL && c != NULL && has_some(given, key->instead)) {
        errmsg_set(&err, "must have %s or %s, not both", key->name,
                   key->instead);
        return reader_mistake(r, in, NULL, at, err.text);
    }
    if (key->choose(*value, choice, &err) == -1) {
        return reader_mistake(r, in, key->name, at, err.text);
    }
    return true;
}

static bool
fill_rows(struct reader *r, const struct scope *in, const struct given *given,
          const struct conf_key *keys, void *out)
{
    bool ok = true;

    for (; keys->name != NULL; keys++) {
        if (keys->type == CONF_WHERE) {
            fill_where(r, in, field_of(keys, out));
        } else if (conf_is_key(keys) &&
                   !fill_key(r, in, given, keys, field_of(keys, out))) {
            ok = false;
        }
    }
    return ok;
}

/* The settings that an EXTRA row chooses; adds their rows to rows. */
static bool
fill_extra(struct reader *r, const struct scope *in, const struct given *given,
           const struct conf_key *key, struct rows *rows, void *out)
{
    const struct conf_key *own = row_of(rows->tables[0], key->name);
    struct conf_extra *extra = field_of(key, out);
    struct conf_choice choice = { .what = NULL };
    bool ok = own != NULL ? own_value(r, given, own, out, &extra->name)
                          : choosing_value(r, in, given, key, &extra->name);

    if (!ok || !choose(r, in, given, key, &extra->name, &choice)) {
        rows->unsure = true;
        return false;
    }
    extra->what = choice.what;
    if (choice.keys == NULL) {
        return true;
    }
    known_add(r, rows, choice.keys);
    extra->settings = pool_zero(r->pool, choice.size);
    return fill_rows(r, in, given, choice.keys, extra->settings);
}

/* The settings of what others add; adds their rows to rows. */
static bool
fill_parts(struct reader *r, const struct scope *in, const struct given *given,
           const struct conf_key *key, struct rows *rows, void *out)
{
    struct conf_parts *parts = field_of(key, out);
    struct conf_part part;
    bool ok = true;

    while (key->part(parts->count, &part)) {
        parts->count++;
    }
    parts->settings = pool_zero(r->pool, parts->count * sizeof(void *));
    for (size_t i = 0; key->part(i, &part); i++) {
        if (part.keys != NULL) {
            known_add(r, rows, part.keys);
            parts->settings[i] = pool_zero(r->pool, part.size);
            ok = fill_rows(r, in, given, part.keys, parts->settings[i]) && ok;
        }
    }
    return ok;
}

static bool
fill_group(struct reader *r, const struct scope *in, const struct given *given,
           const struct conf_key *keys, void *out)
{
    struct rows rows = { .count = 0 };
    bool ok = fill_rows(r, in, given, keys, out);

    known_add(r, &rows, keys);
    for (const struct conf_key *k = keys; k->name != NULL; k++) {
        if (k->type == CONF_EXTRA) {
            ok = fill_extra(r, in, given, k, &rows, out) && ok;
        } else if (k->type == CONF_PARTS) {
            ok = fill_parts(r, in, given, k, &rows, out) && ok;
        }
    }
    for (const struct conf_key *k = keys; k->name != NULL; k++) {
        if (k->otherwise != NULL && find(given, k->name) == NULL) {
            ok = elsewhere_group(r, in, k, out, field_of(k, out)) && ok;
        }
    }
    for (int i = 0;
         given->group != NULL && i < config_setting_length(given->group); i++) {
        const config_setting_t *c =
            config_setting_get_elem(given->group, (unsigned)i);

        if (!known_check(r, in, c, &rows)) {
            ok = false;
        }
    }
    return ok;
}

/* Values that are wrong and whose key nobody looked at. */
static void
tell_rest(struct source *s)
{
    for (size_t i = 0; i < s->count; i++) {
        if (s->tokens[i].bad != NULL && !s->tokens[i].told) {
            source_say(s, i, "%s", s->tokens[i].bad);
        }
    }
}

void
conf_fill(struct source *s, const struct conf_key *keys, void *settings,
          struct pool *pool, struct origins *origins, bool *variables)
{
    struct reader r = {
        .source = s,
        .pool = pool,
        .origins = origins,
        .room = EXPAND_ALL_MAX,
        .variables = *variables,
    };
    struct scope root = { .name = NULL };
    config_t tree;

    if (conf_parse(s, &tree) == 0) {
        struct given given = { .group = config_root_setting(&tree) };

        fill_group(&r, &root, &given, keys, settings);
        instance_find_all(&r, keys, settings);
    }
    *variables = r.used_variable;
    origins_sort(origins, pool);
    tell_rest(s);
    config_destroy(&tree);
}
