/*
 * Our own messages, laid out on the wire.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rtmp/words.h"

#include "base/bytes.h"
#include "media/media.h"

/* No answer comes near it; what clients name is cut before it gets here. */
#define WORDS_MAX 32768

/* Enhanced RTMP v2: bits of capsEx, and of a FourCC info map. */
enum {
    CAPS_MULTITRACK = 2,
    CAPS_MOD_EX = 4,
    FOURCC_CAN_FORWARD = 4,
};

/* Peer bandwidth limit types: hard 0, soft 1, dynamic 2 (RTMP 1.0, 5.4.5) */
#define LIMIT_DYNAMIC 2

void
words_init(struct words *w, uint32_t chunk_size)
{
    buf_init(&w->wire, WORDS_MAX);
    buf_init(&w->body, WORDS_MAX);
    w->amf = (struct amf_writer){ &w->body, false };
    w->chunk_size = chunk_size;
    w->failed = false;
}

void
words_clear(struct words *w)
{
    buf_clear(&w->wire);
    buf_clear(&w->body);
}

bool
words_empty(const struct words *w)
{
    return buf_len(&w->wire) == 0 && !w->failed;
}

static void
put(struct words *w, const void *data, size_t n)
{
    if (!w->failed && buf_add(&w->wire, data, n) == -1) {
        w->failed = true;
    }
}

void
words_put_bytes(struct words *w, const void *bytes, size_t n)
{
    put(w, bytes, n);
}

static uint8_t
csid_of(enum message_type type)
{
    if (type == TYPE_COMMAND) {
        return CSID_COMMAND;
    }
    return type == TYPE_DATA ? CSID_DATA : CSID_CONTROL;
}

static void
put_message(struct words *w, enum message_type type, uint32_t stream_id,
            struct str body)
{
    uint8_t csid = csid_of(type);
    uint8_t head[12] = { csid };
    uint8_t again = (uint8_t)(0xc0 | csid);
    put_be24(head + 4, (uint32_t)body.len);
    head[7] = (uint8_t)type;
    put_le32(head + 8, stream_id);
    put(w, head, sizeof(head));
    while (body.len > w->chunk_size) {
        put(w, body.ptr, w->chunk_size);
        put(w, &again, 1);
        body = str_skip(body, w->chunk_size);
    }
    put(w, body.ptr, body.len);
}

void
words_number(struct words *w, enum message_type type, uint32_t v)
{
    uint8_t body[4];
    put_be32(body, v);
    put_message(w, type, 0, str_of(body, sizeof(body)));
}

void
words_peer_bandwidth(struct words *w, uint32_t bytes)
{
    uint8_t body[5];
    put_be32(body, bytes);
    body[4] = LIMIT_DYNAMIC;
    put_message(w, TYPE_PEER_BANDWIDTH, 0, str_of(body, sizeof(body)));
}

void
words_chunk_size(struct words *w, uint32_t size)
{
    words_number(w, TYPE_SET_CHUNK_SIZE, size);
    w->chunk_size = size;
}

void
words_event(struct words *w, uint16_t event, uint32_t v)
{
    uint8_t body[6];
    put_be16(body, event);
    put_be32(body + 2, v);
    put_message(w, TYPE_USER_CONTROL, 0, str_of(body, sizeof(body)));
}

void
words_set_buffer(struct words *w, uint32_t stream_id, uint32_t ms)
{
    uint8_t body[10];
    put_be16(body, EVENT_SET_BUFFER);
    put_be32(body + 2, stream_id);
    put_be32(body + 6, ms);
    put_message(w, TYPE_USER_CONTROL, 0, str_of(body, sizeof(body)));
}

struct amf_writer *
words_begin(struct words *w, const char *name, double tid)
{
    buf_take(&w->body, buf_len(&w->body));
    amf_put_string(&w->amf, str_from(name));
    if (tid >= 0) {
        amf_put_number(&w->amf, tid);
    }
    return &w->amf;
}

void
words_end(struct words *w, enum message_type type, uint32_t stream_id)
{
    if (w->amf.failed) {
        w->failed = true;
    }
    put_message(w, type, stream_id, buf_str(&w->body));
}

void
words_put_text(struct words *w, struct str name, struct str value)
{
    amf_put_name(&w->amf, name);
    amf_put_string(&w->amf, value);
}

void
words_put_number(struct words *w, struct str name, double value)
{
    amf_put_name(&w->amf, name);
    amf_put_number(&w->amf, value);
}

void
words_put_info(struct words *w, const struct words_info *info)
{
    amf_begin_object(&w->amf);
    words_put_text(w, STR("level"), str_from(info->level));
    words_put_text(w, STR("code"), str_from(info->code));
    words_put_text(w, STR("description"), info->description);
    amf_end_object(&w->amf);
}

static void
put_fourcc_map(struct words *w, struct str name)
{
    amf_put_name(&w->amf, name);
    amf_begin_object(&w->amf);
    words_put_number(w, STR("*"), FOURCC_CAN_FORWARD);
    amf_end_object(&w->amf);
}

void
words_put_enhanced(struct words *w, const struct str *codecs, size_t n)
{
    amf_put_name(&w->amf, STR("fourCcList"));
    amf_begin_array(&w->amf, (uint32_t)n);
    for (size_t i = 0; i < n; i++) {
        amf_put_string(&w->amf, codecs[i]);
    }
    put_fourcc_map(w, STR("videoFourCcInfoMap"));
    put_fourcc_map(w, STR("audioFourCcInfoMap"));
    words_put_number(w, STR("capsEx"), CAPS_MULTITRACK | CAPS_MOD_EX);
}

void
words_call(struct words *w, const char *name, double tid, uint32_t stream_id,
           const struct words_info *info)
{
    amf_put_null(words_begin(w, name, tid));
    words_put_info(w, info);
    words_end(w, TYPE_COMMAND, stream_id);
}

void
words_status(struct words *w, uint32_t stream_id, const struct words_info *info)
{
    words_call(w, "onStatus", 0, stream_id, info);
}

void
words_result(struct words *w, double tid)
{
    struct amf_writer *amf = words_begin(w, "_result", tid);
    amf_put_null(amf);
    amf_put_null(amf);
    words_end(w, TYPE_COMMAND, 0);
}

void
words_result_number(struct words *w, double tid, double v)
{
    struct amf_writer *amf = words_begin(w, "_result", tid);
    amf_put_null(amf);
    amf_put_number(amf, v);
    words_end(w, TYPE_COMMAND, 0);
}
