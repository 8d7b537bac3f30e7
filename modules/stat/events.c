/*
 * Server-sent events (WHATWG HTML, 9.2): once in an interval a round of three
 * events, "server", "streams" and "sessions", with the same JSON as the
 * answers of these names.  A client that asks for changes gets those instead
 * (changes.h).
 *
 * A round is made once for all subscribers of a layer, over several turns,
 * and kept, so that a client that subscribes between two rounds has something
 * at once.  A subscriber that has not taken an earlier round yet misses this
 * one: at most a round and a connection's own buffer are kept for it.  While
 * nobody subscribes nothing is made.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "stat.h"

#include "base/log.h"
#include "base/mem.h"
#include "changes.h"
#include "largest.h"
#include "rows.h"

#define ROWS_MAX 1000 /* of streams and of sessions, in an event */
/* A compressed answer takes memory for as long as it goes on; to further ones
 * it goes as it is. */
#define COMPRESSED 16
#define ROUND_MAX (16 * 1024 * 1024)
/* Clients come back after so long, ms. */
#define RETRY "retry: 1000\n\n"

struct events {
    struct loop *loop;
    const struct stat_settings *settings;
    uint64_t part;           /* of the pool: a layer has its own */
    struct list subscribers; /* of both kinds, the oldest first */
    struct changes *changes; /* owned */
    unsigned count;          /* of both, and of those that get rounds */
    unsigned of_rounds;
    bool drained;
    struct timer timer;     /* the next step, or the next round */
    struct buf made;        /* owned; the newest whole round */
    int64_t made_ms;        /* when that was */
    struct buf round;       /* owned; the one under way */
    int64_t began_ms;       /* when that was */
    const struct event *at; /* the event under way; NULL: none */
    struct walk walk;       /* of it, if walking */
    bool walking;
};

struct subscriber { /* in the request's pool */
    struct list link;
    struct events *events;
    struct http_request *request;
    struct tally_holder client;
    bool of_changes; /* else of whole rounds */
    struct change_subscriber changes;
};

/* Of this process: all layers' subscribers, and the number of the last one. */
static struct {
    int64_t size;
    uint64_t part;
} all;

/* ---- a round ---- */

static const struct event {
    const char *name;
    enum walk_kind kind;
    bool walks; /* else it is the server's */
} sequence[] = {
    { "server", 0, false },
    { "streams", WALK_STREAMS, true },
    { "sessions", WALK_SESSIONS, true },
    { NULL, 0, false },
};

static void
add_server(struct events *e, struct buf *to)
{
    struct json_out o;

    json_begin(&o, to, false);
    row_server(&o, e->settings);
    json_end(&o);
}

static void
take_walk(struct events *e)
{
    buf_add_str(&e->round, buf_str(&e->walk.out));
    buf_take(&e->walk.out, buf_len(&e->walk.out));
}

/* Some more of the event under way; false: it is whole. */
static bool
step_event(struct events *e)
{
    bool more;

    if (!e->walking) {
        buf_printf(&e->round, "event: %s\ndata: ", e->at->name);
        if (!e->at->walks) {
            add_server(e, &e->round);
            return false;
        }
        walk_begin(&e->walk, e->at->kind, STR_NONE, ROWS_MAX);
        e->walking = true;
    }
    more = walk_step(&e->walk);
    take_walk(e);
    if (!more) {
        walk_end(&e->walk);
        e->walking = false;
    }
    return more;
}

static void
tell(struct subscriber *s)
{
    if (http_send_more(s->request, buf_str(&s->events->made)) != 0) {
        metric_add(&stat_metrics[STAT_SKIPPED], 0, 1);
    }
}

static void
finish_round(struct events *e)
{
    struct buf swap = e->made;
    int64_t next = e->began_ms + e->settings->interval - loop_now(e->loop);

    e->made = e->round;
    e->made_ms = e->began_ms;
    e->round = swap;
    buf_take(&e->round, buf_len(&e->round));
    e->at = NULL;
    LIST_EACH (node, &e->subscribers) {
        struct subscriber *s = LIST_ITEM(node, struct subscriber, link);

        if (!s->of_changes) {
            tell(s);
        }
    }
    timer_set(e->loop, &e->timer, next > 0 ? next : 0);
}

static void
on_timer(struct timer *timer)
{
    struct events *e = LIST_ITEM(timer, struct events, timer);

    if (e->at == NULL) {
        e->at = sequence;
        e->began_ms = loop_now(e->loop);
    }
    if (!step_event(e)) {
        buf_add_str(&e->round, STR("\n\n"));
        e->at++;
    }
    if (e->at->name == NULL) {
        finish_round(e);
    } else {
        timer_set(e->loop, timer, 0);
    }
}

/* There are no subscribers any more. */
static void
rest(struct events *e)
{
    timer_stop(e->loop, &e->timer);
    if (e->walking) {
        walk_end(&e->walk);
        e->walking = false;
    }
    e->at = NULL;
    buf_clear(&e->round);
    buf_clear(&e->made);
}

/* ---- subscribers ---- */

static void
leave(struct subscriber *s)
{
    struct events *e = s->events;

    list_remove(&s->link);
    tally_leave_part(&stat_pools[STAT_POOL_EVENTS], e->part, &s->client);
    metric_add(&stat_metrics[STAT_SUBSCRIBERS], 0, -1);
    e->count--;
    if (s->of_changes) {
        changes_leave(&s->changes);
    } else if (--e->of_rounds == 0) {
        rest(e);
    }
}

static void
on_cancel(void *arg)
{
    leave(arg);
}

static bool
tell_changes(struct change_subscriber *changes, const struct changes_told *told)
{
    const struct subscriber *s = LIST_ITEM(changes, struct subscriber, changes);

    return http_send_more(s->request, told->text) == 0;
}

static void
join_rounds(struct events *e, struct subscriber *s)
{
    e->of_rounds++;
    if (buf_len(&e->made) > 0) {
        tell(s);
    } else if (e->of_rounds == 1) {
        timer_set(e->loop, &e->timer, 0);
    }
}

/* It comes back, here or to another process. */
static void
send_away(struct subscriber *s)
{
    leave(s);
    http_send_more(s->request, STR(RETRY));
    http_end(s->request);
}

static void
join(struct events *e, struct http_request *r, const struct changes_wish *wish)
{
    struct subscriber *s = pool_zero(r->pool, sizeof(*s));

    s->events = e;
    s->request = r;
    s->client = share_client(&r->client);
    list_append(&e->subscribers, &s->link);
    e->count++;
    metric_add(&stat_metrics[STAT_SUBSCRIBERS], 0, 1);
    http_on_cancel(r, on_cancel, s);
    http_set_endless(r);
    if (wish != NULL) {
        s->of_changes = true;
        s->changes.tell = tell_changes;
        changes_join(e->changes, &s->changes, wish);
    } else {
        join_rounds(e, s);
    }
}

struct asker { /* for a subscriber's place */
    struct events *events;
    const struct share_want *want;
};

/* The oldest of the client that has most. */
static bool
give(void *arg, const struct tally_holder *h, bool in_use)
{
    const struct asker *a = arg;
    struct events *e = a->events;
    struct largest l = { .want = a->want };

    (void)h;
    (void)in_use;
    LIST_EACH (node, &e->subscribers) {
        if (!largest_look(&l,
                          &LIST_ITEM(node, struct subscriber, link)->client)) {
            break;
        }
    }
    if (!largest_gives(&l)) {
        return false;
    }
    LIST_EACH (node, &e->subscribers) {
        struct subscriber *s = LIST_ITEM(node, struct subscriber, link);

        if (share_eq(&s->client, &l.client)) {
            send_away(s);
            return true;
        }
    }
    return false;
}

/* Whether the client's subscriber is counted. */
static enum share_answer
admit(struct events *e, const struct http_request *r)
{
    struct share_want w = { .pool = &stat_pools[STAT_POOL_EVENTS],
                            .part = e->part,
                            .client = share_client(&r->client),
                            .size = e->settings->subscribers,
                            .give = give };
    struct asker asker = { e, &w };
    enum share_answer answer;

    w.arg = &asker;
    answer = share_claim(&w);
    if (answer == SHARE_GRANTED && e->count >= e->settings->subscribers) {
        tally_leave_part(w.pool, w.part, &w.client);
        return SHARE_FULL;
    }
    return answer;
}

static enum http_result
refuse(struct events *e, struct http_request *r, enum share_answer why)
{
    log_limited(LOG_INFO, "stat: a subscriber was refused: there are %u",
                e->count);
    metric_add(&stat_metrics[STAT_REFUSED], 1, 1);
    http_set_header(r, "Retry-After", STR("5"));
    http_set_header(r, "Cache-Control", STR("no-store"));
    return http_error(r, 503, "%s",
                      why == SHARE_OVER
                          ? "your address has its share of the subscribers"
                          : "too many subscribers");
}

enum http_result
events_subscribe(struct events *e, struct http_request *r,
                 const struct changes_wish *wish)
{
    bool joins = !str_eq(r->method, STR("HEAD")) && !e->drained;
    enum share_answer answer = joins ? admit(e, r) : SHARE_GRANTED;

    if (answer != SHARE_GRANTED) {
        return refuse(e, r, answer);
    }
    http_set_header(r, "X-Accel-Buffering", STR("no")); /* proxies: pass on */
    http_set_header(r, "Cache-Control",
                    e->count < COMPRESSED ? STR("no-store")
                                          : STR("no-store, no-transform"));
    http_start(r, 200, "text/event-stream");
    if (!str_eq(r->method, STR("HEAD"))) {
        http_send_more(r, STR(RETRY));
    }
    if (!joins) {
        return http_end(r);
    }
    join(e, r, wish);
    return HTTP_WAIT; /* until the client goes, or we drain */
}

/* ---- life ---- */

static void
add_size(int64_t subscribers)
{
    all.size += subscribers;
    tally_set_size(&stat_pools[STAT_POOL_EVENTS], all.size);
}

struct events *
events_new(struct loop *l, const struct stat_settings *settings)
{
    struct events *e = mem_zero(sizeof(*e));

    e->loop = l;
    e->settings = settings;
    e->part = ++all.part;
    add_size(settings->subscribers);
    e->changes = changes_new(l, settings->interval, settings);
    list_init(&e->subscribers);
    timer_init(&e->timer, on_timer);
    buf_init(&e->made, ROUND_MAX);
    buf_init(&e->round, ROUND_MAX);
    return e;
}

void
events_drain(struct events *e)
{
    e->drained = true;
    while (!list_empty(&e->subscribers)) {
        send_away(LIST_ITEM(e->subscribers.next, struct subscriber, link));
    }
}

void
events_free(struct events **e)
{
    if (*e != NULL) {
        rest(*e);
        add_size(-(*e)->settings->subscribers);
        changes_free(&(*e)->changes);
        mem_free(e);
    }
}
