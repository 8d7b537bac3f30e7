/*
 * Versions of an API: a layer that wraps units, each with layers of its own,
 * and chooses among them by the version that a request asks for.
 *
 * The order of things for a request: every offer (a unit with one of its
 * versions) is ranked (rank.c); units are then asked best first, until one has
 * an answer.  The modules in them know nothing of it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/module.h"
#include "app/service/http_service.h"
#include "base/log.h"
#include "proc/metric.h"
#include "rank.h"

/* ---- what is counted ---- */

static const char *
reason_name(unsigned i)
{
    static const char *const names[REASONS - 1] = {
        [REASON_UNKNOWN - 1] = "unknown",
        [REASON_MISSING - 1] = "missing",
        [REASON_EXCLUDED - 1] = "excluded",
        [REASON_BROKEN - 1] = "malformed",
    };

    return i < REASONS - 1 ? names[i] : NULL;
}

static struct metric metrics[] = {
    { .name = "weir_version_unmatched_total",
      .help = "Requests whose version no unit has, by the reason; another "
              "layer may have answered them.",
      .labels = { { "reason", reason_name, REASONS - 1 } } },
    METRIC_END,
};

static void
count(enum reason why)
{
    metric_add(&metrics[0], metric_at(&metrics[0], why - 1U, 0, 0), 1);
}

/* ---- choosing ---- */

/* The offer to ask next; NULL: none is left. */
static const struct offer *
best_left(const struct version_table *t, const struct plan *plan)
{
    const struct offer *best = NULL;
    unsigned rank = RANK_NONE;

    for (size_t i = 0; i < t->offer_count; i++) {
        if (plan->ranks[i] > rank && !plan_tried(plan, t->offers[i].unit)) {
            rank = plan->ranks[i];
            best = &t->offers[i];
        }
    }
    return best;
}

/* The format of the member of Accept by which the offer was chosen. */
static struct str
format_of(const struct offer *o, const struct table_unit *u,
          const struct marks *m)
{
    if (m->names[o->name].quality > 0) {
        return m->names[o->name].format;
    }
    if (m->vendors[u->vendor].quality > 0) {
        return m->vendors[u->vendor].format;
    }
    return m->json.quality > 0 ? m->json.format : STR_NONE;
}

static void
note_named(struct plan *plan, const struct offer *o, unsigned rank)
{
    if (!version_is_named(rank)) {
        return;
    }
    if (plan->named != NULL && !str_eq(plan->named->version, o->version)) {
        plan->named_many = true;
    } else if (plan->named == NULL) {
        plan->named = o;
    }
}

static enum http_select
take(const struct http_request *r, const struct version_table *t,
     const struct offer *o, struct http_choice *choice)
{
    struct plan *plan = choice->memory;
    const struct table_unit *u = &t->units[o->unit];
    unsigned rank = plan->ranks[o - t->offers];

    plan->asked = (size_t)(o - t->offers);
    note_named(plan, o, rank);
    plan_set_tried(plan, o->unit, true);
    choice->layers = u->layers;
    choice->layer_count = u->layer_count;
    choice->lines = o->lines;
    choice->version = o->version;
    choice->api = o->version.len > 0 ? &o->api : NULL;
    choice->wish = version_wish(u, rank);
    choice->query = rank >= RANK_NAMED ? o->query : STR_NONE;
    choice->vendor = choice->format = STR_NONE;
    version_behind_prefix(u, r->route_path, &choice->route_path);
    if (o->version.len > 0 && u->strategy == STRATEGY_HEADER) {
        choice->vendor = t->vendors[u->vendor];
    }
    if (choice->vendor.len > 0 && plan->marks != NULL) {
        choice->format = format_of(o, u, plan->marks);
    }
    choice->in_path = u->strategy == STRATEGY_PATH && rank >= RANK_NAMED;
    if (choice->in_path) {
        choice->route_path = str_skip(choice->route_path, 1 + o->version.len);
        if (choice->route_path.len == 0) {
            choice->route_path = STR("/");
        }
    }
    return HTTP_CHOSEN;
}

/* No unit has an answer.  The answer that there is none, or none by that
 * method, names the version that was asked for. */
static enum http_select
leave(const struct version_table *t, struct http_choice *choice)
{
    const struct plan *plan = choice->memory;

    choice->lines = plan->named != NULL && !plan->named_many
                        ? plan->named->lines
                        : t->lines;
    choice->status = plan->reason != REASON_NONE ? plan->status : 404;
    choice->reason = t->reasons[plan->reason];
    if (plan->reason != REASON_NONE) {
        count(plan->reason);
    }
    return plan->ends_here ? HTTP_REFUSED : HTTP_NONE_LEFT;
}

static enum http_select
refuse_broken(const struct version_table *t, struct http_choice *choice)
{
    count(REASON_BROKEN);
    choice->lines = t->lines;
    choice->status = 400;
    choice->reason = t->reasons[REASON_BROKEN];
    return HTTP_REFUSED;
}

static struct plan *
plan_of(struct http_request *r, const struct version_table *t,
        struct http_choice *choice)
{
    struct plan *plan = choice->memory;

    if (plan == NULL) {
        plan = pool_zero(r->pool,
                         sizeof(*plan) + t->offer_count * sizeof(*plan->ranks));
        choice->memory = plan;
        if (t->vary.len > 0) { /* within units it was not known before */
            http_vary(r, t->vary);
        }
    }
    return plan;
}

enum http_select
version_select(struct http_request *r, void *state, struct http_choice *choice)
{
    const struct version_table *t = state;
    struct plan *plan = plan_of(r, t, choice);
    const struct offer *best;

    if (!plan->ranked) {
        switch (version_rank(r, t, choice, plan)) {
        case RANK_NEEDS_BODY:
            return HTTP_NEEDS_BODY;
        case RANK_BROKEN:
            return refuse_broken(t, choice);
        case RANKED:
            break;
        }
    }
    if (choice->unfit != NULL) {
        version_rank_again(plan, t, *choice->unfit);
    }
    best = best_left(t, plan);
    return best != NULL ? take(r, t, best, choice) : leave(t, choice);
}

/* ---- life ---- */

static int
check(const void *settings, struct errmsg *err)
{
    return units_check(settings, err);
}

static int
start_units(const struct module_layer *layer, const struct units *units,
            struct version_table *t, struct errmsg *err)
{
    for (size_t i = 0; i < units->count; i++) {
        const struct conf_groups *list = &units->items[i].settings->layers;

        if (http_service_layers(layer, list, &t->units[i].layers,
                                &t->units[i].layer_count, err) == -1) {
            return -1;
        }
    }
    return 0;
}

/* All of it lies in the worker's pool: there is nothing to stop. */
static int
start(const struct module_layer *layer, void **state,
      const struct http_route **routes, struct errmsg *err)
{
    struct pool *pool = layer->worker->pool;
    struct units *units = pool_zero(pool, sizeof(*units));

    (void)routes;
    if (units_make(layer->settings, pool, units, err) == -1) {
        return -1;
    }
    struct version_table *t = version_table_new(units, layer->settings, pool);

    *state = t;
    return start_units(layer, units, t, err);
}

static void
describe(const void *state, struct http_layer *layer)
{
    const struct version_table *t = state;

    layer->vary = t->vary;
    layer->lines = t->lines;
}

static void
layers(const void *settings, module_each_layers *each, void *arg)
{
    units_each_layers(settings, each, arg);
}

const struct module version_module = {
    .name = "version",
    .about = "wraps units that serve versions of an API",
    .keys = version_keys,
    .settings_size = sizeof(struct version_settings),
    .check = check,
    .start = start,
    .select = version_select,
    .layers = layers,
    .describe = describe,
    .metrics = metrics,
};
