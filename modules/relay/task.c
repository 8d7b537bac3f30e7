/*
 * A task of the relayer: when it connects, and what becomes of failures.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "relayer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "app/metrics/metrics.h"
#include "backoff.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "mark.h"
#include "relay.h"

/* How often the local side is looked at. */
#define WAIT_MS 150
#define OTHER_MS 1000        /* a pull that another node runs */
#define STASH_MAX (4u << 20) /* bytes */

/* ---- what is seen ---- */

void
task_show(struct relay_task *t)
{
    share_say(t);
    if (t->row != NULL) {
        relay_row_set(t->row, &t->view);
    }
}

static void
count_state(const struct relay_task *t, int64_t n)
{
    const struct metric *m = &relay_metrics[RELAY_TASKS];

    metric_add(m, metric_at(m, t->kind, t->view.state, 0), n);
}

/* It stops running: what failed before does not count after a good while. */
static void
forgive(struct relay_task *t)
{
    if (t->running_ms > 0 &&
        loop_now(t->relayer->loop) - t->running_ms >= BACKOFF_STABLE_MS) {
        t->failures = 0;
    }
}

static bool
is_passing(enum relay_state state)
{
    return state == RELAY_CONNECTING || state == RELAY_STARTING ||
           state == RELAY_ELSEWHERE;
}

void
task_set(struct relay_task *t, enum relay_state state, const char *reason)
{
    bool same = t->view.state == state && strcmp(t->view.reason, reason) == 0;

    if (same) {
        return;
    }
    if (t->view.state != state) {
        count_state(t, -1);
        t->view.state = (uint8_t)state;
        t->view.since_ms = clock_wall_ms();
        count_state(t, 1);
    }
    str_copy(t->view.reason, sizeof(t->view.reason), str_from(reason));
    forgive(t);
    t->running_ms = state == RELAY_RUNNING ? loop_now(t->relayer->loop) : 0;
    t->view.refused = t->view.refused && state != RELAY_RUNNING;
    log_limited(is_passing(state) ? LOG_INFO : LOG_NOTICE,
                "relay %s %.*s: %s%s%s%.*s", relay_kind_name(t->kind),
                STR_ARGS(t->stream), relay_state_name(state),
                reason[0] != '\0' ? ": " : "", reason, STR_ARGS(t->which));
    task_show(t);
}

/* ---- life ---- */

const struct plan_app *
task_app(const struct relay_task *t)
{
    return plan_app(&t->relayer->plan, t->app);
}

static void
on_timer(struct timer *timer)
{
    task_look(LIST_ITEM(timer, struct relay_task, timer));
}

static void
on_destroy(struct later *later)
{
    struct relay_task *t = LIST_ITEM(later, struct relay_task, destroy);

    buf_clear(&t->stash);
    pool_free(&t->pool);
    mem_free(&t);
}

/* The stream's name where it goes to or comes from. */
static int
read_url(struct relay_task *t, struct errmsg *err)
{
    struct url *u = &t->parsed;
    struct str path;

    if (url_parse(t->pool, t->url, u, err) == -1) {
        return -1;
    }
    if (u->scheme != URL_RTMP && u->scheme != URL_RTMPS) {
        return errmsg_set(err, "the URL is not of rtmp:// or rtmps://");
    }
    path = pool_printf(t->pool, "%.*s%s%.*s", STR_ARGS(u->path),
                       u->has_query ? "?" : "", STR_ARGS(u->query));
    if (rtmp_target_split(&t->to, path, err) == -1) {
        return -1;
    }
    if (t->to.name.len == 0) {
        t->to.name = t->name;
    }
    return 0;
}

/* A stream is pulled from one place, and pushed to several. */
static void
make_remote(struct relay_task *t)
{
    char text[URL_MASKED_MAX];

    if (t->kind == RELAY_PULL) {
        url_masked(text, sizeof(text), &t->parsed, URL_HIDE_SECRETS);
        t->remote = pool_str(t->pool, str_from(text));
        return;
    }
    t->remote = pool_str(
        t->pool, str_from(relay_target_shown(text, t->url, &t->parsed)));
    t->which = pool_printf(t->pool, " (to %.*s)", STR_ARGS(t->remote));
}

static void
make_texts(struct relay_task *t, const struct task_wish *w)
{
    char mark[RELAY_MARK];
    struct errmsg err;

    t->app = pool_str(t->pool, w->app);
    t->name = pool_str(t->pool, w->name);
    t->url = pool_str(t->pool, w->url);
    t->stream =
        pool_printf(t->pool, "%.*s/%.*s", STR_ARGS(t->app), STR_ARGS(t->name));
    t->here = pool_str(t->pool, relay_mark(t->stream, mark));
    t->remote = t->which = STR_NONE;
    if (read_url(t, &err) == 0) {
        make_remote(t);
    }
    relay_target_read(t->pool, t->url, t->name, &t->target, &err);
}

static void
make_view(struct relay_task *t)
{
    struct relay_view *v = &t->view;

    v->id = t->id;
    v->url_hash = hash_str(t->url);
    v->kind = (uint8_t)t->kind;
    v->origin = (uint8_t)t->origin;
    v->of_all = t->of_all;
    v->state = RELAY_STARTING;
    v->since_ms = clock_wall_ms();
    str_copy(v->app, sizeof(v->app), t->app);
    str_copy(v->name, sizeof(v->name), t->name);
    str_copy(v->url, sizeof(v->url), t->remote);
    str_copy(v->node, sizeof(v->node),
             str_from(share_is_ours(t) ? t->relayer->node : ""));
    t->row = relay_row_take(v);
}

struct relay_task *
task_new(struct relayer *r, const struct task_wish *w)
{
    struct relay_task *t = mem_zero(sizeof(*t));

    t->relayer = r;
    t->pool = pool_new(1024);
    t->id = w->id;
    t->kind = w->kind;
    t->origin = w->origin;
    t->of_all = w->of_all;
    t->seen = true;
    timer_init(&t->timer, on_timer);
    later_init(&t->destroy, on_destroy);
    buf_init(&t->stash, STASH_MAX);
    make_texts(t, w);
    share_begin(t);
    make_view(t);
    count_state(t, 1);
    list_append(&t->relayer->tasks, &t->link);
    t->relayer->count++;
    log_info("relay %s %.*s: wanted, %s %.*s", relay_kind_name(t->kind),
             STR_ARGS(t->stream), t->kind == RELAY_PULL ? "from" : "to",
             STR_ARGS(t->remote));
    timer_set(t->relayer->loop, &t->timer, 0);
    ring_begin(t);
    return t;
}

void
task_end(struct relay_task *t)
{
    task_leave(t, "the relay was stopped", false);
    share_end(t);
    count_state(t, -1);
    relay_row_free(&t->row);
    list_remove(&t->link);
    t->relayer->count--;
    ring_end(t);
    t->relayer->with_room -= t->has_room;
    log_info("relay %s %.*s: ended%.*s", relay_kind_name(t->kind),
             STR_ARGS(t->stream), STR_ARGS(t->which));
    loop_later(t->relayer->loop, &t->destroy);
}

void
task_set_of_all(struct relay_task *t, bool of_all)
{
    if (t->of_all != of_all) {
        t->view.of_all = t->of_all = of_all;
        task_show(t);
    }
}

/* It is this node's now. */
void
task_adopt(struct relay_task *t, bool of_all)
{
    bool waits =
        t->view.state == RELAY_STARTING || t->view.state == RELAY_ELSEWHERE;

    share_end(t);
    if (t->view.state == RELAY_ELSEWHERE) { /* what failed there */
        t->view.refused = false;
        t->view.last_failure[0] = '\0';
    }
    memset(&t->other, 0, sizeof(t->other));
    t->view.id = t->id = 0;
    t->origin = RELAY_CONFIG;
    t->view.origin = RELAY_CONFIG;
    t->view.of_all = t->of_all = of_all;
    t->seen = true;
    log_info("relay %s %.*s: is of the configuration now%.*s",
             relay_kind_name(t->kind), STR_ARGS(t->stream), STR_ARGS(t->which));
    task_show(t);
    if (waits) {
        timer_set(t->relayer->loop, &t->timer, 0);
    }
}

void
task_leave(struct relay_task *t, const char *reason, bool hard)
{
    struct rtmp_client *c = t->client;

    timer_stop(t->relayer->loop, &t->timer);
    outgoing_cancel(&t->dial);
    pull_leave(t);
    t->client = NULL; /* its on_close is not news */
    t->ready = false;
    if (c != NULL && hard) {
        conn_close(rtmp_client_conn(c), reason);
    } else if (c != NULL) {
        rtmp_client_close(c, reason); /* stops the player in on_close */
    }
    push_leave(t);
}

void
task_failed(struct relay_task *t, enum relay_failure why, const char *reason)
{
    const struct metric *m = &relay_metrics[RELAY_FAILED];
    int64_t delay;

    forgive(t);
    t->running_ms = 0;
    t->failures++;
    t->view.failures++;
    t->view.failed_ms = clock_wall_ms();
    str_copy(t->view.last_failure, sizeof(t->view.last_failure),
             str_from(reason));
    t->view.refused = why == RELAY_FAILED_EGRESS;
    metric_add(m, metric_at(m, t->kind, why, 0), 1);
    rtmp_login_clear(&t->login);
    task_leave(t, reason, false);
    task_set(t, RELAY_BACKING_OFF, reason);
    task_show(t);
    delay = backoff_delay(t->failures, (uint32_t)rand_below(UINT32_MAX));
    log_limited(LOG_INFO, "relay %s %.*s: again in %lld ms%.*s",
                relay_kind_name(t->kind), STR_ARGS(t->stream), (long long)delay,
                STR_ARGS(t->which));
    timer_set(t->relayer->loop, &t->timer, delay);
}

void
task_wait(struct relay_task *t, const char *reason)
{
    task_set(t, t->kind == RELAY_PULL ? RELAY_LOCAL : RELAY_WAITING, reason);
    timer_set(t->relayer->loop, &t->timer, WAIT_MS);
}

/* ---- connecting ---- */

/* Notices a host that is gone while nothing is asked of it: a remote that is
 * pushed to need not say a word. */
static void
watch_host(int fd, int64_t ms)
{
    int on = 1;
    int idle = ms > 2000 ? (int)(ms / 2000) : 1;
    int every = idle > 3 ? idle / 3 : 1;
    int tries = 3;
    unsigned timeout = (unsigned)ms;

    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof(every));
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &tries, sizeof(tries));
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout, sizeof(timeout));
}

/* Bytes of its connection count for its application, as those of sessions
 * do. */
static void
count_bytes(const struct relay_task *t)
{
    const struct metric *m = &app_metrics[APP_RTMP_BYTES];
    struct conn *conn = rtmp_client_conn(t->client);
    struct str name = t->stream;
    unsigned app = metric_name_find(METRIC_APPS, str_cut(&name, '/'));

    conn->meter_in = m->first + metric_at(m, METRIC_IN, app, 0);
    conn->meter_out = m->first + metric_at(m, METRIC_OUT, app, 0);
}

static void
begin_client(struct relay_task *t, const struct conn_socket *socket)
{
    char authority[512];
    const struct url *u = &t->parsed;
    struct rtmp_wanted wanted = {
        .settings = &t->relayer->clients[t->kind],
        .publish = t->kind == RELAY_PUSH,
        .app = t->to.app,
        .name = t->to.name,
        .args = t->to.args,
        .user = u->user,
        .password = u->password,
        .login = &t->login,
        .node = t->here,
    };
    struct errmsg err;
    struct pool *pool = pool_new(512);

    watch_host(socket->fd, t->relayer->plan.idle_timeout);
    wanted.origin = pool_printf(pool, "%s://%s", url_scheme_name(u->scheme),
                                url_authority(authority, sizeof(authority), u));
    t->client =
        rtmp_client_new(t->relayer->loop, &wanted,
                        t->kind == RELAY_PULL ? &pull_handlers : &push_handlers,
                        t, socket, &err);
    pool_free(&pool);
    if (t->client == NULL) {
        task_failed(t, RELAY_FAILED_HERE, err.text);
    } else {
        count_bytes(t);
    }
}

static void
on_dialled(void *arg, const struct conn_socket *socket,
           const struct outgoing_failure *failure)
{
    static const enum relay_failure causes[OUTGOING_CAUSES] = {
        [OUTGOING_NAME] = RELAY_FAILED_NAME,
        [OUTGOING_EGRESS] = RELAY_FAILED_EGRESS,
        [OUTGOING_CONNECT] = RELAY_FAILED_CONNECT,
        [OUTGOING_TLS] = RELAY_FAILED_TLS,
        [OUTGOING_TIMED_OUT] = RELAY_FAILED_TIMEOUT,
    };
    struct relay_task *t = arg;

    t->dial = NULL;
    if (socket == NULL) {
        task_failed(t, causes[failure->cause], failure->why.text);
        return;
    }
    if (!ring_connects(t, socket)) {
        begin_client(t, socket);
    }
}

static void
dial(struct relay_task *t)
{
    struct outgoing_target to = {
        .host = t->parsed.host,
        .port = t->parsed.port,
        .resolver = t->relayer->resolver,
        .egress = t->relayer->plan.egress,
        .tls = t->parsed.tls ? t->relayer->tls : NULL,
        .timeout_ms = t->relayer->plan.connect_timeout,
    };
    const struct metric *m = &relay_metrics[RELAY_ATTEMPTS];

    if (t->parsed.tls && t->relayer->tls == NULL) {
        task_failed(t, RELAY_FAILED_TLS, t->relayer->no_tls.text);
        return;
    }
    metric_add(m, metric_at(m, t->kind, 0, 0), 1);
    t->view.attempts++;
    task_show(t);
    t->dial = outgoing_start(t->relayer->loop, &to, on_dialled, t);
    if (t->dial == NULL) {
        task_failed(t, RELAY_FAILED_HERE, "there is no room to connect");
    }
}

void
task_rules_changed(struct relay_task *t)
{
    ring_plan(t);
    if (t->dial != NULL) {
        outgoing_cancel(&t->dial);
        timer_set(t->relayer->loop, &t->timer, 0);
    } else if (t->view.state == RELAY_BACKING_OFF && t->view.refused) {
        timer_set(t->relayer->loop, &t->timer, 0);
    }
}

/* It is not for this node, as far as this node can see. */
static void
pass_on(struct relay_task *t, enum relay_state state)
{
    if (!share_show_other(t)) {
        task_set(t, state, "");
    }
    timer_set(t->relayer->loop, &t->timer,
              t->kind == RELAY_PUSH ? WAIT_MS : OTHER_MS);
}

static void
give_up(struct relay_task *t, const char *reason)
{
    share_drop(t);
    if (t->other.node[0] != '\0') {
        pass_on(t, RELAY_STARTING);
    } else {
        task_failed(t, RELAY_FAILED_HERE, reason);
    }
}

/* Another node may have more. */
static void
wait_for_room(struct relay_task *t)
{
    struct errmsg why;

    errmsg_set(&why, "no room: relays.max is %lld",
               (long long)t->relayer->plan.max);
    if (!share_show_other(t)) {
        task_set(t, RELAY_NOT_STARTED, why.text);
    }
}

void
task_look(struct relay_task *t)
{
    bool live = live_is_live(t->stream);
    struct errmsg why;

    if (t->relayer->draining) {
        share_drop(t);
    } else if (!t->has_room) {
        wait_for_room(t);
    } else if (task_app(t) == NULL) {
        give_up(t, "the configuration has no such application");
    } else if (t->remote.len == 0) {
        give_up(t, "its URL is not one of RTMP");
    } else if (ring_holds(t, &why)) {
        give_up(t, why.text);
    } else if (t->kind == RELAY_PUSH && !live) {
        share_drop(t);
        pass_on(t, RELAY_WAITING);
    } else if (!share_take(t)) {
        pass_on(t, RELAY_STARTING);
    } else if (t->kind == RELAY_PULL && live) {
        task_wait(t, "");
    } else {
        /* The last failure is of interest until it runs again. */
        task_set(t, RELAY_CONNECTING, t->failures > 0 ? t->view.reason : "");
        dial(t);
    }
}

void
task_client_closed(struct relay_task *t, enum rtmp_client_fate fate,
                   const char *reason)
{
    static const enum relay_failure causes[RTMP_CLIENT_FATES] = {
        [RTMP_CLIENT_AGAIN] = RELAY_FAILED_LOGIN,
        [RTMP_CLIENT_OWNER] = RELAY_FAILED_HERE,
        [RTMP_CLIENT_LOST] = RELAY_FAILED_LOST,
        [RTMP_CLIENT_SILENT] = RELAY_FAILED_SILENT,
        [RTMP_CLIENT_STUCK] = RELAY_FAILED_STUCK,
        [RTMP_CLIENT_PROTOCOL] = RELAY_FAILED_PROTOCOL,
        [RTMP_CLIENT_LOGIN] = RELAY_FAILED_LOGIN,
        [RTMP_CLIENT_REFUSED] = RELAY_FAILED_REFUSED,
        [RTMP_CLIENT_ENDED] = RELAY_FAILED_ENDED,
    };

    t->client = NULL;
    t->ready = false;
    if (fate == RTMP_CLIENT_AGAIN && !t->relayer->draining) {
        dial(t);
        return;
    }
    task_failed(t, causes[fate], reason);
}

void
task_tick(struct relay_task *t)
{
    if (t->client == NULL || !t->ready) {
        return;
    }
    if (t->kind == RELAY_PULL && pull_tick(t)) {
        return;
    }
    if (t->kind == RELAY_PUSH) {
        push_tick(t);
    }
    task_show(t);
}
