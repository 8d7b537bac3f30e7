/*
 * A listening socket that begins no connection any more, but finishes those
 * that have begun.
 *
 * Closing a listening socket resets what waits in its queue and what comes
 * there from half a handshake, and between the last accept() and close() there
 * is always time for one more.  So a filter drops the first packet of
 * handshakes first, which the client sends again a second later, when it is
 * refused by the closed port; all other packets go on as before.
 *
 * The filter belongs to the socket, whoever has a descriptor of it: so it also
 * tells a child that the master is about to close it.  Connections of a unix
 * socket begin and end in connect() and know no filter: there it only tells.
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
