/*
 * Rows of a table as they were sent last, so that only changes are sent again.
 *
 * A round: told_begin(), for each row told_row() and its members, told_end().
 * Two texts are made together: the changes, for subscribers that have had every
 * round, and on demand the whole, for the others.
 *
 *     {"reset":true,"rows":[[NUMBER,{MEMBER: VALUE, ...}],...],"more":0}
 *     {"rows":[[NUMBER,{what differs}],...],"gone":[NUMBER,...],"more":0}
 *
 * A row's number stands for it until it is gone.  For each member a hash of its
 * text is kept: two rows or texts in 2^32 may be taken for one another, until
 * the next change.
 *
 *   told.c       the rounds
 *   told_rows.c  server, streams and sessions as rows
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_STAT_TOLD_H
#define MODULES_STAT_TOLD_H

#include "base/buf.h"

#include <stdbool.h>

#define TOLD_ROWS 1000                       /* others are counted as more */
#define TOLD_MEMBERS 20                      /* of a row */
#define TOLD_VALUE_MAX ((size_t)1024 * 1024) /* bytes of a member */

struct told;

struct told *told_new(void);
void told_free(struct told **t); /* NULL inside is fine */

/* whole: the text of all rows is wanted too. */
void told_begin(struct told *t, bool whole);
/* The next row; id identifies it.  False: there is no room for it. */
bool told_row(struct told *t, uint64_t id);
/* Its next member; always the same ones in the same order.  raw is JSON. */
void told_int(struct told *t, const char *name, int64_t value);
void told_str(struct told *t, const char *name, struct str value);
void told_raw(struct told *t, const char *name, struct str raw);
/* Adds the text to each; changes is left alone if nothing differs, and whole
 * if that was not wanted. */
void told_end(struct told *t, struct buf *changes, struct buf *whole);

/* A number as people read it: its first three digits. */
uint64_t told_rounded(uint64_t value);

#endif
