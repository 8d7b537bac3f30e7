/*
 * Rounds of changes.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "changes.h"

#include "base/mem.h"
#include "rows.h"

#define STEP_LOOKS 256 /* records looked at in one turn */
#define SOON 50        /* ms between a round and one for new subscribers */
#define TEXT_MAX (32 * 1024 * 1024)
#define EVENT_FRAME 64 /* bytes beside an event's JSON, at most */
#define EVENT_MAX (16 * 1024 * 1024 + 1024)

enum phase { PHASE_REST, PHASE_STREAMS, PHASE_SESSIONS, PHASE_END };

struct changes {
    struct loop *loop;
    int64_t interval;
    const void *layer; /* borrowed */
    struct list feeds;
    struct timer timer; /* the next step, or the next round */
    int64_t began_ms;   /* the round of now, or the last one */
    enum phase phase;
    struct live_tally *tally; /* owned; of the walk over streams, if any */
    uint32_t at;              /* of the walk */
};

/* Events as they are made: a text, and where each lies in it. */
struct script {
    struct buf text; /* owned */
    struct piece {
        const char *name;
        size_t at, len;
    } pieces[4];
    size_t count;
};

/* The events of subscribers with the same wish. */
struct feed {
    struct list link;
    struct changes *changes;
    struct list subscribers;
    unsigned what;
    char key[LIVE_NAME_MAX]; /* empty: none */
    bool active;             /* in the round of now */
    bool whole;              /* that round makes the whole as well */
    bool found, had;         /* the stream key: in this round, in the last */
    struct told *server, *streams, *sessions; /* owned; NULL: not wanted */
    struct buf one, all;   /* owned; of the event that is made now */
    struct script differs; /* of this round */
    struct script restart;
};

bool
changes_parse(struct str list, struct changes_wish *wish)
{
    static const char *const names[] = { "server", "streams", "sessions" };

    wish->what = CHANGES_SERVER;
    while (list.len > 0) {
        struct str name = str_cut(&list, ',');
        unsigned i = 0;

        while (i < 3 && !str_eq(name, str_from(names[i]))) {
            i++;
        }
        if (i == 3) {
            return false;
        }
        wish->what |= 1u << i;
    }
    return true;
}

/* ---- feeds ---- */

static struct feed *
new_feed(struct changes *c, const struct changes_wish *wish)
{
    struct feed *f = mem_zero(sizeof(*f));

    f->changes = c;
    f->what = wish->what;
    str_copy(f->key, sizeof(f->key), wish->key);
    list_init(&f->subscribers);
    f->server = told_new();
    f->streams = (wish->what & CHANGES_STREAMS) != 0 ? told_new() : NULL;
    f->sessions = (wish->what & CHANGES_SESSIONS) != 0 ? told_new() : NULL;
    buf_init(&f->one, EVENT_MAX);
    buf_init(&f->all, EVENT_MAX);
    buf_init(&f->differs.text, TEXT_MAX);
    buf_init(&f->restart.text, TEXT_MAX);
    list_append(&c->feeds, &f->link);
    return f;
}

static void
free_feed(struct feed *f)
{
    list_remove(&f->link);
    told_free(&f->server);
    told_free(&f->streams);
    told_free(&f->sessions);
    buf_clear(&f->one);
    buf_clear(&f->all);
    buf_clear(&f->differs.text);
    buf_clear(&f->restart.text);
    mem_free(&f);
}

static struct feed *
find_feed(struct changes *c, const struct changes_wish *wish)
{
    LIST_EACH (node, &c->feeds) {
        struct feed *f = LIST_ITEM(node, struct feed, link);

        if (f->what == wish->what && str_eq(str_from(f->key), wish->key)) {
            return f;
        }
    }
    return new_feed(c, wish);
}

/* ---- the beginning of a round ---- */

static void
begin_feed(struct feed *f)
{
    f->active = true;
    f->whole = f->found = false;
    LIST_EACH (node, &f->subscribers) {
        f->whole |= LIST_ITEM(node, struct change_subscriber, link)->stale;
    }
    told_begin(f->server, f->whole);
    if (f->streams != NULL) {
        told_begin(f->streams, f->whole);
    }
    if (f->sessions != NULL) {
        told_begin(f->sessions, f->whole);
    }
}

/* Whether a feed of this round is made of that. */
static bool
is_wanted(const struct changes *c, unsigned what)
{
    LIST_EACH (node, &c->feeds) {
        const struct feed *f = LIST_ITEM(node, struct feed, link);

        if (f->active && ((f->what & what) != 0 ||
                          (what == CHANGES_STREAMS && f->key[0] != '\0'))) {
            return true;
        }
    }
    return false;
}

static void
begin_round(struct changes *c)
{
    c->began_ms = loop_now(c->loop);
    c->phase = PHASE_STREAMS;
    c->at = 0;
    LIST_EACH (node, &c->feeds) {
        begin_feed(LIST_ITEM(node, struct feed, link));
    }
    if (is_wanted(c, CHANGES_STREAMS)) {
        c->tally = live_tally_new();
    }
}

/* ---- the walk ---- */

static void
take_key(struct feed *f, const struct live_stream_view *v)
{
    struct json_out o;

    f->found = true;
    json_begin(&o, &f->one, false);
    row_stream(&o, v);
    json_end(&o);
}

static bool
step_stream(struct changes *c)
{
    struct live_stream_view v;

    if (c->tally == NULL || !live_next_stream(c->tally, &c->at, &v)) {
        live_tally_free(&c->tally);
        return false;
    }
    LIST_EACH (node, &c->feeds) {
        struct feed *f = LIST_ITEM(node, struct feed, link);

        if (f->active && f->streams != NULL) {
            told_stream(f->streams, &v);
        }
        if (f->active && str_eq(str_from(f->key), str_from(v.name))) {
            take_key(f, &v);
        }
    }
    return true;
}

static bool
step_session(struct changes *c)
{
    struct live_session_view v;

    if ((c->at == 0 && !is_wanted(c, CHANGES_SESSIONS)) ||
        !live_next_session(&c->at, &v)) {
        return false;
    }
    LIST_EACH (node, &c->feeds) {
        struct feed *f = LIST_ITEM(node, struct feed, link);

        if (!v.asking && f->active && f->sessions != NULL &&
            (f->key[0] == '\0' || str_eq(str_from(f->key), str_from(v.name)))) {
            told_session(f->sessions, &v);
        }
    }
    return true;
}

/* ---- the end of a round ---- */

/* An empty one is none; one that has no room is left out. */
static void
add_event(struct script *s, const char *name, struct str json)
{
    if (json.len > 0 && buf_room(&s->text) > json.len + EVENT_FRAME) {
        struct piece *p = &s->pieces[s->count++];

        buf_printf(&s->text, "event: %s\ndata: ", name);
        *p = (struct piece){ name, buf_len(&s->text), json.len };
        buf_add_str(&s->text, json);
        buf_add_str(&s->text, STR("\n\n"));
    }
}

static struct changes_told
read_script(const struct script *s, bool whole)
{
    struct changes_told told = { .whole = whole, .count = s->count };

    told.text = buf_str(&s->text);
    for (size_t i = 0; i < s->count; i++) {
        told.events[i].name = s->pieces[i].name;
        told.events[i].json =
            str_first(str_skip(told.text, s->pieces[i].at), s->pieces[i].len);
    }
    return told;
}

static void
empty(struct buf *b)
{
    buf_take(b, buf_len(b));
}

/* All of the stream that is looked at, each time; null when it is gone. */
static void
end_key(struct feed *f)
{
    if (f->found) {
        add_event(&f->differs, "stream", buf_str(&f->one));
        add_event(&f->restart, "stream", buf_str(&f->one));
    } else if (f->key[0] != '\0') {
        add_event(&f->restart, "stream", STR("null"));
        if (f->had) {
            add_event(&f->differs, "stream", STR("null"));
        }
    }
    f->had = f->found;
    empty(&f->one);
}

static void
end_table(struct feed *f, struct told *t, const char *name)
{
    if (t != NULL) {
        told_end(t, &f->one, &f->all);
        add_event(&f->differs, name, buf_str(&f->one));
        add_event(&f->restart, name, buf_str(&f->all));
        empty(&f->one);
        empty(&f->all);
    }
}

static void
tell(struct change_subscriber *s, const struct changes_told *differs,
     const struct changes_told *restart)
{
    if (s->stale && !s->feed->whole) {
        return; /* came while the round was made */
    }
    s->new = false;
    s->stale = !s->tell(s, s->stale ? restart : differs);
    if (s->stale) {
        metric_add(&stat_metrics[STAT_SKIPPED], 0, 1);
    }
}

static void
tell_all(struct feed *f)
{
    struct changes_told differs = read_script(&f->differs, false);
    struct changes_told restart = read_script(&f->restart, true);

    LIST_EACH (node, &f->subscribers) {
        tell(LIST_ITEM(node, struct change_subscriber, link), &differs,
             &restart);
    }
}

/* The server comes last: a round is whole with it. */
static void
end_feed(struct feed *f)
{
    end_key(f);
    end_table(f, f->streams, "streams");
    end_table(f, f->sessions, "sessions");
    told_server(f->server, f->changes->layer);
    end_table(f, f->server, "server");
    tell_all(f);
    f->active = false;
    empty(&f->differs.text);
    empty(&f->restart.text);
    f->differs.count = f->restart.count = 0;
}

static bool
somebody_waits(const struct feed *f)
{
    LIST_EACH (node, &f->subscribers) {
        if (LIST_ITEM(node, struct change_subscriber, link)->new) {
            return true;
        }
    }
    return false;
}

static void
plan_round(struct changes *c)
{
    int64_t apart = c->interval, left;

    LIST_EACH (node, &c->feeds) {
        if (somebody_waits(LIST_ITEM(node, struct feed, link))) {
            apart = SOON;
        }
    }
    left = c->began_ms + apart - loop_now(c->loop);
    timer_set(c->loop, &c->timer, left > 0 ? left : 0);
}

static void
end_round(struct changes *c)
{
    LIST_EACH (node, &c->feeds) {
        struct feed *f = LIST_ITEM(node, struct feed, link);

        if (f->active) {
            end_feed(f);
        }
    }
    c->phase = PHASE_REST;
    plan_round(c);
}

/* ---- turns ---- */

static void
walk(struct changes *c, bool (*step)(struct changes *c))
{
    for (int i = 0; i < STEP_LOOKS; i++) {
        if (!step(c)) {
            c->phase++;
            c->at = 0;
            break;
        }
    }
    timer_set(c->loop, &c->timer, 0);
}

static void
on_timer(struct timer *timer)
{
    struct changes *c = LIST_ITEM(timer, struct changes, timer);

    switch (c->phase) {
    case PHASE_REST:
        begin_round(c);
        timer_set(c->loop, &c->timer, 0);
        break;
    case PHASE_STREAMS:
        walk(c, step_stream);
        break;
    case PHASE_SESSIONS:
        walk(c, step_session);
        break;
    case PHASE_END:
        end_round(c);
        break;
    }
}

/* There are no subscribers any more. */
static void
rest(struct changes *c)
{
    timer_stop(c->loop, &c->timer);
    live_tally_free(&c->tally);
    c->phase = PHASE_REST;
}

/* ---- subscribers ---- */

void
changes_join(struct changes *c, struct change_subscriber *s,
             const struct changes_wish *wish)
{
    s->feed = find_feed(c, wish);
    s->stale = s->new = true;
    list_append(&s->feed->subscribers, &s->link);
    if (c->phase == PHASE_REST) {
        plan_round(c);
    }
}

void
changes_leave(struct change_subscriber *s)
{
    struct feed *f = s->feed;
    struct changes *c = f->changes;

    list_remove(&s->link);
    if (list_empty(&f->subscribers)) {
        free_feed(f);
    }
    if (list_empty(&c->feeds)) {
        rest(c);
    }
}

/* ---- life ---- */

struct changes *
changes_new(struct loop *l, int64_t interval, const void *layer)
{
    struct changes *c = mem_zero(sizeof(*c));

    c->loop = l;
    c->interval = interval;
    c->layer = layer;
    c->began_ms = INT64_MIN / 2;
    list_init(&c->feeds);
    timer_init(&c->timer, on_timer);
    return c;
}

void
changes_free(struct changes **c)
{
    if (*c != NULL) {
        rest(*c);
        mem_free(c);
    }
}
