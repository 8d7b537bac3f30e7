/*
 * The way of writes to the keeper and of its answers back.
 *
 * Calls are sent in their order and stay here until they are answered.  When
 * the keeper is another one than before, all that it has not answered is sent
 * again, in order and marked so: what its predecessor had done it answers
 * from its ledger.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_SQLITE_LINK_H
#define STORE_SQLITE_LINK_H

#include "store/call.h"

void link_open(void);
void link_write(struct store_call *c);
/* Looks whether the keeper lives, sends what waits. */
void link_tick(void);
/* Whether there is a keeper, as far as this process knows. */
bool link_is_up(void);

#endif
