/*
 * This module's tables in the store, and their statements.
 *
 * relay_keys has a row for each room that has a key. relay_count has their
 * number, because counting all rows for a limit would cost more for each new
 * one.  Each transaction that changes the rows changes the number, too.
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
    { .sqlite = "create table relay_tasks ("
                "id integer not null primary key autoincrement, "
                "kind text not null, "
                "app text not null, "
                "name text not null, "
                "url text not null, "
                "created bigint not null, "
                "unique (kind, app, name))",
      .postgres = "create table relay_tasks ("
                  "id bigserial primary key, "
                  "kind text not null, "
                  "app text not null, "
                  "name text not null, "
                  "url text not null, "
                  "created bigint not null, "
                  "unique (kind, app, name))" },
    /* The target of url (target.h); null: not known, the row is older. */
    { .sqlite = "alter table relay_tasks add column target text" },
    /* Pushes of one stream differ by url: place is that of a push, and empty
     * for a pull, of which a stream has one. */
    { .sqlite = "create table relay_tasks_placed ("
                "id integer not null primary key autoincrement, "
                "kind text not null, "
                "app text not null, "
                "name text not null, "
                "url text not null, "
                "created bigint not null, "
                "target text, "
                "place text not null, "
                "unique (kind, app, name, place)); "
                "insert into relay_tasks_placed select id, kind, app, name, "
                "url, created, target, "
                "case kind when 'push' then url else '' end "
                "from relay_tasks; "
                "drop table relay_tasks; "
                "alter table relay_tasks_placed rename to relay_tasks",
      .postgres = "alter table relay_tasks "
                  "add column place text not null default ''; "
                  "update relay_tasks set place = url where kind = 'push'; "
                  "alter table relay_tasks "
                  "drop constraint relay_tasks_kind_app_name_key; "
                  "create unique index relay_tasks_place "
                  "on relay_tasks (kind, app, name, place)" },
    { .sqlite = NULL },
};

const struct store_statement relay_statements[] = {
    [SQL_KEY_OF_ROOM] = { .name = "key_of_room",
                          .quick = true,
                          .sql = "select channelkey from relay_keys "
                                 "where room = $1" },
    [SQL_ROOMS] = { .name = "rooms",
                    .quick = true,
                    .sql = "select room from relay_keys where room > $1 "
                           "order by room limit $2" },
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
    [SQL_TASKS] = { .name = "tasks",
                    .quick = true,
                    .sql = "select id, kind, app, name, url from relay_tasks "
                           "order by id" },
    [SQL_TASK_WHY] = { .name = "task_why",
                       .quick = true,
                       .sql = "select kind from relay_tasks "
                              "where app = $2 and name = $3 and "
                              "((kind = $1 and place = $4) or (kind <> $1 and "
                              "(url = $5 or target = $6))) "
                              "order by case when kind = $1 then 0 else 1 "
                              "end" },
    [SQL_TASK_URLS] = { .name = "task_urls",
                        .quick = true,
                        .sql = "select url from relay_tasks where kind = $1 "
                               "and app = $2 and name = $3 order by id" },
    [SQL_TASK_START] = { .name = "task_start",
                         .sql = "insert into relay_tasks "
                                "(kind, app, name, place, url, target, "
                                "created) "
                                "select $1, $2, $3, $4, $5, $6, $7 where "
                                "((select count(*) from relay_tasks) < $8 "
                                "and not exists (select 1 from relay_tasks "
                                "where kind <> $1 and app = $2 and name = $3 "
                                "and (url = $5 or target = $6))) "
                                "or exists (select 1 from relay_tasks "
                                "where kind = $1 and app = $2 and name = $3 "
                                "and place = $4) "
                                "on conflict (kind, app, name, place) "
                                "do update set target = excluded.target "
                                "where relay_tasks.url = excluded.url "
                                "returning id" },
    [SQL_TASK_STOP] = { .name = "task_stop",
                        .sql = "delete from relay_tasks where kind = $1 "
                               "and app = $2 and name = $3 and place = $4" },
    [SQL_TASK_STOP_ONLY] = { .name = "task_stop_only",
                             .sql = "delete from relay_tasks where kind = $1 "
                                    "and app = $2 and name = $3 and "
                                    "(select count(*) from relay_tasks where "
                                    "kind = $1 and app = $2 and name = $3) "
                                    "= 1" },
    [SQL_COUNT] = { .name = NULL },
};

const struct store_schema relay_schema = {
    .name = "relay",
    .migrations = migrations,
    .statements = relay_statements,
};
