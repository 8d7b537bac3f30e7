/*
 * Adds from the request to the answer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/add.h"

#include <stdio.h>

#include "base/mem.h"
#include "fetcher/engine.h"
#include "fetcher/facts.h"
#include "fetcher/found.h"
#include "fetcher/selection.h"
#include "proc/starter.h"
#include "json/json.h"

#define WRITES_MAX 32 /* of one request, at once */
#define FULL_RETRY 60 /* s */
#define HELD "It is being canceled, and an add of it waits; try again."

static void add_more(struct add *a);
static void start_waiting(struct queue *q);

/* ---- its end ---- */

static void
add_free(struct add *a)
{
    add_leave_state(a);
    tally_leave(&downloads_pools[DOWNLOADS_POOL_EXTRACTIONS], &a->wish.client);
    queue_forget(a->queue, a);
    timer_stop(a->queue->fetcher->loop, &a->late);
    list_remove(&a->link);
    extract_free(&a->extraction);
    pool_free(&a->pool);
    mem_free(&a);
}

static void
count_refusal(enum downloads_refusal why)
{
    metric_add(&downloads_metrics[DOWNLOADS_REFUSED], why, 1);
}

static void
refuse(struct rpc_request **r, enum downloads_refusal why, const char *msg)
{
    bool again = why == DOWNLOADS_BUSY || why == DOWNLOADS_NO_STORE ||
                 why == DOWNLOADS_NO_FETCHER || why == DOWNLOADS_MAX_ENTRIES;

    if (*r == NULL) {
        return;
    }
    count_refusal(why);
    fetcher_answer_error(
        r, why == DOWNLOADS_BAD_REQUEST ? 400 : (again ? 503 : 200),
        why == DOWNLOADS_MAX_ENTRIES ? FULL_RETRY : again, msg);
}

void
add_refuse(struct add *a, enum downloads_refusal why, const char *msg)
{
    struct queue *q = a->queue;

    refuse(&a->request, why, msg);
    add_free(a);
    start_waiting(q);
}

/* ---- the answer ---- */

static void
say_ok(struct add *a, struct str msg)
{
    struct json_out o;
    struct buf body;

    buf_init(&body, 2 * ADD_TEXT + 1024);
    json_begin(&o, &body, false);
    json_open(&o);
    json_put_str(&o, "status", STR("ok"));
    if (a->found != NULL && a->found->playlist) {
        json_put_int(&o, "added", (int64_t)a->added);
    }
    if (msg.len > 0) {
        json_put_str(&o, "msg", msg);
    }
    json_close(&o);
    if (json_end(&o) == -1) {
        fetcher_answer_error(&a->request, 500, 0, "the answer is too long");
    } else {
        fetcher_answer(&a->request, 200, 0, buf_str(&body));
    }
    buf_clear(&body);
}

static void
say_list(const struct add *a, struct buf *to)
{
    size_t later = a->found->count - a->next + a->writes;

    if (a->already > 0) {
        buf_printf(to, "Already in queue: %zu. ", a->already);
    }
    if (a->found->left_out > 0) {
        buf_printf(to, "Beyond playlist_item_limit: %zu. ", a->found->left_out);
    }
    if (a->refused > 0) {
        buf_printf(to, "Not added: %zu, the last because: %s ", a->refused,
                   a->msg);
    }
    if (later > 0) {
        buf_printf(to, "Still to be added: %zu. ", later);
    }
}

static void
answer_good(struct add *a)
{
    struct buf msg;

    buf_init(&msg, ADD_TEXT + 512);
    if (a->found != NULL && a->found->playlist) {
        say_list(a, &msg);
    } else if (a->already > 0) {
        buf_printf(&msg, "Already in queue: %.*s",
                   STR_ARGS(a->title.len > 0 ? a->title : a->wish.url));
    }
    say_ok(a, str_trim(buf_str(&msg)));
    buf_clear(&msg);
}

static void
answer(struct add *a)
{
    if (a->request == NULL) {
        return;
    }
    if (a->added + a->already > 0) {
        answer_good(a);
    } else if (a->failed != STORE_OK) {
        refuse(&a->request, DOWNLOADS_NO_STORE, store_status_text(a->failed));
    } else if (a->full) {
        refuse(&a->request, DOWNLOADS_MAX_ENTRIES, a->msg);
    } else if (a->held) {
        refuse(&a->request, DOWNLOADS_BUSY, a->msg);
    } else {
        refuse(&a->request, DOWNLOADS_EXTRACTION,
               a->msg[0] != '\0' ? a->msg : "The list is empty.");
    }
}

static void
finish_if_done(struct add *a)
{
    struct queue *q = a->queue;

    if (a->writes == 0 && a->next == a->found->count) {
        answer(a);
        add_free(a);
        start_waiting(q);
    }
}

/* ---- entries ---- */

static void
say(struct add *a, const char *text)
{
    a->refused++;
    snprintf(a->msg, sizeof(a->msg), "%s", text);
}

/* ---- writing them ---- */

static void
on_started(void *arg, struct entry *e, enum store_status status)
{
    struct add *a = arg;

    (void)e;
    a->writes--;
    if (status == STORE_OK || status == STORE_MISSING) {
        a->already++;
    } else {
        a->failed = status;
        say(a, store_status_text(status));
    }
    add_more(a);
}

static void
have_already(struct add *a, struct entry *e)
{
    a->title = pool_str(a->pool, e->facts->title);
    if (e->list == LIST_PENDING && a->wish.auto_start) {
        a->writes++;
        queue_serve(a->queue, &a->wish.client);
        queue_start(e, on_started, a);
        queue_serve(a->queue, NULL);
    } else {
        a->already++;
    }
}

static void
on_written(void *arg, struct entry *e, enum store_status status)
{
    struct add *a = arg;

    a->writes--;
    if (status == STORE_OK) {
        a->added++;
    } else if (status == STORE_CONFLICT && e != NULL) {
        have_already(a, e); /* another request or node was faster */
    } else if (status == STORE_CONFLICT) {
        a->already++;
    } else {
        a->failed = status;
        say(a, store_status_text(status));
    }
    add_more(a);
}

static void
add_entry(struct add *a, const struct extracted_item *i)
{
    const struct facts_source from = { &a->queue->plan, &a->wish, a->found };
    struct pool *p = pool_new(2048);
    struct entry_facts facts;
    struct errmsg err;

    if (facts_make(p, &from, i, &facts, &err) == -1) {
        say(a, err.text);
    } else {
        a->writes++;
        queue_serve(a->queue, &a->wish.client);
        queue_add(a->queue, &facts, !a->wish.auto_start, on_written, a);
        queue_serve(a->queue, NULL);
    }
    pool_free(&p);
}

static void
add_item(struct add *a, const struct extracted_item *i)
{
    struct entry *e = queue_find_url(a->queue, i->url);
    char text[ADD_TEXT];

    if (i->msg.len > 0) {
        snprintf(text, sizeof(text), "%.*s", STR_ARGS(i->msg));
        say(a, text);
    } else if (e != NULL) {
        have_already(a, e);
    } else if (queue_is_held(a->queue, i->url)) {
        a->held = true;
        say(a, HELD);
    } else if (queue_room(a->queue) <= a->writes) {
        a->full = true;
        snprintf(text, sizeof(text),
                 "The queue has max_entries, %lld; clear some.",
                 (long long)a->queue->plan.max_entries);
        say(a, text);
    } else {
        add_entry(a, i);
    }
}

/* As many as may be written at once.  When the store takes none, the others are
 * not tried. */
static void
add_more(struct add *a)
{
    const struct extracted *x = a->found;

    while (a->writes < WRITES_MAX && a->next < x->count &&
           a->failed == STORE_OK) {
        add_item(a, &x->items[a->next++]);
    }
    if (a->failed != STORE_OK) {
        a->refused += x->count - a->next;
        a->next = x->count;
    }
    finish_if_done(a);
}

/* ---- extraction ---- */

static void
on_extracted(void *arg, const struct extracted *x)
{
    struct add *a = arg;
    char text[ADD_TEXT];

    a->found = x;
    if (a->over) {
        add_refuse(a, DOWNLOADS_TIMEOUT, "");
    } else if (!x->ok) {
        snprintf(text, sizeof(text), "%.*s", STR_ARGS(x->msg));
        add_refuse(a, x->no_engine ? DOWNLOADS_NO_ENGINE : DOWNLOADS_EXTRACTION,
                   text);
    } else {
        add_leave_state(a);
        start_waiting(a->queue);
        add_more(a);
    }
}

static void
extract(struct add *a)
{
    struct errmsg err = { "" };

    if (starter_running(a->queue->fetcher->starter) >= STARTER_RUNS) {
        add_refuse(a, DOWNLOADS_BUSY, "Too many engines run; try again.");
        return;
    }
    add_have_turn(a);
    a->extraction = extract_start(a->queue, &a->wish, on_extracted, a, &err);
    if (a->extraction == NULL) {
        add_refuse(a, DOWNLOADS_NO_ENGINE, err.text);
    }
}

/* Those that wait, as long as one more may be looked at. */
static void
start_waiting(struct queue *q)
{
    struct add *a = add_next(q);

    if (a != NULL) {
        extract(a);
        start_waiting(q);
    }
}

/* ---- waiting ---- */

/* Nobody waits any more. */
static void
leave(struct add *a)
{
    struct queue *q = a->queue;

    timer_stop(q->fetcher->loop, &a->late);
    if (a->state == ADD_WAITS) {
        add_free(a);
        start_waiting(q);
    } else if (a->state == ADD_EXTRACTS) {
        a->over = true;
        extract_cancel(a->extraction);
    }
}

/* Writes that are under way may well be committed: they have a part of the
 * time for which the worker waits longer. */
static void
on_late(struct timer *t)
{
    struct add *a = LIST_ITEM(t, struct add, late);
    const struct downloads_instance *plan = &a->queue->plan;
    char text[160];

    if (a->state != ADD_ADDS) {
        snprintf(text, sizeof(text),
                 "Nothing was found there within extract_timeout, %lld s.",
                 (long long)plan->extract_timeout / 1000);
        refuse(&a->request, DOWNLOADS_TIMEOUT, text);
    } else if (a->added + a->already > 0) {
        answer_good(a);
    } else if (!a->longer) {
        a->longer = true;
        timer_set(a->queue->fetcher->loop, t, plan->timeout / 4 * 3);
        return;
    } else {
        refuse(&a->request, DOWNLOADS_NO_STORE,
               "It is not written yet: it may be added later.");
    }
    leave(a);
}

static void
on_gone(void *arg)
{
    struct add *a = arg;

    rpc_refuse(&a->request, "the client has left");
    leave(a);
}

/* ---- requests ---- */

static void
copy_wish(struct add *a, const struct download_wish *w)
{
    struct download_wish *own = &a->wish;

    *own = *w;
    own->instance = pool_str(a->pool, w->instance);
    own->url = pool_str(a->pool, w->url);
    own->quality = pool_str(a->pool, w->quality);
    own->format = pool_str(a->pool, w->format);
    own->folder = pool_str(a->pool, w->folder);
    own->prefix = pool_str(a->pool, w->prefix);
    if (w->limit == -1) {
        own->limit = a->queue->plan.playlist_item_limit;
    }
}

static void
add_new(struct queue *q, struct rpc_request *r, const struct download_wish *w)
{
    struct add *a = mem_zero(sizeof(*a));
    struct entry *same = queue_find_url(q, w->url);

    a->queue = q;
    a->pool = pool_new(1024);
    copy_wish(a, w);
    timer_init(&a->late, on_late);
    fair_entry_init(&a->entry, w->client.words);
    a->state = ADD_ADDS;
    list_append(&q->adds, &a->link);
    a->request = r;
    r->on_gone = on_gone;
    r->arg = a;
    timer_set(q->fetcher->loop, &a->late, q->plan.extract_timeout);
    if (same != NULL) {
        static const struct extracted none = { .ok = true };

        a->found = &none;
        have_already(a, same);
        add_more(a);
        return;
    }
    add_wait_turn(a);
    start_waiting(q);
}

/* Whether it can be looked at; -1 with err. */
static int
check(struct queue *q, const struct download_wish *w, struct errmsg *err)
{
    if (!found_address(w->url)) {
        return errmsg_set(err,
                          "url: an address of http or https, of at most %d "
                          "bytes",
                          DOWNLOAD_URL_MAX);
    }
    if (selection_check(w->quality, w->format, err) == -1) {
        return -1;
    }
    if (fetch_engine_check(fetch_engine_of(q), w->quality, w->format, err) ==
        -1) {
        return -1;
    }
    return w->folder.len == 0
               ? 0
               : place_check_folder(q->place, w->folder,
                                    q->plan.create_custom_dirs, err);
}

void
add_wish(struct fetcher *f, struct rpc_request *r,
         const struct download_wish *w)
{
    struct queue *q = fetcher_find(f, w->instance);
    struct errmsg err = { "" };
    const char *why;

    if (q == NULL || q->retired || f->stopping) {
        refuse(&r, DOWNLOADS_NO_FETCHER, "weir.conf has no such downloads");
    } else if (!q->loaded) {
        refuse(&r, DOWNLOADS_NO_STORE, "The queue is not read yet.");
    } else if (q->place == NULL) {
        refuse(&r, DOWNLOADS_NO_STORE, "The directory cannot be used.");
    } else if (check(q, w, &err) == -1) {
        refuse(&r, DOWNLOADS_BAD_REQUEST, err.text);
    } else if (q->engine != NULL && q->engine->error.len > 0) {
        refuse(&r, DOWNLOADS_NO_ENGINE, q->engine->error.ptr);
    } else if (queue_is_held(q, w->url)) {
        refuse(&r, DOWNLOADS_BUSY, HELD);
    } else if ((why = add_claim(q, w)) != NULL) {
        refuse(&r, DOWNLOADS_BUSY, why);
    } else {
        add_new(q, r, w);
    }
}

void
add_on_request(void *arg, struct rpc_request *r)
{
    struct download_wish w;
    struct tally_holder client;
    struct str bytes = download_client_unpack(str_of(r->data, r->len), &client);

    if (download_wish_unpack(bytes, &w) == -1) {
        refuse(&r, DOWNLOADS_BAD_REQUEST, "the request makes no sense");
        return;
    }
    w.client = client;
    add_wish(arg, r, &w);
}

void
add_drop_all(struct queue *q)
{
    while (!list_empty(&q->adds)) {
        struct add *a = LIST_ITEM(q->adds.next, struct add, link);

        refuse(&a->request, DOWNLOADS_NO_FETCHER, "The queue ends.");
        add_free(a);
    }
}
