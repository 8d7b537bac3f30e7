/*
 * Reads the JSON of an extraction by yt-dlp (-J --flat-playlist), which nobody
 * believes.
 *
 * Only what weir needs is looked at, in one walk without a tree.  Every text
 * has a bound: a longer one is cut, or its item is refused.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_FOUND_H
#define MODULES_DOWNLOADS_FETCHER_FOUND_H

#include "fetcher/run.h"

#define FOUND_TITLE_MAX 1024 /* bytes of a title, a name of an uploader */
#define FOUND_ID_MAX 512     /* of an id of the engine */

/* json: all that it wrote; error: its last error, for clients.  limit: items at
 * most; 0: EXTRACT_ITEMS.  The texts of *x lie in the pool; *x was cleared. */
void found_read(struct pool *p, struct str json, struct str error,
                int64_t limit, struct extracted *x);
/* Whether it is an address of http or https that can be shown and kept. */
bool found_address(struct str url);
/* Without what yt-dlp hides behind "#__youtubedl_smuggle".  yt-dlp looks for
 * that anywhere in an address, and reads what stands behind the last '#'. */
struct str found_without_smuggle(struct str url);

#endif
