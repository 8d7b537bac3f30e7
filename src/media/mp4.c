/*
 * Fragmented MP4: the initialisation segment (ISO/IEC 14496-12; CMAF, ISO/IEC
 * 23000-19, when there is one track).
 *
 * Track ids are 1, 2, ... in the order of the tracks.  There are no edit lists:
 * composition times are signed, decode times stand in each fragment.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "media/mp4_impl.h"

#define MOVIE_TIMESCALE 1000
#define LANGUAGE_UNKNOWN 0x55c4 /* "und" */
#define SIZE_MOST 0xffffu
#define TRACK_SHOWN 7 /* enabled, in movie, in preview */

/* No rotation, no scaling. */
static void
add_matrix(struct mp4_out *o)
{
    static const uint32_t matrix[] = { 0x10000, 0, 0, 0,         0x10000,
                                       0,       0, 0, 0x40000000 };

    for (size_t i = 0; i < sizeof(matrix) / sizeof(matrix[0]); i++) {
        mp4_u32(o, matrix[i]);
    }
}

static void
add_file_type(struct mp4_out *o, const struct media_track *tracks, size_t count)
{
    size_t box = mp4_open(o, "ftyp");

    mp4_add(o, "iso6", 4); /* signed composition times */
    mp4_u32(o, 0);
    mp4_add(o, "iso6mp41", 8);
    if (count == 1) {
        mp4_add(o, "cmfccmf2", 8);
    }
    for (size_t i = 0; i < count; i++) {
        if (tracks[i].codec == CODEC_AV1) {
            mp4_add(o, "av01", 4);
            break;
        }
    }
    mp4_close(o, box);
}

static void
add_movie_header(struct mp4_out *o, size_t count)
{
    size_t box = mp4_open_full(o, "mvhd", 0, 0);

    mp4_zeros(o, 8); /* when it was made */
    mp4_u32(o, MOVIE_TIMESCALE);
    mp4_u32(o, 0);       /* duration: fragments have it */
    mp4_u32(o, 0x10000); /* rate */
    mp4_u16(o, 0x100);   /* volume */
    mp4_zeros(o, 10);
    add_matrix(o);
    mp4_zeros(o, 24);
    mp4_u32(o, (uint32_t)count + 1);
    mp4_close(o, box);
}

static void
add_track_header(struct mp4_out *o, const struct media_track *t, uint32_t id)
{
    bool sound = t->type == MEDIA_AUDIO;
    size_t box = mp4_open_full(o, "tkhd", 0, TRACK_SHOWN);

    mp4_zeros(o, 8);
    mp4_u32(o, id);
    mp4_zeros(o, 4 + 4 + 8 + 2 + 2); /* duration, layer, group */
    mp4_u16(o, sound ? 0x100 : 0);
    mp4_u16(o, 0);
    add_matrix(o);
    mp4_u32(o, (t->width < SIZE_MOST ? t->width : SIZE_MOST) << 16);
    mp4_u32(o, (t->height < SIZE_MOST ? t->height : SIZE_MOST) << 16);
    mp4_close(o, box);
}

static void
add_media_header(struct mp4_out *o, const struct media_track *t)
{
    size_t box = mp4_open_full(o, "mdhd", 0, 0);

    mp4_zeros(o, 8);
    mp4_u32(o, t->timescale);
    mp4_u32(o, 0);
    mp4_u16(o, LANGUAGE_UNKNOWN);
    mp4_u16(o, 0);
    mp4_close(o, box);
}

static void
add_handler(struct mp4_out *o, bool sound)
{
    size_t box = mp4_open_full(o, "hdlr", 0, 0);

    mp4_u32(o, 0);
    mp4_add(o, sound ? "soun" : "vide", 4);
    mp4_zeros(o, 12);
    mp4_add(o, sound ? "sound" : "video", sizeof("sound"));
    mp4_close(o, box);
}

/* Media is in the file itself. */
static void
add_data_information(struct mp4_out *o)
{
    size_t information = mp4_open(o, "dinf");
    size_t references = mp4_open_full(o, "dref", 0, 0);

    mp4_u32(o, 1);
    mp4_close(o, mp4_open_full(o, "url ", 0, 1));
    mp4_close(o, references);
    mp4_close(o, information);
}

/* All tables but the first are empty: samples are in fragments. */
static void
add_sample_table(struct mp4_out *o, const struct media_track *t)
{
    static const char empty[][5] = { "stts", "stsc", "stsz", "stco" };
    size_t table = mp4_open(o, "stbl");
    size_t box = mp4_open_full(o, "stsd", 0, 0);

    mp4_u32(o, 1);
    mp4_entry(o, t);
    mp4_close(o, box);
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++) {
        box = mp4_open_full(o, empty[i], 0, 0);
        mp4_zeros(o, i == 2 ? 8 : 4);
        mp4_close(o, box);
    }
    mp4_close(o, table);
}

static void
add_track(struct mp4_out *o, const struct media_track *t, uint32_t id)
{
    bool sound = t->type == MEDIA_AUDIO;
    size_t track = mp4_open(o, "trak"), media, information, box;

    add_track_header(o, t, id);
    media = mp4_open(o, "mdia");
    add_media_header(o, t);
    add_handler(o, sound);
    information = mp4_open(o, "minf");
    box =
        sound ? mp4_open_full(o, "smhd", 0, 0) : mp4_open_full(o, "vmhd", 0, 1);
    mp4_zeros(o, sound ? 4 : 8);
    mp4_close(o, box);
    add_data_information(o);
    add_sample_table(o, t);
    mp4_close(o, information);
    mp4_close(o, media);
    mp4_close(o, track);
}

/* Fragments follow; each says all of its samples itself. */
static void
add_extends(struct mp4_out *o, size_t count)
{
    size_t extends = mp4_open(o, "mvex");

    for (uint32_t id = 1; id <= count; id++) {
        size_t box = mp4_open_full(o, "trex", 0, 0);

        mp4_u32(o, id);
        mp4_u32(o, 1); /* sample description */
        mp4_zeros(o, 12);
        mp4_close(o, box);
    }
    mp4_close(o, extends);
}

static int
write_init(struct buf *out, const struct media_track *tracks, size_t count)
{
    struct mp4_out o = mp4_out_to(out);
    size_t movie;

    add_file_type(&o, tracks, count);
    movie = mp4_open(&o, "moov");
    add_movie_header(&o, count);
    for (size_t i = 0; i < count; i++) {
        add_track(&o, &tracks[i], (uint32_t)i + 1);
    }
    add_extends(&o, count);
    mp4_close(&o, movie);
    return mp4_out_end(&o);
}

const struct media_container media_mp4 = {
    .name = "fmp4",
    .suffix = ".m4s",
    .type = "video/mp4",
    .audio_type = "audio/mp4",
    .init_suffix = ".mp4",
    .payloads_follow = true,
    .carries = mp4_carries,
    .init = write_init,
    .fragment = mp4_fragment,
};
