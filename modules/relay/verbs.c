/*
 * weirctl's words for relays.
 *
 * The list is read from shared memory.  A start or stop is checked here, in
 * the master, and sent to the relayer, which has the store; its answer comes
 * back over the bus and is looked for by who asked.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "verbs.h"

#include <string.h>

#include "app/control/verb.h"
#include "app/master_impl.h"
#include "ask.h"
#include "base/clock.h"
#include "base/mem.h"
#include "key_verbs.h"
#include "proc/bus.h"
#include "proc/slot.h"
#include "relay.h"
#include "relayer.h"
#include "rtmp/name.h"

#define LOOK_MS 10
#define ANSWER_MS 10000
#define IN_FILE "it is in the configuration: change it there"
#define ANSWERS 64 /* that nobody has looked at yet, at most */

struct order { /* master -> relayer */
    uint64_t number;
    uint8_t start, kind;
    bool of_file; /* relay_ask_is_of_file() */
    int64_t room; /* relay_ask_room() */
    char app[RTMP_NAME_MAX + 1], name[RTMP_NAME_MAX + 1];
    char url[RELAY_URL_MAX + 1];
};

struct answer { /* relayer -> master */
    uint64_t number;
    uint8_t done;
    char text[RELAY_WORDS_MAX]; /* why not */
};

/* ---- the relayer ---- */

static void
answer(struct order *o, bool done, const char *text)
{
    struct answer a = { .number = o->number, .done = done };

    str_copy(a.text, sizeof(a.text), str_from(text));
    bus_send(0, BUS_RELAY_ANSWER, &a, sizeof(a), -1);
    mem_free(&o);
}

static struct relay_ask
ask_of(const struct order *o)
{
    return (struct relay_ask){
        .start = o->start != 0,
        .kind = o->kind == RELAY_PULL ? RELAY_PULL : RELAY_PUSH,
        .app = str_of(o->app, strnlen(o->app, RTMP_NAME_MAX)),
        .name = str_of(o->name, strnlen(o->name, RTMP_NAME_MAX)),
        .url = str_of(o->url, strnlen(o->url, RELAY_URL_MAX)),
    };
}

static void
on_looked_up(void *arg, const struct store_result *r)
{
    static const char *const words[] = {
        [RELAY_NO_ROOM] = "there are as many relays as relays.max allows",
        [RELAY_OTHER_URL] = "it is there with another URL: stop it first",
        [RELAY_RING] = "the stream would feed itself through this URL",
    };
    struct order *o = arg;
    struct relay_ask ask = ask_of(o);
    char why[RELAY_WORDS_MAX];

    if (r->status != STORE_OK) {
        answer(o, false, store_status_text(r->status));
    } else if (ask.start) {
        answer(o, false, words[relay_ask_obstacle(&ask, r)]);
    } else {
        relay_ask_missing(&ask, o->of_file, r, why);
        answer(o, false, why);
    }
}

static void
on_written(void *arg, const struct store_result *r)
{
    struct order *o = arg;
    struct relay_ask ask = ask_of(o);

    if (r->status == STORE_MISSING) {
        relay_ask_look(&ask, on_looked_up, o);
    } else {
        answer(o, r->status == STORE_OK,
               r->status == STORE_OK ? "" : store_status_text(r->status));
    }
}

/* Without one there is nothing to ask. */
static void
answer_no_store(struct order *o)
{
    answer(o, false,
           o->start == 0 && o->of_file
               ? IN_FILE
               : "no location has module relay, which keeps relays");
}

static void
on_order(void *arg, struct bus_message *m)
{
    struct order *o;
    struct relay_ask ask;

    (void)arg;
    if (m->len != sizeof(*o)) {
        return;
    }
    o = mem_zero(sizeof(*o));
    memcpy(o, m->data, sizeof(*o));
    if (!relayer.plan.store) {
        answer_no_store(o);
        return;
    }
    ask = ask_of(o);
    relay_ask_write(&ask, o->room, on_written, o);
}

void
relay_verbs_serve(void)
{
    bus_register(BUS_RELAY_ORDER, BUS_MASTER, sizeof(struct order), on_order,
                 NULL);
}

/* ---- the master ---- */

static struct answer answers[ANSWERS];
static uint64_t numbers;

static void
on_answer(void *arg, struct bus_message *m)
{
    struct answer a;

    (void)arg;
    if (m->len == sizeof(a) && slot_self() == 0) {
        memcpy(&a, m->data, sizeof(a));
        a.text[sizeof(a.text) - 1] = '\0';
        answers[a.number % ANSWERS] = a;
    }
}

void
relay_verbs_listen(void)
{
    bus_register(BUS_RELAY_ANSWER, "relayer", sizeof(struct answer), on_answer,
                 NULL);
}

int
relay_verbs_relayer(void)
{
    slot_owner found = slot_find_role("relayer", 0);

    return found != 0 ? (int)slot_owner_number(found) : -1;
}

struct waiting {
    uint64_t number;
    int64_t end_ms; /* clock_ms() */
};

static enum control_result
send_order(struct control_call *call, struct waiting *w,
           const struct relay_ask *ask)
{
    const struct settings *s = control_master(call)->generation->settings;
    struct order o = { .number = ++numbers,
                       .start = ask->start,
                       .kind = (uint8_t)ask->kind,
                       .of_file = relay_ask_is_of_file(s, ask),
                       .room = relay_ask_room(s) };
    int slot = relay_verbs_relayer();

    str_copy(o.app, sizeof(o.app), ask->app);
    str_copy(o.name, sizeof(o.name), ask->name);
    str_copy(o.url, sizeof(o.url), ask->url);
    if (slot == -1 ||
        bus_send((uint32_t)slot, BUS_RELAY_ORDER, &o, sizeof(o), -1) == -1) {
        return control_fail(call, "failed", "the relayer cannot be told");
    }
    w->number = o.number;
    w->end_ms = clock_ms() + ANSWER_MS;
    control_again(call, LOOK_MS);
    return CONTROL_LATER;
}

static enum control_result
look_for_answer(struct control_call *call, const struct waiting *w)
{
    const struct answer *a = &answers[w->number % ANSWERS];

    if (a->number != w->number && clock_ms() < w->end_ms) {
        control_again(call, LOOK_MS);
        return CONTROL_LATER;
    }
    if (a->number != w->number) {
        return control_fail(call, "failed", "the relayer did not answer");
    }
    return a->done != 0 ? control_ok(call, "%s", "")
                        : control_fail(call, "failed", "%s", a->text);
}

static int
read_ask(struct control_call *call, struct relay_ask *ask, struct errmsg *err)
{
    struct str kind = control_word(call, 0);

    ask->kind = str_eq(kind, STR("pull")) ? RELAY_PULL : RELAY_PUSH;
    ask->app = control_word(call, 1);
    ask->name = control_word(call, 2);
    ask->url = control_word(call, 3);
    if (ask->kind == RELAY_PUSH && !str_eq(kind, STR("push"))) {
        return errmsg_set(err, "the kind is \"pull\" or \"push\"");
    }
    if (ask->url.len > RELAY_URL_MAX) {
        return errmsg_set(err, "the URL is longer than %d bytes",
                          RELAY_URL_MAX);
    }
    return rtmp_name_check(ask->app, true, err) == -1 ||
                   rtmp_name_check(ask->name, false, err) == -1
               ? -1
               : 0;
}

static enum control_result
order(struct control_call *call, bool start)
{
    struct waiting *w = control_state(call, sizeof(*w), NULL);
    const struct settings *s = control_master(call)->generation->settings;
    struct relay_ask ask = { .start = start };
    struct errmsg err = { "" };
    int status;

    if (w->number != 0) {
        return look_for_answer(call, w);
    }
    if (control_words(call) < (start ? 4u : 3u)) {
        return control_usage(call);
    }
    if (read_ask(call, &ask, &err) == -1) {
        return control_fail(call, "usage", "%s", err.text);
    }
    status = relay_ask_check(s, &ask, &err);
    if (status == 200) {
        return control_ok(call, "%s", "");
    }
    if (status != 0) {
        return control_fail(call, status == 404 ? "missing" : "failed", "%s",
                            err.text);
    }
    return send_order(call, w, &ask);
}

static enum control_result
on_start(struct control_call *call)
{
    return order(call, true);
}

static enum control_result
on_stop(struct control_call *call)
{
    return order(call, false);
}

static const struct control_column columns[] = {
    { "kind", 4 },         { "stream", 24 },  { "state", 28 },
    { "origin", 6 },       { "attempts", 8 }, { "failures", 8 },
    { "kbytes", 10 },      { "frames", 10 },  { "since_s", 8 },
    { "node", 24 },        { "url", 40 },     { "reason", 40 },
    { "last_failure", 0 }, { NULL, 0 },
};

static enum control_result
on_show(struct control_call *call)
{
    uint32_t *at = control_state(call, sizeof(*at), NULL);
    char stream[2 * RTMP_NAME_MAX + 2];
    struct relay_view v;

    control_table(call, columns);
    while (relay_tasks_next(at, &v)) {
        size_t n = str_copy(stream, sizeof(stream), str_from(v.app));

        n = str_append(stream, sizeof(stream), n, STR("/"));
        str_append(stream, sizeof(stream), n, str_from(v.name));
        control_cell(call, str_from(relay_kind_name(v.kind)));
        control_cell(call, str_from(stream));
        control_cell(call, str_from(relay_state_name(relay_view_state(&v))));
        control_cell(call, str_from(relay_origin_name(v.origin)));
        control_cell_int(call, (int64_t)v.attempts);
        control_cell_int(call, (int64_t)v.failures);
        control_cell_int(call, (int64_t)(v.bytes / 1024));
        control_cell_int(call, (int64_t)v.frames);
        control_cell_int(call, (clock_wall_ms() - v.since_ms) / 1000);
        control_cell(call, v.node[0] != '\0' ? str_from(v.node) : STR("-"));
        control_cell(call, str_from(v.url));
        control_cell(call, str_from(v.reason));
        control_cell(call, str_from(v.last_failure));
        if (control_full(call)) {
            return CONTROL_MORE;
        }
    }
    return CONTROL_DONE;
}

const struct control_verb relay_verbs[] = {
    { "show relays", NULL, "Pulls and pushes, and what they do.", CONTROL_USER,
      0, on_show },
    { "relay start", "pull|push APP NAME URL",
      "Starts a relay, which comes back after a restart.", CONTROL_OPERATOR, 4,
      on_start },
    { "relay stop", "pull|push APP NAME [URL]",
      "Ends a relay for good; without URL the only one of the stream.",
      CONTROL_OPERATOR, 4, on_stop },
    { "key get", "ROOM", "The key of a room; one is made if it has none.",
      CONTROL_ADMIN, 1, key_verbs_get },
    { "key reset", "ROOM",
      "A new key for a room; who publishes with the old one is closed, unless "
      "on_key_change keeps it.",
      CONTROL_ADMIN, 1, key_verbs_reset },
    { "key delete", "ROOM", "The room has no key any more.", CONTROL_ADMIN, 1,
      key_verbs_delete },
    { "key list", NULL, "Rooms that have a key.", CONTROL_OPERATOR, 0,
      key_verbs_list },
    { .words = NULL },
};
