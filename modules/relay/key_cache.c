/*
 * The table of keys that were good, and asking the store for them anew.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "key_cache.h"

#include <string.h>

#include "base/list.h"
#include "base/mem.h"
#include "relay.h"
#include "schema.h"

struct entry {
    struct list link; /* seen last first */
    char hash[KEY_HASH + 1];
    int64_t seen_ms;
    bool doubtful; /* to be asked for */
    uint8_t room_len;
    char room[RELAY_ROOM_MAX];
};

static struct {
    struct list all;
    size_t count;
    struct store_call *call; /* about the entry with this hash */
    char asked[KEY_HASH + 1];
} grace = { .all = { &grace.all, &grace.all } };

static struct str
room_of(const struct entry *e)
{
    return str_of(e->room, e->room_len);
}

/* A digest of a secret, and only in here: the time this takes tells nothing
 * of the key. */
static struct entry *
find(const char *hash)
{
    LIST_EACH (node, &grace.all) {
        struct entry *e = LIST_ITEM(node, struct entry, link);

        if (memcmp(e->hash, hash, KEY_HASH) == 0) {
            return e;
        }
    }
    return NULL;
}

static void
drop(struct entry *e)
{
    list_remove(&e->link);
    grace.count--;
    mem_free(&e);
}

void
grace_remember(const char hash[KEY_HASH + 1], struct str room, int64_t now_ms)
{
    struct entry *e = find(hash);

    if (e == NULL) {
        if (grace.count == GRACE_KEYS) {
            drop(LIST_ITEM(grace.all.prev, struct entry, link));
        }
        e = mem_zero(sizeof(*e));
        memcpy(e->hash, hash, KEY_HASH);
        grace.count++;
    } else {
        list_remove(&e->link);
    }
    list_prepend(&grace.all, &e->link);
    e->seen_ms = now_ms;
    e->doubtful = false;
    e->room_len =
        (uint8_t)(room.len < sizeof(e->room) ? room.len : sizeof(e->room));
    memcpy(e->room, room.ptr, e->room_len);
}

bool
grace_find(const char hash[KEY_HASH + 1], int64_t now_ms, int64_t max_age,
           struct str *room)
{
    const struct entry *e = find(hash);

    if (e == NULL || max_age == 0 || now_ms - e->seen_ms > max_age) {
        return false;
    }
    *room = room_of(e);
    return true;
}

void
grace_forget(struct str room)
{
    LIST_EACH (node, &grace.all) {
        struct entry *e = LIST_ITEM(node, struct entry, link);

        if (str_eq(room_of(e), room)) {
            drop(e);
        }
    }
}

static void ask_next(void);

/* While the store cannot be asked the entries stay as they are: that is what
 * they are for. */
static void
on_asked(void *arg, const struct store_result *r)
{
    struct entry *e = find(grace.asked);

    (void)arg;
    grace.call = NULL;
    if (r->status != STORE_OK) {
        return;
    }
    if (e != NULL && e->doubtful) {
        e->doubtful = false;
        if (r->answer[0].rows == 0 ||
            !str_eq(r->answer[0].cells[0].s, room_of(e))) {
            drop(e);
        }
    }
    ask_next();
}

static void
ask_next(void)
{
    LIST_EACH (node, &grace.all) {
        const struct entry *e = LIST_ITEM(node, struct entry, link);
        struct store_value hash = store_text(str_of(e->hash, KEY_HASH));

        if (e->doubtful) {
            memcpy(grace.asked, e->hash, sizeof(grace.asked));
            grace.call = store_read(&relay_statements[SQL_ROOM_OF_KEY], &hash,
                                    1, on_asked, NULL);
            return;
        }
    }
}

void
grace_check_all(void)
{
    LIST_EACH (node, &grace.all) {
        LIST_ITEM(node, struct entry, link)->doubtful = true;
    }
    /* The answer to the call under way may be older than the change. */
    if (grace.call != NULL) {
        store_cancel(&grace.call);
    }
    ask_next();
}
