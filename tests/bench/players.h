/*
 * The modes play and idle: a crowd of players in one process.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_PLAYERS_H
#define BENCH_PLAYERS_H

#include "options.h"

/* Runs until it is told to stop or the time is over, and prints the result.
 * Returns the exit status: 0, or 1 when a player saw something wrong. */
int players_run(const struct options *o);

#endif
