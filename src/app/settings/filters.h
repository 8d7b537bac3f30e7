/*
 * The rows of a location's filters and of the limits on clients, and the values
 * made of them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_SETTINGS_FILTERS_H
#define APP_SETTINGS_FILTERS_H

#include "app/settings/settings.h"

#include <stdio.h>

extern const struct conf_key settings_auth_keys[];   /* struct auth_settings */
extern const struct conf_key settings_cors_keys[];   /* struct cors_settings */
extern const struct conf_key settings_rate_keys[];   /* struct rate_settings */
extern const struct conf_key settings_limits_keys[]; /* limits_settings */

/* check_group of a row with these keys. */
int settings_check_auth(const void *settings, struct errmsg *err);
int settings_check_cors(const void *settings, struct errmsg *err);
int settings_check_rate(const void *settings, struct errmsg *err);

/* The burst in force of a rate. */
int64_t settings_burst(const struct rate_settings *s, int64_t interval_us);

/* Reads the files of every location's auth rules: fills made_auth, in pool;
 * writes "FILE:LINE: what" of every mistake to out. */
void settings_make_auth(struct pool *pool, const struct settings *s, FILE *out);

#endif
