/*
 * An SQLite connection: opening it, its errors.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/sqlite/sqlite_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/mem.h"
#include "proc/reach.h"
#include "store/sqlite/place.h"
#include "store/sqlite/version.h"

#define WEIR_ID 0x77656972         /* "weir": the database's application_id */
#define FORMAT 1                   /* its user_version */
#define LOG_LIMIT_BYTES (16 << 20) /* what a log is cut to when it begins */
#define LOOK_OPS 1000              /* of the virtual machine */
#define CACHE_KB 16384             /* pages of a reader, until a commit */

/* ---- errors ---- */

static bool
is_no_room(int number)
{
    return number == ENOSPC || number == EDQUOT || number == EFBIG;
}

/* SQLite tells the system's error of statements, but not of COMMIT. */
static int
system_error(const struct sqlite *db)
{
    int told = sqlite3_system_errno(db->handle);

    return told != 0 ? told : db->number;
}

enum store_status
sqlite_status(const struct sqlite *db, int rc)
{
    switch (rc & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return STORE_OK;
    case SQLITE_FULL:
        return STORE_FULL;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:
        return STORE_BUSY;
    case SQLITE_IOERR:
        return is_no_room(system_error(db)) ? STORE_FULL : STORE_DOWN;
    case SQLITE_CONSTRAINT:
        return rc == SQLITE_CONSTRAINT_UNIQUE ||
                       rc == SQLITE_CONSTRAINT_PRIMARYKEY ||
                       rc == SQLITE_CONSTRAINT_ROWID
                   ? STORE_CONFLICT
                   : STORE_FAILED;
    case SQLITE_NOMEM:
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_INTERRUPT:
        return STORE_DOWN;
    default:
        return STORE_FAILED;
    }
}

enum store_status
sqlite_explain(const struct sqlite *db, int rc, struct errmsg *why)
{
    int number = system_error(db);
    int kind = rc & 0xff;

    errmsg_set(why, "%s", sqlite3_errmsg(db->handle));
    if ((kind == SQLITE_IOERR || kind == SQLITE_CANTOPEN) && number != 0) {
        errmsg_set(why, "%s: %s", sqlite3_errstr(rc), strerror(number));
    }
    return sqlite_status(db, rc);
}

static int
on_progress(void *arg)
{
    const struct sqlite *db = arg;

    return db->due != 0 && clock_ms() > db->due;
}

static int
on_commit(void *arg, sqlite3 *handle, const char *name, int pages)
{
    struct sqlite *db = arg;

    (void)handle;
    (void)name;
    db->log_bytes = (int64_t)pages * db->page_size;
    return SQLITE_OK;
}

int
sqlite_script(struct sqlite *db, const char *sql, struct errmsg *err)
{
    int rc = sqlite3_exec(db->handle, sql, NULL, NULL, NULL);

    if (rc != SQLITE_OK) {
        sqlite_explain(db, rc, err);
        return -1;
    }
    return 0;
}

/* ---- opening ---- */

/* A number that a PRAGMA or a count gives; -1 with err. */
static int64_t
number_of(struct sqlite *db, const char *sql, struct errmsg *err)
{
    sqlite3_stmt *s = NULL;
    int64_t n = -1;
    int rc = sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL);

    if (rc == SQLITE_OK) {
        rc = sqlite3_step(s);
    }
    if (rc == SQLITE_ROW) {
        n = sqlite3_column_int64(s, 0);
    } else {
        sqlite_explain(db, rc, err);
    }
    sqlite3_finalize(s);
    return n;
}

/* An empty database becomes ours.  Its first page is written without a
 * journal beside it, for which the folder may have no room or right. */
static int
make_ours(struct sqlite *db, struct errmsg *err)
{
    char sql[160];

    snprintf(sql, sizeof(sql),
             "PRAGMA journal_mode = MEMORY; PRAGMA application_id = %d;"
             "PRAGMA user_version = %d",
             WEIR_ID, FORMAT);
    return sqlite_script(db, sql, err);
}

static int
check_ours(struct sqlite *db, bool writes, struct errmsg *err)
{
    int64_t tables = number_of(db, "SELECT count(*) FROM sqlite_schema", err);
    int64_t id =
        tables == -1 ? -1 : number_of(db, "PRAGMA application_id", err);
    int64_t format = id == -1 ? -1 : number_of(db, "PRAGMA user_version", err);

    if (format == -1) {
        return -1;
    }
    if (writes && tables == 0 && id == 0) {
        return make_ours(db, err);
    }
    if (id != WEIR_ID) {
        return errmsg_set(err, "it is a database of another program");
    }
    if (format > FORMAT) {
        return errmsg_set(err,
                          "a newer weir made it: format %lld, this weir "
                          "knows %d",
                          (long long)format, FORMAT);
    }
    return 0;
}

static int
set_up_writer(struct sqlite *db, struct errmsg *err)
{
    char limit[64];

    snprintf(limit, sizeof(limit), "PRAGMA journal_size_limit = %d",
             LOG_LIMIT_BYTES);
    if (sqlite_script(db,
                      "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                      "PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 0",
                      err) == -1 ||
        sqlite_script(db, limit, err) == -1) {
        return -1;
    }
    if (number_of(db,
                  "SELECT count(*) FROM pragma_journal_mode "
                  "WHERE journal_mode = 'wal'",
                  err) != 1) {
        return errmsg_set(err, "a write-ahead log cannot be used there");
    }
    db->page_size = (int)number_of(db, "PRAGMA page_size", err);
    sqlite3_wal_hook(db->handle, on_commit, db);
    return db->page_size == -1 ? -1 : 0;
}

static int
set_up_reader(struct sqlite *db, struct errmsg *err)
{
    char size[64];

    snprintf(size, sizeof(size), "PRAGMA cache_size = -%d", CACHE_KB);
    return sqlite_script(db, size, err);
}

/* Files stay when the last connection closes: a later one may have no right
 * to make them again. */
static int
set_up(struct sqlite *db, bool writes, struct errmsg *err)
{
    int keep = 1;

    sqlite3_extended_result_codes(db->handle, 1);
    sqlite3_progress_handler(db->handle, LOOK_OPS, on_progress, db);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, !writes,
                      NULL);
    sqlite3_file_control(db->handle, "main", SQLITE_FCNTL_PERSIST_WAL, &keep);
    if (sqlite_script(db, "PRAGMA temp_store = MEMORY", err) == -1 ||
        check_ours(db, writes, err) == -1) {
        return -1;
    }
    return writes ? set_up_writer(db, err) : set_up_reader(db, err);
}

static bool
look_at_path(const struct sqlite *db, struct stat *st)
{
    struct reach way = reach_of(db->path);

    return fstatat(way.at, way.path, st, 0) == 0;
}

static bool
look_at_file(struct sqlite *db)
{
    struct stat st;

    if (!look_at_path(db, &st)) {
        return false;
    }
    db->inode = db->inode == 0 ? st.st_ino : db->inode;
    return db->inode == st.st_ino;
}

/* A connection is one thread's at a time, so SQLite needs no locks for it, nor
 * a count of all memory, which every allocation would lock.  It takes this only
 * before its first use in a process. */
static void
set_up_library(void)
{
    sqlite3_config(SQLITE_CONFIG_MULTITHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

struct sqlite *
sqlite_open(struct str path, bool writes, struct errmsg *err)
{
    struct sqlite *db = mem_zero(sizeof(*db));
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    int rc;

    set_up_library();
    str_copy(db->path, sizeof(db->path), path);
    flags |= writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                    : SQLITE_OPEN_READONLY;
    rc = sqlite3_open_v2(db->path, &db->handle, flags, sqlite_place());
    if (db->handle == NULL) {
        errmsg_set(err, "out of memory");
    } else if (rc != SQLITE_OK) {
        sqlite_explain(db, rc, err);
    } else {
        sqlite_patience(db, 2000);
        rc = set_up(db, writes, err) == 0 && look_at_file(db) ? SQLITE_OK
                                                              : SQLITE_ERROR;
    }
    if (rc != SQLITE_OK) {
        errmsg_prefix(err, "cannot open %s: ", db->path);
        sqlite_close(&db);
    }
    return db;
}

void
sqlite_close(struct sqlite **db)
{
    if (*db == NULL) {
        return;
    }
    sqlite_finalize_all(*db);
    sqlite3_close((*db)->handle);
    mem_free(db);
}

/* ---- several reads of one state ---- */

/* Without memory each read is for itself. */
static void
step_once(struct sqlite *db, sqlite3_stmt **s, const char *sql)
{
    if (*s != NULL ||
        sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, s,
                           NULL) == SQLITE_OK) {
        sqlite3_step(*s);
        sqlite3_reset(*s);
    }
}

void
sqlite_hold(struct sqlite *db)
{
    step_once(db, &db->hold, "BEGIN");
}

void
sqlite_release(struct sqlite *db)
{
    if (sqlite_in_transaction(db)) {
        step_once(db, &db->release, "COMMIT");
    }
}

/* ---- the rest ---- */

int64_t
sqlite_changed(const struct sqlite *db)
{
    return db->changed;
}

void
sqlite_patience(struct sqlite *db, int ms)
{
    sqlite3_busy_timeout(db->handle, ms);
}

void
sqlite_deadline(struct sqlite *db, int64_t due)
{
    db->due = due;
}

bool
sqlite_in_transaction(const struct sqlite *db)
{
    return sqlite3_get_autocommit(db->handle) == 0;
}

bool
sqlite_in_place(const struct sqlite *db)
{
    struct stat st;

    return look_at_path(db, &st) && st.st_ino == db->inode;
}

uint64_t
sqlite_version(struct sqlite *db)
{
    if (db->index == NULL) {
        db->index = sqlite_index_of(db->handle);
    }
    return db->index != NULL ? sqlite_index_version(db->index) : 0;
}

int64_t
sqlite_log_bytes(const struct sqlite *db)
{
    return db->log_bytes;
}

bool
sqlite_checkpoint(struct sqlite *db, bool whole)
{
    int pages = 0, copied = 0;
    int mode = whole ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE;
    int rc = sqlite3_wal_checkpoint_v2(db->handle, NULL, mode, &pages, &copied);

    if (rc == SQLITE_OK && pages == copied) {
        db->log_bytes = 0;
        return true;
    }
    return false;
}
