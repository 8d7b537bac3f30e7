/*
 * The lists of a queue: finding entries, their order, their numbers.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/lists.h"

#include "base/hash.h"
#include "base/mem.h"

#define BUCKETS_MIN 64

/* ---- finding ---- */

static size_t
bucket_of(const struct queue *q, struct str s)
{
    return (size_t)hash_str(s) & (q->buckets - 1);
}

static void
hang_in(struct queue *q, struct entry *e)
{
    size_t url = bucket_of(q, e->facts->url);
    size_t asked = bucket_of(q, e->facts->asked);

    e->next_of_url = q->by_url[url];
    q->by_url[url] = e;
    e->next_of_asked = q->by_asked[asked];
    q->by_asked[asked] = e;
}

static void
grow(struct queue *q)
{
    struct entry **url = q->by_url, **asked = q->by_asked;
    size_t had = q->buckets;

    q->buckets = had > 0 ? 2 * had : BUCKETS_MIN;
    q->by_url = mem_zero(q->buckets * sizeof(*q->by_url));
    q->by_asked = mem_zero(q->buckets * sizeof(*q->by_asked));
    for (size_t i = 0; i < had; i++) {
        struct entry *next;

        for (struct entry *e = url[i]; e != NULL; e = next) {
            next = e->next_of_url;
            hang_in(q, e);
        }
    }
    mem_free(&url);
    mem_free(&asked);
}

static void
hash_add(struct queue *q, struct entry *e)
{
    if (q->entries++ >= q->buckets) {
        grow(q);
    }
    hang_in(q, e);
}

static void
hash_remove(struct queue *q, struct entry *e)
{
    struct entry **at = &q->by_url[bucket_of(q, e->facts->url)];

    while (*at != e) {
        at = &(*at)->next_of_url;
    }
    *at = e->next_of_url;
    at = &q->by_asked[bucket_of(q, e->facts->asked)];
    while (*at != e) {
        at = &(*at)->next_of_asked;
    }
    *at = e->next_of_asked;
    q->entries--;
}

static bool
matches(const struct entry *e, bool done)
{
    return !e->canceled && (e->list == LIST_DONE) == done;
}

static struct entry *
of_url(const struct queue *q, struct str url, bool done)
{
    struct entry *e = q->entries > 0 ? q->by_url[bucket_of(q, url)] : NULL;

    while (e != NULL && !(matches(e, done) && str_eq(e->facts->url, url))) {
        e = e->next_of_url;
    }
    return e;
}

static struct entry *
next_asked(struct entry *e, struct str asked, bool done)
{
    while (e != NULL && !(matches(e, done) && str_eq(e->facts->asked, asked))) {
        e = e->next_of_asked;
    }
    return e;
}

static struct entry *
of_asked(const struct queue *q, struct str asked, bool done)
{
    return q->entries > 0
               ? next_asked(q->by_asked[bucket_of(q, asked)], asked, done)
               : NULL;
}

struct entry *
queue_find(const struct queue *q, struct str id)
{
    struct entry *e = of_url(q, id, false);

    return e != NULL ? e : of_asked(q, id, false);
}

struct entry *
queue_find_url(const struct queue *q, struct str url)
{
    return of_url(q, url, false);
}

struct entry *
queue_find_done(const struct queue *q, struct str id)
{
    struct entry *e = of_url(q, id, true);

    return e != NULL ? e : of_asked(q, id, true);
}

/* `each` asks for writes, and so changes no list. */
size_t
queue_each(const struct queue *q, struct str id, bool done,
           void (*each)(void *arg, struct entry *e), void *arg)
{
    struct entry *e = of_url(q, id, done);
    size_t count = 0;

    if (e != NULL) {
        each(arg, e);
        return 1;
    }
    for (e = of_asked(q, id, done); e != NULL;
         e = next_asked(e->next_of_asked, id, done)) {
        each(arg, e);
        count++;
    }
    return count;
}

struct entry *
queue_of_row(const struct queue *q, struct str url, int64_t number)
{
    struct entry *e = q->by_url[bucket_of(q, url)];

    while (e != NULL && !(e->number == number && str_eq(e->facts->url, url))) {
        e = e->next_of_url;
    }
    return e;
}

static struct entry *
number_in(const struct list *list, int64_t number)
{
    LIST_EACH (node, list) {
        struct entry *e = LIST_ITEM(node, struct entry, link);

        if (e->number == number) {
            return e;
        }
    }
    return NULL;
}

struct entry *
queue_by_number(const struct queue *q, int64_t number)
{
    struct entry *e = number_in(&q->canceled, number);

    for (size_t i = 0; i < ENTRY_LISTS && e == NULL; i++) {
        e = number_in(&q->lists[i], number);
    }
    return e;
}

size_t
queue_room(const struct queue *q)
{
    size_t most = (size_t)q->plan.max_entries, have = q->entries + q->adding;

    return have < most ? most - have : 0;
}

/* ---- the lists ---- */

static void
show_counts(const struct queue *q)
{
    const struct metric *m = &downloads_metrics[DOWNLOADS_ENTRIES];
    int64_t sums[ENTRY_LISTS] = { 0 };

    LIST_EACH (node, &q->fetcher->queues) {
        const struct queue *one = LIST_ITEM(node, struct queue, link);

        for (unsigned i = 0; i < ENTRY_LISTS; i++) {
            sums[i] += (int64_t)one->counts[i];
        }
    }
    for (unsigned i = 0; i < ENTRY_LISTS; i++) {
        metric_set(m, metric_at(m, i, 0, 0), sums[i]);
    }
}

void
queue_changed(struct queue *q)
{
    q->change++;
}

void
queue_row_changed(struct entry *e)
{
    queue_changed(e->queue);
    e->changed = e->queue->change;
}

/* By the time of adding; nearly always that is at the end. */
static void
list_in_order(struct list *list, struct entry *e)
{
    struct list *at = list->prev;

    while (at != list &&
           LIST_ITEM(at, struct entry, link)->facts->timestamp_ns >
               e->facts->timestamp_ns) {
        at = at->prev;
    }
    list_insert_before(at->next, &e->link);
}

static void
leave_list(struct entry *e)
{
    struct queue *q = e->queue;

    if (e->listed && !e->canceled) {
        q->counts[e->list]--;
    }
    list_remove(&e->link);
}

void
lists_leave(struct entry *e)
{
    leave_list(e);
    queue_changed(e->queue);
    if (e->listed) {
        hash_remove(e->queue, e);
        e->listed = false;
        e->queue->left = e->queue->change;
    }
    show_counts(e->queue);
}

void
queue_put(struct entry *e, enum queue_state to)
{
    struct queue *q = e->queue;

    leave_list(e);
    if (!e->listed) {
        hash_add(q, e);
        e->listed = true;
    }
    if (e->facts->timestamp_ns > q->newest_ns) {
        q->newest_ns = e->facts->timestamp_ns;
    }
    e->seen = q->round; /* a page that was read before does not have it */
    e->canceled = to == STATE_CANCELED;
    e->list = (uint8_t)(e->canceled ? LIST_QUEUE : (int)to);
    if (e->canceled) {
        list_append(&q->canceled, &e->link);
    } else {
        list_in_order(&q->lists[to], e);
        q->counts[to]++;
    }
    show_counts(q);
    queue_row_changed(e);
}

/* ---- life ---- */

void
lists_start(struct queue *q)
{
    for (size_t i = 0; i < ENTRY_LISTS; i++) {
        list_init(&q->lists[i]);
    }
    list_init(&q->canceled);
    grow(q);
}

/* The gauges count the other queues alone from now on. */
void
lists_stop(struct queue *q)
{
    for (size_t i = 0; i < ENTRY_LISTS; i++) {
        q->counts[i] = 0;
    }
    show_counts(q);
    mem_free(&q->by_url);
    mem_free(&q->by_asked);
}
