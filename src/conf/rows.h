/*
 * A shorter way to write struct conf_key rows.
 *
 *     ROW(settings, worker_connections, CONF_INT, .min = 1, .max = 9,
 *         .preset = "5", .help = "Connections of one worker."),
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef CONF_ROWS_H
#define CONF_ROWS_H

#include "conf/conf.h"

#include <stddef.h>

/* The key has the name of the field / another name than the field. */
#define ROW(tag, field, kind, ...) ROW_AS(#field, tag, field, kind, __VA_ARGS__)
#define ROW_AS(key, tag, field, kind, ...)                                    \
    {                                                                         \
        .name = (key), .type = (kind), .offset = offsetof(struct tag, field), \
        __VA_ARGS__                                                           \
    }
/* The file and line of the group. */
#define ROW_WHERE(tag) ROW(tag, where, CONF_WHERE, .help = NULL)

#endif
