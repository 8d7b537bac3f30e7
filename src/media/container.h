/*
 * Containers: how samples become the bytes of a segment.
 *
 * A container is one file and one row of media_containers.  It writes into
 * buffers and does no I/O.  One kind writes headers only: the samples' own
 * bytes follow them as they are, in the order of the runs (fMP4).  The other
 * one writes everything (MPEG-TS).
 *
 *   container.c  the table
 *   mp4.c        fragmented MP4 (ISO/IEC 14496-12, CMAF)
 *   ts.c         MPEG-2 transport stream (ISO/IEC 13818-1)
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MEDIA_CONTAINER_H
#define MEDIA_CONTAINER_H

#include "base/buf.h"
#include "media/track.h"

#define MEDIA_TRACKS_MAX 8u

/* Samples of one track, in decode order. */
struct media_run {
    const struct media_track *track;
    uint64_t decode_time; /* of the first, units of the track */
    const struct media_sample *samples;
    size_t count; /* may be 0 */
};

/* A message beside the samples: a marker, a cue. */
struct media_event {
    int64_t time; /* ms of the stream */
    uint32_t id;  /* the same message has the same one, wherever it stands */
    struct str scheme; /* URI that says what data is; without NUL */
    struct str value;  /* of the scheme's; without NUL */
    struct str data;
};

/* A part of a segment, or all of it. */
struct media_fragment {
    uint32_t sequence; /* grows with each fragment of a stream, from 1 */
    bool first;        /* it begins a segment: a container that repeats its
                          tables (TS) does so here */
    const struct media_run *runs; /* one for each track, in their order */
    size_t count;
    uint32_t steps; /* to the sequence number of the fragment behind it, where
                       a container counts packets by it (TS); 0 stands for 1 */
    /* In front of the samples, where the container has a place for them; others
     * leave them out. */
    const struct media_event *events;
    size_t event_count;
};

struct media_container {
    const char *name;        /* in settings: "fmp4" */
    const char *suffix;      /* of segments: ".m4s" */
    const char *type;        /* media type of a segment */
    const char *audio_type;  /* the same without pictures */
    const char *init_suffix; /* of the initialisation segment; NULL: none */
    bool payloads_follow;    /* fragment() writes what stands before the
                                samples; else all */
    /* Whether it can carry the track. */
    bool (*carries)(const struct media_track *t);
    /* The initialisation segment (EXT-X-MAP).  -1: no room, nothing added.
     * NULL: it has none. */
    int (*init)(struct buf *out, const struct media_track *tracks,
                size_t count);
    /* -1: no room, or bytes that cannot be carried; nothing added. */
    int (*fragment)(struct buf *out, const struct media_fragment *f);
};

/* How far a player's times are behind those of the stream. */
struct media_shift {
    uint64_t ms;
    uint64_t units[MEDIA_TRACKS_MAX]; /* the same in units of each track */
    size_t count;
};
/* Moves the times in what fragment() of media_mp4 wrote back by that much; none
 * becomes negative. */
void media_mp4_shift(uint8_t *head, size_t n, const struct media_shift *s);

extern const struct media_container media_mp4, media_ts;
/* NULL ends. */
extern const struct media_container *const media_containers[];
const struct media_container *media_container_find(struct str name);

#endif
