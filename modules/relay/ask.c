/*
 * Checking a start or stop of a relay, writing it, saying what is in its way.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ask.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "net/url.h"
#include "push_names.h"
#include "relay.h"
#include "schema.h"
#include "settings.h"
#include "target.h"

/* Behind a list of URLs: " and N more". */
#define MORE_ROOM 32

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
    if (relay_check_url(s, a->app, a->name, a->url, err) == -1) {
        return 400;
    }
    return relay_check_egress(s, a->url, err) == -1 ? 403 : 0;
}

/* A stream has one pull, wherever it comes from; pushes are identified by
 * URL. */
static bool
concerns(const struct relay_ask *a, struct str url)
{
    return a->kind == RELAY_PULL || a->url.len == 0 || str_eq(url, a->url);
}

static bool
takes(const struct push_settings *push, struct str name)
{
    struct pool *pool = pool_new(1024);
    struct push_names names;
    struct errmsg err;
    bool has = push_names_read(pool, push->name, &names, &err) == 0 &&
               push_names_have(&names, name);

    pool_free(&pool);
    return has;
}

/* weir.conf has a relay of that identity; *url: to or from where. */
static bool
is_configured(const struct rtmp_application_settings *settings,
              const struct relay_ask *a, struct str *url)
{
    const struct relay_application *app = relay_application_of(settings);
    const struct pull_settings *pull = app->pull.items;
    const struct push_settings *push = app->push.items;

    for (size_t i = 0; a->kind == RELAY_PULL && i < app->pull.count; i++) {
        if (str_eq(pull[i].name, a->name) && concerns(a, pull[i].url)) {
            *url = pull[i].url;
            return true;
        }
    }
    for (size_t i = 0; a->kind == RELAY_PUSH && i < app->push.count; i++) {
        if (concerns(a, push[i].url) && takes(&push[i], a->name)) {
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

#define IN_FILE "%s %.*s/%.*s is in the configuration: change it there"
#define ASKED(a) \
    relay_kind_name((a)->kind), STR_ARGS((a)->app), STR_ARGS((a)->name)

/* A relay that was right once can be stopped under any configuration, even one
 * that has lost the application, refuses the address, or has the relay, too. */
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
        errmsg_set(err, IN_FILE, ASKED(a));
        return str_eq(url, a->url) ? 200 : 409;
    }
    if (status == 0 && relay_target_check(s, a->kind == RELAY_PULL, a->app,
                                          a->name, a->url, err) == -1) {
        return 409;
    }
    return status;
}

/* Pushes of several streams count by the streams that there are, as they do in
 * the relayer. */
static size_t
count_named(const struct relay_application *app)
{
    const struct push_settings *push = app->push.items;
    size_t count = app->pull.count;

    for (size_t i = 0; i < app->push.count; i++) {
        count += !push_names_many(push[i].name);
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
            taken += count_named(relay_application_of(&a[k]));
        }
    }
    return relays_of(s)->max - (int64_t)taken;
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

/* The target of the URL; the URL itself, if it cannot be read. */
static struct str
target_of(struct pool *pool, const struct relay_ask *a)
{
    struct relay_target t;
    struct errmsg err;

    return relay_target_read(pool, a->url, a->name, &t, &err) == 0 ? t.text
                                                                   : a->url;
}

/* Kind, app, name and place: no two are the same. */
enum { ASK_IDENTITY = 4 };

static void
put_identity(const struct relay_ask *a, struct store_value values[ASK_IDENTITY])
{
    values[0] = store_text(str_from(relay_kind_name(a->kind)));
    values[1] = store_text(a->app);
    values[2] = store_text(a->name);
    values[3] = store_text(a->kind == RELAY_PUSH ? a->url : STR_NONE);
}

static struct store_call *
write_start(const struct relay_ask *a, int64_t room, store_done *done,
            void *arg)
{
    struct store_value values[ASK_IDENTITY + 4];
    struct pool *pool = pool_new(1024);
    struct store_call *call;

    put_identity(a, values);
    values[4] = store_text(a->url);
    values[5] = store_text(target_of(pool, a));
    values[6] = store_int(clock_wall_ms());
    values[7] = store_int(room);
    call = write_one(SQL_TASK_START, values, 8, done, arg);
    pool_free(&pool);
    return call;
}

struct store_call *
relay_ask_write(const struct relay_ask *a, int64_t room, store_done *done,
                void *arg)
{
    struct store_value values[ASK_IDENTITY];

    if (a->start) {
        return write_start(a, room, done, arg);
    }
    put_identity(a, values);
    return a->kind == RELAY_PUSH && a->url.len == 0
               ? write_one(SQL_TASK_STOP_ONLY, values, 3, done, arg)
               : write_one(SQL_TASK_STOP, values, 4, done, arg);
}

struct store_call *
relay_ask_look(const struct relay_ask *a, store_done *done, void *arg)
{
    struct store_value values[ASK_IDENTITY + 2];
    struct store_call *call;
    struct pool *pool;

    put_identity(a, values);
    if (!a->start) {
        return store_read(&relay_statements[SQL_TASK_URLS], values, 3, done,
                          arg);
    }
    pool = pool_new(1024);
    values[4] = store_text(a->url);
    values[5] = store_text(target_of(pool, a));
    call = store_read(&relay_statements[SQL_TASK_WHY], values, 6, done, arg);
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

/* ---- a stop of what is not there ---- */

/* Adds it without its secrets; false: there is no room. */
static bool
add_url(char *words, size_t *len, struct str text)
{
    char masked[RELAY_SHOWN_MAX];
    struct pool *pool = pool_new(1024);
    struct errmsg err;
    struct url u;
    bool fits;

    masked[0] = '?';
    masked[1] = '\0';
    if (url_parse(pool, text, &u, &err) == 0) {
        relay_target_shown(masked, text, &u);
    }
    pool_free(&pool);
    fits = *len + 1 + strlen(masked) < RELAY_WORDS_MAX - MORE_ROOM;
    if (fits) {
        *len += (size_t)snprintf(words + *len, RELAY_WORDS_MAX - *len, " %s",
                                 masked);
    }
    return fits;
}

static void
list_urls(char *words, size_t len, const struct store_rows *found)
{
    for (size_t i = 0; i < found->rows; i++) {
        if (!add_url(words, &len, found->cells[i].s)) {
            snprintf(words + len, RELAY_WORDS_MAX - len, " and %zu more",
                     found->rows - i);
            return;
        }
    }
}

int
relay_ask_missing(const struct relay_ask *a, bool of_file,
                  const struct store_result *r, char words[RELAY_WORDS_MAX])
{
    size_t there = r->answer->rows;
    int n;

    if (a->kind == RELAY_PUSH && a->url.len == 0 && there > 0) {
        n = snprintf(
            words, RELAY_WORDS_MAX,
            "%.*s/%.*s has several %ses, say by url which:", STR_ARGS(a->app),
            STR_ARGS(a->name), relay_kind_name(a->kind));
        list_urls(words, (size_t)n, r->answer);
        return 400;
    }
    if (of_file) {
        snprintf(words, RELAY_WORDS_MAX, IN_FILE, ASKED(a));
        return 409;
    }
    snprintf(words, RELAY_WORDS_MAX, "there is no %s of %.*s/%.*s%s", ASKED(a),
             there > 0 ? " with that url" : "");
    return 404;
}
