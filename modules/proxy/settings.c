/*
 * The settings of a layer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "conf/rows.h"
#include "http/head_rules.h"
#include "proxy.h"

static bool
is_name(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        if (!http_is_token((unsigned char)name.ptr[i])) {
            return false;
        }
    }
    return name.len > 0;
}

static int
check_uri(struct str value, struct errmsg *err)
{
    for (size_t i = 0; i < value.len; i++) {
        unsigned char c = (unsigned char)value.ptr[i];

        if (c <= ' ' || c >= 0x7f || c == '?' || c == '#') {
            return errmsg_set(err, "must be a path without a query, as it "
                                   "stands in a URL");
        }
    }
    return str_starts(value, STR("/")) ? 0
                                       : errmsg_set(err, "must start with /");
}

static int
check_host(struct str value, struct errmsg *err)
{
    return http_is_authority(value)
               ? 0
               : errmsg_set(err,
                            "must be client, upstream, or a name with or "
                            "without a port, not \"%.*s\"",
                            STR_ARGS(value));
}

/* Headers that frame a message or belong to one connection are ours. */
static bool
is_ours(struct str name)
{
    struct str ours = STR("Connection Content-Length Transfer-Encoding "
                          "Keep-Alive TE Trailer Upgrade Host");

    while (ours.len > 0) {
        if (str_eq_nocase(str_cut(&ours, ' '), name)) {
            return true;
        }
    }
    return false;
}

static int
check_header(struct str value, struct errmsg *err)
{
    struct str rest = value, name = str_cut(&rest, ':');

    if (!is_name(name) || name.len == value.len) {
        return errmsg_set(err, "must be \"Name: value\", not \"%.*s\"",
                          STR_ARGS(value));
    }
    if (is_ours(name)) {
        return errmsg_set(err, "cannot set %.*s", STR_ARGS(name));
    }
    for (size_t i = 0; i < rest.len; i++) {
        unsigned char c = (unsigned char)rest.ptr[i];

        if (c == 0x7f || (c < ' ' && c != '\t')) {
            return errmsg_set(err, "has a byte that cannot stand in a header");
        }
    }
    return 0;
}

static int
check_name(struct str value, struct errmsg *err)
{
    return is_name(value) ? 0 : errmsg_set(err, "must be the name of a header");
}

static int
check_redirect(struct str value, struct errmsg *err)
{
    struct str rest = value, from = str_cut(&rest, ' ');

    if (str_eq(value, STR("default"))) {
        return 0;
    }
    return from.len > 0 && rest.len > 0 && str_find(rest, ' ', 0) == rest.len
               ? 0
               : errmsg_set(err, "must be default, or two beginnings of "
                                 "addresses, as \"http://app:8000/ /app/\"");
}

static int
check_cookie(struct str value, struct errmsg *err)
{
    struct str rest = value, what = str_cut(&rest, ' ');
    struct str from = str_cut(&rest, ' ');

    return (str_eq(what, STR("path")) || str_eq(what, STR("domain"))) &&
                   from.len > 0 && rest.len > 0 &&
                   str_find(rest, ' ', 0) == rest.len
               ? 0
               : errmsg_set(err, "must be path or domain and two words, as "
                                 "\"path / /app\"");
}

static int
check_status(struct str value, struct errmsg *err)
{
    int64_t status;

    return str_to_int(value, 300, 599, &status)
               ? 0
               : errmsg_set(err, "must be a status of 300 to 599, not \"%.*s\"",
                            STR_ARGS(value));
}

#define SECOND INT64_C(1000)
#define DAY (86400 * SECOND)

static const char *const closes[] = { "abort", "go on", NULL };

const struct conf_key proxy_layer_keys[] = {
    ROW_WHERE(proxy_settings),
    ROW(proxy_settings, upstream, CONF_STRING, .min = 1, .max = 255,
        .help = "The upstream that answers: the name of an item of upstreams, "
                "or the URL of a server: \"http://127.0.0.1:9001\", "
                "\"https://api.example\", \"unix:/run/api.sock\"."),
    ROW(proxy_settings, uri, CONF_STRING, .max = 1024, .preset = "",
        .check = check_uri,
        .help = "Stands for the location's path in what the upstream is asked "
                "for: \"/v2\", \"/\".  Without it the path stays whole."),
    ROW(proxy_settings, raw_path, CONF_BOOL, .preset = "true",
        .help = "Without uri the path goes on as the client wrote it; false: "
                "as it was matched, decoded and normalised."),
    ROW(proxy_settings, host, CONF_STRING, .min = 1, .max = 255,
        .preset = "client", .check = check_host,
        .help = "Host of the request: client (its own), upstream (the "
                "server's), or this name."),
    ROW(proxy_settings, set_headers, CONF_STRINGS, .preset = "", .max = 64,
        .dollars = true, .check = check_header,
        .help = "Headers of the request, each \"Name: value\", in place of the "
                "client's of that name; without a value: none.  The value may "
                "have the variables of http.servers.access_log_format: "
                "\"X-Client-Name: $ssl_client_s_dn\"."),
    ROW(proxy_settings, hide_headers, CONF_STRINGS, .preset = "", .max = 64,
        .check = check_name,
        .help = "Names of headers of the answer that the client does not "
                "get."),
    ROW(proxy_settings, redirects, CONF_STRINGS, .preset = "default", .max = 16,
        .check = check_redirect,
        .help = "How addresses in Location and Refresh are rewritten: rules "
                "\"FROM TO\" for their beginning, the first that fits; default "
                "makes the location's path of the server's address."),
    ROW(proxy_settings, cookies, CONF_STRINGS, .preset = "", .max = 16,
        .check = check_cookie,
        .help = "How Set-Cookie is rewritten: \"path FROM TO\" for the "
                "beginning of its path, \"domain FROM TO\" for its domain."),
    ROW(proxy_settings, connect_timeout, CONF_TIME, .min = 10, .max = DAY,
        .preset = "60s", .help = "How long connecting may take."),
    ROW(proxy_settings, send_timeout, CONF_TIME, .min = 10, .max = DAY,
        .preset = "60s", .help = "How long the server may take no byte."),
    ROW(proxy_settings, read_timeout, CONF_TIME, .min = 10, .max = DAY,
        .preset = "60s", .help = "How long the server may send no byte."),
    ROW(proxy_settings, tunnel_timeout, CONF_TIME, .min = 10, .max = DAY,
        .preset = "10m",
        .help = "How long nothing may go through a WebSocket or another "
                "tunnel."),
    ROW(proxy_settings, tries, CONF_INT, .min = 1, .max = 16, .preset = "3",
        .help = "Servers that are asked for a request, one after the other, "
                "as long as none has begun an answer."),
    ROW(proxy_settings, retry_time, CONF_TIME, .min = 0, .max = DAY,
        .preset = "10s", .help = "After this time no further server is asked."),
    ROW(proxy_settings, retry_buffer, CONF_SIZE, .min = 0, .max = 1 << 20,
        .preset = "64k",
        .help = "Bytes of a body that are kept for asking another server; "
                "a longer one is sent once."),
    ROW(proxy_settings, buffer, CONF_SIZE, .min = 4096, .max = 1 << 20,
        .preset = "64k",
        .help = "Bytes of a request that weir holds each way."),
    ROW(proxy_settings, on_client_close, CONF_ENUM, .words = closes,
        .preset = "abort",
        .help = "A client that ends its side before the answer begins has "
                "left: \"abort\" ends its request at the server, too, \"go "
                "on\" waits for the answer."),
    ROW(proxy_settings, strip, CONF_BOOL, .preset = "true",
        .help = "Below a choice of versions: leave the version out of the path "
                "and the query."),
    ROW(proxy_settings, pass_on, CONF_STRINGS, .preset = "", .max = 32,
        .check = check_status,
        .help = "Statuses, as \"404\", with which a request without a body "
                "goes on to the next layer; so it does when the answer says "
                "\"X-Cascade: pass\"."),
    CONF_END,
};
