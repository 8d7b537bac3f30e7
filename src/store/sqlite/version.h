/*
 * The index of SQLite's write-ahead log, which all processes have mapped.  It
 * shows without a system call whether the database has changed.
 *
 * It begins with a header that every commit changes (its number, the last
 * frame, sums over all frames), in two copies of which the second is written
 * first: https://www.sqlite.org/walformat.html, 2.1.  SQLite begins each read
 * by comparing it, too.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_SQLITE_VERSION_H
#define STORE_SQLITE_VERSION_H

#include <stdint.h>

struct sqlite3;

/* Mapped as long as the connection is open, which has read something.  NULL:
 * there is none. */
const volatile uint64_t *sqlite_index_of(struct sqlite3 *handle);
/* A number that every commit changes; 0: a commit is just writing it. */
uint64_t sqlite_index_version(const volatile uint64_t *index);

#endif
