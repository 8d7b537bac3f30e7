/*
 * Answers that list streams or sessions, made a piece at a time: a walk writes
 * JSON to its buffer, which its caller empties between two steps.
 *
 * Streams and sessions that come or go during the walk may be in it or not.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_STAT_COLLECT_H
#define MODULES_STAT_COLLECT_H

#include "base/buf.h"
#include "live/live.h"
#include "json/json.h"

enum walk_kind {
    WALK_LIVESTAT, /* {"publishers": [...], "players": [...]} */
    WALK_STREAMS,  /* {"streams": [...]} */
    WALK_SESSIONS, /* {"sessions": [...]} */
};

struct walk {
    enum walk_kind kind;
    struct str key; /* of the only stream that is wanted; empty: all */
    uint32_t limit; /* rows; further ones are counted as "more" */
    uint32_t rows, more;
    unsigned part; /* of the answer */
    uint32_t at;
    struct live_tally *tally; /* owned */
    struct json_out json;
    struct buf out; /* owned; to be emptied by the caller */
};

/* key must outlive the walk.  limit 0: no limit, and no "more". */
void walk_begin(struct walk *w, enum walk_kind kind, struct str key,
                uint32_t limit);
/* Writes some more; false: that was the end.  A step takes about a
 * millisecond and writes about 100 KB at most. */
bool walk_step(struct walk *w);
/* Frees what it holds, wherever it stands. */
void walk_end(struct walk *w);

#endif
