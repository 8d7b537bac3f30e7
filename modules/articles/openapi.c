/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "openapi.h"

#include <stdio.h>

#include "answer.h"
#include "config.h"
#include "http/filter/auth.h"
#include "http/path.h"
#include "json/json.h"

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

static struct str
describe(struct http_request *r, struct str base)
{
    struct str v = r->api_version;

    if (v.len == 0) {
        return STR(COMMON);
    }
    if (r->api_vendor.len > 0) {
        return pool_printf(r->pool,
                           COMMON " This is version %.*s: it is asked for by "
                                  "Accept: application/vnd.%.*s-%.*s, with "
                                  "+json or +xml behind it for the form. "
                                  "Bodies may have these types too.",
                           STR_ARGS(v), STR_ARGS(r->api_vendor), STR_ARGS(v));
    }
    if (str_ends(base, v)) {
        return pool_printf(r->pool,
                           COMMON " This is version %.*s, as the path says.",
                           STR_ARGS(v));
    }
    return pool_printf(r->pool,
                       COMMON " This is version %.*s: requests have to choose "
                              "it as the one for this document did.",
                       STR_ARGS(v));
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

/* The first members of the document, with its first brace. */
static struct str
head_of(struct http_request *r)
{
    struct str base = base_of(r), text = STR_NONE;
    bool versioned = r->api_version.len > 0;
    struct json_out o;

    json_begin_own(&o, false);
    json_open(&o);
    json_put_str(&o, "openapi", STR("3.1.0"));
    json_key(&o, "info");
    json_open(&o);
    json_put_str(&o, "title", STR("Articles"));
    json_put_str(&o, "version", versioned ? r->api_version : STR(WEIR_VERSION));
    json_put_str(&o, "description", describe(r, base));
    json_close(&o);
    json_key(&o, "servers");
    json_open_array(&o);
    json_open(&o);
    json_put_str(&o, "url", base);
    json_close(&o);
    json_close(&o);
    if (r->location->auth != NULL) {
        put_security(&o, r->location->auth);
    }
    json_close(&o);
    json_end_pool(&o, r->pool, &text);
    return str_first(text, text.len - 1);
}

static void
make_tag(struct tag *t, const struct openapi *o, struct str head)
{
    uint8_t both[2 * DIGEST_SHA256];

    digest_sha256(head.ptr, head.len, both);
    for (size_t i = 0; i < DIGEST_SHA256; i++) {
        both[DIGEST_SHA256 + i] = o->digest[i];
    }
    digest_sha256(both, sizeof(both), both);
    for (size_t i = 0; i < (TAG_EDITION - 1) / 2; i++) {
        snprintf(t->edition + 2 * i, 3, "%02x", both[i]);
    }
    snprintf(t->text, sizeof(t->text), "\"%s\"", t->edition);
}

enum http_result
articles_openapi(struct http_request *r, void *state)
{
    const struct articles *layer = state;
    const struct openapi *o = layer->openapi;
    struct str head = head_of(r), text;
    struct tag tag;

    make_tag(&tag, o, head);
    if (!tag_is_expected(r, &tag)) {
        return answer_refuse(r, ARTICLES_REFUSED_CONDITION, 412,
                             "Precondition Failed",
                             "it is not the one of If-Match");
    }
    http_set_header(r, "ETag", str_from(tag.text));
    answer_set_headers(r);
    if (tag_is_known(r, &tag)) {
        return http_reply(r, 304, NULL, STR_NONE);
    }
    text =
        pool_printf(r->pool, "%.*s,%.*s\n", STR_ARGS(head), STR_ARGS(o->rest));
    return http_reply(r, 200, TYPE, text);
}
