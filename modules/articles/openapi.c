/*
 * Answering GET /openapi.json: what is known only of this request; the rest is
 * written by openapi_write.c from openapi_tables.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "openapi.h"

#include <assert.h>
#include <stdio.h>

#include "answer.h"
#include "config.h"
#include "http/filter/auth.h"
#include "http/path.h"
#include "net/sha256.h"

#define TYPE "application/json"
#define COMMON                                                                \
    "Articles with their authors. HEAD is answered as GET without its body, " \
    "OPTIONS with Allow. Answers are in the form that Accept likes best."

/* Where the layer's paths begin, as the client wrote it: a layer of versions
 * may have taken more off than the location's path. */
static struct str
base_of(struct http_request *r)
{
    struct str base = str_ends(r->path, r->route_path)
                          ? str_first(r->path, r->path.len - r->route_path.len)
                          : r->location->path;

    return base.len <= 1 ? STR("/") : http_path_encode(r->pool, base);
}

static void
put_security(struct json_out *o, const struct http_auth *auth)
{
    bool basic = false, bearer = false;

    for (size_t i = 0; i < auth->rule_count; i++) {
        bool is_basic = auth->rules[i].kind == AUTH_BASIC;

        basic |= is_basic;
        bearer |= !is_basic;
    }
    json_key(o, "security");
    json_open_array(o);
    for (int i = 0; i < 2; i++) {
        if (i == 0 ? basic : bearer) {
            json_open(o);
            json_key(o, i == 0 ? "basic" : "bearer");
            json_open_array(o);
            json_close(o);
            json_close(o);
        }
    }
    json_close(o);
}

static void
put_info(struct openapi_writer *w)
{
    struct str more = openapi_about_version(w->pool, w->api);

    json_key(&w->json, "info");
    json_open(&w->json);
    json_put_str(&w->json, "title", STR("Articles"));
    json_put_str(&w->json, "version",
                 w->api != NULL ? w->api->version : STR(WEIR_VERSION));
    json_put_str(&w->json, "description",
                 pool_printf(w->pool, COMMON "%.*s", STR_ARGS(more)));
    json_close(&w->json);
}

static void
put_server(struct openapi_writer *w, struct http_request *r)
{
    json_key(&w->json, "servers");
    json_open_array(&w->json);
    json_open(&w->json);
    json_put_str(&w->json, "url", base_of(r));
    json_close(&w->json);
    json_close(&w->json);
}

/* The document depends on the layer's settings, on the path and version by
 * which the layer was reached, and on the clients that may ask. */
static struct str
document_of(struct http_request *r, const struct articles *layer)
{
    struct openapi_writer w = { .pool = r->pool,
                                .layer = layer,
                                .settings = layer->settings,
                                .api = r->api,
                                .auth = r->location->auth };
    struct str text = STR_NONE;
    int made;

    json_begin_own(&w.json, false);
    json_open(&w.json);
    json_put_str(&w.json, "openapi", STR("3.1.0"));
    put_info(&w);
    put_server(&w, r);
    if (w.auth != NULL) {
        put_security(&w.json, w.auth);
    }
    openapi_write(&w);
    json_close(&w.json);
    made = json_end_pool(&w.json, r->pool, &text);
    assert(made == 0); /* the tables are our own, versions are checked */
    (void)made;
    return text;
}

static void
make_tag(struct tag *t, struct str text)
{
    uint8_t sum[DIGEST_SHA256];

    digest_sha256(text.ptr, text.len, sum);
    for (size_t i = 0; i < (TAG_EDITION - 1) / 2; i++) {
        snprintf(t->edition + 2 * i, 3, "%02x", sum[i]);
    }
    snprintf(t->text, sizeof(t->text), "\"%s\"", t->edition);
}

enum http_result
articles_openapi(struct http_request *r, void *state)
{
    struct str text = document_of(r, state);
    struct tag tag;

    make_tag(&tag, text);
    if (!tag_is_expected(r, &tag)) {
        return answer_refuse(r, ARTICLES_REFUSED_CONDITION, 412,
                             "Precondition Failed",
                             "it is not the one of If-Match");
    }
    http_set_header(r, "ETag", str_from(tag.text));
    answer_set_headers(r);
    text = pool_printf(r->pool, "%.*s\n", STR_ARGS(text));
    if (tag_is_known(r, &tag)) {
        return http_not_modified(r, TYPE, text.len);
    }
    return http_reply(r, 200, TYPE, text);
}
