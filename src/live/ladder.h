/*
 * Ladders: streams of an application that are the same content in several
 * qualities, told from each other by how their names end.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_LADDER_H
#define LIVE_LADDER_H

#include "live/live.h"

/* The place of the stream "app/name" in the ladder, and the part of its name
 * that all members share; -1: it is none of them. */
int live_ladder_place(const struct live_ladder *l, struct str name,
                      struct str *shared);
/* The name of the member at that place, written to "out"; empty: it would be
 * too long. */
struct str live_ladder_member(const struct live_ladder *l, uint32_t place,
                              struct str shared, char out[LIVE_NAME_MAX]);

#endif
