/*
 * A ladder's members: cut where their leader is cut, on its time, and numbered
 * like it.
 *
 * The leader is the first member, in the order of the ladder, that has a
 * publisher.  Nobody is told anything: a member reads the leader's page at its
 * own key frames, and finds there whether the leader was cut since it was cut
 * itself.  Members of one encoder, whose timestamps are equal, compare media
 * times: frames may arrive with any delay.  A key frame that the leader has not
 * reached yet ends a segment if it will end one there: both go by the same
 * rule.  Members of several encoders compare when frames arrive.  A member
 * whose key frame is some milliseconds before the leader's goes by when that is
 * due.
 *
 * A stream that begins beside a member that is live, below or above it, takes
 * over its time and number.  So it does not matter who comes first.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/cut.h"

#include "base/clock.h"
#include "base/log.h"
#include "live/ladder.h"
#include "live/stream.h"

/* Key frames so near to each other stand for the same place. */
#define NEAR_MS 100
/* A leader is waited for so long when it should have been cut. */
#define LATE_MS 1000
/* How often the leader is looked for. */
#define LOOK_MS 500
/* Timestamps so near are those of one encoder; others are placed by the wall
 * clock. */
#define SAME_MS 1000
/* Media times of one frame in two members: they may be rounded. */
#define EQUAL_MS 2
/* A member may be so far behind the wall clock of its leader. */
#define BEHIND_MS 3000
/* A number so many seconds old is one of this start of the ladder. */
#define START_SECONDS 5

/* A member as its page tells. */
struct member {
    struct stream *stream;
    uint32_t target;         /* ms; 0: not known yet */
    struct live_cut segment; /* where its newest one begins */
    int64_t arrived_ms;      /* that frame, clock_ms() */
    int64_t length;          /* ms; what the next one should have */
    int64_t due_ms;          /* when the next one should begin */
    bool guessed;            /* length is: it may be much longer */
    bool one_encoder;        /* its timestamps are those of the reader */
    int64_t end_time;        /* of its frames */
};

/* ---- finding members ---- */

static struct stream *
find_live(const struct cutter *c, uint32_t place)
{
    const struct live_ladder *l = &c->stream->cut_rules.ladder;
    char text[LIVE_NAME_MAX];
    struct str name = live_ladder_member(
        l, place, str_of(stream_name(c->stream).ptr, c->ladder.shared), text);
    struct stream *s = name.len > 0 ? stream_find(name) : NULL;

    return s != NULL && s != c->stream && stream_is_live(s) ? s : NULL;
}

/* How long the segment before was; 0: unknown. */
static int64_t
length_before(struct cut_page *page, const struct live_cut *segment)
{
    struct live_cut last, begin;
    uint64_t n = segment->number;

    if ((segment->flags & LIVE_CUT_DISCONTINUITY) != 0 ||
        n <= atomic_load(&cut_run_of(page)->first) ||
        !cut_copy(page, n - 1, &last) || last.part >= n - 1 ||
        !cut_copy(page, n - 1 - last.part, &begin)) {
        return 0;
    }
    return begin.part == 0 && segment->time > begin.time
               ? segment->time - begin.time
               : 0;
}

/* False: it has no cuts that can be followed. */
static bool
read_member(const struct cutter *c, struct stream *s, int64_t now,
            struct member *m)
{
    struct cut_page *page = cut_page_of(s);
    struct live_cut last;
    int64_t length;
    uint64_t next;

    /* Before its cuts: one up to there is seen. */
    m->end_time = page != NULL ? atomic_load(&page->end_time) : 0;
    if (page == NULL || atomic_load(&cut_run_of(page)->failed) != 0) {
        return false;
    }
    next = atomic_load_explicit(&page->next, memory_order_acquire);
    if (next < 2 || !cut_copy(page, next - 1, &last) || last.part >= next - 1 ||
        !cut_copy(page, next - 1 - last.part, &m->segment) ||
        m->segment.part != 0) {
        return false;
    }
    m->stream = s;
    m->guessed = false;
    m->target = atomic_load(&cut_run_of(page)->target);
    m->target =
        m->target < LIVE_CUT_TARGET_MAX ? m->target : LIVE_CUT_TARGET_MAX;
    m->arrived_ms = shared_time(&page->segment_ms, now);
    length = length_before(page, &m->segment);
    if (length <= 0 || length > LIVE_CUT_TARGET_MAX) {
        length = m->target != 0 ? m->target : c->stream->cut_rules.segment;
        m->guessed = m->target == 0;
    }
    m->length = length;
    m->due_ms = m->arrived_ms + length;
    m->one_encoder =
        atomic_load(&c->page->timed) != 0 &&
        atomic_load(&c->page->offset) == atomic_load(&page->offset);
    return true;
}

/* Its newest segment that begins no later, else the oldest that is known. */
static struct live_cut
segment_at(const struct member *m, int64_t time)
{
    struct cut_page *page = cut_page_of(m->stream);
    struct live_cut found = m->segment, last, begin;

    while (page != NULL && found.time > time && found.number > 1 &&
           cut_copy(page, found.number - 1, &last) && last.part < last.number &&
           cut_copy(page, last.number - last.part, &begin) && begin.part == 0 &&
           begin.number < found.number) {
        found = begin;
    }
    return found;
}

/* The stream that leads, looked for now and then. */
static bool
find_leader(struct cutter *c, int64_t now, struct member *m)
{
    struct cut_ladder *l = &c->ladder;
    struct stream *s = l->leader;

    if (l->looked_ms == 0 || now - l->looked_ms >= LOOK_MS ||
        (s != NULL && (atomic_load(&s->generation) != l->generation ||
                       !stream_is_live(s)))) {
        s = NULL;
        for (uint32_t i = 0; i < l->place && s == NULL; i++) {
            s = find_live(c, i);
        }
        l->leader = s;
        l->generation = s != NULL ? atomic_load(&s->generation) : 0;
        l->looked_ms = now;
    }
    return s != NULL && read_member(c, s, now, m);
}

/* The leader, else the first below. */
static bool
find_any(struct cutter *c, int64_t now, struct member *m)
{
    const struct live_ladder *l = &c->stream->cut_rules.ladder;

    for (uint32_t i = 0; i < l->count && i < LIVE_LADDER_MAX; i++) {
        struct stream *s = i != c->ladder.place ? find_live(c, i) : NULL;

        if (s != NULL && read_member(c, s, now, m)) {
            return true;
        }
    }
    return false;
}

/* ---- where segments end, by media time ---- */

/* Whether a key frame is where the leader was cut.  It is not if the timestamps
 * of one began anew, or an encoder was not the only one. */
static void
compare(struct cut_ladder *l, const struct member *leader, int64_t time)
{
    struct live_cut cut = segment_at(leader, time);
    int64_t before = cut.time - l->key_time;
    int64_t behind = time - cut.time;

    if (l->key_ms != 0 && before >= 0 && behind >= 0) {
        l->shifted = before > NEAR_MS && behind > NEAR_MS;
    }
}

/* Whether the segment under way may last until the key frame at which the
 * leader will have been cut: key frames come as far apart as the last two.
 * begin, now, due: all by one clock. */
static bool
may_wait(const struct cutter *c, int64_t begin, int64_t now, int64_t due,
         int64_t gap)
{
    int64_t target = atomic_load(&cut_run_of(c->page)->target);
    int64_t nearer = gap / 2 < NEAR_MS ? gap / 2 : NEAR_MS;
    int64_t missing = due - nearer - now;
    int64_t key = now;

    if (target == 0 || gap <= 0) {
        return true;
    }
    if (missing > 0) {
        key += (missing + gap - 1) / gap * gap;
    }
    return key - begin <= (target + 500) / 1000 * 1000 + NEAR_MS;
}

/* The leader was not cut since the segment under way began, as far as its
 * frames came; cut: the one where that began, or before. */
static bool
ends_uncut(struct cutter *c, const struct member *leader,
           const struct live_cut *cut, int64_t time, int64_t gap,
           bool long_enough)
{
    struct cut_ladder *l = &c->ladder;
    int64_t begin = c->segment_time, apart = begin - cut->time;
    int64_t nearer = gap / 2 < NEAR_MS ? gap / 2 : NEAR_MS;
    bool ahead = apart > NEAR_MS;
    int64_t due = cut->time + leader->length;

    if (ahead) {
        due += (apart + NEAR_MS) / leader->length * leader->length;
    } else {
        l->equal = apart >= -EQUAL_MS && apart <= EQUAL_MS;
    }
    if (leader->end_time > time + (l->equal ? EQUAL_MS : NEAR_MS)) {
        /* It has passed this place, and knows better. */
        due = leader->segment.time > time ? leader->segment.time : due;
        return long_enough && !may_wait(c, begin, time, due, gap);
    }
    if (l->equal) {
        return long_enough;
    }
    return (time + nearer >= due && time > begin + NEAR_MS) ||
           (long_enough && !may_wait(c, begin, time, due, gap));
}

static bool
ends_by_time(struct cutter *c, const struct member *leader, int64_t time,
             bool long_enough)
{
    const struct cut_ladder *l = &c->ladder;
    int64_t gap = l->key_ms != 0 ? time - l->key_time : 2 * NEAR_MS;
    int64_t nearer = gap / 2 < NEAR_MS ? gap / 2 : NEAR_MS;
    struct live_cut cut = segment_at(leader, time + nearer);

    return (cut.time > c->segment_time + NEAR_MS &&
            cut.time <= time + nearer) ||
           ends_uncut(c, leader, &cut, time, gap, long_enough);
}

/* ---- where segments end, by arrival ---- */

/* The leader's cut, as far as it is known, and the key frame of this stream
 * that is next to it. */
static void
measure(struct cutter *c, const struct member *leader, int64_t now)
{
    struct cut_ladder *l = &c->ladder;
    struct cut_run *run = cut_run_of(c->page);
    int64_t behind = now - leader->arrived_ms;
    int64_t before = leader->arrived_ms - l->key_ms;

    if (l->key_ms == 0 || before < 0 ||
        leader->segment.segment == l->measured) {
        return;
    }
    l->measured = leader->segment.segment;
    behind = behind < before ? behind : before;
    l->apart = behind > NEAR_MS;
    if (l->apart && atomic_load(&run->apart) == 0) {
        atomic_store(&run->apart, 1);
        log_write(LOG_WARN,
                  "stream %.*s: its key frames come %lld ms apart from those "
                  "of %.*s: give all streams of the ladder key frames at the "
                  "same times, best from one encoder",
                  STR_ARGS(stream_name(c->stream)), (long long)behind,
                  STR_ARGS(stream_name(leader->stream)));
    }
}

/* Whether the leader is about to be cut, or should have been just now, and no
 * key frame of this stream is nearer to that. */
static bool
is_due(const struct cutter *c, const struct member *leader, int64_t now,
       int64_t gap)
{
    int64_t away = leader->due_ms - now;
    int64_t most = gap / 2 < NEAR_MS ? gap / 2 : NEAR_MS;

    away = away < 0 && !leader->guessed ? -away : away;
    return away >= 0 && away <= most &&
           atomic_load(&c->page->segment_ms) + NEAR_MS < leader->due_ms;
}

/* A leader that is not cut any more is not waited for. */
static bool
is_late(const struct cutter *c, const struct member *leader, int64_t now)
{
    int64_t most = leader->guessed
                       ? leader->arrived_ms + c->stream->cut_rules.max_segment
                       : leader->due_ms;

    return now > most + LATE_MS;
}

static bool
ends_by_arrival(struct cutter *c, const struct member *leader, int64_t now,
                int64_t gap, bool long_enough)
{
    int64_t begin = atomic_load(&c->page->segment_ms);

    measure(c, leader, now);
    if (leader->arrived_ms > begin + NEAR_MS || is_due(c, leader, now, gap)) {
        return true;
    }
    return long_enough && (c->ladder.apart || is_late(c, leader, now) ||
                           !may_wait(c, begin, now, leader->due_ms, gap));
}

bool
cut_ladder_ends(struct cutter *c, const struct cut_frame *f, bool long_enough)
{
    struct cut_ladder *l = &c->ladder;
    int64_t now = f->frame->arrived_ms, time = cut_time_of(c, f->frame);
    int64_t gap = l->key_ms != 0 ? now - l->key_ms : 2 * NEAR_MS;
    bool ends = long_enough;
    struct member leader;

    if (find_leader(c, now, &leader)) {
        compare(l, &leader, time);
        ends = leader.one_encoder && !l->shifted
                   ? ends_by_time(c, &leader, time, long_enough)
                   : ends_by_arrival(c, &leader, now, gap, long_enough);
    }
    l->key_ms = now;
    l->key_time = time;
    l->gap = gap;
    return ends;
}

/* ---- numbers, lengths and times ---- */

/* The number that a place has in a member of the same encoder.  Lengths count
 * what that has not reached yet, if they are known.  One that is led ends its
 * segment where its leader begins. */
static uint64_t
number_at(const struct member *m, int64_t time, bool leads)
{
    struct live_cut cut = segment_at(m, time + NEAR_MS);
    int64_t away = time + NEAR_MS - cut.time;
    int64_t segments = 0;

    if (away < 0) {
        segments = (away - m->length + 1) / m->length;
    } else if (cut.number == m->segment.number &&
               m->end_time <= time + NEAR_MS) {
        segments = away / m->length;
        segments = m->guessed && segments > 1 ? 1 : segments;
    }
    if (leads && away - segments * m->length > 2 * NEAR_MS && away > 0) {
        segments++;
    }
    return segments < 0 && cut.segment < (uint64_t)-segments
               ? cut.segment
               : cut.segment + (uint64_t)segments;
}

/* The same by the clock: a place that is about to end is over. */
static uint64_t
number_now(const struct member *m, int64_t now)
{
    int64_t away = m->due_ms - now;

    return m->segment.segment + (away <= NEAR_MS && away >= -NEAR_MS ? 1 : 0);
}

uint64_t
cut_ladder_number(struct cutter *c, const struct cut_frame *f, uint64_t own)
{
    bool begins = c->last.number == 0;
    uint64_t most = atomic_load(&arena.head->cut_segments);
    struct member m, leader;
    uint64_t number;

    if (!c->ladder.member || !find_any(c, f->frame->arrived_ms, &m)) {
        return own;
    }
    number = m.one_encoder
                 ? number_at(&m, cut_time_of(c, f->frame),
                             !find_leader(c, f->frame->arrived_ms, &leader))
                 : number_now(&m, f->frame->arrived_ms);
    /* One that is lower than its own may be one that the name had before, if it
     * is not of this start of the ladder. */
    return number <= most + 1 &&
                   (number > own ||
                    (begins && number + START_SECONDS >= cut_seconds()))
               ? number
               : own;
}

uint32_t
cut_ladder_target(struct cutter *c, const struct cut_frame *f, uint32_t own)
{
    struct member m;

    if (!c->ladder.member || !find_any(c, f->frame->arrived_ms, &m) ||
        m.target == 0) {
        return own;
    }
    return (own + 500) / 1000 <= (m.target + 500) / 1000 ||
                   c->ladder.gap <= m.target
               ? m.target
               : own;
}

/* The latest time of a member, and when it was. */
static bool
time_of(struct stream *s, struct cut_page *page, int64_t now, int64_t *time)
{
    uint64_t next = atomic_load_explicit(&page->next, memory_order_acquire);
    int64_t near = CUT_BEGIN_MS;
    uint32_t timed = atomic_load(&s->timed), low, other;
    struct live_cut last;

    if (atomic_load(&page->timed) == 0 || timed == 0) {
        return false;
    }
    if (next > 1 && cut_copy(page, next - 1, &last)) {
        near = last.time;
    }
    low = atomic_load(&s->last_times[timed == TRACK_AUDIO ? 0 : 1]);
    other = atomic_load(&s->last_times[0]);
    if ((timed & TRACK_AUDIO) != 0 && (int32_t)(other - low) > 0) {
        low = other;
    }
    low += atomic_load(&page->offset);
    *time = near + (int32_t)(low - (uint32_t)near) + now -
            shared_time(&s->timed_ms, now);
    return *time >= 0;
}

/* The time of a frame as another member has it.  False: none has any. */
static bool
time_beside(const struct cutter *c, const struct frame *f, uint32_t *offset,
            int64_t *time)
{
    const struct live_ladder *l = &c->stream->cut_rules.ladder;

    for (uint32_t i = 0; i < l->count && i < LIVE_LADDER_MAX; i++) {
        struct stream *s = i != c->ladder.place ? find_live(c, i) : NULL;
        struct cut_page *page = s != NULL ? cut_page_of(s) : NULL;
        int32_t apart;

        if (page == NULL || !time_of(s, page, f->arrived_ms, time)) {
            continue;
        }
        *offset = atomic_load(&page->offset);
        apart = (int32_t)(f->timestamp + *offset - (uint32_t)*time);
        if (apart < -SAME_MS || apart > SAME_MS) {
            *offset = (uint32_t)*time - f->timestamp;
            apart = 0;
        }
        *time += apart;
        return *time >= 0;
    }
    return false;
}

int64_t
cut_ladder_begin(struct cutter *c, const struct frame *f)
{
    uint32_t offset;
    int64_t time;

    if (!c->ladder.member || !time_beside(c, f, &offset, &time)) {
        offset = CUT_BEGIN_MS - f->timestamp;
        time = CUT_BEGIN_MS;
    }
    atomic_store(&c->page->offset, offset);
    atomic_store(&c->page->timed, 1);
    c->clock = time;
    return time;
}

bool
cut_ladder_wall(struct cutter *c, const struct cut_frame *f,
                const struct live_cut *cut, int64_t *wall)
{
    int64_t now = f->frame->arrived_ms, shared, behind;
    struct member m;

    *wall = clock_wall_ms() - (clock_ms() - now);
    /* One that goes on alone keeps its own. */
    if ((cut->flags & LIVE_CUT_SEGMENT) == 0 ||
        !(find_leader(c, now, &m) ||
          (c->last.number == 0 && find_any(c, now, &m)))) {
        return false;
    }
    shared = m.segment.wall_ms + cut->time - m.segment.time;
    behind = *wall - shared;
    if (behind < -BEHIND_MS || behind > BEHIND_MS) {
        return false;
    }
    *wall = shared;
    return true;
}

/* ---- a session begins ---- */

void
cut_ladder_start(struct cutter *c)
{
    struct str shared = STR_NONE;
    int place = live_ladder_place(&c->stream->cut_rules.ladder,
                                  stream_name(c->stream), &shared);

    if (place != -1) {
        c->ladder.member = true;
        c->ladder.place = (uint32_t)place;
        c->ladder.shared = (uint32_t)shared.len;
    }
}
