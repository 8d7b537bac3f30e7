/*
 * Segments: finding one, giving its memory back.
 *
 * Two tables of bits, one for retired segments and one for free ones, tell
 * where to look.  A process that changes a state word then changes its bits.  A
 * process that finds a bit which the state word contradicts clears it and looks
 * again, because the state may have changed in between.  So a bit is missing
 * only where a process was killed before it could set it.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/segment.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/log.h"
#include "live/stream.h"

#define KIND_SHIFT 62
#define WORD_BITS 64u
/* Retired ones looked at in vain before a free one is taken: somebody may yet
 * read them. */
#define LOOKS_MAX 256u
/* States looked at where no bit helped / by the master in one go. */
#define SCAN 4096u
#define LOOKED 16384u
/* Segments whose memory is given back in one go (4 MB). */
#define TRIM 64u
/* Segments that streams may soon need: half of those that they have, plus this
 * (4 MB). */
#define RESERVE 64u
/* In place of a stream: the master is giving its memory back. */
#define NOBODY UINT32_MAX

enum hint { HINT_RETIRED, HINT_FREE };

static uint32_t scan_at; /* where this process looks without the help of bits */

/* The master's walk, from the top down. */
static struct {
    uint32_t at;            /* those below are still to come */
    uint64_t used, retired; /* seen in this walk */
    uint64_t surplus;       /* found by the walk before, not yet given back */
    bool denied;            /* the system takes nothing back */
} trim;

static uint64_t
state_word(enum segment_kind kind, uint64_t value)
{
    return (uint64_t)kind << KIND_SHIFT | (value & (UINT64_MAX >> 2));
}

static enum segment_kind
kind_of(uint64_t word)
{
    return (enum segment_kind)(word >> KIND_SHIFT);
}

static uint64_t
value_of(uint64_t word)
{
    return word & (UINT64_MAX >> 2);
}

static uint64_t
state_of(uint32_t segment)
{
    return atomic_load(&arena.states[segment]);
}

/* ---- bits ---- */

static size_t
words_of(size_t bits)
{
    return (bits + WORD_BITS - 1) / WORD_BITS;
}

size_t
segment_hint_words(size_t segments)
{
    return words_of(segments) + words_of(words_of(segments));
}

static uint64_t
bit_of(uint32_t n)
{
    return UINT64_C(1) << n % WORD_BITS;
}

static _Atomic uint64_t *
hint_word(enum hint hint, uint32_t segment)
{
    return &arena.hints[hint][segment / WORD_BITS];
}

/* A bit for each word of bits. */
static _Atomic uint64_t *
hint_summary(enum hint hint, uint32_t word)
{
    return &arena.hints[hint][words_of(arena.segment_count) + word / WORD_BITS];
}

static void
hint_set(enum hint hint, uint32_t segment)
{
    uint32_t word = segment / WORD_BITS;
    _Atomic uint64_t *summary = hint_summary(hint, word);

    atomic_fetch_or(hint_word(hint, segment), bit_of(segment));
    if ((atomic_load(summary) & bit_of(word)) == 0) {
        atomic_fetch_or(summary, bit_of(word));
    }
}

/* A process that set a bit meanwhile may have found the word's bit still
 * there. */
static void
hint_clear_summary(enum hint hint, uint32_t word)
{
    _Atomic uint64_t *summary = hint_summary(hint, word);

    atomic_fetch_and(summary, ~bit_of(word));
    if (atomic_load(&arena.hints[hint][word]) != 0) {
        atomic_fetch_or(summary, bit_of(word));
    }
}

static bool
hint_is_right(enum hint hint, uint32_t segment)
{
    return kind_of(state_of(segment)) ==
           (hint == HINT_FREE ? SEGMENT_FREE : SEGMENT_RETIRED);
}

static void
hint_clear(enum hint hint, uint32_t segment)
{
    uint64_t bit = bit_of(segment);

    if ((atomic_fetch_and(hint_word(hint, segment), ~bit) & ~bit) == 0) {
        hint_clear_summary(hint, segment / WORD_BITS);
    }
    if (hint_is_right(hint, segment)) {
        hint_set(hint, segment);
    }
}

void
segments_begin(void)
{
    scan_at = 0;
    memset(&trim, 0, sizeof(trim));
    for (uint32_t i = 0; i < arena.segment_count; i++) {
        hint_set(HINT_FREE, i);
    }
}

/* ---- taking ---- */

/* Looking for a segment. */
struct search {
    uint32_t stream;
    uint32_t looks;  /* at retired ones that somebody may yet read */
    uint64_t oldest; /* epoch; asked for once, when it matters */
};

static bool
is_safe(uint64_t word, struct search *s)
{
    if (s->oldest == 0) {
        s->oldest = epoch_oldest();
    }
    return value_of(word) <= s->oldest;
}

/* Takes the segment if its state allows it. */
static bool
try_take(uint32_t segment, struct search *s)
{
    uint64_t word = state_of(segment);
    enum segment_kind kind = kind_of(word);

    if (kind == SEGMENT_RETIRED && !is_safe(word, s)) {
        s->looks++;
        return false;
    }
    if ((kind != SEGMENT_FREE && kind != SEGMENT_RETIRED) ||
        !atomic_compare_exchange_strong(&arena.states[segment], &word,
                                        state_word(SEGMENT_USED, s->stream))) {
        return false;
    }
    hint_clear(kind == SEGMENT_FREE ? HINT_FREE : HINT_RETIRED, segment);
    return true;
}

static uint32_t
take_of_word(enum hint hint, uint32_t word, struct search *s)
{
    uint64_t bits = atomic_load(&arena.hints[hint][word]);

    if (bits == 0) {
        hint_clear_summary(hint, word);
    }
    while (bits != 0 && s->looks < LOOKS_MAX) {
        uint32_t segment = word * WORD_BITS + (uint32_t)__builtin_ctzll(bits);

        bits &= bits - 1;
        if (segment >= arena.segment_count) {
            break;
        }
        if (try_take(segment, s)) {
            return segment;
        }
        if (!hint_is_right(hint, segment)) {
            hint_clear(hint, segment);
        }
    }
    return SEGMENT_NONE;
}

/* The lowest that has its bit. */
static uint32_t
take_by(enum hint hint, struct search *s)
{
    uint32_t words = (uint32_t)words_of(arena.segment_count);

    for (uint32_t first = 0; first < words; first += WORD_BITS) {
        uint64_t bits = atomic_load(hint_summary(hint, first));

        while (bits != 0 && s->looks < LOOKS_MAX) {
            uint32_t word = first + (uint32_t)__builtin_ctzll(bits);
            uint32_t segment =
                word < words ? take_of_word(hint, word, s) : SEGMENT_NONE;

            if (segment != SEGMENT_NONE) {
                return segment;
            }
            bits &= bits - 1;
        }
    }
    return SEGMENT_NONE;
}

/* Some more each time, so that none stays unseen for want of a bit. */
static uint32_t
take_by_scan(struct search *s)
{
    uint32_t count = arena.segment_count;

    for (uint32_t i = 0; i < count && i < SCAN; i++) {
        scan_at = scan_at + 1 < count ? scan_at + 1 : 0;
        if (try_take(scan_at, s)) {
            return scan_at;
        }
    }
    return SEGMENT_NONE;
}

uint32_t
segment_take(uint32_t n)
{
    struct search s = { .stream = n };
    uint32_t segment = take_by(HINT_RETIRED, &s);

    if (segment == SEGMENT_NONE) {
        s.looks = 0;
        segment = take_by(HINT_FREE, &s);
    }
    return segment != SEGMENT_NONE ? segment : take_by_scan(&s);
}

static bool
retire_word(uint32_t segment, uint64_t word)
{
    if (!atomic_compare_exchange_strong(
            &arena.states[segment], &word,
            state_word(SEGMENT_RETIRED, epoch_advance()))) {
        return false;
    }
    hint_set(HINT_RETIRED, segment);
    return true;
}

bool
segment_retire(uint32_t segment, uint32_t n)
{
    return segment < arena.segment_count &&
           retire_word(segment, state_word(SEGMENT_USED, n));
}

bool
segment_used_by(uint32_t segment, uint32_t n)
{
    return segment < arena.segment_count &&
           state_of(segment) == state_word(SEGMENT_USED, n);
}

void
segments_count(uint64_t *used, uint64_t *retired)
{
    *used = *retired = 0;
    for (uint32_t i = 0; i < arena.segment_count; i++) {
        enum segment_kind kind = kind_of(
            atomic_load_explicit(&arena.states[i], memory_order_relaxed));

        *used += kind == SEGMENT_USED;
        *retired += kind == SEGMENT_RETIRED;
    }
}

/* ---- the master's walk ---- */

/* Whether stream number n is there, or being made. */
static bool
is_stream(uint64_t n)
{
    enum stream_state state = n < arena.stream_count
                                  ? key_state(atomic_load(&arena.keys[n]))
                                  : STREAM_FREE;

    return state == STREAM_CLAIMED || state == STREAM_OPEN;
}

/* The master alone ends streams, so what it finds to be over stays so. */
static bool
is_lost(uint64_t word)
{
    switch (kind_of(word)) {
    case SEGMENT_FREE:
        return false;
    case SEGMENT_USED:
        return !is_stream(value_of(word));
    case SEGMENT_RETIRED:
        return value_of(word) > atomic_load(&arena.head->epoch);
    }
    return true;
}

/* Nobody can read it (its epoch), and nobody takes it while it is ours. */
static bool
give_back(uint32_t segment, struct search *s)
{
    uint64_t word = state_of(segment);

    if (kind_of(word) != SEGMENT_RETIRED || !is_safe(word, s) ||
        !atomic_compare_exchange_strong(&arena.states[segment], &word,
                                        state_word(SEGMENT_USED, NOBODY))) {
        return false;
    }
    hint_clear(HINT_RETIRED, segment);
    if (madvise(segment_bytes(segment), SEGMENT_SIZE, MADV_REMOVE) == -1) {
        log_warn("live.memory: what streams need no more stays taken: %s",
                 strerror(errno));
        trim.denied = true;
        segment_retire(segment, NOBODY);
        return false;
    }
    atomic_store(&arena.states[segment], state_word(SEGMENT_FREE, 0));
    hint_set(HINT_FREE, segment);
    return true;
}

/* Counts it, and mends what a process left that was killed, or worse. */
static void
look_at(uint32_t segment)
{
    uint64_t word = state_of(segment);
    enum segment_kind kind = kind_of(word);
    enum hint hint = kind == SEGMENT_FREE ? HINT_FREE : HINT_RETIRED;

    if (is_lost(word)) {
        retire_word(segment, word);
        return;
    }
    trim.used += kind == SEGMENT_USED;
    trim.retired += kind == SEGMENT_RETIRED;
    if ((kind == SEGMENT_FREE || kind == SEGMENT_RETIRED) &&
        (atomic_load(hint_word(hint, segment)) & bit_of(segment)) == 0) {
        hint_set(hint, segment);
    }
}

static void
begin_walk(void)
{
    uint64_t keep = trim.used / 2 + RESERVE;

    trim.surplus = trim.retired > keep ? trim.retired - keep : 0;
    trim.used = trim.retired = 0;
    trim.at = arena.segment_count;
}

bool
segments_trim(void)
{
    struct search s = { 0 };

    if (trim.at == 0) {
        begin_walk();
    }
    for (uint32_t looks = 0, given = 0;
         trim.at > 0 && looks < LOOKED && given < TRIM; looks++) {
        trim.at--;
        if (trim.surplus > 0 && !trim.denied && give_back(trim.at, &s)) {
            trim.surplus--;
            given++;
        }
        look_at(trim.at);
    }
    return trim.surplus > 0 && !trim.denied;
}
