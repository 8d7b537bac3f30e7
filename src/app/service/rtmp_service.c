/*
 * RTMP sessions joined to live streams.
 *
 * Each NetStream that publishes or plays has one struct stream_session: made
 * when the session asks whether it may, freed when the NetStream ends.  The
 * order of a decision is begin() -> after_hook() -> decide_policy() ->
 * rtmp_live_publish() or rtmp_live_play(); a hook that waits comes back through
 * rtmp_service_decide(), a name that has to be taken from another process
 * through on_publish_start().
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/service/rtmp_service.h"

#include <stdio.h>

#include "app/metrics/metrics.h"
#include "app/service/rtmp_live.h"
#include "app/worker.h"
#include "base/log.h"
#include "live/metrics.h"
#include "rtmp/log.h"
#include "rtmp/name.h"

struct server {
    struct rtmp_settings session;
    struct rtmp_application *applications;
    size_t application_count;
    struct rtmp_log log;
};

static struct {
    struct worker *worker;
    struct server *servers;
    size_t server_count;
} service;

static const struct server *
server_of(const struct rtmp_request *r)
{
    return rtmp_session_arg(r->session);
}

static const struct rtmp_application *
find_application(const struct server *s, struct str name)
{
    for (size_t i = 0; i < s->application_count; i++) {
        if (str_eq(s->applications[i].settings->name, name)) {
            return &s->applications[i];
        }
    }
    return NULL;
}

const struct rtmp_application *
rtmp_service_application(struct str name)
{
    for (size_t i = 0; i < service.server_count; i++) {
        const struct rtmp_application *a =
            find_application(&service.servers[i], name);

        if (a != NULL) {
            return a;
        }
    }
    return NULL;
}

static enum rtmp_result
refuse(struct rtmp_refusal *no, enum rtmp_refused why, const char *code,
       const char *reason)
{
    no->why = why;
    no->code = code;
    errmsg_set(&no->reason, "%s", reason);
    return RTMP_REFUSE;
}

static enum rtmp_result
on_connect(struct rtmp_request *r, struct rtmp_refusal *no)
{
    const struct rtmp_application *a = find_application(server_of(r), r->app);
    const struct metric *m = &app_metrics[APP_RTMP_BYTES];
    struct conn *conn = rtmp_session_conn(r->session);

    if (a == NULL) {
        no->why = RTMP_REFUSED_APP;
        no->code = "NetConnection.Connect.InvalidApp";
        errmsg_set(&no->reason, "there is no application \"%.*s\" here",
                   STR_ARGS(r->app));
        return RTMP_REFUSE;
    }
    conn->meter_in = m->first + metric_at(m, METRIC_IN, a->place, 0);
    conn->meter_out = m->first + metric_at(m, METRIC_OUT, a->place, 0);
    return RTMP_DONE;
}

const struct rtmp_application *
rtmp_service_application_of(const struct rtmp_request *r)
{
    const struct stream_session *n = r->context;

    return n->application;
}

int
rtmp_service_rename(struct rtmp_request *r, struct str name)
{
    struct stream_session *n = r->context;

    if (rtmp_live_name(n, name) != 0) {
        return -1;
    }
    n->renamed = true;
    return 0;
}

/* ---- deciding ---- */

static bool
looks_secret(const struct rtmp_application *a, struct str name)
{
    for (size_t i = 0; modules[i] != NULL; i++) {
        const struct rtmp_hooks *hooks = modules[i]->rtmp;

        if (hooks != NULL && hooks->is_secret != NULL &&
            hooks->is_secret(a, name)) {
            return true;
        }
    }
    return false;
}

bool
rtmp_service_is_secret(const struct rtmp_application *a, struct str name)
{
    char whole[LIVE_NAME_MAX];
    int len = snprintf(whole, sizeof(whole), "%.*s/%.*s",
                       STR_ARGS(a->settings->name), STR_ARGS(name));

    /* The name of a published stream is no secret: it is in the lists of
     * streams already. */
    return looks_secret(a, name) && (len < 0 || (size_t)len >= sizeof(whole) ||
                                     !live_is_live(str_of(whole, (size_t)len)));
}

static bool
is_accepted(const struct stream_session *n, struct rtmp_refusal *no)
{
    for (size_t i = 0; modules[i] != NULL; i++) {
        const struct rtmp_hooks *hooks = modules[i]->rtmp;

        if (hooks != NULL && hooks->accepts != NULL &&
            !hooks->accepts(n->request, str_of(n->name, n->name_len), no)) {
            return false;
        }
    }
    return true;
}

static enum rtmp_result
decide_policy(struct stream_session *n, bool hooked, struct rtmp_refusal *no)
{
    no->code =
        n->publishing ? "NetStream.Publish.BadName" : "NetStream.Play.Failed";
    if (!is_accepted(n, no)) {
        return RTMP_REFUSE;
    }
    if (!n->publishing) {
        return rtmp_live_play(n, no);
    }
    if (!hooked && !settings_is_open(n->application->settings)) {
        return refuse(no, RTMP_REFUSED_ACCESS, no->code,
                      "nobody may publish to this application");
    }
    return rtmp_live_publish(n, no);
}

static enum rtmp_hook_result
ask_hook(const struct rtmp_hooks *hooks, struct stream_session *n,
         struct rtmp_refusal *no)
{
    if (hooks == NULL) {
        return HOOK_NEXT;
    }
    if (n->publishing) {
        return hooks->on_publish == NULL ? HOOK_NEXT
                                         : hooks->on_publish(n->request, no);
    }
    return hooks->on_play == NULL ? HOOK_NEXT : hooks->on_play(n->request, no);
}

/* To the hooks that were asked. */
static void
tell_end(const struct stream_session *n)
{
    for (size_t i = 0; i < n->hook; i++) {
        const struct rtmp_hooks *hooks = modules[i]->rtmp;

        if (hooks != NULL && hooks->on_end != NULL) {
            hooks->on_end(n->request);
        }
    }
}

static enum rtmp_result
after_hook(struct stream_session *n, enum rtmp_hook_result result,
           struct rtmp_refusal *no)
{
    while (result == HOOK_NEXT && modules[n->hook] != NULL) {
        result = ask_hook(modules[n->hook++]->rtmp, n, no);
    }
    switch (result) {
    case HOOK_NEXT:
        return decide_policy(n, false, no);
    case HOOK_DONE:
        return decide_policy(n, true, no);
    case HOOK_REFUSE:
        if (no->why == RTMP_REFUSED_OTHER) {
            no->why = RTMP_REFUSED_HOOK;
        }
        return RTMP_REFUSE;
    case HOOK_WAIT:
        return RTMP_WAIT;
    }
    return RTMP_REFUSE;
}

void
rtmp_service_decide(struct rtmp_request *r, enum rtmp_hook_result result,
                    const struct rtmp_refusal *no)
{
    struct rtmp_refusal refusal = { 0 };
    enum rtmp_result answer;

    if (no != NULL) {
        refusal = *no;
    }
    answer = after_hook(r->context, result, &refusal);
    if (answer != RTMP_WAIT) {
        rtmp_session_decide(r, answer, &refusal);
    }
}

static bool
is_allowed(const struct rtmp_application *a, bool publishing,
           const struct rtmp_request *r)
{
    return access_allows(publishing ? a->publish_access : a->play_access,
                         &rtmp_session_conn(r->session)->peer);
}

static bool
is_there(const struct rtmp_application *a, struct str name)
{
    char whole[LIVE_NAME_MAX];
    int len = snprintf(whole, sizeof(whole), "%.*s/%.*s",
                       STR_ARGS(a->settings->name), STR_ARGS(name));

    return len >= 0 && (size_t)len < sizeof(whole) &&
           live_is_there(str_of(whole, (size_t)len));
}

/* The name that a player asks for; where there is no such stream, but one that
 * it may mean, that one's. */
static struct str
name_to_play(const struct rtmp_application *a, const struct rtmp_request *r,
             struct rtmp_meaning *m)
{
    if (is_there(a, r->name)) {
        return r->name;
    }
    for (unsigned i = 0; i < RTMP_NAME_MEANINGS; i++) {
        if (rtmp_name_meaning(m, r->name, i) &&
            is_there(a, str_of(m->text, m->len))) {
            return str_of(m->text, m->len);
        }
    }
    return r->name;
}

/* Whether it may be a key, or what it may mean. */
static bool
is_secret_play(const struct rtmp_application *a, const struct rtmp_request *r)
{
    struct rtmp_meaning m;
    bool secret = rtmp_service_is_secret(a, r->name);

    for (unsigned i = 0; !secret && i < RTMP_NAME_MEANINGS; i++) {
        secret = rtmp_name_meaning(&m, r->name, i) &&
                 rtmp_service_is_secret(a, str_of(m.text, m.len));
    }
    return secret;
}

static enum rtmp_result
begin(struct rtmp_request *r, bool publishing, struct rtmp_refusal *no)
{
    const struct rtmp_application *a = find_application(server_of(r), r->app);
    struct rtmp_meaning meant;
    struct stream_session *n;
    enum rtmp_result result;

    r->secret = a != NULL && (publishing ? !settings_is_open(a->settings)
                                         : is_secret_play(a, r));
    no->code =
        publishing ? "NetStream.Publish.BadName" : "NetStream.Play.Failed";
    if (a == NULL || !is_allowed(a, publishing, r)) {
        return refuse(no, RTMP_REFUSED_ACCESS, no->code,
                      "not allowed from this address");
    }
    if (!publishing && r->secret) {
        return refuse(no, RTMP_REFUSED_KEY, no->code, RTMP_SERVICE_SECRET);
    }
    n = rtmp_live_new(r, a, publishing);
    n->chunk_size = server_of(r)->session.chunk_size;
    n->mask = &server_of(r)->log.mask;
    if (rtmp_live_name(n, publishing ? r->name : name_to_play(a, r, &meant)) !=
        0) {
        result = refuse(no, RTMP_REFUSED_NAME, no->code,
                        "the stream's name is too long");
    } else {
        result = after_hook(n, HOOK_NEXT, no);
    }
    if (result == RTMP_REFUSE) {
        tell_end(n);
        rtmp_live_free(r);
    }
    return result;
}

static enum rtmp_result
on_publish(struct rtmp_request *r, struct rtmp_refusal *no)
{
    return begin(r, true, no);
}

static enum rtmp_result
on_play(struct rtmp_request *r, struct rtmp_refusal *no)
{
    return begin(r, false, no);
}

/* ---- what goes on ---- */

static void
on_media(struct rtmp_request *r, enum media_type type, uint32_t timestamp,
         const uint8_t *payload, size_t len)
{
    struct stream_session *n = r->context;
    struct str content = str_of(payload, len);

    if (n == NULL || n->publisher == NULL) {
        return;
    }
    metric_observe(&live_metrics[LIVE_PUBLISH_GAP], 0,
                   loop_now(n->loop) - n->last_ms);
    n->last_ms = loop_now(n->loop);
    if (type == MEDIA_DATA) {
        content = media_data_content(content);
    }
    live_write(n->publisher, type, timestamp, (const uint8_t *)content.ptr,
               content.len);
}

static void
on_pause(struct rtmp_request *r, bool pause)
{
    struct stream_session *n = r->context;

    if (n != NULL && n->player != NULL) {
        live_player_pause(n->player, pause);
    }
}

static void
on_receive(struct rtmp_request *r, enum media_type type, bool on)
{
    struct stream_session *n = r->context;

    if (n != NULL && n->player != NULL) {
        live_player_receive(n->player, type, on);
    }
}

static void
writable(struct rtmp_request *r, void *arg)
{
    struct stream_session *n = r->context;

    (void)arg;
    if (n != NULL && n->player != NULL) {
        live_player_writable(n->player);
    }
}

static struct live_player *
busy_player(struct rtmp_session *s)
{
    const struct live_player *any = rtmp_live_player(s);

    return any != NULL ? live_player_busy(any) : NULL;
}

/* The player inside a frame first: the others wait for its end. */
static void
on_writable(struct rtmp_session *s)
{
    struct live_player *busy = busy_player(s);

    if (busy != NULL) {
        live_player_writable(busy);
    }
    if (!rtmp_session_conn(s)->closed) {
        rtmp_session_each(s, writable, NULL);
    }
}

/* A line of the access log. */
static void
log_end(const struct rtmp_request *r, const char *reason)
{
    const struct stream_session *n = r->context;
    struct rtmp_log_entry entry = {
        .r = r,
        .since_ms = rtmp_session_conn(r->session)->opened_ms,
        .reason = reason,
    };

    if (n != NULL) {
        entry.in_before = n->in_before;
        entry.out_before = n->out_before;
        entry.since_ms = n->asked_ms;
    }
    if (n != NULL && (n->publisher != NULL || n->renamed || !r->secret)) {
        entry.name = str_skip(str_of(n->name, n->name_len),
                              n->application->settings->name.len + 1);
    }
    rtmp_log_write(&server_of(r)->log, &entry);
}

static void
on_end(struct rtmp_request *r, const char *reason)
{
    struct stream_session *n = r->context;

    log_end(r, reason);
    if (n != NULL) {
        log_limited_if(rtmp_live_debugged(n), LOG_INFO,
                       "stream %.*s: %s left: %s", STR_ARGS(rtmp_live_shown(n)),
                       n->publishing ? "publisher" : "player", reason);
        tell_end(n);
        rtmp_live_free(r);
    }
}

static int
say(struct rtmp_session *s, const void *data, size_t len)
{
    struct live_player *busy = busy_player(s);

    if (busy != NULL) {
        return live_player_say(busy, data, len);
    }
    return conn_write(rtmp_session_conn(s), data, len);
}

static const struct rtmp_handlers handlers = {
    .on_connect = on_connect,
    .on_publish = on_publish,
    .on_play = on_play,
    .on_media = on_media,
    .on_pause = on_pause,
    .on_receive = on_receive,
    .on_writable = on_writable,
    .on_end = on_end,
    .say = say,
};

/* ---- life ---- */

static void
start_application(struct rtmp_application *a,
                  const struct rtmp_application_settings *settings)
{
    const struct settings *all = settings_of(service.worker->generation->conf);
    struct pool *pool = service.worker->pool;

    a->settings = settings;
    a->place = metric_name_find(METRIC_APPS, settings->name);
    a->publish_access = access_parse(pool, settings->publish_access.items,
                                     settings->publish_access.count);
    a->play_access = access_parse(pool, settings->play_access.items,
                                  settings->play_access.count);
    a->gather = settings_gather(all, settings);
    a->hold = settings_hold(all, settings);
    a->cuts = settings_cuts(all, settings);
}

static void
start_log(struct server *s, const struct rtmp_server_settings *settings,
          size_t number)
{
    const struct rtmp_application_settings *a = settings->applications.items;
    struct errmsg err;

    s->log.file =
        generation_access_log(service.worker->generation, SERVER_RTMP, number);
    s->log.mask.names = settings->mask_args.items;
    s->log.mask.count = settings->mask_args.count;
    s->log.open = true;
    for (size_t i = 0; i < settings->applications.count; i++) {
        s->log.open = s->log.open && settings_is_open(&a[i]);
    }
    /* It was compiled once when the settings were checked. */
    s->log.format =
        line_format_compile(service.worker->pool, settings->access_log_format,
                            rtmp_log_variables, rtmp_log_presets, &err);
}

static void
start_server(struct server *s, const struct rtmp_server_settings *settings)
{
    const struct rtmp_application_settings *items =
        settings->applications.items;

    settings_of_rtmp(settings, &s->session);
    s->application_count = settings->applications.count;
    s->applications = pool_zero(
        service.worker->pool, s->application_count * sizeof(*s->applications));
    for (size_t i = 0; i < s->application_count; i++) {
        start_application(&s->applications[i], &items[i]);
    }
}

void
rtmp_service_start(struct worker *w)
{
    const struct settings *settings = settings_of(w->generation->conf);

    service.worker = w;
    service.server_count = settings->rtmp.servers.count;
    service.servers =
        pool_zero(w->pool, service.server_count * sizeof(*service.servers));
    for (size_t i = 0; i < service.server_count; i++) {
        start_server(&service.servers[i],
                     settings_rtmp_server(&settings->rtmp, i));
        start_log(&service.servers[i], settings_rtmp_server(&settings->rtmp, i),
                  i);
    }
}

void
rtmp_service_accept(size_t i, const struct conn_socket *socket)
{
    struct server *s = &service.servers[i];

    rtmp_accept(service.worker->loop, &s->session, &handlers, s, socket);
}

void
rtmp_service_finish(const char *reason)
{
    rtmp_finish_all(reason);
}

void
rtmp_service_stop(void)
{
    rtmp_close_all("weir stops");
}
