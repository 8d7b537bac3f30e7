/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ask.h"

#include "app/settings/relay_target.h"
#include "base/clock.h"
#include "net/url.h"
#include "relay.h"
#include "schema.h"

/* ---- checks ---- */

static const struct rtmp_application_settings *
find_app(const struct settings *s, struct str name)
{
    for (size_t i = 0; i < s->rtmp.servers.count; i++) {
        const struct rtmp_server_settings *r =
            settings_rtmp_server(&s->rtmp, i);
        const struct rtmp_application_settings *a = r->applications.items;

        for (size_t k = 0; k < r->applications.count; k++) {
            if (str_eq(a[k].name, name)) {
                return &a[k];
            }
        }
    }
    return NULL;
}

static int
check_url(const struct settings *s, const struct relay_ask *a,
          struct errmsg *err)
{
    if (settings_check_relay(s, a->app, a->name, a->url, err) == -1) {
        return 400;
    }
    return settings_check_egress(s, a->url, err) == -1 ? 403 : 0;
}

/* weir.conf has a relay of that identity; *url: to or from where. */
static bool
is_configured(const struct rtmp_application_settings *app,
              const struct relay_ask *a, struct str *url)
{
    const struct pull_settings *pull = app->pull.items;
    const struct push_settings *push = app->push.items;

    for (size_t i = 0; a->kind == RELAY_PULL && i < app->pull.count; i++) {
        if (str_eq(pull[i].name, a->name)) {
            *url = pull[i].url;
            return true;
        }
    }
    /* Pushes of the file stand beside those of the API, unless they go to the
     * same place. */
    for (size_t i = 0; a->kind == RELAY_PUSH && i < app->push.count; i++) {
        if ((push[i].name.len == 0 || str_eq(push[i].name, a->name)) &&
            (!a->start || str_eq(push[i].url, a->url))) {
            *url = push[i].url;
            return true;
        }
    }
    return false;
}

bool
relay_ask_is_of_file(const struct settings *s, const struct relay_ask *a)
{
    const struct rtmp_application_settings *app = find_app(s, a->app);
    struct str url;

    return app != NULL && is_configured(app, a, &url);
}

int
relay_ask_refuse(const struct relay_ask *a, struct errmsg *err)
{
    errmsg_set(err, "%s %.*s/%.*s is in the configuration: change it there",
               relay_kind_name(a->kind), STR_ARGS(a->app), STR_ARGS(a->name));
    return 409;
}

/* What was right once can be stopped whatever the configuration says now: it
 * may have lost the application, refuse the address, or have the relay, too. */
static int
check_stop(const struct relay_ask *a, struct errmsg *err)
{
    struct pool *pool = pool_new(1024);
    struct url u;
    int rc = a->url.len > 0 ? url_parse(pool, a->url, &u, err) : 0;

    pool_free(&pool);
    return rc == -1 ? 400 : 0;
}

int
relay_ask_check(const struct settings *s, const struct relay_ask *a,
                struct errmsg *err)
{
    const struct rtmp_application_settings *app = find_app(s, a->app);
    struct str url = STR_NONE;
    int status = 0;

    if (!a->start) {
        return check_stop(a, err);
    }
    if (app == NULL) {
        errmsg_set(err, "there is no application \"%.*s\"", STR_ARGS(a->app));
        return 404;
    }
    if (a->app.len + 1 + a->name.len >= LIVE_NAME_MAX) {
        errmsg_set(err, "app and name are longer than %d bytes together",
                   LIVE_NAME_MAX - 2);
        return 400;
    }
    status = check_url(s, a, err);
    if (status == 0 && is_configured(app, a, &url)) {
        return str_eq(url, a->url) ? 200 : relay_ask_refuse(a, err);
    }
    if (status == 0 && relay_target_check(s, a->kind == RELAY_PULL, a->app,
                                          a->name, a->url, err) == -1) {
        return 409;
    }
    return status;
}

/* Pushes of all streams count by the streams that there are, as they do in
 * the relayer. */
static size_t
count_named(const struct rtmp_application_settings *app)
{
    const struct push_settings *push = app->push.items;
    size_t count = app->pull.count;

    for (size_t i = 0; i < app->push.count; i++) {
        count += push[i].name.len > 0;
    }
    return count;
}

int64_t
relay_ask_room(const struct settings *s)
{
    size_t taken = relay_tasks_of_all();

    for (size_t i = 0; i < s->rtmp.servers.count; i++) {
        const struct rtmp_server_settings *r =
            settings_rtmp_server(&s->rtmp, i);
        const struct rtmp_application_settings *a = r->applications.items;

        for (size_t k = 0; k < r->applications.count; k++) {
            taken += count_named(&a[k]);
        }
    }
    return s->relays.max - (int64_t)taken;
}

/* ---- the store ---- */

static struct store_call *
write_one(enum relay_statement statement, const struct store_value *values,
          size_t count, store_done *done, void *arg)
{
    const struct store_step step = { &relay_statements[statement], values,
                                     count, true };
    const struct store_notice notice = { RELAY_TASKS_TOPIC, STR_NONE };

    return store_write(&step, 1, &notice, done, arg);
}

/* What the URL means; itself, if that cannot be told. */
static struct str
target_of(struct pool *pool, const struct relay_ask *a)
{
    struct relay_target t;
    struct errmsg err;

    return relay_target_read(pool, a->url, a->name, &t, &err) == 0 ? t.text
                                                                   : a->url;
}

static struct store_call *
write_start(const struct relay_ask *a, int64_t room, store_done *done,
            void *arg)
{
    struct pool *pool = pool_new(1024);
    struct store_call *call;
    const struct store_value values[] = {
        store_text(str_from(relay_kind_name(a->kind))),
        store_text(a->app),
        store_text(a->name),
        store_text(a->url),
        store_int(clock_wall_ms()),
        store_int(room),
        store_text(target_of(pool, a)),
    };

    call = write_one(SQL_TASK_START, values, 7, done, arg);
    pool_free(&pool);
    return call;
}

struct store_call *
relay_ask_write(const struct relay_ask *a, int64_t room, store_done *done,
                void *arg)
{
    const struct store_value values[] = {
        store_text(str_from(relay_kind_name(a->kind))),
        store_text(a->app),
        store_text(a->name),
    };

    return a->start ? write_start(a, room, done, arg)
                    : write_one(SQL_TASK_STOP, values, 3, done, arg);
}

struct store_call *
relay_ask_look(const struct relay_ask *a, store_done *done, void *arg)
{
    struct pool *pool = pool_new(1024);
    struct store_call *call;
    const struct store_value values[] = {
        store_text(str_from(relay_kind_name(a->kind))),
        store_text(a->app),
        store_text(a->name),
        store_text(a->url),
        store_text(target_of(pool, a)),
    };

    call = store_read(&relay_statements[SQL_TASK_WHY], values, 5, done, arg);
    pool_free(&pool);
    return call;
}

enum relay_obstacle
relay_ask_obstacle(const struct relay_ask *a, const struct store_result *r)
{
    if (r->answer->rows == 0) {
        return RELAY_NO_ROOM;
    }
    return str_eq(r->answer->cells[0].s, str_from(relay_kind_name(a->kind)))
               ? RELAY_OTHER_URL
               : RELAY_RING;
}
