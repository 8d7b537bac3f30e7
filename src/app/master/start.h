/*
 * The first processes, up to SERVING.
 *
 * Roles that others wait for come first, then all others.  A worker that cannot
 * start ends weir; a role that cannot is a service less (role_failure.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_START_H
#define APP_MASTER_START_H

struct master;

/* children_init() was called. */
void start_children(struct master *m);
/* A child is READY, failed, or has ended: SERVING, if nobody else is waited
 * for. */
void start_look(struct master *m);
/* Time is up. */
void start_is_late(struct master *m);
/* Weir cannot start: says why where the operator looks, and stops. */
void start_give_up(struct master *m, const char *name, const char *why);

#endif
