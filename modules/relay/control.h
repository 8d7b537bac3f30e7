/*
 * weirctl's commands for relays: relay_verbs (relay.h), and the relayer's side.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_CONTROL_H
#define MODULES_RELAY_CONTROL_H

#define RELAY_VERBS_ORDER_MAX 4096 /* bytes that the master sends */

/* The relayer: follows orders. */
struct relayer;
void relay_verbs_serve(struct relayer *r);

#endif
