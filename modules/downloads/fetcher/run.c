/*
 * A download.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "fetcher/process.h"
#include "fetcher/queue.h"
#include "fetcher/selection.h"
#include "proc/starter.h"

#define FULL (1 << 20) /* fewer bytes free than these: the disk is full */
#define LOOKED_AT 1000 /* files of a run that are looked at */

struct run {
    struct entry *entry;
    const struct fetch_engine *engine;
    struct fetch_process *process;
    struct proxy_pass *pass; /* owned */
    int folder;              /* owned */
    struct run_state state;
    struct line_reader lines[2];
    bool changed, canceled, killed;
    bool list;       /* it is one, and none of its items was asked for */
    int64_t counted; /* bytes that the metric has */
    struct run_handlers h;
    void *arg;
};

static void
destroy(struct run *r)
{
    line_reader_clear(&r->lines[0]);
    line_reader_clear(&r->lines[1]);
    proxy_pass_free(&r->pass);
    if (r->folder != -1) {
        close(r->folder);
    }
    mem_free(&r);
}

static void
count_bytes(struct run *r)
{
    int64_t bytes = proxy_pass_bytes(r->pass);

    metric_add(&downloads_metrics[DOWNLOADS_BYTES], 0, bytes - r->counted);
    r->counted = bytes;
}

/* ---- progress ---- */

static struct str
ending_of(struct str file)
{
    for (size_t i = file.len; i > 1; i--) {
        if (file.ptr[i - 1] == '.') {
            return str_skip(file, i - 1);
        }
    }
    return STR_NONE;
}

static void
tell_progress(struct run *r)
{
    const struct run_state *s = &r->state;
    struct run_progress p = { s->status, s->percent, s->speed,
                              s->eta,    s->fetched, STR_NONE };
    struct buf name;

    r->changed = false;
    buf_init(&name, 2 * DOWNLOAD_FOLDER_MAX);
    if (s->name[0] != '\0' && buf_add_str(&name, r->entry->facts->name) == 0 &&
        buf_add_str(&name, ending_of(str_from(s->name))) == 0) {
        p.name = buf_str(&name);
    }
    r->h.on_progress(r->arg, &p);
    buf_clear(&name);
}

static void
on_line(void *arg, struct str line)
{
    struct run *r = arg;

    r->changed |= r->engine->read_line(&r->state, line, false);
}

static void
on_error_line(void *arg, struct str line)
{
    struct run *r = arg;

    r->changed |= r->engine->read_line(&r->state, line, true);
}

static void
on_output(void *arg, struct str bytes, bool is_error)
{
    struct run *r = arg;

    line_reader_take(&r->lines[is_error], bytes,
                     is_error ? on_error_line : on_line, r);
    count_bytes(r);
    if (r->state.items > 1 && r->entry->facts->item == 0 && !r->list) {
        r->list = true;
        fetch_process_kill(r->process);
    }
    if (r->changed && !r->canceled && !r->killed && !r->list) {
        tell_progress(r);
    }
}

/* ---- the result ---- */

static int64_t
size_of(const struct run *r, const char *name)
{
    struct stat st;

    return fstatat(r->folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
                   S_ISREG(st.st_mode)
               ? st.st_size
               : -1;
}

static bool
is_part(const char *name)
{
    return str_ends(str_from(name), STR(".part")) ||
           str_ends(str_from(name), STR(".ytdl")) ||
           strstr(name, ".part-Frag") != NULL ||
           strstr(name, ".temp.") != NULL || options_made(str_from(name));
}

static bool
is_image(const char *name)
{
    static const char *const endings[] = { ".jpg",  ".jpeg", ".png",
                                           ".webp", ".gif",  ".avif" };
    struct str ending = ending_of(str_from(name));

    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        if (str_eq_nocase(ending, str_from(endings[i]))) {
            return true;
        }
    }
    return false;
}

/* The largest image that is whole: an engine that fetches a thumbnail alone
 * names no file. */
static void
look_for_file(struct run *r)
{
    int64_t most = -1;
    int copy = openat(r->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy == -1 ? NULL : fdopendir(copy);
    struct dirent *one;

    for (int n = 0; d != NULL && n < LOOKED_AT && (one = readdir(d)) != NULL;
         n++) {
        int64_t size = size_of(r, one->d_name);

        if (size > most && !is_part(one->d_name) && is_image(one->d_name) &&
            line_file_name(r->state.file, str_from(one->d_name))) {
            most = size;
        }
    }
    if (d != NULL) {
        closedir(d);
    }
}

static void
find_file(struct run *r)
{
    if (r->state.file[0] != '\0' && size_of(r, r->state.file) == -1) {
        r->state.file[0] = '\0';
    }
    if (r->state.file[0] == '\0' &&
        selection_is_thumbnail(r->entry->facts->format)) {
        look_for_file(r);
    }
}

static void
say_no_file(const struct run *r, struct buf *msg)
{
    int64_t max = r->entry->queue->plan.max_file_size;

    if (max > 0) {
        buf_printf(msg,
                   "The engine has made no file: there is none, or it is "
                   "larger than max_file_size, %lld bytes.",
                   (long long)max);
    } else {
        buf_printf(msg, "The engine has made no file.");
    }
}

static void
say_failure(const struct run *r, const struct fetch_process_end *end,
            struct buf *msg)
{
    const char *refusal = proxy_pass_refusal(r->pass);

    if (end->excess != EXCESS_NONE) {
        fetch_excess_say(end->excess, &r->entry->queue->plan, msg);
    } else if (r->list) {
        buf_printf(msg,
                   "This is a list of %lld; add its address to have them all.",
                   (long long)r->state.items);
    } else if (!end->started) {
        buf_printf(msg, "The engine could not be started: %s", end->why);
    } else if (end->status == 0) {
        say_no_file(r, msg);
    } else if (refusal[0] != '\0') {
        buf_printf(msg, "%s", refusal);
    } else if (r->state.msg[0] != '\0') {
        buf_printf(msg, "%s", r->state.msg);
    } else if (end->status > 128) {
        buf_printf(msg, "The engine was ended by signal %d.",
                   end->status - 128);
    } else {
        buf_printf(msg, "The engine ended with status %d.", end->status);
    }
}

/* ffmpeg and the like, below an engine, seldom say that the disk is full. */
static void
say_full(const struct run *r, const struct fetch_process_end *end,
         struct buf *msg)
{
    const struct place *place = r->entry->queue->place;
    int64_t free_bytes = place != NULL ? place_free_bytes(place) : -1;
    struct str said = buf_str(msg), full = STR("No space left");

    if (end->excess == EXCESS_NONE && free_bytes >= 0 && free_bytes < FULL &&
        memmem(said.ptr, said.len, full.ptr, full.len) == NULL) {
        buf_printf(msg, " (No space left on device)");
    }
}

static void
log_excess(const struct run *r, struct str why)
{
    log_limited(LOG_WARN, "downloads %.*s: the run of %.*s was ended: %.*s",
                STR_ARGS(r->entry->queue->plan.name),
                STR_ARGS(r->entry->facts->url), STR_ARGS(why));
}

static void
on_end(void *arg, const struct fetch_process_end *end)
{
    struct run *r = arg;
    struct queue *q = r->entry->queue;
    struct run_result result = { .canceled = r->canceled };
    struct buf msg;

    r->killed |= end->lost;
    result.killed = r->killed;
    buf_init(&msg, RUN_TEXT_MAX + 100);
    line_reader_end(&r->lines[0], on_line, r);
    line_reader_end(&r->lines[1], on_error_line, r);
    count_bytes(r);
    if (end->started && end->excess == EXCESS_NONE &&
        (end->status == 0 || end->status == 101)) {
        find_file(r);
    } else {
        r->state.file[0] = '\0';
    }
    result.finished =
        r->state.file[0] != '\0' && !r->canceled && !r->killed && !r->list;
    if (!result.finished) {
        say_failure(r, end, &msg);
        say_full(r, end, &msg);
    }
    if (end->excess != EXCESS_NONE) {
        log_excess(r, buf_str(&msg));
    }
    if (!end->lost &&
        (!end->started || (end->status >= 125 && end->status <= 127))) {
        fetch_engine_look(q);
    }
    result.msg = buf_str(&msg);
    result.file = str_from(r->state.file);
    r->h.on_end(r->arg, &result);
    buf_clear(&msg);
    destroy(r);
}

/* ---- its life ---- */

static struct run *
run_new(struct entry *e)
{
    struct run *r = mem_zero(sizeof(*r));

    r->entry = e;
    r->engine = fetch_engine_of(e->queue);
    r->folder = -1;
    r->pass = proxy_pass_new(e->queue->fetcher->proxy);
    run_state_init(&r->state);
    line_reader_init(&r->lines[0]);
    line_reader_init(&r->lines[1]);
    return r;
}

static int
open_folder(struct run *r, int *theirs, struct errmsg *err)
{
    struct queue *q = r->entry->queue;

    r->folder = place_begin(q->place, r->entry->number, err);
    if (r->folder == -1 || (q->options != NULL &&
                            options_place(q->options, r->folder, err) == -1)) {
        return -1;
    }
    *theirs = fcntl(r->folder, F_DUPFD_CLOEXEC, 0);
    return *theirs == -1 ? errmsg_sys(err, "no descriptor is left") : 0;
}

static int
run_engine(struct run *r, struct pool *pool, struct errmsg *err)
{
    const struct entry_facts *facts = r->entry->facts;
    struct queue *q = r->entry->queue;
    struct fetch_line line = { .pool = pool };
    struct fetch_process_options o = {
        .fetcher = q->fetcher,
        .line = &line,
        .pass = r->pass,
        .plan = &q->plan,
        .place = q->place,
        .on_output = on_output,
        .on_end = on_end,
        .arg = r,
    };

    o.program = r->engine->program(&q->plan, err);
    if (o.program.len == 0) {
        fetch_engine_look(q);
        return -1;
    }
    /* It may be another engine than the one that was there at the add. */
    if (fetch_engine_check(r->engine, facts->quality, facts->format, err) ==
            -1 ||
        open_folder(r, &o.folder, err) == -1) {
        return -1;
    }
    r->engine->download(&line, r->entry);
    r->process = fetch_process_start(&o, err);
    return r->process == NULL ? -1 : 0;
}

struct run *
run_start(struct entry *e, const struct run_handlers *h, void *arg, bool *later,
          struct errmsg *err)
{
    const struct starter *starter = e->queue->fetcher->starter;
    struct pool *pool;
    struct run *r;

    *later = true;
    if (starter_is_gone(starter)) {
        errmsg_set(err, "the starter has ended");
        return NULL;
    }
    *later = starter_running(starter) >= STARTER_RUNS;
    if (*later) {
        errmsg_set(err, "%d programs run already", STARTER_RUNS);
        return NULL;
    }
    pool = pool_new(4096);
    r = run_new(e);
    r->h = *h;
    r->arg = arg;
    errno = 0;
    if (run_engine(r, pool, err) == -1) {
        *later = errno == EMFILE || errno == ENFILE;
        destroy(r);
        r = NULL;
    }
    pool_free(&pool);
    return r;
}

void
run_cancel(struct run *r)
{
    r->canceled = true;
    fetch_process_interrupt(r->process);
}

void
run_abort(struct run *r)
{
    r->killed = true;
    fetch_process_kill(r->process);
}

void
run_forget(struct run **run)
{
    struct run *r = *run;

    if (r != NULL) {
        *run = NULL;
        fetch_process_forget(&r->process);
        destroy(r);
    }
}
