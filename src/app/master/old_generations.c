/*
 * The life of generations after a reload.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/master/old_generations.h"

#include <signal.h>

#include "app/master/state.h"
#include "app/metrics/metrics.h"
#include "base/log.h"
#include "base/mem.h"
#include "proc/logring.h"

#define KILL_WAIT_MS 3000 /* from TERM to KILL */

static bool
is_written(const struct master *m, int file)
{
    const struct generation *next = m->reload.next;

    if (generation_writes(m->generation, file) ||
        (next != NULL && generation_writes(next, file))) {
        return true;
    }
    LIST_EACH (node, &m->reload.old) {
        if (generation_writes(LIST_ITEM(node, struct replaced, link)->g,
                              file)) {
            return true;
        }
    }
    return false;
}

void
old_generations_close_logs(const struct master *m)
{
    for (int i = 1; i < LOGRING_FILES; i++) {
        if (!is_written(m, i)) {
            logring_close(i);
        }
    }
}

int64_t
old_generations_count(const struct master *m)
{
    int64_t n = 1;

    LIST_EACH (node, &m->reload.old) {
        n += !LIST_ITEM(node, struct replaced, link)->closing;
    }
    return n;
}

static void
close_generation(struct replaced *o, const char *why)
{
    struct master *m = o->m;

    o->closing = true;
    metrics_generations(old_generations_count(m));
    log_notice("generation %u is closed: %s; %llu connections end",
               o->g->number, why,
               (unsigned long long)children_connections(&m->children, o->g));
    children_end(&m->children, o->g, SIGTERM);
    timer_set(m->loop, &o->end, KILL_WAIT_MS);
}

static void
on_end(struct timer *t)
{
    struct replaced *o = LIST_ITEM(t, struct replaced, end);

    if (!o->closing) {
        close_generation(o, "reload_drain is over");
        return;
    }
    log_warn("workers of generation %u do not end: killing them", o->g->number);
    children_end(&o->m->children, o->g, SIGKILL);
    timer_set(o->m->loop, &o->end, KILL_WAIT_MS);
}

static struct replaced *
add(struct master *m, struct generation *g, int64_t ms)
{
    struct replaced *o = mem_zero(sizeof(*o));

    o->m = m;
    o->g = g;
    timer_init(&o->end, on_end);
    timer_set(m->loop, &o->end, ms);
    list_append(&m->reload.old, &o->link);
    metrics_generations(old_generations_count(m));
    return o;
}

void
old_generations_add(struct master *m, struct generation *g, int64_t drain)
{
    add(m, g, drain);
}

void
old_generations_add_failed(struct master *m, struct generation *g)
{
    struct replaced *o = add(m, g, KILL_WAIT_MS);

    o->closing = o->failed = true;
    metrics_generations(old_generations_count(m));
}

static void
free_replaced(struct replaced *o)
{
    timer_stop(o->m->loop, &o->end);
    list_remove(&o->link);
    generation_free(&o->g);
    mem_free(&o);
}

void
old_generations_look(struct master *m)
{
    bool some = false;

    LIST_EACH (node, &m->reload.old) {
        struct replaced *o = LIST_ITEM(node, struct replaced, link);

        if (children_workers(&m->children, o->g) > 0) {
            continue;
        }
        if (!o->failed) {
            log_notice("generation %u has ended", o->g->number);
        }
        free_replaced(o);
        some = true;
    }
    if (some) {
        metrics_generations(old_generations_count(m));
        old_generations_close_logs(m);
    }
}

static struct replaced *
oldest(const struct master *m)
{
    LIST_EACH (node, &m->reload.old) {
        struct replaced *o = LIST_ITEM(node, struct replaced, link);

        if (!o->closing) {
            return o;
        }
    }
    return NULL;
}

/* Its open connections.  A worker without any has ended by then. */
static uint64_t
still_open(const struct replaced *o)
{
    return o->closing ? 0 : children_connections(&o->m->children, o->g);
}

void
old_generations_foretell(const struct master *m, int64_t max, FILE *out)
{
    int64_t over = 2 - max; /* with the one in force and the next */

    LIST_EACH (node, &m->reload.old) {
        over += still_open(LIST_ITEM(node, struct replaced, link)) > 0;
    }
    LIST_EACH (node, &m->reload.old) {
        const struct replaced *o = LIST_ITEM(node, struct replaced, link);
        uint64_t open = still_open(o);

        if (open > 0 && over-- > 0) {
            fprintf(out,
                    "generation %u is closed by the next reload: %llu "
                    "connections end\n",
                    o->g->number, (unsigned long long)open);
        }
    }
}

bool
old_generations_close_oldest(struct master *m, const char *why)
{
    struct replaced *o = oldest(m);

    if (o != NULL) {
        close_generation(o, why);
    }
    return o != NULL;
}

void
old_generations_limit(struct master *m)
{
    struct errmsg why;
    int64_t max = m->generation->settings->max_generations;

    errmsg_set(&why, "more than max_generations (%lld) have workers",
               (long long)max);
    while (old_generations_count(m) > max &&
           old_generations_close_oldest(m, why.text)) {
    }
}

void
old_generations_clear(struct master *m)
{
    LIST_EACH (node, &m->reload.old) {
        free_replaced(LIST_ITEM(node, struct replaced, link));
    }
}
