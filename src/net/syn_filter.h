/*
 * A listening socket that begins no connection any more, but finishes those
 * that have begun.
 *
 * Closing a listening socket resets the connections in its queue and those in
 * the middle of a handshake, and between the last accept() and close() there is
 * always time for one more.  So a filter first drops the opening packet of each
 * new handshake.  The client sends it again a second later, when the closed
 * port refuses it.  All other packets go on as before.
 *
 * The filter belongs to the socket and is seen through every descriptor of it.
 * So it also tells a child that the master is about to close the socket.  A
 * unix socket is connected within connect(), where no filter acts: there the
 * filter only tells the child.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_SYN_FILTER_H
#define NET_SYN_FILTER_H

#include <stdbool.h>

/* -1: the system has no filters, and nothing has changed. */
int syn_filter_attach(int fd);
void syn_filter_detach(int fd);
bool syn_filter_is_there(int fd);

#endif
