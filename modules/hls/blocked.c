/*
 * Lists of waiting requests.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "blocked.h"

#include "base/hash.h"
#include "base/mem.h"
#include "count.h"
#include "offer.h"

#define LOOK_MS 250 /* how exactly waits are ended */
#define BUCKETS 1024
#define LOOKED 1024 /* waits, for one of a client */

/* A stream for which requests wait. */
struct blocked_stream {
    struct list link;
    struct list requests; /* struct blocked, the one that came first first */
    struct live_cut_watch watch;
    char name[LIVE_NAME_MAX];
};

static struct {
    struct list streams[BUCKETS]; /* by the hash of their names */
    struct list clients[BUCKETS]; /* struct blocked by that of their clients,
                                     the one that came first first */
    struct timer timer;
    struct loop *loop;
    size_t count; /* requests */
    bool ready;
} all;

struct tally_pool blocked_pools[] = {
    { .name = "hls.max_waiting", .scope = TALLY_PROCESS },
    { .name = NULL },
};

/* Whether the segment before the last, which is asked for, has that part, or is
 * one without parts.  If not, it stands for the first part of the next segment
 * (RFC 8216bis, 6.2.5.2). */
static bool
had_part(const struct live_cuts *c, const struct blocked *b)
{
    struct live_cut cut;

    return c->end < c->first + 2 || !live_cut_at(c, c->end - 2, &cut) ||
           cut.segment != b->segment || cut.part >= b->part ||
           (cut.flags & LIVE_CUT_PLAIN) != 0;
}

bool
blocked_is_over(const struct live_cuts *c, const struct blocked *b)
{
    struct offer_edge edge;

    if (c->over || !offer_edge(c, &edge)) {
        return true;
    }
    if (edge.segment == b->segment + 1 && edge.part == 0 &&
        b->part != BLOCKED_SEGMENT) {
        return had_part(c, b);
    }
    if (edge.segment != b->segment) {
        return edge.segment > b->segment;
    }
    return b->part != BLOCKED_SEGMENT && edge.part > b->part;
}

/* ---- lists ---- */

static void
leave(struct blocked *b)
{
    b->stream = NULL;
    list_remove(&b->link);
    list_remove(&b->of_client);
    tally_leave(&blocked_pools[0], &b->client);
    hls_set_waiting(--all.count);
}

static void
expire(struct blocked *b)
{
    b->expired = true;
    http_resume(b->request);
    leave(b);
}

static void
end_if_empty(struct blocked_stream *s)
{
    if (list_empty(&s->requests)) {
        live_cut_unwatch(&s->watch);
        list_remove(&s->link);
        mem_free(&s);
    }
}

static void
on_cut(struct live_cut_watch *w)
{
    struct blocked_stream *s = LIST_ITEM(w, struct blocked_stream, watch);
    struct live_cuts c;
    bool found = live_cuts_find(str_from(s->name), &c);

    LIST_EACH (node, &s->requests) {
        struct blocked *b = LIST_ITEM(node, struct blocked, link);

        if (!found || blocked_is_over(&c, b)) {
            http_resume(b->request);
            leave(b);
        }
    }
    end_if_empty(s);
}

/* Those that have waited longest come first. */
static void
end_waits(struct blocked_stream *s, int64_t now)
{
    LIST_EACH (node, &s->requests) {
        struct blocked *b = LIST_ITEM(node, struct blocked, link);

        if (b->until > now) {
            break;
        }
        expire(b);
    }
    end_if_empty(s);
}

static void
on_timer(struct timer *timer)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        LIST_EACH (node, &all.streams[i]) {
            end_waits(LIST_ITEM(node, struct blocked_stream, link),
                      loop_now(all.loop));
        }
    }
    if (all.count > 0) {
        timer_set(all.loop, timer, LOOK_MS);
    }
}

static struct blocked_stream *
stream_of(struct str name)
{
    struct list *bucket = &all.streams[hash_str(name) % BUCKETS];

    LIST_EACH (node, bucket) {
        struct blocked_stream *s = LIST_ITEM(node, struct blocked_stream, link);

        if (str_eq(str_from(s->name), name)) {
            return s;
        }
    }
    struct blocked_stream *s = mem_zero(sizeof(*s));

    list_init(&s->link);
    list_init(&s->requests);
    list_init(&s->watch.link);
    str_copy(s->name, sizeof(s->name), name);
    s->watch.name = str_from(s->name);
    s->watch.on_cut = on_cut;
    list_append(bucket, &s->link);
    live_cut_watch(&s->watch);
    return s;
}

/* ---- shares ---- */

static struct list *
waits_of(const struct tally_holder *h)
{
    const char *words = (const char *)h->words;

    return &all.clients[hash_str(str_of(words, sizeof(h->words))) % BUCKETS];
}

/* Ends the oldest wait of a client. */
static bool
give(void *arg, const struct tally_holder *h, bool in_use)
{
    int looked = 0;

    (void)arg;
    if (!in_use) {
        return false; /* nothing waits without a use */
    }
    LIST_EACH (node, waits_of(h)) {
        struct blocked *b = LIST_ITEM(node, struct blocked, of_client);
        struct blocked_stream *s = b->stream;

        if (share_eq(&b->client, h)) {
            expire(b);
            end_if_empty(s);
            return true;
        }
        if (++looked == LOOKED) {
            break;
        }
    }
    return false;
}

static enum share_answer
admit(struct blocked *b, int64_t max_waiting)
{
    const struct share_want want = { .pool = &blocked_pools[0],
                                     .client =
                                         share_client(&b->request->client),
                                     .size = max_waiting,
                                     .give = give };
    enum share_answer answer = share_claim(&want);

    if (answer == SHARE_GRANTED && all.count >= (size_t)max_waiting) {
        tally_leave(&blocked_pools[0], &want.client);
        return SHARE_FULL;
    }
    b->client = want.client;
    return answer;
}

void
blocked_set_size(int64_t max_waiting)
{
    tally_set_size(&blocked_pools[0], max_waiting);
}

/* ---- requests ---- */

static void
on_cancel(void *arg)
{
    struct blocked *b = arg;
    struct blocked_stream *s = b->stream;

    if (s != NULL) {
        leave(b);
        end_if_empty(s);
    }
}

static void
prepare(struct loop *loop)
{
    if (!all.ready) {
        for (size_t i = 0; i < BUCKETS; i++) {
            list_init(&all.streams[i]);
            list_init(&all.clients[i]);
        }
        timer_init(&all.timer, on_timer);
        all.ready = true;
    }
    all.loop = loop;
}

enum share_answer
blocked_wait(const struct hls_layer *layer, struct blocked *b, struct str name,
             int64_t ms)
{
    enum share_answer answer;

    prepare(layer->loop);
    answer = admit(b, layer->settings->max_waiting);
    if (answer != SHARE_GRANTED) {
        return answer;
    }
    b->stream = stream_of(name);
    b->until = loop_now(layer->loop) + ms;
    list_append(&b->stream->requests, &b->link);
    list_append(waits_of(&b->client), &b->of_client);
    hls_set_waiting(++all.count);
    http_on_cancel(b->request, on_cancel, b);
    if (!timer_is_set(&all.timer)) {
        timer_set(all.loop, &all.timer, LOOK_MS);
    }
    return SHARE_GRANTED;
}
