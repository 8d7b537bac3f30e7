/*
 * The tables made into a document.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "http/filter/auth.h"
#include "openapi.h"
#include "openapi_tables.h"

static bool
is_there(const struct openapi_writer *w, enum openapi_when when)
{
    switch (when) {
    case WHEN_ALWAYS:
        return true;
    case WHEN_EDIT:
        return w->settings->edit;
    case WHEN_RESTRICTED:
        return !access_allows_all(w->layer->writers);
    case WHEN_ENVELOPE:
        return w->settings->envelope;
    case WHEN_BARE:
        return !w->settings->envelope;
    case WHEN_AUTH:
        return w->auth != NULL;
    case WHEN_VERSIONED:
        return w->api != NULL;
    case WHEN_DEPRECATED:
        return w->api != NULL && w->api->deprecated >= 0;
    case WHEN_SUNSET:
        return w->api != NULL && w->api->sunset >= 0;
    }
    return false;
}

static void
put(struct openapi_writer *w, const char *key, const char *text)
{
    if (text != NULL) {
        json_put_str(&w->json, key, str_from(text));
    }
}

static void
open_member(struct openapi_writer *w, const char *key)
{
    json_key(&w->json, key);
    json_open(&w->json);
}

static void
put_ref(struct openapi_writer *w, const char *kind, const char *name)
{
    json_put_str(&w->json, "$ref",
                 pool_printf(w->pool, "#/components/%s/%s", kind, name));
}

/* Answers with an envelope have schemas of their own: "ArticleResponse". */
static const char *
answer_schema(const struct openapi_writer *w, const char *name)
{
    if (!w->settings->envelope || strcmp(name, "Problem") == 0) {
        return name;
    }
    return pool_printf(w->pool, "%sResponse", name).ptr;
}

/* ---- schemas ---- */

static void
put_limit(struct openapi_writer *w, enum openapi_limit limit)
{
    const struct articles_settings *s = w->settings;

    switch (limit) {
    case LIMIT_NONE:
        return;
    case LIMIT_TITLE:
        json_put_int(&w->json, "minLength", 1);
        json_put_int(&w->json, "maxLength", s->max_title);
        break;
    case LIMIT_CONTENT:
        json_put_int(&w->json, "minLength", 1);
        json_put_int(&w->json, "maxLength", s->max_content);
        break;
    case LIMIT_NAME:
        json_put_int(&w->json, "maxLength", ARTICLES_NAME_MAX);
        break;
    }
}

static void
put_integer(struct openapi_writer *w, int64_t min)
{
    put(w, "type", "integer");
    put(w, "format", "int64");
    json_put_int(&w->json, "minimum", min);
}

static void
put_nullable(struct openapi_writer *w)
{
    json_key(&w->json, "type");
    json_open_array(&w->json);
    json_str(&w->json, STR("string"));
    json_str(&w->json, STR("null"));
    json_close(&w->json);
}

/* A list is an element of its own around its members'. */
static void
put_list(struct openapi_writer *w, const char *of, const char *element)
{
    put(w, "type", "array");
    open_member(w, "items");
    put_ref(w, "schemas", of);
    json_close(&w->json);
    open_member(w, "xml");
    put(w, "name", element);
    json_put_bool(&w->json, "wrapped", true);
    json_close(&w->json);
}

static const char *
list_element(const char *of)
{
    return strcmp(of, "Article") == 0 ? "articles" : "authors";
}

static void
put_kind(struct openapi_writer *w, enum openapi_kind kind, const char *ref)
{
    switch (kind) {
    case KIND_ID:
        put_integer(w, 1);
        break;
    case KIND_NUMBER:
        put_integer(w, 0);
        break;
    case KIND_STATUS:
        put(w, "type", "integer");
        json_put_int(&w->json, "minimum", 400);
        json_put_int(&w->json, "maximum", 599);
        break;
    case KIND_TEXT:
        put(w, "type", "string");
        break;
    case KIND_TIME:
        put(w, "type", "string");
        put(w, "format", "date-time");
        break;
    case KIND_LINK:
        put(w, "type", "string");
        put(w, "format", "uri-reference");
        break;
    case KIND_LINK_OR_NULL:
        put_nullable(w);
        put(w, "format", "uri-reference");
        break;
    case KIND_LIST:
        put_list(w, ref, list_element(ref));
        break;
    case KIND_REF:
        put_ref(w, "schemas", ref);
        break;
    }
}

static void
put_properties(struct openapi_writer *w, const struct openapi_schema *s)
{
    open_member(w, "properties");
    for (const struct openapi_property *p = s->properties; p->name != NULL;
         p++) {
        open_member(w, p->name);
        put_kind(w, p->kind, p->ref);
        put_limit(w, p->limit);
        put(w, "description", p->help);
        json_close(&w->json);
    }
    json_close(&w->json);
    if (s->partial) {
        return;
    }
    json_key(&w->json, "required");
    json_open_array(&w->json);
    for (const struct openapi_property *p = s->properties; p->name != NULL;
         p++) {
        if (!p->optional) {
            json_str(&w->json, str_from(p->name));
        }
    }
    json_close(&w->json);
}

static void
put_schema(struct openapi_writer *w, const struct openapi_schema *s)
{
    open_member(w, s->name);
    if (s->list != NULL) {
        put_list(w, s->list, s->xml);
    } else {
        put(w, "type", "object");
        put_properties(w, s);
        open_member(w, "xml");
        put(w, "name", s->xml);
        put(w, "namespace",
            strcmp(s->name, "Problem") == 0 ? "urn:ietf:rfc:7807" : NULL);
        json_close(&w->json);
    }
    json_close(&w->json);
}

static void
put_schemas(struct openapi_writer *w)
{
    open_member(w, "schemas");
    for (const struct openapi_schema *s = openapi_schemas; s->name != NULL;
         s++) {
        if (is_there(w, s->when)) {
            put_schema(w, s);
        }
    }
    json_close(&w->json);
}

/* ---- parameters, headers, bodies ---- */

static void
put_parameter(struct openapi_writer *w, const struct openapi_parameter *p)
{
    bool num = strcmp(p->key, "num") == 0;

    open_member(w, p->key);
    if (p->in != NULL) {
        put(w, "name", p->name != NULL ? p->name : p->key);
        put(w, "in", p->in);
        json_put_bool(&w->json, "required", strcmp(p->in, "path") == 0);
    }
    put(w, "description", p->help);
    open_member(w, "schema");
    put_kind(w, p->kind, NULL);
    if (num) {
        json_put_int(&w->json, "default", ARTICLES_NUM);
        json_put_str(&w->json, "description",
                     pool_printf(w->pool, "The server allows %lld.",
                                 (long long)w->settings->max_num));
    }
    json_close(&w->json);
    json_close(&w->json);
}

static void
put_parameters(struct openapi_writer *w, const struct openapi_parameter *p)
{
    for (; p->key != NULL; p++) {
        if (is_there(w, p->when)) {
            put_parameter(w, p);
        }
    }
}

static void
put_media(struct openapi_writer *w, const char *type, const char *schema)
{
    open_member(w, type);
    if (schema != NULL) {
        open_member(w, "schema");
        put_ref(w, "schemas", schema);
        json_close(&w->json);
    }
    json_close(&w->json);
}

/* Two forms may have one type for errors. */
static bool
is_new_problem(const struct article_format *const *f)
{
    return f == article_formats ||
           strcmp(f[0]->problem_type, f[-1]->problem_type) != 0;
}

/* Of an article or a list of them. */
static void
put_answer_content(struct openapi_writer *w, const char *schema)
{
    open_member(w, "content");
    for (const struct article_format *const *f = article_formats; *f != NULL;
         f++) {
        const char *type = openapi_answer_type(w, *f);

        if (type != NULL) {
            put_media(w, type, answer_schema(w, schema));
        }
    }
    json_close(&w->json);
}

static void
put_problem_content(struct openapi_writer *w)
{
    open_member(w, "content");
    for (const struct article_format *const *f = article_formats; *f != NULL;
         f++) {
        put_media(w, f[0]->type, "Problem");
        if (is_new_problem(f)) {
            put_media(w, f[0]->problem_type, "Problem");
        }
    }
    json_close(&w->json);
}

static void
put_body_content(struct openapi_writer *w, const struct openapi_body *b)
{
    open_member(w, "content");
    for (const struct article_format *const *f = article_formats; *f != NULL;
         f++) {
        put_media(w, f[0]->type, b->schema);
        if (b->patch && f[0]->patch_type != NULL) {
            put_media(w, f[0]->patch_type, b->schema);
        }
    }
    json_close(&w->json);
}

static void
put_header(struct openapi_writer *w, const char *name)
{
    open_member(w, name);
    put_ref(w, "headers", name);
    json_close(&w->json);
}

static void
put_response(struct openapi_writer *w, const struct openapi_response *r)
{
    open_member(w, r->name);
    put(w, "description", r->help);
    open_member(w, "headers");
    for (size_t i = 0; i < OPENAPI_HEADERS && r->headers[i] != NULL; i++) {
        put_header(w, r->headers[i]);
    }
    for (const struct openapi_parameter *h = openapi_common_headers;
         h->key != NULL; h++) {
        if (is_there(w, h->when)) {
            put_header(w, h->key);
        }
    }
    json_close(&w->json);
    if (r->schema != NULL && strcmp(r->schema, "Problem") == 0) {
        put_problem_content(w);
    } else if (r->schema != NULL) {
        put_answer_content(w, r->schema);
    } else if (strcmp(r->name, "Description") == 0) {
        open_member(w, "content");
        put_media(w, "application/json", NULL);
        json_close(&w->json);
    }
    json_close(&w->json);
}

static void
put_login(struct openapi_writer *w, const char *scheme)
{
    open_member(w, scheme);
    put(w, "type", "http");
    put(w, "scheme", scheme);
    json_close(&w->json);
}

static void
put_schemes(struct openapi_writer *w)
{
    bool there[2] = { false, false };

    for (size_t i = 0; i < w->auth->rule_count; i++) {
        there[w->auth->rules[i].kind != AUTH_BASIC] = true;
    }
    open_member(w, "securitySchemes");
    for (int i = 0; i < 2; i++) {
        if (there[i]) {
            put_login(w, i == 0 ? "basic" : "bearer");
        }
    }
    json_close(&w->json);
}

static void
put_bodies(struct openapi_writer *w)
{
    open_member(w, "requestBodies");
    for (const struct openapi_body *b = openapi_bodies; b->name != NULL; b++) {
        if (is_there(w, b->when)) {
            open_member(w, b->name);
            json_put_bool(&w->json, "required", true);
            put_body_content(w, b);
            json_close(&w->json);
        }
    }
    json_close(&w->json);
}

static void
put_components(struct openapi_writer *w)
{
    open_member(w, "components");
    put_schemas(w);
    open_member(w, "parameters");
    put_parameters(w, openapi_parameters);
    openapi_put_version_parameters(w);
    json_close(&w->json);
    open_member(w, "headers");
    put_parameters(w, openapi_headers);
    put_parameters(w, openapi_common_headers);
    json_close(&w->json);
    open_member(w, "responses");
    for (const struct openapi_response *r = openapi_responses; r->name != NULL;
         r++) {
        if (is_there(w, r->when)) {
            put_response(w, r);
        }
    }
    json_close(&w->json);
    put_bodies(w);
    if (w->auth != NULL) {
        put_schemes(w);
    }
    json_close(&w->json);
}

/* ---- operations ---- */

static void
put_answers(struct openapi_writer *w, const struct openapi_operation *o)
{
    open_member(w, "responses");
    for (const struct openapi_answer *a = o->answers; a->response != NULL;
         a++) {
        if (is_there(w, a->when)) {
            open_member(w, a->status == 0
                               ? "default"
                               : pool_printf(w->pool, "%d", a->status).ptr);
            put_ref(w, "responses", a->response);
            json_close(&w->json);
        }
    }
    json_close(&w->json);
}

static void
put_operation(struct openapi_writer *w, const struct openapi_operation *o)
{
    open_member(w, o->method);
    put(w, "operationId", o->id);
    put(w, "summary", o->help);
    if (openapi_is_deprecated(w->api)) {
        json_put_bool(&w->json, "deprecated", true);
    }
    json_key(&w->json, "parameters");
    json_open_array(&w->json);
    for (size_t i = 0; i < OPENAPI_PARAMETERS && o->parameters[i] != NULL;
         i++) {
        json_open(&w->json);
        put_ref(w, "parameters", o->parameters[i]);
        json_close(&w->json);
    }
    openapi_put_version_references(w);
    json_close(&w->json);
    if (o->body != NULL) {
        open_member(w, "requestBody");
        put_ref(w, "requestBodies", o->body);
        json_close(&w->json);
    }
    put_answers(w, o);
    json_close(&w->json);
}

static void
put_paths(struct openapi_writer *w)
{
    const char *path = NULL;

    open_member(w, "paths");
    for (const struct openapi_operation *o = openapi_operations;
         o->path != NULL; o++) {
        if (path == NULL || strcmp(path, o->path) != 0) {
            if (path != NULL) {
                json_close(&w->json);
            }
            path = o->path;
            open_member(w, path);
        }
        if (is_there(w, o->when)) {
            put_operation(w, o);
        }
    }
    json_close(&w->json);
    json_close(&w->json);
}

void
openapi_write(struct openapi_writer *w)
{
    put_paths(w);
    put_components(w);
}
