/*
 * Frames of a stream as samples of its tracks.
 *
 * All times come from cuts and frames, none from the moment of asking: each
 * process comes to the same ones.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <string.h>

#include "base/mem.h"
#include "message.h"
#include "object.h"

#define SAMPLES_FIRST 256u
/* More of a track in one segment than any stream has. */
#define SAMPLES_MAX 65536u
#define RANGES_MAX 262144u
/* Messages of a part, and their bytes; more are left out. */
#define EVENTS_MAX 64u
#define EVENT_BYTES ((size_t)1024 * 1024)

/* Samples of one track, while they are gathered. */
struct pile {
    struct media_sample *samples; /* owned; of room */
    struct object_piece *pieces;
    int64_t *times; /* ms; of sound: units of the track */
    size_t count, room;
    uint64_t next; /* of sound: where the next one should begin */
    int64_t least; /* of pictures: no earlier than that, ms */
    bool other;    /* its frames are of a header that the track has not */
};

static struct pile piles[OBJECT_TRACKS];
static struct {
    struct iovec *all; /* owned */
    size_t count, room;
} bytes;

static int
make_room(struct pile *p)
{
    size_t room = p->room == 0 ? SAMPLES_FIRST : p->room * 2;

    if (p->count < p->room) {
        return 0;
    }
    if (room > SAMPLES_MAX) {
        return -1;
    }
    void *samples = try_resize(p->samples, room * sizeof(*p->samples));

    p->samples = samples != NULL ? samples : p->samples;
    void *pieces = try_resize(p->pieces, room * sizeof(*p->pieces));

    p->pieces = pieces != NULL ? pieces : p->pieces;
    void *times = try_resize(p->times, room * sizeof(*p->times));

    p->times = times != NULL ? times : p->times;
    if (samples == NULL || pieces == NULL || times == NULL) {
        return -1;
    }
    p->room = room;
    return 0;
}

/* The frame's place among the tracks; count: none has it.  A frame of another
 * codec than its track is of none. */
static size_t
track_of(const struct live_cut_frame *f, const struct media_piece *piece,
         const struct object_track *tracks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (tracks[i].track.type == f->type &&
            tracks[i].track.id == piece->track &&
            tracks[i].track.codec == piece->codec) {
            return i;
        }
    }
    return count;
}

/* Sound: its place in time, and where the next one begins.  False: it is left
 * out. */
static bool
time_of_sound(struct pile *p, const struct live_cut_frame *f,
              const struct media_track *t, struct str body)
{
    uint32_t duration = media_sound_duration(t, body);
    uint64_t time = 0;
    bool heard =
        live_cut_sound(&p->next, f->time, t->timescale, duration, &time);

    p->times[p->count] = (int64_t)time;
    return heard;
}

/* Pictures: each is later than the one before, as the writer takes it. */
static int64_t
time_of_picture(struct pile *p, const struct live_cut_frame *f)
{
    int64_t time = f->time > p->least ? f->time : p->least;

    p->least = time + 1;
    return time;
}

/* A frame, or what it holds of one track. */
struct found {
    const struct live_cut_frame *frame;
    struct media_piece piece;
    bool key;
    struct str body; /* its first bytes */
};

static void
add(struct pile *p, const struct found *found, const struct object_track *t)
{
    const struct live_cut_frame *f = found->frame;
    const struct media_piece *piece = &found->piece;
    int64_t scale = t->track.timescale;
    bool sound = f->type == MEDIA_AUDIO;

    if (!sound) {
        p->times[p->count] = time_of_picture(p, f);
    }
    if (p->other || (sound && !time_of_sound(p, f, &t->track, found->body))) {
        return;
    }
    p->samples[p->count] = (struct media_sample){
        .size = piece->len,
        .cts = (int32_t)((int64_t)piece->cts * scale / 1000),
        .key = sound || found->key,
    };
    p->pieces[p->count] = (struct object_piece){
        .frame = f->number,
        .at = piece->at,
        .len = piece->len,
    };
    p->count++;
}

/* Whether the configuration, or its front, is that of the track. */
static bool
is_header_of(const struct found *found, const struct media_track *t)
{
    struct str config = found->body;
    size_t len = config.len < t->config.len ? config.len : t->config.len;

    return found->piece.codec == t->codec && len > 0 &&
           memcmp(config.ptr, t->config.ptr, len) == 0;
}

/* A codec header of sound: the segment goes on with its old one to its end, so
 * frames behind another one have no place in it.  Of the parts behind this one
 * the cut says so (LIVE_CUT_OTHER). */
static void
meet_header(const struct found *found, const struct object_track *tracks,
            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct media_track *t = &tracks[i].track;

        if (t->type == MEDIA_AUDIO && t->id == found->piece.track &&
            !is_header_of(found, t)) {
            piles[i].other = true;
        }
    }
}

/* ---- messages ---- */

/* Their data lies in one buffer, which may move while it grows: events get
 * their data at the end. */
static struct {
    struct media_event all[EVENTS_MAX];
    size_t ends[EVENTS_MAX]; /* of the data of each */
    size_t count;
    struct buf data;
} events;

static void
add_event(const struct live_cuts *c, const struct live_cut_frame *f)
{
    static struct message m;
    struct str text;

    if (events.count == EVENTS_MAX || !message_read(c, f, &m) ||
        message_text(&m, &text) || message_id3(&m, &events.data) == -1) {
        return;
    }
    events.all[events.count] = (struct media_event){
        .time = f->time,
        .id = (uint32_t)f->number,
        .scheme = STR(MESSAGE_SCHEME),
        .value = STR_NONE,
    };
    events.ends[events.count++] = buf_len(&events.data);
}

static void
begin_events(void)
{
    buf_clear(&events.data);
    buf_init(&events.data, EVENT_BYTES);
    events.count = 0;
}

static void
end_events(struct object_samples *out)
{
    struct str all = buf_str(&events.data);
    size_t at = 0;

    for (size_t i = 0; i < events.count; i++) {
        events.all[i].data = str_first(str_skip(all, at), events.ends[i] - at);
        at = events.ends[i];
    }
    out->events = events.all;
    out->event_count = events.count;
}

/* ---- all frames ---- */

/* A sample; -1: memory is out. */
static int
meet_sample(const struct found *found, const struct object_track *tracks,
            size_t count)
{
    size_t i = track_of(found->frame, &found->piece, tracks, count);

    if (i < count) {
        if (make_room(&piles[i]) == -1) {
            return -1;
        }
        add(&piles[i], found, &tracks[i]);
    }
    return 0;
}

/* A frame of one track. */
static int
meet_one(const struct live_cut_frame *f, const struct object_track *tracks,
         size_t count)
{
    struct str front = str_of(f->front, f->front_len);
    struct found found = { .frame = f };
    struct media_sample_head head;

    if (f->type == MEDIA_AUDIO && (f->flags & MEDIA_HEADER) != 0) {
        struct media_info info = media_inspect(f->type, f->front, f->front_len);

        found.piece.codec = info.codec;
        found.piece.track = info.track;
        found.body = media_body(f->type, f->front, f->front_len);
        meet_header(&found, tracks, count);
    }
    if (media_sample_head(&head, f->type, front) == -1 ||
        head.offset >= f->len || head.offset > f->front_len) {
        return 0;
    }
    found.piece = (struct media_piece){
        .at = head.offset,
        .len = f->len - head.offset,
        .cts = head.cts,
        .codec = head.codec,
        .track = head.track,
    };
    found.key = head.key;
    found.body = str_skip(front, head.offset);
    return meet_sample(&found, tracks, count);
}

/* One track of a frame that has several. */
static int
meet_piece(const struct live_cuts *c, struct found *found, bool header,
           const struct object_track *tracks, size_t count)
{
    uint8_t front[MEDIA_FRONT_MAX];
    uint32_t len = found->piece.len < sizeof(front) ? found->piece.len
                                                    : (uint32_t)sizeof(front);

    if (len == 0 || (header ? found->frame->type != MEDIA_AUDIO
                            : track_of(found->frame, &found->piece, tracks,
                                       count) == count)) {
        return 0;
    }
    if (!live_cut_bytes(c, found->frame->number, found->piece.at, front, len)) {
        return -1;
    }
    found->body = str_of(front, len);
    if (!header) {
        return meet_sample(found, tracks, count);
    }
    meet_header(found, tracks, count);
    return 0;
}

/* A frame of several tracks. */
static int
meet_many(const struct live_cuts *c, const struct live_cut_frame *f,
          const struct object_track *tracks, size_t count)
{
    static struct media_pieces pieces;
    bool header = (f->flags & MEDIA_HEADER) != 0;

    if (!live_cut_pieces(c, f, &pieces) || (!header && !pieces.coded)) {
        return 0;
    }
    for (uint32_t i = 0; i < pieces.count; i++) {
        struct found found = { f, pieces.all[i], pieces.key, STR_NONE };

        if (meet_piece(c, &found, header, tracks, count) == -1) {
            return -1;
        }
    }
    return 0;
}

static int
meet_frame(const struct live_cuts *c, const struct live_cut_frame *f,
           const struct object_track *tracks, size_t count)
{
    if (f->type != MEDIA_VIDEO && f->type != MEDIA_AUDIO) {
        return 0;
    }
    return (f->flags & MEDIA_MANY) != 0 ? meet_many(c, f, tracks, count)
                                        : meet_one(f, tracks, count);
}

static int
gather_frames(const struct live_cuts *c, const struct object_stretch *s,
              const struct object_track *tracks, size_t count)
{
    struct live_cut_frame f;

    for (uint64_t n = s->cut.frame; n < s->end; n++) {
        if (!live_cut_frame(c, &s->cut, n, &f)) {
            return -1;
        }
        if (f.type == MEDIA_DATA && s->with_events) {
            add_event(c, &f);
        }
        if (meet_frame(c, &f, tracks, count) == -1) {
            return -1;
        }
    }
    return 0;
}

/* Pictures last until the next one, the last one until that time. */
static void
time_pictures(struct pile *p, int64_t last_ends)
{
    const int64_t unit = MEDIA_VIDEO_TIMESCALE / 1000;

    for (size_t i = 0; i < p->count; i++) {
        int64_t next = i + 1 < p->count ? p->times[i + 1] : last_ends;
        int64_t lasts = next - p->times[i];

        p->samples[i].duration = lasts > 0 ? (uint32_t)(lasts * unit) : 0;
    }
}

/* Sound lasts until the next one; of the last one only its own length is
 * known. */
static void
time_sounds(struct pile *p)
{
    for (size_t i = 0; i < p->count; i++) {
        int64_t next = i + 1 < p->count ? p->times[i + 1] : (int64_t)p->next;
        int64_t lasts = next - p->times[i];

        p->samples[i].duration = lasts > 0 ? (uint32_t)lasts : 0;
    }
}

/* ---- their bytes ---- */

static int
more_ranges(void)
{
    size_t room = bytes.room == 0 ? SAMPLES_FIRST : bytes.room * 2;
    struct iovec *all =
        room > RANGES_MAX ? NULL : try_resize(bytes.all, room * sizeof(*all));

    if (all == NULL) {
        return -1;
    }
    bytes.all = all;
    bytes.room = room;
    return 0;
}

static int
add_bytes(const struct live_cuts *c, const struct object_piece *p)
{
    int n = -1;

    while (n < 0) {
        if (bytes.room > bytes.count) {
            size_t room = bytes.room - bytes.count;

            n = live_cut_ranges(c, p->frame, p->at, p->len,
                                bytes.all + bytes.count, (int)room);
        }
        if (n < 0 && more_ranges() == -1) {
            return -1;
        }
    }
    bytes.count += (size_t)n;
    return n;
}

/* The ranges may move while they are added: samples point to them at the
 * end. */
static int
find_bytes(const struct live_cuts *c, size_t count)
{
    size_t at = 0;

    bytes.count = 0;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < piles[i].count; k++) {
            int n = add_bytes(c, &piles[i].pieces[k]);

            if (n < 0) {
                return -1;
            }
            piles[i].samples[k].piece_count = (size_t)n;
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < piles[i].count; k++) {
            piles[i].samples[k].pieces = bytes.all + at;
            at += piles[i].samples[k].piece_count;
        }
    }
    return 0;
}

/* ---- all of it ---- */

static void
begin(const struct object_stretch *s, const struct object_track *tracks,
      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t next = tracks[i].track.type == MEDIA_AUDIO
                            ? s->cut.sound[tracks[i].sound]
                            : 0;

        piles[i].count = 0;
        piles[i].least = s->cut.time;
        piles[i].other = (next & LIVE_CUT_OTHER) != 0;
        piles[i].next = next & ~LIVE_CUT_OTHER;
    }
}

static struct media_run
run_of(struct pile *p, const struct object_track *t, int64_t cut_time)
{
    bool sound = t->track.type == MEDIA_AUDIO;
    int64_t first = sound ? (int64_t)(p->next & ~LIVE_CUT_ANEW)
                          : cut_time * (MEDIA_VIDEO_TIMESCALE / 1000);

    if (p->count > 0) {
        first =
            sound ? p->times[0] : p->times[0] * (MEDIA_VIDEO_TIMESCALE / 1000);
    }
    return (struct media_run){
        .track = &t->track,
        .decode_time = first > 0 ? (uint64_t)first : 0,
        .samples = p->samples,
        .count = p->count,
    };
}

int
object_gather(const struct live_cuts *c, const struct object_stretch *s,
              const struct object_track *tracks, size_t count,
              struct object_samples *out)
{
    memset(out, 0, sizeof(*out));
    begin(s, tracks, count);
    begin_events();
    if (gather_frames(c, s, tracks, count) == -1 ||
        (s->with_bytes && find_bytes(c, count) == -1)) {
        return -1;
    }
    end_events(out);
    for (size_t i = 0; i < count; i++) {
        bool sound = tracks[i].track.type == MEDIA_AUDIO;

        if (sound) {
            time_sounds(&piles[i]);
        } else {
            time_pictures(&piles[i], s->last_ends);
        }
        out->runs[i] = run_of(&piles[i], &tracks[i], s->cut.time);
        out->pieces[i] = piles[i].pieces;
        for (size_t k = 0; k < piles[i].count; k++) {
            *(sound ? &out->audio : &out->video) += piles[i].pieces[k].len;
        }
    }
    return 0;
}
