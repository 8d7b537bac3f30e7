/*
 * Which stream and object a path names, and what its query directs.
 *
 *   APP/NAME.m3u8        playlists
 *   APP/NAME.mp4         endless progressive MP4
 *   APP/NAME.still.mp4   the newest key frame alone
 *   APP/NAME/WORD/[RENDITION-]NUMBER.SUFFIX        a segment
 *   APP/NAME/WORD/[RENDITION-]NUMBER.PART.SUFFIX   a part of one
 *   APP/NAME/WORD/[RENDITION-]init-HEADER.SUFFIX   an initialisation segment
 *
 * NAME may have slashes; WORD has 16 hexadecimal digits in lower case.  Each
 * object has one spelling: numbers have no leading zero.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_ADDRESS_H
#define MODULES_HLS_ADDRESS_H

#include "base/buf.h"

/* The largest number of a segment: what players made of JavaScript count. */
#define HLS_SEGMENT_MAX ((UINT64_C(1) << 53) - 1)
#define HLS_RENDITION_MAX 8u /* bytes */

enum hls_kind {
    HLS_NOTHING,
    HLS_PLAYLIST,
    HLS_ENDLESS,
    HLS_STILL,
    HLS_SEGMENT,
    HLS_PART,
    HLS_INIT,
};

struct hls_address {
    enum hls_kind kind;
    struct str app;    /* "APP" */
    struct str stream; /* "APP/NAME" */
    struct str name;   /* "NAME" */
    /* Of objects alone. */
    uint64_t word;
    struct str rendition; /* empty: none */
    struct str suffix;    /* with its dot: ".m4s" */
    uint64_t segment;     /* of a segment or part */
    uint32_t part;
    uint32_t header; /* of an initialisation segment */
};

/* Path: decoded, without the slash at its front.  Borrows from it.  A path that
 * is none of the above is HLS_NOTHING: told soon, as every request of the
 * location is asked about. */
enum hls_kind hls_address_read(struct hls_address *a, struct str path);

/* "NAME/WORD/" as playlists need it: relative to APP/NAME.m3u8, so only what
 * follows the last slash of the name, percent-encoded.  -1: no room. */
int hls_address_base(struct buf *out, struct str name, uint64_t word);
/* The last piece of a name, percent-encoded. */
int hls_address_last(struct buf *out, struct str name);

/* Delivery directives (RFC 8216bis, 6.2.5). */
struct hls_directives {
    bool has_segment, has_part;
    bool skip;        /* _HLS_skip=YES or v2 */
    uint64_t segment; /* _HLS_msn */
    uint32_t part;    /* _HLS_part */
};

/* Query: as it was sent, without '?'.  NULL; else the reason of an answer
 * 400. */
const char *hls_directives_read(struct hls_directives *d, struct str query);
/* Whether they ask for too much of what is not there yet (6.2.5.2).
 * last_segment, last_part: the newest in the playlist, -1: the segment has
 * ended, so that a part behind its last one is the first of the next; limit:
 * playlist_advance_limit().  NULL, or the reason of an answer 400. */
const char *hls_directives_refused(const struct hls_directives *d,
                                   uint64_t last_segment, int64_t last_part,
                                   uint32_t limit);

#endif
