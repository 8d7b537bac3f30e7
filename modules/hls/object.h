/*
 * The bytes of a segment, a part or an initialisation segment.
 *
 * An object knows where its bytes lie: boxes in its own memory, made once, and
 * payloads in the arena.  It is sent from there, as long as sockets take it.
 * The first client that does not makes it copy its bytes, which then serve all.
 * Its bytes depend on cuts and frames alone, so every process makes the same
 * ones.
 *
 *   object.c  where its bytes lie
 *   sample.c  frames of the stream as samples of its tracks
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_HLS_OBJECT_H
#define MODULES_HLS_OBJECT_H

#include "base/list.h"
#include "hls.h"
#include "net/unsent.h"

#define OBJECT_RENDITION_MAX 8

/* Parts that are none. */
enum { OBJECT_SEGMENT = -1, OBJECT_INIT = -2 };

struct object_key {
    uint64_t word;   /* of the run of the stream */
    uint64_t number; /* of the segment; of an initialisation segment: of the
                        codec headers */
    int64_t part;    /* or OBJECT_SEGMENT, OBJECT_INIT */
    const struct media_container *container;
    /* "v": pictures; "a2": sound of that track; "": pictures and the first
     * sound; CAPTION_RENDITION: lines of text. */
    char rendition[OBJECT_RENDITION_MAX];
};

/* Bytes that lie together. */
struct object_piece {
    uint64_t frame; /* whose payload, or OBJECT_OWN: the object's memory */
    uint32_t at, len;
};
#define OBJECT_OWN UINT64_MAX

struct object {
    struct list chain, age; /* of the cache */
    struct object_key key;
    char name[LIVE_NAME_MAX]; /* of the stream, "app/name" */
    bool cached;
    uint32_t users;
    uint64_t size;
    struct buf own;              /* boxes */
    struct object_piece *pieces; /* owned */
    size_t piece_count;
    struct live_cut cut;   /* at or shortly before its frames */
    uint64_t video, audio; /* payload bytes in it */
    uint8_t *copy;         /* owned; all of its bytes.  NULL: none */
    uint64_t taken;        /* bytes of the copy that clients took */
    struct unsent unsent;  /* the copy, while somebody is sent it */
    struct list sendings;  /* sending.h */
};

enum object_found {
    OBJECT_HERE,
    OBJECT_LATER, /* it is under way */
    OBJECT_GONE,  /* never was, or is not kept any more */
    OBJECT_FAILED /* memory, or bytes that the container cannot carry */
};

/* Whether it can be made, or will be before long. */
enum object_found object_look(const struct live_cuts *c,
                              const struct object_key *key);
/* OBJECT_HERE: *out is the caller's, with no copy and no users. */
enum object_found object_make(const struct live_cuts *c,
                              const struct object_key *key,
                              struct object **out);
void object_free(struct object **o);
/* Bytes of memory it holds, without the copy. */
size_t object_memory(const struct object *o);
/* Ranges with its bytes from `from` on, good until the turn ends, at most
 * `most`.  Returns how many; -1: frames are gone. */
int object_ranges(const struct object *o, uint64_t from, struct iovec *ranges,
                  int most);
/* Whether its bytes are there: in the copy, or still in the arena. */
bool object_is_kept(const struct object *o, const struct live_cuts *c);
/* Makes the copy; -1: memory is out, or frames are gone. */
int object_copy(struct object *o);

/* Tracks of a rendition of codec headers; the strings lie in h.  Returns how
 * many. */
struct object_track {
    struct media_track track;
    uint32_t sound; /* place among live_cut.sound; of sound */
};
#define OBJECT_TRACKS (LIVE_CUT_SOUNDS + 1)
size_t object_tracks(const struct live_cut_headers *h, struct str rendition,
                     const struct media_container *container,
                     struct object_track tracks[OBJECT_TRACKS]);

/* Frames as samples, sample.c.  One is used at a time: its memory belongs to
 * the process. */
struct object_samples {
    struct media_run runs[OBJECT_TRACKS];
    const struct object_piece *pieces[OBJECT_TRACKS]; /* of each sample */
    uint64_t video, audio;                            /* their bytes */
    const struct media_event *events; /* messages among the frames */
    size_t event_count;
};
/* The frames from a cut to the frame `end`, at which the time is end_time, ms.
 * with_bytes: samples get their ranges of the arena; with_events: messages
 * among the frames are gathered, too.  -1: they are not kept, or memory is out.
 */
struct object_stretch {
    struct live_cut cut;
    uint64_t end;
    int64_t end_time;
    int64_t last_ends; /* ms; of the last picture */
    bool with_bytes;
    bool with_events;
};
int object_gather(const struct live_cuts *c, const struct object_stretch *s,
                  const struct object_track *tracks, size_t count,
                  struct object_samples *out);

#endif
