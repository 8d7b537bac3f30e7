/*
 * The calls delete, start, history, version, show and order.
 *
 * An order to entries is a job until each of them is written: what was not
 * found is in its answer.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include <inttypes.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/pack.h"
#include "base/pool.h"
#include "config.h"
#include "fetcher/commands.h"
#include "fetcher/engine.h"
#include "fetcher/queue.h"
#include "fetcher/tell.h"
#include "json/json.h"

#define RETRY_S 5     /* Retry-After */
#define URL_SHOWN 300 /* bytes of an address in a message */

/* ---- orders to entries ---- */

enum order { ORDER_CANCEL, ORDER_CLEAR, ORDER_START };

struct job;

struct named { /* an ID of a request */
    struct job *job;
    size_t found; /* entries that were there, and are not known to have gone */
    size_t asked; /* those whose write was asked for */
};

struct job {
    struct list link; /* in fetcher.jobs */
    struct rpc_request *request;
    struct queue *queue;
    struct tally_holder client;
    struct pool *pool; /* owned */
    enum order order;
    struct download_ids ids;
    struct named *named;      /* of ids */
    size_t open;              /* writes and removals under way, and one more */
    enum store_status failed; /* STORE_OK: none has */
    struct errmsg stays;      /* a file that could not be removed */
};

static void
job_free(struct job *j)
{
    tally_leave(&downloads_pools[DOWNLOADS_POOL_ORDERS], &j->client);
    list_remove(&j->link);
    pool_free(&j->pool);
    mem_free(&j);
}

/* {"status":"ok","not_found":[...]} */
static void
job_answer(struct job *j)
{
    struct json_out o;
    struct buf b;

    buf_init(&b, DOWNLOADS_ANSWER_MAX - 4096);
    json_begin(&o, &b, false);
    json_open(&o);
    json_put_str(&o, "status", STR("ok"));
    json_key(&o, "not_found");
    json_open_array(&o);
    for (size_t i = 0; i < j->ids.count; i++) {
        if (j->named[i].found == 0) {
            json_str(&o, j->ids.ids[i]);
        }
    }
    json_close(&o);
    json_close(&o);
    if (json_end(&o) == -1) {
        fetcher_answer_error(&j->request, 500, 0, "the answer is too long");
    } else {
        fetcher_answer(&j->request, 200, 0, buf_str(&b));
    }
    buf_clear(&b);
}

static void
job_step(struct job *j)
{
    if (--j->open > 0) {
        return;
    }
    if (j->failed != STORE_OK) {
        fetcher_answer_error(&j->request, 503, RETRY_S,
                             store_status_text(j->failed));
    } else if (j->stays.text[0] != '\0') {
        fetcher_answer_error(&j->request, 500, 0, j->stays.text);
    } else {
        job_answer(j);
    }
    job_free(j);
}

/* STORE_MISSING: it has ended meanwhile, or the same one was named twice, which
 * is gone by then, or canceled. */
static void
on_written(void *arg, struct entry *e, enum store_status status)
{
    struct named *n = arg;
    struct job *j = n->job;

    if (status != STORE_OK && e != NULL) {
        e->wiped = false;
    }
    if (status != STORE_OK && status != STORE_MISSING) {
        j->failed = status;
    } else if (status == STORE_MISSING && j->order == ORDER_CANCEL &&
               e != NULL && !e->canceled) {
        n->found--;
    }
    job_step(j);
}

struct removal { /* of a file, before its record is cleared */
    struct named *named;
    int64_t number;
};

/* A record whose file stays is kept, so that its deletion can be asked for
 * again. */
static void
on_file_removed(void *arg, bool ok, struct str name, const char *msg,
                int64_t size)
{
    struct removal *r = arg;
    struct named *n = r->named;
    struct job *j = n->job;
    struct entry *e = queue_by_number(j->queue, r->number);

    (void)name;
    (void)size;
    mem_free(&r);
    if (e != NULL && ok) {
        queue_serve(j->queue, &j->client);
        queue_wipe(e, on_written, n);
        queue_serve(j->queue, NULL);
        return;
    }
    if (e != NULL) {
        errmsg_set(&j->stays, "the file of %.*s stays, and its record: %s",
                   STR_ARGS(str_first(e->facts->url, URL_SHOWN)), msg);
        log_warn("downloads %.*s: %s", STR_ARGS(j->queue->plan.name),
                 j->stays.text);
    }
    job_step(j);
}

/* The node that ran it removes the file of its own directory (queue.c). */
static void
clear_elsewhere(struct named *n, struct entry *e)
{
    log_notice("downloads %.*s: %.*s is cleared: its file is that of node "
               "%.*s, which is told to remove it",
               STR_ARGS(e->queue->plan.name), STR_ARGS(e->facts->url),
               STR_ARGS(e->where));
    e->wiped = true;
    queue_wipe(e, on_written, n);
}

static void
clear(struct named *n, struct entry *e)
{
    struct queue *q = e->queue;
    struct removal *r;

    if (!q->plan.delete_files || e->filename.len == 0) {
        queue_wipe(e, on_written, n);
    } else if (e->where.len > 0) {
        clear_elsewhere(n, e);
    } else if (q->place == NULL) {
        queue_wipe(e, on_written, n);
    } else {
        r = mem_zero(sizeof(*r));
        r->named = n;
        r->number = e->number;
        place_remove(q->place, e->facts->folder, e->filename, on_file_removed,
                     r);
    }
}

static void
on_entry(void *arg, struct entry *e)
{
    struct named *n = arg;
    struct job *j = n->job;

    n->found++;
    if (j->order == ORDER_START && e->list != LIST_PENDING) {
        return; /* it was started already */
    }
    n->asked++;
    j->open++;
    switch (j->order) {
    case ORDER_CANCEL:
        queue_cancel(e, on_written, n);
        break;
    case ORDER_CLEAR:
        clear(n, e);
        break;
    case ORDER_START:
        queue_start(e, on_written, n);
        break;
    }
}

static void
begin_job(struct job *j)
{
    queue_serve(j->queue, &j->client);
    for (size_t i = 0; i < j->ids.count; i++) {
        j->named[i].job = j;
        queue_each(j->queue, j->ids.ids[i], j->order == ORDER_CLEAR, on_entry,
                   &j->named[i]);
    }
    queue_serve(j->queue, NULL);
    job_step(j);
}

/* NULL, or why it may not be. */
static const char *
claim_order(const struct tally_holder *client)
{
    const struct share_want w = {
        .pool = &downloads_pools[DOWNLOADS_POOL_ORDERS],
        .client = *client,
        .size = DOWNLOADS_ORDERS,
    };

    switch (share_claim(&w)) {
    case SHARE_GRANTED:
        break;
    case SHARE_OVER:
        return "This client has its share of orders at once; try again.";
    case SHARE_FULL:
        return "Too many orders are under way; try again.";
    }
    return NULL;
}

/* The bytes live as long as the request. */
static void
take_order(struct fetcher *f, struct rpc_request *r, struct str bytes,
           enum order order, const struct tally_holder *client)
{
    struct pool *pool = pool_new(1024);
    struct download_ids ids;
    const char *why;
    struct queue *q;
    struct job *j;

    if (download_ids_unpack(pool, bytes, &ids) == -1) {
        pool_free(&pool);
        rpc_refuse(&r, "the request makes no sense");
        return;
    }
    q = fetcher_queue(f, &r, ids.instance);
    if (q == NULL) {
        pool_free(&pool);
        return;
    }
    why = claim_order(client);
    if (why != NULL) {
        fetcher_answer_error(&r, 503, SHARE_RETRY_S, why);
        pool_free(&pool);
        return;
    }
    j = mem_zero(sizeof(*j));
    list_append(&f->jobs, &j->link);
    j->client = *client;
    j->request = r;
    j->queue = q;
    j->pool = pool;
    j->order = order == ORDER_CANCEL && ids.done ? ORDER_CLEAR : order;
    j->ids = ids;
    j->named = pool_zero(pool, (ids.count + 1) * sizeof(*j->named));
    j->open = 1;
    begin_job(j);
}

static void
take_request(struct fetcher *f, struct rpc_request *r, enum order order)
{
    struct tally_holder client;
    struct str bytes = download_client_unpack(str_of(r->data, r->len), &client);

    take_order(f, r, bytes, order, &client);
}

void
commands_on_delete(void *arg, struct rpc_request *r)
{
    take_request(arg, r, ORDER_CANCEL);
}

void
commands_on_start(void *arg, struct rpc_request *r)
{
    take_request(arg, r, ORDER_START);
}

void
commands_on_order(void *arg, struct rpc_request *r)
{
    struct str bytes = str_of(r->data, r->len);
    struct tally_holder self = share_self();
    struct download_wish wish;
    char word = bytes.len > 0 ? bytes.ptr[0] : '\0';

    bytes = str_skip(bytes, 1);
    if (word == 'd') {
        take_order(arg, r, bytes, ORDER_CANCEL, &self);
    } else if (word == 's') {
        take_order(arg, r, bytes, ORDER_START, &self);
    } else if (word == 'a' && download_wish_unpack(bytes, &wish) == 0) {
        wish.client = self;
        add_wish(arg, r, &wish);
    } else {
        rpc_refuse(&r, "the request makes no sense");
    }
}

static void
forget_writes(struct job *j)
{
    for (size_t i = 0; i < j->ids.count; i++) {
        if (j->named[i].asked > 0) {
            queue_forget(j->queue, &j->named[i]);
        }
    }
}

void
commands_drop(struct fetcher *f, const struct queue *q)
{
    LIST_EACH (node, &f->jobs) {
        struct job *j = LIST_ITEM(node, struct job, link);

        if (q == NULL || j->queue == q) {
            forget_writes(j);
            fetcher_answer_error(&j->request, 503, RETRY_S,
                                 "the fetcher starts again");
            job_free(j);
        }
    }
}

/* ---- what there is ---- */

void
commands_on_history(void *arg, struct rpc_request *r)
{
    struct queue *q = fetcher_queue(arg, &r, str_of(r->data, r->len));
    struct downloads_answer a = { .status = 200 };
    struct errmsg why;
    int64_t length;
    struct buf b;
    int fd;

    if (q == NULL) {
        return;
    }
    fd = tell_history(q, &length, &why);
    if (fd == -1) {
        fetcher_answer_error(&r, 503, RETRY_S, why.text);
        return;
    }
    a.length = (uint64_t)length;
    buf_init(&b, 256);
    downloads_answer_pack(&b, &a, STR_NONE);
    rpc_reply(&r, buf_data(&b), buf_len(&b), fd);
    buf_clear(&b);
}

void
commands_on_version(void *arg, struct rpc_request *r)
{
    struct queue *q = fetcher_queue(arg, &r, str_of(r->data, r->len));
    struct str trouble;
    struct json_out o;
    struct buf b;

    if (q == NULL || fetch_engine_hold(q, r, commands_on_version)) {
        return;
    }
    trouble = fetch_engine_trouble(q);
    buf_init(&b, 8192);
    json_begin(&o, &b, false);
    json_open(&o);
    json_put_str(&o, "engine", q->engine->version);
    if (trouble.len > 0) {
        json_put_str(&o, "engine_error", trouble);
    }
    json_put_str(&o, "version", STR(WEIR_VERSION));
    json_close(&o);
    json_end(&o);
    fetcher_answer(&r, 200, 0, buf_str(&b));
    buf_clear(&b);
}

/* ---- weirctl ---- */

struct showing {
    struct pack out;
    struct buf *to;
    int64_t skip; /* rows that the master has */
    bool full;    /* more follow */
};

#define SHOW_MAX (32000 - 8)

/* Whether a row is to be written now; then to *out, which adds to *row. */
static bool
begin_row(struct showing *s, struct buf *row, struct pack *out)
{
    if (s->skip > 0) {
        s->skip--;
        return false;
    }
    if (s->full) {
        return false;
    }
    buf_init(row, SHOW_MAX);
    *out = (struct pack){ .to = row };
    return true;
}

/* A row that does not fit is for the next call. */
static void
end_row(struct showing *s, struct buf *row)
{
    if (!s->full && buf_len(s->to) + buf_len(row) + 1 <= SHOW_MAX) {
        pack_u8(&s->out, 1);
        pack_bytes(&s->out, buf_data(row), buf_len(row));
    } else {
        s->full = true;
    }
    buf_clear(row);
}

static void
show_queue(struct showing *s, const struct queue *q)
{
    struct str trouble = fetch_engine_trouble(q);
    struct pack out;
    struct buf row;

    if (!begin_row(s, &row, &out)) {
        return;
    }
    pack_text(&out, q->plan.name);
    pack_text(&out, str_from(q->engine->engine->name));
    pack_text(&out, q->engine->version);
    pack_text(&out, q->pause[0] != '\0' ? str_from(q->pause) : trouble);
    for (size_t i = 0; i < ENTRY_LISTS; i++) {
        pack_int(&out, (int64_t)q->counts[i]);
    }
    pack_int(&out, (int64_t)q->running);
    pack_int(&out, q->place != NULL ? place_free_bytes(q->place) : -1);
    end_row(s, &row);
}

static void
show_entry(struct showing *s, const struct entry *e)
{
    struct pack out;
    struct buf row;

    if (!begin_row(s, &row, &out)) {
        return;
    }
    pack_text(&out, e->queue->plan.name);
    pack_text(&out, str_from(entry_list_name(e->list)));
    pack_text(&out, str_from(entry_status_name(e->status)));
    pack_text(&out, e->facts->url);
    pack_text(&out, e->facts->title);
    pack_text(&out, e->filename);
    pack_text(&out, e->msg);
    pack_int(&out, e->percent);
    pack_int(&out, e->speed);
    pack_int(&out, e->eta);
    pack_int(&out, e->size);
    end_row(s, &row);
}

static void
show_lists(struct showing *s, const struct queue *q, uint8_t what)
{
    for (unsigned i = 0; i < ENTRY_LISTS; i++) {
        if (what != SHOWN_ENTRIES && what != SHOWN_PENDING + i) {
            continue;
        }
        LIST_EACH (node, &q->lists[i]) {
            if (s->full) {
                return;
            }
            show_entry(s, LIST_ITEM(node, struct entry, link));
        }
    }
}

void
commands_on_show(void *arg, struct rpc_request *r)
{
    struct unpack in = { .rest = str_of(r->data, r->len) };
    struct str instance = unpack_text(&in);
    uint8_t what = unpack_u8(&in);
    struct fetcher *f = arg;
    struct showing s;
    struct buf b;

    buf_init(&b, SHOW_MAX + 8);
    s = (struct showing){ .out = { .to = &b }, .to = &b };
    s.skip = unpack_int(&in);
    if (!unpack_ends(&in) || what >= DOWNLOADS_SHOWN || s.skip < 0) {
        rpc_refuse(&r, "the request makes no sense");
        return;
    }
    LIST_EACH (node, &f->queues) {
        struct queue *q = LIST_ITEM(node, struct queue, link);

        if (q->retired ||
            (instance.len > 0 && !str_eq(q->plan.name, instance))) {
            continue;
        }
        if (what == SHOWN_QUEUES) {
            show_queue(&s, q);
        } else {
            show_lists(&s, q, what);
        }
    }
    pack_u8(&s.out, s.full ? 2 : 0);
    rpc_reply(&r, buf_data(&b), buf_len(&b), -1);
    buf_clear(&b);
}
