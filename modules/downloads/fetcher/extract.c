/*
 * An extraction: process, then its words read on a thread.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/run.h"

#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "event/task.h"
#include "fetcher/process.h"
#include "fetcher/queue.h"

#define SHORT ((size_t)64 << 10) /* bytes that are read on the loop */

struct extraction {
    struct queue *queue;
    const struct fetch_engine *engine;
    struct pool *pool; /* owned: wish, what is found */
    struct download_wish wish;
    int64_t number; /* of its folder */
    struct fetch_process *process;
    struct proxy_pass *pass; /* owned */
    struct buf said;         /* on standard output */
    struct line_reader lines;
    char msg[RUN_TEXT_MAX]; /* its last error */
    bool too_long, freed;
    struct task task; /* `work` is set while it runs */
    struct extracted found;
    extract_handler *handler;
    void *arg;
};

static void
destroy(struct extraction *x)
{
    line_reader_clear(&x->lines);
    buf_clear(&x->said);
    proxy_pass_free(&x->pass);
    pool_free(&x->pool);
    mem_free(&x);
}

/* ---- what was found ---- */

static void
finish(struct extraction *x)
{
    buf_clear(&x->said);
    x->handler(x->arg, &x->found);
}

static void
read_found(struct extraction *x)
{
    x->engine->read_extracted(x->pool, &x->wish, buf_str(&x->said),
                              str_from(x->msg), &x->found);
}

static void
on_task(struct task *t)
{
    read_found(LIST_ITEM(t, struct extraction, task));
}

static void
on_task_done(struct task *t)
{
    struct extraction *x = LIST_ITEM(t, struct extraction, task);

    t->work = NULL;
    if (x->freed) {
        destroy(x);
        return;
    }
    finish(x);
}

static void
fail(struct extraction *x, struct str msg)
{
    x->found.ok = false;
    x->found.msg = pool_str(x->pool, msg);
    finish(x);
}

/* ---- the process ---- */

static void
on_line(void *arg, struct str line)
{
    struct extraction *x = arg;

    line_take_error(x->msg, sizeof(x->msg), line);
}

static void
on_output(void *arg, struct str bytes, bool is_error)
{
    struct extraction *x = arg;

    if (is_error) {
        line_reader_take(&x->lines, bytes, on_line, x);
    } else if (!x->too_long && buf_add_str(&x->said, bytes) == -1) {
        x->too_long = true;
        buf_clear(&x->said);
        fetch_process_kill(x->process);
    }
}

static void
drop_folder(struct extraction *x)
{
    if (x->queue->place != NULL) {
        struct place_work *w =
            place_drop(x->queue->place, x->number, NULL, NULL);

        place_forget(&w);
    }
}

static struct str
excess_text(struct extraction *x, enum fetch_excess excess)
{
    struct buf text;
    struct str kept;

    buf_init(&text, RUN_TEXT_MAX);
    fetch_excess_say(excess, &x->queue->plan, &text);
    kept = pool_str(x->pool, buf_str(&text));
    buf_clear(&text);
    return kept;
}

static void
on_end(void *arg, const struct fetch_process_end *end)
{
    struct extraction *x = arg;
    const char *refusal = proxy_pass_refusal(x->pass);

    x->process = NULL;
    line_reader_end(&x->lines, on_line, x);
    drop_folder(x);
    if (refusal[0] != '\0') {
        str_copy(x->msg, sizeof(x->msg), str_from(refusal));
    }
    proxy_pass_free(&x->pass); /* a thread may have x after the proxy's end */
    if (end->excess != EXCESS_NONE) {
        fail(x, excess_text(x, end->excess));
    } else if (!end->started || (end->status >= 125 && end->status <= 127)) {
        x->found.no_engine = true;
        fetch_engine_look(x->queue);
        fail(x, pool_printf(x->pool, "The engine could not be started: %s",
                            end->started ? x->msg : end->why));
    } else if (x->too_long) {
        fail(x, STR("The engine says too much of this address: more than "
                    "64 MB."));
    } else if (end->status > 128 && x->msg[0] == '\0') {
        fail(x, pool_printf(x->pool, "The engine was ended by signal %d.",
                            end->status - 128));
    } else if (buf_len(&x->said) > SHORT) {
        x->task = (struct task){ .work = on_task, .done = on_task_done };
        if (task_run(x->queue->fetcher->threads, &x->task) == -1) {
            x->task.work = NULL;
            fail(x, STR("Too much is going on; try again."));
        }
    } else {
        read_found(x);
        finish(x);
    }
}

static int
run_engine(struct extraction *x, int folder, struct errmsg *err)
{
    struct fetch_line line = { .pool = x->pool };
    struct fetch_process_options o = {
        .fetcher = x->queue->fetcher,
        .line = &line,
        .folder = folder,
        .plan = &x->queue->plan,
        .place = x->queue->place,
        .pass = x->pass,
        .on_output = on_output,
        .on_end = on_end,
        .arg = x,
    };

    o.program = x->engine->program(&x->queue->plan, err);
    if (o.program.len == 0 ||
        (x->queue->options != NULL &&
         options_place(x->queue->options, folder, err) == -1)) {
        close(folder);
        return -1;
    }
    x->engine->extract(&line, x->queue, &x->wish);
    x->process = fetch_process_start(&o, err);
    return x->process == NULL ? -1 : 0;
}

/* ---- its life ---- */

static void
copy_wish(struct extraction *x, const struct download_wish *w)
{
    const struct downloads_instance *plan = &x->queue->plan;
    struct download_wish *own = &x->wish;

    *own = *w;
    own->instance = pool_str(x->pool, w->instance);
    own->url = pool_str(x->pool, w->url);
    own->quality = pool_str(x->pool, w->quality);
    own->format = pool_str(x->pool, w->format);
    own->folder = pool_str(x->pool, w->folder);
    own->prefix = pool_str(x->pool, w->prefix);
    own->strict = w->strict == -1 ? plan->playlist_strict_mode : w->strict;
    own->limit = w->limit == -1 ? plan->playlist_item_limit : w->limit;
}

/* No other folder has it, not one that an earlier weir has left, either. */
static int64_t
own_number(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return -((int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
}

static struct extraction *
extraction_new(struct queue *q, const struct download_wish *w)
{
    struct extraction *x = mem_zero(sizeof(*x));

    x->queue = q;
    x->engine = fetch_engine_of(q);
    x->pool = pool_new(4096);
    copy_wish(x, w);
    x->number = own_number();
    x->found = (struct extracted){ .msg = STR_NONE,
                                   .playlist_id = STR_NONE,
                                   .playlist_title = STR_NONE,
                                   .playlist_uploader = STR_NONE };
    buf_init(&x->said, EXTRACT_MAX);
    line_reader_init(&x->lines);
    return x;
}

struct extraction *
extract_start(struct queue *q, const struct download_wish *w,
              extract_handler *handler, void *arg, struct errmsg *err)
{
    struct extraction *x = extraction_new(q, w);
    int folder = place_begin(q->place, x->number, err);

    x->handler = handler;
    x->arg = arg;
    x->pass = proxy_pass_new(q->fetcher->proxy);
    if (folder == -1 || run_engine(x, folder, err) == -1) {
        if (folder != -1) {
            drop_folder(x);
        }
        destroy(x);
        return NULL;
    }
    return x;
}

void
extract_cancel(struct extraction *x)
{
    if (x->process != NULL) {
        fetch_process_kill(x->process);
    }
}

void
extract_free(struct extraction **extraction)
{
    struct extraction *x = *extraction;

    if (x == NULL) {
        return;
    }
    *extraction = NULL;
    fetch_process_forget(&x->process);
    if (x->task.work != NULL) {
        x->freed = true; /* its thread has it */
        task_cancel(x->queue->fetcher->threads, &x->task);
        return;
    }
    destroy(x);
}
