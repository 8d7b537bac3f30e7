/*
 * Where the bytes of an object lie.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "object.h"

#include <string.h>

#include "base/mem.h"
#include "captions.h"

/* Boxes of an object; of a container that writes everything, all of it. */
#define OWN_MAX ((size_t)256 * 1024 * 1024)
#define PIECES_MAX ((size_t)1 << 20)
/* Frames of sound that come while a picture is late, at most. */
#define LOOKED_AHEAD 1024

/* ---- tracks ---- */

/* "a3": 3; -1: it is none of sound. */
static int64_t
sound_of(struct str rendition)
{
    int64_t id = -1;

    if (rendition.len > 1 && rendition.ptr[0] == 'a') {
        str_to_int(str_skip(rendition, 1), 0, 255, &id);
    }
    return id;
}

static bool
is_wanted(const struct media_track *t, struct str rendition, bool first_sound)
{
    if (t->type == MEDIA_VIDEO) {
        return rendition.len == 0 || str_eq(rendition, STR("v"));
    }
    return rendition.len == 0 ? first_sound : sound_of(rendition) == t->id;
}

size_t
object_tracks(const struct live_cut_headers *h, struct str rendition,
              const struct media_container *container,
              struct object_track tracks[OBJECT_TRACKS])
{
    uint32_t sounds = 0;
    size_t count = 0;

    for (uint32_t i = 0; i < h->count && count < OBJECT_TRACKS; i++) {
        const struct live_cut_header *item = &h->items[i];
        struct media_track t;

        if (item->type != MEDIA_VIDEO && item->type != MEDIA_AUDIO) {
            continue;
        }
        uint32_t sound = sounds;

        sounds += item->type == MEDIA_AUDIO;
        if (sound >= LIVE_CUT_SOUNDS || live_cut_track(item, &t) == -1 ||
            !container->carries(&t) || !is_wanted(&t, rendition, sound == 0)) {
            continue;
        }
        tracks[count++] = (struct object_track){ .track = t, .sound = sound };
    }
    return count;
}

/* ---- which frames ---- */

/* The frames of an object. */
struct extent {
    struct live_cut first;
    uint64_t cuts; /* so many parts */
};

static bool
is_of_run(const struct live_cuts *c, uint64_t word, uint64_t cut)
{
    return word == c->word ? cut >= c->run
                           : word == c->older_word && word != 0 && cut < c->run;
}

/* Whether the part that a cut begins has ended. */
static bool
is_whole(const struct live_cuts *c, uint64_t cut)
{
    return cut + 1 < c->end || c->over;
}

static enum object_found
find_part(const struct live_cuts *c, const struct object_key *key,
          struct extent *e)
{
    if (!live_cut_of(c, key->number, (uint32_t)key->part, &e->first) ||
        !is_of_run(c, key->word, e->first.number)) {
        return OBJECT_GONE;
    }
    e->cuts = 1;
    return is_whole(c, e->first.number) ? OBJECT_HERE : OBJECT_LATER;
}

static enum object_found
find_segment(const struct live_cuts *c, const struct object_key *key,
             struct extent *e)
{
    struct live_cut next;

    if (!live_cut_of(c, key->number, 0, &e->first) ||
        !is_of_run(c, key->word, e->first.number)) {
        return OBJECT_GONE;
    }
    for (e->cuts = 1; e->first.number + e->cuts < c->end; e->cuts++) {
        if (!live_cut_at(c, e->first.number + e->cuts, &next)) {
            return OBJECT_GONE;
        }
        if (next.segment != key->number) {
            return OBJECT_HERE;
        }
    }
    return c->over ? OBJECT_HERE : OBJECT_LATER;
}

/* A container that writes everything counts on from part to part. */
static bool
can_be_parts(const struct media_container *c)
{
    return c->payloads_follow || c == &captions_container;
}

static enum object_found
find_extent(const struct live_cuts *c, const struct object_key *key,
            struct extent *e)
{
    if (key->part == OBJECT_SEGMENT) {
        return find_segment(c, key, e);
    }
    if (key->part < 0 || !can_be_parts(key->container)) {
        return OBJECT_GONE;
    }
    return find_part(c, key, e);
}

/* Behind a cut in front of sound: the time of the next picture, which was there
 * when the cut was noted. */
static int64_t
next_picture(const struct live_cuts *c, const struct live_cut *cut)
{
    struct live_cut_frame f;
    struct media_sample_head head;

    for (uint64_t n = cut->frame; n < cut->frame + LOOKED_AHEAD; n++) {
        if (live_cut_frame(c, cut, n, &f) && f.type == MEDIA_VIDEO &&
            media_sample_head(&head, f.type, str_of(f.front, f.front_len)) ==
                0 &&
            head.offset < f.len) {
            return f.time > cut->time ? f.time : cut->time;
        }
    }
    return cut->time;
}

/* The frames from one cut to another, which need not be there. */
static bool
stretch_of(const struct live_cuts *c, const struct live_cut *from, uint64_t to,
           struct object_stretch *s)
{
    struct live_cut next;

    s->cut = *from;
    if (to < c->end) {
        if (!live_cut_at(c, to, &next)) {
            return false;
        }
        s->end = next.ended_frame;
        s->end_time = next.ended;
        s->last_ends = (next.flags & LIVE_CUT_HEARD) != 0
                           ? next_picture(c, &next)
                           : next.ended;
    } else {
        s->end = c->end_frame;
        s->end_time = s->last_ends = c->end_time;
    }
    return true;
}

/* ---- putting it together ---- */

static int
add_piece(struct object *o, const struct object_piece *p)
{
    size_t n = o->piece_count;

    if ((n & (n - 1)) == 0) { /* it is full at each power of two */
        size_t room = n == 0 ? 1 : n * 2;
        void *more = room > PIECES_MAX
                         ? NULL
                         : try_resize(o->pieces, room * sizeof(*o->pieces));

        if (more == NULL) {
            return -1;
        }
        o->pieces = more;
    }
    o->pieces[o->piece_count++] = *p;
    o->size += p->len;
    return 0;
}

static int
add_own(struct object *o, size_t from)
{
    return add_piece(o, &(struct object_piece){
                            .frame = OBJECT_OWN,
                            .at = (uint32_t)from,
                            .len = (uint32_t)(buf_len(&o->own) - from),
                        });
}

static int
add_payloads(struct object *o, const struct object_samples *s, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < s->runs[i].count; k++) {
            if (add_piece(o, &s->pieces[i][k]) == -1) {
                return -1;
            }
        }
    }
    return 0;
}

struct making {
    const struct live_cuts *c;
    struct object *o;
    struct object_track tracks[OBJECT_TRACKS];
    size_t count;
    bool events; /* messages stand in it */
};

/* Of several renditions of a stream, the one with the pictures has them. */
static bool
has_events(const struct live_cut_headers *h, struct str rendition)
{
    bool pictures = false;

    for (uint32_t i = 0; i < h->count; i++) {
        pictures = pictures || h->items[i].type == MEDIA_VIDEO;
    }
    return !pictures || rendition.len == 0 || rendition.ptr[0] != 'a';
}

/* Nothing of these tracks lies in it, as in a part that is a gap. */
static bool
is_empty(const struct making *m, const struct object_samples *s)
{
    size_t count = s->event_count;

    for (size_t i = 0; i < m->count; i++) {
        count += s->runs[i].count;
    }
    return count == 0;
}

/* cuts: how many parts it is.  Beside others an empty one is left out: no
 * fragment is without samples. */
static int
add_fragment(struct making *m, const struct object_stretch *s, uint64_t cuts,
             bool beside)
{
    const struct media_container *container = m->o->key.container;
    size_t before = buf_len(&m->o->own);
    struct object_samples samples;

    if (object_gather(m->c, s, m->tracks, m->count, &samples) == -1) {
        return -1;
    }
    if (beside && container->payloads_follow && is_empty(m, &samples)) {
        return 0;
    }
    struct media_fragment f = {
        .sequence = (uint32_t)s->cut.number + 1,
        .first = s->cut.part == 0,
        .runs = samples.runs,
        .count = m->count,
        .steps = (uint32_t)cuts,
        .events = samples.events,
        .event_count = samples.event_count,
    };

    if (container->fragment(&m->o->own, &f) == -1 ||
        add_own(m->o, before) == -1) {
        return -1;
    }
    m->o->video += samples.video;
    m->o->audio += samples.audio;
    return container->payloads_follow ? add_payloads(m->o, &samples, m->count)
                                      : 0;
}

static int
add_parts(struct making *m, const struct extent *e)
{
    struct live_cut cut = e->first;
    struct object_stretch s = { .with_events = m->events };

    for (uint64_t i = 0; i < e->cuts; i++) {
        bool beside = m->o->piece_count > 0 || i + 1 < e->cuts;

        if (i > 0 && !live_cut_at(m->c, e->first.number + i, &cut)) {
            return -1;
        }
        if (!stretch_of(m->c, &cut, cut.number + 1, &s) ||
            add_fragment(m, &s, 1, beside) == -1) {
            return -1;
        }
    }
    return 0;
}

static int
add_all(struct making *m, const struct extent *e)
{
    struct object_stretch s = {
        .with_bytes = !m->o->key.container->payloads_follow,
        .with_events = m->events,
    };

    return stretch_of(m->c, &e->first, e->first.number + e->cuts, &s)
               ? add_fragment(m, &s, e->cuts, false)
               : -1;
}

/* Whether an object is what its parts are, one behind the other.  A segment of
 * which no part was told is one piece: its pictures last until the next one,
 * also where a part without any would lie between them. */
static bool
has_parts(const struct object_key *key, const struct live_cut *first)
{
    return key->container->payloads_follow &&
           (key->part != OBJECT_SEGMENT ||
            (first->flags & LIVE_CUT_PLAIN) == 0);
}

/* ---- objects ---- */

static struct object *
new_object(const struct object_key *key)
{
    struct object *o = mem_zero(sizeof(*o));

    o->key = *key;
    list_init(&o->chain);
    list_init(&o->age);
    list_init(&o->sendings);
    buf_init(&o->own, OWN_MAX);
    return o;
}

void
object_free(struct object **o)
{
    if (*o != NULL) {
        buf_clear(&(*o)->own);
        mem_free(&(*o)->pieces);
        mem_free(&(*o)->copy);
        mem_free(o);
    }
}

static enum object_found
make_init(const struct live_cuts *c, const struct object_key *key,
          struct object **out)
{
    static struct live_cut_headers h;
    struct media_track tracks[OBJECT_TRACKS];
    struct making m = { .c = c };

    if ((key->word != c->word && key->word != c->older_word) ||
        key->container->init == NULL || key->number > UINT32_MAX ||
        !live_cut_headers(c, (uint32_t)key->number, &h)) {
        return OBJECT_GONE;
    }
    m.count =
        object_tracks(&h, str_from(key->rendition), key->container, m.tracks);
    if (m.count == 0) {
        return OBJECT_GONE;
    }
    for (size_t i = 0; i < m.count; i++) {
        tracks[i] = m.tracks[i].track;
    }
    m.o = new_object(key);
    if (key->container->init(&m.o->own, tracks, m.count) == -1 ||
        add_own(m.o, 0) == -1) {
        object_free(&m.o);
        return OBJECT_FAILED;
    }
    *out = m.o;
    return OBJECT_HERE;
}

enum object_found
object_look(const struct live_cuts *c, const struct object_key *key)
{
    struct extent e;

    if (key->part == OBJECT_INIT) {
        return key->word == c->word || key->word == c->older_word ? OBJECT_HERE
                                                                  : OBJECT_GONE;
    }
    return find_extent(c, key, &e);
}

static enum object_found
make_captions(const struct live_cuts *c, const struct object_key *key,
              const struct extent *e, struct object **out)
{
    struct object_stretch s = { .with_bytes = false };
    struct object *o;

    if (!captions_are_kept(c, &e->first) ||
        !stretch_of(c, &e->first, e->first.number + e->cuts, &s)) {
        return OBJECT_GONE;
    }
    o = new_object(key);
    o->cut = e->first;
    if (captions_write(c, &s, &o->own) != 0 || add_own(o, 0) == -1) {
        object_free(&o);
        return OBJECT_FAILED;
    }
    *out = o;
    return OBJECT_HERE;
}

enum object_found
object_make(const struct live_cuts *c, const struct object_key *key,
            struct object **out)
{
    static struct live_cut_headers h;
    struct making m = { .c = c };
    struct extent e;

    if (key->part == OBJECT_INIT) {
        return make_init(c, key, out);
    }
    enum object_found found = find_extent(c, key, &e);

    if (found != OBJECT_HERE) {
        return found;
    }
    if (key->container == &captions_container) {
        return make_captions(c, key, &e, out);
    }
    if (!live_cut_headers(c, e.first.header, &h)) {
        return OBJECT_GONE;
    }
    m.count =
        object_tracks(&h, str_from(key->rendition), key->container, m.tracks);
    if (m.count == 0) {
        return OBJECT_GONE;
    }
    m.events = has_events(&h, str_from(key->rendition));
    m.o = new_object(key);
    m.o->cut = e.first;
    if ((has_parts(key, &e.first) ? add_parts(&m, &e) : add_all(&m, &e)) ==
        -1) {
        object_free(&m.o);
        return OBJECT_FAILED;
    }
    *out = m.o;
    return OBJECT_HERE;
}

size_t
object_memory(const struct object *o)
{
    return sizeof(*o) + o->own.size + o->piece_count * sizeof(*o->pieces);
}

/* ---- bytes ---- */

static int
ranges_of_copy(const struct object *o, uint64_t from, struct iovec *ranges)
{
    ranges[0] = (struct iovec){ o->copy + from, (size_t)(o->size - from) };
    return 1;
}

static int
ranges_of_piece(const struct object *o, const struct live_cuts *c,
                const struct object_piece *p, uint32_t skip,
                struct iovec *ranges, int most)
{
    if (p->frame == OBJECT_OWN) {
        ranges[0] = (struct iovec){
            (void *)(uintptr_t)(buf_data(&o->own) + p->at + skip),
            p->len - skip,
        };
        return 1;
    }
    return live_cut_ranges(c, p->frame, p->at + skip, p->len - skip, ranges,
                           most);
}

/* The run that the frames are of is still that of the stream, or the one
 * before. */
static bool
finds_stream(const struct object *o, struct live_cuts *c)
{
    return live_cuts_find(str_from(o->name), c) &&
           (o->key.word == c->word || o->key.word == c->older_word);
}

int
object_ranges(const struct object *o, uint64_t from, struct iovec *ranges,
              int most)
{
    struct live_cuts c;
    uint64_t at = 0;
    int count = 0;
    bool all = o->piece_count == 1 && o->pieces[0].frame == OBJECT_OWN;

    if (o->copy != NULL) {
        return ranges_of_copy(o, from, ranges);
    }
    if (!all && !finds_stream(o, &c)) {
        return -1;
    }
    for (size_t i = 0; i < o->piece_count && count < most; i++) {
        const struct object_piece *p = &o->pieces[i];

        at += p->len;
        if (at <= from) {
            continue;
        }
        uint32_t skip = p->len - (uint32_t)(at - from);
        int n = ranges_of_piece(o, &c, p, skip, ranges + count, most - count);

        if (n < 0) {
            return count > 0 ? count : -1;
        }
        count += n;
        from = at;
    }
    return count;
}

bool
object_is_kept(const struct object *o, const struct live_cuts *c)
{
    bool all = o->piece_count == 1 && o->pieces[0].frame == OBJECT_OWN;

    return all || o->copy != NULL || o->cut.number >= c->first;
}

int
object_copy(struct object *o)
{
    static struct iovec ranges[256];
    uint64_t done = 0;

    if (o->copy != NULL) {
        return 0;
    }
    uint8_t *copy = try_alloc((size_t)o->size);

    while (copy != NULL && done < o->size) {
        int n = object_ranges(o, done, ranges, 256);

        if (n <= 0) {
            mem_free(&copy);
            return -1;
        }
        for (int i = 0; i < n; i++) {
            memcpy(copy + done, ranges[i].iov_base, ranges[i].iov_len);
            done += ranges[i].iov_len;
        }
    }
    o->copy = copy;
    return copy != NULL ? 0 : -1;
}
