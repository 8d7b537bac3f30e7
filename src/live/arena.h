/*
 * The arena: one memfd mapped by every process, made by the master before
 * any fork.  Only src/live includes this header.
 *
 * It holds, behind a head: the keys of all streams (which name stands in which
 * record) and the table to find them by, the table to find viewers by, the
 * stream records, the claims of session records, one wake page for each slot, a
 * state word for each segment, the session records, and the segments
 * themselves.  Everything is an index or an offset, never a pointer.
 *
 * Giving segments back: live/segment.h.
 *
 * Every process can write all of this, and an attacker may control one of them.
 * So the master, which has no sandbox, trusts no word of it.  It reads each
 * value that becomes an address, the end of a loop or a time once, by one of
 * the functions below, and compares it with its own data.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef LIVE_ARENA_H
#define LIVE_ARENA_H

#include "live/live.h"
#include "live/meter.h"
#include "live/names.h"
#include "live/segment.h"
#include "media/describe.h"
#include "net/share.h"
#include "proc/slot.h"

#include <stdatomic.h>

#define SEGMENT_SIZE 65536u
#define SEGMENT_NONE UINT32_MAX
#define FRAME_NONE UINT64_MAX

/* A stream's rings of segments: larger than its byte cap allows, so that no
 * place is written again while a process may still read it. */
#define MEDIA_RING 4096u
#define INDEX_RING 128u
#define INDEX_FRAMES 1024u
/* The most a stream may be allowed to hold, bytes. */
#define STREAM_MEMORY_MAX (MEDIA_RING / 2 * SEGMENT_SIZE)

enum stream_state {
    STREAM_FREE,
    STREAM_CLAIMED, /* being made by the slot in the key */
    STREAM_OPEN,    /* has a publisher, or is on hold */
    STREAM_ENDED,   /* over; FREE once every process has seen it */
};

/* One RTMP message as it lies in the media ring. */
struct frame {
    uint64_t position;  /* of its first wire byte in the stream */
    int64_t arrived_ms; /* clock_ms() */
    uint32_t wire_len;  /* chunk headers included */
    uint32_t payload_len;
    uint32_t timestamp;   /* ms, 32 bits as on the wire; metadata: 0 */
    uint8_t type;         /* enum media_type */
    uint8_t flags;        /* enum media_flag */
    uint8_t header_len;   /* of the fmt 0 header: 12 or 16 */
    uint8_t continue_len; /* of each fmt 3 header: 1 or 5 */
};

/* An index segment describes INDEX_FRAMES frames.  The FLV bytes around each
 * payload lie side by side, so that one frame's trailer and the next one's
 * header are one range. */
struct index_segment {
    struct frame frames[INDEX_FRAMES];
    uint8_t flv[INDEX_FRAMES][FLV_TAG_HEADER + FLV_TAG_TRAILER];
};
_Static_assert(sizeof(struct index_segment) <= SEGMENT_SIZE, "index segment");

/* The messages that a new player needs first: metadata and codec headers, the
 * newest of each kind.  They are in one segment, which is replaced as a
 * whole. */
#define PROLOGUE_ITEMS 32u
struct prologue_item {
    uint8_t type;  /* enum media_type */
    uint8_t flags; /* one of MEDIA_KEPT */
    uint8_t track;
    uint32_t offset, len; /* payload in bytes[] */
};
#define PROLOGUE_BYTES (SEGMENT_SIZE - 512u)
struct prologue {
    uint32_t count;
    uint32_t used; /* of bytes */
    struct prologue_item items[PROLOGUE_ITEMS];
    uint8_t bytes[PROLOGUE_BYTES];
};
_Static_assert(sizeof(struct prologue) <= SEGMENT_SIZE, "prologue");

struct stream {
    _Atomic uint64_t generation; /* grows with each use of the record; first,
                                    because it outlives what follows */
    /* Set while the record is CLAIMED, then constant. */
    char name[LIVE_NAME_MAX];
    _Atomic uint32_t name_len; /* see stream_name() */
    uint32_t chunk_size;
    struct live_cut_rules cut_rules;
    _Atomic int64_t created_ms;

    /* The process that writes; 0: nobody, on hold until hold_until.  The
     * process that asks for the name stands in takeover until the writer lets
     * go. */
    _Atomic slot_owner writer;
    _Atomic slot_owner takeover;
    _Atomic int64_t hold_until; /* clock_ms() */
    _Atomic int64_t owed_until; /* its end waits for no player after that */
    _Atomic int64_t told_until; /* master: the hold_until that is over and was
                                   reported to readers */
    _Atomic int64_t hold_ms;    /* as its publisher's application has it */
    _Atomic uint64_t ended_epoch;
    _Atomic int64_t replaced_ms[2]; /* the last two replacements */
    _Atomic uint32_t sessions;      /* publishers it has had */
    _Atomic uint64_t holder[2];     /* the client that has made it */

    /* Written by the writer only. */
    _Atomic uint64_t tail;     /* number of the next frame */
    _Atomic uint64_t head;     /* oldest frame kept */
    _Atomic uint64_t start;    /* newest frame a player can start at */
    _Atomic uint64_t first;    /* the first frame that it could start at with
                                  the codec headers in force; below head when it
                                  is no longer kept */
    _Atomic uint32_t prologue; /* segment, or SEGMENT_NONE */
    _Atomic uint32_t cuts;     /* the same, of the cut page (live/cut.h) */
    _Atomic uint64_t media_first, media_end; /* segments held: [first, end) */
    _Atomic uint64_t index_first, index_end;
    _Atomic uint32_t last_times[2];  /* latest timestamp of sound, picture */
    _Atomic uint32_t timed;          /* which of them there is: TRACK_ bits */
    _Atomic int64_t timed_ms;        /* clock_ms() when one of them came last */
    _Atomic int64_t last_arrived_ms; /* the same, of data, too */
    _Atomic uint32_t video_interval; /* ms between video frames, smoothed;
                                        0: no video */
    _Atomic uint32_t tracks;         /* of this session: 1 audio, 2 video */
    _Atomic uint32_t video_codec, audio_codec;
    _Atomic uint64_t bytes, dropped;
    struct meter meter; /* of all its publishers */

    /* The data of its publisher's headers, under a sequence counter that is odd
     * while they change; and measured values (live/stream_stats.h). */
    _Atomic uint32_t described;
    struct media_video video;
    struct media_audio audio;
    _Atomic uint32_t fps; /* thousandths; 0: not yet */
    _Atomic uint32_t gop_ms, gop_frames;
    _Atomic uint64_t key_frames;

    _Atomic uint64_t readers[SLOT_MAX / 64];     /* slots that have players */
    _Atomic uint64_t cut_readers[SLOT_MAX / 64]; /* slots that watch its cuts */
    _Atomic uint64_t owing[SLOT_MAX / 64]; /* slots whose players may not have
                                              all of it yet, or that have not
                                              yet looked which players wait
                                              for it */
    _Atomic uint32_t media[MEDIA_RING];
    _Atomic uint32_t index[INDEX_RING];
};

enum { TRACK_AUDIO = 1, TRACK_VIDEO = 2 };

enum session_role {
    SESSION_PLAYER,
    SESSION_ASKING, /* wants to publish, the name is not its own yet */
    SESSION_PUBLISHER,
};

/* Slot numbers in the owner words of sessions that belong to no process: no
 * process has them (live/viewer.h). */
enum owner_number {
    OWNER_VIEWER = LIVE_NO_SLOT,
    OWNER_KICKED,
    OWNER_GONE,
    OWNER_RETIRED,
};

/* The owner of a session record.  Claims lie apart from the records: a search
 * for sessions reads only the claims of free records, so that their memory can
 * be given back. */
struct session_claim {
    _Atomic slot_owner owner;   /* see session_owner() */
    _Atomic uint32_t sequence;  /* odd while the record changes */
    _Atomic uint32_t plays;     /* hash of a player's name; 0: is none */
    _Atomic uint64_t holder[2]; /* the client's, by which it is counted */
    _Atomic uint32_t gives;     /* it is to end, for others (give.c) */
};

/* A publisher or a player, for statistics.  Written by its owner; parts that
 * stay the same for its life are under the sequence counter of its claim. */
struct session_record {
    _Atomic uint32_t role; /* enum session_role */
    uint32_t serial;
    uint32_t stream_id;
    _Atomic uint32_t kind; /* enum live_kind */
    _Atomic int64_t started_ms;
    struct addr peer;
    _Atomic uint16_t name_len, url_len;
    _Atomic uint64_t dropped;
    /* Of a viewer (live/viewer.h). */
    _Atomic uint64_t viewer[2];   /* its id */
    _Atomic int64_t until_ms;     /* it ends, clock_ms() */
    _Atomic int64_t kicked_until; /* the same */
    _Atomic uint32_t lasts;       /* ms from one request */
    _Atomic uint32_t requests;    /* so many, or more than that */
    struct meter meter;
    char text[LIVE_NAME_MAX + 768]; /* name, then url */
};

/* Streams for which a process was woken, and at which it has not yet looked. */
#define WAKE_WORDS 1024u /* 64 streams each: 65536 at most */
struct wake_page {
    _Atomic uint32_t hub; /* a hub looks at it */
    _Atomic uint32_t pending;
    _Atomic uint64_t summary[WAKE_WORDS / 64];
    _Atomic uint64_t dirty[WAKE_WORDS];
};

struct arena_head {
    _Atomic uint64_t epoch;
    _Atomic uint32_t session_serial;
    _Atomic uint32_t session_end; /* no record from here on was ever taken */
    _Atomic uint64_t names_entered;
    _Atomic uint64_t cut_segments; /* highest number that a segment had */
    _Atomic uint64_t viewers_entered;
};

/* The mapping as this process sees it.  Each process has its own copy of all
 * counts. */
struct arena {
    struct live_settings settings;
    uint32_t stream_count, session_count, segment_count, slot_count;
    struct arena_head *head;
    _Atomic uint64_t *keys; /* stream_count */
    struct name_bucket *names;
    struct viewer_bucket *viewers;
    _Atomic uint64_t *taken; /* a bit for each record (names.c) */
    struct stream *streams;
    struct session_claim *claims;    /* session_count */
    struct session_record *sessions; /* session_count, from a page's begin on */
    struct wake_page *pages;         /* slot_count */
    _Atomic uint64_t *states;        /* segment_count */
    uint8_t *segments;
    /* Bits for retired and for free segments, then bits for words of those
     * (segment.c). */
    _Atomic uint64_t *hints[SEGMENT_HINTS];
    uint32_t name_buckets; /* as made */
    uint32_t viewer_buckets;
    uint32_t session_hint;
};
extern struct arena arena;

/* ---- segments ---- */

/* Always within the arena, whatever the number is. */
static inline uint8_t *
segment_bytes(uint32_t segment)
{
    size_t at = segment < arena.segment_count ? segment : 0;

    return arena.segments + at * SEGMENT_SIZE;
}

/* A new epoch: a process that sees it sees all that was stored before it. */
uint64_t epoch_advance(void);
/* The oldest epoch any process may still be in. */
uint64_t epoch_oldest(void);

/* ---- words of others ---- */

/* How many places of a ring of size are held from *first on. */
static inline uint32_t
ring_held(uint64_t first, uint64_t end, uint32_t size)
{
    return end - first < size ? (uint32_t)(end - first) : size;
}

/* A time of clock_ms(), at most `most`. */
static inline int64_t
shared_time(const _Atomic int64_t *at, int64_t most)
{
    int64_t time = atomic_load_explicit(at, memory_order_relaxed);

    return time < 0 ? 0 : time < most ? time : most;
}

/* Something that was counted, to be shown: more than is ever counted is 0. */
static inline uint64_t
shared_count(const _Atomic uint64_t *at)
{
    uint64_t n = atomic_load_explicit(at, memory_order_relaxed);

    return n <= SLOT_COUNT_MOST ? n : 0;
}

/* No session record from here on was ever taken. */
static inline uint32_t
sessions_end(void)
{
    uint32_t end = atomic_load(&arena.head->session_end);

    return end < arena.session_count ? end : arena.session_count;
}

/* 0: free, or the master is giving its memory back, or it is a viewer that
 * counts no more. */
static inline slot_owner
session_owner(uint32_t n)
{
    slot_owner owner = atomic_load(&arena.claims[n].owner);
    uint32_t number = slot_owner_number(owner);

    return number != 0 && (number <= OWNER_VIEWER || number > OWNER_RETIRED)
               ? owner
               : 0;
}

/* ---- holders ---- */

static inline void
holder_write(_Atomic uint64_t at[2], const struct tally_holder *h)
{
    atomic_store_explicit(&at[0], h->words[0], memory_order_relaxed);
    atomic_store_explicit(&at[1], h->words[1], memory_order_relaxed);
}

static inline struct tally_holder
holder_read(const _Atomic uint64_t at[2])
{
    return (struct tally_holder){
        { atomic_load_explicit(&at[0], memory_order_relaxed),
          atomic_load_explicit(&at[1], memory_order_relaxed) }
    };
}

/* ---- waking ---- */

/* Marks stream n for a slot and wakes its process if it sleeps; does nothing
 * for a slot that does not exist. */
void wake_slot(uint32_t slot, uint32_t n);
/* The same for every slot with players of the stream. */
void wake_readers(struct stream *s);
/* The same for every slot that watches its cuts. */
void wake_cut_readers(struct stream *s);

static inline uint32_t
stream_number(const struct stream *s)
{
    return (uint32_t)(s - arena.streams);
}

/* ---- frames ---- */

static inline struct index_segment *
index_of(struct stream *s, uint64_t frame)
{
    uint32_t segment = atomic_load_explicit(
        &s->index[frame / INDEX_FRAMES % INDEX_RING], memory_order_relaxed);

    return (struct index_segment *)(void *)segment_bytes(segment);
}

/* A frame from head up to (not including) tail. */
static inline struct frame *
frame_at(struct stream *s, uint64_t frame)
{
    return &index_of(s, frame)->frames[frame % INDEX_FRAMES];
}

static inline uint8_t *
media_at(struct stream *s, uint64_t position)
{
    uint32_t segment = atomic_load_explicit(
        &s->media[position / SEGMENT_SIZE % MEDIA_RING], memory_order_relaxed);

    return segment_bytes(segment) + position % SEGMENT_SIZE;
}

#endif
