/*
 * Keys that this worker has lately seen to be good: they still let in for a
 * while when the store cannot be asked.
 *
 * Bounded; what was seen longest ago makes room.  It has no keys, only their
 * hashes.  When a key may have changed it is taken out, or asked for again.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_GRACE_H
#define MODULES_RELAY_GRACE_H

#include "key.h"

#define GRACE_KEYS 1024 /* of a worker, at most */

/* The key with that hash was good for room just now. */
void grace_remember(const char hash[KEY_HASH + 1], struct str room,
                    int64_t now_ms);
/* The room of a key that was seen at most max_age ms ago; else false. */
bool grace_find(const char hash[KEY_HASH + 1], int64_t now_ms, int64_t max_age,
                struct str *room);
/* The room's key has changed. */
void grace_forget(struct str room);
/* It is not known which have: asks the store, one after the other. */
void grace_check_all(void);

#endif
