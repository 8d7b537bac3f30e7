/*
 * Reports weir's state to systemd (sd_notify's datagram, without its library).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_SD_NOTIFY_H
#define APP_MASTER_SD_NOTIFY_H

#include "event/loop.h"

#include <stdbool.h>

/* Sends state ("READY=1") to the socket that NOTIFY_SOCKET names; does
 * nothing without one.  Never waits, and ignores failures. */
void sd_notify_send(const char *state);
/* A reload begins; READY=1 is its end. */
void sd_notify_reloading(void);

/* The service manager's watchdog (WATCHDOG_USEC): as long as well() is true, it
 * gets a message twice in its time.  Does nothing without one. */
void sd_notify_watchdog_start(struct loop *l, bool (*well)(void *arg),
                              void *arg);
void sd_notify_watchdog_stop(void);

#endif
