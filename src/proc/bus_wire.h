/*
 * One message of the bus as it crosses a mailbox.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_BUS_WIRE_H
#define PROC_BUS_WIRE_H

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

struct bus_wire {
    struct bus_head head;
    const void *data; /* inline part */
    int fds[BUS_FDS]; /* in the order of the flags */
    unsigned fd_count;
    pid_t pid; /* of the sender, as the kernel knows it; 0: it does not say */
};

/* 0; -1 with errno (EAGAIN: the mailbox is full). */
int bus_wire_send(int fd, const struct bus_wire *w);

enum bus_came {
    BUS_NOTHING,
    BUS_MESSAGE,
    BUS_DAMAGED, /* logged, its descriptors closed */
    BUS_ENDED,   /* nothing will ever come again */
};

/* Reads one message into buffer (BUS_INLINE + sizeof(struct bus_head) bytes);
 * w->data points there and the caller owns w->fds. */
enum bus_came bus_wire_recv(int fd, uint8_t *buffer, struct bus_wire *w);

void bus_wire_close(struct bus_wire *w); /* its descriptors */
/* Closes a received descriptor of any kind, without ever waiting. */
void bus_wire_close_fd(int fd);

/* A memfd with a copy of data; -1 with errno. */
int bus_wire_store(const void *data, size_t len);
/* A copy of the memfd's bytes, which the caller frees.  NULL when fd is shorter
 * than len or is no memfd, or when memory is out. */
void *bus_wire_load(int fd, size_t len);

#endif
