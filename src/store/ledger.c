/*
 * The tables and statements of the ledger.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/ledger.h"

static const struct store_migration migrations[] = {
    { .sqlite = "CREATE TABLE store_ledger ("
                "  boot INTEGER NOT NULL,"
                "  owner INTEGER NOT NULL,"
                "  number INTEGER NOT NULL,"
                "  answer BLOB NOT NULL,"
                "  PRIMARY KEY (boot, owner, number)"
                ") WITHOUT ROWID",
      .postgres = "CREATE TABLE store_ledger ("
                  "  boot bigint NOT NULL,"
                  "  owner bigint NOT NULL,"
                  "  number bigint NOT NULL,"
                  "  made timestamptz NOT NULL DEFAULT now(),"
                  "  answer bytea NOT NULL,"
                  "  PRIMARY KEY (boot, owner, number))" },
    { .sqlite = NULL },
};

static const struct store_statement statements[] = {
    [LEDGER_BEGIN] = { .name = "begin", .sql = "BEGIN IMMEDIATE" },
    [LEDGER_COMMIT] = { .name = "commit", .sql = "COMMIT" },
    [LEDGER_ROLLBACK] = { .name = "rollback", .sql = "ROLLBACK" },
    [LEDGER_SAVE] = { .name = "save", .sql = "SAVEPOINT one" },
    [LEDGER_RELEASE] = { .name = "release", .sql = "RELEASE one" },
    [LEDGER_UNDO] = { .name = "undo", .sql = "ROLLBACK TO one" },
    [LEDGER_ADD] = { .name = "add",
                     .sql = "INSERT OR REPLACE INTO store_ledger "
                            "VALUES ($1, $2, $3, CAST($4 AS BLOB))" },
    [LEDGER_FIND] = { .name = "find",
                      .sql = "SELECT answer FROM store_ledger WHERE "
                             "boot = $1 AND owner = $2 AND number = $3" },
    [LEDGER_FORGET] = { .name = "forget",
                        .sql = "DELETE FROM store_ledger WHERE "
                               "boot = $1 AND owner = $2 AND number < $3" },
    [LEDGER_OWNERS] = { .name = "owners",
                        .sql = "SELECT DISTINCT owner FROM store_ledger "
                               "WHERE boot = $1" },
    [LEDGER_DROP] = { .name = "drop",
                      .sql = "DELETE FROM store_ledger "
                             "WHERE boot = $1 AND owner = $2" },
    [LEDGER_OTHERS] = { .name = "others",
                        .sql = "DELETE FROM store_ledger WHERE boot <> $1" },
    { .name = NULL },
};

const struct store_schema ledger_schema = {
    .name = "store",
    .migrations = migrations,
    .statements = statements,
};
