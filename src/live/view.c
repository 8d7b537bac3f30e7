/*
 * Looking at streams from outside: statistics and tests.  Nothing here changes
 * the arena.  Numbers are read one by one, while writers go on.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/live.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "live/stream.h"
#include "live/stream_stats.h"

const char *
live_kind_name(enum live_kind kind)
{
    static const char *const names[LIVE_KINDS] = {
        [LIVE_KIND_RTMP] = "rtmp", [LIVE_KIND_RTMPS] = "rtmps",
        [LIVE_KIND_FLV] = "flv",   [LIVE_KIND_WS] = "ws",
        [LIVE_KIND_PULL] = "pull", [LIVE_KIND_PUSH] = "push",
        [LIVE_KIND_HLS] = "hls",   [LIVE_KIND_MP4] = "mp4",
    };

    return names[kind];
}

bool
live_is_live(struct str name)
{
    struct stream *s = stream_find(name);

    return s != NULL && stream_is_live(s);
}

bool
live_is_there(struct str name)
{
    struct stream *s = stream_find(name);

    return s != NULL && stream_is_open(s);
}

bool
live_next_name(uint32_t *at, char name[LIVE_NAME_MAX])
{
    while (*at < arena.stream_count) {
        struct stream *s = &arena.streams[(*at)++];

        if (stream_is_live(s)) {
            str_copy(name, LIVE_NAME_MAX, stream_name(s));
            return true;
        }
    }
    return false;
}

void
live_count_streams(uint32_t *live, uint32_t *hold)
{
    *live = *hold = 0;
    for (uint32_t i = 0; i < arena.stream_count; i++) {
        if (stream_is_open(&arena.streams[i])) {
            *(stream_is_live(&arena.streams[i]) ? live : hold) += 1;
        }
    }
}

/* ---- sessions of each stream ---- */

/* Counted anew each time, so that no counter can be left behind; by hash, so
 * that many sessions of many streams take no time. */
struct live_tally {
    struct tally_stream {
        uint32_t players;
        uint64_t skipped; /* frames, of these */
        struct addr publisher;
        slot_owner owner; /* of the publisher's session, and so on */
        uint64_t id;
        enum live_kind kind;
    } * streams;      /* by record number */
    uint32_t *places; /* number + 1 of a stream, 0: empty */
    uint32_t mask;    /* of places */
};

static void
note_stream(struct live_tally *t, uint32_t n)
{
    uint32_t at = (uint32_t)hash_str(stream_name(&arena.streams[n])) & t->mask;

    while (t->places[at] != 0) {
        at = (at + 1) & t->mask;
    }
    t->places[at] = n + 1;
}

static struct tally_stream *
find_stream(struct live_tally *t, struct str name)
{
    uint32_t at = (uint32_t)hash_str(name) & t->mask;

    for (; t->places[at] != 0; at = (at + 1) & t->mask) {
        uint32_t n = t->places[at] - 1;

        if (str_eq(stream_name(&arena.streams[n]), name)) {
            return &t->streams[n];
        }
    }
    return NULL;
}

static bool
count_session(void *arg, const struct live_session_view *v)
{
    struct tally_stream *s = find_stream(arg, str_from(v->name));

    if (v->asking) {
        return true;
    }
    if (s != NULL && v->publisher) {
        s->publisher = v->peer;
        s->owner = v->owner;
        s->id = v->id;
        s->kind = v->kind;
    } else if (s != NULL) {
        s->players++;
        s->skipped += v->dropped;
    }
    return true;
}

struct live_tally *
live_tally_new(void)
{
    struct live_tally *t = mem_zero(sizeof(*t));
    uint32_t count = arena.stream_count;
    uint32_t size = 16;

    while (size < 2 * count) {
        size *= 2;
    }
    t->mask = size - 1;
    t->places = mem_zero(size * sizeof(*t->places));
    t->streams = mem_zero(count * sizeof(*t->streams));
    for (uint32_t n = 0; n < count; n++) {
        if (stream_is_open(&arena.streams[n])) {
            note_stream(t, n);
        }
    }
    live_each_session(count_session, t);
    return t;
}

void
live_tally_free(struct live_tally **t)
{
    if (*t != NULL) {
        mem_free(&(*t)->places);
        mem_free(&(*t)->streams);
        mem_free(t);
    }
}

/* ---- streams ---- */

static uint32_t
memory_of(struct stream *s)
{
    uint32_t segments = ring_held(atomic_load(&s->media_first),
                                  atomic_load(&s->media_end), MEDIA_RING) +
                        ring_held(atomic_load(&s->index_first),
                                  atomic_load(&s->index_end), INDEX_RING) +
                        (atomic_load(&s->prologue) != SEGMENT_NONE) +
                        (atomic_load(&s->cuts) != SEGMENT_NONE);

    return segments * SEGMENT_SIZE;
}

static void
view_stream(struct stream *s, const struct tally_stream *t,
            struct live_stream_view *v)
{
    int64_t now = clock_ms();
    int64_t created = shared_time(&s->created_ms, now);
    struct meter_view m = meter_read(&s->meter, now, created);

    str_copy(v->name, sizeof(v->name), stream_name(s));
    v->live = stream_is_live(s);
    v->video_codec = (uint8_t)atomic_load(&s->video_codec);
    v->audio_codec = (uint8_t)atomic_load(&s->audio_codec);
    v->frames = shared_count(&s->tail);
    v->bytes = shared_count(&s->bytes);
    v->dropped = shared_count(&s->dropped);
    v->memory = memory_of(s);
    v->players = t->players;
    v->skipped = t->skipped;
    v->publisher = t->publisher;
    v->publisher_owner = t->owner;
    v->publisher_id = t->id;
    v->publisher_kind = t->kind;
    measure_view(s, v);
    v->video_bytes = m.video;
    v->audio_bytes = m.audio;
    v->video_speed = m.video_speed;
    v->audio_speed = m.audio_speed;
    v->started_ms = created;
}

bool
live_next_stream(const struct live_tally *t, uint32_t *at,
                 struct live_stream_view *v)
{
    while (*at < arena.stream_count) {
        uint32_t n = (*at)++;

        if (stream_is_open(&arena.streams[n])) {
            view_stream(&arena.streams[n], &t->streams[n], v);
            return true;
        }
    }
    return false;
}

void
live_each_stream(bool (*on_view)(void *arg, const struct live_stream_view *v),
                 void *arg)
{
    struct live_tally *t = live_tally_new();
    struct live_stream_view view;
    uint32_t at = 0;

    while (live_next_stream(t, &at, &view) && on_view(arg, &view)) {
    }
    live_tally_free(&t);
}
