/*
 * Our own messages, laid out on the wire.
 *
 * An answer of several messages is put together here and goes out in one write.
 * Every message has a fmt 0 header with time 0, so that it does not depend on
 * earlier messages of its chunk stream.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_WORDS_H
#define RTMP_WORDS_H

#include "rtmp/amf.h"

enum message_type { /* RTMP 1.0, 5.4 and 7.1 */
                    TYPE_SET_CHUNK_SIZE = 1,
                    TYPE_ABORT = 2,
                    TYPE_ACK = 3,
                    TYPE_USER_CONTROL = 4,
                    TYPE_WINDOW_ACK_SIZE = 5,
                    TYPE_PEER_BANDWIDTH = 6,
                    TYPE_AUDIO = 8,
                    TYPE_VIDEO = 9,
                    TYPE_DATA_AMF3 = 15,
                    TYPE_COMMAND_AMF3 = 17,
                    TYPE_DATA = 18,
                    TYPE_COMMAND = 20,
                    TYPE_AGGREGATE = 22,
};

/* Events of user control messages beside enum rtmp_event (7.1.7). */
enum user_event {
    EVENT_SET_BUFFER = 3,
    EVENT_PING = 6,
    EVENT_PONG = 7,
};

struct words {
    struct buf wire;       /* whole messages, in chunks */
    struct buf body;       /* of the message that is being built */
    struct amf_writer amf; /* writes to body */
    uint32_t chunk_size;   /* of the chunks in wire */
    bool failed;           /* no memory, or far too long */
};

void words_init(struct words *w, uint32_t chunk_size);
void words_clear(struct words *w);
bool words_empty(const struct words *w); /* there is nothing to send */

/* Bytes that are on the wire before all else: C2. */
void words_put_bytes(struct words *w, const void *bytes, size_t n);
/* Protocol control messages with one number. */
void words_number(struct words *w, enum message_type type, uint32_t v);
void words_peer_bandwidth(struct words *w, uint32_t bytes);
/* Adds Set Chunk Size, and cuts all that follows by it. */
void words_chunk_size(struct words *w, uint32_t size);
/* v: a message stream id, or a ping's time. */
void words_event(struct words *w, uint16_t event, uint32_t v);
/* A player's buffer length in ms. */
void words_set_buffer(struct words *w, uint32_t stream_id, uint32_t ms);

/* The whole of Enhanced RTMP v2 in a connect object: weir passes all codecs on
 * and looks into none. */
void words_put_enhanced(struct words *w, const struct str *codecs, size_t n);
/* Begins a command (or, with tid < 0, a data message, which has no number).
 * The caller adds values through the returned writer, then words_end(). */
struct amf_writer *words_begin(struct words *w, const char *name, double tid);
void words_end(struct words *w, enum message_type type, uint32_t stream_id);

/* The content of onStatus and its kin. */
struct words_info {
    const char *level; /* "status", "error" */
    const char *code;
    struct str description;
};
/* {level, code, description} as one value. */
void words_put_info(struct words *w, const struct words_info *info);
/* Members of an object that was begun. */
void words_put_text(struct words *w, struct str name, struct str value);
void words_put_number(struct words *w, struct str name, double value);
/* onStatus on a NetStream. */
void words_status(struct words *w, uint32_t stream_id,
                  const struct words_info *info);
/* A call of the client's method: name(tid, null, {level, code, ...}). */
void words_call(struct words *w, const char *name, double tid,
                uint32_t stream_id, const struct words_info *info);
/* _result(tid, null, null), and with a number. */
void words_result(struct words *w, double tid);
void words_result_number(struct words *w, double tid, double v);

#endif
