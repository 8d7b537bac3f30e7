/*
 * The multivariant playlist of a stream: pictures and sound in one, or, with
 * several tracks of sound or where the settings ask for it, one rendition for
 * each track.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "asked.h"
#include "captions.h"
#include "live/stream_stats.h"
#include "offer.h"
#include "playlist.h"

/* Boxes, or packets' heads, beside the payloads: one byte for so many. */
#define BOXES 20
#define PACKETS 8

struct variants {
    const struct asked *a;
    struct object_track tracks[OBJECT_TRACKS]; /* all of the stream's */
    struct media_track all[OBJECT_TRACKS];
    size_t count;
    struct multivariant_rendition renditions[OBJECT_TRACKS + 1];
    size_t rendition_count;
};

/* The viewer's id stands in addresses of playlists alone. */
static struct str
uri(const struct asked *a, const char *rendition)
{
    char id[VIEWER_TEXT];

    return pool_printf(a->request->pool, "%.*s&viewer=%s",
                       STR_ARGS(asked_uri(a, rendition)),
                       viewer_text(&a->viewer, id));
}

static void
add_track(struct variants *v, const struct object_track *t)
{
    v->tracks[v->count] = *t;
    v->all[v->count] = t->track;
    v->count++;
}

/* All tracks that can be carried, pictures first. */
static void
find_tracks(struct variants *v, const struct live_cut_headers *h)
{
    struct object_track one[OBJECT_TRACKS];

    for (uint32_t i = 0; i < h->count && v->count < OBJECT_TRACKS; i++) {
        char name[OBJECT_RENDITION_MAX] = "v";

        if (h->items[i].type == MEDIA_AUDIO) {
            snprintf(name, sizeof(name), "a%u", h->items[i].track);
        }
        if (object_tracks(h, str_from(name), v->a->key.container, one) > 0) {
            add_track(v, &one[0]);
        }
    }
}

static void
add_sound(struct variants *v, const struct media_track *t)
{
    struct pool *pool = v->a->request->pool;
    char name[OBJECT_RENDITION_MAX];

    snprintf(name, sizeof(name), "a%u", t->id);
    v->renditions[v->rendition_count] = (struct multivariant_rendition){
        .type = "AUDIO",
        .group = STR("sound"),
        .name = pool_printf(pool, "sound %u", t->id),
        .language = STR_NONE,
        .uri = uri(v->a, name),
        .is_default = v->rendition_count == 0,
        .channels = t->channels,
    };
    v->rendition_count++;
}

static void
add_captions(struct variants *v)
{
    v->renditions[v->rendition_count++] = (struct multivariant_rendition){
        .type = "SUBTITLES",
        .group = STR("text"),
        .name = STR("text"),
        .language = STR_NONE,
        .uri = uri(v->a, CAPTION_RENDITION),
    };
}

/* Whether each track is a rendition of its own. */
static bool
is_separate(const struct variants *v)
{
    bool video = v->count > 0 && v->all[0].type == MEDIA_VIDEO;
    size_t sounds = v->count - (video ? 1 : 0);

    return v->a->key.container->payloads_follow &&
           (sounds > 1 ||
            (v->a->layer->settings->separate_audio && video && sounds > 0));
}

/* As measured, thousandths; 0: not yet. */
static uint32_t
fps_of(const struct live_cuts *c)
{
    struct live_stream_view view = { .fps = 0 };

    measure_view(c->stream, &view);
    return view.fps;
}

static int
write(struct variants *v, const struct live_cuts *c, bool strict,
      struct buf *out)
{
    bool separate = is_separate(v);
    bool video = v->all[0].type == MEDIA_VIDEO;
    unsigned beside = v->a->key.container->payloads_follow ? BOXES : PACKETS;
    struct multivariant_variant one = {
        .uri = uri(v->a, !separate ? "all" : "v"),
        .tracks = v->all,
        /* In one, there is a single track of sound. */
        .track_count = v->count,
        .audio = STR_NONE,
        .subtitles = STR_NONE,
    };

    one.fps = fps_of(c);
    offer_speeds(c, &one.bandwidth, &one.average_bandwidth);
    one.bandwidth += one.bandwidth / beside + 1;
    one.average_bandwidth += one.average_bandwidth / beside + 1;
    if (separate) {
        for (size_t i = video ? 1 : 0; i < v->count; i++) {
            add_sound(v, &v->all[i]);
        }
        one.audio = STR("sound");
    }
    if (separate && !video) {
        one.uri = v->renditions[0].uri;
    }
    if (captions_are_there(c)) {
        add_captions(v);
        one.subtitles = STR("text");
    }
    struct multivariant m = {
        .independent = strict,
        .variants = &one,
        .variant_count = 1,
        .renditions = v->renditions,
        .rendition_count = v->rendition_count,
    };

    return multivariant_write(out, &m);
}

int
variants_write(const struct asked *a, const struct live_cuts *c,
               struct buf *out)
{
    static struct live_cut_headers h;
    struct variants v = { .a = a };
    struct live_cut cut;

    if (!live_cut_at(c, c->end - 1, &cut) ||
        !live_cut_headers(c, cut.header, &h)) {
        return -1;
    }
    find_tracks(&v, &h);
    return v.count > 0 ? write(&v, c, c->strict, out) : -1;
}
