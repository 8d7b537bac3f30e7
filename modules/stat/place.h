/*
 * The addresses of this node: its listeners, the ways to publish, the locations
 * of modules.  The console makes its commands of them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_STAT_PLACE_H
#define MODULES_STAT_PLACE_H

#include "json/json.h"

struct generation; /* app/generation.h */

/* Sets the generation that this process serves for its whole life; before the
 * others. */
void place_found(const struct generation *g);
/* Members "rtmp", "http" and "here" of an object; layer: the settings of the
 * layer that answers. */
void place_write(struct json_out *o, const void *layer);
/* The page on this machine that may see the statistics,
 * "http://127.0.0.1:8090/" or empty. */
struct str place_local(void);

#endif
