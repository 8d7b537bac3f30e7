/*
 * Whole messages: protocol control, user control, media, aggregates; commands
 * are handed on.  Unknown messages are ignored.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/message.h"

#include "base/log.h"
#include "rtmp/aggregate.h"
#include "rtmp/command.h"
#include "rtmp/netstream.h"

static void
on_control(struct rtmp_session *s, const struct chunk_message *m)
{
    struct words w;
    struct errmsg err;

    words_init(&w, s->ch.chunk_size);
    if (channel_control(&s->ch, m, &w, &err) == -1) {
        session_finish(session_ends(s, END_PROTOCOL), err.text);
    } else if (!words_empty(&w)) {
        session_say(s, &w);
    }
}

static bool
on_media(void *arg, enum media_type type, const struct chunk_message *m)
{
    struct rtmp_session *s = arg;
    struct net_stream *ns = net_stream_publishing(s, m->stream_id);

    if (ns != NULL) {
        s->handlers->on_media(&ns->r, type, m->timestamp, m->payload, m->len);
    }
    return !session_over(s);
}

static void
on_parts(struct rtmp_session *s, const struct chunk_message *m)
{
    struct errmsg err;

    if (parts_read(&s->ch, m, on_media, s, &err) == -1) {
        session_finish(session_ends(s, END_PROTOCOL), err.text);
    }
}

static void
on_command(struct rtmp_session *s, const struct chunk_message *m)
{
    struct str body;

    if (!channel_command(m, &body)) {
        session_finish(session_ends(s, END_PROTOCOL),
                       "a command of more than 64 KB");
        return;
    }
    command_handle(s, m->stream_id, (const uint8_t *)body.ptr, body.len);
}

static void
dispatch(struct rtmp_session *s, const struct chunk_message *m)
{
    switch (m->type) {
    case TYPE_SET_CHUNK_SIZE:
    case TYPE_ABORT:
    case TYPE_USER_CONTROL:
    case TYPE_WINDOW_ACK_SIZE:
    case TYPE_PEER_BANDWIDTH:
        on_control(s, m);
        break;
    case TYPE_ACK: /* how far the peer is: the socket knows better */
        break;
    case TYPE_AUDIO:
    case TYPE_VIDEO:
    case TYPE_DATA:
    case TYPE_DATA_AMF3:
    case TYPE_AGGREGATE:
        on_parts(s, m);
        break;
    case TYPE_COMMAND:
    case TYPE_COMMAND_AMF3:
        on_command(s, m);
        break;
    default:
        log_debug("%s %s: message type %u passed over", rtmp_session_scheme(s),
                  session_peer(s), m->type);
        break;
    }
}

int
message_handle(void *arg, const struct chunk_message *m)
{
    struct rtmp_session *s = arg;
    channel_charge_message(&s->ch, m->type);
    dispatch(s, m);
    return session_over(s) || s->waiting > 0 || s->ch.burst == 0 ? 1 : 0;
}
