/*
 * Streams and sessions as JSON.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rows.h"

#include <stdio.h>

#include "base/clock.h"
#include "proc/slot.h"

static void
put_text(struct json_out *o, const char *key, const char *text)
{
    json_put_str(o, key, str_from(text));
}

static void
put_count(struct json_out *o, const char *key, uint64_t n)
{
    json_put_int(o, key, (int64_t)n);
}

/* As "show sess" has it. */
static void
put_id(struct json_out *o, slot_owner owner, uint64_t serial)
{
    char id[48];

    snprintf(id, sizeof(id), "%u:%llu", slot_owner_number(owner),
             (unsigned long long)serial);
    put_text(o, "id", id);
}

static void
put_address(struct json_out *o, const struct addr *a)
{
    char text[ADDR_TEXT];

    put_text(o, "address", addr_text(a, text));
}

/* ---- sessions ---- */

/* Names, order and units are those of the interface. */
void
row_livestat(struct json_out *o, const struct live_session_view *v)
{
    json_open(o);
    put_text(o, "key", v->name);
    put_text(o, "url", v->url);
    json_put_int(o, "stream_id", v->stream_id);
    put_count(o, "video_total_bytes", v->video_bytes);
    put_count(o, "video_speed", v->video_speed);
    put_count(o, "audio_total_bytes", v->audio_bytes);
    put_count(o, "audio_speed", v->audio_speed);
    json_close(o);
}

void
row_session(struct json_out *o, const struct live_session_view *v)
{
    const struct slot_card *card = slot_card(slot_owner_number(v->owner));

    json_open(o);
    put_id(o, v->owner, v->id);
    put_text(o, "role", v->publisher ? "publisher" : "player");
    put_text(o, "protocol", live_kind_name(v->kind));
    put_text(o, "key", v->name);
    put_text(o, "url", v->url);
    json_put_int(o, "stream_id", v->stream_id);
    put_address(o, &v->peer);
    json_put_int(o, "uptime_ms", clock_ms() - v->started_ms);
    put_count(o, "video_total_bytes", v->video_bytes);
    put_count(o, "video_speed", v->video_speed);
    put_count(o, "audio_total_bytes", v->audio_bytes);
    put_count(o, "audio_speed", v->audio_speed);
    put_count(o, "dropped", v->dropped);
    if (card != NULL) {
        put_text(o, "process", card->name);
        json_put_int(o, "pid", atomic_load(&card->pid));
    } else {
        json_put_null(o, "process");
        json_put_null(o, "pid");
    }
    json_close(o);
}

/* ---- streams ---- */

static void
put_publisher(struct json_out *o, const struct live_stream_view *v)
{
    json_key(o, "publisher");
    if (v->publisher_owner == 0) {
        json_null(o);
        return;
    }
    json_open(o);
    put_id(o, v->publisher_owner, v->publisher_id);
    put_text(o, "protocol", live_kind_name(v->publisher_kind));
    put_address(o, &v->publisher);
    json_close(o);
}

static void
put_known(struct json_out *o, const char *key, uint64_t n)
{
    if (n != 0) {
        put_count(o, key, n);
    } else {
        json_put_null(o, key);
    }
}

static void
put_word(struct json_out *o, const char *key, const char *word)
{
    if (word[0] != '\0') {
        put_text(o, key, word);
    } else {
        json_put_null(o, key);
    }
}

/* As measured, or as the header says. */
static void
put_fps(struct json_out *o, const struct live_stream_view *v)
{
    uint32_t fps = v->fps != 0 ? v->fps : v->video.fps;

    json_key(o, "fps");
    if (fps != 0) {
        json_thousandths(o, fps);
    } else {
        json_null(o);
    }
}

static void
put_video(struct json_out *o, const struct live_stream_view *v)
{
    const struct media_video *video = &v->video;

    json_key(o, "video");
    if (video->codec == CODEC_NONE) {
        json_null(o);
        return;
    }
    json_open(o);
    put_text(o, "codec", media_codec_name((enum media_codec)video->codec));
    put_word(o, "profile", video->profile);
    put_word(o, "level", video->level);
    put_known(o, "width", video->width);
    put_known(o, "height", video->height);
    put_fps(o, v);
    put_known(o, "gop_ms", v->gop_ms);
    put_known(o, "gop_frames", v->gop_frames);
    json_close(o);
}

static void
put_audio(struct json_out *o, const struct media_audio *audio)
{
    json_key(o, "audio");
    if (audio->codec == CODEC_NONE) {
        json_null(o);
        return;
    }
    json_open(o);
    put_text(o, "codec", media_codec_name((enum media_codec)audio->codec));
    put_word(o, "profile", audio->profile);
    put_known(o, "sample_rate", audio->rate);
    put_known(o, "channels", audio->channels);
    json_close(o);
}

void
row_stream(struct json_out *o, const struct live_stream_view *v)
{
    struct str name = str_from(v->name);
    struct str app = str_cut(&name, '/');

    json_open(o);
    put_text(o, "key", v->name);
    json_put_str(o, "app", app);
    json_put_str(o, "name", name);
    put_text(o, "state", v->live ? "live" : "hold");
    json_put_int(o, "uptime_ms", clock_ms() - v->started_ms);
    put_publisher(o, v);
    json_put_int(o, "players", v->players);
    put_video(o, v);
    put_audio(o, &v->audio);
    put_count(o, "video_speed", v->video_speed);
    put_count(o, "audio_speed", v->audio_speed);
    put_count(o, "video_total_bytes", v->video_bytes);
    put_count(o, "audio_total_bytes", v->audio_bytes);
    put_count(o, "frames", v->frames);
    put_count(o, "key_frames", v->key_frames);
    put_count(o, "dropped", v->dropped);
    put_count(o, "skipped", v->skipped);
    json_put_int(o, "memory_bytes", v->memory);
    json_close(o);
}
