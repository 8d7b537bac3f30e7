/*
 * From nested units to a flat list.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "units.h"

/* A unit's defaults for settings that it lacks. */
static struct unit
outermost(const struct version_settings *s)
{
    return (struct unit){
        .strategy = (enum strategy)s->strategy,
        .strict = s->strict,
        .cascade = s->cascade,
        .vendor = s->vendor,
        .parameter = s->parameter,
        .prefix = STR_NONE,
    };
}

static struct str
join(struct pool *pool, struct str before, struct str prefix)
{
    if (str_starts(prefix, STR("/"))) {
        prefix = str_skip(prefix, 1);
    }
    if (str_ends(prefix, STR("/"))) {
        prefix = str_first(prefix, prefix.len - 1);
    }
    if (prefix.len == 0) {
        return before;
    }
    return pool_printf(pool, "%.*s/%.*s", STR_ARGS(before), STR_ARGS(prefix));
}

static struct unit
unit_of(const struct unit_settings *s, const struct unit *up, struct pool *pool)
{
    struct unit u = *up;

    u.settings = s;
    if (s->versions.count > 0 || up->of_version == NULL ||
        up->of_version->versions.count == 0) {
        u.of_version = s;
    }
    if (s->strategy != UNIT_INHERITS) {
        u.strategy = (enum strategy)(s->strategy - 1);
    }
    if (s->strict != UNIT_INHERITS) {
        u.strict = s->strict == UNIT_TRUE;
    }
    if (s->cascade != UNIT_INHERITS) {
        u.cascade = s->cascade == UNIT_TRUE;
    }
    u.vendor = s->vendor.len > 0 ? s->vendor : up->vendor;
    u.parameter = s->parameter.len > 0 ? s->parameter : up->parameter;
    u.prefix = join(pool, up->prefix, s->prefix);
    return u;
}

struct making {
    struct pool *pool;
    struct units *out;
    struct errmsg *err;
};

static int
add_units(const struct making *m, const struct conf_groups *list,
          const struct unit *up)
{
    const struct unit_settings *s = list->items;

    for (size_t i = 0; i < list->count; i++) {
        struct unit u = unit_of(&s[i], up, m->pool);

        if (s[i].layers.count > 0 && m->out->count == UNITS_MAX) {
            return errmsg_set(m->err, "there are more than %d units (line %d)",
                              UNITS_MAX, s[i].where.line);
        }
        if (s[i].layers.count > 0) {
            m->out->items[m->out->count++] = u;
        }
        if (add_units(m, &s[i].units, &u) == -1) {
            return -1;
        }
    }
    return 0;
}

int
units_make(const struct version_settings *s, struct pool *pool,
           struct units *out, struct errmsg *err)
{
    const struct making m = { pool, out, err };
    const struct unit start = outermost(s);

    out->count = 0;
    return add_units(&m, &s->units, &start);
}

static void
each_layers(const struct conf_groups *list,
            void (*each)(void *arg, const struct conf_groups *layers),
            void *arg)
{
    const struct unit_settings *s = list->items;

    for (size_t i = 0; i < list->count; i++) {
        each(arg, &s[i].layers);
        each_layers(&s[i].units, each, arg);
    }
}

void
units_each_layers(const struct version_settings *s,
                  void (*each)(void *arg, const struct conf_groups *layers),
                  void *arg)
{
    each_layers(&s->units, each, arg);
}

/* ---- checks ---- */

/* In media types upper and lower case are the same, and "+" begins the
 * format. */
static int
check_names(const struct unit *u, struct errmsg *err)
{
    const struct conf_strings *v = &u->of_version->versions;

    for (size_t i = 0; i < v->count; i++) {
        if (str_find(v->items[i], '+', 0) < v->items[i].len) {
            return errmsg_set(err,
                              "version \"%.*s\" of the unit in line %d has a "
                              "\"+\", behind which strategy header has the "
                              "format",
                              STR_ARGS(v->items[i]), u->settings->where.line);
        }
        for (size_t k = 0; k < i; k++) {
            if (str_eq_nocase(v->items[i], v->items[k])) {
                return errmsg_set(err,
                                  "versions \"%.*s\" and \"%.*s\" of the unit "
                                  "in line %d are one to strategy header",
                                  STR_ARGS(v->items[k]), STR_ARGS(v->items[i]),
                                  u->settings->where.line);
            }
        }
    }
    return 0;
}

static int
check_unit(const struct unit *u, struct errmsg *err)
{
    if (u->strategy != STRATEGY_HEADER) {
        return 0;
    }
    if (u->vendor.len == 0) {
        return errmsg_set(err,
                          "strategy header needs a vendor (the unit in line "
                          "%d has none)",
                          u->settings->where.line);
    }
    return check_names(u, err);
}

/* Does a unit serve the default version? */
static bool
is_served(const struct units *all, struct str version)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct conf_strings *v = &all->items[i].of_version->versions;

        for (size_t k = 0; k < v->count; k++) {
            if (str_eq(v->items[k], version)) {
                return true;
            }
        }
    }
    return false;
}

static int
check_all(const struct version_settings *s, const struct units *all,
          struct errmsg *err)
{
    size_t versions = 0;

    for (size_t i = 0; i < all->count; i++) {
        if (check_unit(&all->items[i], err) == -1) {
            return -1;
        }
        versions += all->items[i].of_version->versions.count;
    }
    if (versions > VERSIONS_MAX) {
        return errmsg_set(err, "there are %zu versions, at most %d", versions,
                          VERSIONS_MAX);
    }
    if (s->unmatched_status == 405) {
        return errmsg_set(err, "unmatched_status must be 404 or 406");
    }
    if (s->default_version.len > 0 && !is_served(all, s->default_version)) {
        return errmsg_set(err,
                          "default_version \"%.*s\" is no version of a unit",
                          STR_ARGS(s->default_version));
    }
    return 0;
}

int
units_check(const struct version_settings *s, struct errmsg *err)
{
    struct pool *pool = pool_new(1024);
    struct units *all = pool_zero(pool, sizeof(*all));
    int rc = units_make(s, pool, all, err);

    if (rc == 0) {
        rc = check_all(s, all, err);
    }
    pool_free(&pool);
    return rc;
}
