/*
 * Ranking, by the unit's strategy.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rank.h"

#include <assert.h>

#include "param.h"

#define CLOSENESSES (HTTP_BY_VERSION + 1)
#define BEST 1000 /* quality */

struct ranking {
    struct http_request *r;
    const struct version_table *t;
    struct plan *plan;
    const struct http_choice *choice;
    bool preflight;  /* of CORS: it asks for no version (Fetch, 4.8) */
    bool path_named; /* the path begins with a version */
    /* The last parameter, so that it is read once. */
    bool header_read;
    enum param header;
    struct str header_value;
    struct str param_name;
    enum param param;
    struct str param_value;
    /* By place: of vendors, of units. */
    bool matched[UNITS_MAX], excluded[UNITS_MAX];
    bool fits[UNITS_MAX];
    enum reason reasons[UNITS_MAX];
};

static unsigned
rank_of(int quality, enum http_closeness close)
{
    return RANK_NAMED + (unsigned)quality * CLOSENESSES + close;
}

/* ---- all strategies ---- */

/* Whether the offer is what a request without a version gets: the default
 * version, or the last one that the unit declares. */
static bool
is_default(const struct ranking *k, const struct table_unit *u, size_t offer)
{
    const struct str *wanted = &k->t->default_version;

    return wanted->len > 0 ? str_eq(k->t->offers[offer].version, *wanted)
                           : offer == u->first;
}

static void
rank_default(struct ranking *k, const struct table_unit *u)
{
    for (size_t i = u->first; i < u->first + u->count; i++) {
        if (is_default(k, u, i)) {
            k->plan->ranks[i] = RANK_DEFAULT;
        }
    }
}

/* The offer of that very version; false if there is none. */
static bool
rank_exact(struct ranking *k, const struct table_unit *u, struct str version)
{
    for (size_t i = u->first; i < u->first + u->count; i++) {
        if (str_eq(k->t->offers[i].version, version)) {
            k->plan->ranks[i] = rank_of(BEST, HTTP_BY_VERSION);
            return true;
        }
    }
    return false;
}

/* Of a header or a parameter. */
static enum reason
rank_value(struct ranking *k, const struct table_unit *u, enum param state,
           struct str version)
{
    if (state == PARAM_GIVEN) {
        return rank_exact(k, u, version) ? REASON_NONE : REASON_UNKNOWN;
    }
    if (state == PARAM_ODD) {
        return REASON_UNKNOWN;
    }
    if (u->strict) {
        return REASON_MISSING;
    }
    rank_default(k, u);
    return REASON_UNKNOWN;
}

/* ---- path ---- */

bool
version_behind_prefix(const struct table_unit *u, struct str path,
                      struct str *rest)
{
    if (!str_starts(path, u->prefix)) {
        return false;
    }
    *rest = str_skip(path, u->prefix.len);
    if (rest->len == 0) {
        *rest = STR("/");
    }
    return rest->ptr[0] == '/';
}

static enum reason
rank_path(struct ranking *k, const struct table_unit *u, struct str rest)
{
    struct str segment = str_skip(rest, 1);

    if (rank_exact(k, u, str_first(segment, str_find(segment, '/', 0)))) {
        k->path_named = true;
    }
    return REASON_UNKNOWN;
}

/* ---- header: Accept ---- */

/* The closest member that names an offer, down to least.  A member that
 * excludes only one format leaves the others to the next. */
static enum http_closeness
closest(const struct mark *const by[CLOSENESSES], enum http_closeness least,
        bool *excluded)
{
    enum http_closeness close = HTTP_BY_VERSION;

    while (close > least && by[close]->quality <= 0 &&
           !mark_excludes(by[close])) {
        *excluded |= by[close]->quality == 0;
        close--;
    }
    *excluded |= by[close]->quality == 0;
    return close;
}

/* Every offer by the closest member that names it. */
static enum reason
rank_accept(struct ranking *k, const struct table_unit *u)
{
    const struct marks *m = k->plan->marks;
    const struct mark *by[CLOSENESSES] = { [HTTP_BY_ANY] = &m->any,
                                           [HTTP_BY_MAJOR] = &m->major,
                                           [HTTP_BY_TYPE] = &m->json,
                                           [HTTP_BY_VENDOR] =
                                               &m->vendors[u->vendor] };
    enum http_closeness least = u->strict ? HTTP_BY_VERSION : HTTP_BY_ANY;

    for (size_t i = u->first; i < u->first + u->count; i++) {
        enum http_closeness close;

        by[HTTP_BY_VERSION] = &m->names[k->t->offers[i].name];
        close = closest(by, least, &k->excluded[u->vendor]);
        if (by[close]->quality <= 0) {
            continue;
        }
        if (close == HTTP_BY_VERSION || k->t->default_version.len == 0 ||
            is_default(k, u, i)) {
            k->plan->ranks[i] = rank_of(by[close]->quality, close);
            k->matched[u->vendor] = true;
        }
    }
    return u->strict && !m->unknown[u->vendor] ? REASON_MISSING
                                               : REASON_UNKNOWN;
}

/* A vendor none of whose versions is named or accepted: who says nothing of
 * versions gets what there is. */
static void
rank_accept_rest(struct ranking *k, size_t unit)
{
    const struct table_unit *u = &k->t->units[unit];
    const struct marks *m = k->plan->marks;
    bool said_no = k->excluded[u->vendor] && !m->other;

    if (k->matched[u->vendor] || u->strict || m->unknown[u->vendor]) {
        return;
    }
    if (said_no) {
        k->reasons[unit] = REASON_EXCLUDED;
        return;
    }
    for (size_t i = u->first; i < u->first + u->count; i++) {
        const struct mark *named = &m->names[k->t->offers[i].name];

        if (!mark_excludes(named) &&
            (k->t->default_version.len == 0 || is_default(k, u, i))) {
            k->plan->ranks[i] = RANK_DEFAULT;
        }
    }
}

/* ---- Accept-Version ---- */

/* Two of them are a list, and a list is no version. */
static void
read_header(struct ranking *k)
{
    k->header_read = true;
    k->header = PARAM_ABSENT;
    for (size_t i = 0; i < k->r->header_count; i++) {
        const struct http_header *h = &k->r->headers[i];
        struct str value = str_trim(h->value);

        if (value.len > 0 && str_eq_nocase(h->name, STR("Accept-Version"))) {
            k->header = k->header == PARAM_ABSENT ? PARAM_GIVEN : PARAM_ODD;
            k->header_value = value;
        }
    }
}

/* ---- param ---- */

/* Before anything is ranked by it: what it says may not be known yet. */
static enum ranked
read_param(struct ranking *k, const struct table_unit *u)
{
    if (u->strategy != STRATEGY_PARAM || k->preflight) {
        return RANKED;
    }
    if (!str_eq(k->param_name, u->parameter)) {
        k->param_name = u->parameter;
        k->param =
            version_param(k->r, u->parameter, k->choice, &k->param_value);
    }
    return k->param == PARAM_NEEDS_BODY ? RANK_NEEDS_BODY
           : k->param == PARAM_BROKEN   ? RANK_BROKEN
                                        : RANKED;
}

/* ---- all together ---- */

static enum reason
rank_by_strategy(struct ranking *k, const struct table_unit *u, struct str rest)
{
    if (k->preflight && u->strategy != STRATEGY_PATH) {
        k->plan->ranks[u->first] = RANK_DEFAULT;
        return REASON_NONE;
    }
    switch (u->strategy) {
    case STRATEGY_PATH:
        return rank_path(k, u, rest);
    case STRATEGY_HEADER:
        if (k->plan->marks == NULL) {
            k->plan->marks = version_read_accept(k->r, k->t);
        }
        return rank_accept(k, u);
    case STRATEGY_ACCEPT_VERSION:
        if (!k->header_read) {
            read_header(k);
        }
        return rank_value(k, u, k->header, k->header_value);
    case STRATEGY_PARAM:
        return rank_value(k, u, k->param, k->param_value);
    case STRATEGIES:
        break;
    }
    return REASON_NONE;
}

/* Ranks units that depend on the ranks of others. */
static void
rank_rest(struct ranking *k)
{
    for (size_t i = 0; i < k->t->unit_count; i++) {
        const struct table_unit *u = &k->t->units[i];

        if (!k->fits[i]) {
            continue;
        }
        if (u->strategy == STRATEGY_HEADER && !k->preflight) {
            rank_accept_rest(k, i);
        } else if (u->strategy == STRATEGY_PATH && !k->path_named &&
                   k->t->default_version.len > 0) {
            rank_default(k, u);
        }
    }
}

static bool
serves_any(const struct version_table *t, const struct table_unit *u)
{
    return t->offers[u->first].version.len == 0;
}

static enum ranked
rank_units(struct ranking *k)
{
    const struct version_table *t = k->t;

    for (size_t i = 0; i < t->unit_count; i++) {
        const struct table_unit *u = &t->units[i];
        enum ranked result;
        struct str rest;

        if (!version_behind_prefix(u, k->r->route_path, &rest)) {
            continue;
        }
        if (serves_any(t, u)) {
            k->plan->ranks[u->first] = RANK_ANY;
            continue;
        }
        result = read_param(k, u);
        if (result != RANKED) {
            return result;
        }
        k->fits[i] = true;
        k->reasons[i] = rank_by_strategy(k, u, rest);
    }
    rank_rest(k);
    return RANKED;
}

/* ---- what it comes to when no unit answers ---- */

static bool
has_ranked(const struct plan *plan, const struct table_unit *u)
{
    for (size_t i = u->first; i < u->first + u->count; i++) {
        if (plan->ranks[i] >= RANK_DEFAULT) {
            return true;
        }
    }
    return false;
}

static int
status_of(const struct version_table *t, const struct table_unit *u,
          enum reason why)
{
    bool header = u->strategy == STRATEGY_HEADER ||
                  u->strategy == STRATEGY_ACCEPT_VERSION;

    if (why == REASON_EXCLUDED || (header && (u->strict || !u->cascade))) {
        return 406;
    }
    return t->unmatched_status;
}

/* Of the units that were asked: those with the version, or else all. */
static void
conclude(struct ranking *k)
{
    const struct version_table *t = k->t;
    struct plan *plan = k->plan;
    bool served = false, asked = false;

    for (size_t i = 0; i < t->unit_count && !served; i++) {
        served = k->fits[i] && has_ranked(plan, &t->units[i]);
    }
    for (size_t i = 0; i < t->unit_count; i++) {
        const struct table_unit *u = &t->units[i];

        if (!k->fits[i] || (served && !has_ranked(plan, u))) {
            continue;
        }
        asked = true;
        plan->ends_here |= !u->cascade;
        if (!served && status_of(t, u, k->reasons[i]) > plan->status) {
            plan->status = status_of(t, u, k->reasons[i]);
            plan->reason = k->reasons[i];
        }
    }
    plan->ends_here |= !asked && !t->cascade;
}

/* ---- formats ---- */

bool
version_is_named(unsigned rank)
{
    return rank >= RANK_NAMED &&
           (rank - RANK_NAMED) % CLOSENESSES == HTTP_BY_VERSION;
}

struct http_wish
version_wish(const struct table_unit *u, unsigned rank)
{
    struct http_wish w = { 0, HTTP_BY_ANY };

    if (u->strategy == STRATEGY_HEADER && rank >= RANK_NAMED) {
        w.quality = (int)((rank - RANK_NAMED) / CLOSENESSES);
        w.by = (rank - RANK_NAMED) % CLOSENESSES;
    }
    return w;
}

void
version_rank_again(struct plan *plan, const struct version_table *t,
                   struct http_wish best)
{
    unsigned again =
        best.quality > 0 ? rank_of(best.quality, best.by) : RANK_NONE;

    assert(again < plan->ranks[plan->asked]);
    plan->ranks[plan->asked] = again;
    plan_set_tried(plan, t->offers[plan->asked].unit, false);
}

/* ---- all in all ---- */

static bool
is_preflight(const struct http_request *r)
{
    return str_eq(r->method, STR("OPTIONS")) &&
           http_header(r, "Origin") != NULL &&
           http_header(r, "Access-Control-Request-Method") != NULL;
}

enum ranked
version_rank(struct http_request *r, const struct version_table *t,
             const struct http_choice *choice, struct plan *plan)
{
    struct ranking k = {
        .r = r,
        .t = t,
        .plan = plan,
        .choice = choice,
        .preflight = is_preflight(r),
    };
    enum ranked result = rank_units(&k);

    if (result == RANKED) {
        conclude(&k);
        plan->ranked = true;
    }
    return result;
}
