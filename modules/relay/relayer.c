/*
 * The life of the relayer.
 *
 * It goes on through reloads: what it has to know of a new weir.conf comes as
 * a description (plan.h), and only relays that were changed there are touched.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "relayer.h"

#include "base/log.h"
#include "key_verbs.h"
#include "proc/rights.h"
#include "proc/slot.h"
#include "relay.h"
#include "verbs.h"

#define TICK_MS 1000
#define FAREWELL_MS 300 /* for last words to go out at a stop */
#define MIB (1024 * 1024)
#define NEVER_MS (24 * 3600 * 1000)

struct relayer relayer;

static struct timer tick;

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
set_client(const struct plan *p, enum relay_kind kind)
{
    int64_t ping = kind == RELAY_PUSH ? p->idle_timeout / 2 : NEVER_MS;

    relayer.clients[kind] = (struct rtmp_client_settings){
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
set_clients(const struct plan *p)
{
    set_client(p, RELAY_PULL);
    set_client(p, RELAY_PUSH);
}

/* Attempts that are under way look at the old rules until they are told. */
static void
take_plan(const struct plan *plan, struct pool *pool)
{
    struct pool *old = relayer.pool;

    relayer.pool = pool;
    relayer.plan = *plan;
    set_clients(plan);
    LIST_EACH (node, &relayer.tasks) {
        task_rules_changed(LIST_ITEM(node, struct relay_task, link));
    }
    pool_free(&old);
    wanted_plan();
}

static void
configure(void *state, struct str description)
{
    struct pool *pool = pool_new(4096);
    struct plan plan;

    (void)state;
    if (plan_read(description, pool, &plan) == -1) {
        log_alert("relayer: the master's description of weir.conf makes no "
                  "sense");
        pool_free(&pool);
        return;
    }
    take_plan(&plan, pool);
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
    struct list *node = relayer.tasks.next;

    while (node != &relayer.tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        node = node->next;
        task_tick(t);
    }
    atomic_store_explicit(&slot_at(slot_self())->connections, rtmp_clients(),
                          memory_order_relaxed);
    log_tell_held();
    timer_set(relayer.loop, timer, TICK_MS);
}

/* A system without CAs relays over plain RTMP all the same. */
static int
start_tls(const struct relays_settings *s, struct errmsg *err)
{
    struct tls_client_options tls = {
        .ca = s->tls_ca,
        .insecure = !s->tls_verify,
    };

    relayer.tls = tls_client_new(&tls, &relayer.no_tls);
    if (relayer.tls == NULL && s->tls_ca.len > 0) {
        *err = relayer.no_tls;
        return -1;
    }
    if (relayer.tls == NULL) {
        log_warn("relays: %s: rtmps:// remotes cannot be verified, and are "
                 "not connected to",
                 relayer.no_tls.text);
    }
    return 0;
}

static int
start_libraries(const struct relay_root *s, struct errmsg *err)
{
    struct resolver_options names = { 0 };

    relayer.resolver = resolver_new(relayer.loop, &names, err);
    return relayer.resolver == NULL ? -1 : start_tls(&s->relays, err);
}

static int
start(const struct role_process *p, void **state, struct errmsg *err)
{
    relayer = (struct relayer){ .loop = p->loop, .pool = pool_new(4096) };
    *state = &relayer;
    list_init(&relayer.tasks);
    str_copy(relayer.node, sizeof(relayer.node), p->node);
    if (start_libraries(p->settings, err) == -1) {
        return -1;
    }
    if (plan_read(p->description, relayer.pool, &relayer.plan) == -1) {
        return errmsg_set(err, "the relays of weir.conf are too many");
    }
    set_clients(&relayer.plan);
    relay_verbs_serve();
    key_verbs_serve();
    relay_tasks_begin();
    wanted_start();
    timer_init(&tick, on_tick);
    timer_set(p->loop, &tick, TICK_MS);
    return 0;
}

/* Streams that are relayed are played and sent on until the end; what does not
 * run now may run on another node. */
static void
drain(void *state)
{
    (void)state;
    relayer.draining = true;
    LIST_EACH (node, &relayer.tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        if (t->client == NULL && t->dial == NULL) {
            share_drop(t);
        }
    }
}

/* The remotes are told, as far as they listen; other nodes begin when they
 * know. */
static void
stop(void *state)
{
    int64_t end = loop_now(relayer.loop) + FAREWELL_MS;

    (void)state;
    timer_stop(relayer.loop, &tick);
    relayer.draining = true;
    lease_hold();
    wanted_stop();
    do {
        loop_turn(relayer.loop, 20);
    } while (rtmp_clients() > 0 && loop_now(relayer.loop) < end);
    rtmp_client_close_all("weir stops");
    loop_turn(relayer.loop, 0);
    resolver_free(&relayer.resolver);
    tls_client_free(&relayer.tls);
    pool_free(&relayer.pool);
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
