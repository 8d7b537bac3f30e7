/*
 * Streams by name: claiming, asking, holding.
 *
 * Every step is one compare-and-swap or can be repeated by the sweep: a process
 * killed between two of them leaves an owner that the master finds.  Frames are
 * the business of writer.c, the end of a stream that of sweep.c.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/stream.h"

#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "live/cuts.h"
#include "live/give.h"
#include "live/metrics.h"

#define REPLACE_WINDOW_MS 10000

struct str
stream_name(const struct stream *s)
{
    uint32_t len = atomic_load_explicit(&s->name_len, memory_order_relaxed);

    return str_of(s->name, len < sizeof(s->name) ? len : sizeof(s->name) - 1);
}

static _Atomic uint64_t *
key_of(struct stream *s)
{
    return &arena.keys[stream_number(s)];
}

bool
stream_is_open(struct stream *s)
{
    return key_state(atomic_load(key_of(s))) == STREAM_OPEN;
}

bool
stream_is_live(struct stream *s)
{
    return stream_is_open(s) && atomic_load(&s->writer) != 0;
}

bool
stream_hold_is_over(struct stream *s)
{
    return atomic_load(&s->writer) == 0 &&
           atomic_load(&s->hold_until) <= clock_ms();
}

void
stream_set_owing(struct stream *s, uint32_t slot, bool owing)
{
    uint64_t bit = UINT64_C(1) << slot % 64;

    if (owing) {
        atomic_fetch_or(&s->owing[slot / 64], bit);
    } else {
        atomic_fetch_and(&s->owing[slot / 64], ~bit);
    }
}

bool
stream_is_owed(struct stream *s)
{
    uint64_t any = 0;

    for (uint32_t w = 0; w < SLOT_MAX / 64; w++) {
        any |= atomic_load(&s->owing[w]);
    }
    return any != 0;
}

/* A record other than skip whose key bears the name's hash; RECORD_NONE when
 * there is none. */
static uint32_t
find_other(uint64_t hash, uint32_t skip)
{
    struct names_look look = { .hash = hash };
    uint32_t n;

    do {
        n = names_next(&look);
    } while (n != RECORD_NONE && n == skip);
    return n;
}

struct stream *
stream_find(struct str name)
{
    struct names_look look = { .hash = hash_str(name) };
    uint32_t n;

    while ((n = names_next(&look)) != RECORD_NONE) {
        struct stream *s = &arena.streams[n];

        if (stream_is_open(s) && str_eq(stream_name(s), name)) {
            return s;
        }
    }
    return NULL;
}

static void
record_init(struct stream *s, const struct live_publish *p)
{
    size_t kept = offsetof(struct stream, name);

    atomic_fetch_add(&s->generation, 1);
    memset((uint8_t *)s + kept, 0, sizeof(*s) - kept);
    atomic_store(&s->name_len,
                 (uint32_t)str_copy(s->name, sizeof(s->name), p->name));
    s->chunk_size = p->chunk_size;
    atomic_store(&s->created_ms, clock_ms());
    atomic_store(&s->hold_ms, p->hold);
    atomic_store(&s->start, FRAME_NONE);
    atomic_store(&s->first, FRAME_NONE);
    atomic_store(&s->prologue, SEGMENT_NONE);
    atomic_store(&s->cuts, SEGMENT_NONE);
    s->cut_rules = p->cuts;
    atomic_store(&s->writer, slot_self_owner());
}

/* Counts it as its client's, until the master has freed it. */
static enum stream_answer
ask_for_place(const struct tally_holder *client)
{
    struct share_want w = { .pool = &live_pools[LIVE_POOL_STREAMS],
                            .client = *client,
                            .size = arena.stream_count,
                            .give = stream_on_hold_gives };

    switch (share_claim(&w)) {
    case SHARE_GRANTED:
        return STREAM_YOURS;
    case SHARE_OVER:
        return STREAM_SHARE;
    case SHARE_FULL:
        break;
    }
    return STREAM_NO_ROOM;
}

static enum stream_answer
claim_record(const struct live_publish *p, uint64_t hash,
             const struct tally_holder *client, struct stream **out)
{
    uint64_t claimed = key_make(STREAM_CLAIMED, slot_self(), hash);
    uint32_t n = names_claim(claimed);

    if (n == RECORD_NONE) {
        return STREAM_NO_ROOM;
    }
    if (!names_enter(n)) {
        names_release(n);
        return STREAM_NO_ROOM;
    }
    /* The second look: others that want the name can find us now, so of two at
     * least one finds the other. */
    if (find_other(hash, n) != RECORD_NONE) {
        names_release(n);
        return STREAM_RETRY;
    }
    record_init(&arena.streams[n], p);
    holder_write(arena.streams[n].holder, client);
    atomic_store(&arena.keys[n], key_make(STREAM_OPEN, 0, hash));
    *out = &arena.streams[n];
    return STREAM_YOURS;
}

static enum stream_answer
make_stream(const struct live_publish *p, uint64_t hash, struct stream **out)
{
    struct tally_holder client =
        p->kind == LIVE_KIND_PULL ? share_self() : share_client(&p->peer);
    enum stream_answer answer = ask_for_place(&client);

    if (answer != STREAM_YOURS) {
        return answer;
    }
    answer = claim_record(p, hash, &client, out);
    if (answer == STREAM_YOURS) {
        tally_hand_on(&live_pools[LIVE_POOL_STREAMS], &client);
    } else {
        tally_leave(&live_pools[LIVE_POOL_STREAMS], &client);
    }
    return answer;
}

/* ---- records that a process spoilt ---- */

/* Whether settings allow what its maker set. */
static bool
is_made_well(const struct stream *s)
{
    const struct live_cut_rules *r = &s->cut_rules;

    return s->chunk_size >= LIVE_CHUNK_MIN && s->chunk_size <= LIVE_CHUNK_MAX &&
           (r->segment == 0 ||
            (r->part <= LIVE_CUT_TARGET_MAX && r->segment <= r->max_segment &&
             r->max_segment <= LIVE_CUT_TARGET_MAX));
}

static bool
is_own(struct stream *s, uint32_t segment)
{
    return segment_used_by(segment, stream_number(s));
}

/* Whether what it writes to next is no other stream's. */
static bool
owns_segments(struct stream *s)
{
    uint32_t prologue = atomic_load(&s->prologue);
    uint32_t cuts = atomic_load(&s->cuts);

    return (prologue == SEGMENT_NONE || is_own(s, prologue)) &&
           (cuts == SEGMENT_NONE || (cuts != prologue && is_own(s, cuts)));
}

/* Whether the rings hold what lies between the oldest frame and the last. */
static bool
holds_frames(struct stream *s, uint64_t head, uint64_t tail)
{
    uint64_t from = atomic_load(&s->media_first);
    uint64_t end = atomic_load(&s->media_end);
    uint64_t oldest = head < tail ? head : tail - 1;
    uint64_t segment = (tail - 1) / INDEX_FRAMES;
    uint64_t first, last, len;

    if (atomic_load(&s->index_first) > oldest / INDEX_FRAMES ||
        atomic_load(&s->index_end) <= segment ||
        end > UINT64_MAX / SEGMENT_SIZE ||
        !is_own(s, atomic_load(&s->index[segment % INDEX_RING]))) {
        return false;
    }
    last = frame_at(s, tail - 1)->position;
    len = frame_at(s, tail - 1)->wire_len;
    first = head < tail ? frame_at(s, head)->position : last + len;
    return last <= end * SEGMENT_SIZE && len <= end * SEGMENT_SIZE - last &&
           first <= last + len && first / SEGMENT_SIZE >= from;
}

bool
stream_is_whole(struct stream *s)
{
    uint64_t head = atomic_load(&s->head);
    uint64_t tail = atomic_load(&s->tail);

    /* A first behind the end is a great length. */
    return is_made_well(s) && owns_segments(s) && head <= tail &&
           atomic_load(&s->media_end) - atomic_load(&s->media_first) <=
               MEDIA_RING &&
           atomic_load(&s->index_end) - atomic_load(&s->index_first) <=
               INDEX_RING &&
           (tail == 0 || holds_frames(s, head, tail));
}

struct stream_words
stream_words(struct stream *s)
{
    return (struct stream_words){ {
        atomic_load(&arena.keys[stream_number(s)]),
        atomic_load(&s->generation),
        atomic_load(&s->tail),
        atomic_load(&s->head),
        atomic_load(&s->start),
        atomic_load(&s->first),
        atomic_load(&s->prologue),
        atomic_load(&s->cuts),
        atomic_load(&s->media_first),
        atomic_load(&s->media_end),
        atomic_load(&s->index_first),
        atomic_load(&s->index_end),
    } };
}

void
stream_abandon(struct stream *s)
{
    slot_owner self = slot_self_owner();
    uint32_t cuts = atomic_exchange(&s->cuts, SEGMENT_NONE);

    if (cuts != SEGMENT_NONE) {
        segment_retire(cuts, stream_number(s));
    }
    log_limited(LOG_ERROR,
                "stream %.*s: its record was damaged, it ends and is made anew",
                STR_ARGS(stream_name(s)));
    atomic_compare_exchange_strong(&s->writer, &self, 0);
    stream_give(s);
}

void
stream_give(struct stream *s)
{
    int64_t now = clock_ms();

    atomic_store(&s->hold_until, now);
    atomic_store(&s->owed_until, now);
    wake_slot(0, stream_number(s)); /* the master ends it */
}

/* ---- the right to write ---- */

/* A stream whose name has the same hash: not one whose name was spoilt. */
static bool
is_another(const struct stream *s, struct str name)
{
    struct str own = stream_name(s);

    return !str_eq(own, name) && key_make(STREAM_OPEN, 0, hash_str(own)) ==
                                     key_make(STREAM_OPEN, 0, hash_str(name));
}

enum stream_answer
stream_claim(const struct live_publish *p, struct stream **out)
{
    uint64_t hash = hash_str(p->name);
    uint32_t n = find_other(hash, RECORD_NONE);
    slot_owner nobody = 0;
    struct stream *s;

    if (n == RECORD_NONE) {
        return make_stream(p, hash, out);
    }
    s = *out = &arena.streams[n];
    if (key_state(atomic_load(&arena.keys[n])) != STREAM_OPEN ||
        is_another(s, p->name)) {
        return STREAM_RETRY;
    }
    if (!atomic_compare_exchange_strong(&s->writer, &nobody,
                                        slot_self_owner())) {
        return nobody == slot_owner_of(0) ? STREAM_RETRY : STREAM_TAKEN;
    }
    if (!stream_is_open(s)) { /* the master ended it in between */
        atomic_store(&s->writer, 0);
        return STREAM_RETRY;
    }
    if (!str_eq(stream_name(s), p->name) || !stream_is_whole(s)) {
        stream_abandon(s);
        return STREAM_RETRY;
    }
    atomic_store(&s->hold_ms, p->hold);
    return STREAM_YOURS;
}

int
stream_note_replaced(struct stream *s, struct errmsg *err)
{
    int64_t now = clock_ms();
    int64_t before = atomic_load(&s->replaced_ms[0]);

    if (before != 0 && now - before < REPLACE_WINDOW_MS) {
        live_count_refused(LIVE_REFUSED_FIGHT);
        return errmsg_set(err,
                          "the publisher of %.*s was replaced twice within "
                          "%d s: are two encoders using one name?",
                          STR_ARGS(stream_name(s)), REPLACE_WINDOW_MS / 1000);
    }
    atomic_store(&s->replaced_ms[0], atomic_load(&s->replaced_ms[1]));
    atomic_store(&s->replaced_ms[1], now);
    return 0;
}

int
stream_ask(struct stream *s, struct errmsg *err)
{
    slot_owner nobody = 0;
    slot_owner writer;

    /* All that can refuse comes first: once it stands in takeover, the
     * question may be answered at any moment. */
    if (atomic_load(&s->takeover) == 0 && stream_note_replaced(s, err) != 0) {
        return -1;
    }
    if (!atomic_compare_exchange_strong(&s->takeover, &nobody,
                                        slot_self_owner())) {
        live_count_refused(LIVE_REFUSED_TAKING);
        return errmsg_set(err, "another publisher is taking %.*s over",
                          STR_ARGS(stream_name(s)));
    }
    writer = atomic_load(&s->writer);
    if (writer != 0) {
        wake_slot(slot_owner_number(writer), stream_number(s));
    }
    return 0;
}

bool
stream_unask(struct stream *s)
{
    slot_owner self = slot_self_owner();

    return atomic_compare_exchange_strong(&s->takeover, &self, 0);
}

/* Takes the stream from owner; a process that finds owner dead may do it as
 * well.  A stream that never had a frame is not held: nobody could have seen
 * it, and names taken without media must not fill the table.  Players are owed
 * its frames for as long as a stream that goes on would keep them. */
static void
put_on_hold(struct stream *s, slot_owner owner)
{
    int64_t now = clock_ms();
    int64_t hold = shared_time(&s->hold_ms, LIVE_HOLD_MAX);

    atomic_store(&s->hold_until, atomic_load(&s->tail) > 0 ? now + hold : now);
    atomic_store(&s->owed_until,
                 shared_time(&s->last_arrived_ms, now) + arena.settings.window);
    atomic_compare_exchange_strong(&s->writer, &owner, 0);
    wake_readers(s);
    wake_cut_readers(s);
    wake_slot(0, stream_number(s)); /* the master watches the time */
}

bool
stream_hand_over(struct stream *s)
{
    slot_owner heir = atomic_exchange(&s->takeover, 0);

    if (heir == 0) {
        return false;
    }
    atomic_store(&s->writer, heir);
    if (!slot_owner_alive(heir)) {
        put_on_hold(s, heir); /* its sweep may have been before the store */
        return true;
    }
    wake_slot(slot_owner_number(heir), stream_number(s));
    return true;
}

void
stream_leave(struct stream *s)
{
    slot_owner owner = atomic_load(&s->writer);

    if (!stream_hand_over(s)) {
        put_on_hold(s, owner);
    }
}
