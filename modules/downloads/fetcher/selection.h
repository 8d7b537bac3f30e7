/*
 * Options of yt-dlp for the quality and format that a client wants.
 *
 * quality: best, worst, audio, best_ios, or a height (for m4a, mp3, opus, wav
 * and flac: best, or kbit/s).  format: any, mp4, m4a, mp3, opus, wav, flac,
 * thumbnail, or "custom:" and a format selector of yt-dlp.  Both in any case
 * that the original takes; "" is best, any.
 *
 * Each selector takes only what can be had by http and https, because nothing
 * else goes through the checking proxy.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_SELECTION_H
#define MODULES_DOWNLOADS_FETCHER_SELECTION_H

#include "base/errmsg.h"
#include "base/str.h"

#include <stdbool.h>

struct fetch_line;

/* Whether there is such a selection.  -1 with err: which of the two, and what
 * is allowed.  For workers, too. */
int selection_check(struct str quality, struct str format, struct errmsg *err);
/* Whether a format needs an engine that converts or chooses: all but any and
 * mp4. */
bool selection_converts(struct str format);
/* Whether a quality needs no choice among several. */
bool selection_is_best(struct str quality);
/* Whether a picture alone is wanted. */
bool selection_is_thumbnail(struct str format);
/* Whether it is one format selector of yt-dlp, to which a filter can be added
 * that holds for all of it. */
bool selection_is_selector(struct str s);
/* Adds the option --format: the selector with the filter by protocol. */
void selection_add_selector(struct fetch_line *to, struct str selector);
/* Adds the options; the selection was checked. */
void selection_add(struct fetch_line *to, struct str quality,
                   struct str format);

#endif
