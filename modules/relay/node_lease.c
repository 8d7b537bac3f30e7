/*
 * The node that has the lease of a task of the store runs it (store/lease.h).
 *
 * It publishes for the task its state, the start of that, whether it was
 * refused, the last failure, and the reason, with tabs between.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "relayer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"

/* Both texts of a view, and room for a state, a number and a flag. */
#define SAID_MAX 600
_Static_assert(SAID_MAX <= LEASE_STATE_MAX, "a lease holds what is said");
_Static_assert(sizeof((struct relay_view){ 0 }.reason) +
                       sizeof((struct relay_view){ 0 }.last_failure) + 80 <
                   SAID_MAX,
               "what is said is never cut");

/* ---- how it is said ---- */

static void
say(struct relay_task *t)
{
    const struct relay_view *v = &t->view;
    char text[SAID_MAX], failure[sizeof(v->last_failure)];
    int n;

    for (size_t i = 0; i < sizeof(failure); i++) {
        failure[i] = v->last_failure[i] == '\t' ? ' ' : v->last_failure[i];
    }
    n = snprintf(text, sizeof(text), "%s\t%" PRId64 "\t%d\t%s\t%s",
                 relay_state_name(v->state), v->since_ms, v->refused, failure,
                 v->reason);
    lease_say(t->lease, str_of(text, (size_t)n));
}

/* A state that this weir does not know is one of a newer weir. */
static enum relay_state
state_named(struct str name)
{
    for (unsigned i = 0; i < RELAY_STATES; i++) {
        if (str_eq(name, str_from(relay_state_name(i)))) {
            return (enum relay_state)i;
        }
    }
    return RELAY_STARTING;
}

static void
read_state(struct relay_other *o, struct str text)
{
    struct str state = str_cut(&text, '\t');
    struct str since = str_cut(&text, '\t');
    struct str refused = str_cut(&text, '\t');
    struct str failure = str_cut(&text, '\t');

    o->state = state_named(state);
    if (!str_to_int(since, 0, INT64_MAX, &o->since_ms)) {
        o->since_ms = 0;
    }
    o->refused = str_eq(refused, STR("1"));
    str_copy(o->last_failure, sizeof(o->last_failure), failure);
    str_copy(o->reason, sizeof(o->reason), text);
}

/* ---- what becomes of it ---- */

static void
on_taken(void *arg)
{
    struct relay_task *t = arg;

    memset(&t->other, 0, sizeof(t->other));
    t->view.refused = false;
    timer_set(t->relayer->loop, &t->timer, 0);
}

/* Somebody else may begin at any moment: no last words. */
static void
on_lost(void *arg, const char *reason)
{
    struct relay_task *t = arg;

    task_leave(t, reason, true);
    rtmp_login_clear(&t->login);
    task_set(t, RELAY_STARTING, reason);
    timer_set(t->relayer->loop, &t->timer, 0);
}

static void
on_seen(void *arg, struct str node, struct str state)
{
    struct relay_task *t = arg;
    struct relay_other o;

    memset(&o, 0, sizeof(o)); /* it is compared as bytes */
    str_copy(o.node, sizeof(o.node), node);
    if (node.len > 0) {
        read_state(&o, state);
    }
    if (memcmp(&o, &t->other, sizeof(o)) == 0) {
        return;
    }
    if (strcmp(o.node, t->other.node) != 0 && node.len > 0) {
        log_info("relay %s %.*s: node \"%s\" runs it%.*s",
                 relay_kind_name(t->kind), STR_ARGS(t->stream), o.node,
                 STR_ARGS(t->which));
    }
    memcpy(&t->other, &o, sizeof(o));
    timer_set(t->relayer->loop, &t->timer, 0);
}

static const struct lease_handlers handlers = {
    .on_taken = on_taken,
    .on_lost = on_lost,
    .on_seen = on_seen,
};

/* ---- the task ---- */

void
share_begin(struct relay_task *t)
{
    char name[LEASE_NAME_MAX + 1];

    if (t->origin == RELAY_API) {
        snprintf(name, sizeof(name), "relay/%" PRIu64, t->id);
        t->lease = lease_new(str_from(name), &handlers, t);
    }
}

void
share_end(struct relay_task *t)
{
    lease_free(&t->lease);
}

bool
share_take(struct relay_task *t)
{
    return t->lease == NULL || lease_want(t->lease);
}

void
share_drop(struct relay_task *t)
{
    if (t->lease != NULL) {
        lease_drop(t->lease);
    }
}

bool
share_is_ours(const struct relay_task *t)
{
    return t->lease == NULL || lease_is_held(t->lease);
}

void
share_say(struct relay_task *t)
{
    struct relay_view *v = &t->view;
    struct str node =
        share_is_ours(t) ? str_from(t->relayer->node) : str_from(t->other.node);

    str_copy(v->node, sizeof(v->node), node);
    if (t->lease != NULL && lease_is_held(t->lease)) {
        say(t);
    }
}

bool
share_show_other(struct relay_task *t)
{
    const struct relay_other *o = &t->other;

    if (o->node[0] == '\0') {
        return false;
    }
    t->view.there = (uint8_t)o->state;
    task_set(t, RELAY_ELSEWHERE, o->reason);
    t->view.since_ms = o->since_ms;
    t->view.refused = o->refused;
    str_copy(t->view.last_failure, sizeof(t->view.last_failure),
             str_from(o->last_failure));
    task_show(t);
    return true;
}
