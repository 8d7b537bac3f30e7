/*
 * Appending frames: time, room, layout, and where players can start.
 *
 * A frame's bytes and index entry are written first, then the tail is stored
 * with release: a process killed before leaves a stream that is merely shorter.
 * Room is made by giving up the oldest frames, in whole segments.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/writer.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "live/metrics.h"
#include "live/stream.h"

/* A stream without pictures starts players at any sound, but only after
 * pictures had this long to appear: undeclared, declared by metadata or by a
 * codec header. */
#define AUDIO_ONLY_MS 500
#define AUDIO_ONLY_DECLARED_MS 2000
/* The last index segment a ring may hold and be told from the first. */
#define INDEX_HELD_MAX (INDEX_RING / 2)

/* Earlier frames to start at came with other codec headers. */
static void
forget_starts(struct stream *s)
{
    atomic_store(&s->start, FRAME_NONE);
    atomic_store(&s->first, FRAME_NONE);
}

void
writer_start(struct writer *w, struct stream *s)
{
    *w = (struct writer){ .stream = s,
                          .started_ms = clock_ms(),
                          .first_sound = FRAME_NONE };
    timeline_start(&w->time, s);
    forget_starts(s);
    atomic_store(&s->tracks, 0);
    atomic_store(&s->video_interval, 0);
    prologue_begin(&w->headers, s);
    measure_start(s);
    cut_start(&w->cuts, s);
    atomic_fetch_add(&s->sessions, 1);
}

/* ---- time ---- */

static void
place(struct writer *w, struct frame *f, uint32_t timestamp, bool leading)
{
    if ((f->flags & MEDIA_META) != 0) {
        return; /* those are at 0: see media.h */
    }
    f->timestamp = timeline_place(&w->time, w->stream, f, timestamp, leading);
    if (w->time.anew) {
        w->time.anew = false;
        cut_note_clock(&w->cuts);
    }
}

/* ---- room ---- */

static uint64_t
end_position(struct stream *s)
{
    uint64_t tail = atomic_load_explicit(&s->tail, memory_order_relaxed);
    const struct frame *last;

    if (tail == 0) {
        return 0;
    }
    last = frame_at(s, tail - 1);
    return last->position + last->wire_len;
}

static uint64_t
segments_held(struct stream *s)
{
    return atomic_load(&s->media_end) - atomic_load(&s->media_first) +
           atomic_load(&s->index_end) - atomic_load(&s->index_first);
}

static void
retire_before(uint32_t n, const _Atomic uint32_t *ring, uint32_t size,
              _Atomic uint64_t *first, uint64_t keep)
{
    uint64_t i = atomic_load(first);

    for (; i < keep && keep - i <= size; i++) {
        atomic_store(first, i + 1);
        segment_retire(atomic_load(&ring[i % size]), n);
    }
}

/* Gives up all frames before number keep. */
static void
move_head(struct stream *s, uint64_t keep)
{
    uint64_t start = atomic_load(&s->start);
    uint64_t tail = atomic_load(&s->tail);
    uint64_t position =
        keep < tail ? frame_at(s, keep)->position : end_position(s);

    if (start != FRAME_NONE && start < keep) {
        atomic_store(&s->start, FRAME_NONE);
    }
    atomic_store(&s->head, keep);
    retire_before(stream_number(s), s->media, MEDIA_RING, &s->media_first,
                  position / SEGMENT_SIZE);
    /* The last frame's index stays: it tells where the stream ends. */
    if (keep == tail && keep > 0) {
        keep--;
    }
    retire_before(stream_number(s), s->index, INDEX_RING, &s->index_first,
                  keep / INDEX_FRAMES);
}

/* The first frame that has no byte in the oldest segment of media held, or
 * stands behind the oldest full index segment, whichever gives room. */
static uint64_t
next_head(struct stream *s)
{
    uint64_t head = atomic_load(&s->head);
    uint64_t tail = atomic_load(&s->tail);
    uint64_t edge = (atomic_load(&s->media_first) + 1) * SEGMENT_SIZE;

    while (head < tail && frame_at(s, head)->position < edge) {
        head++;
    }
    return head;
}

/* The newest frame number up to which frames may go: older than the window, not
 * kept for readers of cuts, and no part of the GOP that new players start
 * with. */
static uint64_t
expendable(const struct writer *w, int64_t now)
{
    struct stream *s = w->stream;
    uint64_t head = atomic_load(&s->head);
    uint64_t tail = atomic_load(&s->tail);
    uint64_t start = atomic_load(&s->start);
    uint64_t kept = cut_kept(&w->cuts);
    int64_t oldest = now - arena.settings.window;

    while (head < tail && head < start && head < kept &&
           frame_at(s, head)->arrived_ms < oldest) {
        head++;
    }
    return head;
}

/* Retires whole segments of frames before that number. */
static void
retire_up_to(struct stream *s, uint64_t limit)
{
    if (limit > atomic_load(&s->head) && limit < atomic_load(&s->tail) &&
        frame_at(s, limit)->position / SEGMENT_SIZE >
            atomic_load(&s->media_first)) {
        move_head(s, limit);
    }
}

/* Retires what is behind the window. */
static void
keep_window(const struct writer *w, int64_t now)
{
    struct stream *s = w->stream;
    uint64_t head = atomic_load(&s->head);

    if (atomic_load(&s->tail) != head &&
        frame_at(s, head)->arrived_ms < now - arena.settings.window) {
        retire_up_to(s, expendable(w, now));
    }
}

/* Whether any process has players of it, or has not yet looked whether some
 * wait for it.  Our own bits are set because we write. */
static bool
is_played(struct writer *w)
{
    struct stream *s = w->stream;
    uint32_t self = slot_self();
    uint64_t any = 0;

    for (uint32_t i = 0; i < (arena.slot_count + 63) / 64; i++) {
        uint64_t bits = atomic_load(&s->readers[i]) | atomic_load(&s->owing[i]);

        any |= i == self / 64 ? bits & ~(UINT64_C(1) << self % 64) : bits;
    }
    return any != 0 || (w->plays != NULL && w->plays(w));
}

/* Where nobody plays, nobody can be behind: new players begin at that start. */
static void
keep_start(struct writer *w, uint64_t start)
{
    struct stream *s = w->stream;
    uint64_t kept = cut_kept(&w->cuts);

    if (frame_at(s, start)->position / SEGMENT_SIZE >
            atomic_load(&s->media_first) &&
        !is_played(w)) {
        retire_up_to(s, start < kept ? start : kept);
    }
}

/* Segments that frames may take: what headers leave of the stream's cap, and
 * half of it in any case. */
static uint64_t
frames_cap(struct writer *w)
{
    uint64_t cap = (uint64_t)arena.settings.max_stream_memory / SEGMENT_SIZE;
    uint64_t headers = prologue_held(&w->headers, w->stream) +
                       (atomic_load(&w->stream->cuts) != SEGMENT_NONE);

    return cap - (headers < cap / 2 ? headers : cap / 2);
}

/* One more segment at the end of a ring; makes room within the stream's cap
 * by giving up the oldest frames.  0 or -1. */
static int
extend(struct writer *w, _Atomic uint32_t *ring, uint32_t size,
       _Atomic uint64_t *end)
{
    struct stream *s = w->stream;
    uint64_t cap = frames_cap(w);
    uint32_t segment;

    while (segments_held(s) >= cap &&
           atomic_load(&s->head) < atomic_load(&s->tail)) {
        move_head(s, next_head(s));
    }
    segment =
        segments_held(s) < cap ? segment_take(stream_number(s)) : SEGMENT_NONE;
    if (segment == SEGMENT_NONE) {
        return -1;
    }
    atomic_store(&ring[atomic_load(end) % size], segment);
    atomic_fetch_add(end, 1);
    return 0;
}

static int
take_room(struct writer *w, uint64_t position, uint64_t len)
{
    struct stream *s = w->stream;
    uint64_t frame = atomic_load(&s->tail);

    while (atomic_load(&s->media_end) * SEGMENT_SIZE < position + len) {
        if (extend(w, s->media, MEDIA_RING, &s->media_end) != 0) {
            return -1;
        }
    }
    if (atomic_load(&s->index_end) * INDEX_FRAMES <= frame) {
        if (atomic_load(&s->index_end) - atomic_load(&s->index_first) >=
            INDEX_HELD_MAX) {
            move_head(s, (atomic_load(&s->index_first) + 1) * INDEX_FRAMES);
        }
        return extend(w, s->index, INDEX_RING, &s->index_end);
    }
    return 0;
}

/* Gives back segments taken behind position for a frame that did not fit: they
 * would fill the stream's cap, which then has no room for any other frame. */
static void
give_back(struct stream *s, uint64_t position)
{
    uint64_t end = (position + SEGMENT_SIZE - 1) / SEGMENT_SIZE;
    uint64_t taken = atomic_load(&s->media_end);

    if (taken > end) {
        atomic_store(&s->media_end, end); /* a sweep finds what is not noted */
    }
    for (uint64_t i = end; i < taken; i++) {
        segment_retire(atomic_load(&s->media[i % MEDIA_RING]),
                       stream_number(s));
    }
}

/* Room for one more frame of len wire bytes at position. */
static int
make_room(struct writer *w, uint64_t position, uint64_t len)
{
    if (take_room(w, position, len) != 0) {
        give_back(w->stream, position);
        return -1;
    }
    return 0;
}

/* ---- bytes ---- */

static uint64_t
put_bytes(struct stream *s, uint64_t position, const void *bytes, size_t len)
{
    const uint8_t *from = bytes;

    while (len > 0) {
        size_t room = SEGMENT_SIZE - position % SEGMENT_SIZE;
        size_t n = len < room ? len : room;

        memcpy(media_at(s, position), from, n);
        from += n;
        position += n;
        len -= n;
    }
    return position;
}

/* Lays the message out as it goes on the wire: see media/media.h. */
static void
put_message(struct stream *s, struct frame *f, const uint8_t *payload)
{
    uint8_t header[RTMP_HEADER_MAX];
    uint64_t at = f->position;
    uint32_t done = 0;

    f->header_len = (uint8_t)media_rtmp_header(header, (enum media_type)f->type,
                                               f->timestamp, f->payload_len, 1);
    at = put_bytes(s, at, header, f->header_len);
    f->continue_len = (uint8_t)media_rtmp_continue(
        header, (enum media_type)f->type, f->timestamp);
    while (done < f->payload_len) {
        uint32_t left = f->payload_len - done;
        uint32_t n = left < s->chunk_size ? left : s->chunk_size;

        if (done > 0) {
            at = put_bytes(s, at, header, f->continue_len);
        }
        at = put_bytes(s, at, payload + done, n);
        done += n;
    }
}

static void
publish_frame(struct stream *s, const struct frame *f, const uint8_t *payload)
{
    uint64_t number = atomic_load_explicit(&s->tail, memory_order_relaxed);
    struct index_segment *index = index_of(s, number);
    struct frame *slot = &index->frames[number % INDEX_FRAMES];
    uint8_t *flv = index->flv[number % INDEX_FRAMES];

    *slot = *f;
    put_message(s, slot, payload);
    media_flv_tag_header(flv, (enum media_type)f->type, f->timestamp,
                         f->payload_len);
    media_flv_tag_trailer(flv + FLV_TAG_HEADER, f->payload_len);
    atomic_fetch_add_explicit(&s->bytes, f->payload_len, memory_order_relaxed);
    atomic_store_explicit(&s->last_arrived_ms, f->arrived_ms,
                          memory_order_relaxed);
    timeline_note(s, f);
    atomic_store_explicit(&s->tail, number + 1, memory_order_release);
}

/* ---- what players start with ---- */

static bool
contains(struct str haystack, struct str needle)
{
    return memmem(haystack.ptr, haystack.len, needle.ptr, needle.len) != NULL;
}

/* A codec header that was not in force: players cannot start in front of it,
 * for they get it first.  One that is new beside others changes nothing for the
 * frames before it.  Pictures do not wait for a sound that changes: only who
 * waits for the first frame waits for the next one then. */
static void
outdate_starts(struct writer *w, enum media_type type, struct media_info info,
               bool changed)
{
    struct stream *s = w->stream;
    bool pictures = (atomic_load(&s->tracks) & TRACK_VIDEO) != 0;
    bool video = type == MEDIA_VIDEO;
    bool matters = changed || info.track == w->leads[video ? 1 : 0].id;

    if (!video && matters) {
        w->first_sound = FRAME_NONE;
    }
    if (video ? matters : changed && !pictures) {
        forget_starts(s);
    } else if (changed) {
        atomic_store(&s->first, FRAME_NONE);
    }
}

/* Returns false when the message must not be sent: repeated metadata. */
static bool
note_headers(struct writer *w, enum media_type type, struct media_info info,
             struct str payload)
{
    struct stream *s = w->stream;
    enum prologue_change change;

    if ((info.flags & MEDIA_KEPT) == 0) {
        measure_frame(s, type, info, payload);
        return true;
    }
    change = prologue_put(&w->headers, s, type, info, payload);
    w->unsteady = change == PROLOGUE_OFTEN && (info.flags & MEDIA_HEADER) != 0;
    if (change == PROLOGUE_FULL || (change == PROLOGUE_OFTEN && !w->unsteady)) {
        metric_add(&live_metrics[LIVE_HEADERS_LOST], 0, 1);
        log_limited(LOG_WARN,
                    "stream %.*s: %s of %zu bytes cannot be kept for players "
                    "that come later",
                    STR_ARGS(stream_name(s)),
                    info.flags & MEDIA_HEADER ? "a codec header" : "metadata",
                    payload.len);
    }
    if (info.flags & MEDIA_META) {
        w->video_declared = contains(payload, STR("videocodecid"));
        return change != PROLOGUE_SAME;
    }
    if (change != PROLOGUE_SAME && (info.flags & MEDIA_HEADER) != 0) {
        measure_header(s, type, payload);
        outdate_starts(w, type, info, change != PROLOGUE_NEW);
    }
    return true;
}

static void
note_track(struct stream *s, enum media_type type, struct media_info info)
{
    uint32_t tracks = atomic_load_explicit(&s->tracks, memory_order_relaxed);

    if (info.codec == CODEC_NONE || type == MEDIA_DATA) {
        return;
    }
    atomic_store_explicit(
        &s->tracks, tracks | (type == MEDIA_VIDEO ? TRACK_VIDEO : TRACK_AUDIO),
        memory_order_relaxed);
    if (type == MEDIA_VIDEO) {
        atomic_store_explicit(&s->video_codec, info.codec,
                              memory_order_relaxed);
    } else {
        atomic_store_explicit(&s->audio_codec, info.codec,
                              memory_order_relaxed);
    }
}

/* Whether the message is of the track that leads its kind: the lowest-numbered
 * of several tracks sets the start frames and the time.  One that tells nothing
 * of a track does not lead. */
static bool
is_leading(struct writer *w, enum media_type type, struct media_info info)
{
    unsigned kind = type == MEDIA_VIDEO ? 1 : 0;
    struct writer_track *lead = &w->leads[kind];

    if (type == MEDIA_DATA || info.codec == CODEC_NONE) {
        return type == MEDIA_DATA;
    }
    if (lead->seen && info.track < lead->id) {
        w->time.kinds[kind].known = false;
        if (type == MEDIA_VIDEO) {
            forget_starts(w->stream);
        }
    }
    if (!lead->seen || info.track < lead->id) {
        *lead = (struct writer_track){ true, info.track };
    }
    return info.track == lead->id;
}

/* No picture came although it had the time to, by the clock or by the stream's
 * own (a publisher may send faster than that). */
static bool
is_audio_only(const struct writer *w, const struct frame *f)
{
    bool declared = w->video_declared ||
                    (atomic_load(&w->stream->tracks) & TRACK_VIDEO) != 0;
    int64_t grace = declared ? AUDIO_ONLY_DECLARED_MS : AUDIO_ONLY_MS;

    return !w->pictured && (f->arrived_ms - w->started_ms >= grace ||
                            (int32_t)(f->timestamp - w->time.first) >= grace);
}

/* Whether a player can start at this frame, which leads its kind. */
static bool
is_start(struct writer *w, struct media_info info, const struct frame *f)
{
    if (info.flags & (MEDIA_KEPT | MEDIA_END)) {
        return false;
    }
    if (f->type == MEDIA_VIDEO) {
        w->pictured = true;
        return (info.flags & MEDIA_KEY) != 0;
    }
    return f->type == MEDIA_AUDIO && is_audio_only(w, f);
}

/* A frame of sound, just published. */
static void
note_sound(struct writer *w, struct media_info info, uint64_t frame)
{
    if (w->first_sound == FRAME_NONE && info.codec != CODEC_NONE &&
        (info.flags & (MEDIA_KEPT | MEDIA_END)) == 0) {
        w->first_sound = frame;
    }
}

/* Of sound alone the first start is its beginning, from before it was known
 * that no picture comes. */
static void
note_start(const struct writer *w, const struct frame *f, uint64_t frame)
{
    struct stream *s = w->stream;

    if (atomic_load(&s->first) == FRAME_NONE) {
        atomic_store(&s->first,
                     f->type == MEDIA_AUDIO ? w->first_sound : frame);
    }
    atomic_store(&s->start, frame);
}

static int
drop(struct writer *w)
{
    struct stream *s = w->stream;

    if (!w->wants_key) {
        log_limited(LOG_WARN,
                    "stream %.*s: no memory for a frame (live.memory, "
                    "live.max_stream_memory), dropping to the next key frame",
                    STR_ARGS(stream_name(s)));
    }
    w->wants_key = true;
    cut_note_lost(&w->cuts);
    atomic_fetch_add(&s->dropped, 1);
    live_count_dropped(stream_name(s), LIVE_DROPPED_MEMORY, 1);
    return -1;
}

int
writer_append(struct writer *w, enum media_type type, uint32_t timestamp,
              const uint8_t *payload, size_t len)
{
    struct stream *s = w->stream;
    struct media_info info = stray_look(&w->strays, type, str_of(payload, len));
    int64_t now = clock_ms();
    struct frame f = {
        .arrived_ms = now,
        .payload_len = (uint32_t)len,
        .type = (uint8_t)type,
        .flags = info.flags,
    };
    bool leading = is_leading(w, type, info);
    bool start;

    note_track(s, type, info);
    if (!note_headers(w, type, info, str_of(payload, len))) {
        return 0;
    }
    if (w->unsteady) {
        return -1;
    }
    place(w, &f, timestamp, leading);
    start = leading && is_start(w, info, &f);
    if (w->wants_key && !start && (info.flags & MEDIA_KEPT) == 0) {
        return drop(w);
    }
    f.position = end_position(s);
    f.wire_len =
        (uint32_t)media_rtmp_size(f.timestamp, f.payload_len, s->chunk_size);
    keep_window(w, now);
    if (make_room(w, f.position, f.wire_len) != 0) {
        return drop(w);
    }
    w->wants_key = w->wants_key && !start;
    publish_frame(s, &f, payload);
    if (type == MEDIA_AUDIO) {
        note_sound(w, info, atomic_load(&s->tail) - 1);
    }
    if (start) {
        note_start(w, &f, atomic_load(&s->tail) - 1);
        keep_start(w, atomic_load(&s->tail) - 1);
    }
    if (leading && type == MEDIA_VIDEO && (info.flags & MEDIA_KEPT) == 0) {
        measure_picture(&w->measure, s, info.flags, f.timestamp);
    }
    cut_note(&w->cuts, &(struct cut_frame){
                           .frame = &f,
                           .number = atomic_load(&s->tail) - 1,
                           .info = info,
                           .leading = leading,
                           .start = start,
                           .payload = str_of(payload, len),
                       });
    wake_readers(s);
    return 0;
}
