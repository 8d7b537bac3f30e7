/*
 * Cells in shared memory and the lists of names.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "proc/metric.h"

#include <assert.h>
#include <string.h>

#include "proc/shared.h"
#include "proc/slot.h"
#include "proc/told.h"

#define TABLES_MAX 32
#define PAGE 4096u
/* The most that one process has of a gauge: all sums are numbers. */
#define GAUGE_MOST ((int64_t)1 << 50)

struct name_list {
    _Atomic uint32_t count; /* places in use, 0 is always */
    char names[METRIC_NAMES][METRIC_NAME_MAX];
};

/* The master's; the areas of the slots are memory of their own. */
struct shared_head {
    _Atomic uint8_t used[SLOT_MAX]; /* 1: somebody has counted there */
    struct name_list lists[METRIC_LISTS];
};

static struct {
    struct shared_head *head;           /* shared; NULL while not created */
    struct told *told;                  /* shared, the master writes: of each
                                           cell of a counter or histogram */
    uint8_t *areas;                     /* shared */
    size_t stride;                      /* bytes of one slot's area */
    struct name_list own[METRIC_LISTS]; /* the master's, which it believes */
    struct metric *tables[TABLES_MAX];
    unsigned table_count;
    uint32_t cells; /* given away; cell 0 is nobody's */
} all = { .cells = 1 };

_Atomic int64_t *metric_own;

static size_t
whole_pages(size_t n)
{
    return (n + PAGE - 1) / PAGE * PAGE;
}

static _Atomic int64_t *
area_of(uint32_t slot)
{
    return (_Atomic int64_t *)(void *)(all.areas + (size_t)slot * all.stride);
}

/* ---- tables ---- */

static unsigned
values_of(const struct metric_label *l)
{
    return l->count > 0 ? l->count : 1;
}

/* Cells of one value: a histogram has its buckets and its sum. */
static uint32_t
width(const struct metric *m)
{
    return m->type == METRIC_HISTOGRAM ? m->bound_count + 2 : 1;
}

uint32_t
metric_cells(const struct metric *m)
{
    uint32_t n = width(m);

    for (int i = 0; i < METRIC_LABELS; i++) {
        n *= values_of(&m->labels[i]);
    }
    return m->collect == NULL ? n : 0;
}

uint32_t
metric_at(const struct metric *m, unsigned a, unsigned b, unsigned c)
{
    unsigned na = values_of(&m->labels[0]), nb = values_of(&m->labels[1]);
    unsigned nc = values_of(&m->labels[2]);

    a = a < na ? a : 0;
    b = b < nb ? b : 0;
    c = c < nc ? c : 0;
    return ((a * nb + b) * nc + c) * width(m);
}

void
metric_register(struct metric *table)
{
    assert(all.head == NULL && all.table_count < TABLES_MAX - 1);
    all.tables[all.table_count++] = table;
    for (struct metric *m = table; m->name != NULL; m++) {
        m->first = m->collect == NULL ? all.cells : 0;
        all.cells += metric_cells(m);
    }
}

struct metric *
metric_table(unsigned i)
{
    return i < all.table_count ? all.tables[i] : NULL;
}

/* ---- life ---- */

int
metrics_create(struct errmsg *err)
{
    static const char *const first[METRIC_LISTS] = {
        [METRIC_APPS] = "other",
        [METRIC_LISTENERS] = "listener=\"other\",proto=\"other\"",
        [METRIC_MODULES] = "none",
    };

    all.stride = whole_pages(all.cells * sizeof(int64_t));
    all.areas = shared_create("weir metrics", slots_count() * all.stride,
                              SHARED_ALL, err);
    if (all.areas != NULL) {
        all.head = shared_create("weir metric names", sizeof(*all.head),
                                 SHARED_MASTER, err);
    }
    if (all.head != NULL) {
        all.told =
            shared_create("weir metric counts", all.cells * sizeof(*all.told),
                          SHARED_MASTER, err);
    }
    if (all.told == NULL) {
        return -1;
    }
    for (int i = 0; i < METRIC_LISTS; i++) {
        metric_name_add((enum metric_list)i, str_from(first[i]));
    }
    metrics_set_self();
    return 0;
}

void
metrics_destroy(void)
{
    metric_own = NULL;
    shared_destroy(all.head);
    shared_destroy(all.areas);
    shared_destroy(all.told);
    all.head = NULL;
    all.told = NULL;
    all.areas = NULL;
    memset(all.own, 0, sizeof(all.own));
    all.table_count = 0;
    all.cells = 1;
}

void
metrics_set_self(void)
{
    if (all.head != NULL) {
        metric_own = area_of(slot_self());
        atomic_store(&all.head->used[slot_self()], 1);
    }
}

void
metric_sweep(uint32_t slot)
{
    if (all.head == NULL || !atomic_load(&all.head->used[slot])) {
        return;
    }
    for (unsigned i = 0; i < all.table_count; i++) {
        for (const struct metric *m = all.tables[i]; m->name != NULL; m++) {
            uint32_t n = m->type == METRIC_GAUGE ? metric_cells(m) : 0;

            for (uint32_t k = 0; k < n; k++) {
                atomic_store_explicit(&area_of(slot)[m->first + k], 0,
                                      memory_order_relaxed);
            }
        }
    }
}

/* ---- counting ---- */

void
metric_add_shared(const struct metric *m, uint32_t at, int64_t n)
{
    if (metric_own != NULL) {
        atomic_fetch_add_explicit(&metric_own[m->first + at], n,
                                  memory_order_relaxed);
    }
}

void
metric_set(const struct metric *m, uint32_t at, int64_t value)
{
    if (metric_own != NULL) {
        atomic_store_explicit(&metric_own[m->first + at], value,
                              memory_order_relaxed);
    }
}

void
metric_observe(const struct metric *m, uint32_t at, int64_t value)
{
    unsigned bucket = 0;

    while (bucket < m->bound_count && value > m->bounds[bucket]) {
        bucket++;
    }
    metric_add(m, at + bucket, 1);
    metric_add(m, at + m->bound_count + 1, value);
}

/* ---- adding up ---- */

static int64_t
word_at(const struct metric *m, uint32_t at, uint32_t slot)
{
    return atomic_load_explicit(&area_of(slot)[m->first + at],
                                memory_order_relaxed);
}

static bool
is_used(uint32_t slot)
{
    return atomic_load_explicit(&all.head->used[slot], memory_order_relaxed);
}

int64_t
metric_of(const struct metric *m, uint32_t at, uint32_t slot)
{
    int64_t value;

    if (all.head == NULL || !is_used(slot)) {
        return 0;
    }
    value = word_at(m, at, slot);
    return value >= 0 && value <= GAUGE_MOST ? value : 0;
}

static uint64_t
sum_of_areas(const struct metric *m, uint32_t at)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < slots_count(); i++) {
        sum += is_used(i) ? (uint64_t)word_at(m, at, i) : 0;
    }
    return sum;
}

/* The master looks at what it tells. */
static int64_t
sum_of_counts(const struct metric *m, uint32_t at)
{
    struct told *t = &all.told[m->first + at];
    struct told_seen seen;

    if (slot_self() == 0) {
        return told_look(t, sum_of_areas(m, at));
    }
    seen = told_seen(t);
    return told_now(seen, sum_of_areas(m, at));
}

int64_t
metric_sum(const struct metric *m, uint32_t at)
{
    int64_t sum = 0;

    if (all.head == NULL) {
        return 0;
    }
    if (m->type != METRIC_GAUGE) {
        return sum_of_counts(m, at);
    }
    for (uint32_t i = 0; i < slots_count(); i++) {
        sum += metric_of(m, at, i);
    }
    return sum;
}

static void
look_at_metric(const struct metric *m, const uint32_t *used, uint32_t count)
{
    uint32_t n = m->type != METRIC_GAUGE ? metric_cells(m) : 0;

    for (uint32_t at = 0; at < n; at++) {
        uint64_t sum = 0;

        for (uint32_t i = 0; i < count; i++) {
            sum += (uint64_t)word_at(m, at, used[i]);
        }
        told_look(&all.told[m->first + at], sum);
    }
}

void
metric_look(void)
{
    uint32_t used[SLOT_MAX], count = 0;

    for (uint32_t i = 0; all.head != NULL && i < slots_count(); i++) {
        if (is_used(i)) {
            used[count++] = i;
        }
    }
    for (unsigned i = 0; count > 0 && i < all.table_count; i++) {
        for (const struct metric *m = all.tables[i]; m->name != NULL; m++) {
            look_at_metric(m, used, count);
            if (m->look != NULL) {
                m->look();
            }
        }
    }
}

/* ---- names ---- */

static const char *
name_at(enum metric_list list, unsigned i)
{
    const struct name_list *l;

    if (all.head == NULL) {
        return NULL;
    }
    l = slot_self() == 0 ? &all.own[list] : &all.head->lists[list];
    return i < METRIC_NAMES &&
                   i < atomic_load_explicit(&l->count, memory_order_acquire)
               ? l->names[i]
               : NULL;
}

unsigned
metric_name_find(enum metric_list list, struct str name)
{
    const char *at;

    for (unsigned i = 1; (at = name_at(list, i)) != NULL; i++) {
        if (str_eq(str_from(at), name)) {
            return i;
        }
    }
    return 0;
}

static void
put_name(struct name_list *l, unsigned at, struct str name)
{
    str_copy(l->names[at], METRIC_NAME_MAX, name);
    atomic_store_explicit(&l->count, at + 1, memory_order_release);
}

unsigned
metric_name_add(enum metric_list list, struct str name)
{
    unsigned at = metric_name_find(list, name);

    if (at != 0 || all.head == NULL || name.len >= METRIC_NAME_MAX) {
        return at;
    }
    at = atomic_load(&all.own[list].count);
    if (at == METRIC_NAMES) {
        return 0;
    }
    put_name(&all.own[list], at, name);
    put_name(&all.head->lists[list], at, name);
    return at;
}

const char *
metric_app_name(unsigned i)
{
    return name_at(METRIC_APPS, i);
}

const char *
metric_listener_name(unsigned i)
{
    return name_at(METRIC_LISTENERS, i);
}

const char *
metric_module_name(unsigned i)
{
    return name_at(METRIC_MODULES, i);
}

const char *
metric_dir_name(unsigned i)
{
    return i == METRIC_IN ? "in" : "out";
}
