/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/engine.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "fetcher/process.h"
#include "fetcher/queue.h"

#define VERSION_MAX 256
#define VERSION_MS 30000 /* until it has said its version */
#define AGAIN_MS 60000   /* until a broken one is asked again */
#define HELD_MAX 256     /* requests that wait for the first version */

struct fetch_engine_ask {
    struct queue *queue;
    struct fetch_process *process; /* NULL: it waits to ask again */
    struct timer timer;
    bool late, again; /* it should have been told; somebody asked meanwhile */
    struct errmsg missing; /* of choose() */
    size_t len;
    char said[VERSION_MAX];
    struct line_reader lines;
    char msg[RUN_TEXT_MAX];
    struct list held; /* struct held_request */
    size_t held_count;
};

struct held_request { /* until something is known of the engine */
    struct list link; /* in fetch_engine_ask.held */
    struct fetch_engine_ask *ask;
    struct rpc_request *request;
    rpc_handler *again;
};

/* ---- arguments ---- */

void
fetch_line_add(struct fetch_line *to, const char *text)
{
    if (to->count == PROGRAM_ARGUMENTS) {
        to->full = true;
        return;
    }
    to->argv[to->count++] = text;
}

void
fetch_line_printf(struct fetch_line *to, const char *format, ...)
{
    struct buf text;
    va_list args;

    buf_init(&text, 2 * DOWNLOAD_URL_MAX);
    va_start(args, format);
    to->full |= buf_vprintf(&text, format, args) == -1;
    va_end(args);
    fetch_line_add(to, pool_cstr(to->pool, buf_str(&text)));
    buf_clear(&text);
}

/* ---- the table ---- */

static const struct fetch_engine *const engines[] = { &ytdlp_engine,
                                                      &direct_engine };

#define ENGINES (sizeof(engines) / sizeof(engines[0]))

/* The one of that name, or the first that is there.  `missing` says why another
 * is not there in whose place it runs; "": it takes nobody's place. */
static const struct fetch_engine *
choose(const struct downloads_instance *plan, struct errmsg *missing)
{
    missing->text[0] = '\0';
    for (size_t i = 0; i < ENGINES; i++) {
        if (str_eq(plan->engine, str_from(engines[i]->name))) {
            return engines[i];
        }
    }
    for (size_t i = 0; i < ENGINES; i++) {
        struct errmsg why;

        if (engines[i]->program(plan, &why).len > 0) {
            return engines[i];
        }
        if (i == 0) {
            *missing = why;
        }
    }
    return engines[ENGINES - 1];
}

const struct fetch_engine *
fetch_engine_of(struct queue *q)
{
    struct errmsg missing;
    const struct fetch_engine *now;

    if (q->engine != NULL && q->engine->missing.len == 0) {
        return q->engine->engine;
    }
    now = choose(&q->plan, &missing);
    if (q->engine != NULL && now != q->engine->engine) {
        fetch_engine_look(q);
    }
    return now;
}

int
fetch_engine_check(const struct fetch_engine *e, struct str quality,
                   struct str format, struct errmsg *err)
{
    return e->check == NULL ? 0 : e->check(quality, format, err);
}

/* ---- its version ---- */

static void
set_text(struct str *owned, struct str text)
{
    mem_free_raw((void *)(uintptr_t)owned->ptr);
    owned->ptr = mem_dup(text.ptr, text.len);
    owned->len = text.len;
}

/* The request, which is nobody's now. */
static struct rpc_request *
let_go(struct held_request *h)
{
    struct rpc_request *r = h->request;

    h->ask->held_count--;
    list_remove(&h->link);
    r->on_gone = NULL;
    r->arg = NULL;
    mem_free(&h);
    return r;
}

static void
on_gone(void *arg)
{
    struct rpc_request *r = let_go(arg);

    rpc_refuse(&r, "nobody waits for the version");
}

static void
answer_held(struct queue *q)
{
    LIST_EACH (node, &q->engine->ask->held) {
        struct held_request *h = LIST_ITEM(node, struct held_request, link);
        rpc_handler *again = h->again;

        again(q->fetcher, let_go(h));
    }
}

bool
fetch_engine_hold(struct queue *q, struct rpc_request *r, rpc_handler *again)
{
    struct fetch_engine_ask *a = q->engine->ask;
    struct held_request *h;

    if (q->engine->version.len > 0 || q->engine->error.len > 0 ||
        a->held_count == HELD_MAX) {
        return false;
    }
    h = mem_zero(sizeof(*h));
    h->ask = a;
    h->request = r;
    h->again = again;
    r->on_gone = on_gone;
    r->arg = h;
    list_append(&a->held, &h->link);
    a->held_count++;
    return true;
}

struct str
fetch_engine_trouble(const struct queue *q)
{
    const struct fetch_engine_state *s = q->engine;

    return s->error.len > 0 ? s->error : s->missing;
}

static void
log_state(const struct queue *q)
{
    const struct fetch_engine_state *s = q->engine;
    struct str name = q->plan.name;

    if (s->error.len > 0) {
        log_error("downloads \"%.*s\": %.*s", STR_ARGS(name),
                  STR_ARGS(s->error));
        return;
    }
    if (s->missing.len > 0) {
        log_warn("downloads \"%.*s\": %.*s", STR_ARGS(name),
                 STR_ARGS(s->missing));
    }
    log_notice("downloads \"%.*s\": the engine is %s %.*s", STR_ARGS(name),
               s->engine->name, STR_ARGS(s->version));
}

static void
know(struct queue *q, struct str version, const char *error)
{
    struct fetch_engine_state *s = q->engine;
    struct str another = str_from(s->ask->missing.text);
    struct pool *pool = pool_new(1024);
    struct str why = str_from(error), missing = STR_NONE;

    if (another.len > 0 && why.len > 0) {
        why = pool_printf(pool, "%.*s; %s", STR_ARGS(another), error);
    } else if (another.len > 0) {
        missing = pool_printf(pool,
                              "%.*s; until then %s takes its place, which "
                              "downloads single files as they are",
                              STR_ARGS(another), s->engine->name);
    }
    if (!str_eq(s->version, version) || !str_eq(s->error, why) ||
        !str_eq(s->missing, missing)) {
        q->change++;
        set_text(&s->version, version);
        set_text(&s->error, why);
        set_text(&s->missing, missing);
        log_state(q);
    }
    if (fetch_engine_trouble(q).len > 0) {
        timer_set(q->fetcher->loop, &s->ask->timer, AGAIN_MS);
    }
    pool_free(&pool);
    answer_held(q);
}

static void
on_line(void *arg, struct str line)
{
    struct fetch_engine_ask *a = arg;

    line_take_error(a->msg, sizeof(a->msg), line);
}

static void
on_output(void *arg, struct str bytes, bool is_error)
{
    struct fetch_engine_ask *a = arg;

    if (is_error) {
        line_reader_take(&a->lines, bytes, on_line, a);
    } else {
        a->len = str_append(a->said, sizeof(a->said), a->len, bytes);
    }
}

/* The first line of what it said; STR_NONE: it is no version. */
static struct str
read_version(const struct fetch_engine_ask *a)
{
    struct str said = str_from(a->said), line = str_trim(str_cut(&said, '\n'));

    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] < 0x20 || line.ptr[i] == 0x7f) {
            return STR_NONE;
        }
    }
    return line;
}

static const char *
say_why(const struct fetch_engine_ask *a, const struct fetch_process_end *end)
{
    if (!end->started) {
        return end->why;
    }
    if (a->late) {
        return "it did not tell its version in time";
    }
    return a->msg[0] != '\0' ? a->msg : "it did not tell its version";
}

static void
on_end(void *arg, const struct fetch_process_end *end)
{
    struct fetch_engine_ask *a = arg;
    struct queue *q = a->queue;
    struct str version = read_version(a);
    char why[RUN_TEXT_MAX + 300];

    a->process = NULL;
    timer_stop(q->fetcher->loop, &a->timer);
    line_reader_end(&a->lines, on_line, a);
    if (a->again) {
        fetch_engine_look(q);
        return;
    }
    if (end->started && end->status == 0 && version.len > 0) {
        know(q, version, "");
        return;
    }
    snprintf(why, sizeof(why), "the engine %s cannot run: %s (status %d): %s",
             q->engine->engine->name, say_why(a, end), end->status,
             end->status == 126 || end->status == 127
                 ? "install it again; if it is now a script of another "
                   "interpreter than when weir started, restart weir"
                 : "install it again, or set engine_path");
    know(q, STR_NONE, why);
}

static int
ask(struct fetch_engine_ask *a, struct pool *pool, struct errmsg *err)
{
    struct queue *q = a->queue;
    const struct fetch_engine *engine = q->engine->engine;
    struct fetch_line line = { .pool = pool };
    struct fetch_process_options o = {
        .fetcher = q->fetcher,
        .line = &line,
        .folder = -1,
        .plan = &q->plan,
        .on_output = on_output,
        .on_end = on_end,
        .arg = a,
    };

    o.program = engine->program(&q->plan, err);
    if (o.program.len == 0) {
        return -1;
    }
    engine->version(&line);
    a->process = fetch_process_start(&o, err);
    return a->process == NULL ? -1 : 0;
}

static void
ask_now(struct fetch_engine_ask *a)
{
    struct pool *pool = pool_new(1024);
    struct errmsg err = { "" };

    a->late = false;
    a->len = 0;
    a->said[0] = a->msg[0] = '\0';
    if (ask(a, pool, &err) == -1) {
        know(a->queue, STR_NONE, err.text);
    } else {
        timer_set(a->queue->fetcher->loop, &a->timer, VERSION_MS);
    }
    pool_free(&pool);
}

static void
on_timer(struct timer *t)
{
    struct fetch_engine_ask *a = LIST_ITEM(t, struct fetch_engine_ask, timer);

    if (a->process == NULL) {
        a->queue->engine->engine = choose(&a->queue->plan, &a->missing);
        ask_now(a);
    } else {
        a->late = true;
        fetch_process_kill(a->process);
    }
}

static struct fetch_engine_state *
state_new(struct queue *q)
{
    struct fetch_engine_state *s = mem_zero(sizeof(*s));

    s->version.ptr = mem_dup("", 0);
    s->error.ptr = mem_dup("", 0);
    s->missing.ptr = mem_dup("", 0);
    s->ask = mem_zero(sizeof(*s->ask));
    s->ask->queue = q;
    list_init(&s->ask->held);
    timer_init(&s->ask->timer, on_timer);
    line_reader_init(&s->ask->lines);
    return s;
}

/* Not from here: it may be called before the starter can be asked. */
void
fetch_engine_look(struct queue *q)
{
    if (q->engine == NULL) {
        q->engine = state_new(q);
    }
    q->engine->engine = choose(&q->plan, &q->engine->ask->missing);
    q->engine->ask->again = q->engine->ask->process != NULL;
    if (q->engine->ask->process == NULL) {
        timer_set(q->fetcher->loop, &q->engine->ask->timer, 0);
    }
}

void
fetch_engine_free(struct fetch_engine_state **state)
{
    struct fetch_engine_state *s = *state;

    if (s == NULL) {
        return;
    }
    *state = NULL;
    LIST_EACH (node, &s->ask->held) {
        struct rpc_request *r =
            let_go(LIST_ITEM(node, struct held_request, link));

        fetcher_answer_error(&r, 503, 1, "the queue is not there any more");
    }
    timer_stop(s->ask->queue->fetcher->loop, &s->ask->timer);
    fetch_process_forget(&s->ask->process);
    line_reader_clear(&s->ask->lines);
    mem_free(&s->ask);
    mem_free_raw((void *)(uintptr_t)s->version.ptr);
    mem_free_raw((void *)(uintptr_t)s->error.ptr);
    mem_free_raw((void *)(uintptr_t)s->missing.ptr);
    mem_free(&s);
}
