/*
 * Commands that change something at once: log level, node state, sessions,
 * counters.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/control/control_impl.h"

#include <stdio.h>
#include <string.h>

#include "app/child_commands.h"
#include "app/node_state.h"
#include "net/access.h"
#include "net/listen.h"
#include "proc/refused.h"

#define FOR_MAX_MS (INT64_C(7) * 24 * 3600 * 1000)

int
control_read_for(struct control_call *call, size_t i, int64_t *ms)
{
    size_t words = control_words(call);
    struct errmsg err;

    *ms = 0;
    if (words <= i) {
        return 0;
    }
    if (words != i + 2 || !str_eq(control_word(call, i), STR("for"))) {
        control_usage(call);
        return -1;
    }
    if (conf_parse_time(control_word(call, i + 1), ms, &err) == -1) {
        control_fail(call, "usage", "%s", err.text);
        return -1;
    }
    if (*ms <= 0 || *ms > FOR_MAX_MS) {
        control_fail(call, "usage", "a time up to 7d, not %lld ms",
                     (long long)*ms);
        return -1;
    }
    return 0;
}

/* ---- set ---- */

static int
find_level(struct str word)
{
    for (int i = LOG_ALERT; i <= LOG_DEBUG; i++) {
        if (str_eq(word, str_from(log_level_name((enum log_level)i)))) {
            return i;
        }
    }
    return -1;
}

static enum control_result
on_set_log_level(struct control_call *call)
{
    struct control *c = call->client->control;
    int level = find_level(control_word(call, 0));
    enum log_level before = log_level();
    int64_t ms;

    if (level == -1) {
        return control_usage(call);
    }
    if (control_read_for(call, 1, &ms) == -1) {
        return CONTROL_DONE;
    }
    child_commands_log_level((enum log_level)level);
    timer_stop(c->m->loop, &c->log_level);
    if (ms > 0) {
        timer_set(c->m->loop, &c->log_level, ms);
    }
    return control_ok(call, "%s -> %s", log_level_name(before),
                      log_level_name((enum log_level)level));
}

static enum control_result
on_set_state(struct control_call *call)
{
    enum node_state before = node_state();

    for (int i = NODE_READY; i <= NODE_MAINT; i++) {
        enum node_state state = (enum node_state)i;

        if (str_eq(control_word(call, 0), str_from(node_state_name(state)))) {
            node_state_set(state);
            return control_ok(call, "%s -> %s", node_state_name(before),
                              node_state_name(state));
        }
    }
    return control_usage(call);
}

/* ---- kick ---- */

/* The sessions of processes that are meant; told: a bit for each that has
 * one. */
static int64_t
find_meant(const struct live_kick *kick, uint64_t *told)
{
    struct live_session_view v;
    int64_t count = 0;
    uint32_t at = 0;

    while (live_next_session(&at, &v)) {
        uint32_t slot = slot_owner_number(v.owner);

        if (slot < SLOT_MAX && live_kick_means(kick, &v)) {
            count++;
            told[slot / 64] |= UINT64_C(1) << slot % 64;
        }
    }
    return count;
}

/* Sends away those that belong to no process and tells each process that has
 * one; how many sessions are meant, or -1. */
static int64_t
send_away(const struct kick_order *order, int64_t kick_time)
{
    uint64_t told[SLOT_MAX / 64] = { 0 };
    struct pool *pool = pool_new(256);
    struct live_kick kick;
    int64_t count = -1;

    if (child_commands_read_kick(order, pool, &kick) == 0) {
        count = find_meant(&kick, told) + live_kick_viewers(&kick, kick_time);
    }
    pool_free(&pool);
    for (uint32_t i = 0; i < slots_count(); i++) {
        if ((told[i / 64] >> i % 64 & 1) != 0 &&
            child_commands_kick(i, order) == -1) {
            log_error("control: %s cannot be told to send sessions away",
                      slot_card(i)->name);
        }
    }
    return count;
}

static enum control_result
kicked(struct control_call *call, const struct kick_order *order)
{
    int64_t count = send_away(order, control_settings(call)->live.kick_time);

    if (count <= 0) {
        return control_fail(call, "missing",
                            order->serial != 0
                                ? "there is no such session"
                                : "nobody is there who is meant");
    }
    control_pair_int(call, "kicked", count);
    return CONTROL_DONE;
}

static enum control_result
on_kick_session(struct control_call *call)
{
    struct kick_order order = { 0 };
    struct str serial = control_word(call, 0);
    struct str slot = str_cut(&serial, ':');
    int64_t a, b;

    if (!str_to_int(slot, 0, LIVE_NO_SLOT, &a) ||
        !str_to_int(serial, 1, UINT32_MAX, &b)) {
        return control_usage(call);
    }
    order.slot = (uint32_t)a;
    order.serial = (uint32_t)b;
    return kicked(call, &order);
}

static enum control_result
on_kick_stream(struct control_call *call)
{
    struct kick_order order = { 0 };
    struct str who = control_word(call, 1);

    if (control_words(call) == 0 ||
        (who.len > 0 && !str_eq(who, STR("publisher")) &&
         !str_eq(who, STR("players")))) {
        return control_usage(call);
    }
    if (control_word(call, 0).len >= sizeof(order.name)) {
        return control_fail(call, "usage", "the name is too long");
    }
    str_copy(order.name, sizeof(order.name), control_word(call, 0));
    order.publishers = !str_eq(who, STR("players"));
    order.players = !str_eq(who, STR("publisher"));
    return kicked(call, &order);
}

static enum control_result
on_kick_addr(struct control_call *call)
{
    struct kick_order order = { 0 };
    struct str what = control_word(call, 0);
    struct errmsg err;
    int len =
        snprintf(order.from, sizeof(order.from), "allow %.*s", STR_ARGS(what));

    if (what.len == 0 || len < 0 || (size_t)len >= sizeof(order.from)) {
        return control_usage(call);
    }
    if (access_check_rule(str_from(order.from), &err) == -1) {
        return control_fail(call, "usage", "%s", err.text);
    }
    return kicked(call, &order);
}

/* ---- listeners ---- */

/* By what "show listeners" tells of it; NULL: the call has failed. */
static struct listener *
find_listener(struct control_call *call)
{
    struct str word = control_word(call, 0);

    LIST_EACH (node, &control_master(call)->listeners) {
        struct listener *l = LIST_ITEM(node, struct listener, link);
        char text[CONTROL_ADDRESS];

        control_listener_text(l, text);
        if (!l->retired && word.len > 0 && str_eq(word, str_from(text))) {
            return l;
        }
    }
    if (word.len == 0) {
        control_usage(call);
    } else {
        control_fail(call, "missing",
                     "nothing listens there; show listeners tells addresses");
    }
    return NULL;
}

static enum control_result
on_disable(struct control_call *call)
{
    struct listener *l = find_listener(call);
    struct errmsg err;

    if (l == NULL) {
        return CONTROL_DONE;
    }
    return listener_disable(l, &err) == -1
               ? control_fail(call, "failed", "%s", err.text)
               : control_ok(call, "%s", "");
}

static enum control_result
on_enable(struct control_call *call)
{
    struct listener *l = find_listener(call);

    if (l == NULL) {
        return CONTROL_DONE;
    }
    listener_enable(l);
    return control_ok(call, "%s", "");
}

/* ---- the rest ---- */

/* Counters of /metrics never fall: these here are the socket's own. */
static enum control_result
on_clear_counters(struct control_call *call)
{
    for (uint32_t i = 0; i < slots_count(); i++) {
        atomic_store(&slot_at(i)->accepted, 0);
        atomic_store(&slot_at(i)->log_dropped, 0);
    }
    recent_clear(refused_list());
    return control_ok(call, "%s", "");
}

static enum control_result
on_reopen(struct control_call *call)
{
    struct errmsg err;

    if (master_reopen(&err) == -1) {
        return control_fail(call, "failed", "%s", err.text);
    }
    return control_ok(call, "%s", "");
}

const struct control_verb control_do_verbs[] = {
    { "set log level", "LEVEL [for TIME]",
      "Of all processes; for TIME, then as configured.", CONTROL_OPERATOR, 3,
      on_set_log_level },
    { "set state", "ready | drain | maint",
      "What /readyz tells load balancers; stops nothing.", CONTROL_OPERATOR, 1,
      on_set_state },
    { "kick sess", "ID", "Ends one session.", CONTROL_OPERATOR, 1,
      on_kick_session },
    { "kick stream", "APP/NAME [publisher | players]",
      "Ends the sessions of a stream.", CONTROL_OPERATOR, 2, on_kick_stream },
    { "kick addr", "WHAT",
      "Ends sessions by address: ADDRESS, ADDRESS/BITS, loopback, private, "
      "linklocal, all.",
      CONTROL_OPERATOR, 1, on_kick_addr },
    { "disable listener", "ADDRESS",
      "Who connects there is not answered, until it is enabled or weir "
      "reloads; connections stay.",
      CONTROL_ADMIN, 1, on_disable },
    { "enable listener", "ADDRESS", "Who connects there is answered again.",
      CONTROL_ADMIN, 1, on_enable },
    { "clear counters", NULL,
      "What this socket shows of accepted connections, dropped log lines and "
      "refused requests; no metric.",
      CONTROL_OPERATOR, 0, on_clear_counters },
    { "reopen", NULL, "Opens the log files again.", CONTROL_OPERATOR, 0,
      on_reopen },
    { .words = NULL },
};
