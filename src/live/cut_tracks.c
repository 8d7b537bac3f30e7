/*
 * The tracks of a stream that is cut: which there are, and their codec headers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/cut.h"

#include <string.h>

#include "media/describe.h"

void
cut_tracks_start(struct cutter *c)
{
    for (unsigned i = 0; i < CUT_TRACKS; i++) {
        struct cut_track *t = &c->tracks[i];

        *t = (struct cut_track){
            .type = i == 0 ? MEDIA_VIDEO : MEDIA_AUDIO,
            .met = CUT_UNMET,
            .room = i == 0 ? sizeof(c->picture_header) : CUT_SOUND_HEADER,
            .header = i == 0 ? c->picture_header : c->sound_headers[i - 1],
        };
    }
}

/* Sound: that of an id, or a free one. */
static struct cut_track *
sound_of(struct cutter *c, uint8_t id)
{
    struct cut_track *unused = NULL;

    for (unsigned i = 1; i < CUT_TRACKS; i++) {
        struct cut_track *t = &c->tracks[i];

        if (t->known && t->id == id) {
            return t;
        }
        if (unused == NULL && !t->known) {
            unused = t;
        }
    }
    if (unused != NULL) {
        unused->id = id;
    }
    return unused;
}

struct cut_track *
cut_track_of(struct cutter *c, const struct cut_frame *f)
{
    struct cut_track *pictures = &c->tracks[0];

    if (f->frame->type == MEDIA_AUDIO) {
        return sound_of(c, f->info.track);
    }
    if (f->frame->type != MEDIA_VIDEO || !f->leading) {
        return NULL;
    }
    if (pictures->id != f->info.track) {
        pictures->id = f->info.track;
        pictures->known = false;
        c->differs |= pictures->in;
    }
    return pictures;
}

/* Of another header, or another session: its sound begins where its clock is,
 * but not before older sound ends. */
static void
begin_anew(struct cut_track *t)
{
    t->next =
        LIVE_CUT_ANEW | cut_rescale((uint64_t)t->heard, 1000, t->timescale);
}

/* Its header tells whether it can be offered. */
static void
read_header(struct cut_track *t)
{
    struct media_track track;

    t->known = media_track_of(&track, (enum media_type)t->type,
                              str_of(t->header, t->len)) == 0;
    t->timescale = t->known ? track.timescale : 0;
    t->duration = t->known && track.codec == CODEC_AAC
                      ? media_sound_duration(&track, STR_NONE)
                      : 0;
    t->track = track;
    begin_anew(t);
}

/* Whether the front of a frame of a codec without header says what another one
 * said. */
static bool
is_like(const struct cut_track *t, const struct cut_frame *f)
{
    struct media_track track;

    return !t->older ||
           media_track_of(&track, (enum media_type)t->type, f->payload) == -1 ||
           (track.timescale == t->track.timescale &&
            track.channels == t->track.channels &&
            track.width == t->track.width && track.height == t->track.height);
}

/* Whether a codec header has the configuration in force, in whatever kind of
 * message: readers compare configurations, too. */
static bool
says_same(const struct cut_track *t, const struct cut_frame *f)
{
    const uint8_t *p = (const uint8_t *)f->payload.ptr;

    return (f->info.flags & MEDIA_HEADER) != 0 &&
           str_eq(media_body((enum media_type)t->type, p, f->payload.len),
                  t->track.config);
}

void
cut_track_learn(struct cutter *c, struct cut_track *t,
                const struct cut_frame *f)
{
    size_t len = f->payload.len;
    bool header = (f->info.flags & MEDIA_HEADER) != 0;

    if (!header && (media_codec_has_header((enum media_codec)f->info.codec) ||
                    (t->known && t->codec == f->info.codec && is_like(t, f)))) {
        t->older = false;
        return;
    }
    t->older = false;
    if (!header && len > MEDIA_FRONT_MAX) {
        len = MEDIA_FRONT_MAX;
    }
    if (len > t->room) {
        len = 0;
    }
    if (t->known && t->codec == f->info.codec &&
        (says_same(t, f) ||
         (t->len == len && memcmp(t->header, f->payload.ptr, len) == 0))) {
        return;
    }
    memcpy(t->header, f->payload.ptr, len);
    t->len = (uint16_t)len;
    t->codec = f->info.codec;
    t->width = t->height = 0;
    read_header(t);
    t->there = t->there && t->known;
    t->other = t->in;
    c->differs |= t->in;
}

void
cut_track_size(struct cutter *c, struct cut_track *t, const struct cut_frame *f)
{
    uint32_t width, height;

    if (t->codec != CODEC_VP9 ||
        !media_frame_size((const uint8_t *)f->payload.ptr, f->payload.len,
                          &width, &height) ||
        width > UINT16_MAX || height > UINT16_MAX ||
        (t->width == width && t->height == height)) {
        return;
    }
    t->width = (uint16_t)width;
    t->height = (uint16_t)height;
    c->differs |= t->in;
}

void
cut_tracks_expect(struct cutter *c)
{
    const struct cut_set *set = &c->page->sets[c->last.header % CUT_SETS];
    uint32_t used = 0;

    if (atomic_load(&set->number) != c->last.header || c->last.header == 0 ||
        set->count > CUT_TRACKS) {
        return;
    }
    for (uint32_t i = 0; i < set->count; i++) {
        struct cut_set_item item = set->items[i];
        struct cut_track *t;

        if (item.len > sizeof(set->bytes) - used) {
            return;
        }
        t = item.type == MEDIA_AUDIO && item.len <= CUT_SOUND_HEADER
                ? sound_of(c, item.track)
                : NULL;
        if (t != NULL) {
            memcpy(t->header, set->bytes + used, item.len);
            t->len = item.len;
            read_header(t);
            t->codec = t->track.codec;
            t->older = true;
        }
        used += item.len;
    }
}

/* ---- sets ---- */

static bool
is_of_set(const struct cut_track *t)
{
    return t->known && t->there;
}

/* The next sound of the set behind that id. */
static struct cut_track *
next_sound(struct cutter *c, int after)
{
    struct cut_track *found = NULL;

    for (unsigned i = 1; i < CUT_TRACKS; i++) {
        struct cut_track *t = &c->tracks[i];

        if (is_of_set(t) && t->id > after &&
            (found == NULL || t->id < found->id)) {
            found = t;
        }
    }
    return found;
}

static void
add(struct cut_set *set, struct cut_track *t, size_t *used)
{
    t->in = *used + t->len <= sizeof(set->bytes);
    if (!t->in) {
        return;
    }
    set->items[set->count] = (struct cut_set_item){
        .type = t->type,
        .track = t->id,
        .len = t->len,
        .width = t->width,
        .height = t->height,
    };
    memcpy(set->bytes + *used, t->header, t->len);
    *used += t->len;
    set->count++;
    t->told = t->timescale;
}

static void
make_set(struct cutter *c, struct cut_set *set)
{
    struct cut_track *t;
    size_t used = 0;
    uint32_t place = 0;

    set->count = 0;
    for (unsigned i = 0; i < CUT_TRACKS; i++) {
        c->tracks[i].in = c->tracks[i].other = false;
    }
    if (is_of_set(&c->tracks[0])) {
        add(set, &c->tracks[0], &used);
    }
    for (int id = -1; (t = next_sound(c, id)) != NULL; id = t->id) {
        add(set, t, &used);
        t->place = t->in ? place++ : 0;
    }
    c->differs = false;
}

/* Bytes of a set that was made. */
static size_t
bytes_of(const struct cut_set *set)
{
    size_t used = 0;

    for (uint32_t i = 0; i < set->count; i++) {
        used += set->items[i].len;
    }
    return used;
}

static void
write_set(struct cut_page *page, const struct cut_set *set, uint32_t number)
{
    struct cut_set *to = &page->sets[number % CUT_SETS];

    atomic_store(&to->number, 0);
    atomic_thread_fence(memory_order_seq_cst);
    to->count = set->count;
    memcpy(to->items, set->items, set->count * sizeof(to->items[0]));
    memcpy(to->bytes, set->bytes, bytes_of(set));
    atomic_store_explicit(&to->number, number, memory_order_release);
}

/* Whether one of the page, which another process may have spoilt, says what one
 * says that was made. */
static bool
is_same(const struct cut_set *made, const struct cut_set *old)
{
    return made->count == old->count &&
           memcmp(made->items, old->items,
                  made->count * sizeof(made->items[0])) == 0 &&
           memcmp(made->bytes, old->bytes, bytes_of(made)) == 0;
}

uint32_t
cut_tracks_set(struct cutter *c)
{
    uint32_t newest = c->last.header;
    const struct cut_set *old = &c->page->sets[newest % CUT_SETS];
    struct cut_set set;

    make_set(c, &set);
    if (newest != 0 && atomic_load(&old->number) == newest &&
        is_same(&set, old)) {
        return newest;
    }
    newest = newest == UINT32_MAX ? 1 : newest + 1;
    write_set(c->page, &set, newest);
    return newest;
}

void
cut_tracks_mend(struct cutter *c)
{
    const struct cut_set *old = &c->page->sets[c->last.header % CUT_SETS];
    struct cut_set set;

    make_set(c, &set);
    if (atomic_load(&old->number) != c->last.header || !is_same(&set, old)) {
        write_set(c->page, &set, c->last.header);
    }
}

void
cut_tracks_grow(struct cutter *c)
{
    struct cut_set set;

    make_set(c, &set);
    write_set(c->page, &set, c->last.header);
}
