/*
 * Watches of cuts (live/cuts.h) as the hub tells them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_CUT_WATCH_H
#define LIVE_CUT_WATCH_H

#include "live/cuts.h"

/* The process was woken for stream n: tells those that watch its name when it
 * was cut, or changed otherwise, since they were told last. */
void cut_watches_look(uint32_t n);

#endif
