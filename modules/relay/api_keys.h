/*
 * Stream keys: requests over HTTP, and publishers that come with one.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_RELAY_API_KEYS_H
#define MODULES_RELAY_API_KEYS_H

#include "relay.h"

/* api_keys.c */
http_handler relay_on_get, relay_on_reset, relay_on_delete;

/* publish_hook.c: those of applications with publish = "key". */
extern const struct rtmp_hooks relay_publish_hooks;

#endif
