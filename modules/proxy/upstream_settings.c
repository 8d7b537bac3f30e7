/*
 * Rows.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "upstream_settings.h"

#include <string.h>

#include "base/mem.h"
#include "conf/rows.h"
#include "net/tls.h"
#include "net/tls_client.h"
#include "servers.h"
#include "upstream.h"
#include "upstream_key.h"

#define HOURS(n) ((int64_t)(n)*3600 * 1000)

#define TEXT(number) TEXT_OF(number)
#define TEXT_OF(number) #number

/* ---- rows ---- */

static int
check_address(struct str value, struct errmsg *err)
{
    struct pool *pool = pool_new(1024);
    struct upstream_endpoint e;
    int rc = upstream_parse_address(pool, value, &e, err);

    pool_free(&pool);
    return rc;
}

static int
check_name(struct str value, struct errmsg *err)
{
    for (size_t i = 0; i < value.len; i++) {
        char c = value.ptr[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    (c >= '0' && c <= '9') || strchr("-_.", c) != NULL;

        if (!word || c == '\0') {
            return errmsg_set(err, "must be of letters, digits, '-', '_' and "
                                   "'.'");
        }
    }
    return 0;
}

/* A worker would find it too late. */
static int
check_ca(struct str value, struct errmsg *err)
{
    char *path = mem_dup(value.ptr, value.len);
    struct tls_client_options o = { .ca = str_of(path, value.len) };
    struct tls_client *t = tls_client_new(&o, err);
    int rc = t != NULL ? 0 : -1;

    tls_client_free(&t);
    mem_free(&path);
    return rc;
}

static int
check_target(struct str value, struct errmsg *err)
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] <= ' ' || value.ptr[i] >= 0x7f ||
            value.ptr[0] != '/') {
            return errmsg_set(err, "must begin with '/' and have neither "
                                   "blanks nor bytes beyond ASCII");
        }
    }
    return 0;
}

static int
check_host(struct str value, struct errmsg *err)
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.ptr[i] <= ' ' || value.ptr[i] >= 0x7f) {
            return errmsg_set(err, "must have neither blanks nor bytes beyond "
                                   "ASCII");
        }
    }
    return 0;
}

/* "200", "200-299" */
static bool
parse_status(struct str value, int64_t *from, int64_t *to)
{
    struct str first = str_cut(&value, '-');

    if (!str_to_int(first, 100, 599, from)) {
        return false;
    }
    *to = *from;
    return value.len == 0 || str_to_int(value, *from, 599, to);
}

static int
check_status(struct str value, struct errmsg *err)
{
    int64_t from, to;

    return parse_status(value, &from, &to)
               ? 0
               : errmsg_set(err,
                            "must be a status or a range of some: \"200\", "
                            "\"200-299\"");
}

bool
upstream_is_good(const struct conf_strings *status, int64_t is)
{
    int64_t from, to;

    for (size_t i = 0; i < status->count; i++) {
        if (parse_status(status->items[i], &from, &to) && is >= from &&
            is <= to) {
            return true;
        }
    }
    return false;
}

static const struct conf_key server_keys[] = {
    ROW_WHERE(upstream_server_settings),
    ROW(upstream_server_settings, address, CONF_STRING, .min = 1, .max = 255,
        .check = check_address,
        .help = "HOST:PORT or unix:/PATH.  A name is asked again by its TTL; "
                "the first of its addresses that connects is taken."),
    ROW(upstream_server_settings, weight, CONF_INT, .min = 1,
        .max = SERVERS_WEIGHT_MAX, .preset = TEXT(UPSTREAM_WEIGHT),
        .help = "Its part of the requests, beside the weights of the others."),
    ROW(upstream_server_settings, backup, CONF_BOOL, .preset = "false",
        .help = "It gets requests only when none of the others can."),
    ROW(upstream_server_settings, max_connections, CONF_INT, .min = 0,
        .max = 1000000, .preset = "0",
        .help = "Requests that are open there at once, from all workers; 0: "
                "any number."),
    ROW(upstream_server_settings, max_fails, CONF_INT, .min = 0, .max = 1000,
        .preset = TEXT(UPSTREAM_MAX_FAILS),
        .help = "So many requests that fail within fail_timeout shut it; 0: "
                "they do not count.  An upstream's only server is never shut."),
    ROW(upstream_server_settings, fail_timeout, CONF_TIME, .min = 100,
        .max = SERVERS_TIMEOUT_MAX, .preset = TEXT(UPSTREAM_FAIL_TIMEOUT) "s",
        .help = "The time in which fails count, and for which it is shut then: "
                "afterwards one request tries."),
    ROW(upstream_server_settings, slow_start, CONF_TIME, .min = 0,
        .max = HOURS(1), .preset = "0",
        .help = "How long its weight grows when it is back; not of hash."),
    CONF_END,
};

/* As above. */
static int
check_tls(const void *settings, struct errmsg *err)
{
    const struct upstream_tls_settings *t = settings;
    struct tls_identity *identity;

    if (t->certificate.len == 0 && t->certificate_key.len == 0) {
        return 0;
    }
    if (t->certificate.len == 0 || t->certificate_key.len == 0) {
        return errmsg_set(err, "certificate and certificate_key go together");
    }
    identity = tls_identity_read(
        &(struct tls_pair){ t->certificate, t->certificate_key }, err);
    if (identity == NULL) {
        return -1;
    }
    tls_identity_free(&identity);
    return 0;
}

static const struct conf_key tls_keys[] = {
    ROW(upstream_tls_settings, ca, CONF_STRING, .preset = "", .check = check_ca,
        .help = "File with the certificates (PEM) that the servers' are "
                "verified with; empty: those of the system."),
    ROW(upstream_tls_settings, server_name, CONF_STRING, .max = 253,
        .preset = "",
        .help = "The name that their certificates must be for and that is sent "
                "to them (SNI); empty: the host of the address."),
    ROW(upstream_tls_settings, insecure, CONF_BOOL, .preset = "false",
        .help = "Takes every certificate, so that anybody on the way can read "
                "and change what is passed on."),
    ROW(upstream_tls_settings, certificate, CONF_STRING, .preset = "",
        .help =
            "PEM file: weir's own certificate for servers that ask for one, "
            "then the others of its chain; empty: none."),
    ROW(upstream_tls_settings, certificate_key, CONF_STRING, .preset = "",
        .help = "PEM file: its private key, without a passphrase, and not "
                "readable by others."),
    CONF_END,
};

static const struct conf_key health_keys[] = {
    ROW(upstream_health_settings, path, CONF_STRING, .min = 1, .max = 1024,
        .check = check_target, .help = "The path that is asked for, by GET."),
    ROW(upstream_health_settings, host, CONF_STRING, .max = 255, .preset = "",
        .check = check_host,
        .help = "The Host of the question; empty: that of the address."),
    ROW(upstream_health_settings, interval, CONF_TIME, .min = 100,
        .max = HOURS(1), .preset = "5s", .help = "Between two checks."),
    ROW(upstream_health_settings, timeout, CONF_TIME, .min = 10,
        .max = HOURS(1), .preset = "2s",
        .help = "How long a check may take, connecting included."),
    ROW(upstream_health_settings, rise, CONF_INT, .min = 1, .max = 100,
        .preset = "2",
        .help = "So many good checks in a row: the server is up."),
    ROW(upstream_health_settings, fall, CONF_INT, .min = 1, .max = 100,
        .preset = "3",
        .help = "So many failed checks in a row: the server is down."),
    ROW(upstream_health_settings, status, CONF_STRINGS, .min = 1, .max = 16,
        .preset = "200", .check = check_status,
        .help = "Statuses of good answers: \"200\", \"200-299\"."),
    CONF_END,
};

static int
check_server_among(const struct conf_groups *all, size_t i, struct errmsg *err)
{
    const struct upstream_server_settings *s = all->items;

    for (size_t k = 0; k < i; k++) {
        if (str_eq(s[k].address, s[i].address)) {
            return errmsg_set(err, "\"%.*s\" stands in line %d already",
                              STR_ARGS(s[i].address), s[k].where.line);
        }
    }
    return 0;
}

static int
check_upstream(const void *settings, struct errmsg *err)
{
    const struct upstream_settings *u = settings;
    size_t backups = 0;

    for (size_t i = 0; i < u->servers.count; i++) {
        backups += upstream_server_at(u, i)->backup;
    }
    if (u->servers.count > 0 && backups == u->servers.count) {
        return errmsg_set(err, "has none but backup servers");
    }
    if (u->balance == UPSTREAM_HASH && u->hash_key.len == 0) {
        return errmsg_set(err,
                          "balance = \"hash\" needs a hash_key: \"$client\", "
                          "\"$path\", \"$header_NAME\" or \"$query_NAME\"");
    }
    return 0;
}

static const char *const balances[] = { "round_robin", "least_connections",
                                        "hash", NULL };

static const struct conf_key upstream_keys[] = {
    ROW_WHERE(upstream_settings),
    ROW(upstream_settings, name, CONF_STRING, .min = 1,
        .max = UPSTREAM_NAME_MAX, .check = check_name,
        .help = "Its name: layers take it as their upstream."),
    ROW(upstream_settings, balance, CONF_ENUM, .words = balances,
        .preset = "round_robin",
        .help = "The order: by weight in turn, the one with the fewest open "
                "requests for its weight, or by a key of the request."),
    ROW(upstream_settings, hash_key, CONF_STRING, .max = 128, .preset = "",
        .dollars = true, .check = upstream_check_key,
        .help = "Of hash: \"$client\" (the address), \"$path\", "
                "\"$header_NAME\" or \"$query_NAME\".  When a server goes, its "
                "keys alone move."),
    ROW(upstream_settings, servers, CONF_GROUPS, .keys = server_keys,
        .size = sizeof(struct upstream_server_settings), .min = 1,
        .max = UPSTREAM_SERVERS, .shorthand = "address",
        .check_among = check_server_among, .help = "The servers."),
    ROW(upstream_settings, tls, CONF_GROUPS, .keys = tls_keys,
        .size = sizeof(struct upstream_tls_settings), .max = 1, .preset = "",
        .check_group = check_tls,
        .help = "They are spoken to over TLS: one group in braces."),
    ROW(upstream_settings, keepalive, CONF_INT, .min = 0, .max = 65536,
        .preset = TEXT(UPSTREAM_KEEPALIVE),
        .help = "Connections that a worker keeps to each server; 0: none."),
    ROW(upstream_settings, keepalive_timeout, CONF_TIME, .min = 10,
        .max = HOURS(24), .preset = TEXT(UPSTREAM_KEEPALIVE_TIMEOUT) "s",
        .help = "How long a kept connection waits for its next request."),
    ROW(upstream_settings, keepalive_requests, CONF_INT, .min = 1,
        .max = 1000000000, .preset = TEXT(UPSTREAM_KEEPALIVE_REQUESTS),
        .help = "Requests of one connection."),
    ROW(upstream_settings, queue, CONF_INT, .min = 0, .max = 100000,
        .preset = "0",
        .help = "Requests that wait while all servers have max_connections; "
                "one more is refused (503)."),
    ROW(upstream_settings, queue_timeout, CONF_TIME, .min = 10, .max = HOURS(1),
        .preset = TEXT(UPSTREAM_QUEUE_TIMEOUT) "s",
        .help = "How long one waits (503)."),
    ROW(upstream_settings, health, CONF_GROUPS, .keys = health_keys,
        .size = sizeof(struct upstream_health_settings), .max = 1, .preset = "",
        .help = "Servers are asked whether they are well, once a node; without "
                "it their answers alone tell.  One group in braces."),
    CONF_END,
};

const struct conf_key upstream_root_keys[] = {
    ROW(upstream_root, upstreams, CONF_GROUPS, .keys = upstream_keys,
        .size = sizeof(struct upstream_settings), .max = 256, .preset = "",
        .named = true, .check_group = check_upstream,
        .help = "Servers that requests are passed on to, by name; see "
                "proxy(7)."),
    CONF_END,
};
