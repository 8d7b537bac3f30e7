/*
 * Frames of the peer (RFC 6455 5).
 *
 * A frame is read as it comes, byte by byte in its head and piece by piece in
 * its payload; a message is delivered when it is whole.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "ws/ws_impl.h"

#include "base/utf8.h"

#define MASK_BYTES 4

/* ---- heads ---- */

static bool
is_control(const struct ws_reader *r)
{
    return (r->head[0] & 0x08) != 0;
}

/* The peer broke the protocol: what follows has no meaning. */
static void
refuse(struct ws *w, unsigned code, const char *why)
{
    w->reader.deaf = true;
    ws_end(w, code, str_from(why), false);
}

/* NULL, or what is wrong with the first byte. */
static const char *
judge_first(const struct ws *w)
{
    const struct ws_reader *r = &w->reader;
    unsigned opcode = r->head[0] & OPCODE, reserved = r->head[0] & RESERVED;
    bool starts = opcode == TEXT || opcode == BINARY;

    if (reserved != 0 && !(w->deflated && starts && reserved == RSV1)) {
        return "a reserved bit is set";
    }
    if (!starts && opcode != CONTINUATION && opcode != CLOSE &&
        opcode != PING && opcode != PONG) {
        return "an opcode that there is not";
    }
    if (is_control(r)) {
        return (r->head[0] & FIN) != 0 ? NULL : "a control frame in fragments";
    }
    if (starts == r->in_message) {
        return starts ? "a message within a message"
                      : "a fragment of no message";
    }
    return NULL;
}

static const char *
judge_second(const struct ws_reader *r)
{
    if ((r->head[1] & MASKED) == 0) {
        return "a frame without a mask";
    }
    if (is_control(r) && (r->head[1] & LENGTH) > WS_CONTROL_MAX) {
        return "a control frame of more than 125 bytes";
    }
    return NULL;
}

static size_t
length_bytes(const struct ws_reader *r)
{
    switch (r->head[1] & LENGTH) {
    case IN_16_BITS:
        return 2;
    case IN_64_BITS:
        return 8;
    default:
        return 0;
    }
}

/* The head is whole.  NULL, or what is wrong with the length. */
static const char *
read_length(struct ws_reader *r)
{
    size_t bytes = length_bytes(r);
    uint64_t len = 0;

    if (bytes == 0) {
        r->left = r->head[1] & LENGTH;
        return NULL;
    }
    for (size_t i = 0; i < bytes; i++) {
        len = len << 8 | r->head[2 + i];
    }
    r->left = len;
    if (len >> 63 != 0) {
        return "a length of 64 bits";
    }
    return len < (bytes == 2 ? IN_16_BITS : 65536U) ? "a length in too many "
                                                      "bytes"
                                                    : NULL;
}

static void
begin_payload(struct ws *w)
{
    struct ws_reader *r = &w->reader;

    r->in_payload = true;
    r->at = 0;
    if (is_control(r)) {
        r->control_len = 0;
        return;
    }
    if ((r->head[0] & OPCODE) != CONTINUATION) {
        r->in_message = true;
        r->binary = (r->head[0] & OPCODE) == BINARY;
        r->compressed = (r->head[0] & RSV1) != 0;
    }
    if (ws_is_open(w) && r->left > buf_room(&w->message)) {
        ws_close(w, WS_TOO_BIG, "the message is too big");
    }
}

/* A byte of the head; false: the peer is not listened to any more. */
static bool
take_head(struct ws *w, uint8_t byte)
{
    struct ws_reader *r = &w->reader;
    const char *wrong = NULL;

    r->head[r->have++] = byte;
    if (r->have == 1) {
        wrong = judge_first(w);
    } else if (r->have == 2) {
        wrong = judge_second(r);
    }
    if (wrong == NULL && r->have >= 2 &&
        r->have == 2 + length_bytes(r) + MASK_BYTES) {
        wrong = read_length(r);
        if (wrong == NULL) {
            begin_payload(w);
        }
    }
    if (wrong != NULL) {
        refuse(w, WS_PROTOCOL, wrong);
    }
    return wrong == NULL;
}

/* ---- messages ---- */

static void
deliver(struct ws *w, struct str data)
{
    if (!w->reader.binary && !utf8_valid(data)) {
        refuse(w, WS_NOT_UTF8, "a text that is not UTF-8");
        return;
    }
    w->handlers->on_message(w->arg, data, w->reader.binary);
}

static void
inflate_and_deliver(struct ws *w, struct str data)
{
    struct buf plain;

    buf_init(&plain, w->message_max);
    switch (ws_inflate(&w->inflater, data, &plain)) {
    case WS_INFLATED:
        deliver(w, buf_str(&plain));
        break;
    case WS_INFLATED_TOO_BIG:
        ws_close(w, WS_TOO_BIG, "the message is too big");
        break;
    case WS_INFLATE_FAILED:
        refuse(w, WS_NOT_UTF8, "a message that is not compressed rightly");
        break;
    }
    buf_clear(&plain);
}

static void
end_message(struct ws *w)
{
    struct buf whole = w->message;

    w->reader.in_message = false;
    w->host->unfinished -= buf_len(&whole);
    buf_init(&w->message, w->message_max);
    if (!ws_is_open(w)) {
        /* nobody wants it */
    } else if (w->reader.compressed) {
        inflate_and_deliver(w, buf_str(&whole));
    } else {
        deliver(w, buf_str(&whole));
    }
    buf_clear(&whole);
}

/* ---- control frames ---- */

/* RFC 6455 7.4, and 1012 to 1014 of the registry. */
static bool
is_code(unsigned code)
{
    return (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
           (code >= 3000 && code <= 4999);
}

static void
on_peer_close(struct ws *w, struct str data)
{
    const unsigned char *p = (const unsigned char *)data.ptr;
    unsigned code = data.len < 2 ? WS_NONE : (unsigned)(p[0] << 8 | p[1]);

    if (data.len == 1 || (data.len >= 2 && !is_code(code))) {
        refuse(w, WS_PROTOCOL, "a close with no code that there is");
    } else if (!utf8_valid(str_skip(data, 2))) {
        refuse(w, WS_NOT_UTF8, "a reason that is not UTF-8");
    } else {
        w->reader.deaf = true;
        ws_end(w, code, str_skip(data, 2), true);
    }
}

static void
end_control(struct ws *w)
{
    struct str data = str_of(w->reader.control, w->reader.control_len);

    switch (w->reader.head[0] & OPCODE) {
    case CLOSE:
        on_peer_close(w, data);
        break;
    case PING:
        ws_owe_pong(w, data);
        break;
    default:
        break; /* nobody asked for a pong */
    }
}

/* ---- payloads ---- */

/* Makes room for n bytes more of w's message in what all connections may hold:
 * closes whoever holds most.  False: that was w. */
static bool
claim(struct ws *w, size_t n)
{
    struct ws_host *h = w->host;

    while (ws_is_open(w) && h->unfinished + n > h->limits.unfinished) {
        struct ws *most = w;
        size_t bytes = buf_len(&w->message) + n;

        LIST_EACH (node, &h->all) {
            struct ws *one = LIST_ITEM(node, struct ws, link);

            if (buf_len(&one->message) > bytes) {
                most = one;
                bytes = buf_len(&one->message);
            }
        }
        ws_close(most, WS_TRY_LATER, "too much of messages is unfinished");
    }
    return ws_is_open(w);
}

/* Where n bytes of the payload go; NULL: nowhere. */
static uint8_t *
room_for(struct ws *w, size_t n)
{
    struct ws_reader *r = &w->reader;
    uint8_t *room;

    if (is_control(r)) {
        room = (uint8_t *)r->control + r->control_len;
        r->control_len = (uint8_t)(r->control_len + n);
        return room;
    }
    if (!ws_is_open(w) || !claim(w, n)) {
        return NULL;
    }
    room = buf_reserve(&w->message, n);
    if (room == NULL) {
        ws_close(w, WS_INTERNAL, "out of memory");
    } else {
        buf_commit(&w->message, n);
        w->host->unfinished += n;
    }
    return room;
}

static void
unmask(const struct ws_reader *r, uint8_t *to, const uint8_t *from, size_t n)
{
    const uint8_t *key = r->head + r->have - MASK_BYTES;
    uint8_t turned[MASK_BYTES];

    for (size_t i = 0; i < MASK_BYTES; i++) {
        turned[i] = key[(r->at + i) % MASK_BYTES];
    }
    for (size_t i = 0; i < n; i++) {
        to[i] = (uint8_t)(from[i] ^ turned[i % MASK_BYTES]);
    }
}

static void
end_frame(struct ws *w)
{
    struct ws_reader *r = &w->reader;
    bool final = (r->head[0] & FIN) != 0;

    r->in_payload = false;
    r->have = 0;
    if (is_control(r)) {
        end_control(w);
    } else if (final) {
        end_message(w);
    }
}

/* Returns bytes eaten. */
static size_t
take_payload(struct ws *w, const uint8_t *data, size_t n)
{
    struct ws_reader *r = &w->reader;
    size_t take = n < r->left ? n : (size_t)r->left;
    uint8_t *to = take > 0 ? room_for(w, take) : NULL;

    if (to != NULL) {
        unmask(r, to, data, take);
    }
    r->at += take;
    r->left -= take;
    return take;
}

ssize_t
ws_on_data(void *arg, const uint8_t *data, size_t n)
{
    struct ws *w = arg;
    struct ws_reader *r = &w->reader;
    size_t eaten = 0;

    while (eaten < n && !r->deaf) {
        if (!r->in_payload) {
            take_head(w, data[eaten++]);
        } else {
            eaten += take_payload(w, data + eaten, n - eaten);
        }
        if (r->in_payload && r->left == 0) {
            end_frame(w);
        }
    }
    ws_send_pongs(w);
    return (ssize_t)(r->deaf ? n : eaten);
}
