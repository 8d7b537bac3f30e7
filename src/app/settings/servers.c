/*
 * The list of servers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/settings/servers.h"

#include "app/module.h"

/* ---- one kind each ---- */

static bool
rtmp_server(const struct settings *s, size_t i, struct server_settings *out)
{
    if (i >= s->rtmp.servers.count) {
        return false;
    }
    const struct rtmp_server_settings *r = settings_rtmp_server(&s->rtmp, i);

    *out = (struct server_settings){
        .kind = SERVER_RTMP,
        .proto = "rtmp",
        .key = "rtmp.servers",
        .number = i,
        .where = &r->where,
        .listen = &r->listen,
        .trusted_proxies = &r->trusted_proxies,
        .access_log = r->access_log,
        .send_timeout = r->send_timeout,
    };
    return true;
}

static bool
http_server(const struct settings *s, size_t i, struct server_settings *out)
{
    if (i >= s->http.servers.count) {
        return false;
    }
    const struct http_server_settings *h = settings_http_server(&s->http, i);

    *out = (struct server_settings){
        .kind = SERVER_HTTP,
        .proto = "http",
        .key = "http.servers",
        .number = i,
        .where = &h->where,
        .listen = &h->listen,
        .trusted_proxies = &h->trusted_proxies,
        .access_log = h->access_log,
    };
    return true;
}

static bool
server_of(const struct settings *s, const struct module *m, size_t i,
          struct server_settings *out)
{
    const struct listening *l =
        m->servers == NULL ? NULL
                           : m->servers->find(settings_of_module(s, m), i);

    if (l == NULL) {
        return false;
    }
    *out = (struct server_settings){
        .kind = SERVER_MODULE,
        .module = m,
        .proto = m->name,
        .key = m->name,
        .number = i,
        .where = &l->where,
        .listen = &l->listen,
        .trusted_proxies = &l->trusted_proxies,
        .access = &l->access,
    };
    return true;
}

static bool
module_server(const struct settings *s, size_t i, struct server_settings *out)
{
    for (size_t m = 0; modules[m] != NULL; m++) {
        size_t own = 0;

        for (; server_of(s, modules[m], own, out); own++) {
            if (own == i) {
                return true;
            }
        }
        i -= own;
    }
    return false;
}

/* ---- all ---- */

bool
settings_server(const struct settings *s, size_t i, struct server_settings *out)
{
    size_t rtmp = s->rtmp.servers.count, http = s->http.servers.count;

    if (i < rtmp) {
        return rtmp_server(s, i, out);
    }
    if (i < rtmp + http) {
        return http_server(s, i - rtmp, out);
    }
    return module_server(s, i - rtmp - http, out);
}

/* "default" is for servers that can be told apart by name. */
static int
check_default(const struct server_settings *of, struct errmsg *err)
{
    for (size_t i = 0; i < of->listen->count; i++) {
        const struct listen_settings *l = settings_listen(of->listen, i);

        if (of->kind != SERVER_HTTP && l->is_default) {
            return errmsg_set(err, "listen \"%.*s\": default is for http",
                              STR_ARGS(l->address));
        }
    }
    return 0;
}

/* HTTP servers share addresses, as settings_check_names() allows. */
static int
check_apart(const struct server_settings *before,
            const struct server_settings *of, struct errmsg *err)
{
    bool may_share = before->kind == SERVER_HTTP && of->kind == SERVER_HTTP;

    return settings_check_apart(before->listen, before->where->line, of->listen,
                                may_share, err);
}

static void
note(const struct server_settings *of, const struct errmsg *err, FILE *out)
{
    fprintf(out, "%s:%d: %s: %s\n", of->where->file, of->where->line, of->key,
            err->text);
}

void
settings_check_servers(const struct settings *s, FILE *out)
{
    struct server_settings one, before;
    struct errmsg err;

    for (size_t i = 0; settings_server(s, i, &one); i++) {
        if (settings_check_listens(one.listen, &err) == -1 ||
            check_default(&one, &err) == -1 ||
            settings_check_proxies(one.listen, one.trusted_proxies, &err) ==
                -1) {
            note(&one, &err, out);
        }
        for (size_t k = 0; k < i && settings_server(s, k, &before); k++) {
            if (check_apart(&before, &one, &err) == -1) {
                note(&one, &err, out);
            }
        }
    }
}
