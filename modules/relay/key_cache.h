/*
 * Keys that were good in this worker lately: they are accepted for a while when
 * the store does not answer.
 *
 * Bounded; the key that was seen longest ago makes room.  It has no keys, only
 * their hashes.  A key that may have changed is taken out, or looked up again.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_KEY_CACHE_H
#define MODULES_RELAY_KEY_CACHE_H

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
/* Some keys may have changed: asks the store for all, one after the other. */
void grace_check_all(void);

#endif
