/*
 * Noting cuts: the writer's side of live/cuts.h, and where they lie.
 *
 * A stream that is cut has one segment of the arena for them, the cut page,
 * made by its first writer.  It outlives each writer: all that the next one
 * needs to go on is in it.  A cut is published by one release store of `next`,
 * behind the frame that it stands in front of: a process killed before leaves a
 * part that is merely longer.
 *
 * Cuts and codec headers lie in rings.  A reader copies an entry and then looks
 * whether it may have been written anew meanwhile.
 *
 * Times are those of the leading track: pictures, or sound where there are
 * none.  While pictures pause, sound leads.
 *
 *   cut.c         what each frame changes; the time of sound
 *   cut_ends.c    when a segment ends, and what ends in front of a frame
 *   cut_parts.c   when a part ends; segments without parts
 *   cut_page.c    the page: made, gone on with, written to
 *   cut_tracks.c  tracks and their codec headers
 *   cut_pieces.c  several tracks in one message
 *   cut_ladder.c  members of a ladder: as their leader
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_CUT_H
#define LIVE_CUT_H

#include "live/arena.h"
#include "live/cuts.h"

#define CUT_TRACKS (LIVE_CUT_SOUNDS + 1)
#define CUT_BEGIN_MS 10000 /* time of a stream's first frame */
/* No time of a stream, nor of the wall, is later, ms. */
#define CUT_TIME_MAX (INT64_C(1) << 53)
#define CUT_PAUSE_MS 500 /* sound leads when no picture came for so long */
#define CUT_SETS 7       /* sets of codec headers kept */

/* Whether it can be added to others, and taken from them: a page may be
 * spoilt. */
static inline bool
cut_is_time(int64_t time)
{
    return time >= 0 && time <= CUT_TIME_MAX;
}

/* A time in units of from a second, in those of to, rounded up. */
static inline uint64_t
cut_rescale(uint64_t time, uint64_t from, uint64_t to)
{
    return (time * to + from - 1) / from;
}

/* A set of codec headers; its number is 0 while it is written. */
struct cut_set {
    _Atomic uint32_t number;
    uint32_t count;
    struct cut_set_item {
        uint8_t type, track;
        uint16_t len;           /* they lie behind each other in bytes */
        uint16_t width, height; /* as in struct live_cut_header */
    } items[CUT_TRACKS];
    uint8_t bytes[sizeof(((struct live_cut_headers *)0)->bytes)];
};

/* A run of the stream: what one list of segments is made of. */
struct cut_run {
    uint64_t word;
    _Atomic uint64_t first;       /* number of its first cut */
    _Atomic uint32_t target;      /* ms; 0: not ready, or given up */
    _Atomic uint32_t part_target; /* ms */
    _Atomic uint32_t aim;         /* ms; how long parts are made */
    _Atomic uint32_t loose;       /* a segment began without a key frame */
    _Atomic uint32_t starved;     /* memory keeps less than a list needs */
    _Atomic uint32_t failed;      /* strict_keys could not be kept */
    _Atomic uint32_t apart;       /* it was told that its key frames are not
                                     where those of its leader are */
};

struct cut_page {
    _Atomic uint32_t run_count; /* runs[run_count % 2] is the one under way, the
                                   other the one before */
    _Atomic uint32_t offset;    /* added to timestamps: the lower 32 bits of
                                   times */
    struct cut_run runs[2];
    _Atomic uint64_t next;      /* number of the next cut */
    _Atomic uint64_t closed;    /* where the part under way ended, if that is
                                   behind its first frame */
    _Atomic int64_t end_time;   /* its end, if no frame follows */
    _Atomic int64_t heard;      /* where all sound ends, ms */
    _Atomic uint32_t timed;     /* offset is set */
    _Atomic int64_t segment_ms; /* when the first frame of the newest segment
                                   arrived, clock_ms() */
    struct live_cut cuts[LIVE_CUT_RING];
    struct cut_set sets[CUT_SETS];
};
_Static_assert(sizeof(struct live_cut) <= 128, "a cut");
_Static_assert(sizeof(struct cut_page) <= SEGMENT_SIZE, "cut page");

/* NULL: the stream is not cut. */
static inline struct cut_page *
cut_page_of(struct stream *s)
{
    uint32_t segment = atomic_load_explicit(&s->cuts, memory_order_acquire);

    return segment == SEGMENT_NONE
               ? NULL
               : (struct cut_page *)(void *)segment_bytes(segment);
}

/* The run under way. */
static inline struct cut_run *
cut_run_of(struct cut_page *page)
{
    return &page->runs[atomic_load(&page->run_count) % 2];
}

/* A track as the writer sees it. */
#define CUT_UNMET UINT8_MAX /* no codec: any frame may tell something */
struct cut_track {
    bool known; /* what its frames are is known: there is a header */
    bool there; /* it has frames, or is about to */
    bool in;    /* it is in the set in force */
    bool older; /* known from an earlier session: look at its first frame */
    bool other; /* its header came behind the set in force */
    uint8_t type, id;
    uint8_t codec;            /* enum media_codec */
    uint8_t met;              /* the same, of frames that tell nothing of it */
    uint32_t place;           /* among the sounds of the set */
    int64_t last;             /* of sound, time of the last frame */
    int64_t seen;             /* time of the latest frame of any track then */
    uint64_t next;            /* of sound, for live_cut_sound() */
    uint64_t next_then;       /* what next was when the last frame led, if */
    uint32_t then;            /* ... this is the count of those that did */
    int64_t heard;            /* where its sound so far ends, ms */
    uint32_t duration;        /* of every frame of sound; 0: not all the same */
    uint32_t timescale;       /* units a second */
    uint32_t told;            /* the same, of the set in force */
    struct media_track track; /* borrows from header */
    uint16_t len, room;       /* of header */
    uint16_t width, height;   /* as in struct live_cut_header */
    uint8_t *header;          /* or the front of its first frame */
};

/* Where a cut may stand: in front of that frame. */
struct cut_spot {
    uint64_t frame;
    int64_t time;       /* of the stream */
    int64_t arrived_ms; /* of the frame */
    uint64_t bytes;     /* of the stream before it */
    bool key;           /* decoding can start there */
    bool heard;         /* in front of sound, as LIVE_CUT_HEARD says */
    uint64_t sound[LIVE_CUT_SOUNDS];
};

/* Parts as they are made: the ways from one frame that leads to the next,
 * microseconds, and where a part could have ended. */
#define CUT_HEARD 2
struct cut_parts {
    bool plain;              /* the segment under way has none */
    uint32_t widest, second; /* ways in the segment under way */
    uint32_t before;         /* the widest in the one before */
    uint32_t wide;           /* ways that no part can keep to, in it */
    uint32_t pictures;       /* that led since the last cut */
    uint32_t pieces;         /* parts that had to be too short, in it */
    int64_t paused;          /* microseconds of it without pictures */
    uint32_t wide_from; /* microseconds: parts can hardly keep to such a way */
    uint32_t usual;     /* microseconds: a picture that is no key frame, led by
                           no more than that, and before `quiet`, ends nothing
                           and changes the interval alone */
    int64_t quiet;      /* stream time before which no part and no segment
                           ends but at a key frame */
    struct cut_led {    /* the last frame that led; see cut_parts_spot() */
        uint64_t frame;
        int64_t time, arrived_ms;
        uint64_t bytes;
        bool key;
        uint32_t count; /* of frames that led */
    } led;
    struct cut_spot heard[CUT_HEARD]; /* sound behind it, where parts would end
                                         if nothing led for long */
    uint32_t heard_count;
};

/* A member of a ladder. */
struct cut_ladder {
    bool member;
    bool apart;             /* the leader's last cut was at no key frame */
    uint32_t place, shared; /* its own, and bytes of its name that all have */
    struct stream *leader;  /* of that generation; NULL: there is none */
    uint64_t generation;
    int64_t looked_ms; /* for it */
    int64_t key_ms;    /* when the last key frame arrived; 0: none did */
    int64_t key_time;  /* its media time */
    int64_t gap;       /* from the one before it */
    bool shifted;      /* no key frame was where the leader was cut, by media
                          time */
    bool equal;        /* the last cut that both have is at one media time */
    uint64_t measured; /* the leader's segment that it was compared to */
};

#define CUT_SOUND_HEADER                                  \
    512 /* bytes of a codec header of sound that are kept \
         */

/* The writing process's own. */
struct cutter {
    struct stream *stream; /* NULL: it is not to be cut */
    struct cut_page *page; /* NULL: there is none (yet) */
    struct live_cut last;  /* the newest cut; number 0: there is none */
    bool begun;            /* there is one of this session */
    bool lost;             /* frames were */
    bool differs;          /* the tracks are not those of the set in force */
    bool broken;           /* media are missing in front of the cut */
    bool again;            /* nothing was offered yet: the run begins anew */
    bool sound_led;        /* the last time */
    int64_t segment_time;  /* where the segment under way began */
    int64_t usual;         /* how long the segment before it was, ms */
    int64_t key_time;      /* of the last key frame in it; 0: none */
    int64_t group;         /* the longest group of pictures so far, ms */
    uint32_t frames;       /* that led in it */
    uint32_t interval;     /* from one to the next, microseconds; 0: unknown */
    int64_t
        waits_since; /* for pictures, before the first cut; 0: no sound yet */
    int64_t clock;   /* time of the latest frame */
    int64_t skew;    /* from times to clock_ms(), of frames that are not late */
    int64_t late;    /* how much later the latest one arrived, ms */
    int64_t looked;  /* when tracks were looked at for their ends */
    int64_t led;     /* time of the last frame that led */
    int64_t sound;   /* time of the latest sound ... */
    int64_t sound_before;    /* ... when the last picture came; where it should
                                have been, if it was late */
    int64_t lag;             /* how far sound usually is behind pictures then */
    int64_t calm;            /* sound before that time ends nothing */
    uint64_t keep, keep_cut; /* frames from here on are kept for readers */
    uint64_t torn;           /* no later cut is a discontinuity */
    struct cut_parts parts;
    struct cut_ladder ladder;
    struct cut_track tracks[CUT_TRACKS]; /* the first is that of pictures */
    uint8_t picture_header[sizeof(((struct live_cut_headers *)0)->bytes)];
    uint8_t sound_headers[LIVE_CUT_SOUNDS][CUT_SOUND_HEADER];
};

/* Writer: a session begins; the stream's page is made if it wants one. */
void cut_start(struct cutter *c, struct stream *s);

/* A frame as the writer has just published it. */
struct cut_frame {
    const struct frame *frame;
    uint64_t number;
    struct media_info info;
    bool leading; /* the track leads its kind */
    bool start;   /* players can start at it */
    struct str payload;
};
void cut_note(struct cutter *c, const struct cut_frame *f);
/* The publisher's clock was set anew: what follows begins with a
 * discontinuity. */
void cut_note_clock(struct cutter *c);
/* A frame found no memory: frames are missing up to the next start. */
void cut_note_lost(struct cutter *c);

/* Frames before it may go as far as readers of cuts are concerned. */
uint64_t cut_kept(const struct cutter *c);

/* The same for one of one track that is no metadata and no end. */
void cut_note_track(struct cutter *c, const struct cut_frame *f);

/* ---- cut_pieces.c ---- */

/* A frame of several tracks: notes each of them, as if it had come alone. */
void cut_note_pieces(struct cutter *c, const struct cut_frame *f);

/* ---- cut_page.c ---- */

/* False: there is no memory for it. */
bool cut_page_make(struct cutter *c);
/* Since 2020: the number of a stream's first segment, if none had it. */
uint64_t cut_seconds(void);
/* Payload bytes of the stream before the frame that has just come. */
static inline uint64_t
cut_bytes_before(const struct cutter *c, const struct cut_frame *f)
{
    return atomic_load_explicit(&c->stream->bytes, memory_order_relaxed) -
           f->frame->payload_len;
}
/* The place in front of a frame that is not taken in yet. */
void cut_spot_take(struct cut_spot *spot, const struct cutter *c,
                   const struct cut_frame *f, int64_t time);
/* The next time of a track's sound, as struct live_cut has it: in units of the
 * header that the cut has. */
static inline uint64_t
cut_next_of(const struct cut_track *t)
{
    return t->other
               ? LIVE_CUT_OTHER | cut_rescale((uint64_t)t->heard, 1000, t->told)
               : t->next;
}
/* Notes a cut there; f: the frame that has just come.  flags: but for
 * LIVE_CUT_KEY and LIVE_CUT_PLAIN. */
void cut_at(struct cutter *c, const struct cut_frame *f,
            const struct cut_spot *spot, uint32_t flags);

/* Begins a run anew where another process spoilt the one under way. */
void cut_run_mend(struct cutter *c);

/* Whether memory keeps what a list needs: noted when it does not, and, at the
 * end of a segment, when there is enough again. */
void cut_hunger(struct cutter *c, bool segment);

/* Media are missing in front of a frame: the part under way ends there. */
static inline void
cut_lose(struct cutter *c, uint64_t number)
{
    if (!c->lost) {
        atomic_store(&c->page->closed, number);
        c->lost = true;
        c->parts.usual = 0;
    }
}

/* ---- cut_ends.c ---- */

/* How long a segment may be, ms. */
int64_t cut_limit(const struct cutter *c);
/* A frame is about to lead: ends what it ends.  key: decoding can start at it.
 * It need not be called before parts.quiet, but at a key frame.  False: the
 * frame does not lead, for nothing has begun. */
bool cut_ends(struct cutter *c, const struct cut_frame *f, int64_t time,
              bool key);
/* The same for sound while pictures pause, so many microseconds behind the
 * sound before it; time: of pictures. */
void cut_ends_in_pause(struct cutter *c, const struct cut_frame *f,
                       int64_t time, int64_t interval);

/* ---- cut_parts.c ---- */

/* The longest way to the frame that comes next that was seen lately,
 * microseconds. */
uint32_t cut_widest(const struct cutter *c);
/* The run's lengths of parts are fixed: the first segment was so long, ms. */
void cut_parts_ready(struct cutter *c, int64_t length);
/* A cut is noted there: whether no picture led since the one before. */
bool cut_parts_dark(struct cutter *c, const struct cut_spot *spot);
/* A segment begins at that time: whether it has parts. */
void cut_parts_segment(struct cutter *c, int64_t time);
/* A frame leads: parts that should have ended before it end.  key: decoding can
 * start at it, and no segment ends there.  False: media are missing in front of
 * it, as far as parts can tell. */
bool cut_parts_lead(struct cutter *c, const struct cut_frame *f, int64_t time,
                    bool key);
/* Whether the part under way would be too long if it ended then. */
bool cut_parts_over(const struct cutter *c, int64_t time);
/* Whether a part ends in front of a frame that comes so long after the one
 * before, microseconds. */
bool cut_parts_end(const struct cutter *c, int64_t time, int64_t interval);
/* One frame that comes late, or is left out, changes little of the interval. */
static inline uint32_t
cut_smoothed(int64_t interval, int64_t way)
{
    int64_t most = interval / 8 + 1000, by = way - interval;

    if (by < -1000 || by > 1000) {
        by = by > most ? most : by < -most ? -most : by;
    }
    return (uint32_t)(interval + by / 16);
}
/* Takes in the way to a frame that leads at that time. */
void cut_parts_way(struct cutter *c, int64_t time, bool sound);
/* The same for a picture that is no key frame, if it ends nothing and says
 * nothing new. */
static inline bool
cut_parts_usual(struct cutter *c, int64_t time)
{
    int64_t way = (time - c->led) * 1000;

    if (way <= 0 || way > c->parts.usual || time >= c->parts.quiet) {
        return false;
    }
    c->interval = cut_smoothed(c->interval, way);
    return true;
}
/* The frame has led; key: decoding can start there. */
static inline void
cut_parts_led(struct cutter *c, const struct cut_frame *f, int64_t time,
              bool key)
{
    struct cut_parts *p = &c->parts;

    p->heard_count = 0;
    p->pictures += f->frame->type == MEDIA_VIDEO;
    p->led = (struct cut_led){
        .frame = f->number,
        .time = time,
        .arrived_ms = f->frame->arrived_ms,
        .bytes = cut_bytes_before(c, f),
        .key = key,
        .count = p->led.count + 1,
    };
}
/* The place in front of the last frame that led. */
void cut_parts_spot(const struct cutter *c, struct cut_spot *spot);
/* Sound is about to go on behind the last frame that led. */
static inline void
cut_parts_step(const struct cutter *c, struct cut_track *t)
{
    if (t->then != c->parts.led.count) {
        t->then = c->parts.led.count;
        t->next_then = cut_next_of(t);
    }
}
/* Works out anew until when nothing ends. */
void cut_parts_quiet(struct cutter *c);
/* Sound while pictures are late; time: of pictures, not before parts.quiet. */
void cut_parts_hear(struct cutter *c, const struct cut_frame *f, int64_t time);

/* ---- cut_ladder.c ---- */

/* A session begins: whether the stream is a member of a ladder. */
void cut_ladder_start(struct cutter *c);
/* A member: whether the segment under way ends in front of a key frame.
 * long_enough: alone it would. */
bool cut_ladder_ends(struct cutter *c, const struct cut_frame *f,
                     bool long_enough);
/* The number of the segment that a frame begins, the first of a run; own: what
 * it would be without a ladder. */
uint64_t cut_ladder_number(struct cutter *c, const struct cut_frame *f,
                           uint64_t own);
/* The target of a run; own: without a ladder.  It may be shorter than the first
 * segment, which is not offered then. */
uint32_t cut_ladder_target(struct cutter *c, const struct cut_frame *f,
                           uint32_t own);
/* A stream's first frame: its time, which a member has from others.  Sets what
 * is added to timestamps. */
int64_t cut_ladder_begin(struct cutter *c, const struct frame *f);
/* The time of a frame: 64 bits. */
static inline int64_t
cut_time_of(struct cutter *c, const struct frame *f)
{
    struct cut_page *page = c->page;
    uint32_t low;

    if (atomic_load_explicit(&page->timed, memory_order_relaxed) == 0) {
        return cut_ladder_begin(c, f);
    }
    low = f->timestamp +
          atomic_load_explicit(&page->offset, memory_order_relaxed);
    return c->clock + (int32_t)(low - (uint32_t)c->clock);
}
/* A member: sets the wall time of a cut.  True: it is the ladder's, false: that
 * of the clock when the frame arrived. */
bool cut_ladder_wall(struct cutter *c, const struct cut_frame *f,
                     const struct live_cut *cut, int64_t *wall);

/* ---- cuts.c ---- */

/* Copies an entry, which may be written anew meanwhile; false: it was, or is
 * not there. */
bool cut_copy(struct cut_page *page, uint64_t number, struct live_cut *cut);

/* ---- cut_tracks.c ---- */

void cut_tracks_start(struct cutter *c);
/* Expects the sounds that the set in force has: a publisher that is back sends
 * them again, perhaps behind its first picture. */
void cut_tracks_expect(struct cutter *c);
/* The track of a frame; NULL: it is none that is offered. */
struct cut_track *cut_track_of(struct cutter *c, const struct cut_frame *f);
/* Takes in what the frame tells of its track: a codec header, or of a codec
 * without one any frame. */
void cut_track_learn(struct cutter *c, struct cut_track *t,
                     const struct cut_frame *f);
/* Takes the size of pictures from a key frame, where no codec header has it. */
void cut_track_size(struct cutter *c, struct cut_track *t,
                    const struct cut_frame *f);
/* Puts the tracks that are there into a set: that of the newest number if it
 * says the same, else one with the next number.  Returns its number. */
uint32_t cut_tracks_set(struct cutter *c);
/* The same for tracks that came since; the number stays. */
void cut_tracks_grow(struct cutter *c);
/* The set in force, of which nothing differs, is as the tracks are: another
 * process may have spoilt it. */
void cut_tracks_mend(struct cutter *c);

#endif
