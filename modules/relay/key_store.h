/*
 * The keys of rooms in the store: the same for the API and for weirctl.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_KEY_STORE_H
#define MODULES_RELAY_KEY_STORE_H

#include "key.h"
#include "store/store.h"

/* Reads the room's key, for key_store_found(). */
struct store_call *key_store_look(struct str room, store_done *done, void *arg);
/* Makes one, in key, for a room that has none, or, with change, for any room.
 * key_store_found() then returns the room's key; none: there are max_rooms. */
struct store_call *key_store_make(struct str room, char key[KEY_LENGTH + 1],
                                  int64_t max_rooms, bool change,
                                  store_done *done, void *arg);
/* STORE_MISSING: it has none. */
struct store_call *key_store_delete(struct str room, store_done *done,
                                    void *arg);
/* The first rooms behind one in their order, KEY_STORE_PAGE at most: cell 0 of
 * each row. */
#define KEY_STORE_PAGE 100
struct store_call *key_store_list(struct str behind, store_done *done,
                                  void *arg);

/* Borrowed from the result, which is STORE_OK. */
bool key_store_found(const struct store_result *r, struct str *key);

#endif
