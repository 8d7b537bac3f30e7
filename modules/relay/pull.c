/*
 * Pulling: the remote's stream is played, and published here.
 *
 * The name is asked for when the first message comes, not before: a remote
 * that has no such stream is silent, and must not keep the name from others.
 * In most cases it is ours at once; where it has to be waited for, what comes
 * meanwhile is kept.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "relayer.h"

#include <string.h>

#include "base/log.h"
#include "relay.h"

struct stashed { /* before a message's payload */
    uint32_t type, timestamp, len;
};

static void
write_media(struct relay_task *t, enum media_type type, uint32_t timestamp,
            struct str payload)
{
    const struct metric *m = &relay_metrics[RELAY_BYTES];

    metric_add(m, metric_at(m, RELAY_PULL, 0, 0), (int64_t)payload.len);
    t->view.bytes += payload.len;
    t->view.frames++;
    live_write(t->publisher, type, timestamp, (const uint8_t *)payload.ptr,
               payload.len);
}

static void
begin(struct relay_task *t)
{
    while (buf_len(&t->stash) > 0) {
        struct stashed head;

        memcpy(&head, buf_data(&t->stash), sizeof(head));
        buf_take(&t->stash, sizeof(head));
        write_media(t, (enum media_type)head.type, head.timestamp,
                    str_of(buf_data(&t->stash), head.len));
        buf_take(&t->stash, head.len);
    }
    buf_clear(&t->stash);
    task_set(t, RELAY_RUNNING, "");
}

static void
on_name_ours(void *arg)
{
    struct relay_task *t = arg;

    t->started = true;
    if (t->publisher != NULL) { /* else live_publish() has not returned */
        begin(t);
    }
}

static void
on_name_lost(void *arg, const char *reason)
{
    struct relay_task *t = arg;

    t->publisher = NULL;
    t->started = false;
    if (live_is_live(t->stream)) {
        task_leave(t, reason, false);
        task_wait(t, reason);
    } else {
        task_failed(t, RELAY_FAILED_HERE, reason);
    }
}

static const struct live_publisher_handlers name_handlers = {
    .on_start = on_name_ours,
    .on_stop = on_name_lost,
};

/* False: it cannot be had, and the remote was left. */
static bool
ask_for_name(struct relay_task *t, const struct plan_app *app)
{
    struct errmsg err;
    struct live_publish what = {
        .name = t->stream,
        .url = t->remote,
        .peer = rtmp_client_conn(t->client)->peer,
        .kind = LIVE_KIND_PULL,
        .stream_id = t->stream_id,
        .conflict = LIVE_REFUSE,
        .chunk_size = app->chunk_size,
        .hold = app->hold,
        .cuts = app->cuts,
    };

    t->started = false;
    t->publisher = live_publish(&what, &name_handlers, t, &err);
    if (t->publisher != NULL) {
        if (t->started) {
            begin(t);
        }
        return true;
    }
    if (live_is_live(t->stream)) {
        task_leave(t, err.text, false);
        task_wait(t, "");
    } else {
        task_failed(t, RELAY_FAILED_HERE, err.text);
    }
    return false;
}

static void
stash(struct relay_task *t, enum media_type type, uint32_t timestamp,
      struct str payload)
{
    struct stashed head = { type, timestamp, (uint32_t)payload.len };

    if (buf_room(&t->stash) < sizeof(head) + payload.len ||
        buf_add(&t->stash, &head, sizeof(head)) == -1 ||
        buf_add_str(&t->stash, payload) == -1) {
        task_failed(t, RELAY_FAILED_HERE,
                    "the stream's name could not be had in time");
    }
}

/* ---- the client ---- */

static void
on_ready(struct rtmp_client *c, uint32_t stream_id)
{
    struct relay_task *t = rtmp_client_arg(c);

    t->stream_id = stream_id;
    t->ready = true;
    t->media_ms = loop_now(t->relayer->loop);
    rtmp_login_clear(&t->login);
    if (ring_plays(t)) {
        return;
    }
    task_set(t, RELAY_CONNECTING, "connected, but no media has come yet");
}

static void
on_media(struct rtmp_client *c, enum media_type type, uint32_t timestamp,
         const uint8_t *payload, size_t len)
{
    struct relay_task *t = rtmp_client_arg(c);
    const struct plan_app *app = task_app(t);
    struct str content = str_of(payload, len);

    if (t->client != c) {
        return; /* it was left while this was on its way */
    }
    t->media_ms = loop_now(t->relayer->loop);
    if (type == MEDIA_DATA) {
        content = media_data_content(content);
    }
    if (app == NULL) {
        task_failed(t, RELAY_FAILED_HERE,
                    "the configuration has no such application any more");
        return;
    }
    if (t->publisher == NULL && !ask_for_name(t, app)) {
        return;
    }
    if (t->started) {
        write_media(t, type, timestamp, content);
    } else {
        stash(t, type, timestamp, content);
    }
}

static void
on_status(struct rtmp_client *c, enum rtmp_client_event event,
          const char *words)
{
    struct relay_task *t = rtmp_client_arg(c);

    if (t->client == c && event == RTMP_CLIENT_STOPPED &&
        t->publisher != NULL) {
        pull_leave(t);
        task_set(t, RELAY_CONNECTING, words);
    }
    log_debug("relay pull %.*s: the remote says: %s", STR_ARGS(t->stream),
              words);
}

static void
on_writable(struct rtmp_client *c)
{
    (void)c;
}

static int
say(struct rtmp_client *c, const void *data, size_t n)
{
    return conn_write(rtmp_client_conn(c), data, n);
}

static void
on_close(struct rtmp_client *c, enum rtmp_client_fate fate, const char *reason)
{
    struct relay_task *t = rtmp_client_arg(c);

    if (t->client == c) {
        pull_leave(t);
        task_client_closed(t, fate, reason);
    }
}

const struct rtmp_client_handlers pull_handlers = {
    .on_ready = on_ready,
    .on_media = on_media,
    .on_status = on_status,
    .on_writable = on_writable,
    .say = say,
    .on_close = on_close,
};

void
pull_leave(struct relay_task *t)
{
    live_unpublish(&t->publisher);
    t->started = false;
    buf_clear(&t->stash);
}

bool
pull_tick(struct relay_task *t)
{
    struct errmsg why;

    if (loop_now(t->relayer->loop) - t->media_ms <
        t->relayer->plan.idle_timeout) {
        return false;
    }
    errmsg_set(&why, "the remote sent no media for %lld ms",
               (long long)t->relayer->plan.idle_timeout);
    task_failed(t, RELAY_FAILED_SILENT, why.text);
    return true;
}
