/*
 * Walks over streams and sessions.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "collect.h"

#include "rows.h"

#define STEP_LOOKS 256 /* records looked at in one step */
/* Rows of a step are shorter than this in all: names and addresses are
 * bounded, and a byte of them takes at most six in JSON. */
#define OUT_MAX (STEP_LOOKS * 8 * (LIVE_NAME_MAX + LIVE_URL_MAX))

/* Arrays of each answer, one for each part. */
static const char *const parts[][3] = {
    [WALK_LIVESTAT] = { "publishers", "players", NULL },
    [WALK_STREAMS] = { "streams", NULL },
    [WALK_SESSIONS] = { "sessions", NULL },
};

static void
begin_part(struct walk *w)
{
    json_key(&w->json, parts[w->kind][w->part]);
    json_open_array(&w->json);
    w->at = 0;
}

void
walk_begin(struct walk *w, enum walk_kind kind, struct str key, uint32_t limit)
{
    *w = (struct walk){ .kind = kind, .key = key, .limit = limit };
    buf_init(&w->out, OUT_MAX);
    if (kind == WALK_STREAMS) {
        w->tally = live_tally_new();
    }
    json_begin(&w->json, &w->out, false);
    json_open(&w->json);
    begin_part(w);
}

/* ---- rows ---- */

static bool
is_wanted(const struct walk *w, const struct live_session_view *v)
{
    if (v->asking || (w->key.len > 0 && !str_eq(w->key, str_from(v->name)))) {
        return false;
    }
    return w->kind != WALK_LIVESTAT || v->publisher == (w->part == 0);
}

/* Whether there is room for one more; else counts it. */
static bool
may_add(struct walk *w)
{
    if (w->limit > 0 && w->rows == w->limit) {
        w->more++;
        return false;
    }
    w->rows++;
    return true;
}

static bool
step_session(struct walk *w)
{
    struct live_session_view v;

    if (!live_next_session(&w->at, &v)) {
        return false;
    }
    if (!is_wanted(w, &v) || !may_add(w)) {
        return true;
    }
    if (w->kind == WALK_LIVESTAT) {
        row_livestat(&w->json, &v);
    } else {
        row_session(&w->json, &v);
    }
    return true;
}

static bool
step_stream(struct walk *w)
{
    struct live_stream_view v;

    if (!live_next_stream(w->tally, &w->at, &v)) {
        return false;
    }
    if (may_add(w)) {
        row_stream(&w->json, &v);
    }
    return true;
}

/* ---- steps ---- */

/* False: there is no other part. */
static bool
next_part(struct walk *w)
{
    json_close(&w->json);
    if (parts[w->kind][w->part + 1] != NULL) {
        w->part++;
        begin_part(w);
        return true;
    }
    if (w->limit > 0) {
        json_put_int(&w->json, "more", w->more);
    }
    json_close(&w->json);
    return false;
}

bool
walk_step(struct walk *w)
{
    bool (*step)(struct walk *) =
        w->kind == WALK_STREAMS ? step_stream : step_session;

    for (int i = 0; i < STEP_LOOKS; i++) {
        if (!step(w)) {
            return next_part(w);
        }
    }
    return true;
}

void
walk_end(struct walk *w)
{
    json_end(&w->json);
    live_tally_free(&w->tally);
    buf_clear(&w->out);
}
