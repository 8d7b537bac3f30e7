/*
 * weirctl's words for stream keys.
 *
 * The master has no store: an order goes to the relayer, which has it, and the
 * answer comes back over the bus and is looked for by who asked.  It is
 * forgotten there once it is told.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "key_verbs.h"

#include <stdio.h>
#include <string.h>

#include "app/master_impl.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "key_store.h"
#include "proc/bus.h"
#include "relay.h"
#include "relayer.h"
#include "rtmp/name.h"
#include "schema.h"
#include "verbs.h"

#define LOOK_MS 10
#define ANSWER_MS 10000
#define ANSWERS 64 /* that nobody has looked at yet, at most */

enum what { KEY_GET, KEY_RESET, KEY_DELETE, KEY_LIST };

struct order { /* master -> relayer */
    uint64_t number;
    int64_t max_rooms;
    int32_t what;
    char room[RELAY_ROOM_MAX + 1]; /* LIST: those behind it */
};

enum outcome { KEY_DONE = 1, KEY_MISSING, KEY_FAILED };

struct answer { /* relayer -> master */
    uint64_t number;
    int32_t outcome;
    uint32_t count;                                /* LIST: rooms in text */
    char text[KEY_STORE_PAGE][RELAY_ROOM_MAX + 1]; /* else only the first: the
                                                key, or why not */
};

/* ---- the relayer ---- */

struct job {
    struct order order;
    struct answer answer;
    char key[KEY_LENGTH + 1];
};

static void
reply(struct job *j, enum outcome outcome, struct str text)
{
    size_t len =
        offsetof(struct answer, text) +
        sizeof(j->answer.text[0]) * (j->answer.count > 0 ? j->answer.count : 1);

    j->answer.number = j->order.number;
    j->answer.outcome = (int32_t)outcome;
    if (j->answer.count == 0) {
        str_copy(j->answer.text[0], sizeof(j->answer.text[0]), text);
    }
    bus_send(0, BUS_KEY_ANSWER, &j->answer, len, -1);
    memset(j->key, 0, sizeof(j->key));
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
on_order(void *arg, struct bus_message *m)
{
    struct job *j;
    struct str room;

    (void)arg;
    if (m->len != sizeof(j->order)) {
        return;
    }
    j = mem_zero(sizeof(*j));
    memcpy(&j->order, m->data, sizeof(j->order));
    j->order.room[sizeof(j->order.room) - 1] = '\0';
    room = str_from(j->order.room);
    if (!relayer.plan.store) {
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
key_verbs_serve(void)
{
    bus_register(BUS_KEY_ORDER, BUS_MASTER, sizeof(struct order), on_order,
                 NULL);
}

/* ---- the master ---- */

static struct answer *answers[ANSWERS]; /* owned */
static uint64_t numbers;

/* What another process wrote is taken with all its ends. */
static void
on_answer(void *arg, struct bus_message *m)
{
    const size_t head = offsetof(struct answer, text);
    struct answer *a;

    (void)arg;
    if (m->len < head || m->len > sizeof(*a) || slot_self() != 0) {
        return;
    }
    a = mem_zero(sizeof(*a));
    memcpy(a, m->data, m->len);
    for (size_t i = 0; i < KEY_STORE_PAGE; i++) {
        a->text[i][sizeof(a->text[i]) - 1] = '\0';
    }
    if (a->count > KEY_STORE_PAGE) {
        a->count = KEY_STORE_PAGE;
    }
    mem_free(&answers[a->number % ANSWERS]);
    answers[a->number % ANSWERS] = a;
}

void
key_verbs_listen(void)
{
    bus_register(BUS_KEY_ANSWER, "relayer", sizeof(struct answer), on_answer,
                 NULL);
}

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

    settings_each_layer(control_master(call)->generation->settings,
                        look_at_layer, &most);
    return most;
}

struct waiting {
    uint64_t number;
    int64_t end_ms; /* clock_ms() */
};

/* The answer, once, for mem_free(); NULL: it is not there.  The slot where it
 * was is free. */
static struct answer *
take_answer(const struct waiting *w)
{
    struct answer **at = &answers[w->number % ANSWERS], *a = *at;

    if (a == NULL || a->number != w->number) {
        return NULL;
    }
    *at = NULL;
    return a;
}

static enum control_result
ask(struct control_call *call, struct waiting *w, enum what what,
    struct str room)
{
    struct order o = { .number = ++numbers,
                       .max_rooms = max_rooms(call),
                       .what = (int32_t)what };
    int slot = relay_verbs_relayer();

    str_copy(o.room, sizeof(o.room), room);
    if (slot == -1 ||
        bus_send((uint32_t)slot, BUS_KEY_ORDER, &o, sizeof(o), -1) == -1) {
        return control_fail(call, "failed",
                            "the relayer, which has the store, cannot be told");
    }
    w->number = o.number;
    w->end_ms = clock_ms() + ANSWER_MS;
    control_again(call, LOOK_MS);
    return CONTROL_LATER;
}

/* Fails, or waits for what there is not yet. */
static enum control_result
no_answer(struct control_call *call, const struct waiting *w)
{
    if (clock_ms() < w->end_ms) {
        control_again(call, LOOK_MS);
        return CONTROL_LATER;
    }
    return control_fail(call, "failed", "the relayer did not answer");
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
    struct waiting *w = control_state(call, sizeof(*w), NULL);
    struct str room = control_word(call, 0);
    struct errmsg err;
    struct answer *a;

    if (w->number == 0) {
        if (control_words(call) != 1) {
            return control_usage(call);
        }
        if (room.len > RELAY_ROOM_MAX ||
            rtmp_name_check(room, true, &err) == -1) {
            return control_fail(call, "usage", "no name of a room");
        }
        return ask(call, w, what, room);
    }
    a = take_answer(w);
    if (a == NULL) {
        return no_answer(call, w);
    }
    if (a->outcome != KEY_DONE) {
        failed(call, a);
    } else if (what == KEY_DELETE) {
        control_ok(call, "%s", "");
    } else {
        control_pair(call, "room", room);
        control_pair(call, "key", str_from(a->text[0]));
    }
    memset(a->text[0], 0, sizeof(a->text[0]));
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
    struct waiting *w = control_state(call, sizeof(*w), NULL);
    enum control_result result = CONTROL_DONE;
    struct answer *a;

    if (w->number == 0) {
        return ask(call, w, KEY_LIST, STR_NONE);
    }
    a = take_answer(w);
    if (a == NULL) {
        return no_answer(call, w);
    }
    if (a->outcome != KEY_DONE) {
        failed(call, a);
    } else {
        control_table(call, room_columns);
        for (uint32_t i = 0; i < a->count; i++) {
            control_cell(call, str_from(a->text[i]));
        }
        if (a->count == KEY_STORE_PAGE) {
            result =
                ask(call, w, KEY_LIST, str_from(a->text[KEY_STORE_PAGE - 1]));
        }
    }
    mem_free(&a);
    return result;
}
