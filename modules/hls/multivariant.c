/*
 * Multivariant playlists.  Sections as in playlist.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "lines.h"
#include "playlist.h"

/* ---- renditions (4.4.6.1) ---- */

static void
add_rendition(struct lines *l, const struct multivariant_rendition *r)
{
    lines_add(l, STR("#EXT-X-MEDIA:TYPE="));
    lines_add(l, str_from(r->type));
    lines_add(l, STR(",GROUP-ID="));
    lines_quoted(l, r->group);
    lines_add(l, STR(",NAME="));
    lines_quoted(l, r->name);
    if (r->language.len > 0) {
        lines_add(l, STR(",LANGUAGE="));
        lines_quoted(l, r->language);
    }
    /* DEFAULT=YES needs AUTOSELECT=YES; a rendition that a player chooses by
     * itself SHOULD differ from others in its language (4.4.6.1.1). */
    lines_add(l, r->is_default ? STR(",DEFAULT=YES") : STR(",DEFAULT=NO"));
    lines_add(l, r->is_default || r->language.len > 0 ? STR(",AUTOSELECT=YES")
                                                      : STR(",AUTOSELECT=NO"));
    if (r->channels > 0) {
        lines_add(l, STR(",CHANNELS=\""));
        lines_number(l, r->channels);
        lines_add(l, STR("\""));
    }
    lines_add(l, STR(",URI="));
    lines_quoted(l, r->uri);
    lines_add(l, STR("\n"));
}

/* ---- variants (4.4.6.2) ---- */

struct codecs {
    char names[MEDIA_TRACKS_MAX][MEDIA_CODEC_STRING_MAX];
    size_t count;
};

/* False: it has no name. */
static bool
note_codec(struct codecs *c, const struct media_track *t)
{
    char *name = c->names[c->count];
    size_t len = media_codec_string(name, t);

    for (size_t i = 0; i < c->count; i++) {
        if (str_eq(str_from(c->names[i]), str_of(name, len))) {
            return true;
        }
    }
    c->count += len > 0 ? 1 : 0;
    return len > 0;
}

/* CODECS has each format that is in the variant.  Where one has no name, none
 * is said: a player would take the others for all. */
static void
add_codecs(struct lines *l, const struct multivariant_variant *v)
{
    struct codecs c = { .count = 0 };

    if (v->track_count == 0 || v->track_count > MEDIA_TRACKS_MAX) {
        return;
    }
    for (size_t i = 0; i < v->track_count; i++) {
        if (!note_codec(&c, &v->tracks[i])) {
            return;
        }
    }
    lines_add(l, STR(",CODECS=\""));
    for (size_t i = 0; i < c.count; i++) {
        lines_add(l, i > 0 ? STR(",") : STR_NONE);
        lines_add(l, str_from(c.names[i]));
    }
    lines_add(l, STR("\""));
}

static void
add_pictures(struct lines *l, const struct multivariant_variant *v)
{
    const struct media_track *t = v->tracks;
    const struct media_track *end = t + v->track_count;

    while (t < end && t->type != MEDIA_VIDEO) {
        t++;
    }
    if (t == end) {
        return;
    }
    if (t->width > 0 && t->height > 0) {
        lines_add(l, STR(",RESOLUTION="));
        lines_number(l, t->width);
        lines_add(l, STR("x"));
        lines_number(l, t->height);
    }
    if (v->fps > 0) {
        lines_add(l, STR(",FRAME-RATE="));
        lines_thousandths(l, v->fps);
    }
    lines_add(l, STR(",VIDEO-RANGE="));
    lines_add(l, str_from(media_video_range(t)));
}

static void
add_group(struct lines *l, struct str attribute, struct str group)
{
    if (group.len > 0) {
        lines_add(l, attribute);
        lines_quoted(l, group);
    }
}

static void
add_variant(struct lines *l, const struct multivariant_variant *v)
{
    uint64_t peak = v->bandwidth > v->average_bandwidth ? v->bandwidth
                                                        : v->average_bandwidth;

    /* BANDWIDTH is required; players divide by it. */
    lines_add(l, STR("#EXT-X-STREAM-INF:BANDWIDTH="));
    lines_number(l, peak > 0 ? peak : 1);
    if (v->average_bandwidth > 0) {
        lines_add(l, STR(",AVERAGE-BANDWIDTH="));
        lines_number(l, v->average_bandwidth);
    }
    add_codecs(l, v);
    add_pictures(l, v);
    add_group(l, STR(",AUDIO="), v->audio);
    add_group(l, STR(",SUBTITLES="), v->subtitles);
    lines_add(l, STR("\n"));
    lines_add(l, v->uri);
    lines_add(l, STR("\n"));
}

int
multivariant_write(struct buf *out, const struct multivariant *m)
{
    struct lines l = { .out = out };

    lines_add(&l, STR("#EXTM3U\n#EXT-X-VERSION:6\n"));
    if (m->independent) {
        lines_add(&l, STR("#EXT-X-INDEPENDENT-SEGMENTS\n"));
    }
    for (size_t i = 0; i < m->rendition_count; i++) {
        add_rendition(&l, &m->renditions[i]);
    }
    for (size_t i = 0; i < m->variant_count; i++) {
        add_variant(&l, &m->variants[i]);
    }
    return l.full ? -1 : 0;
}
