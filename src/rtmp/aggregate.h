/*
 * Media out of messages: AMF3 data without its wrapper, aggregates taken
 * apart, over as many turns as it takes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef RTMP_AGGREGATE_H
#define RTMP_AGGREGATE_H

#include "media/media.h"
#include "rtmp/channel.h"

/* Takes one message of media; false: no more. */
typedef bool parts_fn(void *arg, enum media_type type,
                      const struct chunk_message *m);

/* Calls f for audio, video, data or the parts of an aggregate of them; other
 * messages have none, and data that a server says to its players (onStatus,
 * onPlayStatus, |RtmpSampleAccess) are passed over.  Each part of an aggregate
 * is charged to the channel. When the turn's share is used up, the rest is
 * copied and later turns call f for it; until then nothing more is read. 0; -1
 * with err: an aggregate of too many parts, or no memory for it. */
int parts_read(struct channel *ch, const struct chunk_message *m, parts_fn *f,
               void *arg, struct errmsg *err);
/* Drops the rest of an aggregate, if there is one. */
void parts_forget(struct channel *ch);

#endif
