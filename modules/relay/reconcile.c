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

/* How often new streams are looked for, where several are pushed. */
#define STREAMS_MS 200
/* Until the store is asked again after it did not answer. */
#define AGAIN_MS 1000

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
    return t->origin == w->origin && t->id == w->id && is_same(t, w);
}

/* Wishes come in the order of the tasks, nearly always: looks from the last
 * one on. */
static struct relay_task *
find(struct relayer *r, const struct task_wish *w)
{
    for (size_t i = 0; i <= r->count; i++) {
        struct relay_task *t;

        r->wanted.at = r->wanted.at->next;
        if (r->wanted.at == &r->tasks) {
            continue;
        }
        t = LIST_ITEM(r->wanted.at, struct relay_task, link);
        if (is_task(t, w)) {
            return t;
        }
    }
    return NULL;
}

/* A relay that the API started and weir.conf now has goes on as the file's. */
static bool
adopt(struct relayer *r, const struct task_wish *w)
{
    LIST_EACH (node, &r->tasks) {
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
want(struct relayer *r, const struct task_wish *w)
{
    struct relay_task *t = find(r, w);

    if (t != NULL) {
        t->seen = true;
        task_set_of_all(t, w->of_all);
    } else if (adopt(r, w)) {
        return;
    } else if (r->count < RELAY_TASKS_MAX) {
        task_new(r, w);
    } else {
        log_limited(LOG_ERROR,
                    "relay %s %.*s/%.*s is not listed: there are %d, with and "
                    "without room",
                    relay_kind_name(w->kind), STR_ARGS(w->app),
                    STR_ARGS(w->name), RELAY_TASKS_MAX);
    }
}

static void
begin_round(struct relayer *r, enum relay_origin origin)
{
    r->wanted.at = &r->tasks;
    LIST_EACH (node, &r->tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        if (t->origin == origin) {
            t->seen = false;
        }
    }
}

static void
end_unseen(struct relayer *r, enum relay_origin origin)
{
    struct list *node = r->tasks.next;

    while (node != &r->tasks) {
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
give_room(struct relayer *r, enum relay_origin origin)
{
    LIST_EACH (node, &r->tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        if (t->origin == origin && !t->has_room) {
            t->has_room = r->with_room < (size_t)r->plan.max;
            r->with_room += t->has_room;
            timer_set(r->loop, &t->timer, 0);
        }
    }
}

/* Tasks that are not wanted any more end first, and others get their room. */
static void
end_round(struct relayer *r, enum relay_origin origin)
{
    end_unseen(r, origin);
    give_room(r, RELAY_CONFIG);
    give_room(r, RELAY_API);
}

/* ---- weir.conf ---- */

/* The file wins: what it has is not run for the API, too. */
static bool
is_of_file(const struct relayer *r, const struct task_wish *w)
{
    const struct plan_task t = {
        .kind = w->kind,
        .app = w->app,
        .name = w->name,
        .url = w->url,
    };

    return plan_has(&r->plan, &t);
}

/* Those that were not adopted: pushes that wait for one of several streams. */
static void
end_doubles(struct relayer *r)
{
    struct list *node = r->tasks.next;

    while (node != &r->tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);
        const struct task_wish w = {
            .kind = t->kind,
            .app = t->app,
            .name = t->name,
            .url = t->url,
        };

        node = node->next;
        if (t->origin == RELAY_API && is_of_file(r, &w)) {
            task_end(t);
        }
    }
}

/* Those of the application's streams that a push of several takes.  One with a
 * push of its own to that place has that. */
static void
want_streams(struct relayer *r, const struct plan_task *p)
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

        if (str_eq(app, p->app) && push_names_have(&p->of, rest) &&
            !plan_has_named_push(&r->plan, app, rest, p->url)) {
            want(r, &w);
        }
    }
}

/* Those that still have something to do with a stream that went on hold. */
static void
keep_busy(struct relayer *r, const struct plan_task *p)
{
    LIST_EACH (node, &r->tasks) {
        struct relay_task *t = LIST_ITEM(node, struct relay_task, link);

        if (t->of_all && t->player != NULL && str_eq(t->app, p->app) &&
            str_eq(t->url, p->url) && push_names_have(&p->of, t->name)) {
            t->seen = true;
        }
    }
}

static bool
want_config(struct relayer *r)
{
    bool several = false;

    begin_round(r, RELAY_CONFIG);
    for (size_t i = 0; i < r->plan.task_count; i++) {
        const struct plan_task *p = &r->plan.tasks[i];
        struct task_wish w = {
            .kind = p->kind,
            .origin = RELAY_CONFIG,
            .app = p->app,
            .name = p->name,
            .url = p->url,
        };

        if (!p->of.many) {
            want(r, &w);
        } else {
            several = true;
            keep_busy(r, p);
            want_streams(r, p);
        }
    }
    end_round(r, RELAY_CONFIG);
    return several;
}

static void
on_streams(struct timer *timer)
{
    struct relayer *r = LIST_ITEM(timer, struct relayer, wanted.streams);

    if (want_config(r)) {
        timer_set(r->loop, timer, STREAMS_MS);
    }
}

/* ---- the store ---- */

static void ask(struct relayer *r);

static void
want_row(struct relayer *r, const struct store_value *cells)
{
    struct task_wish w = {
        .id = (uint64_t)cells[0].n,
        .origin = RELAY_API,
        .app = cells[2].s,
        .name = cells[3].s,
        .url = cells[4].s,
    };

    w.kind = str_eq(cells[1].s, STR("pull")) ? RELAY_PULL : RELAY_PUSH;
    if (!is_of_file(r, &w)) {
        want(r, &w);
    }
}

static void
on_rows(void *arg, const struct store_result *result)
{
    struct relayer *r = arg;

    r->wanted.read = NULL;
    if (result->status != STORE_OK) {
        log_limited(LOG_WARN, "relays cannot be read: %s",
                    store_status_text(result->status));
        timer_set(r->loop, &r->wanted.again, AGAIN_MS);
        return;
    }
    begin_round(r, RELAY_API);
    for (size_t i = 0; i < result->answer->rows; i++) {
        want_row(r, result->answer->cells + i * result->answer->columns);
    }
    end_round(r, RELAY_API);
    relay_tasks_forget_old();
    if (r->wanted.stale) {
        ask(r);
    }
}

static void
ask(struct relayer *r)
{
    r->wanted.stale = r->wanted.read != NULL;
    if (r->wanted.read == NULL && !r->wanted.stopped) {
        r->wanted.read =
            store_read(&relay_statements[SQL_TASKS], NULL, 0, on_rows, r);
    }
}

static void
on_again(struct timer *timer)
{
    ask(LIST_ITEM(timer, struct relayer, wanted.again));
}

static void
on_heard(void *arg, struct str text)
{
    (void)text;
    ask(arg);
}

/* ---- both ---- */

/* The file first: what it has no more, the store may have. */
void
wanted_plan(struct relayer *r)
{
    on_streams(&r->wanted.streams);
    end_doubles(r);
    give_room(r, RELAY_CONFIG);
    give_room(r, RELAY_API);
    if (r->plan.store) {
        ask(r);
    }
}

void
wanted_start(struct relayer *r)
{
    timer_init(&r->wanted.streams, on_streams);
    timer_init(&r->wanted.again, on_again);
    if (r->plan.store) {
        store_listen(RELAY_TASKS_TOPIC, on_heard, r);
    }
    wanted_plan(r);
    if (!r->plan.store) {
        relay_tasks_forget_old();
    }
}

void
wanted_stop(struct relayer *r)
{
    r->wanted.stopped = true;
    store_deafen(on_heard, r);
    timer_stop(r->loop, &r->wanted.streams);
    timer_stop(r->loop, &r->wanted.again);
    store_cancel(&r->wanted.read);
    while (!list_empty(&r->tasks)) {
        task_end(LIST_ITEM(r->tasks.next, struct relay_task, link));
    }
}
