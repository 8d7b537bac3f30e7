/*
 * A schema for tests, and a database in a folder of its own.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef TESTS_STORE_NOTES_H
#define TESTS_STORE_NOTES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/schema.h"

enum { ADD, SET, RETURN, GET, ALL, MANY, WRONG_WAY, STATEMENTS };

static struct store_migration notes_migrations[] = {
    { .sqlite = "CREATE TABLE note (name TEXT PRIMARY KEY, n INTEGER"
                " CHECK (n <> 13))" },
    { .sqlite = NULL },
    { .sqlite = NULL },
};

static const struct store_statement notes_statements[] = {
    [ADD] = { .name = "add", .sql = "INSERT INTO note VALUES ($1, $2)" },
    [SET] = { .name = "set", .sql = "UPDATE note SET n = $2 WHERE name = $1" },
    [RETURN] = { .name = "return",
                 .sql = "INSERT INTO note VALUES ($1, $2) "
                        "ON CONFLICT (name) DO UPDATE SET n = n + 1 "
                        "RETURNING n, name" },
    [GET] = { .name = "get",
              .sql = "SELECT n FROM note WHERE name = $1",
              .quick = true },
    [ALL] = { .name = "all", .sql = "SELECT name, n FROM note ORDER BY name" },
    [MANY] = { .name = "many",
               .sql = "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL "
                      "SELECT i + 1 FROM c WHERE i < $1) SELECT i FROM c" },
    [WRONG_WAY] = { .name = "wrong_way",
                    .sql = "SELECT $2, $1",
                    .quick = true },
    [STATEMENTS] = { .name = NULL },
};

static const struct store_schema notes_schema = {
    .name = "notes",
    .migrations = notes_migrations,
    .statements = notes_statements,
};

static char notes_folder[64], notes_path[96];

static inline int
notes_make(void)
{
    snprintf(notes_folder, sizeof(notes_folder), "/tmp/weir-store-XXXXXX");
    if (mkdtemp(notes_folder) == NULL) {
        return -1;
    }
    snprintf(notes_path, sizeof(notes_path), "%s/weir.db", notes_folder);
    notes_migrations[1].sqlite = NULL;
    schema_forget();
    store_register(&notes_schema);
    return 0;
}

static inline void
notes_remove(void)
{
    static const char *const ends[] = { "", "-wal", "-shm", ".old" };

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        char path[128];

        snprintf(path, sizeof(path), "%s%s", notes_path, ends[i]);
        unlink(path);
    }
    rmdir(notes_folder);
    schema_forget();
}

#endif
