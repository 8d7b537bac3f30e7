/*
 * The table of migrations, and making those that are missing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/sqlite/migrate.h"

#include "base/log.h"

#define CHECKSUM 17
#define ROWS_MAX 1048576

static int
make_table(struct sqlite *db, struct errmsg *err)
{
    return sqlite_script(db,
                         "CREATE TABLE IF NOT EXISTS store_migration ("
                         "  name TEXT NOT NULL,"
                         "  number INTEGER NOT NULL,"
                         "  checksum TEXT NOT NULL,"
                         "  made TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,"
                         "  PRIMARY KEY (name, number)"
                         ") WITHOUT ROWID",
                         err);
}

/* ---- what was made ---- */

static int
compare_row(const struct store_schema *s, const struct store_value *row,
            size_t known, struct errmsg *err)
{
    int64_t number = row[0].n;
    char checksum[CHECKSUM];

    if (number < 1 || number > (int64_t)known) {
        return errmsg_set(err,
                          "a newer weir made it: schema %s has migration "
                          "%lld, this weir knows %zu",
                          s->name, (long long)number, known);
    }
    schema_checksum(s->migrations[number - 1].sqlite, checksum);
    if (!str_eq(row[1].s, str_from(checksum))) {
        return errmsg_set(err,
                          "migration %lld of schema %s is not the one that "
                          "this database was made with",
                          (long long)number, s->name);
    }
    return 0;
}

static int64_t
compare_rows(const struct store_schema *s, const struct store_rows *made,
             struct errmsg *err)
{
    for (size_t i = 0; i < made->rows; i++) {
        if (compare_row(s, &made->cells[2 * i], schema_migrations(s), err) ==
            -1) {
            return -1;
        }
    }
    return (int64_t)made->rows;
}

/* How many of s are made already; -1 with err. */
static int64_t
compare(struct sqlite *db, const struct store_schema *s, struct errmsg *err)
{
    struct store_value name = store_text(str_from(s->name));
    struct rows found;
    int64_t made = -1;

    rows_init(&found, ROWS_MAX);
    if (sqlite_query(db,
                     "SELECT number, checksum FROM store_migration "
                     "WHERE name = $1 ORDER BY number",
                     &name, 1, &found, err) == STORE_OK) {
        made = compare_rows(s, &rows_finish(&found)->answer[0], err);
    }
    rows_clear(&found);
    return made;
}

/* ---- making one ---- */

static int
note(struct sqlite *db, const struct store_schema *s, int64_t number,
     struct errmsg *err)
{
    char checksum[CHECKSUM];

    schema_checksum(s->migrations[number - 1].sqlite, checksum);
    struct store_value row[] = { store_text(str_from(s->name)),
                                 store_int(number),
                                 store_text(str_from(checksum)) };

    return sqlite_query(db,
                        "INSERT INTO store_migration (name, number, checksum) "
                        "VALUES ($1, $2, $3)",
                        row, 3, NULL, err) == STORE_OK
               ? 0
               : -1;
}

static int
make(struct sqlite *db, const struct store_schema *s, int64_t number,
     struct errmsg *err)
{
    struct errmsg ignored;

    if (sqlite_script(db, "BEGIN IMMEDIATE", err) == -1 ||
        sqlite_script(db, s->migrations[number - 1].sqlite, err) == -1 ||
        note(db, s, number, err) == -1 ||
        sqlite_script(db, "COMMIT", err) == -1) {
        if (sqlite_in_transaction(db)) {
            sqlite_script(db, "ROLLBACK", &ignored);
        }
        return errmsg_prefix(
            err, "migration %lld of schema %s: ", (long long)number, s->name);
    }
    log_info("store: migration %lld of schema %s is made", (long long)number,
             s->name);
    return 0;
}

int
migrate_all(struct sqlite *db, struct errmsg *err)
{
    const struct store_schema *s;

    if (make_table(db, err) == -1) {
        return -1;
    }
    for (size_t i = 0; (s = schema_at(i)) != NULL; i++) {
        int64_t made = compare(db, s, err);

        if (made == -1) {
            return -1;
        }
        for (size_t n = schema_migrations(s); made < (int64_t)n; made++) {
            if (make(db, s, made + 1, err) == -1) {
                return -1;
            }
        }
    }
    return 0;
}
