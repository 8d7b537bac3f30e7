/*
 * Orders of weirctl to the relayer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_VERBS_H
#define MODULES_RELAY_VERBS_H

/* Master, before any fork: hears the relayer's answers. */
void relay_verbs_listen(void);
/* The relayer: follows orders. */
void relay_verbs_serve(void);

#endif
