/*
 * Looking at streams from outside: statistics and tests.  Nothing here changes
 * the arena.  Numbers are read one by one, while writers go on.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/live.h"

#include "base/mem.h"
#include "live/stream.h"

bool
live_is_live(struct str name)
{
    struct stream *s = stream_find(name);

    return s != NULL && stream_is_live(s);
}

void
live_count_streams(uint32_t *live, uint32_t *hold)
{
    *live = *hold = 0;
    for (uint32_t i = 0; i < arena.head->stream_count; i++) {
        if (stream_is_open(&arena.streams[i])) {
            *(stream_is_live(&arena.streams[i]) ? live : hold) += 1;
        }
    }
}

/* Players of each stream: counted anew, so that no counter can be left. */
static bool
count_players(void *arg, const struct live_session_view *v)
{
    uint32_t *players = arg;
    struct stream *s;

    if (!v->publisher) {
        s = stream_find(str_from(v->name));
        if (s != NULL) {
            players[stream_number(s)]++;
        }
    }
    return true;
}

static uint32_t
memory_of(struct stream *s)
{
    uint64_t segments =
        atomic_load(&s->media_end) - atomic_load(&s->media_first) +
        atomic_load(&s->index_end) - atomic_load(&s->index_first) +
        (atomic_load(&s->prologue) != SEGMENT_NONE);

    return (uint32_t)(segments * SEGMENT_SIZE);
}

static void
view_stream(struct stream *s, uint32_t players, struct live_stream_view *v)
{
    str_copy(v->name, sizeof(v->name), stream_name(s));
    v->live = stream_is_live(s);
    v->video_codec = (uint8_t)atomic_load(&s->video_codec);
    v->audio_codec = (uint8_t)atomic_load(&s->audio_codec);
    v->frames = atomic_load(&s->tail);
    v->bytes = atomic_load(&s->bytes);
    v->dropped = atomic_load(&s->dropped);
    v->memory = memory_of(s);
    v->players = players;
    v->started_ms = s->created_ms;
}

void
live_each_stream(bool (*on_view)(void *arg, const struct live_stream_view *v),
                 void *arg)
{
    uint32_t *players = mem_zero(arena.head->stream_count * sizeof(*players));
    bool more = true;

    live_each_session(count_players, players);
    for (uint32_t i = 0; more && i < arena.head->stream_count; i++) {
        struct live_stream_view view;

        if (stream_is_open(&arena.streams[i])) {
            view_stream(&arena.streams[i], players[i], &view);
            more = on_view(arg, &view);
        }
    }
    mem_free(&players);
}
