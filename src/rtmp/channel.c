/*
 * The common part of both ends of an RTMP connection.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/channel.h"

#include "base/bytes.h"
#include "rtmp/aggregate.h"

#define IN_LIMIT 65536
#define BURST 64       /* what is taken in one turn */
#define COMMAND_COST 8 /* of all but media: answers, lines logged */

int
channel_open(struct channel *ch, struct loop *l,
             const struct conn_socket *socket,
             const struct conn_handlers *handlers, void *arg,
             uint32_t ack_window)
{
    static const struct conn_limits limits = { .in_limit = IN_LIMIT,
                                               .out_limit = CHANNEL_OUT_LIMIT };

    *ch = (struct channel){ .chunk_size = CHUNK_SIZE_START,
                            .ack_window = ack_window };
    ch->conn = conn_new(l, socket, handlers, arg, &limits);
    chunk_reader_init(&ch->reader, STRANGER_MESSAGE, STRANGER_MEMORY);
    return ch->conn != NULL ? 0 : -1;
}

void
channel_clear(struct channel *ch)
{
    parts_forget(ch);
    chunk_reader_clear(&ch->reader);
}

/* ---- receiving ---- */

void
channel_begin_turn(struct channel *ch)
{
    ch->burst = BURST;
}

size_t
channel_feed(struct channel *ch, const uint8_t *data, size_t n,
             channel_step *step, void *arg)
{
    size_t eaten = 0;

    channel_begin_turn(ch);
    while (eaten < n && ch->burst > 0 && ch->rest == NULL) {
        ssize_t ate = step(arg, data + eaten, n - eaten);

        if (ate <= 0) {
            break;
        }
        eaten += (size_t)ate;
    }
    if (eaten < n && ch->burst == 0 && ch->rest == NULL && !ch->conn->closed) {
        conn_offer(ch->conn);
    }
    return eaten;
}

void
channel_charge_message(struct channel *ch, uint8_t type)
{
    bool cheap =
        type == TYPE_AUDIO || type == TYPE_VIDEO || type == TYPE_AGGREGATE;

    channel_charge(ch, cheap ? 1 : COMMAND_COST);
}

/* The peer limits what we send by a window; we send it ours in turn if it does
 * not have it yet. */
static void
on_peer_bandwidth(struct channel *ch, uint32_t window, struct words *answer)
{
    if (window != ch->said_window) {
        ch->said_window = window;
        words_number(answer, TYPE_WINDOW_ACK_SIZE, window);
    }
}

static void
on_user_control(const struct chunk_message *m, struct words *answer)
{
    /* Buffer lengths and answers to pings need no action. */
    if (m->len >= 6 && get_be16(m->payload) == EVENT_PING) {
        words_event(answer, EVENT_PONG, get_be32(m->payload + 2));
    }
}

int
channel_control(struct channel *ch, const struct chunk_message *m,
                struct words *answer, struct errmsg *err)
{
    uint32_t v = m->len >= 4 ? get_be32(m->payload) : 0;

    if (m->type == TYPE_USER_CONTROL) {
        on_user_control(m, answer);
    } else if (m->len < 4) {
        return 0;
    } else if (m->type == TYPE_SET_CHUNK_SIZE) {
        return chunk_set_size(&ch->reader, v, err);
    } else if (m->type == TYPE_ABORT) {
        chunk_abort(&ch->reader, v);
    } else if (m->type == TYPE_WINDOW_ACK_SIZE) {
        ch->ack_window = v > 0 ? v : ch->ack_window;
    } else if (m->type == TYPE_PEER_BANDWIDTH) {
        on_peer_bandwidth(ch, v, answer);
    }
    return 0;
}

bool
channel_acknowledge(struct channel *ch, struct words *answer)
{
    uint32_t in = (uint32_t)ch->conn->bytes_in;

    if (in == ch->acked || in - ch->acked < ch->ack_window / 2) {
        return false;
    }
    ch->acked = in;
    words_number(answer, TYPE_ACK, in);
    return true;
}

bool
channel_command(const struct chunk_message *m, struct str *body)
{
    *body = str_of(m->payload, m->len);
    if (m->len > COMMAND_MAX) {
        return false;
    }
    if (m->type == TYPE_COMMAND_AMF3 && m->len > 0 && m->payload[0] == 0) {
        *body = str_skip(*body, 1);
    }
    return true;
}

/* ---- time ---- */

void
channel_ping(struct channel *ch, int64_t now, struct words *answer)
{
    ch->ping_ms = now;
    words_event(answer, EVENT_PING, (uint32_t)now);
}

int64_t
channel_ping_deadline(const struct channel *ch, int64_t interval,
                      int64_t timeout)
{
    return ch->ping_ms != 0 ? ch->ping_ms + timeout
                            : ch->conn->last_read_ms + interval;
}

bool
channel_stuck(struct channel *ch, int64_t now, int64_t timeout)
{
    if (!ch->conn->want_write) {
        ch->stuck_ms = 0;
        return false;
    }
    if (ch->stuck_ms == 0 || ch->stuck_bytes != ch->conn->bytes_out) {
        ch->stuck_ms = now;
        ch->stuck_bytes = ch->conn->bytes_out;
        return false;
    }
    return now >= ch->stuck_ms + timeout;
}

int64_t
channel_stuck_deadline(const struct channel *ch, int64_t now, int64_t timeout)
{
    return ch->stuck_ms != 0 ? ch->stuck_ms + timeout : now + timeout / 2 + 1;
}
