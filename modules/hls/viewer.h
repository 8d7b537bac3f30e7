/*
 * Viewers: each multivariant playlist draws an id for its reader, which stands
 * in the addresses of media playlists, and by which their requests are counted
 * as those of one player.
 *
 * The second half of an id is a keyed hash of the first, so that clients cannot
 * make ids.  All processes of a master have the same key, which is drawn when
 * weir starts.  A request for a media playlist whose id weir did not give out,
 * or that has none, is one of the viewer that its client's address stands for.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_VIEWER_H
#define MODULES_HLS_VIEWER_H

#include "http/http.h"
#include "live/cuts.h"
#include "live/viewer.h"
#include "net/addr.h"

#define VIEWER_TEXT 33 /* NUL included */

struct asked;

/* False: the text is no id that was given out since weir started. */
bool viewer_read(struct str text, struct live_viewer_id *id);
const char *viewer_text(const struct live_viewer_id *id,
                        char text[VIEWER_TEXT]);
struct live_viewer_id viewer_new(void);
/* Of a client without an id: the same for all of its requests. */
struct live_viewer_id viewer_of_client(const struct addr *client);
/* Draws an id where the request has none. */
void viewer_draw(struct asked *a);
/* The request is one of its viewer's.  HTTP_PASS: it may go on; else the
 * answer. */
enum http_result viewer_came(struct asked *a, const struct live_cuts *c);
/* It is told of something new, which it is going to take. */
void viewer_took(const struct asked *a, const struct live_cuts *c);

#endif
