/*
 * What this module keeps in the store.
 *
 * relay_keys has a row for each room that has a key.  How many these are
 * stands in relay_count, because a limit that has to count all rows makes
 * each new one dearer than the last; whatever changes the one changes the
 * other in the same transaction.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "schema.h"

static const struct store_migration migrations[] = {
    { .sqlite = "create table relay_keys ("
                "room text not null primary key, "
                "channelkey text not null, "
                "key_hash text not null unique, "
                "created bigint not null, "
                "changed bigint not null)" },
    { .sqlite = "create table relay_count ("
                "id bigint not null primary key, rooms bigint not null)" },
    { .sqlite = "insert into relay_count (id, rooms) values (1, 0)" },
    { .sqlite = NULL },
};

const struct store_statement relay_statements[] = {
    [SQL_KEY_OF_ROOM] = { .name = "key_of_room",
                          .quick = true,
                          .sql = "select channelkey from relay_keys "
                                 "where room = $1" },
    [SQL_ROOM_OF_KEY] = { .name = "room_of_key",
                          .quick = true,
                          .sql = "select room, channelkey from relay_keys "
                                 "where key_hash = $1" },
    [SQL_ADD_ROOM] = { .name = "add_room",
                       .sql = "insert into relay_keys "
                              "(room, channelkey, key_hash, created, changed) "
                              "select $1, $2, $3, $4, $4 where "
                              "(select rooms from relay_count where id = 1) "
                              "< $5 on conflict (room) do nothing" },
    [SQL_COUNT_ADDED] = { .name = "count_added",
                          .sql = "update relay_count set rooms = rooms + 1 "
                                 "where id = 1 and exists (select 1 from "
                                 "relay_keys where room = $1 "
                                 "and key_hash = $2)" },
    [SQL_RESET] = { .name = "reset",
                    .sql = "update relay_keys set channelkey = $2, "
                           "key_hash = $3, changed = $4 where room = $1 "
                           "and key_hash <> $3" },
    [SQL_DELETE_ROOM] = { .name = "delete_room",
                          .sql = "delete from relay_keys where room = $1" },
    [SQL_COUNT_DELETED] = { .name = "count_deleted",
                            .sql = "update relay_count set rooms = rooms - 1 "
                                   "where id = 1" },
    [SQL_COUNT] = { .name = NULL },
};

const struct store_schema relay_schema = {
    .name = "relay",
    .migrations = migrations,
    .statements = relay_statements,
};
