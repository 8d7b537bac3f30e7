/*
 * Clients of Socket.IO in great numbers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef BENCH_SOCKETS_H
#define BENCH_SOCKETS_H

#include "options.h"

/* The exit status: 0 when every client was let in and stayed, and no event was
 * missed. */
int sockets_run(const struct options *o);

#endif
