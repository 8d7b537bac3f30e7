/*
 * Which record bears which name.
 *
 * Beside the table there is a bit for each record, so that one that is free is
 * found in a hurry.  Like those of segments (segment.c) the bits only tell
 * where to look.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/names.h"

#include "live/arena.h"
#include "live/stream.h"

#define WAYS 8u
#define WORD_BITS 64u
#define SCAN 64u /* keys looked at where no bit helped */

struct name_bucket {
    /* Number of the record plus one, and above it a number that no other entry
     * ever had; 0: none. */
    _Alignas(64) _Atomic uint64_t entries[WAYS];
};

static uint32_t word_hint, scan_at; /* this process looks from here */

uint32_t
names_buckets(uint32_t streams)
{
    uint32_t n = 2;

    while (n < streams) {
        n *= 2;
    }
    return n;
}

size_t
names_bucket_size(void)
{
    return sizeof(struct name_bucket);
}

size_t
names_words(uint32_t streams)
{
    return (streams + WORD_BITS - 1) / WORD_BITS;
}

/* ---- buckets ---- */

static uint64_t
hash_of(uint64_t key)
{
    return key >> KEY_HASH_SHIFT;
}

static uint32_t
bucket_of(uint64_t hash, unsigned which)
{
    uint32_t mask = arena.name_buckets - 1;
    uint32_t first = (uint32_t)hash & mask;
    uint32_t second = (uint32_t)(hash >> 26) & mask;

    if (which == 0) {
        return first;
    }
    return second != first ? second : first ^ 1;
}

static bool
is_in_use(uint64_t key)
{
    return key_state(key) == STREAM_CLAIMED || key_state(key) == STREAM_OPEN;
}

/* The record of an entry; RECORD_NONE: there is none such. */
static uint32_t
record_of(uint64_t entry)
{
    uint32_t n = (uint32_t)entry - 1;

    return n < arena.stream_count ? n : RECORD_NONE;
}

static _Atomic uint64_t *
entry_at(uint32_t bucket, uint32_t i)
{
    return &arena.names[bucket].entries[i];
}

uint32_t
names_next(struct names_look *look)
{
    uint64_t wanted = hash_of(key_make(STREAM_OPEN, 0, look->hash));

    while (look->at < 2 * WAYS) {
        uint32_t bucket = bucket_of(wanted, look->at / WAYS);
        uint32_t n =
            record_of(atomic_load(entry_at(bucket, look->at++ % WAYS)));
        uint64_t key = n != RECORD_NONE ? atomic_load(&arena.keys[n]) : 0;

        if (is_in_use(key) && hash_of(key) == wanted) {
            return n;
        }
    }
    return RECORD_NONE;
}

/* Nobody finds anything by it; or it is of an earlier use of this record. */
static bool
is_void(uint64_t entry, uint32_t bucket, uint32_t record)
{
    uint32_t n = record_of(entry);
    uint64_t key;

    if (n == RECORD_NONE || n == record) {
        return true;
    }
    key = atomic_load(&arena.keys[n]);
    return !is_in_use(key) || (bucket_of(hash_of(key), 0) != bucket &&
                               bucket_of(hash_of(key), 1) != bucket);
}

static uint64_t
new_entry(uint32_t record)
{
    uint64_t number = atomic_fetch_add(&arena.head->names_entered, 1);

    return number << 32 | (record + 1);
}

static bool
enter_into(uint32_t bucket, uint32_t record)
{
    for (uint32_t i = 0; i < WAYS; i++) {
        uint64_t entry = atomic_load(entry_at(bucket, i));

        if (is_void(entry, bucket, record) &&
            atomic_compare_exchange_strong(entry_at(bucket, i), &entry,
                                           new_entry(record))) {
            return true;
        }
    }
    return false;
}

bool
names_enter(uint32_t record)
{
    uint64_t hash = hash_of(atomic_load(&arena.keys[record]));

    return enter_into(bucket_of(hash, 0), record) ||
           enter_into(bucket_of(hash, 1), record);
}

/* ---- records ---- */

static uint64_t
bit_of(uint32_t n)
{
    return UINT64_C(1) << n % WORD_BITS;
}

static bool
is_free(uint32_t record)
{
    return atomic_load(&arena.keys[record]) == STREAM_FREE;
}

static void
note_taken(uint32_t record)
{
    atomic_fetch_or(&arena.taken[record / WORD_BITS], bit_of(record));
}

static void
note_free(uint32_t record)
{
    atomic_fetch_and(&arena.taken[record / WORD_BITS], ~bit_of(record));
}

static bool
try_claim(uint32_t record, uint64_t key)
{
    uint64_t free_key = STREAM_FREE;
    bool ours = is_free(record) && atomic_compare_exchange_strong(
                                       &arena.keys[record], &free_key, key);

    note_taken(record);
    if (!ours && is_free(record)) { /* it was let go meanwhile */
        note_free(record);
    }
    return ours;
}

static uint32_t
claim_of_word(uint32_t word, uint64_t key)
{
    uint64_t bits = ~atomic_load(&arena.taken[word]);

    while (bits != 0) {
        uint32_t n = word * WORD_BITS + (uint32_t)__builtin_ctzll(bits);

        bits &= bits - 1;
        if (n < arena.stream_count && try_claim(n, key)) {
            return n;
        }
    }
    return RECORD_NONE;
}

/* Some more each time, so that none stays unseen for want of a bit. */
static uint32_t
claim_by_scan(uint64_t key)
{
    for (uint32_t i = 0; i < SCAN && i < arena.stream_count; i++) {
        scan_at = scan_at + 1 < arena.stream_count ? scan_at + 1 : 0;
        if (is_free(scan_at) && try_claim(scan_at, key)) {
            return scan_at;
        }
    }
    return RECORD_NONE;
}

uint32_t
names_claim(uint64_t key)
{
    uint32_t words = (uint32_t)names_words(arena.stream_count);

    for (uint32_t i = 0; i < words; i++) {
        uint32_t word = (word_hint + i) % words;
        uint32_t n = claim_of_word(word, key);

        if (n != RECORD_NONE) {
            word_hint = word;
            return n;
        }
    }
    return claim_by_scan(key);
}

void
names_release(uint32_t record)
{
    atomic_store(&arena.keys[record], STREAM_FREE);
    note_free(record);
}

void
names_mend(uint32_t record)
{
    if (is_free(record) &&
        (atomic_load(&arena.taken[record / WORD_BITS]) & bit_of(record)) != 0) {
        note_free(record);
    }
}
