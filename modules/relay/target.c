/*
 * Comparing remotes: two URLs may mean the same one, or this node.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "target.h"

#include <string.h>

#include "base/hash.h"
#include "net/addr.h"
#include "rtmp/name.h"
#include "rtmp/target.h"
#include "settings.h"

/* ---- one ---- */

static bool
is_localhost(const struct addr *a)
{
    static const uint8_t four[4] = { 127, 0, 0, 1 }, six[16] = { [15] = 1 };

    return a->family == AF_INET ? memcmp(a->ip, four, sizeof(four)) == 0
                                : memcmp(a->ip, six, sizeof(six)) == 0;
}

static struct str
host_of(struct pool *pool, const struct url *u)
{
    char text[ADDR_TEXT];
    struct addr a = { .family = AF_UNSPEC };

    if (addr_parse_ip(u->host, &a) == -1) {
        return pool_str(pool, u->host);
    }
    addr_unmap(&a);
    return is_localhost(&a) ? STR("localhost")
                            : pool_str(pool, str_from(addr_ip_text(&a, text)));
}

static struct str
text_of(struct pool *pool, const struct relay_target *t)
{
    return t->port == 0 ? pool_printf(pool, "%.*s/%.*s", STR_ARGS(t->host),
                                      STR_ARGS(t->stream))
                        : pool_printf(pool, "%.*s:%u/%.*s", STR_ARGS(t->host),
                                      t->port, STR_ARGS(t->stream));
}

const char *
relay_target_shown(char dst[RELAY_SHOWN_MAX], struct str url,
                   const struct url *parsed)
{
    char mark[12];
    int len = snprintf(mark, sizeof(mark), "#%08x", (unsigned)hash_str(url));
    size_t room = RELAY_SHOWN_MAX - (size_t)len;

    url_masked(dst, room, parsed, URL_HIDE_KEY);
    str_append(dst, RELAY_SHOWN_MAX, strlen(dst), str_from(mark));
    return dst;
}

int
relay_target_read(struct pool *pool, struct str url, struct str name,
                  struct relay_target *out, struct errmsg *err)
{
    struct rtmp_name there;
    struct rtmp_target t;
    struct url u;

    *out = (struct relay_target){ .text = STR_NONE };
    if (url_parse(pool, url, &u, err) == -1 ||
        rtmp_target_split(&t,
                          pool_printf(pool, "%.*s%s%.*s", STR_ARGS(u.path),
                                      u.has_query ? "?" : "",
                                      STR_ARGS(u.query)),
                          err) == -1 ||
        rtmp_name_resolve(&there, t.app, STR_NONE,
                          t.name.len > 0 ? t.name : name, true, err) == -1) {
        return -1;
    }
    out->host = host_of(pool, &u);
    out->port = u.port == url_default_port(u.scheme) ? 0 : u.port;
    out->stream = pool_printf(pool, "%.*s/%.*s", STR_ARGS(there.app),
                              STR_ARGS(there.name));
    out->text = text_of(pool, out);
    return 0;
}

/* ---- one and those of the file ---- */

struct search { /* of what stands against a relay */
    bool pull;  /* that is what it is */
    struct str app, name;
    struct pool *pool; /* owned */
    struct relay_target target;
    const struct conf_where *found;
};

static bool
meets(struct search *q, struct str name, struct str url)
{
    struct relay_target t;
    struct errmsg err;

    return (name.len == 0 || str_eq(name, q->name)) &&
           relay_target_read(q->pool, url, q->name, &t, &err) == 0 &&
           str_eq(t.text, q->target.text);
}

static void
search_application(struct search *q, const struct relay_application *a)
{
    const struct push_settings *push = a->push.items;
    const struct pull_settings *pull = a->pull.items;

    for (size_t i = 0; q->pull && i < a->push.count; i++) {
        if (meets(q, push[i].name, push[i].url)) {
            q->found = &push[i].where;
            return;
        }
    }
    for (size_t i = 0; !q->pull && i < a->pull.count; i++) {
        if (meets(q, pull[i].name, pull[i].url)) {
            q->found = &pull[i].where;
            return;
        }
    }
}

static void
search_server(struct search *q, const struct rtmp_server_settings *r)
{
    const struct rtmp_application_settings *a = r->applications.items;

    for (size_t k = 0; k < r->applications.count; k++) {
        if (q->found == NULL && str_eq(a[k].name, q->app)) {
            search_application(q, relay_application_of(&a[k]));
        }
    }
}

/* Servers of one weir share the streams of applications that they both have. */
static const struct conf_where *
search(const struct settings *s, struct search *q, struct str url)
{
    struct errmsg err;

    q->pool = pool_new(1024);
    if (relay_target_read(q->pool, url, q->name, &q->target, &err) == 0) {
        for (size_t i = 0; i < s->rtmp.servers.count; i++) {
            search_server(q, settings_rtmp_server(&s->rtmp, i));
        }
    }
    pool_free(&q->pool);
    return q->found;
}

int
relay_target_check(const struct settings *s, bool pull, struct str app,
                   struct str name, struct str url, struct errmsg *err)
{
    struct search q = { .pull = pull, .app = app, .name = name };
    const struct conf_where *found = search(s, &q, url);

    return found == NULL
               ? 0
               : errmsg_set(err,
                            "%.*s/%.*s has a %s with this url in weir.conf "
                            "(line %d): the stream would feed itself",
                            STR_ARGS(app), STR_ARGS(name),
                            pull ? "push" : "pull", found->line);
}

/* ---- the file ---- */

static void
check_application(const struct settings *s,
                  const struct rtmp_application_settings *a, FILE *out)
{
    const struct relay_application *r = relay_application_of(a);
    const struct pull_settings *pull = r->pull.items;

    for (size_t i = 0; i < r->pull.count; i++) {
        struct search q = { .pull = true,
                            .app = a->name,
                            .name = pull[i].name };
        const struct conf_where *found = search(s, &q, pull[i].url);

        if (found != NULL) {
            fprintf(out,
                    "%s:%d: pull: url is where the stream is pushed to in line "
                    "%d: it would feed itself\n",
                    pull[i].where.file, pull[i].where.line, found->line);
        }
    }
}

void
relay_target_check_file(const struct settings *s, FILE *out)
{
    for (size_t i = 0; i < s->rtmp.servers.count; i++) {
        const struct rtmp_server_settings *r =
            settings_rtmp_server(&s->rtmp, i);
        const struct rtmp_application_settings *a = r->applications.items;

        for (size_t k = 0; k < r->applications.count; k++) {
            check_application(s, &a[k], out);
        }
    }
}
