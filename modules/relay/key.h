/*
 * Stream keys: making them, telling them from other names.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_KEY_H
#define MODULES_RELAY_KEY_H

#include "base/str.h"
#include "net/sha256.h"

#define KEY_LENGTH 48                /* characters, all of [0-9a-zA-Z] */
#define KEY_HASH (2 * DIGEST_SHA256) /* characters */

/* A new one, with a NUL behind it. */
void key_make(char key[KEY_LENGTH + 1]);
bool key_is_well_formed(struct str s);
/* Takes the same time wherever a and b differ. */
bool key_equal(struct str a, struct str b);

/* The hash by which keys are looked up: SHA-256 in hexadecimal digits, NUL
 * behind it.  A search in an index takes longer the more of the beginning is
 * right.  With keys a stranger could find one piece by piece; the time for a
 * digest shows nothing. */
void key_hash(struct str key, char hash[KEY_HASH + 1]);

#endif
