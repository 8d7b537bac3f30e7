/*
 * The segments and parts that a stream has now, as playlists tell them.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_OFFER_H
#define MODULES_HLS_OFFER_H

#include "hls.h"
#include "playlist.h"

/* The longest list, in target durations, and the shortest that is given of a
 * stream of which older segments were lost for want of memory. */
#define OFFER_TARGETS 6
#define OFFER_TARGETS_LEAST 3

enum offer_state {
    OFFER_GOOD,
    OFFER_EARLY, /* nothing whole is there yet */
    OFFER_FAT,   /* too little of it can be kept */
    OFFER_LOOSE, /* strict_keys could not be kept */
};

/* All that is listed; its memory belongs to the process, good until the next
 * call. */
struct offer {
    const struct playlist_segment *segments;
    size_t count;
    bool open;         /* the last one is under way */
    uint64_t last;     /* number of the last one of which something is there */
    int64_t last_part; /* its last part; -1: it has none */
    struct live_cut cut; /* the newest */
};
struct offer_wish {
    bool parts;    /* parts of segments are listed, and the segment under way */
    bool anywhere; /* decoding can start anywhere: sound alone, text */
    /* The only track (of sound: its id); MEDIA_DATA: there are several, or
     * none. Where it has no media the list has gaps. */
    uint8_t type, track;
};
enum offer_state offer_make(const struct live_cuts *c,
                            const struct offer_wish *wish, struct offer *o);

/* Why a stream without a target duration cannot be offered. */
enum offer_state offer_state(const struct live_cuts *c);

/* The newest place of a stream: part `part` of segment `segment` is under way,
 * all before it is there.  Of a segment without parts it is 0 to its end. */
struct offer_edge {
    uint64_t segment;
    uint32_t part;
    uint64_t last_whole; /* segment; segment itself when none follows */
};
bool offer_edge(const struct live_cuts *c, struct offer_edge *e);

/* Payload bytes of the newest part that is whole, or segment; 0: unknown. */
uint64_t offer_newest_bytes(const struct live_cuts *c, bool part);
/* Bits of a second: the most that a segment will have, as far as can be told
 * from those that are kept and from what is promised (0: nothing), never less
 * than it was told before; and the mean of those that are kept. */
void offer_speeds(const struct live_cuts *c, uint64_t promised, uint64_t *most,
                  uint64_t *mean);

#endif
