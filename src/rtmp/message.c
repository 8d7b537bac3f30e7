/*
 * Whole messages: protocol control, user control, media, aggregates; commands
 * are handed on.  What is not known is passed over.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/message.h"

#include "base/bytes.h"
#include "base/log.h"
#include "rtmp/command.h"
#include "rtmp/netstream.h"

#define COMMAND_MAX 65536 /* bytes: no client comes near it */
#define COMMAND_COST 8    /* of all but media: answers, lines logged */
#define PARTS_MAX 1024    /* of one aggregate; encoders send some ten */

/* ---- protocol control (RTMP 1.0, 5.4) ---- */

static void
on_set_chunk_size(struct rtmp_session *s, uint32_t size)
{
    struct errmsg err;
    if (chunk_set_size(&s->reader, size, &err) == -1) {
        session_finish(session_ends(s, END_PROTOCOL), err.text);
    }
}

/* The peer limits what we send by a window; it is told ours in turn when it
 * does not know it. */
static void
on_peer_bandwidth(struct rtmp_session *s, uint32_t window)
{
    struct words w;
    if (window == s->said_window) {
        return;
    }
    s->said_window = window;
    words_init(&w, s->chunk_size);
    words_number(&w, TYPE_WINDOW_ACK_SIZE, window);
    session_say(s, &w);
}

static void
on_user_control(struct rtmp_session *s, const struct chunk_message *m)
{
    struct words w;
    if (m->len < 6 || get_be16(m->payload) != EVENT_PING) {
        return; /* buffer lengths and answers to pings need no action */
    }
    words_init(&w, s->chunk_size);
    words_event(&w, EVENT_PONG, get_be32(m->payload + 2));
    session_say(s, &w);
}

static void
on_control(struct rtmp_session *s, const struct chunk_message *m)
{
    if (m->len < 4) {
        return;
    }
    uint32_t v = get_be32(m->payload);
    if (m->type == TYPE_SET_CHUNK_SIZE) {
        on_set_chunk_size(s, v);
    } else if (m->type == TYPE_ABORT) {
        chunk_abort(&s->reader, v);
    } else if (m->type == TYPE_WINDOW_ACK_SIZE) {
        s->ack_window = v > 0 ? v : s->ack_window;
    } else if (m->type == TYPE_PEER_BANDWIDTH) {
        on_peer_bandwidth(s, v);
    }
}

/* ---- media ---- */

static void
on_media(struct rtmp_session *s, const struct chunk_message *m,
         enum media_type type)
{
    struct net_stream *ns = net_stream_publishing(s, m->stream_id);
    if (ns != NULL) {
        s->handlers->on_media(&ns->r, type, m->timestamp, m->payload, m->len);
    }
}

/* AMF3 data begins with a byte that says so; then it is AMF0. */
static void
on_data_amf3(struct rtmp_session *s, const struct chunk_message *m)
{
    struct chunk_message data = *m;
    if (data.len > 0 && data.payload[0] == 0) {
        data.payload++;
        data.len--;
    }
    on_media(s, &data, MEDIA_DATA);
}

/* One message inside an aggregate has the form of an FLV tag. */
static void
on_part(struct rtmp_session *s, const struct chunk_message *part)
{
    switch (part->type) {
    case TYPE_AUDIO:
        on_media(s, part, MEDIA_AUDIO);
        break;
    case TYPE_VIDEO:
        on_media(s, part, MEDIA_VIDEO);
        break;
    case TYPE_DATA:
        on_media(s, part, MEDIA_DATA);
        break;
    default:
        break;
    }
}

/* Cuts the next part off what is left of an aggregate; part holds what the
 * parts share.  False at its end, or where it is cut off. */
static bool
next_part(struct str *left, struct chunk_message *part)
{
    const uint8_t *p = (const uint8_t *)left->ptr;
    if (left->len < FLV_TAG_HEADER) {
        return false;
    }
    part->type = p[0];
    part->len = get_be24(p + 1);
    part->timestamp = get_be24(p + 4) | (uint32_t)p[7] << 24;
    part->payload = p + FLV_TAG_HEADER;
    if (part->len > left->len - FLV_TAG_HEADER) {
        return false;
    }
    *left = str_skip(*left, FLV_TAG_HEADER + part->len + FLV_TAG_TRAILER);
    return true;
}

/* The first part has the time of the aggregate, the others keep their
 * distance from it (RTMP 1.0, 7.1.6). */
static void
on_aggregate(struct rtmp_session *s, const struct chunk_message *m)
{
    struct str left = str_of(m->payload, m->len);
    struct chunk_message part = *m;
    uint32_t first = 0;
    for (int i = 0; !session_over(s) && next_part(&left, &part); i++) {
        if (i == PARTS_MAX) {
            session_finish(session_ends(s, END_PROTOCOL),
                           "an aggregate of too many messages");
            return;
        }
        session_charge(s, 1);
        first = i > 0 ? first : part.timestamp;
        part.timestamp = m->timestamp + (part.timestamp - first);
        on_part(s, &part);
    }
}

/* ---- commands ---- */

static void
on_command(struct rtmp_session *s, const struct chunk_message *m)
{
    const uint8_t *body = m->payload;
    size_t len = m->len;
    if (len > COMMAND_MAX) {
        session_finish(session_ends(s, END_PROTOCOL),
                       "a command of more than 64 KB");
        return;
    }
    if (m->type == TYPE_COMMAND_AMF3 && len > 0 && body[0] == 0) {
        body++;
        len--;
    }
    command_handle(s, m->stream_id, body, len);
}

static void
dispatch(struct rtmp_session *s, const struct chunk_message *m)
{
    switch (m->type) {
    case TYPE_SET_CHUNK_SIZE:
    case TYPE_ABORT:
    case TYPE_WINDOW_ACK_SIZE:
    case TYPE_PEER_BANDWIDTH:
        on_control(s, m);
        break;
    case TYPE_ACK: /* how far the peer is: the socket knows better */
        break;
    case TYPE_USER_CONTROL:
        on_user_control(s, m);
        break;
    case TYPE_AUDIO:
    case TYPE_VIDEO:
    case TYPE_DATA:
        on_part(s, m);
        break;
    case TYPE_DATA_AMF3:
        on_data_amf3(s, m);
        break;
    case TYPE_COMMAND:
    case TYPE_COMMAND_AMF3:
        on_command(s, m);
        break;
    case TYPE_AGGREGATE:
        on_aggregate(s, m);
        break;
    default:
        log_debug("rtmp %s: message type %u passed over", session_peer(s),
                  m->type);
        break;
    }
}

static bool
is_cheap(uint8_t type)
{
    return type == TYPE_AUDIO || type == TYPE_VIDEO || type == TYPE_AGGREGATE;
}

int
message_handle(void *arg, const struct chunk_message *m)
{
    struct rtmp_session *s = arg;
    session_charge(s, is_cheap(m->type) ? 1 : COMMAND_COST);
    dispatch(s, m);
    return session_over(s) || s->waiting > 0 || s->burst == 0 ? 1 : 0;
}
