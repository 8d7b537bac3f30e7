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

#define CHANGE_MS (1000 / PROLOGUE_RATE) /* what one change costs */
#define RETIRED_MAX (2 * PROLOGUE_BURST)

static bool
same_kind(const struct prologue_item *item, enum media_type type,
          struct media_info info)
{
    return item->type == type && item->track == info.track &&
           item->flags == (info.flags & MEDIA_KEPT);
}

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

/* Copies all but the items of that kind; tells whether the new one fits. */
static bool
copy_others(struct prologue *to, const struct prologue *from,
            enum media_type type, struct media_info info, size_t len)
{
    struct prologue_item item;

    to->count = 0;
    to->used = 0;
    for (uint32_t i = 0; from != NULL && prologue_item(from, i, &item); i++) {
        if (!same_kind(&item, type, info) && has_room(to, item.len)) {
            add_item(to, &item, from->bytes + item.offset, item.len);
        }
    }
    return has_room(to, len);
}

static bool
has_same(const struct prologue *p, enum media_type type, struct media_info info,
         struct str payload)
{
    struct prologue_item item;

    for (uint32_t i = 0; p != NULL && prologue_item(p, i, &item); i++) {
        if (same_kind(&item, type, info) && item.len == payload.len &&
            memcmp(p->bytes + item.offset, payload.ptr, payload.len) == 0) {
            return true;
        }
    }
    return false;
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
    struct prologue_item like = {
        .type = (uint8_t)type,
        .flags = info.flags & MEDIA_KEPT,
        .track = info.track,
    };
    struct prologue *new;
    uint32_t segment, before;
    bool fits;

    if (has_same(old, type, info, payload)) {
        return PROLOGUE_SAME;
    }
    if (!may_change(w, info)) {
        return PROLOGUE_OFTEN;
    }
    segment = segment_take(stream_number(s));
    if (segment == SEGMENT_NONE) {
        return PROLOGUE_FULL;
    }
    new = (struct prologue *)(void *)segment_bytes(segment);
    fits = copy_others(new, old, type, info, payload.len);
    if (fits) {
        add_item(new, &like, payload.ptr, (uint32_t)payload.len);
    }
    before = old != NULL ? old->count : 0;
    put_in_force(w, s, segment); /* without an older one in any case */
    if (!fits) {
        return PROLOGUE_FULL;
    }
    return new->count > before ? PROLOGUE_NEW : PROLOGUE_CHANGED;
}

void
prologue_begin(struct prologue_writer *w, struct stream *s)
{
    *w = (struct prologue_writer){ 0 };
    put_in_force(w, s, SEGMENT_NONE);
}
