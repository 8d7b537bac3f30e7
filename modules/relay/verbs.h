/*
 * Orders of weirctl to the relayer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_VERBS_H
#define MODULES_RELAY_VERBS_H

#include <stdint.h>

/* Master, before any fork: hears the relayer's answers. */
void relay_verbs_listen(void);
/* The relayer: follows orders; *max is relays.max, whenever one comes. */
void relay_verbs_serve(const int64_t *max);

#endif
