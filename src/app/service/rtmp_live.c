/*
 * A NetStream joined to a live stream: as its publisher, or as a player.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/service/rtmp_live.h"

#include <stdio.h>

#include "app/metrics/metrics.h"
#include "app/service/rtmp_url.h"
#include "app/worker.h"
#include "base/log.h"
#include "base/mem.h"

int
rtmp_live_name(struct stream_session *n, struct str name)
{
    struct str app = n->application->settings->name;
    int len = snprintf(n->name, sizeof(n->name), "%.*s/%.*s", STR_ARGS(app),
                       STR_ARGS(name));

    if (len < 0 || (size_t)len >= sizeof(n->name)) {
        return -1;
    }
    n->name_len = (uint16_t)len;
    n->debug = (struct debug_mark){ 0 };
    return 0;
}

bool
rtmp_live_debugged(struct stream_session *n)
{
    return debug_wanted(&n->debug,
                        &rtmp_session_conn(n->request->session)->peer,
                        str_of(n->name, n->name_len));
}

struct str
rtmp_live_shown(const struct stream_session *n)
{
    return n->request->secret && !n->renamed && n->publisher == NULL
               ? n->application->settings->name
               : str_of(n->name, n->name_len);
}

/* ---- publishing ---- */

static void
on_publish_start(void *arg)
{
    struct stream_session *n = arg;

    log_limited_if(rtmp_live_debugged(n), LOG_INFO,
                   "stream %s: published by %s", n->name,
                   addr_text(&rtmp_session_conn(n->request->session)->peer,
                             (char[ADDR_TEXT]){ 0 }));
    n->last_ms = loop_now(n->loop);
    timer_set(n->loop, &n->idle, n->application->settings->idle_timeout);
    if (n->claiming) {
        n->claiming = false;
        rtmp_session_decide(n->request, RTMP_DONE, NULL);
    }
}

static void
on_publish_stop(void *arg, const char *reason)
{
    struct stream_session *n = arg;
    bool started = timer_is_set(&n->idle);
    struct rtmp_refusal no;

    n->publisher = NULL;
    timer_stop(n->loop, &n->idle);
    if (started) {
        rtmp_session_finish(n->request, "error", "NetStream.Publish.BadName",
                            reason);
        return;
    }
    no.code = "NetStream.Publish.BadName";
    no.why = RTMP_REFUSED_LIVE;
    errmsg_set(&no.reason, "%s", reason);
    rtmp_session_decide(n->request, RTMP_REFUSE, &no);
}

static const struct live_publisher_handlers publisher_handlers = {
    .on_start = on_publish_start,
    .on_stop = on_publish_stop,
};

static void
on_idle(struct timer *timer)
{
    struct stream_session *n = LIST_ITEM(timer, struct stream_session, idle);
    int64_t limit = n->application->settings->idle_timeout;
    int64_t idle = loop_now(n->loop) - n->last_ms;

    if (idle < limit) {
        timer_set(n->loop, timer, limit - idle);
        return;
    }
    metric_add(&app_metrics[APP_IDLE_PUBLISHERS], n->application->place, 1);
    rtmp_session_finish(n->request, "error", "NetStream.Publish.BadName",
                        "the publisher sent nothing for idle_timeout");
}

static enum live_kind
kind_of(const struct conn *conn)
{
    return conn->secure ? LIVE_KIND_RTMPS : LIVE_KIND_RTMP;
}

enum rtmp_result
rtmp_live_publish(struct stream_session *n, struct rtmp_refusal *no)
{
    char url[RTMP_URL_MAX];
    struct conn *conn = rtmp_session_conn(n->request->session);
    const struct rtmp_application *a = n->application;
    struct live_publish what = {
        .name = str_of(n->name, n->name_len),
        .url =
            rtmp_url(url, n->request, rtmp_session_scheme(n->request->session),
                     str_of(n->name, n->name_len), &conn->local, NULL),
        .stream_id = n->request->stream_id,
        .peer = conn->peer,
        .kind = kind_of(conn),
        .conflict = (enum live_conflict)a->settings->publish_conflict,
        .chunk_size = n->chunk_size,
        .hold = a->hold,
        .cuts = a->cuts,
    };

    n->publisher = live_publish(&what, &publisher_handlers, n, &no->reason);
    if (n->publisher == NULL) {
        no->why = RTMP_REFUSED_LIVE;
        no->code = "NetStream.Publish.BadName";
        return RTMP_REFUSE;
    }
    n->claiming = !timer_is_set(&n->idle);
    return n->claiming ? RTMP_WAIT : RTMP_DONE;
}

/* ---- playing ---- */

static void
on_play_start(void *arg, uint32_t chunk_size)
{
    struct stream_session *n = arg;

    if (rtmp_session_chunk_size(n->request->session, chunk_size) != 0) {
        rtmp_session_close(n->request->session, "it takes nothing");
    }
}

static void
on_play_hold(void *arg)
{
    (void)arg; /* silence until the publisher is back */
}

static void
count_stream(struct rtmp_request *r, void *arg)
{
    const struct stream_session *n = r->context;
    unsigned *in_use = arg;

    *in_use += n != NULL && (n->publisher != NULL || n->player != NULL);
}

/* Says goodbye on the NetStream; the connection goes with its last one. */
static void
on_play_stop(void *arg, const char *reason, bool close)
{
    struct stream_session *n = arg;
    struct rtmp_request *r = n->request;
    bool played = str_eq(str_from(reason), STR(LIVE_PLAYED));
    const char *code =
        played ? "NetStream.Play.Stop" : "NetStream.Play.UnpublishNotify";
    unsigned in_use = 0;

    n->player = NULL;
    if (close) {
        rtmp_session_close(r->session, reason);
        return;
    }
    rtmp_session_each(r->session, count_stream, &in_use);
    rtmp_session_control(r, RTMP_STREAM_EOF);
    if (in_use > 0) {
        rtmp_session_status(r, "status", code, reason);
        return;
    }
    rtmp_session_finish(r, "status", code, reason);
}

static const struct live_player_handlers player_handlers = {
    .on_start = on_play_start,
    .on_turn = on_play_start,
    .on_hold = on_play_hold,
    .on_resume = on_play_hold,
    .on_stop = on_play_stop,
};

static void
note_player(struct rtmp_request *r, void *arg)
{
    const struct stream_session *n = r->context;
    struct live_player **player = arg;

    if (n != NULL && n->player != NULL) {
        *player = n->player;
    }
}

struct live_player *
rtmp_live_player(struct rtmp_session *s)
{
    struct live_player *player = NULL;

    rtmp_session_each(s, note_player, &player);
    return player;
}

enum rtmp_result
rtmp_live_play(struct stream_session *n, struct rtmp_refusal *no)
{
    char url[RTMP_URL_MAX];
    struct conn *conn = rtmp_session_conn(n->request->session);
    const struct rtmp_application *a = n->application;
    struct live_play what = {
        .name = str_of(n->name, n->name_len),
        .url =
            rtmp_url(url, n->request, rtmp_session_scheme(n->request->session),
                     str_of(n->name, n->name_len), &conn->local, n->mask),
        .peer = conn->peer,
        .kind = kind_of(conn),
        .framing = LIVE_RTMP,
        .stream_id = n->request->stream_id,
        .gather = a->gather,
        .gop_cache = a->settings->gop_cache,
        .duration = n->request->duration,
        .conn = conn,
        .beside = rtmp_live_player(n->request->session),
    };

    /* Nothing is sent before this turn ends: Play.Start goes first. */
    n->player = live_play(&what, &player_handlers, n, &no->reason);
    if (n->player == NULL) {
        no->why = RTMP_REFUSED_LIVE;
        no->code = "NetStream.Play.Failed";
        return RTMP_REFUSE;
    }
    return RTMP_DONE;
}

/* ---- life ---- */

struct stream_session *
rtmp_live_new(struct rtmp_request *r, const struct rtmp_application *a,
              bool publishing)
{
    struct stream_session *n = mem_zero(sizeof(*n));

    n->loop = rtmp_session_conn(r->session)->loop;
    n->request = r;
    n->asked_ms = loop_now(n->loop);
    n->in_before = rtmp_session_conn(r->session)->bytes_in;
    n->out_before = rtmp_session_conn(r->session)->bytes_out;
    n->application = a;
    n->publishing = publishing;
    timer_init(&n->idle, on_idle);
    r->context = n;
    return n;
}

void
rtmp_live_free(struct rtmp_request *r)
{
    struct stream_session *n = r->context;

    r->context = NULL;
    timer_stop(n->loop, &n->idle);
    live_unpublish(&n->publisher);
    live_stop_playing(&n->player);
    mem_free(&n);
}
