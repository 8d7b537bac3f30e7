/*
 * SipHash-2-4 under a random key, so that clients cannot choose names that
 * collide.  The first process that asks draws the key: the master, before it
 * forks, so that all processes have the same one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/str.h"

void hash_init(void); /* draws the key; later calls do nothing */
uint64_t hash_str(struct str s);
/* The same under a given key. */
uint64_t hash_keyed(const uint8_t key[16], struct str s);

#endif
