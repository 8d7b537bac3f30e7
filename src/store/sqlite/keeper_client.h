/*
 * The way of writes to the keeper and of its answers back.
 *
 * Calls are sent in their order and stay here until they are answered.  When a
 * new keeper has started, all unanswered calls are sent to it again, in order
 * and marked so.  It answers those that its predecessor had done from its
 * ledger.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_SQLITE_KEEPER_CLIENT_H
#define STORE_SQLITE_KEEPER_CLIENT_H

#include "store/call.h"

void link_open(void);
void link_write(struct store_call *c);
/* Checks whether the keeper lives, sends waiting calls. */
void link_tick(void);
/* Whether there is a keeper, as far as this process knows. */
bool link_is_up(void);

#endif
