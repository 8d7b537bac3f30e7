/*
 * weirctl's words for stream keys.
 *
 * The master has no store: an order goes to the relayer, which has it
 * (order.h).  The answer is wiped once it is written.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "key_verbs.h"

#include <stdio.h>
#include <string.h>

#include "app/settings/settings.h"
#include "base/log.h"
#include "base/mem.h"
#include "key_store.h"
#include "order.h"
#include "relay.h"
#include "relayer.h"
#include "rtmp/name.h"
#include "schema.h"

enum what { KEY_GET, KEY_RESET, KEY_DELETE, KEY_LIST };

struct order { /* master -> relayer */
    int64_t max_rooms;
    int32_t what;
    char room[RELAY_ROOM_MAX + 1]; /* LIST: those behind it */
};

enum outcome { KEY_DONE = 1, KEY_MISSING, KEY_FAILED };

struct answer { /* relayer -> master */
    int32_t outcome;
    uint32_t count;                                /* LIST: rooms in text */
    char text[KEY_STORE_PAGE][RELAY_ROOM_MAX + 1]; /* else only the first: the
                                                key, or why not */
};

#define ANSWER_HEAD offsetof(struct answer, text)

_Static_assert(sizeof(struct order) <= KEY_VERBS_ORDER_MAX, "it fits");
_Static_assert(sizeof(struct answer) <= KEY_VERBS_ANSWER_MAX, "it fits");

/* ---- the relayer ---- */

struct job {
    struct rpc_request *request;
    struct order order;
    struct answer answer;
    char key[KEY_LENGTH + 1];
};

static void
reply(struct job *j, enum outcome outcome, struct str text)
{
    size_t len = ANSWER_HEAD + sizeof(j->answer.text[0]) *
                                   (j->answer.count > 0 ? j->answer.count : 1);

    j->answer.outcome = (int32_t)outcome;
    if (j->answer.count == 0) {
        str_copy(j->answer.text[0], sizeof(j->answer.text[0]), text);
    }
    rpc_reply(&j->request, &j->answer, len, -1);
    explicit_bzero(j, sizeof(*j)); /* the key stands in it twice */
    mem_free(&j);
}

static void
tell(const struct job *j, enum relay_done what, const char *word)
{
    metric_add(&relay_metrics[RELAY_KEYS], what, 1);
    log_info("relay: the key of room %s was %s for the operator", j->order.room,
             word);
}

static void
on_made(void *arg, const struct store_result *r)
{
    struct job *j = arg;
    bool reset = j->order.what == KEY_RESET;
    struct str key;

    if (r->status != STORE_OK) {
        reply(j, KEY_FAILED, str_from(store_status_text(r->status)));
    } else if (!key_store_found(r, &key)) {
        reply(j, KEY_FAILED,
              STR("there are as many rooms as max_rooms allows"));
    } else {
        if (key_equal(key, str_of(j->key, KEY_LENGTH))) {
            tell(j, reset ? RELAY_DONE_RESET : RELAY_DONE_MADE,
                 reset ? "reset" : "made");
        }
        reply(j, KEY_DONE, key);
    }
}

static void
make(struct job *j)
{
    key_store_make(str_from(j->order.room), j->key, j->order.max_rooms,
                   j->order.what == KEY_RESET, on_made, j);
}

static void
on_looked(void *arg, const struct store_result *r)
{
    struct job *j = arg;
    struct str key;

    if (r->status != STORE_OK) {
        reply(j, KEY_FAILED, str_from(store_status_text(r->status)));
    } else if (key_store_found(r, &key)) {
        reply(j, KEY_DONE, key);
    } else {
        make(j);
    }
}

static void
on_deleted(void *arg, const struct store_result *r)
{
    struct job *j = arg;

    if (r->status == STORE_MISSING) {
        reply(j, KEY_MISSING, STR("this room has no key"));
    } else if (r->status != STORE_OK) {
        reply(j, KEY_FAILED, str_from(store_status_text(r->status)));
    } else {
        tell(j, RELAY_DONE_DELETED, "deleted");
        reply(j, KEY_DONE, STR_NONE);
    }
}

static void
on_listed(void *arg, const struct store_result *r)
{
    const struct store_rows *rows = r->answer;
    struct job *j = arg;

    if (r->status != STORE_OK) {
        reply(j, KEY_FAILED, str_from(store_status_text(r->status)));
        return;
    }
    for (size_t i = 0; i < rows->rows && i < KEY_STORE_PAGE; i++) {
        str_copy(j->answer.text[j->answer.count++], sizeof(j->answer.text[0]),
                 rows->cells[i].s);
    }
    reply(j, KEY_DONE, STR_NONE);
}

static void
on_order(void *arg, struct rpc_request *r)
{
    const struct relayer *relayer = arg;
    struct job *j;
    struct str room;

    if (r->len != sizeof(j->order)) {
        rpc_refuse(&r, "the order makes no sense");
        return;
    }
    j = mem_zero(sizeof(*j));
    j->request = r;
    memcpy(&j->order, r->data, sizeof(j->order));
    j->order.room[sizeof(j->order.room) - 1] = '\0';
    room = str_from(j->order.room);
    if (!relayer->plan.store) {
        reply(j, KEY_FAILED,
              STR("no location has module relay, which keeps keys"));
        return;
    }
    switch (j->order.what) {
    case KEY_GET:
        key_store_look(room, on_looked, j);
        return;
    case KEY_RESET:
        make(j);
        return;
    case KEY_DELETE:
        key_store_delete(room, on_deleted, j);
        return;
    default:
        key_store_list(room, on_listed, j);
        return;
    }
}

void
key_verbs_serve(struct relayer *r)
{
    rpc_serve(&order_methods[ORDER_KEY], on_order, r);
}

/* ---- the master ---- */

static void
look_at_layer(void *arg, const struct conf_extra *layer)
{
    const struct relay_settings *s = layer->settings;
    const struct module *m = layer->what;
    int64_t *most = arg;

    if (m != NULL && m->store == &relay_schema && s->max_rooms > *most) {
        *most = s->max_rooms;
    }
}

/* Of the location that allows most. */
static int64_t
max_rooms(struct control_call *call)
{
    int64_t most = 0;

    settings_each_layer(control_settings(call), look_at_layer, &most);
    return most;
}

static enum control_result
ask(struct control_call *call, struct control_ask *w, enum what what,
    struct str room)
{
    struct order o = { .max_rooms = max_rooms(call), .what = (int32_t)what };

    str_copy(o.room, sizeof(o.room), room);
    return control_ask(call, w, &order_methods[ORDER_KEY], &o, sizeof(o));
}

/* The answer, in which all texts end: another process wrote it.  NULL: what is
 * to be returned is in *result. */
static struct answer *
take_answer(struct control_call *call, const struct control_ask *w,
            enum control_result *result)
{
    struct answer *a;

    if (!control_answered(call, w, ANSWER_HEAD, result)) {
        return NULL;
    }
    a = mem_zero(sizeof(*a));
    memcpy(a, w->data, w->len < sizeof(*a) ? w->len : sizeof(*a));
    for (size_t i = 0; i < KEY_STORE_PAGE; i++) {
        a->text[i][sizeof(a->text[i]) - 1] = '\0';
    }
    if (a->count > KEY_STORE_PAGE) {
        a->count = KEY_STORE_PAGE;
    }
    return a;
}

static enum control_result
failed(struct control_call *call, const struct answer *a)
{
    return control_fail(call, a->outcome == KEY_MISSING ? "missing" : "failed",
                        "%s", a->text[0]);
}

static enum control_result
one(struct control_call *call, enum what what)
{
    struct control_ask *w = control_state(call, sizeof(*w), control_ask_done);
    struct str room = control_word(call, 0);
    enum control_result result;
    struct errmsg err;
    struct answer *a;

    if (!w->asked) {
        if (control_words(call) != 1) {
            return control_usage(call);
        }
        if (room.len > RELAY_ROOM_MAX ||
            rtmp_name_check(room, true, &err) == -1) {
            return control_fail(call, "usage", "no name of a room");
        }
        return ask(call, w, what, room);
    }
    a = take_answer(call, w, &result);
    if (a == NULL) {
        return result;
    }
    if (a->outcome != KEY_DONE) {
        failed(call, a);
    } else if (what == KEY_DELETE) {
        control_ok(call, "%s", "");
    } else {
        control_pair(call, "room", room);
        control_pair(call, "key", str_from(a->text[0]));
    }
    explicit_bzero(a->text[0], sizeof(a->text[0]));
    mem_free(&a);
    return CONTROL_DONE;
}

enum control_result
key_verbs_get(struct control_call *call)
{
    return one(call, KEY_GET);
}

enum control_result
key_verbs_reset(struct control_call *call)
{
    return one(call, KEY_RESET);
}

enum control_result
key_verbs_delete(struct control_call *call)
{
    return one(call, KEY_DELETE);
}

static const struct control_column room_columns[] = { { "room", 0 },
                                                      { NULL, 0 } };

/* A page of rooms, then those behind its last. */
enum control_result
key_verbs_list(struct control_call *call)
{
    struct control_ask *w = control_state(call, sizeof(*w), control_ask_done);
    enum control_result result = CONTROL_DONE;
    struct answer *a;

    if (!w->asked) {
        return ask(call, w, KEY_LIST, STR_NONE);
    }
    a = take_answer(call, w, &result);
    if (a == NULL) {
        return result;
    }
    if (a->outcome != KEY_DONE) {
        failed(call, a);
    } else {
        control_table(call, room_columns);
        for (uint32_t i = 0; i < a->count; i++) {
            control_cell(call, str_from(a->text[i]));
        }
        if (a->count == KEY_STORE_PAGE) {
            control_ask_clear(w);
            result =
                ask(call, w, KEY_LIST, str_from(a->text[KEY_STORE_PAGE - 1]));
        }
    }
    mem_free(&a);
    return result;
}
