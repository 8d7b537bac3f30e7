/*
 * Events of any process, on their way to the channel.
 *
 * Each is a call without an answer worth reading; its number of open calls
 * bounds what may be under way.  A channel that is held for long gets them when
 * it goes on: an event that is lost leaves clients wrong for ever.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "base/log.h"
#include "proc/slot.h"
#include "sio/channel.h"
#include "sio/channel_impl.h"
#include "sio/channel_wire.h"
#include "sio/point.h"

#define TIMEOUT_MS RPC_WAIT_MAX

static void
count(enum channel_emit result)
{
    metric_add(&channel_metrics[CHANNEL_EMITS], result, 1);
}

/* The sockets of a channel that died have gone with it. */
static void
on_answer(void *arg, struct rpc_answer *a)
{
    (void)arg;
    if (a->status != RPC_OK && a->status != RPC_DIED) {
        count(CHANNEL_EMIT_REFUSED);
        log_limited(LOG_WARN,
                    "an event was lost on its way to the channel: "
                    "%.*s",
                    (int)a->len, (const char *)a->data);
    }
}

static int
send_event(struct str data, struct errmsg *err)
{
    static const struct rpc_options o = { .timeout_ms = TIMEOUT_MS,
                                          .on_answer = on_answer };

    if (rpc_call(&channel_methods[CHANNEL_EMIT], &o, data.ptr, data.len, -1,
                 err) == NULL) {
        count(CHANNEL_EMIT_REFUSED);
        return -1;
    }
    count(CHANNEL_EMIT_SENT);
    return 0;
}

static int
send_message(const struct sio_target *to, const struct sio_message *m,
             struct errmsg *err)
{
    struct pack out = { 0 };
    struct buf b;
    int rc;

    if (channel_emit_here(to, m) || slot_find_role(CHANNEL_NAME, 0) == 0) {
        return 0;
    }
    buf_init(&b, CHANNEL_EMIT_MAX);
    out.to = &b;
    channel_pack_emit(&out, to, m);
    rc = out.full ? errmsg_set(err, "the event is longer than %zu bytes",
                               CHANNEL_EMIT_MAX)
                  : send_event(buf_str(&b), err);
    buf_clear(&b);
    return rc;
}

int
sio_emit(const struct sio_target *to, const struct sio_message *m,
         struct errmsg *err)
{
    if (sio_check_event(str_from(m->event), err) == -1 ||
        sio_check_args(&m->args, err) == -1) {
        return -1;
    }
    return send_message(to, m, err);
}

int
sio_stale(const struct sio_target *to, const char *snapshot, struct errmsg *err)
{
    const struct sio_message m = { .event = "", .stales = snapshot };

    return send_message(to, &m, err);
}

int
sio_renew(const struct sio_target *to, struct errmsg *err)
{
    const struct sio_message m = { .event = "" };

    return send_message(to, &m, err);
}
