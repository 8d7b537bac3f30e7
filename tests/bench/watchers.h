/*
 * The mode watch: a crowd of viewers of HLS in one process, each with two
 * connections, as browsers have them: one asks for playlists, which the server
 * holds back until there is something new, the other one fetches the parts.
 *
 * Paced, they do not look into playlists: at the pace of parts, each fetches a
 * playlist and a part that a file server has, to compare.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_WATCHERS_H
#define BENCH_WATCHERS_H

#include "options.h"

/* Runs until it is told to stop or the time is over, and prints the result.
 * Returns the exit status: 0, or 1 when a viewer saw something wrong. */
int watchers_run(const struct options *o);

#endif
