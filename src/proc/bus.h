/*
 * The bus: typed messages between processes.
 *
 * Each slot has one mailbox (a SOCK_SEQPACKET pair made before any fork): all
 * hold the sending end, its owner reads.  A message is a fixed head and up to
 * 32 KB, or a memfd above that, and may carry one descriptor; small messages
 * can share a packet.  Nobody waits: the sender queues messages that do not fit
 * the mailbox, up to a bound.  Beyond it bus_send() fails and the caller's
 * policy decides.
 *
 * The kernel says which process sent a message (SCM_CREDENTIALS), and the
 * reader compares that with the cards of the slots.  The reader drops a message
 * whose sender is not the one it names or may not send that type, and a message
 * that is longer than its type allows.  It counts and logs them, within limits.
 * The master takes no message above 32 KB, so that nobody can make it read for
 * long.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_BUS_H
#define PROC_BUS_H

#include "event/loop.h"
#include "proc/slot.h"

struct bus_message {
    uint32_t type;    /* see bus_register() */
    slot_owner from;  /* sender: slot and incarnation */
    const void *data; /* borrowed for the callback */
    size_t len;       /* bytes */
    int fd;           /* descriptor that came along, or -1; the callback
                         owns it when it sets this to -1 */
};

typedef void bus_handler(void *arg, struct bus_message *m);

/* The process that alone may send a type, by the name on its card. */
#define BUS_MASTER "master"
#define BUS_ANYBODY NULL

enum {                  /* types of the core; bus_types_new() gives more */
       BUS_READY = 1,   /* process -> master: serving */
       BUS_FAILED,      /* process -> master: text why it cannot start */
       BUS_DRAIN,       /* master -> process */
       BUS_REOPEN,      /* master -> process */
       BUS_SERVE,       /* master -> worker: accept connections from now on */
       BUS_LOG_LEVEL,   /* master -> process: int, enum log_level */
       BUS_KICK,        /* master -> process: struct kick_order */
       BUS_EXCEPTIONS,  /* master -> process: the rows of net/exceptions.h */
       BUS_SETTINGS,    /* master -> role: as its describe() wrote it */
       BUS_STORE_WRITE, /* process -> keeper; see store/bus.h */
       BUS_STORE_ANSWER,
       BUS_STORE_HELLO,
       BUS_STORE_NOTICE,
       BUS_LIVE_GIVE, /* process -> process: live/give.h */
       BUS_PEERS,     /* master -> process: one ended or is READY, see rpc.h */
       BUS_MODULE = 64,
       BUS_TYPES = 256
};

/* Master, before any fork: reserves count types in a row for messages of that
 * name ("relay.order", static) and returns the first; all processes inherit
 * them. -1 with err: the name is taken, or no types are left. bus_destroy()
 * forgets them. */
int bus_types_new(const char *name, uint32_t count, struct errmsg *err);

/* Master, before any fork; mailboxes for all slots. */
int bus_create(struct errmsg *err);
void bus_destroy(void);
/* Master, after it has reaped the process of slot: drops the messages in its
 * mailbox, with their descriptors. */
void bus_sweep(uint32_t slot);

/* Master, and each child after its fork: starts to read our mailbox. */
int bus_open(struct loop *l, struct errmsg *err);
void bus_close(void); /* drops messages that still wait to be sent */
/* Handles messages of that type from that process (a role's name, BUS_MASTER,
 * BUS_ANYBODY), of at most `most` bytes.  Before or after bus_open(); a child
 * inherits what its parent registered. */
void bus_register(uint32_t type, const char *from, size_t most,
                  bus_handler *handler, void *arg);

/* 0; -1 when there is no such process, when its mailbox and our queue are full,
 * or when data is larger than 64 MB. data and fd stay the caller's (fd may be
 * closed at once). */
int bus_send(uint32_t slot, uint32_t type, const void *data, size_t len,
             int fd);
/* The same for one of many: all but the first of a turn of the loop may wait
 * for its end, to cross the mailbox in one packet. */
int bus_send_soon(uint32_t slot, uint32_t type, const void *data, size_t len,
                  int fd);
/* Sets on_room, one a process.  It is called after bus_send() has failed for a
 * slot, once the whole queue for that slot is in its mailbox. */
void bus_on_room(void (*on_room)(uint32_t slot));

#endif
