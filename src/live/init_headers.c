/*
 * The prologue of a stream: built anew in a fresh segment for every change,
 * then exchanged for the old one, which is retired.
 *
 * The writer alone changes it; a process killed in between leaves a segment
 * that the sweep finds.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/init_headers.h"

#include <string.h>

#include "base/clock.h"
#include "media/pieces.h"

#define CHANGE_MS (1000 / PROLOGUE_RATE) /* what one change costs */
#define RETIRED_MAX (2 * PROLOGUE_BURST)

/* ---- of which tracks a message is ---- */

struct tracks {
    uint64_t set[4];
};

static void
add_track(struct tracks *t, uint8_t track)
{
    t->set[track / 64] |= UINT64_C(1) << track % 64;
}

static struct tracks
tracks_of(enum media_type type, uint8_t track, struct str payload)
{
    struct media_source source = media_source_of(&payload);
    struct tracks t = { { 0 } };
    struct media_pieces p;

    if (media_pieces(&p, type, &source) == -1) {
        add_track(&t, track);
        return t;
    }
    for (uint32_t i = 0; i < p.count; i++) {
        add_track(&t, p.all[i].track);
    }
    return t;
}

/* A message that is put in, and how others relate to it. */
struct putting {
    enum media_type type;
    struct media_info info;
    struct str payload;
    struct tracks tracks;
};

enum relation {
    OTHERS, /* it is of other tracks, or of another kind */
    PARTLY, /* some of its tracks are of the new one, too */
    WHOLLY, /* all of them are */
};

static enum relation
relation_of(const struct prologue_item *item, struct str bytes,
            const struct putting *new)
{
    struct tracks old;
    uint64_t both = 0, missing = 0;

    if (item->type != new->type ||
        item->flags != (new->info.flags &MEDIA_KEPT)) {
        return OTHERS;
    }
    old = tracks_of(new->type, item->track, bytes);
    for (unsigned i = 0; i < 4; i++) {
        both |= old.set[i] & new->tracks.set[i];
        missing |= old.set[i] & ~new->tracks.set[i];
    }
    return both == 0 ? OTHERS : missing != 0 ? PARTLY : WHOLLY;
}

/* ---- reading ---- */

const struct prologue *
prologue_of(struct stream *s)
{
    uint32_t segment = atomic_load(&s->prologue);

    if (segment == SEGMENT_NONE) {
        return NULL;
    }
    return (const struct prologue *)(const void *)segment_bytes(segment);
}

bool
prologue_item(const struct prologue *p, uint32_t i, struct prologue_item *item)
{
    if (i >= PROLOGUE_ITEMS || i >= p->count) {
        return false;
    }
    *item = p->items[i];
    if (item->len > PROLOGUE_BYTES ||
        item->offset > PROLOGUE_BYTES - item->len) {
        item->offset = item->len = 0;
    }
    return true;
}

static bool
has_room(const struct prologue *p, size_t len)
{
    return p->count < PROLOGUE_ITEMS && p->used <= PROLOGUE_BYTES &&
           len <= PROLOGUE_BYTES - p->used;
}

static void
add_item(struct prologue *p, const struct prologue_item *like,
         const void *bytes, uint32_t len)
{
    p->items[p->count] = *like;
    p->items[p->count].offset = p->used;
    p->items[p->count].len = len;
    memcpy(p->bytes + p->used, bytes, len);
    p->used += len;
    p->count++;
}

static struct str
bytes_of(const struct prologue *p, const struct prologue_item *item)
{
    return str_of(p->bytes + item->offset, item->len);
}

/* Copies all items but those that the new one stands for; it comes behind
 * those that have other tracks beside its own, and so counts. */
static void
copy_others(struct prologue *to, const struct prologue *from,
            const struct putting *new)
{
    struct prologue_item item;

    to->count = 0;
    to->used = 0;
    for (uint32_t i = 0; from != NULL && prologue_item(from, i, &item); i++) {
        struct str bytes = bytes_of(from, &item);

        if (has_room(to, item.len) &&
            relation_of(&item, bytes, new) != WHOLLY) {
            add_item(to, &item, bytes.ptr, item.len);
        }
    }
}

/* Tells the change that the message makes, if it has room. */
static enum prologue_change
change_of(const struct prologue *p, const struct putting *new)
{
    enum prologue_change change = PROLOGUE_NEW;
    struct prologue_item item;

    for (uint32_t i = 0; p != NULL && prologue_item(p, i, &item); i++) {
        struct str bytes = bytes_of(p, &item);

        if (relation_of(&item, bytes, new) != OTHERS) {
            change =
                str_eq(bytes, new->payload) ? PROLOGUE_SAME : PROLOGUE_CHANGED;
        }
    }
    return change; /* the newest of them counts */
}

/* ---- what a writer may take ---- */

/* True: it has one change less. */
static bool
may_change(struct prologue_writer *w, struct media_info info)
{
    int64_t now = clock_ms();
    int64_t *spent = &w->spent_until[info.flags & MEDIA_HEADER ? 0 : 1];
    int64_t from = *spent > now ? *spent : now;

    if (from + CHANGE_MS > now + PROLOGUE_BURST * CHANGE_MS) {
        return false;
    }
    *spent = from + CHANGE_MS;
    return true;
}

static void
note_retired(struct prologue_writer *w, uint64_t epoch)
{
    if (w->count == RETIRED_MAX) {
        w->first = (w->first + 1) % RETIRED_MAX;
        w->count--;
    }
    w->retired[(w->first + w->count) % RETIRED_MAX] = epoch;
    w->count++;
}

uint64_t
prologue_held(struct prologue_writer *w, struct stream *s)
{
    uint64_t oldest = w->count > 0 ? epoch_oldest() : 0;

    while (w->count > 0 && w->retired[w->first] <= oldest) {
        w->first = (w->first + 1) % RETIRED_MAX;
        w->count--;
    }
    return w->count + (atomic_load(&s->prologue) != SEGMENT_NONE ? 1 : 0);
}

/* ---- changing it ---- */

static void
put_in_force(struct prologue_writer *w, struct stream *s, uint32_t segment)
{
    uint32_t old = atomic_exchange(&s->prologue, segment);

    if (old != SEGMENT_NONE) {
        segment_retire(old, stream_number(s));
        note_retired(w, atomic_load(&arena.head->epoch));
    }
}

enum prologue_change
prologue_put(struct prologue_writer *w, struct stream *s, enum media_type type,
             struct media_info info, struct str payload)
{
    const struct prologue *old = prologue_of(s);
    const struct putting putting = {
        .type = type,
        .info = info,
        .payload = payload,
        .tracks = tracks_of(type, info.track, payload),
    };
    enum prologue_change change = change_of(old, &putting);
    struct prologue_item like = {
        .type = (uint8_t)type,
        .flags = info.flags & MEDIA_KEPT,
        .track = info.track,
    };
    struct prologue *new;
    uint32_t segment;
    bool fits;

    if (change == PROLOGUE_SAME) {
        return change;
    }
    if (!may_change(w, info)) {
        return PROLOGUE_OFTEN;
    }
    segment = segment_take(stream_number(s));
    if (segment == SEGMENT_NONE) {
        return PROLOGUE_FULL;
    }
    new = (struct prologue *)(void *)segment_bytes(segment);
    copy_others(new, old, &putting);
    fits = has_room(new, payload.len);
    if (fits) {
        add_item(new, &like, payload.ptr, (uint32_t)payload.len);
    }
    put_in_force(w, s, segment); /* without an older one in any case */
    return fits ? change : PROLOGUE_FULL;
}

void
prologue_begin(struct prologue_writer *w, struct stream *s)
{
    *w = (struct prologue_writer){ 0 };
    put_in_force(w, s, SEGMENT_NONE);
}
