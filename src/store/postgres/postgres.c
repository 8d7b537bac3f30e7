/*
 * The queues of calls, the connections that make them, and the state of the
 * server.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/postgres/postgres.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "proc/slot.h"
#include "store/notices.h"

#define FIRST_MS 2000 /* for the first connections, at most */

struct postgres pg;

/* ---- giving what waits to who is free ---- */

static bool
is_free(const struct pg_worker *w)
{
    return w->phase == PG_FREE && pg_conn_is_ready(&w->conn);
}

/* One of several is left to writes. */
static bool
may_read(void)
{
    size_t reading = 0;

    for (size_t i = 0; i < pg.count; i++) {
        reading += pg.workers[i].phase == PG_READ;
    }
    return pg.count == 1 || reading + 1 < pg.count;
}

static void
give_work(struct pg_worker *w)
{
    if (!is_free(w)) {
        return;
    }
    if (!list_empty(&pg.writes)) {
        pg_write_on(w, LIST_ITEM(pg.writes.next, struct store_call, place));
    } else if (!list_empty(&pg.slow) && may_read()) {
        pg_read_on(&w->conn, LIST_ITEM(pg.slow.next, struct store_call, place),
                   w);
    }
}

static void
on_begin(struct later *later)
{
    (void)later;
    while (!list_empty(&pg.quick) && pg_conn_is_ready(&pg.reader)) {
        pg_read_on(&pg.reader,
                   LIST_ITEM(pg.quick.next, struct store_call, place), NULL);
    }
    for (size_t i = 0; i < pg.count; i++) {
        give_work(&pg.workers[i]);
    }
}

void
pg_begin(void)
{
    if (pg.open) {
        loop_later(pg.loop, &pg.begin);
    }
}

/* ---- whether it is there ---- */

static bool
is_up(void)
{
    bool writes = false;

    for (size_t i = 0; i < pg.count; i++) {
        writes |= pg_conn_is_well(&pg.workers[i].conn);
    }
    return writes && pg_conn_is_well(&pg.reader);
}

static void
on_lost(struct pg_conn *c, const struct errmsg *why)
{
    (void)c;
    if (is_up()) {
        log_info("the store has a connection less: %s", why->text);
    } else if (!pg.told_down) {
        pg.told_down = true;
        log_error("the store's server cannot be used: %s", why->text);
    }
}

/* Subscribers may have missed notices while the connection was not there. */
static void
on_ready(struct pg_conn *c)
{
    if (is_up()) {
        pg.down_since = 0; /* a call may not come before it is lost again */
    }
    if (pg.told_down && is_up()) {
        pg.told_down = false;
        log_notice("the store's server can be used again");
    }
    pg_begin();
    if (c->o.listens && pg.open) {
        listen_missed();
    }
}

static void
on_heard(struct pg_conn *c, struct str payload)
{
    struct str topic = str_cut(&payload, ' ');

    (void)c;
    listen_tell(topic, payload);
}

/* It has been away for so long that new calls would wait in vain. */
static bool
is_away(void)
{
    int64_t now = loop_now(pg.loop);

    if (is_up()) {
        pg.down_since = 0;
        return false;
    }
    pg.down_since = pg.down_since != 0 ? pg.down_since : now;
    return now - pg.down_since > pg.timeout;
}

/* ---- the backend ---- */

static void
read_call(struct store_call *c)
{
    if (is_away()) {
        call_later(c, STORE_DOWN);
        return;
    }
    list_append(c->quick ? &pg.quick : &pg.slow, &c->place);
    pg_begin();
}

static void
write_call(struct store_call *c)
{
    c->head.number = ++pg.last;
    if (is_away()) {
        call_later(c, STORE_DOWN);
        return;
    }
    list_append(&pg.writes, &c->place);
    pg_begin();
}

static void
tick(void)
{
    is_away();
    pg_begin();
}

static void
init_conns(const struct store_settings *s)
{
    struct pg_conn_options o = {
        .target = pg.target,
        .timeout = s->timeout,
        .patience = s->timeout,
        .ready = on_ready,
        .lost = on_lost,
    };

    snprintf(o.name, sizeof(o.name), "weir %s", slot_card(slot_self())->name);
    pg.count = (size_t)s->connections;
    for (size_t i = 0; i < pg.count; i++) {
        pg_conn_init(&pg.workers[i].conn, &o);
        pg_write_init(&pg.workers[i]);
    }
    o.listens = true;
    o.heard = on_heard;
    pg_conn_init(&pg.reader, &o);
}

static struct pg_conn *
conn_at(size_t i)
{
    return i < pg.count ? &pg.workers[i].conn : &pg.reader;
}

static void
start_all(struct loop *l)
{
    for (size_t i = 0; i <= pg.count; i++) {
        conn_at(i)->o.resolver = pg.resolver;
        if (!pg_conn_is_ready(conn_at(i))) {
            pg_conn_start(conn_at(i), l);
        }
    }
}

static void
stop_all(bool ready_too)
{
    for (size_t i = 0; i <= pg.count; i++) {
        if (ready_too || !pg_conn_is_ready(conn_at(i))) {
            pg_conn_stop(conn_at(i));
        }
    }
}

static bool
is_trying(void)
{
    bool trying = false;

    for (size_t i = 0; i <= pg.count; i++) {
        trying |= pg_conn_is_trying(conn_at(i));
    }
    return trying;
}

/* A process that serves has its connections, if the server is there.  It waits
 * for them on a loop on which nothing else happens; those that are not made
 * in time go on by themselves. */
static int
connect_first(struct loop *l, struct errmsg *err)
{
    static const struct resolver_options names = { 0 };
    struct loop *alone = loop_new(err);
    int64_t end = clock_ms() + (pg.timeout < FIRST_MS ? pg.timeout : FIRST_MS);

    pg.resolver = alone != NULL ? resolver_new(alone, &names, err) : NULL;
    if (pg.resolver == NULL) {
        loop_free(&alone);
        return -1;
    }
    start_all(alone);
    for (int64_t now = clock_ms(); now < end && is_trying(); now = clock_ms()) {
        loop_turn(alone, end - now);
    }
    stop_all(false);
    for (size_t i = 0; i <= pg.count; i++) {
        if (pg_conn_is_ready(conn_at(i))) {
            pg_conn_move(conn_at(i), l);
        }
    }
    resolver_free(&pg.resolver);
    loop_free(&alone);
    pg.resolver = resolver_new(l, &names, err);
    return pg.resolver != NULL ? 0 : -1;
}

static void
close_all(void)
{
    pg.open = false;
    if (pg.loop != NULL) {
        later_cancel(&pg.begin);
        stop_all(true);
    }
    resolver_free(&pg.resolver);
    pg_target_free(&pg.target);
    pg.loop = NULL;
}

/* loop_new() cannot be told from outside that weir stops: nothing here takes
 * longer than FIRST_MS. */
static int
open_all(struct loop *l, const struct store_settings *s,
         struct task_threads *threads, struct errmsg *err)
{
    (void)threads;
    pg = (struct postgres){ .loop = l, .timeout = s->timeout };
    list_init(&pg.quick);
    list_init(&pg.slow);
    list_init(&pg.writes);
    later_init(&pg.begin, on_begin);
    pg.target = pg_target_new(s->conninfo, err);
    if (pg.target == NULL) {
        return -1;
    }
    init_conns(s);
    if (connect_first(l, err) == -1) {
        close_all();
        return -1;
    }
    pg.open = true;
    start_all(l);
    return 0;
}

void
store_rights(struct rights *r)
{
    pg_target_rights_of_all(r);
}

int
store_check_conninfo(struct str conninfo, struct errmsg *err)
{
    return pg_target_check(conninfo, err);
}

const struct backend postgres_backend = {
    .open = open_all,
    .close = close_all,
    .read = read_call,
    .write = write_call,
    .tick = tick,
    .is_up = is_up,
};
