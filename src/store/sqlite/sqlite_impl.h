/*
 * Shared by the files of an SQLite connection:
 *
 *   sqlite.c     opening it, its errors
 *   statement.c  its statements
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_SQLITE_SQLITE_IMPL_H
#define STORE_SQLITE_SQLITE_IMPL_H

#include "store/sqlite/sqlite.h"

#include <limits.h>
#include <sqlite3.h>
#include <sys/types.h>

struct statement {
    sqlite3_stmt *s;         /* NULL until it is used */
    int place[STORE_PARAMS]; /* of $1, $2 ... in it; 0: it does not use that */
};

struct prepared { /* the statements of one schema */
    struct statement *items;
    size_t count;
};

struct sqlite {
    sqlite3 *handle;
    char path[PATH_MAX];
    ino_t inode;
    int64_t due, changed, log_bytes;
    const volatile uint64_t *index; /* see sqlite_version(); NULL: not known */
    int number; /* errno after the last statement; see system_error() */
    int page_size;
    struct prepared schemas[SCHEMAS_MAX];
    sqlite3_stmt *hold, *release; /* NULL until they are used */
};

/* ---- sqlite.c ---- */

/* SQLite's code as a status: of what the operator or the machine did; what is
 * left, STORE_FAILED, is a wrong statement. */
enum store_status sqlite_status(const struct sqlite *db, int rc);
/* The same, with SQLite's error, and the system's if it is the cause. */
enum store_status sqlite_explain(const struct sqlite *db, int rc,
                                 struct errmsg *why);

/* ---- statement.c ---- */

void sqlite_finalize_all(struct sqlite *db);

#endif
