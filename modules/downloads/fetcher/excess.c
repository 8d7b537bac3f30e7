/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/excess.h"

#include "downloads.h"

static const char *const names[] = {
    [EXCESS_NONE] = "",
    [EXCESS_MEMORY] = "memory",
    [EXCESS_PROCESSES] = "processes",
    [EXCESS_CPU] = "cpu",
    [EXCESS_FILES] = "files",
    [EXCESS_BYTES] = "bytes",
};

#define TOLD EXCESS_MIN_FREE /* those before it */

enum fetch_excess
fetch_excess_of(struct str name)
{
    for (int i = EXCESS_NONE + 1; i < TOLD; i++) {
        if (str_eq(name, str_from(names[i]))) {
            return (enum fetch_excess)i;
        }
    }
    return EXCESS_NONE;
}

static const struct {
    int64_t bytes;
    const char *name;
} units[] = {
    { 1LL << 40, "T" },
    { 1 << 30, "G" },
    { 1 << 20, "M" },
    { 1 << 10, "k" },
};

/* As weir.conf may have it. */
static void
say_size(int64_t bytes, struct buf *to)
{
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (bytes % units[i].bytes == 0) {
            buf_printf(to, "%lld%s", (long long)(bytes / units[i].bytes),
                       units[i].name);
            return;
        }
    }
    buf_printf(to, "%lld bytes", (long long)bytes);
}

static void
say_bound(enum fetch_excess excess, const struct downloads_instance *plan,
          struct buf *to)
{
    switch (excess) {
    case EXCESS_MEMORY:
        say_size(plan->max_memory, to);
        break;
    case EXCESS_PROCESSES:
        buf_printf(to, "%lld", (long long)plan->max_processes);
        break;
    case EXCESS_CPU:
        buf_printf(to, "%lld s", (long long)(plan->max_cpu / 1000));
        break;
    case EXCESS_FILES:
        buf_printf(to, "%lld", (long long)plan->max_files);
        break;
    case EXCESS_BYTES:
        say_size(plan->max_bytes, to);
        break;
    case EXCESS_NONE:
    case EXCESS_MIN_FREE:
    case EXCESSES:
        break;
    }
}

void
fetch_excess_say(enum fetch_excess excess,
                 const struct downloads_instance *plan, struct buf *to)
{
    if (excess == EXCESS_MIN_FREE) {
        buf_printf(to, "The disk had less than min_free (");
        say_size(plan->min_free, to);
        buf_printf(to, ") while the engine wrote.");
        return;
    }
    buf_printf(to, "The engine used more than max_%s (", names[excess]);
    say_bound(excess, plan, to);
    buf_printf(to, ").");
}
