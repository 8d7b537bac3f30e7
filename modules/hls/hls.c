/*
 * The module: its settings, its layers, its routes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "hls.h"

#include "conf/rows.h"

static const struct conf_key keys[] = {
    ROW(hls_settings, allow_origin, CONF_STRING, .max = 256, .preset = "*",
        .help =
            "Access-Control-Allow-Origin of the answers, so that players in "
            "pages of other sites may read them; empty: none.  Where the "
            "location has cors, that counts instead."),
    CONF_END,
};

static enum http_result
on_hls(struct http_request *r, void *state)
{
    (void)r;
    (void)state;
    return HTTP_PASS;
}

static const struct http_route routes[] = {
    { .method = "GET", .path = "/*", .handler = on_hls },
    { .path = NULL },
};

const struct module hls_module = {
    .name = "hls",
    .about = "live streams for browsers and caches: GET /APP/NAME.m3u8",
    .keys = keys,
    .settings_size = sizeof(struct hls_settings),
    .routes = routes,
};
