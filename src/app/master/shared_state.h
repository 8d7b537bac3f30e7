/*
 * All that the master makes before its first fork and all processes share: pid
 * file, slots, bus, log rings, life pipe, hash key, the node's state, ticket
 * keys, counts of clients, the arena.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_SHARED_STATE_H
#define APP_MASTER_SHARED_STATE_H

#include "app/generation.h"
#include "app/module.h"

/* Makes all of it, for a weir with these settings and the modules' roles.
 * -1 with err: shared_state_destroy() is still to be called. */
int shared_state_create(const struct generation *g,
                        const struct module *const *table, struct errmsg *err);
/* The log files are open: from now on log lines go through the rings. */
int shared_state_start(const struct generation *g, struct errmsg *err);
/* Raises the limit of open files as far as g wants and the system allows;
 * children inherit it. */
void shared_state_limit(const struct generation *g);
/* For each generation that is opened, before its workers are forked: what they
 * share gets its names. */
void shared_state_learn(const struct generation *g,
                        const struct module *const *table);
void shared_state_destroy(void);

#endif
