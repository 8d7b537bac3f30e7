/*
 * weirctl's words for stream keys.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_KEY_VERBS_H
#define MODULES_RELAY_KEY_VERBS_H

#include "app/control/verb.h"

/* Master, before any fork: hears the answers. */
void key_verbs_listen(void);
/* The relayer, which has the store: follows orders. */
void key_verbs_serve(void);

enum control_result key_verbs_get(struct control_call *call);
enum control_result key_verbs_reset(struct control_call *call);
enum control_result key_verbs_delete(struct control_call *call);
enum control_result key_verbs_list(struct control_call *call);

#endif
