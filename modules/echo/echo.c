/*
 * For examples and tests: answers its routes with what it understood of the
 * request, as JSON.
 *
 *     { "unit": NAME, "version": V or null, "format": F or null,
 *       "params": { ... of the path }, "path": PATH,
 *       "client": { ... when asked for } }
 *
 * And, for the same ends, clients of Socket.IO and Engine.IO (echo_socket.h),
 * and servers of its own that send lines back (echo_server.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "app/module.h"
#include "base/mem.h"
#include "conf/rows.h"
#include "echo_server.h"
#include "echo_socket.h"
#include "echo_stream.h"
#include "http/accept.h"
#include "http/escape.h"
#include "http/head_scan.h"

#define METHOD_MAX 32
#define ANSWER_MAX (256 * 1024)
#define FORMATS_MAX 8

struct settings {
    struct str name;
    struct conf_strings routes;  /* "GET /hello" */
    struct conf_strings formats; /* "json" */
    bool stream;
    bool client;
    struct conf_groups socket_io; /* struct sio_settings: one, or none */
};

struct echo {
    struct str name;             /* borrowed from the settings */
    bool client;                 /* tell about it */
    struct http_format *formats; /* owned, with their types; or NULL */
    struct http_route *routes;   /* owned, with their texts */
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

static int
check_format(struct str value, struct errmsg *err)
{
    for (size_t i = 0; i < value.len; i++) {
        if (!http_is_token((unsigned char)value.ptr[i])) {
            return errmsg_set(err, "must be a word, as \"json\", not \"%.*s\"",
                              STR_ARGS(value));
        }
    }
    return value.len > 0 ? 0 : errmsg_set(err, "must not be empty");
}

static const struct conf_key keys[] = {
    ROW(settings, name, CONF_STRING, .max = 100, .preset = "echo",
        .help = "Stands in the answers as \"unit\"."),
    ROW(settings, routes, CONF_STRINGS, .preset = "", .check = check_route,
        .help = "Requests that it answers: each a method, or * for all, and a "
                "path; :NAME in a path stands for one segment, * at its end "
                "for the rest."),
    ROW(settings, formats, CONF_STRINGS, .preset = "", .max = FORMATS_MAX,
        .check = check_format,
        .help = "Formats among which a request chooses, such as json and xml; "
                "the answer names the chosen one and is JSON.  None: it does "
                "not look."),
    ROW(settings, stream, CONF_BOOL, .preset = "false",
        .help = "Answer with the request's body, as it comes, and its "
                "trailers, in place of JSON."),
    ROW(settings, client, CONF_BOOL, .preset = "false",
        .help = "Also tell who asked: address, URL, request id and trace."),
    ROW(settings, socket_io, CONF_GROUPS, .keys = sio_keys, .max = 1,
        .size = sizeof(struct sio_settings), .preset = "",
        .check_group = sio_check,
        .help = "Answer clients of Socket.IO below socket.io/ and of "
                "Engine.IO below engine.io/, with these settings; layers of "
                "one name share their clients."),
    CONF_END,
};

static bool
is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

static int
check(const void *settings, struct errmsg *err)
{
    const struct settings *s = settings;

    for (size_t i = 0; i < s->name.len && s->socket_io.count > 0; i++) {
        if (!is_name_char(s->name.ptr[i])) {
            return errmsg_set(err,
                              "with socket_io the name must be letters, "
                              "digits, \"-\", \"_\" and \".\", not \"%.*s\"",
                              STR_ARGS(s->name));
        }
    }
    return 0;
}

static bool
find_endpoint(struct pool *p, const void *settings, struct sio_endpoint *out)
{
    const struct settings *s = settings;

    (void)p;
    out->name = s->name;
    out->settings = s->socket_io.items;
    return s->socket_io.count > 0;
}

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
write_or_null(struct buf *b, struct str value)
{
    return value.len > 0 ? http_json_string(b, value)
                         : buf_add_str(b, STR("null"));
}

static int
write_answer(struct buf *b, const struct echo *e, struct http_request *r,
             struct str format)
{
    int bad = buf_add_str(b, STR("{\"unit\":"));

    bad |= http_json_string(b, e->name);
    bad |= buf_add_str(b, STR(",\"version\":"));
    bad |= write_or_null(b, r->api_version);
    bad |= buf_add_str(b, STR(",\"format\":"));
    bad |= write_or_null(b, format);
    bad |= buf_add_str(b, STR(",\"params\":{"));
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
    struct str format = r->api_format;

    if (e->formats != NULL) {
        int chosen = http_choose_format(r, e->formats);

        if (chosen == -1) {
            return http_error(r, 406, "no format that is accepted");
        }
        format = str_from(e->formats[chosen].name);
    }
    buf_init(&b, ANSWER_MAX);
    if (write_answer(&b, e, r, format) == 0) {
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
make_route(struct str text, bool stream)
{
    struct str method, path;

    split_route(text, &method, &path);
    return (struct http_route){
        .method = mem_dup(method.ptr, method.len),
        .path = mem_dup(path.ptr, path.len),
        .handler = stream ? echo_stream : on_request,
        .feed = stream ? NULL : &http_dropped_body,
    };
}

/* NULL for none. */
static struct http_format *
make_formats(const struct conf_strings *names)
{
    static const char group[] = "application/";
    struct http_format *all;

    if (names->count == 0) {
        return NULL;
    }
    all = mem_zero((names->count + 1) * sizeof(*all));
    for (size_t i = 0; i < names->count; i++) {
        struct str name = names->items[i];
        size_t size = sizeof(group) + name.len;
        char *type = mem_alloc(size);

        memcpy(type, group, sizeof(group) - 1);
        str_copy(type + sizeof(group) - 1, name.len + 1, name);
        all[i].type = type;
        all[i].name = type + sizeof(group) - 1;
    }
    return all;
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
    e->formats = make_formats(&s->formats);
    e->count = s->routes.count;
    e->routes = mem_zero((e->count + 1) * sizeof(*e->routes));
    for (size_t i = 0; i < e->count; i++) {
        e->routes[i] = make_route(s->routes.items[i], s->stream);
    }
    *routes = e->routes;
    *state = e;
    return 0;
}

static void
describe(const void *state, struct http_layer *layer)
{
    const struct echo *e = state;

    layer->formats = e->formats;
}

static void
stop(void *state)
{
    struct echo *e = state;

    for (size_t i = 0; i < e->count; i++) {
        mem_free_raw((void *)(uintptr_t)e->routes[i].method);
        mem_free_raw((void *)(uintptr_t)e->routes[i].path);
    }
    for (size_t i = 0; e->formats != NULL && e->formats[i].name != NULL; i++) {
        mem_free_raw((void *)(uintptr_t)e->formats[i].type);
    }
    mem_free(&e->formats);
    mem_free(&e->routes);
    mem_free(&e);
}

static const struct sio_module sockets = {
    .endpoint = find_endpoint,
    .namespaces = echo_namespaces,
    .plain = &echo_plain,
};

const struct module echo_module = {
    .name = "echo",
    .about = "answers its routes with what it understood, for tests",
    .keys = keys,
    .settings_size = sizeof(struct settings),
    .root = { echo_server_keys, sizeof(struct echo_server_root) },
    .check = check,
    .start = start,
    .describe = describe,
    .stop = stop,
    .servers = &echo_servers,
    .sio = &sockets,
    .metrics = echo_server_metrics,
};
