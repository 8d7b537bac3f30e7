/*
 * One RTMP connection as a client: simple handshake, connect, createStream,
 * and then play or publish.
 *
 * The owner does the reading and hands the bytes over; what the client has to
 * say is small and is sent at once. Nothing waits longer than the protocol
 * asks: C2, connect and createStream leave together.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_RTMP_CLIENT_H
#define BENCH_RTMP_CLIENT_H

#include "chunk_reader.h"
#include "target.h"

enum rtmp_role { ROLE_PLAY, ROLE_PUBLISH };

enum rtmp_state {
    RTMP_HANDSHAKE, /* until S2 is here */
    RTMP_CONNECTED, /* connect and createStream are on their way */
    RTMP_ASKED,     /* so is play or publish */
    RTMP_RUNNING,   /* the server said Play.Start or Publish.Start */
    RTMP_ENDED,     /* the server said that the stream has ended */
    RTMP_FAILED,    /* why tells */
};

struct rtmp_client {
    int fd; /* borrowed */
    enum rtmp_role role;
    enum rtmp_state state;
    const struct target *target; /* borrowed */
    unsigned stream;             /* its number, for the name */
    uint32_t chunk_size;         /* of what is sent */
    uint32_t msid;
    int64_t asked; /* when play or publish was sent, ns; 0 before */
    void (*on_media)(void *context, const struct media *m);
    void *context;  /* borrowed */
    uint8_t *hello; /* owned; S0, S1 and S2, while they come in */
    uint32_t hello_size;
    uint32_t window; /* acknowledge every so many bytes; 0: never */
    uint64_t received;
    uint64_t acknowledged;
    struct chunk_reader reader;
    char why[128];
};

/* role, target, stream, chunk_size, on_media and context are set before. */
void rtmp_client_init(struct rtmp_client *c);
void rtmp_client_clear(struct rtmp_client *c);
/* The connection stands: sends C0 and C1. 0, or -1 and why. */
int rtmp_client_start(struct rtmp_client *c, int fd);
/* Takes what was received. 0, or -1 and why. */
int rtmp_client_feed(struct rtmp_client *c, const uint8_t *p, size_t n);

#endif
