/*
 * The tables of a version layer: made once, when a worker starts, and only read
 * from then on.
 *
 * A unit offers each of its versions: an offer is a unit with one version (or
 * none: any).  Strategy header compares by name: a name is a version with its
 * vendor.
 *
 *   table.c    offers, made of the units
 *   headers.c  their header lines
 *   version.c  choosing among them
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_VERSION_TABLE_H
#define MODULES_VERSION_TABLE_H

#include "http/http.h"
#include "units.h"

#define OFFERS_MAX (VERSIONS_MAX + UNITS_MAX)

/* Why no unit has the version that a request asks for. */
enum reason {
    REASON_NONE,
    REASON_UNKNOWN,  /* it names one that is not served */
    REASON_MISSING,  /* it names none, and has to */
    REASON_EXCLUDED, /* q=0 for all versions */
    REASON_BROKEN,   /* the parameter's percent-encoding */
    REASONS
};

struct table_unit {
    enum strategy strategy;
    bool strict, cascade;
    struct str parameter;
    struct str prefix;
    unsigned vendor;     /* place in vendors */
    size_t first, count; /* its offers */
    const struct http_layer *layers;
    size_t layer_count;
};

struct offer {
    unsigned unit;
    struct str version; /* empty: any */
    unsigned name;      /* strategy header: place in names */
    struct str lines;   /* of the answer's head */
    struct str query;   /* strategy param: "apiver=v2" */
    struct http_api api;
};

struct version_name {
    unsigned vendor;
    struct str version;
};

struct version_table {
    bool cascade;
    int unmatched_status;
    struct str default_version; /* empty: none */
    struct table_unit units[UNITS_MAX];
    size_t unit_count;
    /* In mount order, of a unit the last version first: without a better
     * reason the earlier one is taken. */
    struct offer offers[OFFERS_MAX];
    size_t offer_count;
    struct str vendors[UNITS_MAX];
    size_t vendor_count;
    struct version_name names[VERSIONS_MAX];
    size_t name_count;
    struct str vary;              /* empty: nothing */
    struct str lines;             /* of refusals: the versions that exist */
    const char *reasons[REASONS]; /* with the list of versions */
};

/* All in the pool, except the units' layers: those are NULL. */
struct version_table *version_table_new(const struct units *units,
                                        const struct version_settings *s,
                                        struct pool *pool);

/* The lines of the head for an offer of unit u: API-Version and the rest.
 * supported is the value of API-Supported-Versions. */
struct str version_lines(struct pool *pool, const struct unit *u,
                         struct str version, struct str supported);

/* The dates of a unit, s since 1970; -1: it says none. */
void version_dates(const struct unit *u, int64_t *deprecated, int64_t *sunset);

/* http_selector of the module; state is the table. */
http_selector version_select;

#endif
