/*
 * The rows of its settings, and what is checked of the whole file.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "settings.h"

#include "base/mem.h"
#include "conf/rows.h"
#include "net/egress.h"
#include "net/tls_client.h"
#include "net/url.h"
#include "push_names.h"
#include "rtmp/name.h"
#include "rtmp/target.h"
#include "target.h"

#define HOURS(n) ((int64_t)(n)*3600 * 1000)

/* ---- rows ---- */

static int
split(struct pool *pool, struct str url, struct url *u, struct rtmp_target *t,
      struct errmsg *err)
{
    if (url_parse(pool, url, u, err) == -1) {
        return -1;
    }
    if (u->scheme != URL_RTMP && u->scheme != URL_RTMPS) {
        return errmsg_set(err, "must begin with rtmp:// or rtmps://");
    }
    return rtmp_target_split(t,
                             pool_printf(pool, "%.*s%s%.*s", STR_ARGS(u->path),
                                         u->has_query ? "?" : "",
                                         STR_ARGS(u->query)),
                             err);
}

static int
check_url(struct str value, bool wants_name, struct errmsg *err)
{
    struct pool *pool = pool_new(1024);
    struct rtmp_target t;
    struct url u;
    int rc = split(pool, value, &u, &t, err);

    if (rc == 0 && wants_name && t.name.len == 0) {
        rc = errmsg_set(err, "has no stream name: rtmp://HOST/APP/NAME");
    }
    pool_free(&pool);
    return rc;
}

static int
check_push_url(struct str value, struct errmsg *err)
{
    return check_url(value, false, err);
}

static int
check_pull_url(struct str value, struct errmsg *err)
{
    return check_url(value, true, err);
}

static int
check_name(struct str value, struct errmsg *err)
{
    return rtmp_name_check(value, false, err);
}

/* The relayer would find it too late: when the old one has ended. */
static int
check_ca(struct str value, struct errmsg *err)
{
    char *path = mem_dup(value.ptr, value.len);
    struct tls_client_options o = { .ca = str_of(path, value.len) };
    struct tls_client *t = NULL;

    if (value.len == 0) {
        errmsg_set(err, "must not be empty");
    } else {
        t = tls_client_new(&o, err);
    }
    int rc = t != NULL ? 0 : -1;

    tls_client_free(&t);
    mem_free(&path);
    return rc;
}

static int
check_push_name(struct str value, struct errmsg *err)
{
    struct pool *pool = pool_new(1024);
    struct push_names names;
    int rc = push_names_read(pool, value, &names, err);

    if (rc == 0 && !names.many) {
        rc = check_name(value, err);
    }
    pool_free(&pool);
    return rc;
}

static const struct conf_key push_keys[] = {
    ROW_WHERE(push_settings),
    ROW(push_settings, url, CONF_STRING, .secret = true,
        .check = check_push_url,
        .help = "rtmp:// or rtmps:// URL of the remote; one without a stream "
                "name (rtmp://HOST/APP, rtmp://HOST/APP/INSTANCE/) gets the "
                "name that the stream has here."),
    ROW(push_settings, name, CONF_STRING, .preset = "", .dollars = true,
        .check = check_push_name,
        .help = "The stream that is pushed; a pattern (PCRE2), \"~ ^show-\" or "
                "in any case \"~* ^show-\": those that fit; empty: every "
                "stream of the application."),
    CONF_END,
};

static const struct conf_key pull_keys[] = {
    ROW_WHERE(pull_settings),
    ROW(pull_settings, name, CONF_STRING, .check = check_name,
        .help = "The name that the stream has here."),
    ROW(pull_settings, url, CONF_STRING, .secret = true,
        .check = check_pull_url,
        .help = "rtmp:// or rtmps:// URL of the stream that is played."),
    CONF_END,
};

static const struct conf_key relays_keys[] = {
    ROW(relays_settings, max, CONF_INT, .min = 0, .max = 4096, .preset = "1024",
        .help = "Relays at once, those of weir.conf among them, which must not "
                "be more (a push of several streams is one at least)."),
    ROW(relays_settings, connect_timeout, CONF_TIME, .min = 500,
        .max = HOURS(1), .preset = "10s",
        .help = "How long the name, the connection, TLS and the remote's "
                "answer may take, each."),
    ROW(relays_settings, idle_timeout, CONF_TIME, .min = 1000, .max = HOURS(1),
        .preset = "10s",
        .help = "A remote that is pulled from and sends no media for so long, "
                "or that is pushed to and answers nothing, is left and "
                "connected to anew."),
    ROW(relays_settings, tls_ca, CONF_STRING, .preset = "", .check = check_ca,
        .help = "File with the certificates (PEM) that rtmps:// remotes are "
                "verified with; empty: those of the system."),
    ROW(relays_settings, tls_verify, CONF_BOOL, .preset = "true",
        .help = "Whether the certificates of rtmps:// remotes are verified; "
                "without that anybody on the way can read and change what is "
                "relayed."),
    CONF_END,
};

static int
check_push_among(const struct conf_groups *all, size_t i, struct errmsg *err)
{
    const struct push_settings *p = all->items;

    for (size_t k = 0; k < i; k++) {
        if (str_eq(p[k].name, p[i].name) && str_eq(p[k].url, p[i].url)) {
            return errmsg_set(err, "is the same as in line %d",
                              p[k].where.line);
        }
    }
    return 0;
}

static int
check_pull_among(const struct conf_groups *all, size_t i, struct errmsg *err)
{
    const struct pull_settings *p = all->items;

    for (size_t k = 0; k < i; k++) {
        if (str_eq(p[k].name, p[i].name)) {
            return errmsg_set(err, "\"%.*s\" is pulled in line %d already",
                              STR_ARGS(p[i].name), p[k].where.line);
        }
    }
    return 0;
}

static const char *const key_changes[] = { "close", "keep", NULL };

const struct conf_key relay_application_keys[] = {
    ROW(relay_application, on_key_change, CONF_ENUM, .preset = "close",
        .words = key_changes,
        .help = "Fate of a live publisher when its key is reset or deleted: it "
                "is closed, or may stay until it ends (\"keep\")."),
    ROW(relay_application, key_grace, CONF_TIME, .min = 0, .max = HOURS(24),
        .preset = "10m",
        .help = "While the store cannot be asked, a key still lets in for so "
                "long after this worker has last seen it to be good; 0: not "
                "at all."),
    ROW(relay_application, push, CONF_GROUPS, .keys = push_keys,
        .size = sizeof(struct push_settings), .preset = "", .shorthand = "url",
        .check_among = check_push_among,
        .help = "Where streams of this application are published as well."),
    ROW(relay_application, pull, CONF_GROUPS, .keys = pull_keys,
        .size = sizeof(struct pull_settings), .preset = "",
        .check_among = check_pull_among,
        .help = "Streams that are played elsewhere and published here."),
    CONF_END,
};

const struct conf_key relay_root_keys[] = {
    ROW(relay_root, relays, CONF_GROUP, .keys = relays_keys,
        .size = sizeof(struct relays_settings), .preset = "",
        .help = "Pulls and pushes; see weir-relay(7)."),
    CONF_END,
};

/* ---- a stream to itself ---- */

/* Whether a connection to u would come in by this address. */
static bool
listens(const struct listen_settings *l, const struct url *u)
{
    struct addr_listen own;
    struct addr to = { .family = AF_UNSPEC };
    struct errmsg err;
    bool is_name = addr_parse_ip(u->host, &to) == -1;

    if (addr_parse_listen(l->address, &own, &err) == -1 || own.path.len > 0 ||
        own.addr.port != u->port) {
        return false;
    }
    to.port = u->port;
    return is_name ? str_eq(u->host, STR("localhost"))
                   : addr_is_loopback(&to) || addr_eq(&own.addr, &to);
}

static bool
is_served(const struct rtmp_server_settings *r, const struct url *u,
          struct str app)
{
    const struct rtmp_application_settings *a = r->applications.items;
    bool has_app = false;

    for (size_t i = 0; i < r->applications.count; i++) {
        has_app = has_app || str_eq(a[i].name, app);
    }
    for (size_t i = 0; has_app && i < r->listen.count; i++) {
        if (listens(settings_listen(&r->listen, i), u)) {
            return true;
        }
    }
    return false;
}

static int
check_itself(const struct settings *s, struct str app, struct str name,
             const struct url *u, const struct rtmp_target *t,
             struct errmsg *err)
{
    struct rtmp_name there;

    if (rtmp_name_resolve(&there, t->app, STR_NONE,
                          t->name.len > 0 ? t->name : name, false, err) == -1) {
        return -1;
    }
    /* Without a name every stream goes there under its own. */
    if (!str_eq(there.app, app) || !str_eq(there.name, name)) {
        return 0;
    }
    for (size_t i = 0; i < s->rtmp.servers.count; i++) {
        if (is_served(settings_rtmp_server(&s->rtmp, i), u, app)) {
            return errmsg_set(err, "would be a relay of a stream to itself");
        }
    }
    return 0;
}

int
relay_check_url(const struct settings *s, struct str app, struct str name,
                struct str url, struct errmsg *err)
{
    struct pool *pool = pool_new(1024);
    struct rtmp_target t;
    struct url u;
    int rc = split(pool, url, &u, &t, err);

    if (rc == 0) {
        rc = check_itself(s, app, name, &u, &t, err);
    }
    pool_free(&pool);
    return rc;
}

int
relay_check_egress(const struct settings *s, struct str url, struct errmsg *err)
{
    struct pool *pool = pool_new(1024);
    struct url u;
    struct addr a;
    int rc = url_parse(pool, url, &u, err);

    if (rc == 0 && str_eq(u.host, STR("localhost"))) {
        u.host = STR("127.0.0.1");
    }
    if (rc == 0 && addr_parse_ip(u.host, &a) == 0) {
        rc = egress_check(egress_parse(pool, s->egress.items, s->egress.count),
                          &a, err);
    }
    pool_free(&pool);
    return rc;
}

struct check { /* of the relays of a file */
    const struct settings *s;
    FILE *out;
    int64_t count; /* so far */
};

/* Reports the first one for which there is no room. */
static void
count_one(struct check *c, const struct push_settings *p, const char *what)
{
    int64_t max = relays_of(c->s)->max;

    if (c->count++ == max) {
        fprintf(c->out,
                "%s:%d: %s: there are more than relays.max allows (%lld)\n",
                p->where.file, p->where.line, what, (long long)max);
    }
}

/* One of the file that could never run: to itself, or refused by egress. */
static void
check_one(struct check *c, struct str app, const struct push_settings *p,
          const char *what)
{
    struct str name = push_names_many(p->name) ? STR_NONE : p->name;
    struct errmsg err;

    count_one(c, p, what);
    if (relay_check_url(c->s, app, name, p->url, &err) == -1) {
        errmsg_prefix(&err, "url ");
    } else if (relay_check_egress(c->s, p->url, &err) == 0) {
        return;
    }
    fprintf(c->out, "%s:%d: %s: %s\n", p->where.file, p->where.line, what,
            err.text);
}

static void
check_application(struct check *c, const struct rtmp_application_settings *a)
{
    const struct relay_application *r = relay_application_of(a);
    const struct push_settings *push = r->push.items;
    const struct pull_settings *pull = r->pull.items;

    for (size_t i = 0; i < r->push.count; i++) {
        check_one(c, a->name, &push[i], "push");
    }
    for (size_t i = 0; i < r->pull.count; i++) {
        const struct push_settings p = { pull[i].where, pull[i].url,
                                         pull[i].name };

        check_one(c, a->name, &p, "pull");
    }
}

void
relay_check_file(const struct settings *s, FILE *out)
{
    struct check check = { s, out, 0 };

    for (size_t i = 0; i < s->rtmp.servers.count; i++) {
        const struct rtmp_server_settings *r =
            settings_rtmp_server(&s->rtmp, i);
        const struct rtmp_application_settings *a = r->applications.items;

        for (size_t k = 0; k < r->applications.count; k++) {
            check_application(&check, &a[k]);
        }
    }
    relay_target_check_file(s, out);
}
