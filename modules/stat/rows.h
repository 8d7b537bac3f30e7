/*
 * The statistics of one stream, session or node, as JSON. docs/statistics.md
 * has the shapes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_STAT_ROWS_H
#define MODULES_STAT_ROWS_H

#include "live/live.h"
#include "told.h"
#include "json/json.h"

/* Each writes one object. */
void row_livestat(struct json_out *o, const struct live_session_view *v);
void row_session(struct json_out *o, const struct live_session_view *v);
void row_stream(struct json_out *o, const struct live_stream_view *v);
/* The whole node; layer: the settings of the layer that answers. */
void row_server(struct json_out *o, const void *layer);

/* How many times settings have come in force. */
int64_t server_generation(void);

/* The same as rows of which only changes are sent: numbers are rounded for
 * people, times are start times (began_ms, by the server's uptime_ms).  A
 * stream's has the members that a list shows.  layer as above; NULL: without
 * the place. */
void told_server(struct told *t, const void *layer);
void told_stream(struct told *t, const struct live_stream_view *v);
void told_session(struct told *t, const struct live_session_view *v);

#endif
