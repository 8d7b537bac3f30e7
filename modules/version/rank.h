/*
 * Ranks the offers of a table for a request.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_VERSION_RANK_H
#define MODULES_VERSION_RANK_H

#include "accept.h"

/* Ranks of offers.  Above RANK_NAMED they are ordered by quality, then by how
 * closely the request names the version. */
enum {
    RANK_NONE,    /* not for this request */
    RANK_ANY,     /* a unit that serves any version: after all others */
    RANK_DEFAULT, /* the request names no version */
    RANK_NAMED,
};

/* The ranks of a table's offers for a request; in its pool. */
struct plan {
    bool ranked;
    bool ends_here;     /* the layer itself answers what no unit answers */
    enum reason reason; /* NONE: units have the version */
    int status;         /* for that reason */
    uint64_t tried[UNITS_MAX / 64]; /* units, by their place */
    size_t asked;                   /* the offer that was tried last */
    /* The one offer of those tried that the request names; more than one:
     * none. */
    const struct offer *named;
    bool named_many;
    struct marks *marks; /* strategy header; NULL: not looked at */
    unsigned ranks[];    /* of the offers */
};

static inline bool
plan_tried(const struct plan *plan, unsigned unit)
{
    return plan->tried[unit / 64] >> unit % 64 & 1;
}

static inline void
plan_set_tried(struct plan *plan, unsigned unit, bool tried)
{
    uint64_t bit = (uint64_t)1 << unit % 64;

    plan->tried[unit / 64] &= ~bit;
    plan->tried[unit / 64] |= tried ? bit : 0;
}

enum ranked { RANKED, RANK_NEEDS_BODY, RANK_BROKEN };

/* Fills the plan.  RANK_BROKEN: the version cannot be read (400). */
enum ranked version_rank(struct http_request *r, const struct version_table *t,
                         const struct http_choice *choice, struct plan *plan);

/* Whether the request names the very version. */
bool version_is_named(unsigned rank);
/* The wish for which an offer was chosen, from its rank. */
struct http_wish version_wish(const struct table_unit *u, unsigned rank);
/* The offer that was tried last has no format of the resource that meets its
 * wish: it may be tried again with the wish for its best one. */
void version_rank_again(struct plan *plan, const struct version_table *t,
                        struct http_wish best);

/* The path behind a unit's prefix, "/" at least; false: it is not below it. */
bool version_behind_prefix(const struct table_unit *u, struct str path,
                           struct str *rest);

#endif
