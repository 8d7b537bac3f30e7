/*
 * Telling systemd how we are (sd_notify's datagram, without its library).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_NOTIFY_H
#define APP_NOTIFY_H

/* Sends state ("READY=1") to the socket that NOTIFY_SOCKET names; does
 * nothing without one.  Never waits; failing is nobody's trouble. */
void notify_send(const char *state);

#endif
