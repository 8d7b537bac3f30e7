/*
 * The life of a queue: weir.conf names it, changes it, names it no more.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "base/log.h"
#include "base/mem.h"
#include "fetcher/engine.h"
#include "fetcher/life.h"
#include "fetcher/lists.h"
#include "fetcher/nodes.h"
#include "fetcher/queue.h"
#include "fetcher/tell.h"

static void
take_plan(struct queue *q, const struct downloads_instance *p)
{
    struct pool *old = q->pool;
    struct downloads_instance *to = &q->plan;

    q->pool = pool_new(1024);
    *to = *p;
    to->name = pool_str(q->pool, p->name);
    to->directory = pool_str(q->pool, p->directory);
    to->engine = pool_str(q->pool, p->engine);
    to->engine_path = pool_str(q->pool, p->engine_path);
    to->ffmpeg_path = pool_str(q->pool, p->ffmpeg_path);
    to->engine_options_file = pool_str(q->pool, p->engine_options_file);
    to->template = pool_str(q->pool, p->template);
    to->playlist_template = pool_str(q->pool, p->playlist_template);
    pool_free(&old);
}

static void
on_options(void *arg)
{
    tell_options(arg);
}

static void
open_options(struct queue *q)
{
    q->options = options_new(q->fetcher->loop, q->plan.engine_options_file,
                             on_options, q);
}

/* A directory that is not there is looked for again (schedule.c). */
static void
open_parts(struct queue *q)
{
    struct fetcher *f = q->fetcher;
    struct errmsg why;

    q->place = place_new(f->loop, f->threads, q->plan.directory, &why);
    if (q->place == NULL) {
        log_error("downloads %.*s: %s", STR_ARGS(q->plan.name), why.text);
    }
    open_options(q);
}

void
queue_reconfigure(struct queue *q, const struct downloads_instance *p)
{
    bool engine = !str_eq(q->plan.engine, p->engine) ||
                  !str_eq(q->plan.engine_path, p->engine_path);
    bool file = !str_eq(q->plan.engine_options_file, p->engine_options_file);

    take_plan(q, p);
    if (file) {
        options_free(&q->options);
        open_options(q);
        tell_options(q);
    }
    if (engine) {
        fetch_engine_look(q);
    }
    tell_configured(q);
    tidy_look(q);
    queue_schedule(q);
}

struct queue *
queue_new(struct fetcher *f, const struct downloads_instance *p)
{
    struct queue *q = mem_zero(sizeof(*q));

    q->fetcher = f;
    lists_start(q);
    list_init(&q->adds);
    fair_queue_init(&q->waiting);
    list_init(&q->extracting);
    queue_start_ops(q);
    list_init(&q->looks);
    take_plan(q, p);
    list_append(&f->queues, &q->link);
    open_parts(q);
    schedule_start(q);
    tidy_start(q);
    tell_start(q);
    fetch_engine_look(q);
    nodes_load(q);
    return q;
}

static void
drop_list(struct list *list)
{
    LIST_EACH (node, list) {
        struct entry *e = LIST_ITEM(node, struct entry, link);

        life_end(e);
        nodes_drop(e);
        tell_forget(e);
        entry_free(&e);
    }
}

void
queue_free(struct queue **queue)
{
    struct queue *q = *queue;

    add_drop_all(q);
    schedule_stop(q);
    tidy_stop(q);
    nodes_stop(q);
    queue_stop_ops(q);
    for (size_t i = 0; i < ENTRY_LISTS; i++) {
        drop_list(&q->lists[i]);
    }
    drop_list(&q->canceled);
    tell_stop(q);
    lists_stop(q);
    list_remove(&q->link);
    options_free(&q->options);
    place_free(&q->place);
    fetch_engine_free(&q->engine);
    pool_free(&q->pool);
    mem_free(queue);
}
