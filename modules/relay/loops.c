/*
 * Streams that would feed themselves.
 *
 * When a stream is pulled from and pushed to one place, its own last frames
 * come back once its publisher has left, and go round as fast as the hosts can.
 * So the pull yields to the push: it is not begun, or is ended, fails with the
 * reason, and is tried again when that push is gone.  The pairs are found
 *
 *   by their URLs,       when either begins (target.h);
 *   by their addresses,  when either is connected: other names of one server;
 *   by this node's own sessions, when a pull would play, in the end, the stream
 *                        that it makes here.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "relayer.h"

#include <string.h>

static void
mark(struct relay_task *t)
{
    t->relayer->rings.held += !t->ring;
    t->ring = true;
}

static void
hold(struct relay_task *t, const char *why)
{
    mark(t);
    task_failed(t, RELAY_FAILED_HERE, why);
}

static void
release(struct relay_task *t)
{
    t->relayer->rings.held -= t->ring;
    t->ring = false;
}

static bool
is_busy(const struct relay_task *t)
{
    return t->client != NULL || t->dial != NULL;
}

/* The words are those of a refusal to the API, and of -t. */
static void
tell(struct errmsg *why, enum relay_origin origin, struct str to)
{
    errmsg_set(why,
               "the stream would feed itself: a push %s takes it to where this "
               "pulls from, %.*s",
               origin == RELAY_CONFIG ? "of weir.conf" : "of the API",
               (int)(to.len < 120 ? to.len : 120), to.ptr);
}

/* ---- by URL ---- */

static bool
is_pushed_by(const struct relay_task *pull, const struct relay_task *push)
{
    return push->kind == RELAY_PUSH && pull->kind == RELAY_PULL &&
           pull->target.text.len > 0 && str_eq(push->stream, pull->stream) &&
           str_eq(push->target.text, pull->target.text);
}

/* One of several streams has no task before there is a stream. */
static bool
is_planned(const struct relay_task *pull, const struct plan_task *push)
{
    struct relay_target t;
    struct errmsg err;
    struct pool *pool;
    bool same;

    if (push->kind != RELAY_PUSH || !push->of.many ||
        !str_eq(push->app, pull->app) ||
        !push_names_have(&push->of, pull->name)) {
        return false;
    }
    pool = pool_new(1024);
    same = relay_target_read(pool, push->url, pull->name, &t, &err) == 0 &&
           str_eq(t.text, pull->target.text);
    pool_free(&pool);
    return same;
}

static bool
find_push(const struct relay_task *pull, struct errmsg *why)
{
    LIST_EACH (node, &pull->relayer->tasks) {
        const struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        if (is_pushed_by(pull, t)) {
            tell(why, t->origin, t->remote);
            return true;
        }
    }
    for (size_t i = 0; i < pull->relayer->plan.task_count; i++) {
        if (is_planned(pull, &pull->relayer->plan.tasks[i])) {
            tell(why, RELAY_CONFIG, pull->target.host);
            return true;
        }
    }
    return false;
}

bool
ring_holds(struct relay_task *t, struct errmsg *why)
{
    release(t);
    if (t->kind != RELAY_PULL || t->ring_seen == t->relayer->rings.changes) {
        return false;
    }
    if (!find_push(t, why)) {
        t->ring_seen = t->relayer->rings.changes;
        return false;
    }
    mark(t);
    return true;
}

void
ring_begin(struct relay_task *push)
{
    struct errmsg why;

    if (push->kind != RELAY_PUSH) {
        return;
    }
    push->relayer->rings.changes++;
    tell(&why, push->origin, push->remote);
    LIST_EACH (node, &push->relayer->tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        if (is_pushed_by(t, push) && is_busy(t)) {
            hold(t, why.text);
        }
    }
}

void
ring_plan(struct relay_task *t)
{
    t->relayer->rings.changes++;
    if (t->ring && !is_busy(t)) {
        timer_set(t->relayer->loop, &t->timer, 0);
    }
}

/* One of all streams ends with the stream, but is still wanted. */
void
ring_end(struct relay_task *t)
{
    t->relayer->rings.changes += t->kind == RELAY_PUSH;
    release(t);
    if (t->relayer->rings.held == 0 || t->of_all) {
        return;
    }
    LIST_EACH (node, &t->relayer->tasks) {
        struct relay_task *other = LIST_ITEM(node, struct relay_task, link);

        if (other->ring && !is_busy(other)) {
            timer_set(t->relayer->loop, &other->timer, 0);
        }
    }
}

/* ---- by address ---- */

/* All addresses of this host are one. */
static struct addr
address_of(const struct conn_socket *s)
{
    struct addr a = s->peer, own = s->local;

    own.port = a.port;
    if (addr_is_loopback(&a) || addr_eq(&a, &own)) {
        a = (struct addr){ .family = AF_UNIX, .port = a.port };
    }
    return a;
}

static bool
is_same_server(const struct relay_task *a, const struct relay_task *b)
{
    struct addr one = a->server, other = b->server;

    other.port = one.port; /* the scheme's own are as good as another's */
    return one.family != AF_UNSPEC && a->target.port == b->target.port &&
           addr_eq(&one, &other) && str_eq(a->target.stream, b->target.stream);
}

/* The other end of a ring that t would close; the push and the pull of it. */
static bool
is_ring(struct relay_task *t, struct relay_task *other)
{
    return other->kind != t->kind && str_eq(t->stream, other->stream) &&
           (other->kind == RELAY_PUSH || other->client != NULL) &&
           is_same_server(t, other);
}

bool
ring_connects(struct relay_task *t, const struct conn_socket *s)
{
    struct errmsg why;

    t->server = address_of(s);
    LIST_EACH (node, &t->relayer->tasks) {
        struct relay_task *other = LIST_ITEM(node, struct relay_task, link);

        if (!is_ring(t, other)) {
            continue;
        }
        tell(&why, t->kind == RELAY_PUSH ? t->origin : other->origin,
             t->kind == RELAY_PUSH ? t->remote : other->remote);
        if (t->kind == RELAY_PULL) {
            conn_socket_close(s);
            hold(t, why.text);
            return true;
        }
        hold(other, why.text);
    }
    return false;
}

/* ---- by the sessions of this node ---- */

/* Which stream of ours the connection plays.  The player's session exists
 * before the pull learns that it plays. */
static void
find_source(struct relay_task *t)
{
    const struct conn *conn = rtmp_client_conn(t->client);
    struct live_session_view v;
    uint32_t at = 0;

    t->source[0] = '\0';
    while (t->server.family == AF_UNIX && live_next_session(&at, &v)) {
        if (!v.publisher &&
            (v.kind == LIVE_KIND_RTMP || v.kind == LIVE_KIND_RTMPS) &&
            addr_eq(&v.peer, &conn->local)) {
            str_copy(t->source, sizeof(t->source), str_from(v.name));
            return;
        }
    }
}

/* The pull of a stream, NULL if it does not run or is not from here. */
static const struct relay_task *
find_own_pull(const struct relayer *r, struct str stream)
{
    LIST_EACH (node, &r->tasks) {
        const struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        if (t->kind == RELAY_PULL && t->ready && t->source[0] != '\0' &&
            str_eq(t->stream, stream)) {
            return t;
        }
    }
    return NULL;
}

bool
ring_plays(struct relay_task *t)
{
    const struct relay_task *at = t;
    struct errmsg why;

    find_source(t);
    for (size_t i = 0; at != NULL && i < t->relayer->count; i++) {
        at = find_own_pull(t->relayer, str_from(at->source));
        if (at == t) {
            errmsg_set(&why,
                       "the stream would feed itself: %s of this weir is "
                       "pulled from it",
                       t->source);
            hold(t, why.text);
            return true;
        }
    }
    return false;
}
