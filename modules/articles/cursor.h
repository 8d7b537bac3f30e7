/*
 * Cursors: the end of a page, where the next one begins.
 *
 * To clients they are opaque.  They are signed with a secret of the store and
 * bound to the list that was asked for, so that every node of one store accepts
 * only those that were given out.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_ARTICLES_CURSOR_H
#define MODULES_ARTICLES_CURSOR_H

#include "base/pool.h"

struct digest_key; /* net/sha256.h */

#define CURSOR_TEXT 45 /* 33 bytes in base64url, and a NUL */

struct cursor { /* the last row that was shown */
    int64_t created_at;
    int64_t id;
};

/* secret: the key that signs; filter: the choice of the list ("articles",
 * "author 7"). */
void cursor_write(char dst[CURSOR_TEXT], const struct cursor *c,
                  struct digest_key *secret, struct str filter);
/* False: it was not made by cursor_write() with these. */
bool cursor_read(struct pool *pool, struct str text, struct digest_key *secret,
                 struct str filter, struct cursor *out);

#endif
