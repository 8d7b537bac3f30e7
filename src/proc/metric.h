/*
 * Metrics: numbers that every process counts and anybody adds up.
 *
 * Each layer declares its metrics in a table (struct metric).  The master
 * registers the tables and makes shared memory with an area of cells for each
 * slot.  A process writes its own area alone, with plain relaxed loads and
 * stores; a reader adds up the areas of all slots.  Nothing is locked.
 *
 * A slot's area outlives the process: the next one that takes the slot goes
 * on counting where it ended, so counters never fall, whichever process dies.
 * Gauges say what is open now; metric_sweep() clears those of a dead process.
 * A process killed in the middle of an addition loses at most that addition.
 *
 * Any process can write to any area.  So the master looks at the counters once
 * a second (metric_look()), and at each that it reads: they never fall
 * (proc/told.h).  A gauge of a slot that is negative, or larger than anything
 * is, counts as 0.
 *
 * Labels are enumerations with a fixed number of values.  Names that come
 * from the configuration (applications, listeners) stand in shared lists: the
 * master adds them before it forks the processes that use them.  A list only
 * grows; a name for which it has no room counts as "other".
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef PROC_METRIC_H
#define PROC_METRIC_H

#include "base/errmsg.h"
#include "base/str.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric_label {
    /* NULL: value() returns whole pairs, escaped: a="b",c="d". */
    const char *name;
    const char *(*value)(unsigned i); /* NULL: there is no value i */
    /* Values at most; 0: no such label, or (with a name) a label that collect()
     * writes. */
    unsigned count;
};

#define METRIC_LABELS 3

struct metric_out; /* proc/metric_text.h */

struct metric {
    const char *name; /* "weir_..."; counters end in "_total"; NULL ends */
    const char *help; /* one sentence */
    enum metric_type type;
    struct metric_label labels[METRIC_LABELS];
    /* Histogram: upper bounds of its buckets, ascending, as observed. */
    const int64_t *bounds;
    unsigned bound_count;
    /* How many counted units make one unit of the output: 1000000 for
     * microseconds shown as seconds; 0 is 1. */
    int64_t unit;
    bool sparse; /* values that are 0 are left out */
    /* Set: the metric has no cells; its values are collected when they are
     * shown. */
    void (*collect)(const struct metric *m, struct metric_out *out);
    /* Set at one of those whose values lie elsewhere: the master looks at them
     * (proc/told.h), about once a second. */
    void (*look)(void);
    uint32_t first; /* cell; set by metric_register() */
};

/* Master, before metrics_create(): gives a table its cells. */
void metric_register(struct metric *table);
/* Master, after slots_create() and before any fork. */
int metrics_create(struct errmsg *err);
void metrics_destroy(void); /* and forgets what was registered */
/* A process that has just got its slot (life_fork() does it). */
void metrics_set_self(void);
/* Master: the process of slot is dead. */
void metric_sweep(uint32_t slot);
/* Master, about once a second. */
void metric_look(void);

/* The registered tables, to show all metrics; NULL behind the last. */
struct metric *metric_table(unsigned i);

/* Our own area; NULL while there is none. */
extern _Atomic int64_t *metric_own;

/* The number of one of a metric's values, from the places of its labels.  A
 * place beyond the label's count is 0. */
uint32_t metric_at(const struct metric *m, unsigned a, unsigned b, unsigned c);
/* Cells that m takes. */
uint32_t metric_cells(const struct metric *m);
/* A cell by its number; 0 is nobody's and may be written.  Other processes can
 * write there: whatever lies in it, the sum is a number. */
static inline void
metric_cell_add(uint32_t cell, int64_t n)
{
    if (metric_own != NULL) {
        _Atomic int64_t *c = &metric_own[cell];
        uint64_t value =
            (uint64_t)atomic_load_explicit(c, memory_order_relaxed);

        atomic_store_explicit(c, (int64_t)(value + (uint64_t)n),
                              memory_order_relaxed);
    }
}
static inline void
metric_add(const struct metric *m, uint32_t at, int64_t n)
{
    metric_cell_add(m->first + at, n);
}
/* The same from any thread of the process. */
void metric_add_shared(const struct metric *m, uint32_t at, int64_t n);
/* Gauge: what this process has of it now. */
void metric_set(const struct metric *m, uint32_t at, int64_t value);
/* Histogram: one more observation. */
void metric_observe(const struct metric *m, uint32_t at, int64_t value);

/* All processes together, never negative; a counter is never below what it was
 * at the master's last look. */
int64_t metric_sum(const struct metric *m, uint32_t at);
/* Gauge: the value of one slot's process. */
int64_t metric_of(const struct metric *m, uint32_t at, uint32_t slot);

/* ---- names from the configuration ---- */

enum metric_list {
    METRIC_APPS,      /* applications */
    METRIC_LISTENERS, /* pairs: listener="...",proto="..." */
    METRIC_MODULES,
    METRIC_LISTS
};
#define METRIC_NAMES 64     /* of a list; place 0 is "other" */
#define METRIC_NAME_MAX 192 /* bytes, NUL included */

/* Master: the place of a name, which is added when it is new; 0 when the list
 * is full or the name too long. */
unsigned metric_name_add(enum metric_list list, struct str name);
/* Its place, 0 if it has none. */
unsigned metric_name_find(enum metric_list list, struct str name);
/* value() of labels. */
const char *metric_app_name(unsigned i);
const char *metric_listener_name(unsigned i);
const char *metric_module_name(unsigned i);

/* Direction of bytes: to us, from us. */
enum metric_dir { METRIC_IN, METRIC_OUT };
const char *metric_dir_name(unsigned i);
#define METRIC_LABEL_DIR          \
    {                             \
        "dir", metric_dir_name, 2 \
    }

#define METRIC_LABEL_APP                     \
    {                                        \
        "app", metric_app_name, METRIC_NAMES \
    }

#define METRIC_END   \
    {                \
        .name = NULL \
    }

#endif
