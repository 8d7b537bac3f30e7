/*
 * Viewers: the table to find them by, counting, and their end.
 *
 * The owner word of a record says what it is.  Its slot number is one that no
 * process has (enum owner_number); above it stands the serial number of the
 * session, or an epoch.
 *
 *   a slot    a process fills it; the sweep frees it if that is killed
 *   VIEWER    counted, found by its id
 *   KICKED    found, so that it is refused for a while, but no player any more
 *   GONE      neither, but somebody may still be counting into it
 *   RETIRED   the same since an epoch; free when every process has seen that
 *
 * A change of state is one compare-and-swap.  Any process makes a VIEWER GONE.
 * The master alone kicks, and does what follows GONE.  So a record that a
 * process has found stays that viewer's until the turn of its loop is over.
 *
 * A process enters its record in the table and then looks for others of that
 * viewer.  Of two that enter one at once, at least one finds both, and ends the
 * younger.  A place whose record disagrees is void, and no value is ever
 * written twice.
 *
 * An attacker in one worker can make viewers, end them and hide them, but leads
 * nobody out of the arena, and the master bounds each time that it reads.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/viewer.h"

#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "live/give.h"
#include "live/metrics.h"
#include "live/record.h"
#include "live/stream.h"

#define WAYS 8u
/* Claims, and viewers among them, that the master looks at in one go. */
#define CLAIMS_LOOKED 65536u
#define VIEWERS_LOOKED 4096u

struct viewer_bucket {
    /* Number of the record plus one, and above it a number that no other entry
     * ever had; 0: none. */
    _Alignas(64) _Atomic uint64_t entries[WAYS];
};

/* The name of a viewer. */
struct key {
    const struct live_viewer_id *id;
    struct str name;
    uint64_t hash;
};

/* A record as it was found; good until the turn ends. */
struct found {
    uint32_t n;
    slot_owner owner; /* 0: none was found */
};

static uint32_t walk_at; /* the master looks from here */

/* ---- owner words ---- */

static slot_owner
word_of(enum owner_number number, uint32_t above)
{
    return (slot_owner)above << 32 | (uint32_t)number;
}

static uint32_t
above(slot_owner owner)
{
    return (uint32_t)(owner >> 32);
}

static bool
is_kicked(slot_owner owner)
{
    return slot_owner_number(owner) == OWNER_KICKED;
}

static bool
is_known(slot_owner owner)
{
    return slot_owner_number(owner) == OWNER_VIEWER || is_kicked(owner);
}

static slot_owner
owner_of(uint32_t n)
{
    return atomic_load(&arena.claims[n].owner);
}

/* Makes it no player, or gone altogether, while nobody can take it anew.
 * False: somebody else has changed it. */
static bool
change(uint32_t n, slot_owner from, slot_owner to)
{
    if (!atomic_compare_exchange_strong(&arena.claims[n].owner, &from, to)) {
        return false;
    }
    atomic_store(&arena.claims[n].plays, 0);
    return true;
}

static void
let_go(uint32_t n, slot_owner owner)
{
    change(n, owner, word_of(OWNER_GONE, 0));
}

bool
viewer_give(uint32_t n, slot_owner owner)
{
    return slot_owner_number(owner) == OWNER_VIEWER &&
           change(n, owner, word_of(OWNER_GONE, 0));
}

/* ---- the table ---- */

static uint32_t
buckets_for(uint32_t sessions)
{
    uint32_t n = 2;

    while (n < sessions) {
        n *= 2;
    }
    return n;
}

/* Eight places for each session: two full buckets happen to a full table once
 * in a very long time. */
size_t
viewers_size(uint32_t sessions)
{
    return buckets_for(sessions) * sizeof(struct viewer_bucket);
}

static uint64_t
hash_of(const struct live_viewer_id *id, struct str name)
{
    char text[sizeof(id->words) + LIVE_NAME_MAX];

    memcpy(text, id->words, sizeof(id->words));
    memcpy(text + sizeof(id->words), name.ptr, name.len);
    return hash_str(str_of(text, sizeof(id->words) + name.len));
}

static uint32_t
bucket_of(uint64_t hash, unsigned which)
{
    uint32_t mask = arena.viewer_buckets - 1;
    uint32_t first = (uint32_t)hash & mask;
    uint32_t second = (uint32_t)(hash >> 32) & mask;

    if (which == 0) {
        return first;
    }
    return second != first ? second : first ^ 1;
}

/* The record of an entry; RECORD_NONE: there is none such. */
static uint32_t
record_of(uint64_t entry)
{
    uint32_t n = (uint32_t)entry - 1;

    return n < arena.session_count ? n : RECORD_NONE;
}

static struct str
name_of(const struct session_record *r)
{
    size_t len = atomic_load_explicit(&r->name_len, memory_order_relaxed);

    return str_of(r->text, len < LIVE_NAME_MAX ? len : LIVE_NAME_MAX - 1);
}

static struct live_viewer_id
id_of(const struct session_record *r)
{
    return (struct live_viewer_id){
        { atomic_load_explicit(&r->viewer[0], memory_order_relaxed),
          atomic_load_explicit(&r->viewer[1], memory_order_relaxed) }
    };
}

static bool
is_of(uint32_t n, const struct key *k)
{
    const struct session_record *r = &arena.sessions[n];
    struct live_viewer_id id = id_of(r);

    return id.words[0] == k->id->words[0] && id.words[1] == k->id->words[1] &&
           str_eq(name_of(r), k->name);
}

/* Of two records of one viewer the older one stays, but first of all one that
 * was kicked. */
static bool
stays(struct found a, struct found b)
{
    if (is_kicked(a.owner) != is_kicked(b.owner)) {
        return is_kicked(a.owner);
    }
    return (int32_t)(above(a.owner) - above(b.owner)) < 0;
}

/* The one that stays; the other goes. */
static struct found
one_of(struct found a, struct found b)
{
    struct found other = stays(a, b) ? b : a;

    if (a.n == b.n) {
        return a;
    }
    if (!is_kicked(other.owner)) {
        let_go(other.n, other.owner);
    }
    return stays(a, b) ? a : b;
}

static struct found
find(const struct key *k)
{
    struct found found = { .owner = 0 };

    for (unsigned i = 0; i < 2 * WAYS; i++) {
        uint32_t bucket = bucket_of(k->hash, i / WAYS);
        uint32_t n =
            record_of(atomic_load(&arena.viewers[bucket].entries[i % WAYS]));
        struct found here = { n, n != RECORD_NONE ? owner_of(n) : 0 };

        if (is_known(here.owner) && is_of(n, k)) {
            found = found.owner != 0 ? one_of(found, here) : here;
        }
    }
    return found;
}

/* Nobody finds anything by it; or it is of an earlier use of this record. */
static bool
is_void(uint64_t entry, uint32_t bucket, uint32_t record)
{
    uint32_t n = record_of(entry);
    struct live_viewer_id id;
    uint64_t hash;

    if (n == RECORD_NONE || n == record || !is_known(owner_of(n))) {
        return true;
    }
    id = id_of(&arena.sessions[n]);
    hash = hash_of(&id, name_of(&arena.sessions[n]));
    return bucket_of(hash, 0) != bucket && bucket_of(hash, 1) != bucket;
}

static bool
enter_into(uint32_t bucket, uint32_t record)
{
    for (uint32_t i = 0; i < WAYS; i++) {
        _Atomic uint64_t *place = &arena.viewers[bucket].entries[i];
        uint64_t entry = atomic_load(place);
        uint64_t number;

        if (!is_void(entry, bucket, record)) {
            continue;
        }
        number = atomic_fetch_add(&arena.head->viewers_entered, 1);
        if (atomic_compare_exchange_strong(place, &entry,
                                           number << 32 | (record + 1))) {
            return true;
        }
    }
    return false;
}

/* ---- requests ---- */

/* A record of this process for a new viewer; NULL: it is not let in. */
static struct session_record *
take_record(const struct live_viewer *v, struct errmsg *why)
{
    struct record_text text = { .name = v->name,
                                .url = v->url,
                                .peer = v->peer,
                                .kind = v->kind,
                                .role = SESSION_PLAYER };
    struct session_record *r = record_take(&text, why);

    if (r != NULL && record_is_too_many(r, v->name)) {
        live_count_refused(LIVE_REFUSED_PLAYERS);
        errmsg_set(why, "the stream has as many players as the operator "
                        "allows");
        record_free(&r);
    }
    return r;
}

/* Makes it nobody's: from now on it lasts until it is let go. */
static void
become_viewer(struct session_record *r, const struct live_viewer *v)
{
    uint32_t n = (uint32_t)(r - arena.sessions);
    uint32_t lasts =
        v->lasts < LIVE_VIEWER_MAX ? v->lasts : (uint32_t)LIVE_VIEWER_MAX;
    struct tally_holder holder;

    atomic_store(&r->viewer[0], v->id.words[0]);
    atomic_store(&r->viewer[1], v->id.words[1]);
    atomic_store(&r->lasts, lasts);
    atomic_store(&r->until_ms, clock_ms() + lasts);
    atomic_store(&r->kicked_until, 0);
    atomic_store(&r->requests, 0);
    atomic_store(&arena.claims[n].owner, word_of(OWNER_VIEWER, r->serial));
    holder = holder_read(arena.claims[n].holder);
    tally_hand_on(&live_pools[LIVE_POOL_SESSIONS], &holder);
}

static struct found
enter(const struct live_viewer *v, const struct key *k, struct errmsg *why)
{
    struct session_record *r = take_record(v, why);
    struct found none = { .owner = 0 };
    uint32_t n;

    if (r == NULL) {
        return none;
    }
    n = (uint32_t)(r - arena.sessions);
    become_viewer(r, v);
    if (!enter_into(bucket_of(k->hash, 0), n) &&
        !enter_into(bucket_of(k->hash, 1), n)) {
        live_count_refused(LIVE_REFUSED_SESSIONS);
        errmsg_set(why, "the table of players is full");
        let_go(n, word_of(OWNER_VIEWER, r->serial));
        return none;
    }
    return find(k); /* another process may have entered it just now */
}

static void
count(struct found found, uint64_t video, uint64_t audio)
{
    struct session_record *r = &arena.sessions[found.n];
    int64_t now = clock_ms();
    uint32_t lasts = atomic_load_explicit(&r->lasts, memory_order_relaxed);

    lasts = lasts < LIVE_VIEWER_MAX ? lasts : (uint32_t)LIVE_VIEWER_MAX;
    atomic_store_explicit(&r->until_ms, now + lasts, memory_order_relaxed);
    if (atomic_load_explicit(&r->requests, memory_order_relaxed) < 2) {
        atomic_fetch_add_explicit(&r->requests, 1, memory_order_relaxed);
    }
    meter_add_shared(&r->meter, now, video, audio);
}

enum live_viewer_answer
live_viewer_came(const struct live_viewer *v, uint64_t video, uint64_t audio,
                 struct errmsg *why)
{
    struct key k = { .id = &v->id, .name = v->name };
    struct found found;

    if (v->name.len >= LIVE_NAME_MAX) {
        live_count_refused(LIVE_REFUSED_NAME);
        errmsg_set(why, "the stream's name is too long");
        return LIVE_VIEWER_FULL;
    }
    k.hash = hash_of(k.id, k.name);
    found = find(&k);
    if (found.owner == 0) {
        found = enter(v, &k, why);
    }
    if (found.owner == 0) {
        return LIVE_VIEWER_FULL;
    }
    if (is_kicked(found.owner)) {
        return LIVE_VIEWER_KICKED;
    }
    count(found, video, audio);
    return LIVE_VIEWER_COUNTED;
}

bool
live_viewer_took(struct live_viewer_id id, struct str name, uint64_t video,
                 uint64_t audio)
{
    struct key k = { .id = &id, .name = name };
    struct found found;

    if (name.len >= LIVE_NAME_MAX) {
        return false;
    }
    k.hash = hash_of(k.id, k.name);
    found = find(&k);
    if (found.owner == 0 || is_kicked(found.owner)) {
        return false;
    }
    count(found, video, audio);
    return true;
}

/* ---- the master ---- */

void
viewers_begin(void)
{
    walk_at = 0;
    arena.viewer_buckets = buckets_for(arena.session_count);
}

unsigned
live_kick_viewers(const struct live_kick *k, int64_t kick_time)
{
    int64_t until = clock_ms() + kick_time;
    struct live_session_view v;
    unsigned kicked = 0;

    for (uint32_t n = 0; n < sessions_end(); n++) {
        struct session_record *r = &arena.sessions[n];

        slot_owner owner = owner_of(n);

        if (slot_owner_number(owner) != OWNER_VIEWER || !record_view(r, &v) ||
            v.owner != owner || !live_kick_means(k, &v)) {
            continue;
        }
        atomic_store(&r->kicked_until, until);
        if (change(n, owner, word_of(OWNER_KICKED, above(owner)))) {
            kicked++;
            metric_add(&live_metrics[LIVE_LOST], LIVE_LOST_KICKED, 1);
        }
    }
    return kicked;
}

uint32_t
live_count_viewers(void)
{
    uint32_t count = 0;

    for (uint32_t n = 0; n < sessions_end(); n++) {
        count += slot_owner_number(owner_of(n)) == OWNER_VIEWER;
    }
    return count;
}

void
live_each_viewer(void (*on_viewer)(void *arg, struct str name,
                                   enum live_kind kind),
                 void *arg)
{
    for (uint32_t n = 0; n < sessions_end(); n++) {
        if (slot_owner_number(owner_of(n)) == OWNER_VIEWER) {
            const struct session_record *r = &arena.sessions[n];

            on_viewer(arg, name_of(r), record_kind(r));
        }
    }
}

/* Whether a time has come; one that is later than may be is mended. */
static bool
is_over(_Atomic int64_t *at, int64_t most)
{
    int64_t now = clock_ms();
    int64_t told = atomic_load(at);
    int64_t until = shared_time(at, now + most);

    if (told > until) {
        atomic_compare_exchange_strong(at, &told, until);
    }
    return until <= now;
}

/* Everybody that found the record has made a turn since.  An epoch that is
 * still to come is none. */
static bool
is_seen(uint32_t epoch, uint64_t oldest)
{
    uint32_t now = (uint32_t)atomic_load(&arena.head->epoch);

    return (int32_t)((uint32_t)oldest - epoch) >= 0 ||
           (int32_t)(now - epoch) < 0;
}

static void
set_free(uint32_t n, slot_owner owner)
{
    struct tally_holder holder = holder_read(arena.claims[n].holder);

    if (atomic_compare_exchange_strong(&arena.claims[n].owner, &owner, 0)) {
        tally_leave_nobody(&live_pools[LIVE_POOL_SESSIONS], &holder);
    }
}

static void
look_at(uint32_t n, slot_owner owner, uint64_t oldest)
{
    struct session_record *r = &arena.sessions[n];

    switch (slot_owner_number(owner)) {
    case OWNER_VIEWER:
        if (is_over(&r->until_ms, LIVE_VIEWER_MAX) ||
            stream_find(name_of(r)) == NULL) {
            let_go(n, owner);
        }
        break;
    case OWNER_KICKED:
        if (is_over(&r->kicked_until, LIVE_KICK_MAX)) {
            let_go(n, owner);
        }
        break;
    case OWNER_GONE:
        change(n, owner, word_of(OWNER_RETIRED, (uint32_t)epoch_advance()));
        break;
    case OWNER_RETIRED:
        if (is_seen(above(owner), oldest)) {
            set_free(n, owner);
        }
        break;
    }
}

bool
viewers_sweep(void)
{
    uint64_t oldest = epoch_oldest();
    uint32_t end = sessions_end();
    uint32_t viewers = 0;

    walk_at = walk_at < end ? walk_at : 0;
    for (uint32_t looks = 0;
         walk_at < end && looks < CLAIMS_LOOKED && viewers < VIEWERS_LOOKED;
         looks++) {
        slot_owner owner = owner_of(walk_at);

        if (slot_owner_number(owner) >= OWNER_VIEWER) { /* or no slot's */
            viewers++;
            look_at(walk_at, owner, oldest);
        }
        walk_at++;
    }
    return walk_at < end;
}
