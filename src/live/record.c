/*
 * Session records: taken by compare-and-swap, filled under a sequence counter.
 *
 * The owner frees its record; the master's sweep does it for the dead.  Readers
 * copy, try again a bounded number of times, and leave out what keeps changing.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "live/record.h"

#include <string.h>

#include "base/clock.h"

static void
fill(struct session_record *r, const struct record_text *t)
{
    size_t name, room;

    atomic_fetch_add(&r->sequence, 1); /* odd: readers wait */
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
    atomic_fetch_add(&r->sequence, 1);
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

struct session_record *
record_take(const struct record_text *t)
{
    uint32_t count = arena.session_count;
    uint32_t at = arena.session_hint;

    for (uint32_t i = 0; i < count; i++) {
        struct session_record *r = &arena.sessions[at];
        uint32_t here = at;
        slot_owner nobody = 0;

        at = at + 1 < count ? at + 1 : 0;
        if (atomic_load_explicit(&r->owner, memory_order_relaxed) != 0) {
            continue;
        }
        note_use(here);
        if (atomic_compare_exchange_strong(&r->owner, &nobody,
                                           slot_self_owner())) {
            arena.session_hint = at;
            if (atomic_load(&r->sequence) % 2 != 0) {
                atomic_fetch_add(&r->sequence, 1); /* its writer was killed */
            }
            fill(r, t);
            return r;
        }
    }
    return NULL;
}

void
record_free(struct session_record **r)
{
    if (*r != NULL) {
        arena.session_hint = (uint32_t)(*r - arena.sessions);
        atomic_store(&(*r)->owner, 0);
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

static void
copy_record(const struct session_record *r, struct live_session_view *v)
{
    uint32_t role = atomic_load_explicit(&r->role, memory_order_relaxed);
    uint32_t kind = atomic_load_explicit(&r->kind, memory_order_relaxed);
    int64_t now = clock_ms();
    int64_t started = shared_time(&r->started_ms, now);
    struct meter_view m = meter_read(&r->meter, now, started);

    v->id = r->serial;
    v->publisher = role != SESSION_PLAYER;
    v->asking = role == SESSION_ASKING;
    v->kind = kind < LIVE_KINDS ? (enum live_kind)kind : LIVE_KIND_RTMP;
    v->peer = r->peer;
    v->stream_id = r->stream_id;
    v->video_bytes = m.video;
    v->audio_bytes = m.audio;
    v->video_speed = m.video_speed;
    v->audio_speed = m.audio_speed;
    v->dropped = atomic_load_explicit(&r->dropped, memory_order_relaxed);
    v->started_ms = started;
    copy_text(r, v);
}

bool
record_view(const struct session_record *r, struct live_session_view *v)
{
    for (int tries = 0; tries < 100; tries++) {
        uint32_t before = atomic_load(&r->sequence);

        v->owner = atomic_load(&r->owner);
        if (v->owner == 0) {
            return false;
        }
        if (before % 2 == 0) {
            copy_record(r, v);
            atomic_thread_fence(memory_order_seq_cst);
            if (atomic_load(&r->sequence) == before) {
                return atomic_load(&r->owner) == v->owner;
            }
        }
    }
    return false;
}

bool
live_next_session(uint32_t *at, struct live_session_view *v)
{
    uint32_t end = sessions_end();

    while (*at < end) {
        const struct session_record *r = &arena.sessions[(*at)++];

        if (atomic_load_explicit(&r->owner, memory_order_relaxed) != 0 &&
            record_view(r, v)) {
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
