/*
 * Shared by the two parts of the worker's side: front.c, which judges requests
 * and forwards polls, and front_upgrade.c, which gives connections away.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef SIO_FRONT_IMPL_H
#define SIO_FRONT_IMPL_H

#include "sio/channel.h"
#include "sio/channel_wire.h"
#include "sio/front.h"

/* Counts a refusal. */
void front_refused(enum channel_refusal why);
/* Refuses an upgrade.  Bytes behind the request are no request: the connection
 * ends. */
enum http_result front_answer_upgrade(struct http_request *r, int status,
                                      const char *why);
/* Gives the request's connection to the channel; the texts of ask are the
 * request's. */
enum http_result front_upgrade(struct http_request *r,
                               const struct channel_ask *ask);

#endif
