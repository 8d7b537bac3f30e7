/*
 * The metrics of this folder.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_METRICS_H
#define LIVE_METRICS_H

#include "proc/metric.h"

enum {
    LIVE_PUBLISHERS,    /* app */
    LIVE_RTMP_PLAYERS,  /* app */
    LIVE_FLV_PLAYERS,   /* app */
    LIVE_WS_PLAYERS,    /* app */
    LIVE_DROPPED,       /* app, enum live_dropped */
    LIVE_FIRST_FRAME,   /* milliseconds */
    LIVE_PUBLISH_GAP,   /* milliseconds */
    LIVE_REFUSED_TOTAL, /* enum live_refused */
    LIVE_LOST,          /* enum live_lost */
    LIVE_STOPPED,       /* enum live_stopped */
    LIVE_ENDED,
    LIVE_ORPHANED,
    LIVE_CLOCK_MENDED,
    LIVE_HEADERS_LOST,
    LIVE_CUTS_LOST, /* enum live_cuts_lost */
    LIVE_PLAIN_SEGMENTS,
};

enum live_dropped {
    LIVE_DROPPED_SLOW,   /* a player that fell behind goes on later */
    LIVE_DROPPED_MEMORY, /* no room for a publisher's frame */
    LIVE_DROPPED_COUNT
};

enum live_refused {
    LIVE_REFUSED_NAME,     /* too long */
    LIVE_REFUSED_SESSIONS, /* max_sessions */
    LIVE_REFUSED_STREAMS,  /* max_streams */
    LIVE_REFUSED_TAKEN,    /* it has a publisher, which stays */
    LIVE_REFUSED_TAKING,   /* another one is replacing it */
    LIVE_REFUSED_FIGHT,    /* it was replaced too often */
    LIVE_REFUSED_BUSY,     /* another process does not let go of the name */
    LIVE_REFUSED_PLAYERS,  /* it has as many players as the operator allows */
    LIVE_REFUSED_SHARE,    /* of its address, of sessions or streams */
    LIVE_REFUSED_COUNT
};

/* Players that were closed. */
enum live_lost {
    LIVE_LOST_SLOW,
    LIVE_LOST_BROKEN,
    LIVE_LOST_KICKED,
    LIVE_LOST_DAMAGED, /* another process wrote to its stream */
    LIVE_LOST_GAVE,    /* others had its place (live/give.h) */
    LIVE_LOST_COUNT
};

/* Publishers that were stopped. */
enum live_stopped {
    LIVE_STOPPED_REPLACED,
    LIVE_STOPPED_CLAIM, /* it did not get the name in time */
    LIVE_STOPPED_KICKED,
    LIVE_STOPPED_HEADERS, /* they change too often */
    LIVE_STOPPED_RATE,    /* more than the operator allows */
    LIVE_STOPPED_DAMAGED, /* the stream's record was */
    LIVE_STOPPED_COUNT
};

/* Streams that could not be offered in segments any more. */
enum live_cuts_lost {
    LIVE_CUTS_MEMORY, /* too little of it for a list */
    LIVE_CUTS_STRICT, /* strict_keys */
    LIVE_CUTS_LOST_COUNT
};

extern struct metric live_metrics[];

/* Place of the application of "app/name". */
unsigned live_app_place(struct str name);
void live_count_refused(enum live_refused why);
void live_count_dropped(struct str name, enum live_dropped why,
                        uint64_t frames);

#endif
