/*
 * The state that the operator has set for this node: one word that all
 * processes share.
 *
 * "set state" of the control socket writes it and /readyz shows it to load
 * balancers.  It outlives reloads, not a restart.  It stops nothing by itself:
 * connections go on and new ones are accepted.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_NODE_STATE_H
#define APP_NODE_STATE_H

#include "base/errmsg.h"

enum node_state {
    NODE_READY, /* takes traffic */
    NODE_DRAIN, /* balancers should send nothing new */
    NODE_MAINT, /* the same; an operator works on it */
};

/* Master, before any fork.  A second call does nothing. */
int node_state_create(struct errmsg *err);
void node_state_destroy(void);

/* Any process.  NODE_READY while it is not made. */
enum node_state node_state(void);
void node_state_set(enum node_state state);
const char *node_state_name(enum node_state state); /* "ready" */

#endif
