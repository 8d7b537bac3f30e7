/*
 * The table of sessions.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "sio/engine/engine.h"

#include <assert.h>
#include <string.h>

#include "base/base64.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/rand.h"
#include "sio/engine/session_impl.h"

#define FIRST_BUCKETS 64

static struct ws_frame *
fixed_frame(const char *text)
{
    struct ws_frame *f = ws_frame_new(strlen(text), false);

    if (f != NULL) {
        memcpy(f->data, text, f->len);
    }
    return f;
}

struct engine *
engine_new(struct loop *l, struct ws_host *ws, const char *id_prefix,
           size_t sessions_max)
{
    struct engine *e = mem_zero(sizeof(*e));

    assert(strlen(id_prefix) <= ENGINE_PREFIX);
    e->loop = l;
    e->ws_host = ws;
    str_copy(e->prefix, sizeof(e->prefix), str_from(id_prefix));
    e->sessions_max = sessions_max;
    tally_set_size(&engine_pools[0], (int64_t)sessions_max);
    rand_bytes(e->key, sizeof(e->key));
    e->bucket_count = FIRST_BUCKETS;
    e->buckets = mem_zero(e->bucket_count * sizeof(struct session *));
    list_init(&e->sessions);
    list_init(&e->fresh);
    list_init(&e->postings);
    timer_init(&e->post_timer, posting_go_on);
    e->ping = fixed_frame("2");
    e->probe_answer = fixed_frame("3probe");
    assert(e->ping != NULL && e->probe_answer != NULL);
    return e;
}

static struct session *
session_at(struct list *link)
{
    return session_of(LIST_ITEM(link, struct session_state, link));
}

void
engine_free(struct engine **e, enum session_end why)
{
    if (*e == NULL) {
        return;
    }
    engine_end_all(*e, NULL, why);
    timer_stop((*e)->loop, &(*e)->post_timer);
    LIST_EACH (link, &(*e)->sessions) {
        struct session *s = session_at(link);

        if (s->state->websocket) {
            websocket_drop(s);
        }
        session_free(s);
    }
    ws_frame_let_go(&(*e)->ping);
    ws_frame_let_go(&(*e)->probe_answer);
    mem_free(&(*e)->buckets);
    mem_free(e);
}

size_t
engine_sessions(const struct engine *e)
{
    return e->open;
}

void
engine_each(struct engine *e, void (*each)(void *arg, struct session *s),
            void *arg)
{
    /* Sessions that end stay in the list until the end of the turn. */
    LIST_EACH (link, &e->sessions) {
        struct session *s = session_at(link);

        if (s->state->stage == SESSION_OPEN) {
            each(arg, s);
        }
    }
}

void
engine_end_all(struct engine *e, const void *endpoint, enum session_end why)
{
    LIST_EACH (link, &e->sessions) {
        struct session *s = session_at(link);

        if (endpoint == NULL || s->endpoint == endpoint) {
            session_end(s, why);
        }
    }
}

/* ---- ids ---- */

static struct session **
bucket_of(const struct engine *e, struct str id)
{
    return &e->buckets[hash_keyed(e->key, id) & (e->bucket_count - 1)];
}

static void
link_in(struct engine *e, struct session *s)
{
    struct session **at = bucket_of(e, str_from(s->id));

    s->state->next = *at;
    *at = s;
}

static void
grow(struct engine *e)
{
    if (e->count < e->bucket_count) {
        return;
    }
    struct session **old = e->buckets;

    e->bucket_count *= 2;
    e->buckets = mem_zero(e->bucket_count * sizeof(struct session *));
    mem_free(&old);
    LIST_EACH (link, &e->sessions) {
        struct session *s = session_at(link);

        if (s->state->stage != SESSION_GONE) {
            link_in(e, s);
        }
    }
}

void
engine_draw_id(const struct engine *e, char *id)
{
    uint8_t bytes[ENGINE_RANDOM / 4 * 3];
    size_t n = str_copy(id, ENGINE_PREFIX + 1, str_from(e->prefix));

    rand_bytes(bytes, sizeof(bytes));
    base64_encode(BASE64_URL, bytes, sizeof(bytes), id + n);
}

void
engine_add(struct engine *e, struct session *s)
{
    s->number = ++e->last_number;
    grow(e);
    link_in(e, s);
    list_append(&e->sessions, &s->state->link);
    list_append(&e->fresh, &s->state->fresh);
    e->count++;
    e->open++;
}

void
engine_remove(struct engine *e, struct session *s)
{
    struct session **at = bucket_of(e, str_from(s->id));

    while (*at != s) {
        at = &(*at)->state->next;
    }
    *at = s->state->next;
    e->count--;
    list_remove(&s->state->fresh);
    tally_leave(&engine_pools[0], &s->client.holder);
}

/* Ids are secrets: how long the comparison takes tells nothing of them. */
static bool
is_id(const struct session *s, struct str id)
{
    unsigned differ = 0;

    for (size_t i = 0; i < id.len; i++) {
        differ |= (unsigned char)s->id[i] ^ (unsigned char)id.ptr[i];
    }
    return differ == 0;
}

static struct session *
find(const struct engine *e, struct str id)
{
    if (id.len != strlen(e->prefix) + ENGINE_RANDOM) {
        return NULL;
    }
    struct session *s = *bucket_of(e, id);

    while (s != NULL && !is_id(s, id)) {
        s = s->state->next;
    }
    return s;
}

struct session *
engine_find(struct engine *e, struct str id)
{
    struct session *s = find(e, id);

    return s != NULL && s->state->stage == SESSION_OPEN ? s : NULL;
}

struct session *
engine_find_asked(const struct engine *e, const struct engine_request *r)
{
    struct session *s = find(e, r->query.sid);

    /* The filters of one endpoint say nothing of another one's sessions. */
    if (s == NULL || s->endpoint != r->endpoint || s->protocol != r->protocol ||
        !str_eq(s->client.user, r->client.user)) {
        return NULL;
    }
    return s;
}
