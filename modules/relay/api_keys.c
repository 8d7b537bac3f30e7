/*
 * GET /get, /reset, /delete: the key of a room.
 *
 * get looks first, because most rooms that are asked for have a key and a
 * look disturbs nobody; only then is one made, which the store keeps unless
 * another worker's was there before.  The answer is always the key in the
 * store, never the one that was to be put in.
 *
 * HEAD changes nothing: it tells whether the room has a key.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "api_keys.h"

#include "answer.h"
#include "base/log.h"
#include "key_store.h"

/* One request that waits for the store. */
struct ask {
    struct http_request *request; /* its pool has this */
    const struct relay *relay;
    struct store_call *call; /* owned while it runs */
    struct str room;
    char key[KEY_LENGTH + 1]; /* made for it; not its key until it is kept */
    enum relay_done what;     /* when all goes well */
    /* How the request is answered, once it has its turn again. */
    enum http_result (*answer)(struct ask *a);
    enum store_status status;
    struct str found; /* the room's key */
};

/* ---- the answers ---- */

static enum http_result
answer_key(struct ask *a)
{
    return relay_text(a->request, a->found);
}

static enum http_result
answer_ok(struct ask *a)
{
    return relay_ok(a->request);
}

static enum http_result
answer_no_room(struct ask *a)
{
    return relay_refuse(a->request, RELAY_REFUSED_NO_ROOM, 404,
                        "room not found");
}

static enum http_result
answer_full(struct ask *a)
{
    return relay_refuse(a->request, RELAY_REFUSED_ROOMS, 507,
                        "there are as many rooms as max_rooms allows (%lld): "
                        "delete one, or raise it",
                        (long long)a->relay->settings->max_rooms);
}

static enum http_result
answer_failed(struct ask *a)
{
    return relay_refuse_store(a->request, a->status);
}

/* ---- what the store says ---- */

static void
go_on(struct ask *a, enum http_result (*answer)(struct ask *a))
{
    a->answer = answer;
    http_resume(a->request);
}

/* False: it failed, and that will be answered. */
static bool
is_done(struct ask *a, const struct store_result *r)
{
    a->call = NULL;
    a->status = r->status;
    if (r->status != STORE_OK) {
        go_on(a, answer_failed);
    }
    return r->status == STORE_OK;
}

static bool
take_key(struct ask *a, const struct store_result *r)
{
    struct str key;

    if (!key_store_found(r, &key)) {
        return false;
    }
    a->found = pool_str(a->request->pool, key);
    return true;
}

static void
tell(const struct ask *a)
{
    static const char *const words[] = {
        [RELAY_DONE_MADE] = "made",
        [RELAY_DONE_RESET] = "reset",
        [RELAY_DONE_DELETED] = "deleted",
    };
    char room[4 * RELAY_ROOM_MAX + 1], peer[ADDR_TEXT];

    metric_add(&relay_metrics[RELAY_KEYS], a->what, 1);
    str_escape(room, sizeof(room), a->room);
    log_limited(LOG_INFO, "relay: the key of room %s was %s for %s", room,
                words[a->what], addr_text(&a->request->client, peer));
}

static void
on_kept(void *arg, const struct store_result *r)
{
    struct ask *a = arg;

    if (!is_done(a, r)) {
        return;
    }
    if (!take_key(a, r)) {
        go_on(a, answer_full);
        return;
    }
    if (key_equal(a->found, str_of(a->key, KEY_LENGTH))) {
        tell(a);
    }
    go_on(a, answer_key);
}

static void
on_deleted(void *arg, const struct store_result *r)
{
    struct ask *a = arg;

    if (r->status == STORE_MISSING) {
        a->call = NULL;
        go_on(a, answer_no_room);
    } else if (is_done(a, r)) {
        tell(a);
        go_on(a, answer_ok);
    }
}

static void
on_head(void *arg, const struct store_result *r)
{
    struct ask *a = arg;

    if (is_done(a, r)) {
        go_on(a, take_key(a, r) ? answer_key : answer_no_room);
    }
}

/* ---- what it is asked ---- */

/* A key for a room that has none; change: for one that has one, too. */
static void
keep_new_key(struct ask *a, bool change)
{
    a->call = key_store_make(a->room, a->key, a->relay->settings->max_rooms,
                             change, on_kept, a);
}

static void
on_got(void *arg, const struct store_result *r)
{
    struct ask *a = arg;

    if (!is_done(a, r)) {
        return;
    }
    if (take_key(a, r)) {
        go_on(a, answer_key);
    } else {
        keep_new_key(a, false);
    }
}

static void
begin_get(struct ask *a)
{
    a->what = RELAY_DONE_MADE;
    a->call = key_store_look(a->room, on_got, a);
}

static void
begin_reset(struct ask *a)
{
    a->what = RELAY_DONE_RESET;
    keep_new_key(a, true);
}

static void
begin_delete(struct ask *a)
{
    a->what = RELAY_DONE_DELETED;
    a->call = key_store_delete(a->room, on_deleted, a);
}

/* ---- requests ---- */

static void
on_cancel(void *arg)
{
    struct ask *a = arg;

    if (a->call != NULL) {
        store_cancel(&a->call);
    }
}

static enum http_result
serve(struct http_request *r, void *state, void (*begin)(struct ask *a))
{
    struct ask *a = r->context;
    struct str room;

    if (a != NULL) {
        return a->answer(a);
    }
    if (!http_check_site(r) || !relay_get_room(r, &room)) {
        return HTTP_DONE;
    }
    a = pool_zero(r->pool, sizeof(*a));
    a->request = r;
    a->relay = state;
    a->room = room;
    r->context = a;
    http_on_cancel(r, on_cancel, a);
    if (str_eq(r->method, STR("HEAD"))) {
        a->call = key_store_look(a->room, on_head, a);
    } else {
        begin(a);
    }
    return HTTP_WAIT;
}

enum http_result
relay_on_get(struct http_request *r, void *state)
{
    return serve(r, state, begin_get);
}

enum http_result
relay_on_reset(struct http_request *r, void *state)
{
    return serve(r, state, begin_reset);
}

enum http_result
relay_on_delete(struct http_request *r, void *state)
{
    return serve(r, state, begin_delete);
}
