/*
 * Orders of weirctl to the relayer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_VERBS_H
#define MODULES_RELAY_VERBS_H

#include "proc/bus.h"

/* What master and relayer say to each other; an order of the master and the
 * relayer's answer to it. */
enum {
    BUS_RELAY_ORDER = BUS_MODULE,
    BUS_RELAY_ANSWER,
    BUS_KEY_ORDER,
    BUS_KEY_ANSWER,
};

/* Master, before any fork: hears the relayer's answers. */
void relay_verbs_listen(void);
/* The relayer: follows orders. */
void relay_verbs_serve(void);
/* Master: the slot of the relayer that is ready, or -1. */
int relay_verbs_relayer(void);

#endif
