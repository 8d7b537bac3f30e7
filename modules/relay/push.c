/*
 * Pushing: a stream that is here is published elsewhere.
 *
 * To src/live the connection is one more player's, whose metadata are those
 * of a publisher.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "relayer.h"

#include "base/log.h"
#include "relay.h"

/* ---- the player ---- */

static void
on_start(void *arg, uint32_t chunk_size)
{
    struct relay_task *t = arg;

    if (rtmp_client_chunk_size(t->client, chunk_size) == 0) {
        task_set(t, RELAY_RUNNING, "");
    }
}

/* The remote is kept: who publishes may come back before the stream is over.
 */
static void
on_hold(void *arg)
{
    task_set(arg, RELAY_WAITING, "the local publisher has left");
}

static void
on_resume(void *arg)
{
    task_set(arg, RELAY_RUNNING, "");
}

static void
on_stop(void *arg, const char *reason, bool close)
{
    struct relay_task *t = arg;
    bool over = !live_is_live(t->stream);

    t->player = NULL;
    task_leave(t, reason, close);
    if (over) {
        task_wait(t, reason);
    } else {
        task_failed(t, RELAY_FAILED_HERE, reason);
    }
}

static const struct live_player_handlers player_handlers = {
    .on_start = on_start,
    .on_hold = on_hold,
    .on_resume = on_resume,
    .on_stop = on_stop,
};

/* ---- the client ---- */

static void
on_ready(struct rtmp_client *c, uint32_t stream_id)
{
    struct relay_task *t = rtmp_client_arg(c);
    const struct plan_app *app = task_app(t);
    struct conn *conn = rtmp_client_conn(c);
    struct errmsg err;
    struct live_play what = {
        .name = t->stream,
        .url = t->remote,
        .peer = conn->peer,
        .kind = LIVE_KIND_PUSH,
        .framing = LIVE_RTMP,
        .stream_id = stream_id,
        .set_data_frame = true,
        .gather = app != NULL ? app->gather : LIVE_GATHER_AUTO,
        .gop_cache = app == NULL || app->gop_cache,
        .conn = conn,
    };

    t->ready = true;
    rtmp_login_clear(&t->login);
    t->sent = (struct live_sent){ 0, 0 };
    t->player = live_play(&what, &player_handlers, t, &err);
    if (t->player == NULL) {
        task_failed(t, RELAY_FAILED_HERE, err.text);
    }
}

/* Nobody plays to us. */
static void
on_media(struct rtmp_client *c, enum media_type type, uint32_t timestamp,
         const uint8_t *payload, size_t len)
{
    (void)c;
    (void)type;
    (void)timestamp;
    (void)payload;
    (void)len;
}

static void
on_status(struct rtmp_client *c, enum rtmp_client_event event,
          const char *words)
{
    const struct relay_task *t = rtmp_client_arg(c);

    (void)event;
    log_debug("relay push %.*s: the remote says: %s%.*s", STR_ARGS(t->stream),
              words, STR_ARGS(t->which));
}

static void
on_writable(struct rtmp_client *c)
{
    struct relay_task *t = rtmp_client_arg(c);

    if (t->player != NULL) {
        live_player_writable(t->player);
    }
}

static int
say(struct rtmp_client *c, const void *data, size_t n)
{
    struct relay_task *t = rtmp_client_arg(c);

    if (t->player != NULL) {
        return live_player_say(t->player, data, n);
    }
    return conn_write(rtmp_client_conn(c), data, n);
}

static void
on_close(struct rtmp_client *c, enum rtmp_client_fate fate, const char *reason)
{
    struct relay_task *t = rtmp_client_arg(c);

    push_tick(t);
    live_stop_playing(&t->player);
    if (t->client == c) {
        task_client_closed(t, fate, reason);
    }
}

const struct rtmp_client_handlers push_handlers = {
    .on_ready = on_ready,
    .on_media = on_media,
    .on_status = on_status,
    .on_writable = on_writable,
    .say = say,
    .on_close = on_close,
};

void
push_leave(struct relay_task *t)
{
    live_stop_playing(&t->player);
}

void
push_tick(struct relay_task *t)
{
    const struct metric *m = &relay_metrics[RELAY_BYTES];
    struct live_sent sent;

    if (t->player == NULL) {
        return;
    }
    live_player_sent(t->player, &sent);
    metric_add(m, metric_at(m, RELAY_PUSH, 0, 0),
               (int64_t)(sent.bytes - t->sent.bytes));
    t->view.bytes += sent.bytes - t->sent.bytes;
    t->view.frames += sent.frames - t->sent.frames;
    t->sent = sent;
}
