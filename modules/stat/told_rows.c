/*
 * Server, streams and sessions as rows of which only changes are sent.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "rows.h"

#include <stdio.h>

#include "base/hash.h"
#include "proc/slot.h"

/* By the clock of the server's uptime_ms: the same for all its life. */
static void
told_began(struct told *t, int64_t started_ms)
{
    told_int(t, "began_ms",
             started_ms - atomic_load(&slot_card(0)->started_ms));
}

static void
told_count(struct told *t, const char *name, uint64_t n)
{
    told_int(t, name, (int64_t)told_rounded(n));
}

/* ---- streams ---- */

static const char *
codec(uint8_t number)
{
    return media_codec_name((enum media_codec)number);
}

/* Frames a second in halves: what is measured is never quite the same. */
static void
told_picture(struct told *t, const struct live_stream_view *v)
{
    uint32_t fps = v->fps != 0 ? v->fps : v->video.fps;
    unsigned halves = (fps + 250) / 500;
    char text[160];

    if (v->video.codec == CODEC_NONE) {
        told_raw(t, "video", STR("null"));
        return;
    }
    snprintf(text, sizeof(text),
             "{\"codec\":\"%s\",\"width\":%u,\"height\":%u,\"fps\":%u.%u}",
             codec(v->video.codec), v->video.width, v->video.height, halves / 2,
             halves % 2 * 5);
    told_raw(t, "video", str_from(text));
}

static void
told_sound(struct told *t, const struct live_stream_view *v)
{
    char text[80];

    if (v->audio.codec == CODEC_NONE) {
        told_raw(t, "audio", STR("null"));
        return;
    }
    snprintf(text, sizeof(text), "{\"codec\":\"%s\"}", codec(v->audio.codec));
    told_raw(t, "audio", str_from(text));
}

void
told_stream(struct told *t, const struct live_stream_view *v)
{
    if (!told_row(t, hash_str(str_from(v->name)))) {
        return;
    }
    told_str(t, "key", str_from(v->name));
    told_str(t, "state", v->live ? STR("live") : STR("hold"));
    told_began(t, v->started_ms);
    told_int(t, "players", v->players);
    told_picture(t, v);
    told_sound(t, v);
    told_count(t, "video_speed", v->video_speed);
    told_count(t, "audio_speed", v->audio_speed);
    told_int(t, "dropped", (int64_t)v->dropped);
    told_int(t, "skipped", (int64_t)v->skipped);
}

/* ---- sessions ---- */

void
told_session(struct told *t, const struct live_session_view *v)
{
    const struct slot_card *card = slot_card(slot_owner_number(v->owner));
    char id[48];

    snprintf(id, sizeof(id), "%u:%llu", slot_owner_number(v->owner),
             (unsigned long long)v->id);
    if (!told_row(t, hash_str(str_from(id)))) {
        return;
    }
    told_str(t, "id", str_from(id));
    told_str(t, "role", v->publisher ? STR("publisher") : STR("player"));
    told_str(t, "protocol", str_from(live_kind_name(v->kind)));
    told_str(t, "key", str_from(v->name));
    told_str(t, "url", str_from(v->url));
    char address[ADDR_TEXT];

    told_str(t, "address", str_from(addr_text(&v->peer, address)));
    told_began(t, v->started_ms);
    told_count(t, "video_total_bytes", v->video_bytes);
    told_count(t, "video_speed", v->video_speed);
    told_count(t, "audio_total_bytes", v->audio_bytes);
    told_count(t, "audio_speed", v->audio_speed);
    told_int(t, "dropped", (int64_t)v->dropped);
    if (card != NULL) {
        told_str(t, "process", str_from(card->name));
    } else {
        told_raw(t, "process", STR("null"));
    }
}
