/*
 * The log's listener, and the ring it writes to.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "app/recent_log.h"

#include "base/log.h"

#define KEPT 512 /* messages */

static struct recent *list;

static void
hear(enum log_level level, const char *message)
{
    if (level <= LOG_NOTICE) {
        recent_put(list, level, str_from(message));
    }
}

int
recent_log_create(struct errmsg *err)
{
    list = recent_create("weir events", KEPT, err);
    if (list == NULL) {
        return -1;
    }
    log_set_listener(hear);
    return 0;
}

void
recent_log_destroy(void)
{
    log_set_listener(NULL);
    recent_destroy(&list);
}

struct recent *
recent_log_list(void)
{
    return list;
}
