/*
 * Calls: made, counted, timed, answered.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "store/store.h"

#include <assert.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/utf8.h"
#include "store/bus.h"
#include "store/call.h"
#include "store/lease.h"
#include "store/notices.h"

#define TICK_MS 20
#define DOWN_MS 1000  /* without whom it asks: longer than a restart takes */
#define FULL_MS 60000 /* how long a write that found no room counts */

static const struct backend *const backends[] = {
    [STORE_SQLITE] = &sqlite_backend,
    [STORE_POSTGRES] = &postgres_backend,
};

static struct {
    struct loop *loop; /* borrowed; NULL before store_open() */
    const struct backend *backend;
    bool closed;
    int64_t timeout;
    size_t limit, count; /* calls that may wait, that do */
    struct list calls;   /* by link, the oldest first */
    struct list ready;   /* by link: status is known */
    struct later later;
    struct timer tick;
    int64_t down_since; /* clock_ms(); 0: it is up */
    int64_t full_ms;    /* clock_ms() of the last write known to have found no
                           room; 0: there is room */
    int64_t full_writes, good_writes; /* of all processes, as last seen */
} st;

static uint64_t boot;

uint64_t
store_boot(void)
{
    return boot;
}

void
store_prepare(void)
{
    if (boot == 0) {
        rand_bytes(&boot, sizeof(boot));
        boot |= 1;
    }
    store_register(&lease_schema);
    bus_register(BUS_STORE_WRITE, BUS_ANYBODY, WIRE_REQUEST_MAX,
                 keeper_on_write, NULL);
    bus_register(BUS_STORE_ANSWER, KEEPER_NAME, WIRE_ANSWER_MAX, link_on_answer,
                 NULL);
    bus_register(BUS_STORE_HELLO, KEEPER_NAME, 0, link_on_hello, NULL);
    bus_register(BUS_STORE_NOTICE, KEEPER_NAME, WIRE_NOTICE_BYTES,
                 listen_on_notice, NULL);
}

const char *
store_status_text(enum store_status status)
{
    static const char *const texts[] = {
        [STORE_OK] = "done",
        [STORE_CONFLICT] = "it is there already",
        [STORE_MISSING] = "it is not there",
        [STORE_BUSY] = "the store has too much to do",
        [STORE_DOWN] = "the store does not answer",
        [STORE_FULL] = "the store has no room left",
        [STORE_FAILED] = "the store was asked what it cannot do",
    };

    return texts[status];
}

/* ---- answering ---- */

void
call_free(struct store_call **c)
{
    buf_clear(&(*c)->request);
    mem_free(c);
}

/* Takes it out of all lists: it is nobody's but ours. */
static void
take(struct store_call *c, enum store_status status)
{
    int64_t us = clock_us() - c->began_us;
    const struct metric *m = &store_metrics[STORE_CALLS];

    list_remove(&c->link);
    list_remove(&c->place);
    st.count--;
    metric_set(&store_metrics[STORE_WAITING], 0, (int64_t)st.count);
    metric_add(m, metric_at(m, c->kind, status, 0), 1);
    metric_observe(
        &store_metrics[c->kind == STORE_KIND_READ ? STORE_READ_TIME
                                                  : STORE_WRITE_TIME],
        0, us);
}

static void
give(struct store_call **c, const struct store_result *r)
{
    struct store_call *call = *c;
    store_done *call_done = call->done;

    *c = NULL;
    call->done = NULL;
    if (call_done != NULL) {
        call_done(call->arg, r);
    }
    if (call->busy) {
        call->over = true;
    } else {
        call_free(&call);
    }
}

void
call_answer(struct store_call **c, enum store_status status)
{
    const struct store_result r = { .status = status };

    take(*c, status);
    give(c, &r);
}

void
call_answer_rows(struct store_call **c, const struct store_result *r)
{
    take(*c, r->status);
    give(c, r);
}

void
call_answer_packed(struct store_call **c, struct str bytes)
{
    struct unpack in = { .rest = bytes };
    struct wire_answer head;
    struct rows rows;

    if (!wire_get_answer(&in, &head) || !wire_get_rows(&in, &head, &rows)) {
        log_error("an answer of the store cannot be read");
        call_answer(c, STORE_DOWN);
        return;
    }
    call_answer_rows(c, &rows.result);
    rows_clear(&rows);
}

void
call_later(struct store_call *c, enum store_status status)
{
    c->status = status;
    list_remove(&c->link);
    list_remove(&c->place);
    list_append(&st.ready, &c->link);
    loop_later(st.loop, &st.later);
}

static void
answer_ready(void)
{
    struct list now;

    list_init(&now);
    list_splice(&now, &st.ready);
    while (!list_empty(&now)) {
        struct store_call *c = LIST_ITEM(now.next, struct store_call, link);

        call_answer(&c, c->status);
    }
}

static void
on_later(struct later *later)
{
    (void)later;
    answer_ready();
}

/* ---- time ---- */

/* All have the same time, so the oldest is the first that is over. */
static void
end_late_ones(void)
{
    while (!list_empty(&st.calls)) {
        struct store_call *c =
            LIST_ITEM(st.calls.next, struct store_call, link);

        if (clock_ms() < c->due) {
            return;
        }
        call_answer(&c, STORE_DOWN);
    }
}

static void
on_tick(struct timer *t)
{
    end_late_ones();
    if (st.closed) {
        return;
    }
    st.backend->tick();
    if (!list_empty(&st.calls)) {
        timer_set(st.loop, t, TICK_MS);
    }
}

/* ---- asking ---- */

static struct store_call *
new_call(enum store_kind kind, store_done *call_done, void *arg)
{
    struct store_call *c = mem_zero(sizeof(*c));

    assert(st.loop != NULL);
    list_init(&c->link);
    list_init(&c->place);
    c->kind = kind;
    c->done = call_done;
    c->arg = arg;
    c->began_us = clock_us();
    c->due = c->began_us / 1000 + st.timeout;
    buf_init(&c->request, WIRE_REQUEST_MAX);
    list_append(&st.calls, &c->link);
    st.count++;
    metric_set(&store_metrics[STORE_WAITING], 0, (int64_t)st.count);
    return c;
}

/* Not every database keeps what is no text. */
static bool
are_texts(const struct store_value *params, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct str s = params[i].s;

        if (params[i].type == STORE_TEXT &&
            (!utf8_valid(s) || str_find(s, '\0', 0) < s.len)) {
            return false;
        }
    }
    return true;
}

static const char *
what_is_wrong(bool whole, bool texts)
{
    if (!whole) {
        return "has too many bytes";
    }
    return texts ? NULL : "has a text that is not UTF-8, or U+0000 in one";
}

/* Whether the backend may have it; else it is answered. */
static bool
may_go(struct store_call *c, const char *wrong)
{
    if (st.closed) {
        call_later(c, STORE_DOWN);
        return false;
    }
    if (st.count > st.limit) {
        call_later(c, STORE_BUSY);
        return false;
    }
    if (wrong != NULL) {
        log_limited(LOG_ERROR, "a call of the store %s", wrong);
        call_later(c, STORE_FAILED);
        return false;
    }
    if (!timer_is_set(&st.tick)) {
        timer_set(st.loop, &st.tick, TICK_MS);
    }
    return true;
}

static struct schema_place
place_of(const struct store_statement *s)
{
    struct schema_place place = { 0, 0 };
    bool known = schema_find(s, &place);

    assert(known);
    (void)known;
    return place;
}

/* Texts go to request, each with a NUL behind it; its memory is reserved once
 * and does not move.  false: they are too many bytes. */
static bool
copy_params(struct store_call *c, const struct store_value *params,
            size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        c->params[i] = params[i];
        bytes += params[i].type == STORE_TEXT ? params[i].s.len + 1 : 0;
    }
    c->count = count;
    if (bytes > 0 && buf_reserve(&c->request, bytes) == NULL) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (params[i].type == STORE_TEXT) {
            c->params[i].s.ptr = (const char *)c->request.mem + c->request.tail;
            buf_add_str(&c->request, params[i].s);
            buf_add(&c->request, "", 1);
        }
    }
    return true;
}

struct store_call *
store_read(const struct store_statement *statement,
           const struct store_value *params, size_t count,
           store_done *call_done, void *arg)
{
    struct store_call *c = new_call(STORE_KIND_READ, call_done, arg);
    bool whole;

    assert(count <= STORE_PARAMS);
    c->statement = place_of(statement);
    c->quick = statement->quick;
    whole = copy_params(c, params, count);
    if (may_go(c, what_is_wrong(whole, are_texts(params, count)))) {
        st.backend->read(c);
    }
    return c;
}

struct store_call *
store_write(const struct store_step *steps, size_t count,
            const struct store_notice *notice, store_done *call_done, void *arg)
{
    struct store_call *c = new_call(STORE_KIND_WRITE, call_done, arg);
    struct pack out = { .to = &c->request };
    bool texts = true;

    assert(count >= 1 && count <= STORE_STEPS);
    assert(notice == NULL || notice->text.len <= WIRE_NOTICE_MAX);
    c->head.steps = (uint32_t)count;
    c->head.due = c->due;
    wire_put_request(&out, &c->head);
    for (size_t i = 0; i < count; i++) {
        assert(steps[i].count <= STORE_PARAMS);
        wire_put_step(&out, place_of(steps[i].statement), &steps[i]);
        texts = texts && are_texts(steps[i].params, steps[i].count);
    }
    if (notice != NULL) {
        struct store_value text = store_text(notice->text);

        texts = texts && are_texts(&text, 1);
    }
    wire_put_notice(&out, notice);
    if (may_go(c, what_is_wrong(!out.full, texts))) {
        st.backend->write(c);
    }
    return c;
}

void
store_cancel(struct store_call **call)
{
    if (*call != NULL) {
        (*call)->done = NULL;
        *call = NULL;
    }
}

/* ---- life ---- */

static int64_t
writes_so_far(enum store_status status)
{
    const struct metric *m = &store_metrics[STORE_CALLS];

    return metric_sum(m, metric_at(m, STORE_KIND_WRITE, status, 0));
}

static int
open_backend(const struct backend *backend, struct loop *l,
             const struct store_settings *s, struct task_threads *threads,
             struct errmsg *err)
{
    assert(st.loop == NULL || st.closed);
    st.backend = backend;
    if (st.backend->open(l, s, threads, err) == -1) {
        return -1;
    }
    st.loop = l;
    st.closed = false;
    st.timeout = s->timeout;
    st.limit = (size_t)s->queue;
    st.count = 0;
    st.full_writes = writes_so_far(STORE_FULL);
    st.good_writes = writes_so_far(STORE_OK);
    list_init(&st.calls);
    list_init(&st.ready);
    later_init(&st.later, on_later);
    timer_init(&st.tick, on_tick);
    return 0;
}

int
store_open(struct loop *l, const struct store_settings *s,
           struct task_threads *threads, struct errmsg *err)
{
    return open_backend(backends[s->backend], l, s, threads, err);
}

void
store_open_away(struct loop *l, const struct store_settings *s)
{
    struct errmsg ignored;

    open_backend(&away_backend, l, s, NULL, &ignored);
}

bool
store_is_open(void)
{
    return st.loop != NULL && !st.closed;
}

bool
store_is_down(void)
{
    int64_t now = clock_ms();

    if (!store_is_open() || st.backend->is_up()) {
        st.down_since = 0;
        return false;
    }
    st.down_since = st.down_since != 0 ? st.down_since : now;
    return now - st.down_since >= DOWN_MS;
}

/* The counters of all processes tell; of both kinds since the last look the
 * keeper knows which came last.  It does not last by itself: who sends nothing
 * to a node that says so would never know that there is room. */
bool
store_is_full(void)
{
    int64_t full = writes_so_far(STORE_FULL), good = writes_so_far(STORE_OK);
    int64_t now = clock_ms();

    if (!store_is_open()) {
        return false;
    }
    if (full != st.full_writes &&
        (good == st.good_writes ||
         metric_sum(&store_metrics[STORE_NO_ROOM], 0) != 0)) {
        st.full_ms = now;
    } else if (good != st.good_writes) {
        st.full_ms = 0;
    }
    st.full_writes = full;
    st.good_writes = good;
    return st.full_ms != 0 && now - st.full_ms < FULL_MS;
}

uint64_t
store_version(void)
{
    return store_is_open() && st.backend->version != NULL
               ? st.backend->version()
               : 0;
}

void
store_close(void)
{
    if (!store_is_open()) {
        return;
    }
    st.closed = true;
    while (!list_empty(&st.calls)) {
        struct store_call *c =
            LIST_ITEM(st.calls.next, struct store_call, link);

        call_answer(&c, STORE_DOWN);
    }
    later_cancel(&st.later);
    answer_ready();
    timer_stop(st.loop, &st.tick);
    st.backend->close();
    listen_forget();
}
