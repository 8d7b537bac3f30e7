/*
 * Multivariant playlists: a variant for each stream of a ladder, or for the
 * stream alone.  Pictures and sound are in one, or, where a stream has several
 * tracks of sound or the settings ask for it, each track is a rendition of its
 * own; then all variants are heard with the sound of the first that has any.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <stdio.h>

#include "captions.h"
#include "live/stream_stats.h"
#include "members.h"
#include "offer.h"
#include "playlist.h"
#include "promised.h"

/* Boxes, or packets' heads, beside the payloads: one byte for so many. */
#define BOXES 20
#define PACKETS 8

/* A stream and its tracks. */
struct content {
    const struct member *member;
    struct media_track tracks[OBJECT_TRACKS]; /* that can be carried, pictures
                                                 first */
    size_t count;
};

struct variants {
    const struct asked *a;
    struct content streams[LIVE_LADDER_MAX];
    size_t count;
    const struct content *heard; /* renditions of its sound are; NULL: none */
    struct multivariant_variant items[LIVE_LADDER_MAX];
    /* With the sound that is heard beside it. */
    struct media_track tracks[LIVE_LADDER_MAX][MEDIA_TRACKS_MAX];
    bool captioned; /* there is a rendition of text */
    struct multivariant_rendition renditions[OBJECT_TRACKS + 1];
    size_t rendition_count;
};

static bool
has_pictures(const struct content *s)
{
    return s->tracks[0].type == MEDIA_VIDEO;
}

static size_t
sounds_of(const struct content *s)
{
    return s->count - (has_pictures(s) ? 1 : 0);
}

/* The viewer's id, and its token, stand in addresses of playlists alone. */
static struct str
uri(const struct variants *v, const struct content *s, const char *rendition)
{
    const struct asked *a = v->a;
    struct str proof = http_query_proof(a->request);
    char id[VIEWER_TEXT];

    return pool_printf(a->request->pool, "%.*s%s&viewer=%s%s%.*s",
                       STR_ARGS(asked_uri(a, s->member->room, rendition)),
                       a->of_ladder ? "&ladder=1" : "",
                       viewer_text(&a->viewer, id), proof.len > 0 ? "&" : "",
                       STR_ARGS(proof));
}

static void
name_of(char name[OBJECT_RENDITION_MAX], const struct media_track *t)
{
    snprintf(name, OBJECT_RENDITION_MAX, "a%u", t->id);
}

/* ---- what there is ---- */

static void
find_tracks(struct content *s, const struct live_cut_headers *h,
            const struct media_container *container)
{
    struct object_track one[OBJECT_TRACKS];

    for (uint32_t i = 0; i < h->count && s->count < OBJECT_TRACKS; i++) {
        char name[OBJECT_RENDITION_MAX] = "v";

        if (h->items[i].type == MEDIA_AUDIO) {
            snprintf(name, sizeof(name), "a%u", h->items[i].track);
        }
        if (object_tracks(h, str_from(name), container, one) > 0) {
            s->tracks[s->count++] = one[0].track;
        }
    }
}

/* Tracks borrow from codec headers, which each stream has of its own. */
static void
add_stream(struct variants *v, const struct member *m)
{
    static struct live_cut_headers headers[LIVE_LADDER_MAX];
    struct live_cut_headers *h = &headers[v->count];
    struct content *s = &v->streams[v->count];
    struct live_cut cut;

    s->member = m;
    s->count = 0;
    if (live_cut_at(&m->cuts, m->cuts.end - 1, &cut) &&
        live_cut_headers(&m->cuts, cut.header, h)) {
        find_tracks(s, h, v->a->key.container);
    }
    v->count += s->count > 0;
}

/* ---- renditions ---- */

/* Whether each track is a rendition of its own. */
static bool
is_separate(const struct variants *v)
{
    bool separate = false;

    for (size_t i = 0; i < v->count; i++) {
        const struct content *s = &v->streams[i];
        size_t sounds = sounds_of(s);

        separate |= sounds > 1 || (v->a->layer->settings->separate_audio &&
                                   has_pictures(s) && sounds > 0);
    }
    return separate && v->a->key.container->payloads_follow;
}

static void
add_sound(struct variants *v, const struct media_track *t)
{
    char name[OBJECT_RENDITION_MAX];

    name_of(name, t);
    v->renditions[v->rendition_count] = (struct multivariant_rendition){
        .type = "AUDIO",
        .group = STR("sound"),
        .name = pool_printf(v->a->request->pool, "sound %u", t->id),
        .language = STR_NONE,
        .uri = uri(v, v->heard, name),
        .is_default = v->rendition_count == 0,
        .channels = t->channels,
    };
    v->rendition_count++;
}

static void
add_sounds(struct variants *v)
{
    for (size_t i = 0; i < v->count && v->heard == NULL; i++) {
        if (sounds_of(&v->streams[i]) > 0) {
            v->heard = &v->streams[i];
        }
    }
    for (size_t i = 0; v->heard != NULL && i < v->heard->count; i++) {
        if (v->heard->tracks[i].type == MEDIA_AUDIO) {
            add_sound(v, &v->heard->tracks[i]);
        }
    }
}

/* Those of the first that has any are shown with all. */
static void
add_captions(struct variants *v)
{
    for (size_t i = 0; i < v->count && !v->captioned; i++) {
        if (!captions_are_there(&v->streams[i].member->cuts)) {
            continue;
        }
        v->captioned = true;
        v->renditions[v->rendition_count++] = (struct multivariant_rendition){
            .type = "SUBTITLES",
            .group = STR("text"),
            .name = STR("text"),
            .language = STR_NONE,
            .uri = uri(v, &v->streams[i], CAPTION_RENDITION),
        };
    }
}

/* ---- variants ---- */

/* As measured, thousandths; 0: not yet. */
static uint32_t
fps_of(const struct live_cuts *c)
{
    struct live_stream_view view = { .fps = 0 };

    measure_view(c->stream, &view);
    return view.fps;
}

/* Its own tracks; with renditions its pictures and all that is heard. */
static size_t
tracks_of(const struct variants *v, const struct content *s,
          struct media_track *out)
{
    size_t count = 0;

    for (size_t i = 0; i < s->count; i++) {
        if (v->heard == NULL || s->tracks[i].type == MEDIA_VIDEO) {
            out[count++] = s->tracks[i];
        }
    }
    for (size_t i = 0; v->heard != NULL && i < v->heard->count; i++) {
        if (v->heard->tracks[i].type == MEDIA_AUDIO &&
            count < MEDIA_TRACKS_MAX) {
            out[count++] = v->heard->tracks[i];
        }
    }
    return count;
}

static void
add_variant(struct variants *v, size_t i)
{
    const struct content *s = &v->streams[i];
    unsigned beside = v->a->key.container->payloads_follow ? BOXES : PACKETS;
    struct multivariant_variant *one = &v->items[i];
    char name[OBJECT_RENDITION_MAX] = "all";

    if (v->heard != NULL && has_pictures(s)) {
        name[0] = 'v';
        name[1] = '\0';
    } else if (v->heard != NULL) {
        name_of(name, &s->tracks[0]);
    }
    *one = (struct multivariant_variant){
        .uri = uri(v, s, name),
        .tracks = v->tracks[i],
        .track_count = tracks_of(v, s, v->tracks[i]),
        .fps = fps_of(&s->member->cuts),
        .audio = v->heard != NULL ? STR("sound") : STR_NONE,
        .subtitles = v->captioned ? STR("text") : STR_NONE,
    };
    offer_speeds(&s->member->cuts, promised_speed(&s->member->cuts),
                 &one->bandwidth, &one->average_bandwidth);
    one->bandwidth += one->bandwidth / beside + 1;
    one->average_bandwidth += one->average_bandwidth / beside + 1;
}

int
variants_write(const struct asked *a, const struct member *members,
               size_t count, struct buf *out)
{
    static struct variants v;
    bool strict = true;

    v = (struct variants){ .a = a };
    for (size_t i = 0; i < count; i++) {
        add_stream(&v, &members[i]);
    }
    if (is_separate(&v)) {
        add_sounds(&v);
    }
    add_captions(&v);
    for (size_t i = 0; i < v.count; i++) {
        add_variant(&v, i);
        strict = strict && v.streams[i].member->cuts.strict;
    }
    struct multivariant m = {
        .independent = strict,
        .variants = v.items,
        .variant_count = v.count,
        .renditions = v.renditions,
        .rendition_count = v.rendition_count,
    };

    return v.count > 0 ? multivariant_write(out, &m) : -1;
}
