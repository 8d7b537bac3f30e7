/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/excess.h"

static const char *const names[EXCESSES] = {
    [EXCESS_NONE] = "",
    [EXCESS_MEMORY] = "memory",
    [EXCESS_PROCESSES] = "processes",
    [EXCESS_CPU] = "cpu",
    [EXCESS_FILES] = "files",
    [EXCESS_BYTES] = "bytes",
};

enum fetch_excess
fetch_excess_of(struct str name)
{
    for (int i = EXCESS_NONE + 1; i < EXCESSES; i++) {
        if (str_eq(name, str_from(names[i]))) {
            return (enum fetch_excess)i;
        }
    }
    return EXCESS_NONE;
}

void
fetch_excess_say(enum fetch_excess excess, struct buf *to)
{
    buf_printf(to, "The engine used more than max_%s.", names[excess]);
}
