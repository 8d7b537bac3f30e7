/*
 * Generations that are not in force any more, or never came in force: they
 * live as long as one of their workers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_MASTER_OLD_GENERATIONS_H
#define APP_MASTER_OLD_GENERATIONS_H

#include "app/generation.h"
#include "event/loop.h"

#include <stdio.h>

struct master;

struct replaced {
    struct list link;
    struct master *m;     /* borrowed */
    struct generation *g; /* owned */
    struct timer end;     /* reload_drain, then until it is killed */
    bool closing;
    bool failed; /* it never was in force */
};

/* Takes g over; the caller has told its workers to drain, or has killed them
 * (failed).  Those of a drained one may stay for drain ms. */
void old_generations_add(struct master *m, struct generation *g, int64_t drain);
void old_generations_add_failed(struct master *m, struct generation *g);
/* Forgets generations whose last worker is gone. */
void old_generations_look(struct master *m);
/* Closes the oldest while there are more than max_generations. */
void old_generations_limit(struct master *m);
/* Generations that have workers and are not being closed, the one in force
 * among them. */
int64_t old_generations_count(const struct master *m);
/* Prints the generations that the next reload closes because max are allowed, a
 * line each: "generation 2 is closed by the next reload: 3 connections end". */
void old_generations_foretell(const struct master *m, int64_t max, FILE *out);
/* Closes the oldest that is not being closed; false: there is none. */
bool old_generations_close_oldest(struct master *m, const char *why);
/* Closes the log files that no generation writes. */
void old_generations_close_logs(const struct master *m);
void old_generations_clear(struct master *m); /* no process runs any more */

#endif
