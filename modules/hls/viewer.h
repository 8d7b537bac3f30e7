/*
 * Viewers: each multivariant playlist draws an id for its reader, which stands
 * in the addresses of media playlists, and by which their requests are counted
 * as those of one player.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_VIEWER_H
#define MODULES_HLS_VIEWER_H

#include "http/http.h"
#include "live/cuts.h"
#include "live/viewer.h"

#define VIEWER_TEXT 33 /* NUL included */

struct asked;

/* False: the text is no id. */
bool viewer_read(struct str text, struct live_viewer_id *id);
const char *viewer_text(const struct live_viewer_id *id,
                        char text[VIEWER_TEXT]);
/* Draws an id where the request has none. */
void viewer_draw(struct asked *a);
/* The request is one of its viewer's.  HTTP_PASS: it may go on; else the
 * answer. */
enum http_result viewer_came(struct asked *a, const struct live_cuts *c);
/* It is told of something new, which it is going to take. */
void viewer_took(const struct asked *a, const struct live_cuts *c);

#endif
