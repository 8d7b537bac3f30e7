/*
 * Subscribers to notices of the store, by topic.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef STORE_NOTICES_H
#define STORE_NOTICES_H

#include "store/store.h"

/* Some may have been missed: all look at everything. */
void listen_missed(void);
void listen_forget(void);
void listen_tell(struct str topic, struct str text);

#endif
