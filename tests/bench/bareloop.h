/*
 * The mode bare: the barest server that sends a stream to players, as the
 * measure for all others. It makes the stream itself, lays each message out
 * once, and hands the same bytes to every socket.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_BARELOOP_H
#define BENCH_BARELOOP_H

#include "options.h"

/* Prints "listening on HOST:PORT", runs until it is told to stop or the time
 * is over, and prints the result. Returns the exit status. */
int bareloop_run(const struct options *o);

#endif
