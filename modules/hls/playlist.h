/*
 * Playlists as text (RFC 8216, and its second edition
 * draft-pantos-hls-rfc8216bis for low latency).
 *
 * Pure functions from what a stream has to what a player reads: no stream, no
 * request.  Each rule stands beside its code with its section.
 *
 *   playlist.c      media playlists
 *   multivariant.c  multivariant playlists
 *
 * URIs and what stands before or behind names in them come percent-encoded,
 * with no character that a quoted-string must not have.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_PLAYLIST_H
#define MODULES_HLS_PLAYLIST_H

#include "base/buf.h"
#include "media/container.h"

struct playlist_part {
    uint32_t duration; /* ms */
    bool independent;  /* it begins with a frame that decoding can start at */
    bool gap;          /* nothing of the list's only track is in it */
};

struct playlist_segment {
    uint64_t number;        /* media sequence number */
    uint32_t duration;      /* ms; of the segment under way: so far */
    uint32_t discontinuity; /* sequence number */
    uint32_t header;        /* of the initialisation segment */
    bool key;               /* begins with a frame that decoding can start at */
    bool tag;               /* EXT-X-DISCONTINUITY before it */
    bool bare;              /* its initialisation segment has not the track */
    bool gap;               /* all of it is a gap */
    bool plain;             /* it has no parts, also when it is whole */
    int64_t wall_ms;        /* since 1970 */
    const struct playlist_part *parts;
    size_t part_count;
};

/* Another rendition of the same stream, for EXT-X-RENDITION-REPORT. */
struct playlist_sibling {
    struct str uri;
    uint64_t last_segment;
    int64_t last_part; /* -1: it has no parts */
};

struct playlist {
    const struct media_container *container;
    uint32_t target;      /* ms, of which EXT-X-TARGETDURATION is made */
    uint32_t part_target; /* ms; 0: no parts, no blocking */
    bool ended;           /* EXT-X-ENDLIST */
    bool independent;     /* EXT-X-INDEPENDENT-SEGMENTS */
    bool skip; /* a delta update is asked for (_HLS_skip): given where
                  it is allowed */
    /* All that is offered, oldest first; numbers without a gap.  When it has
     * ended, the last one is whole. */
    const struct playlist_segment *segments;
    size_t count;
    bool open; /* the last segment is under way: parts, no EXTINF */
    /* Stands before the names of objects in URIs, relative to the playlist's
     * own address, with the slash: "NAME/WORD/". */
    struct str base;
    struct str rendition; /* part of object names: "" or "a0", "v" */
    struct str map_query; /* behind the names of objects: "?..." or empty */
    const struct playlist_sibling *siblings;
    size_t sibling_count;
};

/* Names of objects, below APP/NAME/WORD/ (address.h reads them): the segment
 * "[RENDITION-]NUMBER.SUFFIX", its part "[RENDITION-]NUMBER.PART.SUFFIX", the
 * initialisation segment "[RENDITION-]init-HEADER.SUFFIX". */

/* Seconds, of which EXT-X-TARGETDURATION is made: rounded to nearest. */
uint32_t playlist_seconds(uint32_t ms);
/* How many parts beyond the newest a blocking request may ask for: 400 above
 * it. */
uint32_t playlist_advance_limit(uint32_t part_target);

/* 0; -1: out has no room for all of it. */
int playlist_write(struct buf *out, const struct playlist *p);

/* A rendition group's sound, or a variant. */
struct multivariant_variant {
    struct str uri;                   /* of its media playlist */
    const struct media_track *tracks; /* all that is heard or seen with it */
    size_t track_count;               /* at most MEDIA_TRACKS_MAX */
    uint32_t fps;                     /* thousandths; 0: unknown */
    uint64_t bandwidth, average_bandwidth; /* bit/s */
    struct str audio; /* GROUP-ID of its sound; empty: it is in the variant */
    struct str subtitles; /* GROUP-ID; empty: none */
};
struct multivariant_rendition {
    const char *type;                      /* "AUDIO", "SUBTITLES" */
    struct str group, name, language, uri; /* language may be empty */
    bool is_default;
    uint32_t channels; /* of sound; 0: not said */
};
struct multivariant {
    bool independent;
    const struct multivariant_variant *variants;
    size_t variant_count;
    const struct multivariant_rendition *renditions;
    size_t rendition_count;
};
/* The same. */
int multivariant_write(struct buf *out, const struct multivariant *m);

#endif
