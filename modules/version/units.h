/*
 * The units of a version layer: their settings, and the flat list made of
 * these.
 *
 * Units may stand in units.  A nested unit is one more unit behind its parent;
 * settings that it lacks are those of its parent, and of the layer for the
 * outermost.
 *
 *   units.c     the flat list
 *   settings.c  rows of the settings
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_VERSION_UNITS_H
#define MODULES_VERSION_UNITS_H

#include "app/settings/settings.h"
#include "base/pool.h"

#define UNITS_MAX 256    /* of a layer, nested ones counted */
#define VERSIONS_MAX 256 /* of a layer; one in two units counts as two */

enum strategy {
    STRATEGY_PATH,
    STRATEGY_HEADER,
    STRATEGY_ACCEPT_VERSION,
    STRATEGY_PARAM,
    STRATEGIES
};

/* Values of a unit's settings that stand for "as the layer has it"; the
 * others follow: strategies, and false, true. */
enum { UNIT_INHERITS = 0, UNIT_FALSE, UNIT_TRUE };

struct unit_settings {
    struct conf_where where;
    struct conf_strings versions;
    struct conf_groups layers; /* struct http_layer_settings */
    int strategy;              /* UNIT_INHERITS or 1 + enum strategy */
    int strict, cascade;       /* UNIT_INHERITS, UNIT_FALSE, UNIT_TRUE */
    struct str vendor, parameter, prefix;
    struct str deprecated, sunset; /* dates; empty: not said */
    struct conf_strings link;
    struct conf_groups units; /* struct unit_settings */
};

struct version_settings {
    int strategy; /* enum strategy */
    struct str vendor;
    bool strict, cascade;
    struct str parameter;
    int64_t unmatched_status;
    struct str default_version;
    struct conf_groups units; /* struct unit_settings */
};

struct unit {
    const struct unit_settings *settings;
    const struct unit_settings *of_version; /* unit whose versions it has */
    enum strategy strategy;
    bool strict, cascade;
    struct str vendor, parameter;
    struct str prefix; /* "/api", "" */
};

struct units {
    struct unit items[UNITS_MAX];
    size_t count;
};

extern const struct conf_key version_keys[]; /* of struct version_settings */

/* In mount order; prefixes lie in the pool.  -1 with err: too many. */
int units_make(const struct version_settings *s, struct pool *pool,
               struct units *out, struct errmsg *err);
/* Shows each list of layers, nested units' too. */
void units_each_layers(const struct version_settings *s,
                       void (*each)(void *arg,
                                    const struct conf_groups *layers),
                       void *arg);
/* Checks that need the whole layer. 0, or -1 with err. */
int units_check(const struct version_settings *s, struct errmsg *err);

/* Seconds since 1970 of a date as the settings have it: "2026-01-02",
 * "2026-01-02T03:04:05Z" or "@1767323045". */
bool units_date(struct str text, int64_t *seconds);

#endif
