/*
 * The table of relays in shared memory.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "tasks.h"

#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "proc/shared.h"
#include "proc/slot.h"

/* How often a reader tries a row that is being written. */
#define READ_TRIES 100

struct relay_row {
    _Atomic slot_owner owner;  /* 0: free */
    _Atomic uint32_t sequence; /* odd while the view changes */
    uint8_t old;               /* the writer's, 1: of an earlier relayer */
    struct relay_view view;
};

struct table {
    _Atomic uint32_t end; /* no row from here on was ever taken */
    struct relay_row rows[RELAY_TASKS_MAX];
};

static struct table *table;

const char *
relay_kind_name(unsigned kind)
{
    static const char *const names[] = { "pull", "push" };

    return kind < RELAY_KINDS ? names[kind] : NULL;
}

const char *
relay_state_name(unsigned state)
{
    static const char *const names[RELAY_STATES] = {
        [RELAY_CONNECTING] = "connecting",
        [RELAY_WAITING] = "waiting for the local stream",
        [RELAY_LOCAL] = "local publisher present",
        [RELAY_RUNNING] = "running",
        [RELAY_BACKING_OFF] = "backing off",
        [RELAY_STARTING] = "starting",
        [RELAY_ELSEWHERE] = "elsewhere",
        [RELAY_NOT_STARTED] = "not started",
    };

    return state < RELAY_STATES ? names[state] : NULL;
}

const char *
relay_origin_name(unsigned origin)
{
    static const char *const names[] = { "api", "config" };

    return origin <= RELAY_CONFIG ? names[origin] : NULL;
}

/* No row from here on was ever taken. */
static uint32_t
rows_end(void)
{
    uint32_t end = table != NULL ? atomic_load(&table->end) : 0;

    return end < RELAY_TASKS_MAX ? end : RELAY_TASKS_MAX;
}

int
relay_tasks_create(struct errmsg *err)
{
    if (table != NULL) {
        return 0; /* it outlives a master that is made again (tests) */
    }
    table = shared_create("relays", sizeof(*table), SHARED_ALL, err);
    return table == NULL ? -1 : 0;
}

/* ---- writing ---- */

static void
begin_change(struct relay_row *row)
{
    uint32_t n = atomic_load_explicit(&row->sequence, memory_order_relaxed);

    /* A writer that was killed in the middle left it odd. */
    atomic_store_explicit(&row->sequence, n | 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
}

static void
end_change(struct relay_row *row)
{
    uint32_t n = atomic_load_explicit(&row->sequence, memory_order_relaxed);

    atomic_store_explicit(&row->sequence, (n | 1) + 1, memory_order_release);
}

static void
write_row(struct relay_row *row, const struct relay_view *v)
{
    begin_change(row);
    row->view = *v;
    end_change(row);
}

void
relay_row_set(struct relay_row *row, const struct relay_view *v)
{
    if (atomic_load(&row->owner) == slot_self_owner()) {
        write_row(row, v);
    }
}

void
relay_tasks_sweep(uint32_t slot)
{
    uint32_t end = rows_end();

    for (uint32_t i = 0; i < end; i++) {
        struct relay_row *row = &table->rows[i];
        slot_owner owner = atomic_load(&row->owner);

        if (owner != 0 && slot_owner_number(owner) == slot &&
            row->view.state != RELAY_ELSEWHERE) {
            begin_change(row);
            row->view.state = RELAY_BACKING_OFF;
            row->view.since_ms = clock_wall_ms();
            str_copy(row->view.reason, sizeof(row->view.reason),
                     STR("the relayer ended and is started again"));
            end_change(row);
        }
    }
}

void
relay_tasks_begin(void)
{
    uint32_t end = rows_end();

    for (uint32_t i = 0; i < end; i++) {
        table->rows[i].old = 1;
    }
}

void
relay_tasks_forget_old(void)
{
    uint32_t end = rows_end();

    for (uint32_t i = 0; i < end; i++) {
        struct relay_row *row = &table->rows[i];

        if (row->old) {
            row->old = 0;
            atomic_store(&row->owner, 0);
        }
    }
}

static bool
is_same_task(const struct relay_view *a, const struct relay_view *b)
{
    return a->id == b->id && a->kind == b->kind && a->origin == b->origin &&
           a->url_hash == b->url_hash && strcmp(a->app, b->app) == 0 &&
           strcmp(a->name, b->name) == 0 && strcmp(a->url, b->url) == 0;
}

struct relay_row *
relay_row_take(const struct relay_view *v)
{
    uint32_t end = rows_end();
    struct relay_row *row = NULL;

    for (uint32_t i = 0; i < end; i++) {
        struct relay_row *r = &table->rows[i];

        if (atomic_load(&r->owner) == 0) {
            row = row == NULL ? r : row;
        } else if (r->old && is_same_task(&r->view, v)) {
            row = r;
            break;
        }
    }
    if (row == NULL) {
        if (end >= RELAY_TASKS_MAX) {
            return NULL;
        }
        row = &table->rows[end];
        atomic_store(&table->end, end + 1);
    }
    row->old = 0;
    write_row(row, v);
    atomic_store(&row->owner, slot_self_owner());
    return row;
}

void
relay_row_free(struct relay_row **row)
{
    slot_owner self = slot_self_owner();

    if (*row != NULL) {
        /* Not one that the next relayer has taken over meanwhile. */
        atomic_compare_exchange_strong(&(*row)->owner, &self, 0);
        *row = NULL;
    }
}

/* ---- reading ---- */

static uint8_t
below(uint8_t n, unsigned most)
{
    return n < most ? n : 0;
}

/* Bounds all values of a copy: any process may have written the row. */
static void
bound(struct relay_view *v)
{
    int64_t now = clock_wall_ms();

    v->kind = below(v->kind, RELAY_KINDS);
    v->origin = below(v->origin, RELAY_CONFIG + 1);
    v->state = below(v->state, RELAY_STATES);
    v->there = below(v->there, RELAY_STATES);
    v->refused = v->refused != 0;
    v->of_all = v->of_all != 0;
    v->node[sizeof(v->node) - 1] = '\0';
    v->app[sizeof(v->app) - 1] = '\0';
    v->name[sizeof(v->name) - 1] = '\0';
    v->url[sizeof(v->url) - 1] = '\0';
    v->reason[sizeof(v->reason) - 1] = '\0';
    v->last_failure[sizeof(v->last_failure) - 1] = '\0';
    v->since_ms = v->since_ms >= 0 && v->since_ms < now ? v->since_ms : now;
    v->failed_ms = v->failed_ms > 0 && v->failed_ms < now ? v->failed_ms : 0;
}

/* False: it is free, or its writer is at it all the time. */
static bool
read_row(struct relay_row *row, struct relay_view *v)
{
    for (int i = 0; i < READ_TRIES; i++) {
        uint32_t n = atomic_load_explicit(&row->sequence, memory_order_acquire);

        if (atomic_load(&row->owner) == 0) {
            return false;
        }
        if (n % 2 == 0) {
            *v = row->view;
            atomic_thread_fence(memory_order_acquire);
            if (atomic_load_explicit(&row->sequence, memory_order_relaxed) ==
                n) {
                bound(v);
                return true;
            }
        }
    }
    return false;
}

bool
relay_tasks_next(uint32_t *at, struct relay_view *v)
{
    uint32_t end = rows_end();

    while (*at < end) {
        if (read_row(&table->rows[(*at)++], v)) {
            return true;
        }
    }
    return false;
}

enum relay_state
relay_view_state(const struct relay_view *v)
{
    return (enum relay_state)(v->state == RELAY_ELSEWHERE ? v->there
                                                          : v->state);
}

size_t
relay_tasks_of_all(void)
{
    struct relay_view v;
    uint32_t at = 0;
    size_t count = 0;

    while (relay_tasks_next(&at, &v)) {
        count += v.of_all;
    }
    return count;
}

bool
relay_tasks_find_id(uint64_t id, struct relay_view *v)
{
    uint32_t at = 0;

    while (relay_tasks_next(&at, v)) {
        if (v->id == id) {
            return true;
        }
    }
    memset(v, 0, sizeof(*v)); /* it holds what another relay says */
    return false;
}

bool
relay_tasks_find_config(enum relay_kind kind, struct str app, struct str name,
                        struct str url, struct relay_view *v)
{
    uint64_t hash = hash_str(url);
    uint32_t at = 0;

    while (relay_tasks_next(&at, v)) {
        if (v->origin == RELAY_CONFIG && v->kind == kind &&
            v->url_hash == hash && str_eq(str_from(v->app), app) &&
            str_eq(str_from(v->name), name)) {
            return true;
        }
    }
    memset(v, 0, sizeof(*v));
    return false;
}
