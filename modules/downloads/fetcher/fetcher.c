/*
 * The life of the role, and its answers.
 *
 * It goes on through reloads: describe() in the master tells configure() here
 * what the new weir.conf says.  Another directory or engine needs other rights,
 * and those a role gets when it starts.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/fetcher.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "app/settings/settings.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "event/task.h"
#include "fetcher/commands.h"
#include "fetcher/engine.h"
#include "fetcher/nodes.h"
#include "fetcher/queue.h"
#include "fetcher/rights.h"
#include "fetcher/tell.h"
#include "proc/rights.h"
#include "json/json.h"

#define THREADS 2         /* for the disk */
#define THREAD_QUEUE 4096 /* tasks that wait */
#define RETRY_S 5         /* Retry-After, for a queue that is being read */

/* ---- answers ---- */

void
fetcher_answer(struct rpc_request **r, int status, int64_t retry_after,
               struct str body)
{
    const struct downloads_answer a = { .status = (uint32_t)status,
                                        .retry_after = (uint32_t)retry_after };
    struct buf b;

    buf_init(&b, DOWNLOADS_ANSWER_MAX);
    downloads_answer_pack(&b, &a, body);
    rpc_reply(r, buf_data(&b), buf_len(&b), -1);
    buf_clear(&b);
}

void
fetcher_answer_error(struct rpc_request **r, int status, int64_t retry_after,
                     const char *msg)
{
    struct json_out o;
    struct buf b;

    buf_init(&b, 65536);
    json_begin(&o, &b, false);
    json_open(&o);
    json_put_str(&o, "status", STR("error"));
    json_put_str(&o, "msg", str_from(msg));
    json_close(&o);
    json_end(&o);
    fetcher_answer(r, status, retry_after, buf_str(&b));
    buf_clear(&b);
}

/* ---- queues ---- */

struct queue *
fetcher_find(struct fetcher *f, struct str instance)
{
    LIST_EACH (node, &f->queues) {
        struct queue *q = LIST_ITEM(node, struct queue, link);

        if (!q->retired && str_eq(q->plan.name, instance)) {
            return q;
        }
    }
    return NULL;
}

struct queue *
fetcher_queue(struct fetcher *f, struct rpc_request **r, struct str instance)
{
    struct queue *q = fetcher_find(f, instance);

    if (f->stopping || f->draining) {
        fetcher_answer_error(r, 503, RETRY_S, "the fetcher starts again");
    } else if (q == NULL) {
        fetcher_answer_error(r, 503, RETRY_S,
                             "weir.conf has no such downloads any more");
    } else if (!q->loaded) {
        fetcher_answer_error(r, 503, RETRY_S,
                             "the queue is being read from the store");
    } else {
        return q;
    }
    return NULL;
}

static bool
plan_has(const struct fetch_plan *plan, struct str name)
{
    for (size_t i = 0; i < plan->count; i++) {
        if (str_eq(plan->items[i].name, name)) {
            return true;
        }
    }
    return false;
}

static void
retire(struct fetcher *f, struct queue *q)
{
    log_notice("downloads %.*s: weir.conf has it no more",
               STR_ARGS(q->plan.name));
    q->retired = true;
    commands_drop(f, q);
    queue_free(&q);
}

static void
take_plan(struct fetcher *f, const struct fetch_plan *plan)
{
    f->shared = plan->shared;
    proxy_set_egress(f->proxy, plan->egress, plan->egress_count);
    LIST_EACH (node, &f->queues) {
        struct queue *q = LIST_ITEM(node, struct queue, link);

        if (!plan_has(plan, q->plan.name)) {
            retire(f, q);
        }
    }
    for (size_t i = 0; i < plan->count; i++) {
        struct queue *q = fetcher_find(f, plan->items[i].name);

        if (q == NULL) {
            queue_new(f, &plan->items[i]);
        } else {
            queue_reconfigure(q, &plan->items[i]);
        }
    }
    add_set_pools(f);
}

static void
configure(void *state, struct str description)
{
    struct fetcher *f = state;
    struct pool *pool = pool_new(4096);
    struct fetch_plan plan;

    if (fetch_plan_read(description, pool, &plan) == -1) {
        log_alert("fetcher: the master's description of weir.conf makes no "
                  "sense");
    } else if (!f->stopping) {
        take_plan(f, &plan);
    }
    pool_free(&pool);
}

/* ---- life ---- */

static void
serve(struct fetcher *f)
{
    static const struct {
        int method;
        rpc_handler *handler;
    } rows[] = {
        { DOWNLOADS_ADD, add_on_request },
        { DOWNLOADS_DELETE, commands_on_delete },
        { DOWNLOADS_START, commands_on_start },
        { DOWNLOADS_HISTORY, commands_on_history },
        { DOWNLOADS_VERSION, commands_on_version },
        { DOWNLOADS_ALL, tell_on_all },
        { DOWNLOADS_CONFIGURATION, tell_on_configuration },
        { DOWNLOADS_CUSTOM_DIRS, tell_on_custom_dirs },
        { DOWNLOADS_OPTIONS_CHANGED, tell_on_options },
        { DOWNLOADS_OPTIONS_ALIAS, tell_on_options_alias },
        { DOWNLOADS_SHOW, commands_on_show },
        { DOWNLOADS_ORDER, commands_on_order },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        rpc_serve(&downloads_methods[rows[i].method], rows[i].handler, f);
    }
}

static int
start(const struct role_process *p, void **state, struct errmsg *err)
{
    struct fetcher *f = mem_zero(sizeof(*f));

    *state = f;
    f->loop = p->loop;
    f->starter = p->starter;
    f->node = p->node;
    snprintf(f->tag, sizeof(f->tag), "%d-%" PRIx64, (int)getpid(),
             (uint64_t)clock_wall_ms());
    list_init(&f->queues);
    list_init(&f->jobs);
    fetch_rights_tell();
    f->threads = task_threads_new(f->loop, THREADS, THREAD_QUEUE, err);
    if (f->threads == NULL) {
        return -1;
    }
    f->proxy = proxy_new(f->loop, err);
    if (f->proxy == NULL) {
        return -1;
    }
    nodes_listen(f);
    configure(f, p->description);
    serve(f);
    return 0;
}

/* Runs go on until the end; what waits is for the next fetcher. */
static void
drain(void *state)
{
    struct fetcher *f = state;

    f->draining = true;
}

/* The starter kills all runs; their rows stay in the queue, their folders,
 * too. */
static void
stop(void *state)
{
    struct fetcher *f = state;

    f->stopping = true;
    nodes_deafen(f);
    commands_drop(f, NULL);
    while (!list_empty(&f->queues)) {
        struct queue *q = LIST_ITEM(f->queues.next, struct queue, link);

        queue_free(&q);
    }
    proxy_free(&f->proxy);
    task_threads_free(&f->threads);
    mem_free(&f);
}

const struct role downloads_roles[] = {
    { .name = "fetcher",
      .count = 1,
      .lease = true,
      .wanted = downloads_wanted,
      .check = fetch_check,
      .start = start,
      .drain = drain,
      .stop = stop,
      .may = fetch_rights,
      .changed = fetch_rights_changed,
      .describe = fetch_plan_write,
      .configure = configure },
    { .name = NULL },
};
