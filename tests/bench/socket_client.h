/*
 * One client of Socket.IO over a WebSocket, or over polling: its connections
 * and its session.  A WebSocket has one connection; polling has one for GET and
 * one for POST.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_SOCKET_CLIENT_H
#define BENCH_SOCKET_CLIENT_H

#include "sio_wire.h"
#include "socket_line.h"

enum { READ_SIZE = 1 << 18 };

enum client_state {
    CLIENT_NEW,
    CLIENT_OPENING, /* its session, until it has joined */
    CLIENT_JOINED,
    CLIENT_MUTE, /* has asked to join, and reads nothing */
    CLIENT_AWAY, /* waits to try again */
    CLIENT_GONE,
};

struct socket_client {
    enum client_state state;
    bool polling, mute;
    bool upgraded;               /* the WebSocket stands */
    bool asking;                 /* a POST is under way */
    const struct target *target; /* borrowed; of its path "/x/socket.io/" */
    struct sio_wire wire;
    struct socket_line get, post; /* a WebSocket is in get */
    struct bytes packets;         /* that wait for a POST */
    struct bytes message;         /* of a frame that is not final */
    uint32_t masks;               /* the last one */
    const char *broke;            /* why a packet could not be sent */
};

/* Of struct sio_hooks: what its wire sends, with the client as arg. */
void client_send(void *arg, const char *packet, size_t size);
/* target, polling, mute, wire.hooks and wire.space are set before; wire.arg is
 * the client, from now on. */
void client_init(struct socket_client *c, int epoll);
/* Begins, or begins anew: 0, or -1 with why. */
int client_open(struct socket_client *c, const char **why);
void client_close(struct socket_client *c);
/* One of its lines has one of these events of epoll: 0, or -1 with why, and the
 * client is over.  bytes: how many came. */
int client_turn(struct socket_client *c, struct socket_line *l, uint32_t events,
                uint8_t *buffer, size_t *bytes, const char **why);

#endif
