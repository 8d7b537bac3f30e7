/*
 * Messages of a remote: control messages, media, commands.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/bytes.h"
#include "rtmp/aggregate.h"
#include "rtmp/client_impl.h"
#include "rtmp/rtmp.h"

void
client_stopped(struct rtmp_client *c, bool stopped, const char *words)
{
    if (stopped == c->stopped) {
        return;
    }
    c->stopped = stopped;
    c->handlers->on_status(
        c, stopped ? RTMP_CLIENT_STOPPED : RTMP_CLIENT_STARTED, words);
}

static void
on_user_control(struct rtmp_client *c, const struct chunk_message *m)
{
    uint32_t event = m->len >= 2 ? get_be16(m->payload) : UINT32_MAX;

    if (event == EVENT_PONG) {
        c->answers = true;
    } else if (c->phase != CLIENT_READY || c->publish) {
        return; /* a stream begins when publish or play is answered */
    } else if (event == RTMP_STREAM_EOF) {
        client_stopped(c, true, "StreamEOF");
    } else if (event == RTMP_STREAM_BEGIN) {
        client_stopped(c, false, "StreamBegin");
    }
}

static void
on_control(struct rtmp_client *c, const struct chunk_message *m)
{
    struct words w;
    struct errmsg err;

    words_init(&w, c->ch.chunk_size);
    if (channel_control(&c->ch, m, &w, &err) == -1) {
        client_end(c, RTMP_CLIENT_PROTOCOL, err.text);
    } else if (!words_empty(&w)) {
        client_say(c, &w);
    }
    if (m->type == TYPE_USER_CONTROL && !c->over) {
        on_user_control(c, m);
    }
}

static bool
on_media(void *arg, enum media_type type, const struct chunk_message *m)
{
    struct rtmp_client *c = arg;

    /* Some servers send media without a word before. */
    if (c->phase == CLIENT_ACCEPT) {
        client_set_phase(c, CLIENT_READY);
        c->handlers->on_ready(c, c->stream_id);
    }
    if (!c->over) {
        client_stopped(c, false, "media again");
    }
    if (!c->over) {
        c->handlers->on_media(c, type, m->timestamp, m->payload, m->len);
    }
    return !c->over;
}

static void
on_parts(struct rtmp_client *c, const struct chunk_message *m)
{
    struct errmsg err;

    if (c->publish || c->phase < CLIENT_ACCEPT) {
        return;
    }
    if (parts_read(&c->ch, m, on_media, c, &err) == -1) {
        client_end(c, RTMP_CLIENT_PROTOCOL, err.text);
    }
}

static void
dispatch(struct rtmp_client *c, const struct chunk_message *m)
{
    struct str body;

    switch (m->type) {
    case TYPE_SET_CHUNK_SIZE:
    case TYPE_ABORT:
    case TYPE_USER_CONTROL:
    case TYPE_WINDOW_ACK_SIZE:
    case TYPE_PEER_BANDWIDTH:
        on_control(c, m);
        break;
    case TYPE_AUDIO:
    case TYPE_VIDEO:
    case TYPE_DATA:
    case TYPE_DATA_AMF3:
    case TYPE_AGGREGATE:
        on_parts(c, m);
        break;
    case TYPE_COMMAND:
    case TYPE_COMMAND_AMF3:
        if (channel_command(m, &body)) {
            client_command(c, body);
        } else {
            client_end(c, RTMP_CLIENT_PROTOCOL, "a command of more than 64 KB");
        }
        break;
    default: /* acknowledgements and what is not known */
        break;
    }
}

int
client_message(void *arg, const struct chunk_message *m)
{
    struct rtmp_client *c = arg;

    channel_charge_message(&c->ch, m->type);
    dispatch(c, m);
    return c->over || c->ch.burst == 0 ? 1 : 0;
}
