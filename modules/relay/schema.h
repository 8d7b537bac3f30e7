/*
 * This module's tables in the store, and their statements.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_SCHEMA_H
#define MODULES_RELAY_SCHEMA_H

#include "store/store.h"

enum relay_statement {
    SQL_KEY_OF_ROOM, /* room -> channelkey */
    SQL_ROOMS,       /* room, most -> rooms behind it, in their order */
    SQL_ROOM_OF_KEY, /* key_hash -> room, channelkey */
    /* room, channelkey, key_hash, now, max_rooms: unless it has one, or there
     * are so many */
    SQL_ADD_ROOM,
    SQL_COUNT_ADDED, /* room, key_hash: counts it, if it is this key's */
    SQL_RESET,       /* room, channelkey, key_hash, now */
    SQL_DELETE_ROOM, /* room */
    SQL_COUNT_DELETED,
    SQL_TASKS, /* all tasks: id, kind, app, name, url */
    /* kind, app, name, place, url, target -> kinds in the way, own first */
    SQL_TASK_WHY,
    SQL_TASK_URLS, /* kind, app, name -> url of each */
    /* kind, app, name, place, url, target, now, most -> id: changes a row
     * unless it is there with another URL, or there are so many, or the stream
     * would feed itself */
    SQL_TASK_START,
    SQL_TASK_STOP,      /* kind, app, name, place */
    SQL_TASK_STOP_ONLY, /* kind, app, name: if there is one */
    SQL_COUNT
};

extern const struct store_schema relay_schema;
extern const struct store_statement relay_statements[];

#endif
