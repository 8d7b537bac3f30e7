/*
 * OPTIONS, and the preflights of browsers where the location has no cors of
 * its own: pages of any origin may ask where anybody may.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "answer.h"

#define ASKED_MAX 1024 /* bytes of Access-Control-Request-Headers */

static enum http_result
answer_options(struct http_request *r, struct str methods)
{
    const struct str *asked = http_header(r, "Access-Control-Request-Headers");

    http_set_header(r, "Allow", methods);
    answer_set_headers(r);
    if (answer_is_open(r) &&
        http_header(r, "Access-Control-Request-Method") != NULL) {
        http_set_header(r, "Access-Control-Allow-Methods", methods);
        if (asked != NULL && asked->len <= ASKED_MAX) {
            http_set_header(r, "Access-Control-Allow-Headers", *asked);
        }
        http_set_header(r, "Access-Control-Max-Age", STR("600"));
        http_vary(r, STR("Access-Control-Request-Headers"));
    }
    return http_reply(r, 204, NULL, STR_NONE);
}

enum http_result
articles_options_list(struct http_request *r, void *state)
{
    (void)state;
    http_set_header(r, "Accept-Post", article_types(r->pool, false));
    return answer_options(r, STR("GET, HEAD, POST, OPTIONS"));
}

enum http_result
articles_options_item(struct http_request *r, void *state)
{
    const struct articles *layer = state;

    if (!layer->settings->edit) {
        return answer_options(r, STR("GET, HEAD, DELETE, OPTIONS"));
    }
    http_set_header(r, "Accept-Patch", article_types(r->pool, true));
    return answer_options(r, STR("GET, HEAD, PUT, PATCH, DELETE, OPTIONS"));
}

enum http_result
articles_options_read(struct http_request *r, void *state)
{
    (void)state;
    return answer_options(r, STR("GET, HEAD, OPTIONS"));
}
