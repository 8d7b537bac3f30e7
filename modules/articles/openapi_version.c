/*
 * The parameters by which a request names the version that a document
 * describes.  A generator makes a client from it that gets this version and no
 * other: so these parameters are required, and can have this value alone.
 *
 * Accept is a parameter here although OpenAPI says that one of this name is
 * ignored, since the answer's types say it all.  A tool that ignores it loses
 * nothing; most generators take no Accept from the types, but ask for this one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "base/clock.h"
#include "openapi.h"

/* A layer of versions within another may name it by the same means: the inner
 * one then has the parameter for itself. */
static bool
is_hidden(const struct http_api *innermost, const struct http_api *api)
{
    for (const struct http_api *a = innermost; a != api; a = a->outer) {
        if (a->by == api->by && str_eq(a->parameter, api->parameter)) {
            return true;
        }
    }
    return api->by == HTTP_API_PATH;
}

static struct str
name_of(const struct http_api *api)
{
    return api->by == HTTP_API_PARAM    ? api->parameter
           : api->by == HTTP_API_ACCEPT ? STR("Accept")
                                        : STR("Accept-Version");
}

static struct str
key_of(struct pool *pool, const struct http_api *api)
{
    return api->by == HTTP_API_PARAM ? pool_printf(pool, "Version")
                                     : name_of(api);
}

const char *
openapi_answer_type(const struct openapi_writer *w,
                    const struct article_format *f)
{
    const struct http_api *api = w->api;

    while (api != NULL && api->by != HTTP_API_ACCEPT) {
        api = api->outer;
    }
    if (api == NULL) {
        return f->type;
    }
    if (f == &article_format_text_xml) {
        return NULL; /* its vendor type is that of the other XML */
    }
    return pool_printf(w->pool, "application/vnd.%.*s-%.*s+%s",
                       STR_ARGS(api->vendor), STR_ARGS(api->version), f->name)
        .ptr;
}

static void
put_values(struct openapi_writer *w, const struct http_api *api)
{
    json_key(&w->json, "enum");
    json_open_array(&w->json);
    for (size_t i = 0; api->by == HTTP_API_ACCEPT && article_formats[i] != NULL;
         i++) {
        const char *type = openapi_answer_type(w, article_formats[i]);

        if (type != NULL) {
            json_str(&w->json, str_from(type));
        }
    }
    if (api->by != HTTP_API_ACCEPT) {
        json_str(&w->json, api->version);
    }
    json_close(&w->json);
}

static void
put_parameter(struct openapi_writer *w, const struct http_api *api)
{
    bool query = api->by == HTTP_API_PARAM;

    json_key(&w->json, key_of(w->pool, api).ptr);
    json_open(&w->json);
    json_put_str(&w->json, "name", name_of(api));
    json_put_str(&w->json, "in", query ? STR("query") : STR("header"));
    json_put_bool(&w->json, "required", true);
    json_put_str(&w->json, "description",
                 STR("The version that this document describes."));
    json_key(&w->json, "schema");
    json_open(&w->json);
    json_put_str(&w->json, "type", STR("string"));
    put_values(w, api);
    json_close(&w->json);
    json_close(&w->json);
}

void
openapi_put_version_parameters(struct openapi_writer *w)
{
    for (const struct http_api *a = w->api; a != NULL; a = a->outer) {
        if (!is_hidden(w->api, a)) {
            put_parameter(w, a);
        }
    }
}

void
openapi_put_version_references(struct openapi_writer *w)
{
    for (const struct http_api *a = w->api; a != NULL; a = a->outer) {
        if (!is_hidden(w->api, a)) {
            json_open(&w->json);
            json_put_str(&w->json, "$ref",
                         pool_printf(w->pool, "#/components/parameters/%.*s",
                                     STR_ARGS(key_of(w->pool, a))));
            json_close(&w->json);
        }
    }
}

struct str
openapi_about_version(struct pool *pool, const struct http_api *api)
{
    if (api == NULL) {
        return STR_NONE;
    }
    switch (api->by) {
    case HTTP_API_PATH:
        break;
    case HTTP_API_ACCEPT:
        return pool_printf(pool,
                           " This is version %.*s: it is asked for by Accept: "
                           "application/vnd.%.*s-%.*s, with +json or +xml "
                           "behind it for the form. Bodies may have these "
                           "types too.",
                           STR_ARGS(api->version), STR_ARGS(api->vendor),
                           STR_ARGS(api->version));
    case HTTP_API_VERSION:
        return pool_printf(pool,
                           " This is version %.*s: it is asked for by "
                           "Accept-Version: %.*s.",
                           STR_ARGS(api->version), STR_ARGS(api->version));
    case HTTP_API_PARAM:
        return pool_printf(pool,
                           " This is version %.*s: it is asked for by the "
                           "parameter %.*s=%.*s.",
                           STR_ARGS(api->version), STR_ARGS(api->parameter),
                           STR_ARGS(api->version));
    }
    return pool_printf(pool, " This is version %.*s, as the path says.",
                       STR_ARGS(api->version));
}

bool
openapi_is_deprecated(const struct http_api *api)
{
    int64_t now = clock_wall_ms() / 1000;

    for (; api != NULL; api = api->outer) {
        if (api->deprecated >= 0 && api->deprecated <= now) {
            return true;
        }
    }
    return false;
}
