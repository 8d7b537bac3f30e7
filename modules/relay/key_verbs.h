/*
 * weirctl's commands for stream keys.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_KEY_VERBS_H
#define MODULES_RELAY_KEY_VERBS_H

#include "app/control/verb.h"

#define KEY_VERBS_ORDER_MAX 512    /* bytes that the master sends ... */
#define KEY_VERBS_ANSWER_MAX 32000 /* ... and gets */

/* The relayer, which has the store: follows orders. */
struct relayer;
void key_verbs_serve(struct relayer *r);

enum control_result key_verbs_get(struct control_call *call);
enum control_result key_verbs_reset(struct control_call *call);
enum control_result key_verbs_delete(struct control_call *call);
enum control_result key_verbs_list(struct control_call *call);

#endif
