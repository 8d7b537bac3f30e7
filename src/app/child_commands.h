/*
 * Commands of the operator that the master passes on to its children, over the
 * bus.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CHILD_COMMANDS_H
#define APP_CHILD_COMMANDS_H

#include "base/log.h"
#include "live/live.h"

#define ORDER_FROM 64

struct kick_order { /* struct live_kick as it travels */
    uint32_t slot, serial;
    bool publishers, players;
    char name[LIVE_NAME_MAX]; /* "" unless it is a stream's */
    char from[ORDER_FROM];    /* an access rule, or "" */
};

/* A child, once its bus is open: follows commands from now on. */
void child_commands_follow(void);

/* Master: here, in all children, and in those forked later. */
void child_commands_log_level(enum log_level level);
/* The master's table of exceptions, to all children; those forked later inherit
 * it. */
void child_commands_exceptions(void);
/* To one process: 0, or -1 when it cannot be reached. */
int child_commands_kick(uint32_t slot, const struct kick_order *order);

/* Reads a kick from the bus; its rules are made in pool. -1: it is
 * malformed. */
int child_commands_read_kick(const struct kick_order *order, struct pool *pool,
                             struct live_kick *kick);

#endif
