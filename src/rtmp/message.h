/*
 * Whole messages, as the chunk reader delivers them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_MESSAGE_H
#define RTMP_MESSAGE_H

#include "rtmp/session.h"

/* A chunk_handler; arg is the session.  Stops the reader when the session is
 * over, waits for a decision, or had its share of this turn. */
int message_handle(void *arg, const struct chunk_message *m);

#endif
