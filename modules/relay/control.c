/*
 * weirctl's words for relays.
 *
 * The list is read from shared memory.  The master checks a start or stop and
 * sends it to the relayer (order.h), which has the store.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "control.h"

#include <string.h>

#include "app/control/verb.h"
#include "ask.h"
#include "base/clock.h"
#include "base/mem.h"
#include "key_verbs.h"
#include "order.h"
#include "relay.h"
#include "relayer.h"
#include "rtmp/name.h"

#define IN_FILE "it is in the configuration: change it there"

struct order { /* master -> relayer, which answers with nothing */
    uint8_t start, kind;
    bool of_file; /* relay_ask_is_of_file() */
    int64_t room; /* relay_ask_room() */
    char app[RTMP_NAME_MAX + 1], name[RTMP_NAME_MAX + 1];
    char url[RELAY_URL_MAX + 1];
};

_Static_assert(sizeof(struct order) <= RELAY_VERBS_ORDER_MAX, "it fits");

/* ---- the relayer ---- */

struct job {
    struct rpc_request *request;
    struct order order;
};

static void
done(struct job *j)
{
    rpc_reply(&j->request, NULL, 0, -1);
    mem_free(&j);
}

static void
refuse(struct job *j, const char *why)
{
    rpc_refuse(&j->request, why);
    mem_free(&j);
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
    struct job *j = arg;
    struct relay_ask ask = ask_of(&j->order);
    char why[RELAY_WORDS_MAX];

    if (r->status != STORE_OK) {
        refuse(j, store_status_text(r->status));
    } else if (ask.start) {
        refuse(j, words[relay_ask_obstacle(&ask, r)]);
    } else {
        relay_ask_missing(&ask, j->order.of_file, r, why);
        refuse(j, why);
    }
}

static void
on_written(void *arg, const struct store_result *r)
{
    struct job *j = arg;
    struct relay_ask ask = ask_of(&j->order);

    if (r->status == STORE_MISSING) {
        relay_ask_look(&ask, on_looked_up, j);
    } else if (r->status == STORE_OK) {
        done(j);
    } else {
        refuse(j, store_status_text(r->status));
    }
}

static void
on_order(void *arg, struct rpc_request *r)
{
    const struct relayer *relayer = arg;
    struct relay_ask ask;
    struct job *j;

    if (r->len != sizeof(j->order)) {
        rpc_refuse(&r, "the order makes no sense");
        return;
    }
    j = mem_zero(sizeof(*j));
    j->request = r;
    memcpy(&j->order, r->data, sizeof(j->order));
    if (!relayer->plan.store) { /* there is nothing to ask */
        refuse(j, j->order.start == 0 && j->order.of_file
                      ? IN_FILE
                      : "no location has module relay, which keeps relays");
        return;
    }
    ask = ask_of(&j->order);
    relay_ask_write(&ask, j->order.room, on_written, j);
}

void
relay_verbs_serve(struct relayer *r)
{
    rpc_serve(&order_methods[ORDER_TASK], on_order, r);
}

/* ---- the master ---- */

static enum control_result
send_order(struct control_call *call, struct control_ask *w,
           const struct relay_ask *ask)
{
    const struct settings *s = control_settings(call);
    struct order o = { .start = ask->start,
                       .kind = (uint8_t)ask->kind,
                       .of_file = relay_ask_is_of_file(s, ask),
                       .room = relay_ask_room(s) };

    str_copy(o.app, sizeof(o.app), ask->app);
    str_copy(o.name, sizeof(o.name), ask->name);
    str_copy(o.url, sizeof(o.url), ask->url);
    return control_ask(call, w, &order_methods[ORDER_TASK], &o, sizeof(o));
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
    struct control_ask *w = control_state(call, sizeof(*w), control_ask_done);
    struct relay_ask ask = { .start = start };
    struct errmsg err = { "" };
    enum control_result result;
    int status;

    if (w->asked) {
        return control_answered(call, w, 0, &result)
                   ? control_ok(call, "%s", "")
                   : result;
    }
    if (control_words(call) < (start ? 4u : 3u)) {
        return control_usage(call);
    }
    if (read_ask(call, &ask, &err) == -1) {
        return control_fail(call, "usage", "%s", err.text);
    }
    status = relay_ask_check(control_settings(call), &ask, &err);
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
        control_cell_words(call, str_from(v.reason));
        control_cell_words(call, str_from(v.last_failure));
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
