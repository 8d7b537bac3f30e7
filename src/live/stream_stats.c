/*
 * Measuring streams.  Numbers are stored one by one; the descriptions, which
 * are words, under a sequence counter.  A writer that is killed while it
 * changes them leaves the counter odd: they are unknown until the next one
 * begins.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/stream_stats.h"

/* Pictures are counted over at least so long; over longer than that many
 * milliseconds there was a gap. */
#define COUNT_MS 1000
#define GAP_MS 10000
#define TRIES 100

static void
set_number(_Atomic uint32_t *to, uint32_t value)
{
    atomic_store_explicit(to, value, memory_order_relaxed);
}

/* ---- what headers say ---- */

static void
begin_change(struct stream *s)
{
    if (atomic_load(&s->described) % 2 == 0) {
        atomic_fetch_add(&s->described, 1);
    }
}

static void
end_change(struct stream *s)
{
    atomic_fetch_add(&s->described, 1);
}

void
measure_start(struct stream *s)
{
    begin_change(s);
    s->video = (struct media_video){ .codec = CODEC_NONE };
    s->audio = (struct media_audio){ .codec = CODEC_NONE };
    end_change(s);
    set_number(&s->fps, 0);
    set_number(&s->gop_ms, 0);
    set_number(&s->gop_frames, 0);
}

void
measure_header(struct stream *s, enum media_type type, struct str payload)
{
    const uint8_t *bytes = (const uint8_t *)payload.ptr;

    if (type == MEDIA_DATA || media_inspect(type, bytes, payload.len).track) {
        return;
    }
    begin_change(s);
    if (type == MEDIA_VIDEO) {
        s->video = media_describe_video(bytes, payload.len);
    } else {
        s->audio = media_describe_audio(bytes, payload.len);
    }
    end_change(s);
}

static void
measure_size(struct stream *s, struct str payload)
{
    uint32_t width, height;

    if (!media_frame_size((const uint8_t *)payload.ptr, payload.len, &width,
                          &height) ||
        (s->video.width == width && s->video.height == height)) {
        return;
    }
    begin_change(s);
    s->video.width = width;
    s->video.height = height;
    end_change(s);
}

void
measure_frame(struct stream *s, enum media_type type, struct media_info info,
              struct str payload)
{
    uint8_t known = type == MEDIA_VIDEO ? s->video.codec : s->audio.codec;

    if (info.codec != CODEC_NONE && info.codec != known) {
        measure_header(s, type, payload);
    }
    if ((info.flags & MEDIA_KEY) != 0 && info.track == 0) {
        measure_size(s, payload);
    }
}

/* ---- what is measured ---- */

static void
note_key(struct measure *m, struct stream *s, uint32_t time)
{
    if (m->has_key && (int32_t)(time - m->key_time) > 0) {
        set_number(&s->gop_ms, time - m->key_time);
        set_number(&s->gop_frames, m->group);
    }
    m->has_key = true;
    m->key_time = time;
    m->group = 0;
    atomic_fetch_add_explicit(&s->key_frames, 1, memory_order_relaxed);
}

static void
note_interval(struct measure *m, struct stream *s, uint32_t time)
{
    uint32_t delta = time - m->last;
    uint32_t smooth = atomic_load(&s->video_interval);

    if (m->has_last && delta > 0 && delta < 1000) {
        smooth = smooth == 0 ? delta : (smooth * 7 + delta + 4) / 8;
        atomic_store_explicit(&s->video_interval, smooth, memory_order_relaxed);
    }
    m->last = time;
    m->has_last = true;
}

void
measure_picture(struct measure *m, struct stream *s, unsigned flags,
                uint32_t time)
{
    uint32_t ms = time - m->from;

    note_interval(m, s, time);
    if ((flags & MEDIA_END) != 0) {
        return;
    }
    if ((flags & MEDIA_KEY) != 0) {
        note_key(m, s, time);
    }
    m->group++;
    m->pictures++;
    if (m->counting && ms >= COUNT_MS && ms <= GAP_MS) {
        set_number(&s->fps, (m->pictures * 1000000u + ms / 2) / ms);
    }
    if (!m->counting || ms >= COUNT_MS) {
        m->counting = true;
        m->from = time;
        m->pictures = 0;
    }
}

/* ---- looking ---- */

static bool
copy_descriptions(struct stream *s, struct live_stream_view *v)
{
    for (int i = 0; i < TRIES; i++) {
        uint32_t before = atomic_load(&s->described);

        v->video = s->video;
        v->audio = s->audio;
        atomic_thread_fence(memory_order_seq_cst);
        if (before % 2 == 0 && atomic_load(&s->described) == before) {
            v->video.profile[sizeof(v->video.profile) - 1] = '\0';
            v->video.level[sizeof(v->video.level) - 1] = '\0';
            v->audio.profile[sizeof(v->audio.profile) - 1] = '\0';
            return true;
        }
    }
    return false;
}

void
measure_view(struct stream *s, struct live_stream_view *v)
{
    if (!copy_descriptions(s, v)) {
        v->video = (struct media_video){ .codec = CODEC_NONE };
        v->audio = (struct media_audio){ .codec = CODEC_NONE };
    }
    v->fps = atomic_load_explicit(&s->fps, memory_order_relaxed);
    v->gop_ms = atomic_load_explicit(&s->gop_ms, memory_order_relaxed);
    v->gop_frames = atomic_load_explicit(&s->gop_frames, memory_order_relaxed);
    v->key_frames = shared_count(&s->key_frames);
}
