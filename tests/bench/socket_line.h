/*
 * A connection of a client of many: what it has received and not eaten, what it
 * has to send.  It does not block.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_SOCKET_LINE_H
#define BENCH_SOCKET_LINE_H

#include "target.h"

#include <stdint.h>
#include <sys/types.h>

struct bytes {
    uint8_t *start; /* owned */
    size_t size, room;
};

void bytes_add(struct bytes *b, const void *from, size_t n);
/* Takes n of them off the front. */
void bytes_cut(struct bytes *b, size_t n);
void bytes_clear(struct bytes *b);

struct socket_line {
    void *owner;
    int epoll;       /* borrowed */
    int fd;          /* -1: closed */
    bool connecting; /* its first writable turn is its connection */
    bool deaf;       /* nothing is read; its end is seen */
    struct bytes in, out;
};

/* owner and epoll are set before. */
void line_init(struct socket_line *l);
/* Connects: 0, or -1 with errno. */
int line_open(struct socket_line *l, const struct target *t);
void line_close(struct socket_line *l);
/* It is writable: 0, or an errno: it could not connect. */
int line_connected(struct socket_line *l);
/* Sends as much as goes, keeps the rest: 0, or -1 with errno. */
int line_send(struct socket_line *l, const void *from, size_t n);
int line_flush(struct socket_line *l);
/* Receives once by way of buffer: bytes behind those that wait stand in l->in
 * after it.  0: nothing now; -1: the connection ended, with errno 0, or
 * broke. */
ssize_t line_receive(struct socket_line *l, uint8_t *buffer, size_t room);

#endif
