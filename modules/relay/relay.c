/*
 * Stream keys and static relays: what stands under /control.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "relay.h"

#include "answer.h"
#include "api_keys.h"
#include "app/worker.h"
#include "conf/rows.h"
#include "order.h"
#include "relayer.h"
#include "schema.h"
#include "settings.h"
#include "tasks.h"

static const struct conf_key keys[] = {
    ROW(relay_settings, max_rooms, CONF_INT, .min = 1, .max = 100000000,
        .preset = "100000",
        .help =
            "The most rooms that may have a key: a new one is refused (507) "
            "until one is deleted."),
    CONF_END,
};

/* ---- what is counted ---- */

static const char *
refused_name(unsigned i)
{
    static const char *const names[RELAY_REFUSED_REASONS] = {
        [RELAY_REFUSED_PARAMETER] = "parameter",
        [RELAY_REFUSED_TASK] = "task",
        [RELAY_REFUSED_NO_ROOM] = "no_room",
        [RELAY_REFUSED_ROOMS] = "max_rooms",
        [RELAY_REFUSED_STORE] = "store",
    };

    return names[i];
}

static const char *
done_name(unsigned i)
{
    static const char *const names[RELAY_DONE_KINDS] = {
        [RELAY_DONE_MADE] = "made",
        [RELAY_DONE_RESET] = "reset",
        [RELAY_DONE_DELETED] = "deleted",
    };

    return names[i];
}

static const char *
publish_refused_name(unsigned i)
{
    static const char *const names[RELAY_PUBLISH_REASONS] = {
        [RELAY_PUBLISH_FORM] = "form",
        [RELAY_PUBLISH_UNKNOWN] = "unknown",
        [RELAY_PUBLISH_LONG] = "long",
        [RELAY_PUBLISH_STORE] = "store",
    };

    return names[i];
}

struct metric relay_metrics[] = {
    [RELAY_REFUSED] = { .name = "weir_relay_refused_total",
                        .help = "Requests under /control that were refused.",
                        .labels = { { "reason", refused_name,
                                      RELAY_REFUSED_REASONS } } },
    [RELAY_TASKS] = { .name = "weir_relay_tasks",
                      .help = "Pulls and pushes, by what they do now.",
                      .type = METRIC_GAUGE,
                      .labels = { { "kind", relay_kind_name, RELAY_KINDS },
                                  { "state", relay_state_name,
                                    RELAY_STATES } } },
    [RELAY_ATTEMPTS] = { .name = "weir_relay_attempts_total",
                         .help = "Connections that relays began to make.",
                         .labels = { { "kind", relay_kind_name,
                                       RELAY_KINDS } } },
    [RELAY_FAILED] = { .name = "weir_relay_failures_total",
                       .help = "Connections of relays that came to nothing or "
                               "broke.",
                       .labels = { { "kind", relay_kind_name, RELAY_KINDS },
                                   { "reason", relay_failure_name,
                                     RELAY_FAILURES } },
                       .sparse = true },
    [RELAY_BYTES] = { .name = "weir_relay_bytes_total",
                      .help = "Payloads of media that relays took in or sent "
                              "on.",
                      .labels = { { "kind", relay_kind_name, RELAY_KINDS } } },
    [RELAY_KEYS] = { .name = "weir_relay_keys_total",
                     .help = "Stream keys that were made, reset and deleted.",
                     .labels = { { "action", done_name, RELAY_DONE_KINDS } } },
    [RELAY_PUBLISH_REFUSED] = { .name = "weir_relay_publish_refused_total",
                                .help = "Publishers that came without a key "
                                        "that is good.",
                                .labels = { { "reason", publish_refused_name,
                                              RELAY_PUBLISH_REASONS } } },
    [RELAY_GRACED] = { .name = "weir_relay_graced_total",
                       .help = "Publishers let in by key_grace, while the "
                               "store could not be asked." },
    [RELAY_REVOKED] = { .name = "weir_relay_revoked_total",
                        .help = "Live publishers that were closed because "
                                "their key was reset or deleted." },
    [RELAY_METRIC_COUNT] = METRIC_END,
};

/* ---- life ---- */

static const struct http_route routes[] = {
    { "GET", "/pull", relay_pull, NULL },
    { "GET", "/push", relay_push, NULL },
    { "GET", "/relays", relay_list, NULL },
    { .method = "GET", .path = "/get", .handler = relay_on_get },
    { .method = "GET", .path = "/reset", .handler = relay_on_reset },
    { .method = "GET", .path = "/delete", .handler = relay_on_delete },
    { .method = "OPTIONS", .path = "/pull", .handler = relay_on_options },
    { .method = "OPTIONS", .path = "/push", .handler = relay_on_options },
    { .method = "OPTIONS", .path = "/relays", .handler = relay_on_options },
    { .method = "OPTIONS", .path = "/get", .handler = relay_on_options },
    { .method = "OPTIONS", .path = "/reset", .handler = relay_on_options },
    { .method = "OPTIONS", .path = "/delete", .handler = relay_on_options },
    { .path = NULL },
};

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **r, struct errmsg *err)
{
    struct relay *relay = pool_zero(layer->worker->pool, sizeof(*relay));

    (void)r;
    (void)err;
    relay->settings = layer->settings;
    relay->all = layer->worker->generation->settings;
    *state = relay;
    return 0;
}

const struct module relay_module = {
    .name = "relay",
    .about = "stream keys and relays: GET /get, /reset, /delete, /pull, /push",
    .keys = keys,
    .settings_size = sizeof(struct relay_settings),
    .root = { relay_root_keys, sizeof(struct relay_root) },
    .application = { relay_application_keys, sizeof(struct relay_application) },
    .check_file = relay_check_file,
    .publish = RELAY_PUBLISH,
    .publish_default = true,
    .start = start,
    .routes = routes,
    .rtmp = &relay_publish_hooks,
    .store = &relay_schema,
    .error_body = relay_error_body,
    .rate = "50/s",
    .roles = relay_roles,
    .methods = order_methods,
    .verbs = relay_verbs,
    .metrics = relay_metrics,
    .share = relay_tasks_create,
    .sweep = relay_tasks_sweep,
};

const struct relays_settings *
relays_of(const struct settings *s)
{
    const struct relay_root *root = settings_of_module(s, &relay_module);

    return &root->relays;
}

const struct relay_application *
relay_application_of(const struct rtmp_application_settings *a)
{
    return settings_of_application(a, &relay_module);
}
