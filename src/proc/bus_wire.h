/*
 * Messages of the bus as they cross a mailbox.
 *
 * A packet is what one sendmsg() takes and one recvmsg() gets: one message, or
 * several without descriptors, each of which begins at a multiple of 8 bytes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_BUS_WIRE_H
#define PROC_BUS_WIRE_H

#include "base/str.h"
#include "proc/slot.h"

#include <stddef.h>

#define BUS_INLINE 32768 /* bytes that travel in the message itself */
#define BUS_FDS 2        /* descriptors at most: data, and the caller's */

enum { BUS_BIG = 1, BUS_WITH_FD = 2 }; /* flags: which descriptors came along */

struct bus_head {
    uint32_t magic;
    uint32_t type;
    slot_owner from, to;
    uint64_t len; /* bytes of data: behind the head, or in the memfd */
    uint32_t flags;
    uint32_t unused;
};

/* Bytes of a packet, at most. */
#define BUS_BUFFER (BUS_INLINE + sizeof(struct bus_head))

struct bus_wire {
    struct bus_head head;
    const void *data; /* inline part */
    int fds[BUS_FDS]; /* in the order of the flags */
    unsigned fd_count;
    pid_t pid; /* of the sender, as the kernel knows it; 0: it does not say */
    struct str rest; /* received: what came behind it in its packet */
};

/* 0; -1 with errno (EAGAIN: the mailbox is full). */
int bus_wire_send(int fd, const struct bus_wire *w);

/* Writes w as it crosses a mailbox; returns bus_wire_size(w) bytes. */
size_t bus_wire_pack(uint8_t *dst, const struct bus_wire *w);
size_t bus_wire_size(const struct bus_wire *w);
/* As bus_wire_send(), of what was packed, one behind the other; descriptors
 * only with a single message. */
int bus_wire_send_packed(int fd, const uint8_t *bytes, size_t len,
                         const int *fds, unsigned fd_count);

enum bus_came {
    BUS_NOTHING,
    BUS_MESSAGE,
    BUS_DAMAGED, /* logged, its descriptors closed */
    BUS_ENDED,   /* nothing will ever come again */
};

/* Reads a packet into buffer (BUS_BUFFER bytes) and makes its first message w;
 * w->data points there and the caller owns w->fds. */
enum bus_came bus_wire_recv(int fd, uint8_t *buffer, struct bus_wire *w);
/* Makes the next message of the same packet w; false: that was the last. */
bool bus_wire_next(struct bus_wire *w);

void bus_wire_close(struct bus_wire *w); /* its descriptors */
/* Closes a received descriptor of any kind, without ever waiting. */
void bus_wire_close_fd(int fd);

/* A memfd with a copy of data; -1 with errno. */
int bus_wire_store(const void *data, size_t len);
/* A copy of the memfd's bytes, which the caller frees.  NULL when fd is shorter
 * than len or is no memfd, or when memory is out. */
void *bus_wire_load(int fd, size_t len);

#endif
