/*
 * The filters of a location in weir.conf: auth, cors, rate.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/filters.h"

#include <string.h>

#include "conf/rows.h"
#include "http/filter/auth.h"
#include "http/filter/cors.h"
#include "http/filter/rate.h"
#include "net/access.h"

#define HOURS(n) ((int64_t)(n)*3600 * 1000)
#define BURST_MAX 1000000

static const char *const types[] = { "bearer", "basic", "jwt", NULL };
static const char *const burst_words[] = { "auto", NULL };

/* ---- auth ---- */

/* It stands between quotes in a header. */
static int
check_realm(struct str value, struct errmsg *err)
{
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];

        if (c < ' ' || c > '~' || c == '"' || c == '\\') {
            return errmsg_set(err, "must be printable ASCII without '\"' "
                                   "and '\\'");
        }
    }
    return 0;
}

/* It stands in addresses. */
static int
check_argument(struct str value, struct errmsg *err)
{
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || c == '_')) {
            return errmsg_set(err, "must be of letters, digits and \"_\"");
        }
    }
    return 0;
}

static int
check_algorithm(struct str value, struct errmsg *err)
{
    if (str_eq(value, STR("HS256")) || str_eq(value, STR("RS256")) ||
        str_eq(value, STR("ES256"))) {
        return 0;
    }
    return errmsg_set(err,
                      "must be \"HS256\", \"RS256\" or \"ES256\", not \"%.*s\"",
                      STR_ARGS(value));
}

static int
check_claim(struct str value, struct errmsg *err)
{
    if (value.len > 0 && value.ptr[0] != '=') {
        return 0;
    }
    return errmsg_set(err, "must be \"NAME\" or \"NAME=VALUE\"");
}

const struct conf_key settings_auth_keys[] = {
    ROW_WHERE(auth_settings),
    ROW(auth_settings, type, CONF_ENUM, .words = types,
        .help = "\"bearer\": a token that is on a list; \"basic\": user and "
                "password; \"jwt\": a signed token (RFC 7519)."),
    ROW(auth_settings, realm, CONF_STRING, .preset = "weir",
        .max = AUTH_REALM_MAX, .check = check_realm,
        .help = "The name of the area in the demand for a proof "
                "(WWW-Authenticate)."),
    ROW(auth_settings, query, CONF_STRING, .preset = "", .max = 32,
        .check = check_argument,
        .help = "bearer, jwt: a token may be this argument of the query, too, "
                "for players that send no headers; name one of mask_args, "
                "which logs hide (\"access_token\"); empty: none."),
    ROW(auth_settings, tokens, CONF_STRINGS, .preset = "", .secret = true,
        .help = "bearer: tokens that let in, of at least 16 letters."),
    ROW(auth_settings, tokens_file, CONF_STRING, .preset = "",
        .help = "bearer: a file with a token a line, not readable by "
                "everybody; read at start and reload."),
    ROW(auth_settings, users_file, CONF_STRING, .preset = "",
        .help = "basic: a file with \"user:hash\" a line, as htpasswd -B and "
                "mkpasswd write it ($2y$, $5$, $6$, $y$), not readable by "
                "everybody; read at start and reload."),
    ROW(auth_settings, algorithms, CONF_STRINGS, .preset = "",
        .check = check_algorithm,
        .help = "jwt: how tokens may be signed: \"HS256\", \"RS256\", "
                "\"ES256\"; there must be a key for each."),
    ROW(auth_settings, secret, CONF_STRING, .preset = "", .secret = true,
        .help = "jwt: the shared secret of HS256, at least 32 bytes."),
    ROW(auth_settings, secret_file, CONF_STRING, .preset = "",
        .help = "jwt: a file with that secret, less a newline at its end; not "
                "readable by everybody."),
    ROW(auth_settings, public_key_files, CONF_STRINGS, .preset = "",
        .help = "jwt: PEM files with a public key or certificate each: RSA "
                "of at least 2048 bits for RS256, P-256 for ES256."),
    ROW(auth_settings, jwks_file, CONF_STRING, .preset = "",
        .help = "jwt: a file with a JWK Set (RFC 7517); what is for none of "
                "the algorithms is passed over."),
    ROW(auth_settings, issuer, CONF_STRING, .preset = "",
        .help = "jwt: what \"iss\" must be; empty: anything."),
    ROW(auth_settings, audience, CONF_STRINGS, .preset = "",
        .help = "jwt: one of these must be in \"aud\"; none: anything."),
    ROW(auth_settings, leeway, CONF_TIME, .min = 0, .max = HOURS(1),
        .preset = "30s", .help = "jwt: how far clocks may differ."),
    ROW(auth_settings, required, CONF_STRINGS, .preset = "",
        .check = check_claim,
        .help = "jwt: claims that must be there, \"NAME\" or \"NAME=VALUE\" "
                "(a string, one of an array, a word of \"scope\"); who has "
                "all but these is answered 403."),
    CONF_END,
};

/* A setting that is set but belongs to another type. */
static const char *
stranger(const struct auth_settings *s)
{
    const struct {
        const char *name;
        bool set;
        int type;
    } keys[] = {
        { "tokens", s->tokens.count > 0, AUTH_TYPE_BEARER },
        { "tokens_file", s->tokens_file.len > 0, AUTH_TYPE_BEARER },
        { "users_file", s->users_file.len > 0, AUTH_TYPE_BASIC },
        { "algorithms", s->algorithms.count > 0, AUTH_TYPE_JWT },
        { "secret", s->secret.len > 0, AUTH_TYPE_JWT },
        { "secret_file", s->secret_file.len > 0, AUTH_TYPE_JWT },
        { "public_key_files", s->public_key_files.count > 0, AUTH_TYPE_JWT },
        { "jwks_file", s->jwks_file.len > 0, AUTH_TYPE_JWT },
        { "issuer", s->issuer.len > 0, AUTH_TYPE_JWT },
        { "audience", s->audience.count > 0, AUTH_TYPE_JWT },
        { "required", s->required.count > 0, AUTH_TYPE_JWT },
    };

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        if (keys[i].set && keys[i].type != s->type) {
            return keys[i].name;
        }
    }
    return NULL;
}

int
settings_check_auth(const void *settings, struct errmsg *err)
{
    const struct auth_settings *s = settings;
    const char *name = stranger(s);

    if (name != NULL) {
        return errmsg_set(err, "%s does not go with type \"%s\"", name,
                          types[s->type]);
    }
    if (s->type == AUTH_TYPE_BEARER && s->tokens.count == 0 &&
        s->tokens_file.len == 0) {
        return errmsg_set(err, "type \"bearer\" needs tokens or tokens_file");
    }
    if (s->type == AUTH_TYPE_BASIC && s->users_file.len == 0) {
        return errmsg_set(err, "type \"basic\" needs users_file");
    }
    if (s->type == AUTH_TYPE_JWT && s->algorithms.count == 0) {
        return errmsg_set(err, "type \"jwt\" needs algorithms");
    }
    if (s->type == AUTH_TYPE_BASIC && s->query.len > 0) {
        return errmsg_set(err, "query does not go with type \"basic\"");
    }
    if (s->secret.len > 0 && s->secret_file.len > 0) {
        return errmsg_set(err, "it has secret or secret_file, not both");
    }
    return 0;
}

/* ---- cors ---- */

const struct conf_key settings_cors_keys[] = {
    ROW(cors_settings, allow_origins, CONF_STRINGS, .preset = "",
        .check = cors_check_origin,
        .help = "Origins whose pages may: \"https://a.example\", "
                "\"https://*.example.com\", \"*\"; none: answers have no "
                "headers for origins."),
    ROW(cors_settings, allow_methods, CONF_STRINGS, .preset = "GET, HEAD, POST",
        .min = 1, .check = cors_check_method,
        .help = "Methods that such a page may use."),
    ROW(cors_settings, allow_headers, CONF_STRINGS, .preset = "",
        .check = cors_check_header,
        .help = "Which headers it may send beside the harmless ones; \"*\": "
                "all."),
    ROW(cors_settings, expose_headers, CONF_STRINGS, .preset = "",
        .check = cors_check_header,
        .help = "Which headers of an answer it may read beside the harmless "
                "ones."),
    ROW(cors_settings, credentials, CONF_BOOL, .preset = "false",
        .help = "Whether it may send what the browser knows of the user; "
                "not with origin \"*\"."),
    ROW(cors_settings, max_age, CONF_TIME, .min = 0, .max = HOURS(24),
        .preset = "10m", .help = "How long a browser may remember this."),
    CONF_END,
};

int
settings_check_cors(const void *settings, struct errmsg *err)
{
    const struct cors_settings *s = settings;
    struct http_cors c = { .origins = s->allow_origins.items,
                           .origin_count = s->allow_origins.count };

    if (s->credentials && cors_is_any(&c)) {
        return errmsg_set(err, "credentials cannot go with origin \"*\": any "
                               "page could act for its reader");
    }
    if (cors_is_any(&c) && c.origin_count > 1) {
        return errmsg_set(err, "beside origin \"*\" no other has a meaning");
    }
    for (size_t i = 0; i < s->allow_headers.count; i++) {
        if (s->allow_headers.count > 1 &&
            str_eq(s->allow_headers.items[i], STR("*"))) {
            return errmsg_set(err, "beside header \"*\" no other has a "
                                   "meaning");
        }
    }
    return 0;
}

/* ---- rate ---- */

const struct conf_key settings_rate_keys[] = {
    ROW_WHERE(rate_settings),
    ROW(rate_settings, key, CONF_STRING, .preset = "address",
        .check = rate_check_key,
        .help = "Clients that are counted as one: \"address\" (IPv6: its first "
                "64 bits), \"location\" (everybody together), \"header:NAME\" "
                "(its value; by address where it is missing)."),
    ROW(rate_settings, rate, CONF_STRING, .check = rate_check,
        .help = "How many requests in the long run: \"10/s\", \"600/m\", "
                "\"5000/h\"."),
    ROW(rate_settings, burst, CONF_INT, .min = 1, .max = BURST_MAX,
        .preset = "auto", .words = burst_words,
        .help = "How many may come at once after a pause; \"auto\": as many "
                "as a second brings, at least one."),
    CONF_END,
};

int64_t
settings_burst(const struct rate_settings *s, int64_t interval_us)
{
    int64_t second = 1000000 / interval_us;

    if (s->burst != RATE_BURST_AUTO) {
        return s->burst;
    }
    return second > 0 ? second : 1;
}

int
settings_check_rate(const void *settings, struct errmsg *err)
{
    const struct rate_settings *s = settings;
    int64_t interval_us;

    if (rate_parse(s->rate, &interval_us, err) == -1) {
        return -1;
    }
    if (settings_burst(s, interval_us) > PACE_HORIZON_US / interval_us) {
        return errmsg_set(err,
                          "burst %lld is more than rate \"%.*s\" brings in a "
                          "day",
                          (long long)s->burst, STR_ARGS(s->rate));
    }
    return 0;
}

/* ---- limits ---- */

const struct conf_key settings_limits_keys[] = {
    ROW(limits_settings, connections_per_address, CONF_INT, .min = 0,
        .max = 60000, .preset = "256",
        .help =
            "Connections of one address (its first bits, see ipv6_prefix), of "
            "all protocols; more are closed at once; 0: any number."),
    ROW(limits_settings, incomplete_per_address, CONF_INT, .min = 0,
        .max = 60000, .preset = "32",
        .help = "How many of them may be without a whole request head or "
                "RTMP handshake yet; 0: any number."),
    ROW(limits_settings, exempt, CONF_STRINGS, .preset = "allow loopback",
        .check = access_check_rule,
        .help = "Rules \"allow|deny ADDRESS\", the first that matches "
                "counts: who is allowed is not limited, as load balancers "
                "should be."),
    ROW(limits_settings, ipv4_prefix, CONF_INT, .min = 8, .max = 32,
        .preset = "32",
        .help = "So many bits of an IPv4 address are one client, for limits of "
                "an address, rate and shares of pools."),
    ROW(limits_settings, ipv6_prefix, CONF_INT, .min = 16, .max = 128,
        .preset = "64", .help = "The same of an IPv6 address."),
    ROW(limits_settings, keys, CONF_INT, .min = 512, .max = 16777216,
        .preset = "65536", .change = CONF_RESTART,
        .help = "Clients that can be told apart at once, here and by rate."),
    CONF_END,
};
