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
    size_t room;

    atomic_fetch_add(&r->sequence, 1); /* odd: readers wait */
    do {
        r->serial = atomic_fetch_add(&arena.head->session_serial, 1);
    } while (r->serial == 0); /* which means none */
    atomic_store(&r->publisher, t->publisher);
    r->stream_id = t->stream_id;
    r->started_ms = clock_ms();
    r->peer = t->peer;
    r->name_len = (uint16_t)str_copy(r->text, LIVE_NAME_MAX, t->name);
    room = sizeof(r->text) - r->name_len;
    r->url_len = (uint16_t)str_copy(r->text + r->name_len, room, t->url);
    atomic_store(&r->video_bytes, 0);
    atomic_store(&r->audio_bytes, 0);
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
    uint32_t count = arena.head->session_count;
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
    return str_of(r->text, r->name_len);
}

void
record_count(struct session_record *r, uint64_t video, uint64_t audio)
{
    uint64_t v = atomic_load_explicit(&r->video_bytes, memory_order_relaxed);
    uint64_t a = atomic_load_explicit(&r->audio_bytes, memory_order_relaxed);

    atomic_store_explicit(&r->video_bytes, v + video, memory_order_relaxed);
    atomic_store_explicit(&r->audio_bytes, a + audio, memory_order_relaxed);
}

/* A copy that is not half old and half new; false: free, or changing. */
static bool
copy_record(const struct session_record *r, struct session_record *to)
{
    for (int tries = 0; tries < 100; tries++) {
        uint32_t before = atomic_load(&r->sequence);

        if (atomic_load(&r->owner) == 0) {
            return false;
        }
        if (before % 2 == 0) {
            memcpy((void *)to, (const void *)r, sizeof(*to));
            atomic_thread_fence(memory_order_seq_cst);
            if (atomic_load(&r->sequence) == before) {
                return atomic_load(&to->owner) != 0;
            }
        }
    }
    return false;
}

static void
fill_view(const struct session_record *r, struct live_session_view *v)
{
    v->id = r->serial;
    v->owner = atomic_load(&r->owner);
    v->publisher = atomic_load(&r->publisher) != 0;
    v->peer = r->peer;
    v->stream_id = r->stream_id;
    v->video_bytes = atomic_load(&r->video_bytes);
    v->audio_bytes = atomic_load(&r->audio_bytes);
    v->dropped = atomic_load(&r->dropped);
    v->started_ms = r->started_ms;
    str_copy(v->name, sizeof(v->name), record_name(r));
    str_copy(v->url, sizeof(v->url), str_of(r->text + r->name_len, r->url_len));
}

bool
record_view(const struct session_record *r, struct live_session_view *v)
{
    struct session_record copy;

    if (!copy_record(r, &copy)) {
        return false;
    }
    fill_view(&copy, v);
    return true;
}

bool
live_next_session(uint32_t *at, struct live_session_view *v)
{
    uint32_t end = atomic_load(&arena.head->session_end);

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
