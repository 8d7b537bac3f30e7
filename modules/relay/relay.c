/*
 * Stream keys and static relays: what stands under /control.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "relay.h"

#include "answer.h"
#include "app/worker.h"

static const struct conf_key keys[] = {
    { .name = "max_rooms",
      .type = CONF_INT,
      .offset = offsetof(struct relay_settings, max_rooms),
      .min = 1,
      .max = 100000000,
      .preset = "100000",
      .help = "The most rooms that may have a key: a new one is refused (507) "
              "until one is deleted." },
    CONF_END,
};

/* ---- what is counted ---- */

static const char *
refused_name(unsigned i)
{
    static const char *const names[RELAY_REFUSED_REASONS] = {
        [RELAY_REFUSED_SITE] = "site",
        [RELAY_REFUSED_PARAMETER] = "parameter",
    };

    return names[i];
}

struct metric relay_metrics[] = {
    [RELAY_REFUSED] = { .name = "weir_relay_refused_total",
                        .help = "Requests under /control that were refused.",
                        .labels = { { "reason", refused_name,
                                      RELAY_REFUSED_REASONS } } },
    [RELAY_METRIC_COUNT] = METRIC_END,
};

/* ---- life ---- */

static const struct http_route routes[] = {
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
    *state = relay;
    return 0;
}

const struct module relay_module = {
    .name = "relay",
    .about = "stream keys and relays: GET /get, /reset, /delete",
    .keys = keys,
    .settings_size = sizeof(struct relay_settings),
    .start = start,
    .routes = routes,
    .error_body = relay_error_body,
    .rate = "50/s",
    .metrics = relay_metrics,
};
