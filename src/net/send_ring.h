/*
 * Many sends in one system call: a ring of io_uring(7).
 *
 * Entering and leaving the kernel is a tenth of what a send on a socket costs
 * and more on small ones; a pass over a thousand players pays it sixteen times
 * instead of a thousand.  The ring does nothing else: each send has
 * MSG_DONTWAIT, so the kernel makes it before the call returns or not at all,
 * and nothing is left under way.
 *
 * An attacker who controls the process gains nothing by the ring.  We make it
 * disabled, restrict it to SEND and SENDMSG without flags and without anything
 * to register, and only then enable it; that cannot be taken back.  Once it is
 * open, a system call filter may deny io_uring_setup and io_uring_register, but
 * must allow io_uring_enter.
 *
 * It belongs to the thread that opened it, so it is opened after the fork.  A
 * ring that the kernel serves no more sends with send() and sendmsg().
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_SEND_RING_H
#define NET_SEND_RING_H

#include "base/errmsg.h"

#include <stdbool.h>
#include <sys/socket.h>

/* Sends in one system call at most.  More save nothing measurable, and the
 * state of the first sockets would have left the cache when results come. */
#define SEND_RING_SIZE 64

struct send_ring;

/* NULL with err where the kernel has no io_uring (before 6.1) or it is denied
 * (kernel.io_uring_disabled, a system call filter). */
struct send_ring *send_ring_open(struct errmsg *err);
void send_ring_close(struct send_ring **r);

bool send_ring_empty(const struct send_ring *r);
bool send_ring_full(const struct send_ring *r);

/* Asks for a send of m->msg_iov to a socket.  Several may share one m.  fd
 * stays open, and m and what it points to stay as they are, until
 * send_ring_flush() has returned.  The ring must not be full, and not be in
 * a flush. */
void send_ring_add(struct send_ring *r, int fd, const struct msghdr *m,
                   void *arg);

/* sent: bytes the socket took, or -errno (-EAGAIN: it is full). */
typedef void send_ring_done(void *arg, ssize_t sent);

/* Makes all sends, then calls on_sent for each, in the order they were added.
 * on_sent may close any descriptor; a flush inside it does nothing. */
void send_ring_flush(struct send_ring *r, send_ring_done *on_sent);

#endif
