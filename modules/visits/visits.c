/*
 * Settings, metrics, calls, and the table of the module.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "visits.h"

#include "app/settings/settings.h"
#include "conf/rows.h"

/* ---- settings ---- */

static bool
is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9');
}

bool
visits_is_name(struct str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];

        if (!is_alnum(c) && (i == 0 || (c != '-' && c != '_' && c != '.'))) {
            return false;
        }
    }
    return s.len > 0 && s.len <= VISITS_NAME_MAX;
}

static int
check_name(struct str value, struct errmsg *err)
{
    if (visits_is_name(value)) {
        return 0;
    }
    return errmsg_set(err,
                      "must be letters, digits, \"-\", \"_\" and \".\", and "
                      "begin with a letter or digit, not \"%.*s\"",
                      STR_ARGS(value));
}

static const struct conf_key keys[] = {
    ROW(visits_settings, instance, CONF_INSTANCE, .of = "visits",
        .help = "Name of the item of visits that counts here; the only one "
                "if left out."),
    CONF_END,
};

static const struct conf_key instance_keys[] = {
    ROW(visits_instance, name, CONF_STRING, .min = 1, .max = VISITS_NAME_MAX,
        .check = check_name,
        .help = "Its name: a layer names it as its instance."),
    ROW(visits_instance, max_rooms, CONF_INT, .min = 1, .max = 100000,
        .preset = "1000",
        .help = "Rooms that it counts; a visit to one more is refused (507)."),
    ROW(visits_instance, timeout, CONF_TIME, .min = 100, .max = 60000,
        .preset = "5s",
        .help = "A visit that is not counted in this time is refused (503)."),
    CONF_END,
};

static const struct conf_key root_keys[] = {
    ROW_AS("visits", visits_root, instances, CONF_GROUPS, .keys = instance_keys,
           .size = sizeof(struct visits_instance), .max = VISITS_SHOWN,
           .preset = "", .named = true,
           .help = "Counters of visits, by name; see visits(7)."),
    CONF_END,
};

static void
look_at_layer(void *arg, const struct conf_extra *layer)
{
    const struct module *m = layer->what;
    bool *found = arg;

    *found |= m != NULL && m->store == &visits_schema;
}

bool
visits_wanted(const struct settings *s)
{
    bool found = false;

    settings_each_layer(s, look_at_layer, &found);
    return found;
}

/* ---- metrics ---- */

static const char *
reason_name(unsigned i)
{
    static const char *const names[VISITS_REASONS] = {
        [VISITS_BAD_NAME] = "name",
        [VISITS_NO_ROOM] = "max_rooms",
        [VISITS_NO_COUNTER] = "counter",
        [VISITS_NO_STORE] = "store",
    };

    return names[i];
}

struct metric visits_metrics[] = {
    [VISITS_COUNTED] = { .name = "weir_visits_counted_total",
                         .help = "Visits that are in the store." },
    [VISITS_REFUSED] = { .name = "weir_visits_refused_total",
                         .help = "Requests that were refused.",
                         .labels = { { "reason", reason_name,
                                       VISITS_REASONS } } },
    [VISITS_METRICS] = METRIC_END,
};

/* ---- calls ---- */

struct rpc_method visits_methods[] = {
    [VISITS_COUNT] = { .name = "visits.count",
                       .role = "counter",
                       .caller = BUS_ANYBODY,
                       .request_max = sizeof(struct visits_place),
                       .answer_max = sizeof(struct visits_answer),
                       .open_max = 1024 },
    [VISITS_RESET] = { .name = "visits.reset",
                       .role = "counter",
                       .caller = BUS_MASTER,
                       .request_max = VISITS_NAME_MAX,
                       .answer_max = sizeof(struct visits_answer),
                       .open_max = 64 },
    [VISITS_SHOW] = { .name = "visits.show",
                      .role = "counter",
                      .caller = BUS_MASTER,
                      .answer_max = 32000, /* VISITS_SHOWN fit */
                      .open_max = 64 },
    { .name = NULL },
};

const struct module visits_module = {
    .name = "visits",
    .about = "counts visits of rooms; the example of a whole service",
    .keys = keys,
    .settings_size = sizeof(struct visits_settings),
    .root = { root_keys, sizeof(struct visits_root) },
    .start = visits_start,
    .stop = visits_stop,
    .routes = visits_routes,
    .roles = visits_roles,
    .methods = visits_methods,
    .verbs = visits_verbs,
    .metrics = visits_metrics,
    .store = &visits_schema,
};

const struct visits_root *
visits_root_of(const struct settings *s)
{
    return settings_of_module(s, &visits_module);
}
