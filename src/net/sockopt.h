/*
 * Options that listeners and connections set alike.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_SOCKOPT_H
#define NET_SOCKOPT_H

/* Probes a silent TCP peer after 60 s, then every 15 s; four unanswered end
 * the connection.  A load balancer that forgets idle connections (350 s and
 * less are usual) sees them as alive. */
void socket_keep_alive(int fd);

#endif
