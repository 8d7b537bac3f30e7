/*
 * The mode publish: streams sent in real time from one process.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_PUBLISHER_H
#define BENCH_PUBLISHER_H

#include "options.h"

/* Runs until it is told to stop or the time is over, and prints the result.
 * Returns the exit status: 0, or 1 when a stream was refused or lost. */
int publisher_run(const struct options *o);

#endif
