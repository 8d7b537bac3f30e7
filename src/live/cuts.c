/*
 * Cuts as readers see them: finding, copying, and the frames between them.
 *
 * A writer may write an entry of a ring anew while it is copied, and an
 * attacker anything at any time.  So numbers are looked at again behind each
 * copy, and nothing that was read leads out of the page.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/cuts.h"

#include <string.h>

#include "base/clock.h"
#include "live/cut.h"
#include "live/stream.h"

/* Cuts at the old end of the ring that may be written anew in this turn. */
#define MARGIN 8u

static bool
is_kept_number(struct cut_page *page, uint64_t number)
{
    uint64_t next = atomic_load(&page->next);

    return number < next && next - number < LIVE_CUT_RING;
}

bool
cut_copy(struct cut_page *page, uint64_t number, struct live_cut *cut)
{
    if (!is_kept_number(page, number)) {
        return false;
    }
    *cut = page->cuts[number % LIVE_CUT_RING];
    atomic_thread_fence(memory_order_seq_cst);
    return cut->number == number && cut_is_time(cut->time) &&
           cut_is_time(cut->ended) && cut_is_time(cut->wall_ms) &&
           is_kept_number(page, number);
}

/* ---- the stream ---- */

struct runs {
    uint64_t word, older_word;
    uint64_t first, older_first;
    uint32_t target, part_target;
    bool strict, failed, starved;
};

static uint32_t
bounded(const _Atomic uint32_t *target)
{
    uint32_t ms = atomic_load(target);

    return ms < LIVE_CUT_TARGET_MAX ? ms : LIVE_CUT_TARGET_MAX;
}

static struct runs
copy_runs(struct cut_page *page)
{
    struct runs r = { 0 };
    uint32_t count = atomic_load(&page->run_count);

    for (unsigned tries = 0; tries < 10; tries++) {
        struct cut_run *run = &page->runs[count % 2];
        struct cut_run *older = &page->runs[(count + 1) % 2];
        uint32_t target = bounded(&run->target);
        uint32_t part = atomic_load(&run->part_target);
        uint32_t again;

        r = (struct runs){
            .word = run->word,
            .older_word = older->word,
            .first = atomic_load(&run->first),
            .older_first = atomic_load(&older->first),
            .target = target,
            .part_target = part < target ? part : target,
            .strict = atomic_load(&run->loose) == 0,
            .failed = atomic_load(&run->failed) != 0,
            .starved = atomic_load(&run->starved) != 0,
        };
        atomic_thread_fence(memory_order_seq_cst);
        again = atomic_load(&page->run_count);
        if (again == count) {
            break;
        }
        count = again;
    }
    return r;
}

/* Whether its frames and codec headers are there. */
static bool
is_whole(const struct live_cuts *c, uint64_t number, uint32_t header)
{
    struct cut_page *page = cut_page_of(c->stream);
    struct live_cut cut;

    return page != NULL && cut_copy(page, number, &cut) &&
           cut.frame >= atomic_load(&c->stream->head) &&
           header - cut.header < CUT_SETS - 1;
}

/* The first cut of [from, to) that is whole and begins a segment; to: none. */
static uint64_t
first_whole(const struct live_cuts *c, uint64_t from, uint64_t to,
            uint32_t header)
{
    uint64_t end = to;
    struct live_cut cut;

    while (from < to) {
        uint64_t middle = from + (to - from) / 2;

        if (is_whole(c, middle, header)) {
            to = middle;
        } else {
            from = middle + 1;
        }
    }
    while (from < end && live_cut_at(c, from, &cut) &&
           (cut.flags & LIVE_CUT_SEGMENT) == 0) {
        from++;
    }
    return from;
}

static void
find_ends(struct live_cuts *c, struct cut_page *page)
{
    struct stream *s = c->stream;
    uint64_t tail = atomic_load_explicit(&s->tail, memory_order_acquire);
    uint64_t closed = atomic_load(&page->closed);
    struct live_cut last = { .header = 0 };

    c->end_frame = tail;
    if (cut_copy(page, c->end - 1, &last)) {
        if (closed > last.frame && closed < tail) {
            c->end_frame = closed;
        }
        c->end_time = atomic_load(&page->end_time);
        c->end_time = cut_is_time(c->end_time) ? c->end_time : 0;
        c->end_time = c->end_time > last.time ? c->end_time : last.time;
        c->first = first_whole(c, c->first, c->end, last.header);
    } else {
        c->first = c->end;
    }
}

/* Of a list that was longer once, too little is left. */
static void
look_for_hunger(struct live_cuts *c, bool starved)
{
    struct live_cut cut;

    c->short_of_memory =
        c->target != 0 && c->first > c->run &&
        (starved || !live_cut_at(c, c->first, &cut) ||
         c->end_time - cut.time < (int64_t)LIVE_CUT_LEAST * c->target);
    if (c->short_of_memory) {
        c->target = c->part_target = 0;
    }
}

bool
live_cuts_find(struct str name, struct live_cuts *c)
{
    struct stream *s = stream_find(name);
    struct cut_page *page = s != NULL ? cut_page_of(s) : NULL;
    struct runs runs;
    int64_t left;

    if (page == NULL) {
        return false;
    }
    runs = copy_runs(page);
    left = shared_time(&s->hold_until, clock_ms() + LIVE_HOLD_MAX) - clock_ms();
    *c = (struct live_cuts){
        .stream = s,
        .word = runs.word,
        .run = runs.first,
        .target = runs.target,
        .part_target = runs.target != 0 ? runs.part_target : 0,
        .end = atomic_load(&page->next),
        .older_word = runs.older_word,
        .live = stream_is_live(s),
        .strict = runs.strict,
        .failed = runs.failed,
    };
    c->over = !c->live && left <= 0;
    c->hold_left = c->live || left < 0 ? 0 : left;
    c->first = runs.older_word != 0 ? runs.older_first : runs.first;
    if (c->end > LIVE_CUT_RING - MARGIN &&
        c->first < c->end - (LIVE_CUT_RING - MARGIN)) {
        c->first = c->end - (LIVE_CUT_RING - MARGIN);
    }
    if (c->first > c->end) {
        c->first = c->end;
    }
    find_ends(c, page);
    look_for_hunger(c, runs.starved);
    return true;
}

/* ---- cuts ---- */

bool
live_cut_at(const struct live_cuts *c, uint64_t number, struct live_cut *cut)
{
    struct cut_page *page = cut_page_of(c->stream);

    return page != NULL && number < c->end && cut_copy(page, number, cut);
}

bool
live_cut_of(const struct live_cuts *c, uint64_t segment, uint32_t part,
            struct live_cut *cut)
{
    uint64_t from = c->first;
    uint64_t to = c->end;

    while (from < to) {
        uint64_t middle = from + (to - from) / 2;

        if (!live_cut_at(c, middle, cut)) {
            return false;
        }
        if (cut->segment == segment && cut->part == part) {
            return true;
        }
        if (cut->segment < segment ||
            (cut->segment == segment && cut->part < part)) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return false;
}

/* ---- codec headers ---- */

static bool
take_items(const struct cut_set *set, struct live_cut_headers *h)
{
    uint32_t used = 0;

    h->count = set->count;
    if (h->count > CUT_TRACKS) {
        return false;
    }
    memcpy(h->bytes, set->bytes, sizeof(h->bytes));
    for (uint32_t i = 0; i < h->count; i++) {
        struct cut_set_item item = set->items[i];

        if (item.len > sizeof(h->bytes) - used) {
            return false;
        }
        h->items[i].type = item.type;
        h->items[i].track = item.track;
        h->items[i].width = item.width;
        h->items[i].height = item.height;
        h->items[i].payload = str_of(h->bytes + used, item.len);
        used += item.len;
    }
    return true;
}

bool
live_cut_headers(const struct live_cuts *c, uint32_t number,
                 struct live_cut_headers *h)
{
    struct cut_page *page = cut_page_of(c->stream);
    struct cut_set *set;

    if (page == NULL || number == 0) {
        return false;
    }
    set = &page->sets[number % CUT_SETS];
    if (atomic_load_explicit(&set->number, memory_order_acquire) != number) {
        return false;
    }
    h->number = number;
    if (!take_items(set, h)) {
        return false;
    }
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load(&set->number) == number;
}

int
live_cut_track(const struct live_cut_header *header, struct media_track *t)
{
    if (media_track_of(t, (enum media_type)header->type, header->payload) ==
        -1) {
        return -1;
    }
    if (t->width == 0 || t->height == 0) {
        t->width = header->width;
        t->height = header->height;
    }
    return 0;
}

/* ---- frames ---- */

static bool
is_there(struct stream *s, uint64_t number)
{
    return number >= atomic_load(&s->head) &&
           number < atomic_load_explicit(&s->tail, memory_order_acquire);
}

/* The next range of a payload's bytes: [*at, end) of it is still to come, and
 * lies in chunks with headers between them. */
static struct iovec
next_range(struct stream *s, const struct frame *f, uint32_t *at, uint32_t end)
{
    uint32_t chunk = s->chunk_size > 0 ? s->chunk_size : 1;
    uint32_t before = *at / chunk; /* chunks */
    uint64_t position =
        f->position + f->header_len + *at + (uint64_t)before * f->continue_len;
    uint32_t room = (uint32_t)(SEGMENT_SIZE - position % SEGMENT_SIZE);
    uint32_t len = chunk - *at % chunk;

    len = len < end - *at ? len : end - *at;
    len = len < room ? len : room;
    *at += len;
    return (struct iovec){ media_at(s, position), len };
}

/* They lie in the payload. */
static void
copy_bytes(struct stream *s, const struct frame *f, uint32_t at, uint8_t *to,
           uint32_t len)
{
    uint32_t end = at + len;

    while (at < end) {
        struct iovec range = next_range(s, f, &at, end);

        memcpy(to, range.iov_base, range.iov_len);
        to += range.iov_len;
    }
}

bool
live_cut_frame(const struct live_cuts *c, const struct live_cut *near,
               uint64_t number, struct live_cut_frame *f)
{
    struct cut_page *page = cut_page_of(c->stream);
    const struct frame *frame;
    uint32_t low;

    if (page == NULL || !is_there(c->stream, number)) {
        return false;
    }
    frame = frame_at(c->stream, number);
    low = frame->timestamp + atomic_load(&page->offset);
    f->number = number;
    f->type = frame->type;
    f->flags = frame->flags;
    f->time = near->time + (int32_t)(low - (uint32_t)near->time);
    f->len = frame->payload_len;
    f->front_len = f->len < MEDIA_FRONT_MAX ? f->len : MEDIA_FRONT_MAX;
    copy_bytes(c->stream, frame, 0, f->front, f->front_len);
    return true;
}

int
live_cut_ranges(const struct live_cuts *c, uint64_t number, uint32_t skip,
                uint32_t len, struct iovec *ranges, int most)
{
    const struct frame *f;
    uint32_t end;
    int count = 0;

    if (!is_there(c->stream, number)) {
        return -1;
    }
    f = frame_at(c->stream, number);
    end = f->payload_len;
    if (skip < end && len < end - skip) {
        end = skip + len;
    }
    while (skip < end) {
        if (count == most) {
            return -1;
        }
        ranges[count] = next_range(c->stream, f, &skip, end);
        count++;
    }
    return count;
}

bool
live_cut_bytes(const struct live_cuts *c, uint64_t number, uint32_t at,
               uint8_t *to, uint32_t len)
{
    const struct frame *f;
    uint32_t has;

    if (!is_there(c->stream, number)) {
        return false;
    }
    f = frame_at(c->stream, number);
    has = f->payload_len;
    if (at > has || len > has - at) {
        return false;
    }
    copy_bytes(c->stream, f, at, to, len);
    return true;
}

/* A frame as a source of its bytes. */
struct kept_frame {
    const struct live_cuts *cuts;
    uint64_t number;
};

static bool
read_frame(const void *of, uint32_t at, uint8_t *to, uint32_t len)
{
    const struct kept_frame *f = of;

    return live_cut_bytes(f->cuts, f->number, at, to, len);
}

bool
live_cut_pieces(const struct live_cuts *c, const struct live_cut_frame *f,
                struct media_pieces *p)
{
    struct kept_frame frame = { c, f->number };
    struct media_source source = { f->len, read_frame, &frame };

    return (f->flags & MEDIA_MANY) != 0 &&
           media_pieces(p, (enum media_type)f->type, &source) == 0;
}
