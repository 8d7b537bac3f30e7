/*
 * Admits connections by the number that their address has already, over all
 * workers and protocols.  Of worker_connections an address has half at most
 * (net/share.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CHILD_ADMISSION_H
#define APP_CHILD_ADMISSION_H

#include "app/worker.h"
#include "net/conn.h"

void admission_start(const struct worker *w);
/* Counts the connection and sets socket->census to the key, which conn_new()
 * takes over.  False: it is one too many; it was closed, counted and logged.
 * proto: the protocol's name, as in struct refused. */
bool admission_allow(struct conn_socket *socket, const char *proto);
/* Closes, counts and logs a connection that rules do not let in. */
void admission_deny(const struct conn_socket *socket, const char *proto);

#endif
