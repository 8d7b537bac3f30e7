/*
 * The way in which SQLite finds a database.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_SQLITE_PLACE_H
#define STORE_SQLITE_PLACE_H

/* Name of a VFS for sqlite3_open_v2(): the usual one, for which a relative
 * path stays one where its absolute form cannot be reached.  NULL is the usual
 * one: there is no other. */
const char *sqlite_place(void);

#endif
