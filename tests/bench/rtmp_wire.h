/*
 * RTMP as it goes out: messages cut into chunks, and the control messages and
 * commands a client or the bare loop sends. Numbers are those of the Adobe
 * RTMP specification 1.0.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_RTMP_WIRE_H
#define BENCH_RTMP_WIRE_H

#include <stddef.h>
#include <stdint.h>

enum rtmp_type { /* message types: sections 5.4 and 7.1 */
                 RTMP_SET_CHUNK_SIZE = 1,
                 RTMP_ABORT = 2,
                 RTMP_ACK = 3,
                 RTMP_USER_CONTROL = 4,
                 RTMP_WINDOW_ACK_SIZE = 5,
                 RTMP_PEER_BANDWIDTH = 6,
                 RTMP_AUDIO = 8,
                 RTMP_VIDEO = 9,
                 RTMP_DATA_AMF3 = 15,
                 RTMP_COMMAND_AMF3 = 17,
                 RTMP_DATA = 18,
                 RTMP_COMMAND = 20,
                 RTMP_AGGREGATE = 22,
};

enum { /* chunk streams this tool writes on */
       CSID_CONTROL = 2,
       CSID_COMMAND = 3,
       CSID_DATA = 5,
       CSID_AUDIO = 6,
       CSID_VIDEO = 7,
};

enum {
    RTMP_DEFAULT_CHUNK = 128,
    RTMP_HELLO = 1536,                /* C1, S1, C2 and S2 */
    RTMP_MAX_MESSAGE = (1 << 24) - 1, /* its length has 24 bits */
};

/* What stands before a message. */
struct rtmp_head {
    uint32_t csid; /* 2 to 63 */
    enum rtmp_type type;
    uint32_t msid;
    uint32_t timestamp;
};

/* Most bytes a message of size bytes takes in chunks. */
size_t rtmp_room(size_t size, uint32_t chunk_size);
/* Writes the whole message (fmt 0, then fmt 3) and returns the byte after
 * it. */
uint8_t *rtmp_put(uint8_t *p, const struct rtmp_head *head, const uint8_t *body,
                  size_t size, uint32_t chunk_size);
/* A control message whose body is one 32-bit number. */
uint8_t *rtmp_put_control(uint8_t *p, enum rtmp_type type, uint32_t value);
/* User control: an event with one or two numbers (section 7.1.7). */
uint8_t *rtmp_put_event(uint8_t *p, uint32_t event, uint32_t first);
uint8_t *rtmp_put_buffer_length(uint8_t *p, uint32_t msid, uint32_t ms);
/* A command of fewer than 64 KiB on the command chunk stream. */
uint8_t *rtmp_put_command(uint8_t *p, uint32_t msid, const uint8_t *body,
                          size_t size, uint32_t chunk_size);

enum { EVENT_STREAM_BEGIN = 0, EVENT_BUFFER_LENGTH = 3 };
enum { EVENT_PING = 6, EVENT_PONG = 7 };

#endif
