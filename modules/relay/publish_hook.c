/*
 * Publishers of applications with publish = "key": the name must be the key
 * of a room, and the stream appears under the room.
 *
 * Each has a struct publishing from the moment it asks to its end.  It waits
 * while the store is asked.  When a room's key was changed whoever came in by
 * the old one is found by asking again for all of that room, and for all that
 * still wait: their answer may be from before the change.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>
#include <string.h>

#include "api_keys.h"
#include "app/service/rtmp_service.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "key.h"
#include "key_cache.h"
#include "mark.h"
#include "schema.h"
#include "settings.h"

#define RETRY_MS 1000 /* when the store could not be asked about one let in */

struct publishing {
    struct list link;
    struct rtmp_request *request; /* borrowed until on_end */
    struct store_call *call;      /* owned while it runs */
    struct timer retry;
    bool let_in;
    bool again;   /* ask once more: the key may have changed meanwhile */
    bool changed; /* this room's key has: it is good only if the store says
                     so */
    uint8_t room_len;
    char room[RELAY_ROOM_MAX]; /* once let in */
    char hash[KEY_HASH + 1];
};

static struct {
    struct list all;
    bool listening;
} publishers = { .all = { &publishers.all, &publishers.all } };

static void ask(struct publishing *p);

static struct loop *
loop_of(const struct publishing *p)
{
    return rtmp_session_conn(p->request->session)->loop;
}

static const struct relay_application *
settings_for(const struct publishing *p)
{
    return relay_application_of(
        rtmp_service_application_of(p->request)->settings);
}

static bool
takes_keys(const struct rtmp_application *a)
{
    return str_eq(a->settings->publish, STR(RELAY_PUBLISH));
}

static struct str
room_of(const struct publishing *p)
{
    return str_of(p->room, p->room_len);
}

/* ---- let in, or not ---- */

static void
refuse(struct publishing *p, enum relay_publish_refused why, const char *words)
{
    struct rtmp_refusal no = { .code = "NetStream.Publish.BadName",
                               .why = RTMP_REFUSED_KEY };

    metric_add(&relay_metrics[RELAY_PUBLISH_REFUSED], why, 1);
    errmsg_set(&no.reason, "%s", words);
    rtmp_service_decide(p->request, HOOK_REFUSE, &no);
}

static void
let_in(struct publishing *p, struct str room)
{
    if (room.len > sizeof(p->room) ||
        rtmp_service_rename(p->request, room) == -1) {
        refuse(p, RELAY_PUBLISH_LONG,
               "the names of application and room together are too long");
        return;
    }
    p->room_len = (uint8_t)room.len;
    memcpy(p->room, room.ptr, room.len);
    p->let_in = true;
    rtmp_service_decide(p->request, HOOK_DONE, NULL);
}

/* The store cannot be asked: perhaps the key was good a short while ago. */
static void
decide_without_store(struct publishing *p, enum store_status status)
{
    char words[160];
    struct str room;

    if (grace_find(p->hash, loop_now(loop_of(p)), settings_for(p)->key_grace,
                   &room)) {
        metric_add(&relay_metrics[RELAY_GRACED], 0, 1);
        log_limited(LOG_WARN,
                    "relay: a publisher of room %.*s is let in because its key "
                    "was good lately: %s",
                    STR_ARGS(room), store_status_text(status));
        let_in(p, room);
        return;
    }
    snprintf(words, sizeof(words), "stream keys cannot be looked up now: %s",
             store_status_text(status));
    refuse(p, RELAY_PUBLISH_STORE, words);
}

/* The key is not that of the room any more. */
static void
revoke(struct publishing *p)
{
    static const char words[] = "the stream key was reset or deleted";
    struct str room = room_of(p);

    p->changed = true;
    if (settings_for(p)->on_key_change == KEY_CHANGE_KEEP) {
        return;
    }
    metric_add(&relay_metrics[RELAY_REVOKED], 0, 1);
    log_limited(LOG_NOTICE,
                "relay: the publisher of room %.*s is closed: its key was "
                "reset or deleted",
                STR_ARGS(room));
    rtmp_session_finish(p->request, "error", "NetStream.Publish.BadName",
                        words);
}

/* ---- what the store says ---- */

/* The room of the key that was published, STR_NONE if it is none. */
static struct str
room_in(const struct publishing *p, const struct store_rows *rows)
{
    if (rows->rows == 0 || !key_equal(rows->cells[1].s, p->request->name)) {
        return STR_NONE;
    }
    return rows->cells[0].s;
}

static void
first_answer(struct publishing *p, const struct store_result *r)
{
    struct str room;

    if (r->status != STORE_OK) {
        decide_without_store(p, r->status);
        return;
    }
    room = room_in(p, r->answer);
    if (room.len == 0) {
        refuse(p, RELAY_PUBLISH_UNKNOWN, "no room has this key");
        return;
    }
    grace_remember(p->hash, room, loop_now(loop_of(p)));
    let_in(p, room);
}

static void
later_answer(struct publishing *p, const struct store_result *r)
{
    if (r->status != STORE_OK && !p->changed) {
        timer_set(loop_of(p), &p->retry, RETRY_MS);
        return;
    }
    if (r->status == STORE_OK && str_eq(room_in(p, r->answer), room_of(p))) {
        p->changed = false;
        grace_remember(p->hash, room_of(p), loop_now(loop_of(p)));
        return;
    }
    revoke(p);
}

static void
on_answer(void *arg, const struct store_result *r)
{
    struct publishing *p = arg;

    p->call = NULL;
    if (p->again) {
        ask(p);
    } else if (p->let_in) {
        later_answer(p, r);
    } else {
        first_answer(p, r);
    }
}

static void
ask(struct publishing *p)
{
    struct store_value hash = store_text(str_of(p->hash, KEY_HASH));

    p->again = p->call != NULL;
    if (!p->again) {
        timer_stop(loop_of(p), &p->retry);
        p->call = store_read(&relay_statements[SQL_ROOM_OF_KEY], &hash, 1,
                             on_answer, p);
    }
}

static void
on_retry(struct timer *timer)
{
    ask(LIST_ITEM(timer, struct publishing, retry));
}

/* ---- keys change ---- */

static void
on_key_changed(void *arg, struct str room)
{
    (void)arg;
    if (room.len == 0) {
        grace_check_all();
    } else {
        grace_forget(room);
    }
    LIST_EACH (node, &publishers.all) {
        struct publishing *p = LIST_ITEM(node, struct publishing, link);

        if (room.len > 0 && p->let_in && !str_eq(room, room_of(p))) {
            continue;
        }
        p->changed |= p->let_in && room.len > 0;
        ask(p);
    }
}

/* ---- hooks ---- */

static enum rtmp_hook_result
on_publish(struct rtmp_request *r, struct rtmp_refusal *no)
{
    struct publishing *p;

    if (!takes_keys(rtmp_service_application_of(r))) {
        return HOOK_NEXT;
    }
    if (!key_is_well_formed(r->name)) {
        metric_add(&relay_metrics[RELAY_PUBLISH_REFUSED], RELAY_PUBLISH_FORM,
                   1);
        no->why = RTMP_REFUSED_KEY;
        errmsg_set(&no->reason, "this application takes stream keys only, and "
                                "this is not one");
        return HOOK_REFUSE;
    }
    if (!publishers.listening) {
        publishers.listening = true;
        store_listen(RELAY_TOPIC_KEY, on_key_changed, NULL);
    }
    p = mem_zero(sizeof(*p));
    p->request = r;
    key_hash(r->name, p->hash);
    timer_init(&p->retry, on_retry);
    list_append(&publishers.all, &p->link);
    ask(p);
    return HOOK_WAIT;
}

/* Keys are mistaken for rooms.  A room may have the form of a key, so who
 * plays one is let in while it is published (rtmp_service_is_secret). */
static bool
is_secret(const struct rtmp_application *a, struct str name)
{
    while (takes_keys(a) && name.len > 0) {
        if (key_is_well_formed(str_cut(&name, '/'))) {
            return true;
        }
    }
    return false;
}

static void
on_end(struct rtmp_request *r)
{
    LIST_EACH (node, &publishers.all) {
        struct publishing *p = LIST_ITEM(node, struct publishing, link);

        if (p->request != r) {
            continue;
        }
        if (p->let_in && !p->changed && p->call == NULL) {
            grace_remember(p->hash, room_of(p), loop_now(loop_of(p)));
        }
        if (p->call != NULL) {
            store_cancel(&p->call);
        }
        timer_stop(loop_of(p), &p->retry);
        list_remove(&p->link);
        mem_free(&p);
    }
}

const struct rtmp_hooks relay_publish_hooks = {
    .on_publish = on_publish,
    .accepts = relay_accepts,
    .is_secret = is_secret,
    .on_end = on_end,
};
