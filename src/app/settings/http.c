/*
 * The "http" block of weir.conf: servers, locations, layers.
 *
 * A location has one module with its settings beside the path, or a list of
 * layers; both forms are one list to the rest (settings_http_layer()).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/rows.h"

#include "app/module.h"
#include "app/settings/filters.h"
#include "app/settings/names.h"
#include "app/settings/routing.h"
#include "conf/rows.h"
#include "http/access_log.h"
#include "http/filter/host.h"
#include "net/access.h"

#define KIB(n) ((int64_t)(n)*1024)
#define HOURS(n) ((int64_t)(n)*3600 * 1000)
#define BODY_MAX ((int64_t)1 << 40)

static const char *const forwarded_words[] = { "auto", "x-forwarded",
                                               "forwarded", "off", NULL };
static const char *const slash_words[] = { "off", "accept", "redirect", NULL };
static const char *const body_words[] = { "inherit", NULL };

/* ---- locations ---- */

static struct str
path_of_module(const void *location)
{
    const struct conf_extra *layer = settings_http_layer(location, 0);
    const struct module *m = layer != NULL ? layer->what : NULL;

    return m != NULL && m->path != NULL && layer->settings != NULL &&
                   settings_http_layer(location, 1) == NULL
               ? m->path(layer->settings)
               : STR_NONE;
}

static int
check_slash(const struct http_location_settings *s, struct errmsg *err)
{
    const struct conf_extra *layer;

    if (s->trailing_slash != HTTP_SLASH_REDIRECT) {
        return 0;
    }
    for (size_t i = 0; (layer = settings_http_layer(s, i)) != NULL; i++) {
        const struct module *m = layer->what;

        if (m != NULL && m->adds_slash) {
            return errmsg_set(err,
                              "trailing_slash = \"redirect\" leads in a circle "
                              "with module %s, which sends folders to \"/x/\": "
                              "write \"off\"",
                              m->name);
        }
    }
    return 0;
}

static int
check_location(const void *settings, struct errmsg *err)
{
    const struct http_location_settings *s = settings;

    bool serves = s->module.what != NULL || s->layers.count > 0;

    if (!serves && s->returns.count == 0 && s->rewrite.count == 0) {
        return errmsg_set(err, "a location needs a module or layers, or a "
                               "return or rewrite");
    }
    if (serves && s->returns.count > 0) {
        return errmsg_set(err, "beside a return no module or layers are asked");
    }
    if (check_slash(s, err) == -1 || settings_check_routing(s, err) == -1) {
        return -1;
    }
    return s->module.what == NULL ? 0 : settings_check_module(&s->module, err);
}

static const struct conf_key location_keys[] = {
    ROW_WHERE(http_location_settings),
    ROW(http_location_settings, path, CONF_STRING, .check = settings_check_path,
        .dollars = true, .otherwise = path_of_module,
        .help = "The beginning of its requests' paths, in whole segments; "
                "\"= /x\": this path alone; \"~ ^/x/([0-9]+)$\": paths that "
                "fit a pattern, \"~* ...\" in any case.  Asked in this order: "
                "the exact path, patterns as they stand in the file, the "
                "longest beginning.  It may be left out where a setting of the "
                "location's module says it."),
    ROW_AS("return", http_location_settings, returns, CONF_GROUPS, .max = 1,
           .preset = "", .keys = settings_return_keys,
           .size = sizeof(struct return_settings), .shorthand = "to",
           .help = "The answer of the location, in place of a module."),
    ROW(http_location_settings, rewrite, CONF_GROUPS, .preset = "",
        .keys = settings_rewrite_keys, .size = sizeof(struct rewrite_settings),
        .help = "Rules that give a request another path before the location's "
                "filters; the first that fits counts, at most ten times a "
                "request."),
    ROW(http_location_settings, add_headers, CONF_GROUPS, .preset = "",
        .keys = settings_added_keys,
        .size = sizeof(struct added_header_settings),
        .help = "Headers that its answers get beside those of the server."),
    ROW(http_location_settings, trailing_slash, CONF_ENUM, .preset = "off",
        .words = slash_words,
        .help = "Meaning of \"/x/\" where a path \"/x\" is meant: \"off\": "
                "another path; \"accept\": the same; \"redirect\": 308 to "
                "\"/x\".  Not for folders of files."),
    ROW(http_location_settings, access, CONF_STRINGS, .preset = "allow all",
        .check = access_check_rule,
        .help = "From where it may be asked: rules \"allow|deny ADDRESS\", "
                "the first that matches counts."),
    ROW(http_location_settings, auth, CONF_GROUPS, .keys = settings_auth_keys,
        .size = sizeof(struct auth_settings), .preset = "",
        .check_group = settings_check_auth,
        .help = "Ways in which a client proves who it is; one of them is "
                "enough.  None: nobody is asked."),
    ROW(http_location_settings, cors, CONF_GROUP, .keys = settings_cors_keys,
        .size = sizeof(struct cors_settings), .preset = "",
        .check_group = settings_check_cors,
        .help = "Which pages of other origins may read the answers."),
    ROW(http_location_settings, rate, CONF_GROUPS, .keys = settings_rate_keys,
        .size = sizeof(struct rate_settings), .preset = "", .max = 8,
        .check_group = settings_check_rate,
        .help = "How often it may be asked, counted over all workers; more "
                "is answered 429 with Retry-After."),
    ROW(http_location_settings, client_max_body_size, CONF_SIZE, .min = 0,
        .max = BODY_MAX, .preset = "inherit", .words = body_words,
        .help = "The largest body of a request; \"inherit\": as the "
                "server."),
    ROW(http_location_settings, module, CONF_EXTRA,
        .choose = settings_choose_module, .instead = "layers",
        .help = "The module that answers here; its settings stand beside "
                "it."),
    ROW(http_location_settings, layers, CONF_GROUPS,
        .keys = settings_layer_keys, .size = sizeof(struct http_layer_settings),
        .preset = "", .check_group = settings_check_layer,
        .help = "Several modules instead of one, asked in this order."),
    CONF_END,
};

/* ---- servers ---- */

/* The same but for blanks behind "=", "~" and "~*". */
static bool
is_same_path(struct str a, struct str b)
{
    static const char *const marks[] = { "=", "~*", "~" };

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        struct str mark = str_from(marks[i]);

        if (str_starts(a, mark) || str_starts(b, mark)) {
            return str_starts(a, mark) && str_starts(b, mark) &&
                   str_eq(str_trim(str_skip(a, mark.len)),
                          str_trim(str_skip(b, mark.len)));
        }
    }
    return str_eq(a, b);
}

static int
check_location_among(const struct conf_groups *all, size_t i,
                     struct errmsg *err)
{
    const struct http_location_settings *l = all->items;

    for (size_t k = 0; k < i; k++) {
        if (is_same_path(l[k].path, l[i].path)) {
            return errmsg_set(err,
                              "there is a location \"%.*s\" in line %d "
                              "already",
                              STR_ARGS(l[i].path), l[k].where.line);
        }
    }
    return 0;
}

/* RFC 6797, 6.1. */
static int
check_hsts(struct str value, struct errmsg *err)
{
    struct str rest = str_skip(value, sizeof("max-age=") - 1);
    struct str age = str_trim(str_cut(&rest, ';'));
    int64_t seconds;

    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] < ' ' || value.ptr[i] > '~') {
            return errmsg_set(err, "must be printable ASCII");
        }
    }
    if (!str_starts(value, STR("max-age=")) ||
        !str_to_int(age, 0, INT64_MAX, &seconds)) {
        return errmsg_set(err,
                          "must begin with \"max-age=SECONDS\", not \"%.*s\"",
                          STR_ARGS(value));
    }
    return 0;
}

#define GZIP_TYPES                                                           \
    "text/html, text/css, text/plain, text/javascript, text/xml, text/csv, " \
    "text/markdown, text/vtt, text/event-stream, application/json, "         \
    "application/javascript, "                                               \
    "application/xml, application/wasm, application/manifest+json, "         \
    "application/vnd.apple.mpegurl, application/dash+xml, "                  \
    "application/x-subrip, image/svg+xml"

/* Formats that are compressed already: trying again costs time and bytes. */
static int
check_gzip_type(struct str value, struct errmsg *err)
{
    static const char *const compressed[] = {
        "audio/",     "video/",          "image/png",        "image/jpeg",
        "image/gif",  "image/webp",      "image/avif",       "font/woff",
        "font/woff2", "application/zip", "application/gzip",
    };

    if (str_find(value, '/', 0) + 1 >= value.len ||
        str_find(value, ';', 0) < value.len ||
        str_find(value, '*', 0) < value.len) {
        return errmsg_set(err,
                          "must be a media type like \"text/html\", without "
                          "parameters, not \"%.*s\"",
                          STR_ARGS(value));
    }
    for (size_t i = 0; i < sizeof(compressed) / sizeof(compressed[0]); i++) {
        if (str_starts(value, str_from(compressed[i]))) {
            return errmsg_set(err, "\"%.*s\" is compressed already",
                              STR_ARGS(value));
        }
    }
    return 0;
}

static int
check_rules(const struct http_server_settings *s, struct errmsg *err)
{
    struct pool *pool = pool_new(4096);
    struct http_rules ignored;
    int rc = settings_make_rules(pool, &s->rewrite, &s->add_headers, NULL,
                                 &ignored, err);

    pool_free(&pool);
    return rc;
}

static int
check_server(const void *settings, struct errmsg *err)
{
    const struct http_server_settings *s = settings;

    if (check_rules(s, err) == -1) {
        return -1;
    }
    if (settings_check_listens(&s->listen, err) == -1) {
        return -1;
    }
    return settings_check_proxies(&s->listen, &s->trusted_proxies, err);
}

static int
check_format(struct str value, struct errmsg *err)
{
    return settings_check_format(value, http_log_variables, http_log_presets,
                                 err);
}

static const struct conf_key server_keys[] = {
    ROW_WHERE(http_server_settings),
    ROW_LISTEN(http_server_settings),
    ROW(http_server_settings, server_name, CONF_STRINGS, .preset = "",
        .dollars = true, .check = host_name_check,
        .help =
            "Names whose requests it takes where several servers have one "
            "address: \"example.org\", \"*.example.org\" (all names below "
            "it), \".example.org\" (both), \"www.example.*\", \"~PATTERN\"; "
            "of those that fit, the first in this order.  They are hosts, "
            "too."),
    ROW(http_server_settings, trusted_proxies, CONF_STRINGS, .preset = "",
        .check = access_check_name,
        .help = "Load balancers and proxies whose word on the client is "
                "taken (PROXY protocol, X-Forwarded-*, Forwarded, "
                "X-Request-ID): addresses, ADDRESS/BITS, \"loopback\", "
                "\"private\", \"linklocal\", \"unix:\", \"all\"."),
    ROW(http_server_settings, hosts, CONF_STRINGS, .preset = "",
        .check = http_host_check,
        .help = "Names of this server, as \"media.example.org\" or "
                "\"*.example.org\", beside addresses, localhost and the "
                "host's own name.  Where an address lets somebody in "
                "(access, write_access, metrics_access, a listener at a "
                "loopback address) or auth is asked for, a request from a "
                "loopback or private address under another name is 421."),
    ROW(http_server_settings, forwarded_header, CONF_ENUM, .preset = "auto",
        .words = forwarded_words,
        .help = "Which header of a trusted proxy names the client; \"auto\": "
                "X-Forwarded-For, and Forwarded where that is missing."),
    ROW(http_server_settings, access_log, CONF_STRING, .preset = "off",
        .help = "A file with a line for every request, \"stderr\", "
                "\"stdout\" or \"off\"."),
    ROW(http_server_settings, access_log_format, CONF_STRING, .min = 1,
        .max = 4096, .preset = "combined", .dollars = true,
        .check = check_format,
        .help = "How a line of it looks: \"combined\", \"json\", text with "
                "$variables, or \"json: member=$variable ...\"."),
    ROW(http_server_settings, mask_args, CONF_STRINGS, .preset = MASK_ARGS,
        .check = settings_check_arg,
        .help = "Query arguments whose values are written as *** in the "
                "access log and in statistics."),
    ROW_AS("gzip", http_server_settings, http.gzip, CONF_BOOL,
           .preset = "false",
           .help = "Compresses answers for clients that accept it."),
    ROW_AS("gzip_level", http_server_settings, http.gzip_level, CONF_INT,
           .min = 1, .max = 9, .preset = "4", .help = "1 is fast, 9 is small."),
    ROW_AS("gzip_min_length", http_server_settings, http.gzip_min_length,
           CONF_SIZE, .min = 1, .max = KIB(1024 * 1024), .preset = "1k",
           .help = "A shorter answer is not compressed."),
    ROW(http_server_settings, gzip_types, CONF_STRINGS, .preset = GZIP_TYPES,
        .check = check_gzip_type,
        .help = "The media types that are compressed."),
    ROW(http_server_settings, client_max_body_size, CONF_SIZE, .min = 0,
        .max = BODY_MAX, .preset = "1M",
        .help = "The largest body of a request; modules that look into one "
                "have bounds of their own, of 8 MB at most."),
    ROW_AS("client_header_timeout", http_server_settings,
           http.client_header_timeout, CONF_TIME, .min = 100, .max = HOURS(1),
           .preset = "10s",
           .help = "How long a request's head may take to come."),
    ROW_AS("client_body_timeout", http_server_settings,
           http.client_body_timeout, CONF_TIME, .min = 100, .max = HOURS(1),
           .preset = "30s",
           .help = "The longest pause between two parts of a body."),
    ROW_AS("client_body_min_rate", http_server_settings,
           http.client_body_min_rate, CONF_SIZE, .min = 0, .max = KIB(1024),
           .preset = "500",
           .help = "The least bytes a second that a body must bring on the "
                   "whole, once client_body_timeout has gone by; 0: any."),
    ROW_AS("send_timeout", http_server_settings, http.send_timeout, CONF_TIME,
           .min = 100, .max = HOURS(1), .preset = "30s",
           .help = "A client that takes nothing for so long is closed."),
    ROW_AS("send_min_rate", http_server_settings, http.send_min_rate, CONF_SIZE,
           .min = 0, .max = KIB(1024), .preset = "500",
           .help = "The least bytes a second that a client must take on the "
                   "whole while an answer waits for it, once it has waited "
                   "for send_timeout; 0: any.  Players have their own rule."),
    ROW_AS("lingering_time", http_server_settings, http.lingering_time,
           CONF_TIME, .min = 0, .max = HOURS(1), .preset = "10s",
           .help = "How long, at most, what a client still sends is read and "
                   "dropped when its connection ends, so that it gets to "
                   "read the last answer; not of one that has said "
                   "Connection: close."),
    ROW_AS("lingering_timeout", http_server_settings, http.lingering_timeout,
           CONF_TIME, .min = 0, .max = HOURS(1), .preset = "2s",
           .help = "The longest pause in that."),
    ROW_AS("lingering_size", http_server_settings, http.lingering_size,
           CONF_SIZE, .min = 0, .max = KIB(1024 * 1024), .preset = "1M",
           .help = "The most bytes of it."),
    ROW_AS("keepalive_timeout", http_server_settings, http.keepalive_timeout,
           CONF_TIME, .min = 0, .max = HOURS(24), .preset = "75s",
           .help = "How long a connection may wait for its next request; "
                   "0: one request a connection."),
    ROW_AS("hsts", http_server_settings, http.hsts, CONF_STRING, .preset = "",
           .check = check_hsts,
           .help = "Strict-Transport-Security of answers over https, such as "
                   "\"max-age=63072000\"; empty: none."),
    ROW_AS("keepalive_requests", http_server_settings, http.keepalive_requests,
           CONF_INT, .min = 1, .max = 1000000000, .preset = "1000",
           .help = "The most requests of a connection."),
    ROW_AS("keepalive_time", http_server_settings, http.keepalive_time,
           CONF_TIME, .min = 0, .max = HOURS(24 * 30), .preset = "1h",
           .help = "After so long a connection ends with its next answer."),
    ROW_AS("client_max_head_size", http_server_settings,
           http.client_max_head_size, CONF_SIZE, .min = 512, .max = KIB(1024),
           .preset = "16k",
           .help = "The largest request line and headers together."),
    ROW_AS("client_max_uri_size", http_server_settings,
           http.client_max_uri_size, CONF_SIZE, .min = 64, .max = KIB(1024),
           .preset = "8k", .help = "The longest address of a request."),
    ROW_AS("client_max_header_size", http_server_settings,
           http.client_max_header_size, CONF_SIZE, .min = 64, .max = KIB(1024),
           .preset = "8k", .help = "The longest header."),
    ROW_AS("client_max_headers", http_server_settings, http.client_max_headers,
           CONF_INT, .min = 1, .max = 10000, .preset = "100",
           .help = "The most headers of a request."),
    ROW(http_server_settings, rewrite, CONF_GROUPS, .preset = "",
        .keys = settings_rewrite_keys, .size = sizeof(struct rewrite_settings),
        .help = "Rules that give a request another path before its location is "
                "sought; the first that fits counts."),
    ROW(http_server_settings, add_headers, CONF_GROUPS, .preset = "",
        .keys = settings_added_keys,
        .size = sizeof(struct added_header_settings),
        .help = "Headers that its answers get."),
    ROW(http_server_settings, locations, CONF_GROUPS, .keys = location_keys,
        .size = sizeof(struct http_location_settings), .min = 1,
        .check_among = check_location_among, .check_group = check_location,
        .help = "The paths that it serves, each with its modules."),
    CONF_END,
};

const struct conf_key settings_http_keys[] = {
    ROW(http_block, max_unsent, CONF_SIZE, .min = KIB(1024),
        .max = KIB(1024) * 1024 * 1024, .preset = "256M",
        .help = "The most memory that all processes together keep of answers, "
                "and of frames for players, that clients do not take: over "
                "it, the slowest are cut."),
    ROW(http_block, servers, CONF_GROUPS, .keys = server_keys,
        .size = sizeof(struct http_server_settings), .preset = "",
        .check_group = check_server, .check_among = settings_check_names,
        .help = "HTTP servers."),
    CONF_END,
};

const struct http_server_settings *
settings_http_server(const struct http_block *b, size_t i)
{
    const struct http_server_settings *all = b->servers.items;

    return &all[i];
}
