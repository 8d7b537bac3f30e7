/*
 * The channel among weir's processes: the role that has the sessions of
 * Socket.IO (sio/channel.h).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_CHANNEL_ROLE_H
#define APP_CHANNEL_ROLE_H

#include "app/module.h"

extern const struct role channel_roles[]; /* ends with name NULL */

/* Whether a weir with these settings needs it: a layer has an endpoint. */
bool channel_role_wanted(const struct settings *s);

#endif
