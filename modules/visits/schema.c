/*
 * The table in the store.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "visits.h"

/* A migration that was released is never changed: another one goes behind. */
static const struct store_migration migrations[] = {
    { .sqlite = "create table visits_rooms ("
                "instance text not null, room text not null, "
                "visits bigint not null, primary key (instance, room))",
      .postgres = "create table visits_rooms ("
                  "instance text collate \"C\" not null, "
                  "room text collate \"C\" not null, "
                  "visits bigint not null, primary key (instance, room))" },
    { .sqlite = NULL },
};

const struct store_statement visits_statements[] = {
    [SQL_ADD] = { .name = "add",
                  .sql = "insert into visits_rooms (instance, room, visits) "
                         "select $1, $2, 1 where exists (select 1 from "
                         "visits_rooms where instance = $1 and room = $2) or "
                         "(select count(*) from visits_rooms "
                         "where instance = $1) < $3 "
                         "on conflict (instance, room) do update "
                         "set visits = visits_rooms.visits + 1 "
                         "returning visits" },
    [SQL_ONE] = { .name = "one",
                  .quick = true,
                  .sql = "select visits from visits_rooms "
                         "where instance = $1 and room = $2" },
    [SQL_PAGE] = { .name = "page",
                   .quick = true,
                   .sql = "select room, visits from visits_rooms "
                          "where instance = $1 and room > $2 "
                          "order by room limit $3" },
    [SQL_RESET] = { .name = "reset",
                    .sql = "delete from visits_rooms where instance = $1" },
    [SQL_SUMS] = { .name = "sums",
                   .sql = "select instance, count(*), "
                          "cast(sum(visits) as bigint) from visits_rooms "
                          "group by instance order by instance limit $1" },
    [SQL_COUNT] = { .name = NULL },
};

const struct store_schema visits_schema = {
    .name = "visits",
    .migrations = migrations,
    .statements = visits_statements,
};
