/*
 * For tests of a queue: a store whose calls wait until the test answers them,
 * and engines, a directory and clients that only write down what they are told.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_QUEUE_FAKE_H
#define MODULES_DOWNLOADS_FETCHER_QUEUE_FAKE_H

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "fetcher/engine.h"
#include "fetcher/keep.h"
#include "fetcher/queue.h"
#include "fetcher/tell.h"
#include "proc/starter.h"
#include "store/lease.h"

/* In place of those of downloads.c, which has all of the module behind it. */
struct metric downloads_metrics[DOWNLOADS_METRICS + 1];

/* ---- what was told ---- */

static char fake_log[65536]; /* "added a;completed a;" */

static inline void
fake_say(const char *what, struct str who)
{
    size_t n = strlen(fake_log);

    snprintf(fake_log + n, sizeof(fake_log) - n, "%s%s%.*s;", what,
             who.len > 0 ? " " : "", STR_ARGS(who));
}

#define assert_log(expected)                     \
    do {                                         \
        assert_string_equal(fake_log, expected); \
        fake_log[0] = '\0';                      \
    } while (0)

void
tell_updated(struct entry *e, bool at_once)
{
    (void)at_once;
    fake_say(entry_status_name(e->status), e->facts->url);
}

#define FAKE_OF_ENTRY(name, word)      \
    void name(struct entry *e)         \
    {                                  \
        fake_say(word, e->facts->url); \
    }

FAKE_OF_ENTRY(tell_added, "added")
FAKE_OF_ENTRY(tell_completed, "completed")

#define FAKE_OF_URL(name, word)                \
    void name(struct queue *q, struct str url) \
    {                                          \
        (void)q;                               \
        fake_say(word, url);                   \
    }

FAKE_OF_URL(tell_canceled, "canceled")
FAKE_OF_URL(tell_cleared, "cleared")

void
tell_forget(struct entry *e)
{
    (void)e;
}

/* Weak: the test of a file has its own. */
#define FAKE_OF_QUEUE(name)                          \
    __attribute__((weak)) void name(struct queue *q) \
    {                                                \
        (void)q;                                     \
    }

FAKE_OF_QUEUE(tell_start)
FAKE_OF_QUEUE(tell_stop)
FAKE_OF_QUEUE(tell_loaded)
FAKE_OF_QUEUE(tell_configured)
FAKE_OF_QUEUE(tell_options)
FAKE_OF_QUEUE(fetch_engine_look)
FAKE_OF_QUEUE(add_drop_all)

void
fetch_engine_free(struct fetch_engine_state **s)
{
    (void)s;
}

struct options *
options_new(struct loop *l, struct str path, void (*on_change)(void *arg),
            void *arg)
{
    (void)l;
    (void)path;
    (void)on_change;
    (void)arg;
    return NULL;
}

void
options_free(struct options **o)
{
    (void)o;
}

/* ---- the store ---- */

struct store_call {
    struct list link;
    char name[32]; /* of the last statement */
    char notice[256];
    int64_t first; /* its first parameter, if it is a number */
    store_done *done;
    void *arg;
};

static struct list fake_calls = { &fake_calls, &fake_calls };
static int64_t fake_number;

static inline struct store_call *
fake_call(const struct store_statement *s, const struct store_value *params,
          store_done *done, void *arg)
{
    struct store_call *c = mem_zero(sizeof(*c));

    str_copy(c->name, sizeof(c->name), str_from(s->name));
    c->first = params[0].type == STORE_INT ? params[0].n : 0;
    c->done = done;
    c->arg = arg;
    list_append(&fake_calls, &c->link);
    return c;
}

struct store_call *
store_read(const struct store_statement *statement,
           const struct store_value *params, size_t count, store_done *done,
           void *arg)
{
    (void)count;
    return fake_call(statement, params, done, arg);
}

struct store_call *
store_write(const struct store_step *steps, size_t count,
            const struct store_notice *notice, store_done *done, void *arg)
{
    const struct store_step *last = &steps[count - 1];
    struct store_call *c = fake_call(last->statement, last->params, done, arg);

    assert_true(last->must_change);
    if (notice != NULL) {
        str_copy(c->notice, sizeof(c->notice), notice->text);
    }
    return c;
}

void
store_cancel(struct store_call **call)
{
    if (*call != NULL) {
        list_remove(&(*call)->link);
        mem_free(call);
    }
}

void
store_listen(const char *topic, store_heard *heard, void *arg)
{
    (void)topic;
    (void)heard;
    (void)arg;
}

void
store_deafen(store_heard *heard, void *arg)
{
    (void)heard;
    (void)arg;
}

const char *
store_status_text(enum store_status status)
{
    return status == STORE_OK ? "done" : "the store is down";
}

static inline size_t
fake_waiting(void)
{
    size_t n = 0;

    LIST_EACH (node, &fake_calls) {
        n++;
    }
    return n;
}

static inline struct store_call *
fake_oldest(void)
{
    assert_false(list_empty(&fake_calls));
    return LIST_ITEM(fake_calls.next, struct store_call, link);
}

#define assert_asks(expected) assert_string_equal(fake_oldest()->name, expected)

static inline void
fake_answer_rows(enum store_status status, const struct store_rows *rows)
{
    struct store_result r = { status, status == STORE_OK, rows };
    struct store_call *c = fake_oldest();
    store_done *done = c->done;
    void *arg = c->arg;

    store_cancel(&c);
    done(arg, &r);
}

/* Answers the oldest call; an add with a number. */
static inline void
fake_answer(enum store_status status)
{
    struct store_value number = store_int(++fake_number);
    bool add = strncmp(fake_oldest()->name, "add", 3) == 0;
    struct store_rows rows = { add, 1, &number, 1 };

    fake_answer_rows(status, &rows);
}

/* ---- the directory ---- */

struct place_work {
    struct list link;
    const char *what;
    place_done *done;
    void *arg;
};

static struct list fake_works = { &fake_works, &fake_works };
static int64_t fake_free_bytes;
static int fake_place; /* something to point to; the sweeps of it */

struct place *
place_new(struct loop *l, struct task_threads *t, struct str directory,
          struct errmsg *err)
{
    (void)l;
    (void)t;
    (void)directory;
    (void)err;
    return (struct place *)(void *)&fake_place;
}

void
place_free(struct place **p)
{
    *p = NULL;
}

static inline struct place_work *
fake_work(const char *what, place_done *done, void *arg)
{
    struct place_work *w = mem_zero(sizeof(*w));

    w->what = what;
    w->done = done;
    w->arg = arg;
    list_append(&fake_works, &w->link);
    return w;
}

struct place_work *
place_take(struct place *p, const struct place_move *m, place_done *done,
           void *arg)
{
    (void)p;
    (void)m;
    return fake_work("take", done, arg);
}

struct place_work *
place_find(struct place *p, int64_t number, struct str folder, place_done *done,
           void *arg)
{
    (void)p;
    (void)number;
    (void)folder;
    return fake_work("find", done, arg);
}

/* Without done it is only said. */
struct place_work *
place_drop(struct place *p, int64_t number, place_done *done, void *arg)
{
    (void)p;
    (void)number;
    if (done == NULL) {
        return NULL;
    }
    return fake_work("drop", done, arg);
}

struct place_work *
place_remove(struct place *p, struct str folder, struct str name,
             place_done *done, void *arg)
{
    (void)p;
    (void)folder;
    (void)name;
    return fake_work("remove", done, arg);
}

void
place_forget(struct place_work **w)
{
    if (*w != NULL) {
        list_remove(&(*w)->link);
        mem_free(w);
    }
}

void
place_sweep(struct place *p, bool (*known)(void *arg, int64_t number),
            void *arg)
{
    assert_non_null(p);
    (void)known;
    (void)arg;
    fake_place++;
}

int64_t
place_free_bytes(const struct place *p)
{
    (void)p;
    return fake_free_bytes;
}

/* The oldest work is done. */
static inline void
fake_done(const char *what, bool ok, const char *name)
{
    struct place_work *w = LIST_ITEM(fake_works.next, struct place_work, link);
    place_done *done = w->done;
    void *arg = w->arg;

    assert_false(list_empty(&fake_works));
    assert_string_equal(w->what, what);
    place_forget(&w);
    done(arg, ok, str_from(name), ok ? "" : "No space left on device", 7);
}

/* ---- engines ---- */

struct run {
    struct list link;
    struct run_handlers handlers;
    void *arg;
    const char *told; /* "cancel", "abort"; "": nothing */
};

static struct list fake_runs = { &fake_runs, &fake_runs };

static size_t fake_programs; /* of others; runs are not counted */
static bool fake_too_much;   /* no run can start now */

size_t
starter_running(const struct starter *s)
{
    (void)s;
    return fake_programs;
}

struct run *
run_start(struct entry *e, const struct run_handlers *h, void *arg, bool *later,
          struct errmsg *err)
{
    struct run *r;

    *later = fake_too_much;
    if (*later) {
        errmsg_set(err, "too much runs");
        return NULL;
    }
    r = mem_zero(sizeof(*r));
    r->handlers = *h;
    r->arg = arg;
    r->told = "";
    list_append(&fake_runs, &r->link);
    fake_say("run", e->facts->url);
    return r;
}

void
run_cancel(struct run *r)
{
    r->told = "cancel";
}

void
run_abort(struct run *r)
{
    r->told = "abort";
}

void
run_forget(struct run **r)
{
    if (*r != NULL) {
        list_remove(&(*r)->link);
        mem_free(r);
    }
}

static inline struct run *
fake_run(size_t i)
{
    struct list *node = fake_runs.next;

    while (i-- > 0) {
        node = node->next;
    }
    assert_true(node != &fake_runs);
    return LIST_ITEM(node, struct run, link);
}

static inline size_t
fake_running(void)
{
    size_t n = 0;

    LIST_EACH (node, &fake_runs) {
        n++;
    }
    return n;
}

/* The run ends. */
static inline void
fake_end(struct run *r, const struct run_result *result)
{
    struct run_handlers handlers = r->handlers;
    void *arg = r->arg;

    run_forget(&r);
    handlers.on_end(arg, result);
}

/* ---- a queue ---- */

static struct fetcher fetcher;
static struct queue *queue;
static char answers[4096]; /* of queue_done: "0 a;2 -;" */

struct queue *
fetcher_find(struct fetcher *f, struct str instance)
{
    (void)f;
    (void)instance;
    return queue;
}

static inline void
turns(void)
{
    for (int i = 0; i < 20; i++) {
        loop_turn(fetcher.loop, 0);
    }
}

static inline void
on_done(void *arg, struct entry *e, enum store_status status)
{
    size_t n = strlen(answers);

    (void)arg;
    snprintf(answers + n, sizeof(answers) - n, "%d %s;", (int)status,
             e != NULL ? e->facts->url.ptr : "-");
}

#define assert_answers(expected)                \
    do {                                        \
        assert_string_equal(answers, expected); \
        answers[0] = '\0';                      \
    } while (0)

/* Nothing starts by itself. */
static inline void
open_held(void)
{
    static const struct downloads_instance plan = {
        .name = { "main", 4 },
        .max_concurrent = 2,
        .max_entries = 1000,
        .min_free = 100,
    };
    struct errmsg err;

    hash_init();
    memset(&fetcher, 0, sizeof(fetcher));
    fetcher.loop = loop_new(&err);
    fetcher.node = STR("a");
    fetcher.draining = true;
    list_init(&fetcher.queues);
    lease_start(fetcher.loop, &(struct lease_options){ .node = STR("a") });
    fake_free_bytes = 1000;
    fake_programs = 0;
    fake_too_much = false;
    fake_number = 0;
    queue = queue_new(&fetcher, &plan);
    assert_asks("page");
    fake_answer_rows(STORE_OK, &(struct store_rows){ .columns = 24 });
    assert_true(queue->loaded);
    turns();
    fake_log[0] = answers[0] = '\0';
}

static inline int
setup(void **state)
{
    (void)state;
    open_held();
    return 0;
}

static inline int
teardown(void **state)
{
    (void)state;
    queue_free(&queue);
    lease_end();
    loop_free(&fetcher.loop);
    assert_int_equal(fake_waiting(), 0);
    assert_int_equal(fake_running(), 0);
    assert_true(list_empty(&fake_works));
    return 0;
}

/* ---- making entries ---- */

static inline void
ask_add(const char *url, bool waits)
{
    const struct entry_facts f = { .url = str_from(url),
                                   .asked = str_from(url),
                                   .fetch = str_from(url),
                                   .title = str_from(url) };

    queue_add(queue, &f, waits, on_done, NULL);
}

static inline struct entry *
add(const char *url, bool waits)
{
    ask_add(url, waits);
    turns();
    fake_answer(STORE_OK);
    turns();
    return queue_find(queue, str_from(url));
}

static inline struct entry *
make(enum queue_state state)
{
    struct entry *e = add("a", state == STATE_PENDING);

    if (state == STATE_DONE) {
        queue_ask(e, TRIGGER_FINISH, NULL, NULL);
        turns();
        fake_answer(STORE_OK);
    } else if (state == STATE_CANCELED) {
        queue_cancel(e, NULL, NULL);
        turns();
        fake_answer(STORE_OK);
    }
    turns();
    assert_int_equal(queue_state_of(e), state);
    fake_log[0] = answers[0] = '\0';
    return e;
}

#define ROW(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
