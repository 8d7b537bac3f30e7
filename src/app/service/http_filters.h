/*
 * Makes the filters of a location for http/ from its settings.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef APP_SERVICE_HTTP_FILTERS_H
#define APP_SERVICE_HTTP_FILTERS_H

#include "app/settings/settings.h"

/* Fills cors and rates of out; lives in pool.  server: its number. */
void http_filters_set(struct pool *pool, size_t server,
                      const struct http_location_settings *l,
                      struct http_location *out);

#endif
