/*
 * Copies the settings of filters into what http/ works with.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/service/http_filters.h"

#include <assert.h>

#include "app/module.h"
#include "app/settings/filters.h"
#include "http/filter/cors.h"
#include "http/filter/rate.h"

static struct str
join(struct pool *pool, const struct conf_strings *list)
{
    struct str all = STR_NONE;

    for (size_t i = 0; i < list->count; i++) {
        all = pool_printf(pool, "%.*s%s%.*s", STR_ARGS(all), i > 0 ? ", " : "",
                          STR_ARGS(list->items[i]));
    }
    return all;
}

static const struct http_cors *
make_cors(struct pool *pool, const struct cors_settings *s)
{
    struct http_cors *c;

    if (s->allow_origins.count == 0) {
        return NULL;
    }
    c = pool_alloc(pool, sizeof(*c));
    *c = (struct http_cors){
        .origins = s->allow_origins.items,
        .origin_count = s->allow_origins.count,
        .methods = join(pool, &s->allow_methods),
        .headers = join(pool, &s->allow_headers),
        .exposed = join(pool, &s->expose_headers),
        .credentials = s->credentials,
        .max_age = s->max_age / 1000,
    };
    return c;
}

/* Of a location that says nothing of rates: what the first of its modules
 * that has a word on it says. */
static struct conf_groups
default_rates(struct pool *pool, const struct http_location_settings *l)
{
    const struct conf_extra *layer;

    for (size_t i = 0; (layer = settings_http_layer(l, i)) != NULL; i++) {
        const struct module *m = layer->what;

        if (m->rate != NULL) {
            struct rate_settings *s = pool_zero(pool, sizeof(*s));

            s->key = STR("address");
            s->rate = str_from(m->rate);
            s->burst = RATE_BURST_AUTO;
            return (struct conf_groups){ .items = s, .count = 1 };
        }
    }
    return (struct conf_groups){ 0 };
}

/* Counts stay with the place of the server, the location and the place of the
 * rule in it, so that they go on when a reload changes the numbers. */
static struct http_rate
make_rate(struct pool *pool, size_t server,
          const struct http_location_settings *l, const struct rate_settings *s,
          size_t i)
{
    struct http_rate rate = { .key = RATE_ADDRESS };
    struct errmsg err;
    int bad = rate_parse_key(s->key, &rate.key, &rate.header, &err) |
              rate_parse(s->rate, &rate.pace.interval_us, &err);

    assert(bad == 0); /* both were checked */
    (void)bad;
    rate.pace.burst = settings_burst(s, rate.pace.interval_us);
    rate.identity =
        pool_printf(pool, "%zu%.*s#%zu", server, STR_ARGS(l->path), i);
    return rate;
}

void
http_filters_set(struct pool *pool, size_t server,
                 const struct http_location_settings *l,
                 struct http_location *out)
{
    struct conf_groups from =
        l->rate.count > 0 ? l->rate : default_rates(pool, l);
    const struct rate_settings *items = from.items;
    size_t n = from.count;
    struct http_rate *rates = pool_zero(pool, (n + 1) * sizeof(*rates));

    for (size_t i = 0; i < n; i++) {
        rates[i] = make_rate(pool, server, l, &items[i], i);
        rates[i].others_only = l->rate.count == 0;
    }
    out->cors = make_cors(pool, &l->cors);
    out->rates = rates;
    out->rate_count = n;
}
