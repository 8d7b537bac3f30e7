/*
 * A connection to the SQLite database and the statements prepared on it.
 *
 * Used by one thread at a time.  It works in the sandbox, because it opens all
 * files at once: database, write-ahead log and its index.  Temporary tables are
 * in memory.
 *
 *   reader.c  uses it in a process that asks, for reads
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_SQLITE_SQLITE_H
#define STORE_SQLITE_SQLITE_H

#include "store/rows.h"
#include "store/schema.h"

struct sqlite;

/* For the keeper: the database is made if it is not there; every commit is on
 * the disk.  Other processes read only, and fail when it is not there.  NULL
 * with err. */
struct sqlite *sqlite_open(struct str path, bool writes, struct errmsg *err);
/* NULL inside is fine. */
void sqlite_close(struct sqlite **db);

/* Sets how long statements wait for another process's lock; 0: STORE_BUSY at
 * once. */
void sqlite_patience(struct sqlite *db, int ms);
/* clock_ms() at which a statement that still runs ends with STORE_DOWN; 0:
 * never. */
void sqlite_deadline(struct sqlite *db, int64_t due);

/* Several statements without rows: migrations.  -1 with err. */
int sqlite_script(struct sqlite *db, const char *sql, struct errmsg *err);

/* A statement of a schema; it is prepared once.  Its rows are a step more
 * of *rows, within their limit; NULL: they are dropped.  STORE_BUSY: another
 * process has a lock; else `why` has the error unless it is STORE_OK. */
enum store_status sqlite_run(struct sqlite *db, struct schema_place place,
                             const struct store_value *params, size_t count,
                             struct rows *rows, struct errmsg *why);
int64_t sqlite_changed(const struct sqlite *db); /* by the last run */
/* The same with any text, not kept. */
enum store_status sqlite_query(struct sqlite *db, const char *sql,
                               const struct store_value *params, size_t count,
                               struct rows *rows, struct errmsg *why);

/* Prepares all statements of all schemas, so that a wrong one is found now. */
int sqlite_prepare_all(struct sqlite *db, struct errmsg *err);

/* Between these two, reads see the database as the first of them does, and take
 * its locks once for all.  Nothing is held before the first of them. */
void sqlite_hold(struct sqlite *db);
void sqlite_release(struct sqlite *db);

/* Whether a transaction is open: SQLite itself ends it after some errors. */
bool sqlite_in_transaction(const struct sqlite *db);
/* Whether the open file is still the one at the path. */
bool sqlite_in_place(const struct sqlite *db);

/* A number for the state of the database that the next read would see; 0: it
 * is just being changed, or not known. */
uint64_t sqlite_version(struct sqlite *db);

/* Bytes of the write-ahead log that are in use, after the last commit. */
int64_t sqlite_log_bytes(const struct sqlite *db);
/* Copies the log to the database.  whole: waits for readers to leave it and
 * begins it anew.  true: all of it was copied. */
bool sqlite_checkpoint(struct sqlite *db, bool whole);

#endif
