/*
 * For examples and tests: answers its routes with what it understood of the
 * request, as JSON.
 *
 *     { "unit": NAME, "version": null, "format": null,
 *       "params": { ... of the path }, "path": PATH,
 *       "client": { ... when asked for } }
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/module.h"
#include "base/mem.h"
#include "http/escape.h"

#define METHOD_MAX 32
#define ANSWER_MAX (256 * 1024)

struct settings {
    struct str name;
    struct conf_strings routes; /* "GET /hello" */
    bool client;
};

struct echo {
    struct str name;           /* borrowed from the settings */
    bool client;               /* tell about it */
    struct http_route *routes; /* owned, with their texts */
    size_t count;
};

/* ---- settings ---- */

/* "METHOD /path" or "* /path", taken apart. */
static bool
split_route(struct str text, struct str *method, struct str *path)
{
    *method = str_cut(&text, ' ');
    *path = str_trim(text);
    if (str_eq(*method, STR("*"))) {
        return str_starts(*path, STR("/"));
    }
    for (size_t i = 0; i < method->len; i++) {
        if (method->ptr[i] < 'A' || method->ptr[i] > 'Z') {
            return false;
        }
    }
    return method->len > 0 && method->len <= METHOD_MAX &&
           str_starts(*path, STR("/"));
}

static int
check_route(struct str value, struct errmsg *err)
{
    struct str method, path;

    if (split_route(value, &method, &path)) {
        return 0;
    }
    return errmsg_set(err,
                      "must be a method (or *) and a path, as \"GET /x/:id\", "
                      "not \"%.*s\"",
                      STR_ARGS(value));
}

static const struct conf_key keys[] = {
    { .name = "name",
      .type = CONF_STRING,
      .offset = offsetof(struct settings, name),
      .max = 100,
      .preset = "echo",
      .help = "Stands in the answers as \"unit\"." },
    { .name = "routes",
      .type = CONF_STRINGS,
      .offset = offsetof(struct settings, routes),
      .check = check_route,
      .help = "What it answers: each a method, or * for all, and a path; "
              ":NAME in a path stands for one segment, * at its end for the "
              "rest." },
    { .name = "client",
      .type = CONF_BOOL,
      .offset = offsetof(struct settings, client),
      .preset = "false",
      .help = "Also tell who asked: address, URL, request id and trace." },
    CONF_END,
};

/* ---- answers ---- */

static int
write_params(struct buf *b, const struct http_request *r)
{
    int bad = 0;

    for (size_t i = 0; i < r->param_count; i++) {
        bad |= i > 0 ? buf_add(b, ",", 1) : 0;
        bad |= http_json_string(b, r->params[i].name);
        bad |= buf_add(b, ":", 1);
        bad |= http_json_string(b, r->params[i].value);
    }
    return bad;
}

static int
write_member(struct buf *b, const char *name, struct str value)
{
    return buf_printf(b, "%s\":", name) | http_json_string(b, value);
}

static int
write_client(struct buf *b, struct http_request *r)
{
    char ip[ADDR_TEXT];
    int bad = write_member(b, ",\"client\":{\"address",
                           str_from(addr_ip_text(&r->client, ip)));

    bad |= write_member(b, ",\"peer", str_from(addr_ip_text(&r->peer, ip)));
    bad |= write_member(b, ",\"url", http_absolute(r, r->path));
    bad |= write_member(b, ",\"request_id", r->request_id);
    bad |= write_member(b, ",\"trace_id", r->trace_id);
    bad |= write_member(b, ",\"traceparent", http_traceparent(r));
    bad |= write_member(b, ",\"tracestate", http_tracestate(r));
    return bad | buf_add_str(b, STR("}"));
}

static int
write_answer(struct buf *b, const struct echo *e, struct http_request *r)
{
    int bad = buf_add_str(b, STR("{\"unit\":"));

    bad |= http_json_string(b, e->name);
    bad |= buf_add_str(b, STR(",\"version\":null,\"format\":null,"
                              "\"params\":{"));
    bad |= write_params(b, r);
    bad |= buf_add_str(b, STR("},\"path\":"));
    bad |= http_json_string(b, r->route_path);
    bad |= e->client ? write_client(b, r) : 0;
    return bad | buf_add_str(b, STR("}\n"));
}

static enum http_result
answer(struct http_request *r, const struct echo *e)
{
    struct buf b;
    int status = str_eq(r->method, STR("POST")) ? 201 : 200;

    buf_init(&b, ANSWER_MAX);
    if (write_answer(&b, e, r) == 0) {
        http_reply(r, status, "application/json", buf_str(&b));
    } else {
        http_error(r, 500, "the answer is too long");
    }
    buf_clear(&b);
    return HTTP_DONE;
}

static enum http_result
on_request(struct http_request *r, void *state)
{
    if (str_eq(r->method, STR("OPTIONS"))) { /* of a route for all methods */
        http_set_header(r, "Allow",
                        STR("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
        return http_reply(r, 204, NULL, STR_NONE);
    }
    return answer(r, state);
}

/* ---- life ---- */

static struct http_route
make_route(struct str text)
{
    struct str method, path;

    split_route(text, &method, &path);
    return (struct http_route){
        .method = mem_dup(method.ptr, method.len),
        .path = mem_dup(path.ptr, path.len),
        .handler = on_request,
        .body = true,
    };
}

static int
start(const struct module_layer *layer, void **state,
      const struct http_route **routes, struct errmsg *err)
{
    const struct settings *s = layer->settings;
    struct echo *e = mem_zero(sizeof(*e));

    (void)err;
    e->name = s->name;
    e->client = s->client;
    e->count = s->routes.count;
    e->routes = mem_zero((e->count + 1) * sizeof(*e->routes));
    for (size_t i = 0; i < e->count; i++) {
        e->routes[i] = make_route(s->routes.items[i]);
    }
    *routes = e->routes;
    *state = e;
    return 0;
}

static void
stop(void *state)
{
    struct echo *e = state;

    for (size_t i = 0; i < e->count; i++) {
        mem_free_raw((void *)(uintptr_t)e->routes[i].method);
        mem_free_raw((void *)(uintptr_t)e->routes[i].path);
    }
    mem_free(&e->routes);
    mem_free(&e);
}

const struct module echo_module = {
    .name = "echo",
    .about = "answers its routes with what it understood, for tests",
    .keys = keys,
    .settings_size = sizeof(struct settings),
    .start = start,
    .stop = stop,
};
