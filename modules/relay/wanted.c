/*
 * The tasks that are wanted: rows of the store, and the pushes and pulls of
 * weir.conf.
 *
 * Every change compares all of them again, and leaves a task alone that is
 * still wanted.  All of them are in the list of tasks. relays.max of them have
 * room, the others wait until one of these ends.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "relayer.h"

#include "base/log.h"
#include "relay.h"
#include "schema.h"

/* How often new streams are looked for, where all of them are pushed. */
#define STREAMS_MS 200
/* Until the store is asked again after it did not answer. */
#define AGAIN_MS 1000

static struct {
    struct timer streams, again;
    struct store_call *read; /* under way */
    bool stale;              /* changed since that was asked */
    bool stopped;
    struct list *at; /* the task that was found last, in a round */
} wanted;

/* ---- all kinds ---- */

/* The same relay, of either origin. */
static bool
is_same(const struct relay_task *t, const struct task_wish *w)
{
    return t->kind == w->kind && str_eq(t->app, w->app) &&
           str_eq(t->name, w->name) && str_eq(t->url, w->url);
}

static bool
is_task(const struct relay_task *t, const struct task_wish *w)
{
    return t->origin == w->origin && t->id == w->id && t->of_all == w->of_all &&
           is_same(t, w);
}

/* Wishes come in the order of the tasks, nearly always: looks from the last
 * one on. */
static struct relay_task *
find(const struct task_wish *w)
{
    for (size_t i = 0; i <= relayer.count; i++) {
        struct relay_task *t;

        wanted.at = wanted.at->next;
        if (wanted.at == &relayer.tasks) {
            continue;
        }
        t = LIST_ITEM(wanted.at, struct relay_task, link);
        if (is_task(t, w)) {
            return t;
        }
    }
    return NULL;
}

/* A relay that the API started and weir.conf now has goes on as the file's. */
static bool
adopt(const struct task_wish *w)
{
    LIST_EACH (node, &relayer.tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        if (w->origin == RELAY_CONFIG && t->origin == RELAY_API &&
            is_same(t, w)) {
            task_adopt(t, w->of_all);
            return true;
        }
    }
    return false;
}

static void
want(const struct task_wish *w)
{
    struct relay_task *t = find(w);

    if (t != NULL) {
        t->seen = true;
    } else if (adopt(w)) {
        return;
    } else if (relayer.count < RELAY_TASKS_MAX) {
        task_new(w);
    } else {
        log_limited(LOG_ERROR,
                    "relay %s %.*s/%.*s is not listed: there are %d, with and "
                    "without room",
                    relay_kind_name(w->kind), STR_ARGS(w->app),
                    STR_ARGS(w->name), RELAY_TASKS_MAX);
    }
}

static void
begin_round(enum relay_origin origin)
{
    wanted.at = &relayer.tasks;
    LIST_EACH (node, &relayer.tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        if (t->origin == origin) {
            t->seen = false;
        }
    }
}

static void
end_unseen(enum relay_origin origin)
{
    struct list *node = relayer.tasks.next;

    while (node != &relayer.tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        node = node->next;
        if (t->origin == origin && !t->seen) {
            task_end(t);
        }
    }
}

/* Those that have no room get what there is, in the order in which they came;
 * the others learn what relays.max is now. */
static void
give_room(enum relay_origin origin)
{
    LIST_EACH (node, &relayer.tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        if (t->origin == origin && !t->has_room) {
            t->has_room = relayer.with_room < (size_t)relayer.plan.max;
            relayer.with_room += t->has_room;
            timer_set(relayer.loop, &t->timer, 0);
        }
    }
}

/* Tasks that are not wanted any more end first, and others get their room. */
static void
end_round(enum relay_origin origin)
{
    end_unseen(origin);
    give_room(RELAY_CONFIG);
    give_room(RELAY_API);
}

/* ---- weir.conf ---- */

/* The file wins: what it has is not run for the API, too. */
static bool
is_of_file(const struct task_wish *w)
{
    const struct plan_task t = { w->kind, w->app, w->name, w->url };

    return plan_has(&relayer.plan, &t);
}

/* Those that were not adopted: pushes that wait for one of all streams. */
static void
end_doubles(void)
{
    struct list *node = relayer.tasks.next;

    while (node != &relayer.tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);
        const struct task_wish w = {
            .kind = t->kind,
            .app = t->app,
            .name = t->name,
            .url = t->url,
        };

        node = node->next;
        if (t->origin == RELAY_API && is_of_file(&w)) {
            task_end(t);
        }
    }
}

/* The streams of an application, all of which are pushed. */
static void
want_streams(const struct plan_task *p)
{
    char name[LIVE_NAME_MAX];
    uint32_t at = 0;

    while (live_next_name(&at, name)) {
        struct str rest = str_from(name);
        struct str app = str_cut(&rest, '/');
        struct task_wish w = {
            .kind = RELAY_PUSH,
            .origin = RELAY_CONFIG,
            .of_all = true,
            .app = app,
            .name = rest,
            .url = p->url,
        };

        if (str_eq(app, p->app)) {
            want(&w);
        }
    }
}

/* Those that still have something to do with a stream that went on hold. */
static void
keep_busy(const struct plan_task *p)
{
    LIST_EACH (node, &relayer.tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        if (t->of_all && t->player != NULL && str_eq(t->app, p->app) &&
            str_eq(t->url, p->url)) {
            t->seen = true;
        }
    }
}

static bool
want_config(void)
{
    bool all = false;

    begin_round(RELAY_CONFIG);
    for (size_t i = 0; i < relayer.plan.task_count; i++) {
        const struct plan_task *p = &relayer.plan.tasks[i];
        struct task_wish w = {
            .kind = p->kind,
            .origin = RELAY_CONFIG,
            .app = p->app,
            .name = p->name,
            .url = p->url,
        };

        if (p->name.len > 0) {
            want(&w);
        } else {
            all = true;
            keep_busy(p);
            want_streams(p);
        }
    }
    end_round(RELAY_CONFIG);
    return all;
}

static void
on_streams(struct timer *timer)
{
    if (want_config()) {
        timer_set(relayer.loop, timer, STREAMS_MS);
    }
}

/* ---- the store ---- */

static void ask(void);

static void
want_row(const struct store_value *cells)
{
    struct task_wish w = {
        .id = (uint64_t)cells[0].n,
        .origin = RELAY_API,
        .app = cells[2].s,
        .name = cells[3].s,
        .url = cells[4].s,
    };

    w.kind = str_eq(cells[1].s, STR("pull")) ? RELAY_PULL : RELAY_PUSH;
    if (!is_of_file(&w)) {
        want(&w);
    }
}

static void
on_rows(void *arg, const struct store_result *r)
{
    (void)arg;
    wanted.read = NULL;
    if (r->status != STORE_OK) {
        log_limited(LOG_WARN, "relays cannot be read: %s",
                    store_status_text(r->status));
        timer_set(relayer.loop, &wanted.again, AGAIN_MS);
        return;
    }
    begin_round(RELAY_API);
    for (size_t i = 0; i < r->answer->rows; i++) {
        want_row(r->answer->cells + i * r->answer->columns);
    }
    end_round(RELAY_API);
    relay_tasks_forget_old();
    if (wanted.stale) {
        ask();
    }
}

static void
ask(void)
{
    wanted.stale = wanted.read != NULL;
    if (wanted.read == NULL && !wanted.stopped) {
        wanted.read =
            store_read(&relay_statements[SQL_TASKS], NULL, 0, on_rows, NULL);
    }
}

static void
on_again(struct timer *timer)
{
    (void)timer;
    ask();
}

static void
on_heard(void *arg, struct str text)
{
    (void)arg;
    (void)text;
    ask();
}

/* ---- both ---- */

/* The file first: what it has no more, the store may have. */
void
wanted_plan(void)
{
    on_streams(&wanted.streams);
    end_doubles();
    give_room(RELAY_CONFIG);
    give_room(RELAY_API);
    if (relayer.plan.store) {
        ask();
    }
}

void
wanted_start(void)
{
    timer_init(&wanted.streams, on_streams);
    timer_init(&wanted.again, on_again);
    if (relayer.plan.store) {
        store_listen(RELAY_TASKS_TOPIC, on_heard, NULL);
    }
    wanted_plan();
    if (!relayer.plan.store) {
        relay_tasks_forget_old();
    }
}

void
wanted_stop(void)
{
    wanted.stopped = true;
    timer_stop(relayer.loop, &wanted.streams);
    timer_stop(relayer.loop, &wanted.again);
    store_cancel(&wanted.read);
    while (!list_empty(&relayer.tasks)) {
        task_end(LIST_ITEM(relayer.tasks.next, struct relay_task, link));
    }
}
