/*
 * Answers under /control, and the checks of what a request says.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "answer.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"
#include "http/escape.h"
#include "http/path.h"
#include "rtmp/name.h"

#define TEXT_MAX 1024   /* bytes of a refusal's words */
#define RETRY_AFTER "1" /* seconds */

/* ---- answers ---- */

static void
forbid_caching(struct http_request *r)
{
    http_set_header(r, "Cache-Control", STR("no-store"));
}

enum http_result
relay_ok(struct http_request *r)
{
    forbid_caching(r);
    return http_reply(r, 200, "application/json",
                      STR("{\"status\":200,\"data\":\"Ok\"}"));
}

enum http_result
relay_text(struct http_request *r, struct str text)
{
    forbid_caching(r);
    http_set_header(r, "X-Content-Type-Options", STR("nosniff"));
    return http_reply(r, 200, "text/plain", text);
}

enum http_result
relay_json(struct http_request *r, struct str json)
{
    forbid_caching(r);
    return http_reply(r, 200, "application/json", json);
}

enum http_result
relay_on_options(struct http_request *r, void *state)
{
    (void)state;
    forbid_caching(r);
    http_set_header(r, "Allow", STR("GET, HEAD, OPTIONS"));
    return http_reply(r, 204, NULL, STR_NONE);
}

const char *
relay_error_body(struct http_request *r, int status, struct str message,
                 struct buf *out)
{
    forbid_caching(r);
    buf_printf(out, "{\"status\":%d,\"data\":", status);
    http_json_string(out, message);
    buf_add_str(out, STR("}"));
    return "application/json";
}

enum http_result
relay_refuse(struct http_request *r, enum relay_refused why, int status,
             const char *format, ...)
{
    char text[TEXT_MAX], path[TEXT_MAX], peer[ADDR_TEXT];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    metric_add(&relay_metrics[RELAY_REFUSED], why, 1);
    str_escape(path, sizeof(path), r->path);
    log_limited(LOG_INFO, "relay: %s refused for %s: %s", path,
                addr_text(&r->client, peer), text);
    http_note(r, "%s", text);
    return http_error(r, status, "%s", text);
}

enum http_result
relay_refuse_store(struct http_request *r, enum store_status status)
{
    if (status == STORE_FAILED || status == STORE_CONFLICT) {
        return relay_refuse(r, RELAY_REFUSED_STORE, 500, "%s",
                            store_status_text(status));
    }
    http_set_header(r, "Retry-After", STR(RETRY_AFTER));
    return relay_refuse(r, RELAY_REFUSED_STORE, 503, "%s",
                        store_status_text(status));
}

/* ---- parameters ---- */

static bool
wrong(struct http_request *r, const char *name, const char *what)
{
    relay_refuse(r, RELAY_REFUSED_PARAMETER, 400, "parameter %s %s", name,
                 what);
    return false;
}

static bool
get(struct http_request *r, const char *name, size_t max, struct str *value)
{
    struct str raw;
    size_t n = http_query_count(r, name, &raw);
    char text[64];

    if (n == 0) {
        return wrong(r, name, "is missing");
    }
    if (n > 1) {
        return wrong(r, name, "is given more than once");
    }
    if (raw.len == 0) {
        return wrong(r, name, "is empty");
    }
    if (!http_query_is_encoded(raw)) {
        return wrong(r, name,
                     "is ill-formed: \"%\" must be followed by two "
                     "hexadecimal digits (\"%25\" is a percent sign)");
    }
    *value = http_query_decode(r->pool, raw);
    if (value->len > max) {
        snprintf(text, sizeof(text), "is longer than %zu bytes", max);
        return wrong(r, name, text);
    }
    return true;
}

static bool
get_name(struct http_request *r, const char *name, size_t max, bool one_segment,
         struct str *value)
{
    struct errmsg err;

    if (!get(r, name, max, value)) {
        return false;
    }
    return rtmp_name_check(*value, one_segment, &err) == 0 ||
           wrong(r, name, err.text);
}

bool
relay_get_room(struct http_request *r, struct str *room)
{
    return get_name(r, "room", RELAY_ROOM_MAX, true, room);
}

bool
relay_get_app(struct http_request *r, struct str *app)
{
    return get_name(r, "app", RTMP_NAME_MAX, true, app);
}

bool
relay_get_name(struct http_request *r, struct str *name)
{
    return get_name(r, "name", RELAY_ROOM_MAX, false, name);
}

bool
relay_get_oper(struct http_request *r, bool *start)
{
    struct str oper;

    if (!get(r, "oper", RTMP_NAME_MAX, &oper)) {
        return false;
    }
    *start = str_eq(oper, STR("start"));
    return *start || str_eq(oper, STR("stop")) ||
           wrong(r, "oper", "must be \"start\" or \"stop\"");
}

bool
relay_get_url(struct http_request *r, bool needed, struct str *url)
{
    if (!needed && http_query_count(r, "url", url) == 0) {
        *url = STR_NONE;
        return true;
    }
    if (!get(r, "url", RELAY_URL_MAX, url)) {
        return false;
    }
    return str_starts(*url, STR("rtmp://")) ||
           str_starts(*url, STR("rtmps://")) ||
           wrong(r, "url", "must begin with rtmp:// or rtmps://");
}
