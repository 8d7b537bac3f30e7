/*
 * All connections of the process: accepting them, and which of them wait for
 * a next request, so that they can be closed when their place is needed, when
 * the process drains and when it ends.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <assert.h>

#include "base/mem.h"
#include "http/exchange.h"
#include "http/metrics.h"
#include "net/share.h"

#define SHED_LOOKED 4096 /* idle ones, for some that end */

static struct {
    struct list connections; /* struct http_connection */
    struct list idle;        /* those between requests, the longest first */
    size_t count;
    uint32_t accepted; /* ever; may begin anew */
    int64_t grace;     /* ms, of http_drain() */
    bool ready, draining, leaving;
} all;

void
http_accept(struct loop *l, const struct http_address *a,
            const struct conn_socket *socket)
{
    struct http_connection *c = mem_zero(sizeof(*c));

    if (!all.ready) {
        list_init(&all.connections);
        list_init(&all.idle);
        all.ready = true;
    }
    c->loop = l;
    assert(socket->place < a->count);
    c->address = a;
    c->place = socket->place;
    c->server = a->servers[c->place].server;
    c->not_tls = socket->not_tls;
    c->at_loopback = socket->at_loopback;
    if (http_connection_begin(c, socket) == -1) {
        mem_free(&c);
        return;
    }
    c->number = ++all.accepted;
    list_append(&all.connections, &c->link);
    c->counted = true;
    all.count++;
}

void
http_connection_closed(struct http_connection *c)
{
    all.count -= c->counted;
    c->counted = false;
}

void
http_connection_gone(struct http_connection *c)
{
    http_connection_closed(c);
    list_remove(&c->link);
}

/* ---- between requests ---- */

/* How long it may wait for the next request. */
static int64_t
idle_time(const struct http_connection *c)
{
    int64_t time = c->server->settings.keepalive_timeout;

    return all.draining && all.grace < time ? all.grace : time;
}

void
http_idle(struct http_connection *c)
{
    list_remove(&c->link);
    list_append(&all.idle, &c->link);
    timer_set(c->loop, &c->timer, idle_time(c));
}

void
http_not_idle(struct http_connection *c)
{
    list_remove(&c->link);
    list_append(&all.connections, &c->link);
}

/* One that has not sent its first request yet is about to; its clock runs
 * since accept. */
static bool
is_idle(const struct http_connection *c)
{
    return c->phase == PHASE_IDLE && c->requests > 0 &&
           buf_len(&c->conn->in) == 0;
}

static bool
is_of(const struct http_connection *c, const struct tally_holder *client)
{
    struct tally_holder h = share_prefix(&c->conn->peer);

    return share_eq(&h, client);
}

/* The longest idle first; client NULL: of anybody.  How many it ended. */
static size_t
shed(size_t count, const struct tally_holder *client)
{
    size_t ended = 0, looked = 0;

    LIST_EACH (node, &all.idle) {
        struct http_connection *c =
            LIST_ITEM(node, struct http_connection, link);

        if (ended == count || (client != NULL && looked++ == SHED_LOOKED)) {
            break;
        }
        if (is_idle(c) && (client == NULL || is_of(c, client))) {
            http_refusal_add(REFUSE_SHED);
            http_connection_end(c, HTTP_END_SHED,
                                http_refusal_text(REFUSE_SHED));
            ended++;
        }
    }
    return ended;
}

void
http_shed(size_t count)
{
    struct tally_holder exempt = share_self(), largest;

    if (!all.ready) {
        return;
    }
    if (tally_largest(&conn_pools[0], &exempt, &largest) > 0) {
        count -= shed(count, &largest);
    }
    shed(count, NULL);
}

bool
http_shed_of(const struct tally_holder *client)
{
    return all.ready && shed(1, client) == 1;
}

static void
drain_idle(struct http_connection *c)
{
    const struct conn *conn = c->conn;
    int64_t since, left;

    if (!is_idle(c)) {
        return;
    }
    since = conn->last_read_ms > conn->last_write_ms ? conn->last_read_ms
                                                     : conn->last_write_ms;
    left = since + all.grace - loop_now(c->loop);
    if (left <= 0) {
        http_connection_end(c, HTTP_END_DRAIN, "draining");
    } else if (left < c->server->settings.keepalive_timeout) {
        timer_set(c->loop, &c->timer, left);
    }
}

void
http_drain(int64_t grace)
{
    all.draining = true;
    all.grace = grace;
    if (!all.ready) {
        return;
    }
    LIST_EACH (node, &all.idle) {
        drain_idle(LIST_ITEM(node, struct http_connection, link));
    }
}

static void
close_all(struct list *list)
{
    LIST_EACH (node, list) {
        struct http_connection *c =
            LIST_ITEM(node, struct http_connection, link);

        if (c->conn != NULL) {
            http_connection_end(c, HTTP_END_STOP, "weir stops");
        }
    }
}

void
http_leave(bool leave)
{
    all.leaving = leave;
}

void
http_stop(void)
{
    if (all.ready) {
        close_all(&all.connections);
        close_all(&all.idle);
    }
}

bool
http_ends_with(const struct http_connection *c)
{
    size_t ahead = c->in_data ? c->offered : buf_len(&c->conn->in);

    return (all.draining || all.leaving) && ahead == 0;
}

size_t
http_connections(void)
{
    return all.count;
}
