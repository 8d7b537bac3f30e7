/*
 * Whether a connection is let in at all: how many its address has already,
 * over all workers and protocols.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CHILD_ADMISSION_H
#define APP_CHILD_ADMISSION_H

#include "app/worker.h"
#include "net/conn.h"

void admission_start(const struct worker *w);
/* Counts it: socket->census says under what, and conn_new() takes it from
 * there.  False: it is one too many, closed, counted and said.  proto: as in
 * struct refused, what it is for. */
bool admission_allow(struct conn_socket *socket, const char *proto);
/* Closes, counts and says one that rules do not let in. */
void admission_deny(const struct conn_socket *socket, const char *proto);

#endif
