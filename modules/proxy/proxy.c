/*
 * The table of the module, and the settings of its layers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proxy.h"

#include "conf/rows.h"
#include "upstream.h"

static const struct conf_key keys[] = {
    ROW(proxy_settings, upstream, CONF_STRING, .min = 1, .max = 255,
        .help = "The upstream that answers: the name of an item of upstreams, "
                "or the URL of a server: \"http://127.0.0.1:9001\", "
                "\"https://api.example\", \"unix:/run/api.sock\"."),
    CONF_END,
};

struct str
proxy_layer_upstream(const void *layer_settings)
{
    const struct proxy_settings *s = layer_settings;

    return s->upstream;
}

static enum http_result
on_request(struct http_request *r, void *state)
{
    (void)state;
    return http_error(r, 502, "no server answers");
}

static const struct http_route routes[] = {
    { .method = "*", .path = "/*", .handler = on_request },
    { .path = NULL },
};

const struct module proxy_module = {
    .name = "proxy",
    .about = "passes requests on to servers of your own",
    .keys = keys,
    .settings_size = sizeof(struct proxy_settings),
    .routes = routes,
};
