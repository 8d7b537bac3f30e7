/*
 * NAME.mp4: the stream as one MP4 without end, fragment after fragment.
 *
 * It sends the very objects that playlists name: the initialisation segment,
 * then the parts as they come, from the newest segment on that begins with a
 * key frame.  The head is held back until there is one.  A client that falls
 * behind goes on with the newest segment; of what it has not taken there are 64
 * KB for itself and the copy that all share (made.h).
 *
 * It ends where one MP4 cannot go on: at other codec headers, and at the end of
 * the stream.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_ENDLESS_H
#define MODULES_HLS_ENDLESS_H

#include "asked.h"
#include "object.h"

enum http_result endless_answer(struct asked *a);

/* Where the first frame behind a cut begins, ms: sound may be behind the
 * pictures that it came with, by 20 s. */
uint64_t endless_first_time(const struct live_cut *cut,
                            const struct object_track *tracks, size_t count);

#endif
