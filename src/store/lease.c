/*
 * The leases of this process: their owners' calls, leases of other nodes, and
 * the times of all work.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/lease_impl.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "store/lease_schema.h"

#define LOOK_MS 250        /* between looks at others' leases, at least */
#define EXPIRED_SLACK_MS 5 /* behind the end of another's time */

struct leases leases;

int64_t
lease_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_BOOTTIME, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t
lease_tick(void)
{
    return leases.expiry / 16 < 1000 ? leases.expiry / 16 : 1000;
}

static void
act_soon(void)
{
    if (leases.loop != NULL && leases.shared) {
        loop_later(leases.loop, &leases.act);
    }
}

/* ---- one lease ---- */

static struct list *
bucket_of(struct str name)
{
    return &leases.buckets[hash_str(name) % LEASE_BUCKETS];
}

struct lease *
lease_find(struct str name)
{
    LIST_EACH (node, bucket_of(name)) {
        struct lease *l = LIST_ITEM(node, struct lease, bucket);

        if (str_eq(str_from(l->name), name)) {
            return l;
        }
    }
    return NULL;
}

static void
count_event(enum store_lease_event event)
{
    const struct metric *m = &store_metrics[STORE_LEASE_EVENTS];

    metric_add(m, metric_at(m, event, 0, 0), 1);
}

static void
set_held(struct lease *l, bool held)
{
    leases.held += (int64_t)held - (int64_t)l->held;
    l->held = held;
    metric_set(&store_metrics[STORE_LEASES], 0, leases.held);
}

static void
destroy(struct lease *l)
{
    list_remove(&l->link);
    list_remove(&l->bucket);
    leases.count--;
    mem_free(&l);
}

/* Nobody wants it, and the database has been told. */
void
lease_free_if_done(struct lease *l)
{
    if (l->handlers == NULL && !l->ours) {
        destroy(l);
    }
}

/* One that was freed and is not given back yet is taken up again. */
struct lease *
lease_new(struct str name, const struct lease_handlers *handlers, void *arg)
{
    struct lease *l = lease_find(name);

    assert(name.len <= LEASE_NAME_MAX && (l == NULL || l->handlers == NULL));
    if (l == NULL) {
        l = mem_zero(sizeof(*l));
        str_copy(l->name, sizeof(l->name), name);
        list_init(&l->link);
        list_init(&l->bucket);
        list_append(&leases.all, &l->link);
        list_append(bucket_of(name), &l->bucket);
        leases.count++;
    }
    l->handlers = handlers;
    l->arg = arg;
    leases.look_wanted = true;
    act_soon();
    return l;
}

void
lease_free(struct lease **lease)
{
    struct lease *l = *lease;

    if (l == NULL) {
        return;
    }
    *lease = NULL;
    lease_drop(l);
    l->handlers = NULL;
    if (!leases.shared || !l->ours) {
        destroy(l);
    }
}

bool
lease_is_held(const struct lease *l)
{
    return l->held;
}

bool
lease_want(struct lease *l)
{
    if (!leases.shared && !l->held && !leases.stopping) {
        count_event(STORE_LEASE_TAKEN);
        set_held(l, true);
    } else if (leases.shared && !l->wanted) {
        l->try_at = 0;
        act_soon();
    }
    l->wanted = true;
    return l->held;
}

void
lease_drop(struct lease *l)
{
    l->wanted = false;
    if (!l->held) {
        return;
    }
    set_held(l, false);
    count_event(STORE_LEASE_DROPPED);
    if (leases.shared) {
        log_limited(LOG_INFO, "lease %s: given back", l->name);
    }
    act_soon();
}

void
lease_say(struct lease *l, struct str state)
{
    struct str text = str_first(state, LEASE_STATE_MAX);

    if (leases.shared && !str_eq(str_from(l->state), text)) {
        str_copy(l->state, sizeof(l->state), text);
        l->dirty = true;
        act_soon();
    }
}

void
lease_take(struct lease *l)
{
    set_held(l, true);
    count_event(STORE_LEASE_TAKEN);
    log_limited(LOG_INFO, "lease %s: taken", l->name);
    l->dirty = true;
    l->handlers->on_taken(l->arg);
}

static void
lose(struct lease *l, const char *reason)
{
    set_held(l, false);
    count_event(STORE_LEASE_LOST);
    log_limited(LOG_WARN, "lease %s: lost: %s", l->name, reason);
    l->handlers->on_lost(l->arg, reason);
}

/* over: the database has none of ours any more. */
void
lease_lose_all(const char *reason, bool over)
{
    LIST_EACH (node, &leases.all) {
        struct lease *l = LIST_ITEM(node, struct lease, link);

        l->try_at = 0;
        l->ours = l->ours && !over;
        if (l->held) {
            lose(l, reason);
        }
        lease_free_if_done(l);
    }
}

/* ---- looking at what others have ---- */

static void
see(const struct store_value *cells)
{
    struct lease *l = lease_find(cells[0].s);

    if (l == NULL || l->handlers == NULL) {
        return;
    }
    l->seen = true;
    /* The rows may be older than the leases that we hold; and leases that this
     * node had before it was killed are still its own. */
    if (l->held || str_eq(cells[1].s, str_from(leases.node))) {
        return;
    }
    if (cells[3].n <= 0) { /* a dead one's: anybody may take it */
        l->try_at = 0;
        l->handlers->on_seen(l->arg, STR_NONE, STR_NONE);
        return;
    }
    l->try_at = lease_now() + cells[3].n + EXPIRED_SLACK_MS;
    l->handlers->on_seen(l->arg, cells[1].s, cells[2].s);
}

static void
on_looked(void *arg, const struct store_result *r)
{
    (void)arg;
    leases.look = NULL;
    leases.look_at = lease_now() + LOOK_MS;
    if (r->status != STORE_OK) {
        leases.look_wanted = true;
        return;
    }
    for (size_t i = 0; i < r->answer->rows; i++) {
        see(r->answer->cells + i * r->answer->columns);
    }
    LIST_EACH (node, &leases.all) {
        struct lease *l = LIST_ITEM(node, struct lease, link);

        if (!l->seen && !l->held && l->handlers != NULL) {
            l->try_at = 0;
            l->handlers->on_seen(l->arg, STR_NONE, STR_NONE);
        }
        l->seen = false;
    }
    lease_act();
}

static void
on_heard(void *arg, struct str text)
{
    (void)arg;
    if (leases.loop != NULL && leases.shared &&
        !str_eq(text, str_from(leases.node))) {
        leases.alone = leases.alone && text.len == 0;
        leases.look_wanted = true;
        act_soon();
    }
}

/* ---- what is due ---- */

/* No renewal was confirmed in time. */
static void
check_validity(void)
{
    if (leases.session == 0 || leases.held == 0 ||
        lease_now() < leases.valid_to) {
        return;
    }
    if (!leases.alone) {
        lease_lose_all("the store did not confirm it in time", false);
    } else if (!leases.told_alone) {
        leases.told_alone = true;
        log_warn("the store does not answer: what this node holds goes on, "
                 "for no other node was there");
    }
}

static void
start_write(void)
{
    int64_t now = lease_now();

    if (leases.stopping) {
        leases.stopped |= leases.session == 0;
        if (!leases.stopped) {
            lease_write_close();
        }
        return;
    }
    if (now < leases.retry_at || leases.on_hold) {
        return;
    }
    if (leases.session == 0 && leases.count > 0) {
        lease_write_open();
    } else if (leases.session != 0 &&
               (now >= leases.renew_at || lease_is_pending())) {
        lease_write_sync();
    }
}

static bool
needs_look(void)
{
    return leases.look_wanted && leases.look == NULL && leases.count > 0 &&
           !leases.stopping;
}

static void
start_look(void)
{
    const struct store_value role = store_text(str_from(leases.role));

    if (needs_look() && lease_now() >= leases.look_at) {
        leases.look_wanted = false;
        leases.look = store_read(&lease_statements[LEASE_LOOK], &role, 1,
                                 on_looked, NULL);
    }
}

/* A look that came too soon is not left to the next tick. */
static void
set_tick(void)
{
    int64_t delay = lease_tick(), look = leases.look_at - lease_now();

    if (needs_look() && look < delay) {
        delay = look > 0 ? look : 0;
    }
    timer_set(leases.loop, &leases.tick, delay);
}

void
lease_act(void)
{
    check_validity();
    if (leases.writing == WRITE_NONE && !leases.stopped) {
        start_write();
    }
    start_look();
    set_tick();
}

static void
on_act(struct later *later)
{
    (void)later;
    lease_act();
}

static void
on_tick(struct timer *timer)
{
    (void)timer;
    lease_act();
}

/* ---- life ---- */

void
lease_start(struct loop *l, const struct lease_options *o)
{
    leases = (struct leases){ .loop = l };
    leases.shared = o->shared;
    leases.expiry = o->expiry;
    str_copy(leases.node, sizeof(leases.node), o->node);
    str_copy(leases.place, sizeof(leases.place), o->place);
    str_copy(leases.role, sizeof(leases.role), o->role);
    list_init(&leases.all);
    for (size_t i = 0; i < LEASE_BUCKETS; i++) {
        list_init(&leases.buckets[i]);
    }
    timer_init(&leases.tick, on_tick);
    later_init(&leases.act, on_act);
    if (leases.shared) {
        timer_set(l, &leases.tick, lease_tick());
        store_listen(LEASE_TOPIC, on_heard, NULL);
    }
}

void
lease_hold(void)
{
    leases.on_hold = true;
}

void
lease_stop(void)
{
    if (leases.loop == NULL || leases.stopping) {
        return;
    }
    leases.stopping = true;
    LIST_EACH (node, &leases.all) {
        lease_drop(LIST_ITEM(node, struct lease, link));
    }
    leases.stopped = !leases.shared;
    act_soon();
}

bool
lease_is_stopped(void)
{
    return leases.loop == NULL || leases.stopped;
}

void
lease_end(void)
{
    if (leases.loop == NULL) {
        return;
    }
    timer_stop(leases.loop, &leases.tick);
    later_cancel(&leases.act);
    store_cancel(&leases.write);
    store_cancel(&leases.look);
    LIST_EACH (node, &leases.all) {
        destroy(LIST_ITEM(node, struct lease, link));
    }
    leases.loop = NULL;
}
