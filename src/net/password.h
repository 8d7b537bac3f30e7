/*
 * Hashed passwords by libxcrypt, which only this file includes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef NET_PASSWORD_H
#define NET_PASSWORD_H

#include "base/str.h"

#include <stdbool.h>

#define PASSWORD_MAX 512      /* bytes of one (CRYPT_MAX_PASSPHRASE_SIZE) */
#define PASSWORD_HASH_MAX 384 /* bytes of a hash */

/* Whether it is a whole hash of a kind we take: bcrypt ($2a$, $2b$, $2y$),
 * SHA-256 ($5$), SHA-512 ($6$), yescrypt ($y$). */
bool password_hash_ok(struct str hash);
/* Whether the password has that hash.  Takes long on purpose (tens of ms and
 * more): not on a loop.  Any thread. */
bool password_fits(struct str password, struct str hash);

#endif
