/*
 * Cuts: the places where a stream is divided in parts and segments, as readers
 * of every protocol and process see them.
 *
 * The writer notes a cut in front of a frame.  A part lies between two
 * cuts; parts that follow each other are a segment.  Every process numbers them
 * alike, because the numbers are the writer's, and a cut outlives the process
 * that noted it.  Nothing here knows playlists or containers.
 *
 * The media of kept cuts is kept apart from live.window: 7 target durations of
 * it, as far as live.max_stream_memory goes.
 *
 *   cut.h        how the writer notes them
 *   cuts.c       looking
 *   cut_watch.c  being woken
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_CUTS_H
#define LIVE_CUTS_H

#include "base/list.h"
#include "live/live.h"
#include "media/pieces.h"
#include "media/track.h"

#include <sys/uio.h>

#define LIVE_CUT_SOUNDS 4u /* tracks of sound that are timed */
#define LIVE_CUT_TARGETS 7 /* target durations that are kept */
#define LIVE_CUT_RING 256u /* cuts that a stream can have at once */
/* Target durations without which nothing is offered, and with which it is
 * again: a stream at the edge does not come and go. */
#define LIVE_CUT_LEAST 3
#define LIVE_CUT_AGAIN 4
#define LIVE_CUT_TARGET_MAX 60000 /* ms; the longest target duration */

enum live_cut_flag {
    LIVE_CUT_SEGMENT = 1,       /* a segment begins here */
    LIVE_CUT_KEY = 2,           /* the frame is one that decoding can start at:
                                   a key frame, or any of sound alone */
    LIVE_CUT_DISCONTINUITY = 4, /* time, codec header or publisher is not that
                                   of the part before */
    LIVE_CUT_PLAIN = 8,         /* its segment has no parts: what lies between
                                   its cuts are pieces of any length */
    LIVE_CUT_DARK = 16,         /* no picture came since the cut before */
    LIVE_CUT_HEARD = 32,        /* it stands in front of sound; the picture
                                   before it lasts until the next one, which
                                   was there when it was noted */
};

struct live_cut {
    uint64_t number;        /* of the cut; counts up for as long as the stream
                               lives */
    uint64_t frame;         /* the first of the part */
    uint64_t segment;       /* media sequence number */
    uint32_t part;          /* in the segment, from 0 */
    uint32_t discontinuity; /* discontinuity sequence number */
    uint32_t header;        /* of the codec headers in force */
    uint32_t flags;         /* enum live_cut_flag */
    int64_t time;           /* ms of the stream: 64 bits, never goes back */
    int64_t ended;          /* where the part before it ended; less than `time`
                               when media are missing between the two */
    uint64_t ended_frame;   /* the part before it ends in front of this frame;
                               less than `frame` when what lies between the two
                               belongs to none */
    int64_t wall_ms;        /* since 1970, when the frame arrived */
    uint64_t bytes;         /* payload bytes of the stream before it */
    uint64_t sound[LIVE_CUT_SOUNDS]; /* the *next for live_cut_sound() of the
                               first frame of each track of sound at or behind
                               the cut, in the order of the codec headers; or
                               with LIVE_CUT_OTHER where it stands */
};

/* A stream as its cuts tell; good until the turn ends. */
struct live_cuts {
    struct stream *stream; /* for the functions below */
    uint64_t word;         /* random, of this run of the stream: a publisher
                              that comes when the hold is over begins another */
    uint64_t run;          /* the number of its first cut */
    uint32_t target;       /* ms; EXT-X-TARGETDURATION.  0: not known yet,
                              nothing can be offered */
    bool short_of_memory;  /* target is 0 because less than LIVE_CUT_LEAST of
                              them can be kept (live.max_stream_memory), and
                              LIVE_CUT_AGAIN were not since */
    bool failed;           /* target is 0 because strict_keys could not be
                              kept */
    uint32_t part_target;  /* ms; 0: parts are not made */
    uint64_t first, end;   /* cuts kept, [first, end): the last one begins the
                              part that is under way */
    uint64_t older_word;   /* of the run before, whose cuts may still be among
                              them; 0: there was none */
    bool live;             /* a publisher is there */
    bool over;             /* the hold is over: no cut will follow, and the part
                              under way ends at its last frame */
    bool strict;           /* every segment so far began with a key frame */
    int64_t hold_left;     /* ms; while it is neither live nor over */
    uint64_t end_frame;    /* of the part under way: frames before it are
                              there */
    int64_t end_time;      /* its end, if no frame follows */
};

/* False: there is no such stream, or nothing is cut. */
bool live_cuts_find(struct str name, struct live_cuts *c);
/* False: it is not kept (any more). */
bool live_cut_at(const struct live_cuts *c, uint64_t number,
                 struct live_cut *cut);
/* The cut that begins that part; false: it is not kept, or not noted yet. */
bool live_cut_of(const struct live_cuts *c, uint64_t segment, uint32_t part,
                 struct live_cut *cut);

/* The codec headers of a number: a message for each track, the first picture
 * and sounds in order of their ids. */
struct live_cut_headers {
    uint32_t number;
    uint32_t count;
    struct live_cut_header {
        uint8_t type;           /* enum media_type */
        uint8_t track;          /* Enhanced RTMP track, else 0 */
        struct str payload;     /* a codec header, or the front of a frame of a
                                   codec that has none; copied below */
        uint16_t width, height; /* of pictures whose codec header has no size
                               (VP9); else 0 */
    } items[LIVE_CUT_SOUNDS + 1];
    uint8_t bytes[4096];
};
/* Copies them; false: they are not kept any more. */
bool live_cut_headers(const struct live_cuts *c, uint32_t number,
                      struct live_cut_headers *h);
/* media_track_of(), with a size for all pictures. */
int live_cut_track(const struct live_cut_header *header, struct media_track *t);

/* One message between two cuts. */
struct live_cut_frame {
    uint64_t number;
    uint8_t type;  /* enum media_type */
    uint8_t flags; /* enum media_flag */
    int64_t time;  /* ms of the stream, 64 bits */
    uint32_t len;  /* payload bytes */
    uint32_t front_len;
    uint8_t front[MEDIA_FRONT_MAX]; /* its first bytes */
};
/* near: a cut at or shortly before the frame, for its time.  False: the frame
 * is not kept (any more), or not written yet. */
bool live_cut_frame(const struct live_cuts *c, const struct live_cut *near,
                    uint64_t number, struct live_cut_frame *f);
/* len bytes of a payload from byte skip on, or those that it has, as ranges of
 * the arena that are good until the turn ends.  Returns how many ranges, -1:
 * more than most, or the frame is not kept. */
int live_cut_ranges(const struct live_cuts *c, uint64_t number, uint32_t skip,
                    uint32_t len, struct iovec *ranges, int most);
/* Copies len bytes of a payload from byte at on; false: it has less, or the
 * frame is not kept. */
bool live_cut_bytes(const struct live_cuts *c, uint64_t number, uint32_t at,
                    uint8_t *to, uint32_t len);
/* The tracks of a frame that has several (MEDIA_MANY); false: they are not
 * whole, or the frame is not kept. */
bool live_cut_pieces(const struct live_cuts *c, const struct live_cut_frame *f,
                     struct media_pieces *p);

/* The time of sound on a track, counted in samples so that frames neither
 * overlap nor leave gaps, and never back: it follows the clock of the stream
 * when that is ahead by more than two frames.  A frame that is behind by more
 * is left out, until the clock has come to where sound ends.  One that is
 * behind by more than LIVE_CUT_BACK_MS is of a clock that tells nothing.
 * Writer and readers step through the same frames and so come to the same
 * times.
 *
 * next: where the frame should begin, or, with LIVE_CUT_ANEW, the earliest time
 * of a frame that begins where its clock is; set to the end of the frame.  now:
 * the frame's time, ms; rate: its media_track.timescale; duration:
 * media_sound_duration().  Sets its decode time; false: it is left out. */
#define LIVE_CUT_ANEW (UINT64_C(1) << 63)
/* A codec header came that is not among those of the cut: frames of that sound
 * are left out up to the next segment that has it. */
#define LIVE_CUT_OTHER (UINT64_C(1) << 62)
#define LIVE_CUT_BACK_MS 2000
static inline bool
live_cut_sound(uint64_t *next, int64_t now, uint32_t rate, uint32_t duration,
               uint64_t *time)
{
    uint64_t clock = now < 0 ? 0 : (uint64_t)now * rate / 1000;
    uint64_t due = *next & ~LIVE_CUT_ANEW, slack = 2 * (uint64_t)duration;
    uint64_t most = (uint64_t)LIVE_CUT_BACK_MS * rate / 1000;

    if (due == *next && clock - due + slack <= 2 * slack) {
        /* It is where it should be. */
    } else if (clock > due + (due == *next ? slack : 0)) {
        due = clock;
    } else if (due > clock + slack && due - clock <= most) {
        return false;
    }
    *time = due;
    *next = (due + duration) & ~LIVE_CUT_ANEW;
    return true;
}

/* Called in this process for each new cut of a stream of that name, and when
 * its publisher goes, comes, or its hold is over; frames wake nobody.  The
 * callback may end any watch. */
struct live_cut_watch {
    struct list link;
    struct str name; /* borrowed as long as it watches */
    void (*on_cut)(struct live_cut_watch *w);
    uint64_t seen; /* of cuts.c */
};
void live_cut_watch(struct live_cut_watch *w);
/* May be called twice. */
void live_cut_unwatch(struct live_cut_watch *w);

#endif
