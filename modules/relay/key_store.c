/*
 * The statements that look for keys, make, delete and list them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "key_store.h"

#include "base/clock.h"
#include "relay.h"
#include "schema.h"

struct store_call *
key_store_look(struct str room, store_done *done, void *arg)
{
    struct store_value value = store_text(room);

    return store_read(&relay_statements[SQL_KEY_OF_ROOM], &value, 1, done, arg);
}

struct store_call *
key_store_make(struct str room, char key[KEY_LENGTH + 1], int64_t max_rooms,
               bool change, store_done *done, void *arg)
{
    const struct store_notice notice = { RELAY_TOPIC_KEY, room };
    char hash[KEY_HASH + 1];
    struct store_value add[] = {
        store_text(room),
        store_text(str_of(key, KEY_LENGTH)),
        store_text(str_of(hash, KEY_HASH)),
        store_int(clock_wall_ms()),
        store_int(max_rooms),
    };
    struct store_value count[] = { add[0], add[2] };
    struct store_step steps[4];
    size_t n = 0;

    key_make(key);
    key_hash(str_of(key, KEY_LENGTH), hash);
    steps[n++] =
        (struct store_step){ &relay_statements[SQL_ADD_ROOM], add, 5, false };
    steps[n++] = (struct store_step){ &relay_statements[SQL_COUNT_ADDED], count,
                                      2, false };
    if (change) {
        steps[n++] =
            (struct store_step){ &relay_statements[SQL_RESET], add, 4, false };
    }
    steps[n++] = (struct store_step){ &relay_statements[SQL_KEY_OF_ROOM], add,
                                      1, false };
    return store_write(steps, n, change ? &notice : NULL, done, arg);
}

struct store_call *
key_store_delete(struct str room, store_done *done, void *arg)
{
    const struct store_notice notice = { RELAY_TOPIC_KEY, room };
    struct store_value value = store_text(room);
    struct store_step steps[] = {
        { &relay_statements[SQL_DELETE_ROOM], &value, 1, true },
        { &relay_statements[SQL_COUNT_DELETED], NULL, 0, true },
    };

    return store_write(steps, 2, &notice, done, arg);
}

struct store_call *
key_store_list(struct str behind, store_done *done, void *arg)
{
    struct store_value values[] = { store_text(behind),
                                    store_int(KEY_STORE_PAGE) };

    return store_read(&relay_statements[SQL_ROOMS], values, 2, done, arg);
}

bool
key_store_found(const struct store_result *r, struct str *key)
{
    const struct store_rows *rows = &r->answer[r->steps - 1];

    if (rows->rows == 0) {
        return false;
    }
    *key = rows->cells[0].s;
    return true;
}
