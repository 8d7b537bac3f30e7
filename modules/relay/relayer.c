/*
 * The life of the r->
 *
 * It goes on through reloads: what it has to know of a new weir.conf comes as
 * a description (role_config.h), and only relays that were changed there are
 * touched.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "relayer.h"

#include "base/log.h"
#include "base/mem.h"
#include "control.h"
#include "key_verbs.h"
#include "proc/rights.h"
#include "proc/slot.h"
#include "relay.h"

#define TICK_MS 1000
#define FAREWELL_MS 300 /* for last words to go out at a stop */
#define MIB (1024 * 1024)
#define NEVER_MS (24 * 3600 * 1000)

const char *
relay_failure_name(unsigned why)
{
    static const char *const names[RELAY_FAILURES] = {
        [RELAY_FAILED_NAME] = "name",         [RELAY_FAILED_EGRESS] = "egress",
        [RELAY_FAILED_CONNECT] = "connect",   [RELAY_FAILED_TLS] = "tls",
        [RELAY_FAILED_TIMEOUT] = "timeout",   [RELAY_FAILED_LOST] = "lost",
        [RELAY_FAILED_SILENT] = "silent",     [RELAY_FAILED_STUCK] = "stuck",
        [RELAY_FAILED_PROTOCOL] = "protocol", [RELAY_FAILED_LOGIN] = "login",
        [RELAY_FAILED_REFUSED] = "refused",   [RELAY_FAILED_ENDED] = "ended",
        [RELAY_FAILED_HERE] = "here",
    };

    return why < RELAY_FAILURES ? names[why] : NULL;
}

/* ---- the plan ---- */

/* Running clients look at the same struct, and get the new times.  A remote
 * that is pushed to need not say a word, and at a low rate TCP takes long to
 * have no more room: it is pinged, and both times together are idle_timeout.
 * Pings are not for pulls, which have to bring media. */
static void
set_client(struct relayer *r, enum relay_kind kind)
{
    const struct plan *p = &r->plan;
    int64_t ping = kind == RELAY_PUSH ? p->idle_timeout / 2 : NEVER_MS;

    r->clients[kind] = (struct rtmp_client_settings){
        .chunk_size = 60000,
        .window_ack = 2500000,
        .handshake_timeout = p->connect_timeout,
        .connect_timeout = p->connect_timeout,
        .answer_timeout = p->connect_timeout,
        .idle = ping,
        .ping_timeout = ping,
        .send_timeout = p->idle_timeout,
        .max_message = 16 * MIB,
        .max_memory = 24 * MIB,
    };
}

static void
set_clients(struct relayer *r)
{
    set_client(r, RELAY_PULL);
    set_client(r, RELAY_PUSH);
}

/* Attempts that are under way use the old rules until task_rules_changed(). */
static void
take_plan(struct relayer *r, const struct plan *plan, struct pool *pool)
{
    struct pool *old = r->pool;

    r->pool = pool;
    r->plan = *plan;
    set_clients(r);
    LIST_EACH (node, &r->tasks) {
        task_rules_changed(LIST_ITEM(node, struct relay_task, link));
    }
    pool_free(&old);
    wanted_plan(r);
}

static void
configure(void *state, struct str description)
{
    struct pool *pool = pool_new(4096);
    struct plan plan;

    if (plan_read(description, pool, &plan) == -1) {
        log_alert("relayer: the master's description of weir.conf makes no "
                  "sense");
        pool_free(&pool);
        return;
    }
    take_plan(state, &plan, pool);
}

static bool
changed(const struct settings *before, const struct settings *now)
{
    return plan_wants_store(before) != plan_wants_store(now) ||
           relays_of(before)->tls_verify != relays_of(now)->tls_verify ||
           !str_eq(relays_of(before)->tls_ca, relays_of(now)->tls_ca);
}

/* ---- life ---- */

static void
on_tick(struct timer *timer)
{
    struct relayer *r = LIST_ITEM(timer, struct relayer, tick);
    struct list *node = r->tasks.next;

    while (node != &r->tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        node = node->next;
        task_tick(t);
    }
    atomic_store_explicit(&slot_at(slot_self())->connections, rtmp_clients(),
                          memory_order_relaxed);
    log_tell_held();
    timer_set(r->loop, timer, TICK_MS);
}

/* A system without CAs relays over plain RTMP all the same. */
static int
start_tls(struct relayer *r, const struct relays_settings *s,
          struct errmsg *err)
{
    struct tls_client_options tls = {
        .ca = s->tls_ca,
        .insecure = !s->tls_verify,
    };

    r->tls = tls_client_new(&tls, &r->no_tls);
    if (r->tls == NULL && s->tls_ca.len > 0) {
        *err = r->no_tls;
        return -1;
    }
    if (r->tls == NULL) {
        log_warn("relays: %s: rtmps:// remotes cannot be verified, and are "
                 "not connected to",
                 r->no_tls.text);
    }
    return 0;
}

static int
start_libraries(struct relayer *r, const struct relay_root *s,
                struct errmsg *err)
{
    struct resolver_options names = { 0 };

    r->resolver = resolver_new(r->loop, &names, err);
    return r->resolver == NULL ? -1 : start_tls(r, &s->relays, err);
}

static int
start(const struct role_process *p, void **state, struct errmsg *err)
{
    struct relayer *r = mem_zero(sizeof(*r));

    *state = r;
    r->loop = p->loop;
    r->pool = pool_new(4096);
    r->rings.changes = 1; /* which no task has seen */
    list_init(&r->tasks);
    str_copy(r->node, sizeof(r->node), p->node);
    if (start_libraries(r, p->settings, err) == -1) {
        return -1;
    }
    if (plan_read(p->description, r->pool, &r->plan) == -1) {
        return errmsg_set(err, "the relays of weir.conf are too many");
    }
    set_clients(r);
    relay_verbs_serve(r);
    key_verbs_serve(r);
    relay_tasks_begin();
    wanted_start(r);
    timer_init(&r->tick, on_tick);
    timer_set(r->loop, &r->tick, TICK_MS);
    return 0;
}

/* Streams that are relayed are played and sent on until the end; what does not
 * run now may run on another node. */
static void
drain(void *state)
{
    struct relayer *r = state;

    r->draining = true;
    LIST_EACH (node, &r->tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        if (t->client == NULL && t->dial == NULL) {
            share_drop(t);
        }
    }
}

/* The remotes get a farewell, as far as they read; leases are given back
 * behind it. */
static void
stop(void *state)
{
    struct relayer *r = state;
    int64_t end = loop_now(r->loop) + FAREWELL_MS;

    timer_stop(r->loop, &r->tick);
    r->draining = true;
    lease_hold();
    wanted_stop(r);
    do {
        loop_turn(r->loop, 20);
    } while (rtmp_clients() > 0 && loop_now(r->loop) < end);
    rtmp_client_close_all("weir stops");
    loop_turn(r->loop, 0);
    resolver_free(&r->resolver);
    tls_client_free(&r->tls);
    pool_free(&r->pool);
    mem_free(&r);
}

/* Pulls and pushes name any port. */
static void
may(const void *settings, struct rights *r)
{
    (void)settings;
    r->connect_any = true;
}

const struct role relay_roles[] = {
    { .name = "relayer",
      .count = 1,
      .live = true,
      .lease = true,
      .wanted = plan_wants_relayer,
      .start = start,
      .may = may,
      .drain = drain,
      .stop = stop,
      .changed = changed,
      .describe = plan_write,
      .configure = configure },
    { .name = NULL },
};
