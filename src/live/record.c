/*
 * Session records: taken by compare-and-swap, filled under a sequence counter.
 *
 * The owner frees its record; the master's sweep does it for the dead.  Readers
 * copy, try again a bounded number of times, and leave out what keeps changing.
 * The master gives back pages of records that are free: it takes all records
 * that lie in one for as long as that lasts.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/record.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "live/give.h"
#include "live/metrics.h"
#include "net/exceptions.h"

/* Pages that the master looks at in one go. */
#define LOOKED 2048u

static struct {
    uint32_t at; /* the next page */
    bool denied; /* the system takes nothing back */
} trim;

static struct session_claim *
claim_of(const struct session_record *r)
{
    return &arena.claims[r - arena.sessions];
}

/* Never 0 for a player that counts. */
static uint32_t
plays(const struct record_text *t)
{
    if (t->role != SESSION_PLAYER || t->kind == LIVE_KIND_PUSH) {
        return 0;
    }
    return (uint32_t)hash_str(t->name) | 1;
}

/* A record with a serial number is seen by all that get a higher one: "plays"
 * is set before it, and the sequence counter says that the rest follows. */
static void
fill(struct session_record *r, const struct record_text *t,
     const struct tally_holder *h)
{
    struct session_claim *c = claim_of(r);
    size_t name, room;

    atomic_fetch_add(&c->sequence, 1); /* odd: readers wait */
    atomic_store(&c->plays, plays(t));
    holder_write(c->holder, h);
    atomic_store(&c->gives, 0);
    do {
        r->serial = atomic_fetch_add(&arena.head->session_serial, 1);
    } while (r->serial == 0); /* which means none */
    atomic_store(&r->role, (uint32_t)t->role);
    r->stream_id = t->stream_id;
    atomic_store(&r->kind, (uint32_t)t->kind);
    atomic_store(&r->started_ms, clock_ms());
    r->peer = t->peer;
    name = str_copy(r->text, LIVE_NAME_MAX, t->name);
    room = sizeof(r->text) - name;
    room = room < LIVE_URL_MAX ? room : LIVE_URL_MAX;
    atomic_store(&r->name_len, (uint16_t)name);
    atomic_store(&r->url_len, (uint16_t)str_copy(r->text + name, room, t->url));
    meter_clear(&r->meter);
    atomic_store(&r->dropped, 0);
    atomic_fetch_add(&c->sequence, 1);
}

/* Before it is taken: a taker that is killed leaves no record unseen. */
static void
note_use(uint32_t at)
{
    uint32_t end = atomic_load(&arena.head->session_end);

    while (end <= at && !atomic_compare_exchange_weak(&arena.head->session_end,
                                                      &end, at + 1)) {
    }
}

static struct session_record *
take_free(const struct record_text *t, const struct tally_holder *h)
{
    uint32_t count = arena.session_count;
    uint32_t at = arena.session_hint;

    for (uint32_t i = 0; i < count; i++) {
        struct session_claim *c = &arena.claims[at];
        uint32_t here = at;
        slot_owner nobody = 0;

        at = at + 1 < count ? at + 1 : 0;
        if (atomic_load_explicit(&c->owner, memory_order_relaxed) != 0) {
            continue;
        }
        note_use(here);
        if (atomic_compare_exchange_strong(&c->owner, &nobody,
                                           slot_self_owner())) {
            arena.session_hint = at;
            if (atomic_load(&c->sequence) % 2 != 0) {
                atomic_fetch_add(&c->sequence, 1); /* its writer was killed */
            }
            fill(&arena.sessions[here], t, h);
            return &arena.sessions[here];
        }
    }
    return NULL;
}

static enum share_answer
ask(const struct record_text *t, const struct tally_holder *h)
{
    struct share_want w = { .pool = &live_pools[LIVE_POOL_SESSIONS],
                            .client = *h,
                            .size = arena.session_count,
                            .publishes = t->role != SESSION_PLAYER,
                            .give = session_give };

    return share_claim(&w);
}

struct session_record *
record_take(const struct record_text *t, struct errmsg *err)
{
    bool is_relay = t->kind == LIVE_KIND_PULL || t->kind == LIVE_KIND_PUSH;
    struct tally_holder h = is_relay ? share_self() : share_client(&t->peer);
    struct session_record *r = NULL;

    switch (ask(t, &h)) {
    case SHARE_GRANTED:
        r = take_free(t, &h);
        if (r != NULL) {
            return r;
        }
        tally_leave(&live_pools[LIVE_POOL_SESSIONS], &h);
        break;
    case SHARE_OVER:
        live_count_refused(LIVE_REFUSED_SHARE);
        errmsg_set(err,
                   "your address has its share of live.max_sessions, which is "
                   "%u",
                   arena.session_count);
        return NULL;
    case SHARE_FULL:
        break;
    }
    live_count_refused(LIVE_REFUSED_SESSIONS);
    errmsg_set(err, "no room for another session: live.max_sessions is %u",
               arena.session_count);
    return NULL;
}

void
record_free(struct session_record **r)
{
    if (*r != NULL) {
        struct tally_holder h = holder_read(claim_of(*r)->holder);

        tally_leave(&live_pools[LIVE_POOL_SESSIONS], &h);
        arena.session_hint = (uint32_t)(*r - arena.sessions);
        atomic_store(&claim_of(*r)->plays, 0);
        atomic_store(&claim_of(*r)->owner, 0);
        *r = NULL;
    }
}

struct str
record_name(const struct session_record *r)
{
    return str_of(r->text, atomic_load(&r->name_len));
}

void
record_publishes(struct session_record *r)
{
    atomic_store(&r->role, (uint32_t)SESSION_PUBLISHER);
}

/* A record may change meanwhile, or be anybody's work: nothing is believed. */
static void
copy_text(const struct session_record *r, struct live_session_view *v)
{
    size_t name = atomic_load_explicit(&r->name_len, memory_order_relaxed);
    size_t url = atomic_load_explicit(&r->url_len, memory_order_relaxed);

    name = name < sizeof(v->name) ? name : sizeof(v->name) - 1;
    url = url < sizeof(v->url) ? url : sizeof(v->url) - 1;
    if (url > sizeof(r->text) - name) {
        url = sizeof(r->text) - name;
    }
    memcpy(v->name, r->text, name);
    memcpy(v->url, r->text + name, url);
    v->name[name] = '\0';
    v->url[url] = '\0';
}

enum live_kind
record_kind(const struct session_record *r)
{
    uint32_t kind = atomic_load_explicit(&r->kind, memory_order_relaxed);

    return kind < LIVE_KINDS ? (enum live_kind)kind : LIVE_KIND_RTMP;
}

static void
copy_record(const struct session_record *r, struct live_session_view *v)
{
    uint32_t role = atomic_load_explicit(&r->role, memory_order_relaxed);
    int64_t now = clock_ms();
    int64_t started = shared_time(&r->started_ms, now);
    struct meter_view m = meter_read(&r->meter, now, started);

    v->id = r->serial;
    v->publisher = role != SESSION_PLAYER;
    v->asking = role == SESSION_ASKING;
    v->kind = record_kind(r);
    v->peer = r->peer;
    v->stream_id = r->stream_id;
    v->video_bytes = m.video;
    v->audio_bytes = m.audio;
    v->video_speed = m.video_speed;
    v->audio_speed = m.audio_speed;
    v->dropped = shared_count(&r->dropped);
    v->started_ms = started;
    copy_text(r, v);
}

bool
record_view(const struct session_record *r, struct live_session_view *v)
{
    uint32_t n = (uint32_t)(r - arena.sessions);
    const struct session_claim *c = &arena.claims[n];

    for (int tries = 0; tries < 100; tries++) {
        uint32_t before = atomic_load(&c->sequence);

        v->owner = session_owner(n);
        if (v->owner == 0) {
            return false;
        }
        if (before % 2 == 0) {
            copy_record(r, v);
            atomic_thread_fence(memory_order_seq_cst);
            if (atomic_load(&c->sequence) == before) {
                return session_owner(n) == v->owner;
            }
        }
    }
    return false;
}

/* A record that changes all the time counts: its writer is at it now. */
static bool
came_before(uint32_t n, const struct session_record *r, struct str name)
{
    const struct session_record *other = &arena.sessions[n];
    const struct session_claim *c = &arena.claims[n];

    for (int tries = 0; tries < 1000; tries++) {
        uint32_t before = atomic_load(&c->sequence);
        bool is = (int32_t)(other->serial - r->serial) < 0 &&
                  atomic_load(&other->name_len) == name.len &&
                  memcmp(other->text, name.ptr, name.len) == 0;

        atomic_thread_fence(memory_order_seq_cst);
        if (before % 2 == 0 && atomic_load(&c->sequence) == before) {
            return is;
        }
    }
    return true;
}

bool
record_is_beyond(const struct session_record *r, struct str name, uint32_t most)
{
    uint32_t plays = atomic_load(&claim_of(r)->plays), end = sessions_end();
    uint32_t count = 0;

    for (uint32_t n = 0; n < end && count < most; n++) {
        if (atomic_load_explicit(&arena.claims[n].plays,
                                 memory_order_relaxed) == plays &&
            &arena.sessions[n] != r && session_owner(n) != 0 &&
            came_before(n, r, name)) {
            count++;
        }
    }
    return count >= most;
}

/* Counted first and judged then, as connections are (app/child/admission.h). */
bool
record_is_too_many(const struct session_record *r, struct str name)
{
    const struct exception *e = exception_of_stream(EXCEPTION_PLAYERS, name);

    if (e == NULL || !record_is_beyond(r, name, (uint32_t)e->most)) {
        return false;
    }
    exception_strikes(e);
    return true;
}

bool
live_next_session(uint32_t *at, struct live_session_view *v)
{
    uint32_t end = sessions_end();

    while (*at < end) {
        if (record_view(&arena.sessions[(*at)++], v)) {
            return true;
        }
    }
    return false;
}

void
live_each_session(bool (*on_view)(void *arg, const struct live_session_view *v),
                  void *arg)
{
    struct live_session_view view;
    uint32_t at = 0;

    while (live_next_session(&at, &view)) {
        if (!on_view(arg, &view)) {
            return;
        }
    }
}

/* ---- the master ---- */

void
records_begin(void)
{
    memset(&trim, 0, sizeof(trim));
}

static void
release(uint32_t from, uint32_t to)
{
    while (from < to) {
        atomic_store(&arena.claims[from++].owner, 0);
    }
}

/* All of them or none. */
static bool
claim_free(uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        slot_owner nobody = 0;

        if (!atomic_compare_exchange_strong(&arena.claims[i].owner, &nobody,
                                            slot_owner_of(0))) {
            release(from, i);
            return false;
        }
    }
    return true;
}

/* Gives the page back unless somebody has a record there. */
static void
give_back(uint8_t *page, size_t size)
{
    size_t begin = (size_t)(page - (uint8_t *)arena.sessions);
    size_t last = (begin + size - 1) / sizeof(struct session_record);
    uint32_t from = (uint32_t)(begin / sizeof(struct session_record));
    uint32_t to =
        last < arena.session_count ? (uint32_t)last + 1 : arena.session_count;

    if (!claim_free(from, to)) {
        return;
    }
    if (madvise(page, size, MADV_REMOVE) == -1) {
        log_warn("live: memory of sessions that ended stays taken: %s",
                 strerror(errno));
        trim.denied = true;
    }
    release(from, to);
}

void
records_trim(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    size_t used = sessions_end() * sizeof(struct session_record);
    uint32_t end = (uint32_t)((used + size - 1) / size);
    uint8_t *first = (uint8_t *)arena.sessions;
    unsigned char touched[LOOKED];
    uint32_t count;

    if (trim.denied) {
        return;
    }
    trim.at = trim.at < end ? trim.at : 0;
    count = end - trim.at < LOOKED ? end - trim.at : LOOKED;
    first += trim.at * size;
    if (count == 0 || mincore(first, count * size, touched) == -1) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if ((touched[i] & 1) != 0) {
            give_back(first + i * size, size);
        }
    }
    trim.at += count;
}
