/*
 * Events of a queue.
 *
 *     change -> event -> sio_emit(), once for each payload
 *                 |  ^
 *            waits, in order, while the channel takes no more
 *                 '-- too long, too many --> all clients are told all anew
 *
 * An entry with progress has a ticker, which knows when clients were told of it
 * and whether there is something newer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/tell.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "fetcher/tell_impl.h"
#include "http/escape.h"

#define RETRY_MS 20
#define WINDOW_MS 1000 /* in which an entry is told of twice */
#define EVENT_MAX ((size_t)1 << 20)
#define KEY_MAX 24 /* bytes: a number */

enum { AS_OBJECT = 1 << PAYLOAD_OBJECT, AS_STRING = 1 << PAYLOAD_STRING };
#define AS_BOTH (AS_OBJECT | AS_STRING)

struct event {
    struct list link;
    const char *name, *stales; /* static; stales: NULL: nothing */
    struct str key;            /* empty: it replaces none */
    struct str object;         /* JSON */
    unsigned payloads;         /* that are still to be sent */
    int64_t since_ms;          /* loop_now() when it began to wait */
    char texts[];
};

struct ticker {
    struct list link;
    struct told *told;
    struct entry *entry;
    int64_t sent[2]; /* loop_now() of the last two, the older one first */
    bool waits;      /* there is something newer */
    bool at_once;    /* that is more than progress */
    struct timer timer;
};

/* ---- payloads ---- */

int
tell_quote(struct str json, struct buf *to)
{
    uint8_t *room = buf_reserve(to, 2 * json.len + 2);
    size_t n = 0;

    if (room == NULL) {
        return -1;
    }
    room[n++] = '"';
    for (size_t i = 0; i < json.len; i++) {
        if (json.ptr[i] == '"' || json.ptr[i] == '\\') {
            room[n++] = '\\';
        }
        room[n++] = (uint8_t)json.ptr[i];
    }
    room[n++] = '"';
    buf_commit(to, n);
    return 0;
}

static struct str
as_payload(struct told *t, struct str object, int payload)
{
    if (payload == PAYLOAD_OBJECT) {
        return object;
    }
    buf_take(&t->text, buf_len(&t->text));
    tell_quote(object, &t->text);
    return buf_str(&t->text);
}

/* ---- to the channel ---- */

static struct sio_target
target_of(const struct told *t, int payload, char room[DOWNLOADS_ENDPOINT])
{
    return (struct sio_target){
        .module = "downloads",
        .endpoint = downloads_endpoint(t->queue->plan.name, payload, room),
        .namespace_name = "/",
    };
}

static int
send_as(struct told *t, const struct event *e, int payload, struct errmsg *err)
{
    char room[DOWNLOADS_ENDPOINT];
    struct sio_target to = target_of(t, payload, room);
    struct sio_message m = {
        .event = e->name,
        .key = e->key,
        .stales = e->stales,
    };

    m.args.json = as_payload(t, e->object, payload);
    return sio_emit(&to, &m, err);
}

/* -1: the channel takes no more; e->payloads are left. */
static int
send_event(struct told *t, struct event *e)
{
    for (int payload = 0; e->payloads != 0; payload++) {
        unsigned bit = 1U << payload;
        struct errmsg err;

        if ((e->payloads & bit) != 0 && send_as(t, e, payload, &err) == -1) {
            return -1;
        }
        e->payloads &= ~bit;
    }
    return 0;
}

/* False: not now. */
static bool
renew(struct told *t)
{
    for (int payload = PAYLOAD_OBJECT; payload <= PAYLOAD_STRING; payload++) {
        char room[DOWNLOADS_ENDPOINT];
        struct sio_target to = target_of(t, payload, room);
        struct errmsg err;

        if (sio_renew(&to, &err) == -1) {
            return false;
        }
    }
    return true;
}

bool
tell_stale(struct told *t, const char *snapshot)
{
    bool told = true;

    for (int payload = PAYLOAD_OBJECT; payload <= PAYLOAD_STRING; payload++) {
        char room[DOWNLOADS_ENDPOINT];
        struct sio_target to = target_of(t, payload, room);
        struct errmsg err;

        told = sio_stale(&to, snapshot, &err) == 0 && told;
    }
    return told;
}

/* ---- events that wait ---- */

static size_t
bytes_of(const struct event *e)
{
    return sizeof(*e) + e->key.len + e->object.len;
}

static void
drop_event(struct told *t, struct event *e)
{
    t->waiting_bytes -= bytes_of(e);
    list_remove(&e->link);
    mem_free(&e);
}

static void
drop_waiting(struct told *t)
{
    LIST_EACH (node, &t->waiting) {
        drop_event(t, LIST_ITEM(node, struct event, link));
    }
}

static void
lose(struct told *t)
{
    if (!t->lost) {
        log_limited(LOG_WARN,
                    "downloads \"%.*s\": the channel does not take events: "
                    "clients will be told all anew",
                    STR_ARGS(t->queue->plan.name));
    }
    t->lost = true;
    drop_waiting(t);
    timer_set(t->loop, &t->retry, RETRY_MS);
}

static void
keep_event(struct told *t, const struct event *e)
{
    struct event *kept = NULL;

    if (t->waiting_bytes + bytes_of(e) <= TELL_WAITING_BYTES) {
        kept = try_alloc(bytes_of(e));
    }
    if (kept == NULL) {
        lose(t);
        return;
    }
    *kept = *e;
    memcpy(kept->texts, e->key.ptr, e->key.len);
    memcpy(kept->texts + e->key.len, e->object.ptr, e->object.len);
    kept->key = str_of(kept->texts, e->key.len);
    kept->object = str_of(kept->texts + e->key.len, e->object.len);
    kept->since_ms = loop_now(t->loop);
    t->waiting_bytes += bytes_of(kept);
    list_append(&t->waiting, &kept->link);
    if (!timer_is_set(&t->retry)) {
        timer_set(t->loop, &t->retry, RETRY_MS);
    }
}

static void
send_waiting(struct told *t)
{
    while (!list_empty(&t->waiting)) {
        struct event *e = LIST_ITEM(t->waiting.next, struct event, link);

        if (send_event(t, e) == 0) {
            drop_event(t, e);
        } else if (loop_now(t->loop) - e->since_ms > TELL_WAITING_MS) {
            lose(t);
            return;
        } else {
            timer_set(t->loop, &t->retry, RETRY_MS);
            return;
        }
    }
    tell_snapshots_go_on(t);
}

static void
on_retry(struct timer *timer)
{
    struct told *t = LIST_ITEM(timer, struct told, retry);

    if (!t->lost) {
        send_waiting(t);
    } else if (renew(t)) {
        t->lost = false;
        tell_snapshots_go_on(t);
    } else {
        timer_set(t->loop, &t->retry, RETRY_MS);
    }
}

/* Clients find in new snapshots what was lost. */
static void
tell(struct told *t, struct event e)
{
    t->queue->change++;
    if (t->lost || !t->queue->loaded) {
        return;
    }
    if (!list_empty(&t->waiting) || send_event(t, &e) == -1) {
        keep_event(t, &e);
    }
}

static struct str
object_of(const struct entry *e)
{
    struct told *t = e->queue->told;

    buf_take(&t->object, buf_len(&t->object));
    entry_write_json(e, &t->object);
    return buf_str(&t->object);
}

static void
tell_entry(const struct entry *e, const char *name, struct str key)
{
    tell(e->queue->told, (struct event){ .name = name,
                                         .stales = "all",
                                         .key = key,
                                         .object = object_of(e),
                                         .payloads = AS_BOTH });
}

static void
tell_url(struct queue *q, const char *name, struct str url)
{
    struct told *t = q->told;

    buf_take(&t->object, buf_len(&t->object));
    http_json_string(&t->object, url);
    tell(t, (struct event){ .name = name,
                            .stales = "all",
                            .key = STR_NONE,
                            .object = buf_str(&t->object),
                            .payloads = AS_BOTH });
}

/* ---- progress ---- */

static void
free_ticker(struct ticker *k)
{
    k->entry->told = NULL;
    timer_stop(k->told->loop, &k->timer);
    list_remove(&k->link);
    mem_free(&k);
}

/* When it may be told; loop_now(). */
static int64_t
due_of(const struct ticker *k)
{
    int64_t window = k->sent[0] + WINDOW_MS;
    int64_t next = k->sent[1] + TELL_PROGRESS_MS;

    return k->at_once || window > next ? window : next;
}

static void
tell_progress(struct ticker *k)
{
    char key[KEY_MAX];
    int len = snprintf(key, sizeof(key), "%lld", (long long)k->entry->number);

    k->sent[0] = k->sent[1];
    k->sent[1] = loop_now(k->told->loop);
    k->waits = k->at_once = false;
    tell_entry(k->entry, "updated", str_of(key, (size_t)len));
}

/* Tells the newest, now or when it is due. */
static void
look(struct ticker *k)
{
    struct told *t = k->told;
    int64_t left = due_of(k) - loop_now(t->loop);

    if (left <= 0 && !list_empty(&t->waiting)) {
        left = RETRY_MS; /* the newest is enough for a channel that is busy */
    }
    if (left <= 0) {
        tell_progress(k);
        left = WINDOW_MS; /* it is forgotten then */
    }
    timer_set(t->loop, &k->timer, left);
}

static void
on_tick(struct timer *timer)
{
    struct ticker *k = LIST_ITEM(timer, struct ticker, timer);

    if (k->waits) {
        look(k);
    } else {
        free_ticker(k);
    }
}

static struct ticker *
ticker_of(struct entry *e)
{
    struct told *t = e->queue->told;
    struct ticker *k = e->told;

    if (k != NULL) {
        return k;
    }
    k = mem_zero(sizeof(*k));
    k->told = t;
    k->entry = e;
    k->sent[0] = k->sent[1] = loop_now(t->loop) - WINDOW_MS;
    timer_init(&k->timer, on_tick);
    list_append(&t->tickers, &k->link);
    e->told = k;
    return k;
}

void
tell_forget(struct entry *e)
{
    if (e->told != NULL) {
        free_ticker(e->told);
    }
}

void
tell_updated(struct entry *e, bool at_once)
{
    struct ticker *k = ticker_of(e);

    e->queue->change++;
    k->waits = true;
    k->at_once |= at_once;
    look(k);
}

/* ---- everything else ---- */

void
tell_added(struct entry *e)
{
    tell_entry(e, "added", STR_NONE);
}

/* It tells what progress would. */
void
tell_completed(struct entry *e)
{
    tell_forget(e);
    tell_entry(e, "completed", STR_NONE);
}

void
tell_canceled(struct queue *q, struct str url)
{
    tell_url(q, "canceled", url);
}

void
tell_cleared(struct queue *q, struct str url)
{
    tell_url(q, "cleared", url);
}

void
tell_options(struct queue *q)
{
    static const struct {
        const char *name;
        unsigned payloads;
    } events[] = { { "engine_options_changed", AS_BOTH },
                   { "ytdl_options_changed", AS_STRING } };
    struct told *t = q->told;

    buf_take(&t->object, buf_len(&t->object));
    tell_write_options(q, &t->object);
    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        struct event e = { .name = events[i].name,
                           .stales = events[i].name,
                           .key = STR_NONE,
                           .object = buf_str(&t->object),
                           .payloads = events[i].payloads };

        if (e.object.len > 0) {
            tell(t, e);
        } else if (!tell_stale(t, e.stales)) {
            lose(t);
        }
    }
}

/* ---- life ---- */

void
tell_start(struct queue *q)
{
    struct told *t = mem_zero(sizeof(*t));

    t->queue = q;
    t->loop = q->fetcher->loop;
    list_init(&t->waiting);
    list_init(&t->tickers);
    timer_init(&t->retry, on_retry);
    buf_init(&t->object, EVENT_MAX);
    buf_init(&t->text, 2 * EVENT_MAX + 2);
    tell_texts_start(t);
    tell_snapshots_start(t);
    q->told = t;
}

/* Clients that were told things by a fetcher before this one may have missed
 * its last. */
void
tell_loaded(struct queue *q)
{
    struct told *t = q->told;

    t->lost = !renew(t);
    if (t->lost) {
        timer_set(t->loop, &t->retry, RETRY_MS);
    }
    tell_snapshots_go_on(t);
}

void
tell_configured(struct queue *q)
{
    struct told *t = q->told;

    if (!tell_stale(t, "configuration") || !tell_stale(t, "custom_dirs")) {
        lose(t);
    }
}

void
tell_stop(struct queue *q)
{
    struct told *t = q->told;

    if (t == NULL) {
        return;
    }
    LIST_EACH (node, &t->tickers) {
        free_ticker(LIST_ITEM(node, struct ticker, link));
    }
    drop_waiting(t);
    timer_stop(t->loop, &t->retry);
    tell_snapshots_stop(t);
    tell_texts_stop(t);
    buf_clear(&t->object);
    buf_clear(&t->text);
    q->told = NULL;
    mem_free(&t);
}
