/*
 * The table of a version layer, made of its units.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "table.h"

#include "http/path.h"

#define WAYS 8 /* of naming a version, that a refusal tells */

static unsigned
vendor_place(struct version_table *t, struct str vendor)
{
    for (unsigned i = 0; i < t->vendor_count; i++) {
        if (str_eq_nocase(t->vendors[i], vendor)) {
            return i;
        }
    }
    t->vendors[t->vendor_count] = vendor;
    return (unsigned)t->vendor_count++;
}

static unsigned
name_place(struct version_table *t, unsigned vendor, struct str version)
{
    for (unsigned i = 0; i < t->name_count; i++) {
        if (t->names[i].vendor == vendor &&
            str_eq_nocase(t->names[i].version, version)) {
            return i;
        }
    }
    t->names[t->name_count] = (struct version_name){ vendor, version };
    return (unsigned)t->name_count++;
}

/* "v2, v1": each once, in mount order. */
static struct str
list_versions(const struct units *units, struct pool *pool)
{
    struct str known[VERSIONS_MAX], list = STR_NONE;
    size_t count = 0;

    for (size_t i = 0; i < units->count; i++) {
        const struct conf_strings *v = &units->items[i].of_version->versions;

        for (size_t k = 0; k < v->count; k++) {
            size_t at = 0;

            while (at < count && !str_eq(known[at], v->items[k])) {
                at++;
            }
            if (at == count) {
                known[count++] = v->items[k];
                list = pool_printf(pool, "%.*s%s%.*s", STR_ARGS(list),
                                   list.len > 0 ? ", " : "",
                                   STR_ARGS(v->items[k]));
            }
        }
    }
    return list;
}

static struct str
query_of(struct pool *pool, struct str parameter, struct str version)
{
    return pool_printf(pool, "%.*s=%.*s",
                       STR_ARGS(http_query_encode(pool, parameter)),
                       STR_ARGS(http_query_encode(pool, version)));
}

static struct http_api
api_of(const struct unit *u, struct str version)
{
    static const enum http_api_by by[STRATEGIES] = {
        [STRATEGY_PATH] = HTTP_API_PATH,
        [STRATEGY_HEADER] = HTTP_API_ACCEPT,
        [STRATEGY_ACCEPT_VERSION] = HTTP_API_VERSION,
        [STRATEGY_PARAM] = HTTP_API_PARAM,
    };
    struct http_api api = { .by = by[u->strategy],
                            .version = version,
                            .vendor = u->vendor,
                            .parameter = u->parameter };

    version_dates(u, &api.deprecated, &api.sunset);
    return api;
}

static void
add_offers(struct version_table *t, const struct unit *from, struct str all,
           struct pool *pool)
{
    struct table_unit *u = &t->units[t->unit_count];
    const struct conf_strings *v = &from->of_version->versions;

    for (size_t i = 0; i < u->count; i++) {
        struct offer *o = &t->offers[t->offer_count++];

        o->unit = (unsigned)t->unit_count;
        o->query = STR_NONE;
        o->version = v->count > 0 ? v->items[v->count - 1 - i] : STR_NONE;
        o->lines = version_lines(pool, from, o->version, all);
        o->api = api_of(from, o->version);
        if (u->strategy == STRATEGY_HEADER && v->count > 0) {
            o->name = name_place(t, u->vendor, o->version);
        }
        if (u->strategy == STRATEGY_PARAM && v->count > 0) {
            o->query = query_of(pool, u->parameter, o->version);
        }
    }
}

static void
add_unit(struct version_table *t, const struct unit *from, struct str all,
         struct pool *pool)
{
    struct table_unit *u = &t->units[t->unit_count];
    size_t versions = from->of_version->versions.count;

    *u = (struct table_unit){
        .strategy = from->strategy,
        .strict = from->strict,
        .cascade = from->cascade,
        .parameter = from->parameter,
        .prefix = from->prefix,
        .first = t->offer_count,
        .count = versions > 0 ? versions : 1,
    };
    if (u->strategy == STRATEGY_HEADER) {
        u->vendor = vendor_place(t, from->vendor);
    }
    add_offers(t, from, all, pool);
    t->unit_count++;
}

static struct str
vary_of(const struct version_table *t)
{
    bool accept = false, version = false;

    for (size_t i = 0; i < t->unit_count; i++) {
        accept |= t->units[i].strategy == STRATEGY_HEADER;
        version |= t->units[i].strategy == STRATEGY_ACCEPT_VERSION;
    }
    if (accept && version) {
        return STR("Accept, Accept-Version");
    }
    return accept ? STR("Accept") : version ? STR("Accept-Version") : STR_NONE;
}

static struct str
way_of(const struct unit *u, struct pool *pool)
{
    switch (u->strategy) {
    case STRATEGY_PATH:
        return pool_printf(pool, "the path: %.*s/VERSION/...",
                           STR_ARGS(u->prefix));
    case STRATEGY_HEADER:
        return pool_printf(pool, "Accept: application/vnd.%.*s-VERSION+json",
                           STR_ARGS(u->vendor));
    case STRATEGY_ACCEPT_VERSION:
        return STR("Accept-Version: VERSION");
    case STRATEGY_PARAM:
        return pool_printf(pool, "the parameter %.*s=VERSION",
                           STR_ARGS(u->parameter));
    case STRATEGIES:
        break;
    }
    return STR_NONE;
}

/* How a request names one of the versions: "Accept-Version: VERSION"; where
 * units differ, each way once. */
static struct str
list_ways(const struct units *units, struct pool *pool)
{
    struct str known[WAYS], list = STR_NONE;
    size_t count = 0;

    for (size_t i = 0; i < units->count && count < WAYS; i++) {
        size_t at = 0;

        if (units->items[i].of_version->versions.count == 0) {
            continue;
        }
        known[count] = way_of(&units->items[i], pool);
        while (!str_eq(known[at], known[count])) {
            at++;
        }
        if (at == count) {
            list = pool_printf(pool, "%.*s%s%.*s", STR_ARGS(list),
                               count > 0 ? ", or by " : "",
                               STR_ARGS(known[count]));
            count++;
        }
    }
    return list;
}

struct version_table *
version_table_new(const struct units *units, const struct version_settings *s,
                  struct pool *pool)
{
    static const char *const words[REASONS] = {
        [REASON_UNKNOWN] = "there is no such version here",
        [REASON_MISSING] = "the request has to name a version",
        [REASON_EXCLUDED] = "the request accepts no version that is here",
        [REASON_BROKEN] = "the version's percent-encoding is broken",
    };
    struct version_table *t = pool_zero(pool, sizeof(*t));
    struct str all = list_versions(units, pool), ways = list_ways(units, pool);

    t->cascade = s->cascade;
    t->unmatched_status = (int)s->unmatched_status;
    t->default_version = s->default_version;
    for (size_t i = 0; i < units->count; i++) {
        add_unit(t, &units->items[i], all, pool);
    }
    t->vary = vary_of(t);
    t->lines = STR_NONE;
    if (all.len > 0) {
        t->lines = pool_printf(pool, "API-Supported-Versions: %.*s\r\n",
                               STR_ARGS(all));
    }
    for (int i = REASON_UNKNOWN; i < REASONS; i++) {
        t->reasons[i] =
            pool_printf(pool, "%s; name one by %.*s; versions: %.*s", words[i],
                        STR_ARGS(ways), STR_ARGS(all))
                .ptr;
    }
    t->reasons[REASON_NONE] = "nothing is here in that version";
    return t;
}
