/*
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "speaker.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "tree.h"

#define FORGIVEN_MS 1000 /* a life this long was no failed start */
#define USUAL_RATE 22050 /* Hz, until a zygote says it */
#define BACK_OFFS 5
#define KILLED_MS 100       /* back-off of one that was ready, at most */
#define PATIENCE_MS 200     /* of a back-off that is waited for */
#define CACHE_FILES_SHARE 4 /* of the descriptors, all caches together */
/* The starter's sandbox holds files, not names: an upgrade while weir runs. */
#define PROGRAM_REPLACED "weir-speaker: cannot execute"
#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static const int64_t back_off[BACK_OFFS] = { 0, 100, 500, 1000, 4000 }; /* ms */

static void start_zygote(struct desk *d);

/* ---- telling ---- */

void
desk_tell_error(struct desk *d, const char *format, ...)
{
    struct desk_error *e = &d->errors[d->error_next];
    va_list args;

    va_start(args, format);
    vsnprintf(e->text, sizeof(e->text), format, args);
    va_end(args);
    e->wall_ms = clock_wall_ms();
    d->error_next = (d->error_next + 1) % DESK_ERRORS;
    log_limited(LOG_ERROR, "speech \"%.*s\": %s", STR_ARGS(d->plan.name),
                e->text);
}

int
desk_memory(struct str bytes, struct errmsg *err)
{
    int fd = memfd_create("speech", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    if (fd == -1) {
        return errmsg_sys(err, "cannot make a memory file");
    }
    if (write(fd, bytes.ptr, bytes.len) != (ssize_t)bytes.len ||
        fcntl(fd, F_ADD_SEALS, SEALS) == -1) {
        errmsg_sys(err, "cannot fill a memory file");
        close(fd);
        return -1;
    }
    return fd;
}

/* ---- zygotes ---- */

static void
free_zygote(struct zygote *z)
{
    list_remove(&z->link);
    mem_free(&z);
}

bool
desk_is_open(const struct desk *d, int64_t *retry_after)
{
    int64_t ms = d->again.due - clock_ms();

    *retry_after = 0;
    if (d->zygote != NULL) {
        return true;
    }
    if (timer_is_set(&d->again) && ms > PATIENCE_MS) {
        *retry_after = (ms + 999) / 1000;
        return false;
    }
    return timer_is_set(&d->again);
}

/* One that was ready can be started: somebody has killed it. */
static void
start_later(struct desk *d, bool was_ready)
{
    int64_t ms = back_off[d->attempt], retry_after;

    ms = was_ready && ms > KILLED_MS ? KILLED_MS : ms;
    d->attempt += d->attempt + 1 < BACK_OFFS;
    if (ms == 0) {
        start_zygote(d);
        return;
    }
    timer_set(d->speaker->loop, &d->again, ms);
    if (!desk_is_open(d, &retry_after)) {
        job_refuse_waiting(d, retry_after);
    }
}

static void
on_again(struct timer *t)
{
    start_zygote(LIST_ITEM(t, struct desk, again));
}

static void
on_ready(void *arg, int64_t rate)
{
    struct zygote *z = arg;
    struct desk *d = z->desk;

    z->was_ready = true;
    if (d->zygote == z) {
        if (d->rate != rate) {
            d->rate = rate;
            voices_forget(d);
        }
        job_go_on(d);
    }
}

bool
desk_is_over(const struct desk *d)
{
    return d->retired && list_empty(&d->jobs) && list_empty(&d->zygotes);
}

static void
on_end(void *arg, const char *why)
{
    struct zygote *z = arg;
    struct desk *d = z->desk;
    bool current = d->zygote == z, was_ready = z->was_ready;

    if (current) {
        d->zygote = NULL;
        snprintf(d->why, sizeof(d->why), "weir-speaker: %s", why);
        desk_tell_error(d, "weir-speaker has ended: %s", why);
    }
    if (clock_ms() - z->started_ms >= FORGIVEN_MS) {
        d->attempt = 0;
    }
    job_zygote_gone(z);
    free_zygote(z);
    if (d->speaker->stopping) {
        return;
    }
    if (str_starts(str_from(d->why), STR(PROGRAM_REPLACED))) {
        log_warn("speech: weir-speaker was replaced by another file, which "
                 "this process may not execute: it starts again");
        loop_stop(d->speaker->loop);
        return;
    }
    if (current) {
        start_later(d, was_ready);
    } else if (desk_is_over(d)) {
        desk_free(d);
    }
}

static void
start_zygote(struct desk *d)
{
    const struct catalogue_voice *voice =
        catalogue_find(d->catalogue, d->plan.voice);
    struct zygote *z = mem_zero(sizeof(*z));
    struct engine_options o = {
        .loop = d->speaker->loop,
        .starter = d->speaker->starter,
        .directories = d->plan.directories,
        .directory_count = d->plan.directory_count,
        .warm = voice != NULL ? voice->file : STR_NONE,
        .memory = d->plan.memory,
        .cpu = d->plan.cpu,
        .pool = d->plan.children,
        .on_ready = on_ready,
        .on_end = on_end,
        .arg = z,
    };
    struct errmsg err;

    z->desk = d;
    z->started_ms = clock_ms();
    z->engine = engine_start(&o, &err);
    list_append(&d->zygotes, &z->link);
    if (z->engine == NULL) {
        str_copy(d->why, sizeof(d->why), str_from(err.text));
        desk_tell_error(d, "%s", err.text);
        free_zygote(z);
        timer_set(d->speaker->loop, &d->again, back_off[BACK_OFFS - 1]);
        job_refuse_waiting(d, back_off[BACK_OFFS - 1] / 1000);
        return;
    }
    d->zygote = z;
}

/* A new one takes its place; what runs there goes on. */
static void
replace_zygote(struct desk *d)
{
    struct zygote *old = d->zygote;

    timer_stop(d->speaker->loop, &d->again);
    d->zygote = NULL;
    d->attempt = 0;
    if (old != NULL) {
        engine_close(old->engine);
    }
    start_zygote(d);
}

/* ---- voices ---- */

/* Whether there is another catalogue now. */
static bool
read_catalogue(struct desk *d)
{
    uint8_t tree[DIGEST_SHA256];
    struct catalogue *c;
    struct errmsg err;

    tree_digest(d->plan.directories, d->plan.directory_count, tree);
    if (d->catalogue != NULL && memcmp(tree, d->tree, sizeof(tree)) == 0) {
        return false;
    }
    c = catalogue_read(d->plan.directories, d->plan.directory_count, &err);
    if (c == NULL) {
        desk_tell_error(d, "%s", err.text);
        return false;
    }
    memcpy(d->tree, tree, sizeof(tree));
    catalogue_free(&d->catalogue);
    d->catalogue = c;
    d->generation++;
    voices_forget(d);
    answer_cache_forget_all(d->cache);
    if (catalogue_find(c, d->plan.voice) == NULL) {
        desk_tell_error(d, "there is no voice \"%.*s\", its default",
                        STR_ARGS(d->plan.voice));
    }
    return true;
}

/* ---- weir.conf ---- */

static void
copy_plan(struct desk *d, const struct plan_instance *p)
{
    struct pool *old = d->pool;

    d->pool = pool_new(1024);
    d->plan = *p;
    d->plan.name = pool_str(d->pool, p->name);
    d->plan.voice = pool_str(d->pool, p->voice);
    d->plan.speaker = pool_str(d->pool, p->speaker);
    for (size_t i = 0; i < p->directory_count; i++) {
        d->plan.directories[i] = pool_str(d->pool, p->directories[i]);
    }
    pool_free(&old);
}

/* Whether a differs from b in what children get, but for directories. */
static bool
needs_zygote(const struct plan_instance *a, const struct plan_instance *b)
{
    return a->memory != b->memory || a->cpu != b->cpu ||
           a->children != b->children || !str_eq(a->voice, b->voice);
}

/* The share of an instance: the caches leave most descriptors to jobs. */
static size_t
cache_files(const struct speaker *s)
{
    struct rlimit limit = { 1024, 1024 };

    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur > (rlim_t)1 << 20) {
        limit.rlim_cur = (rlim_t)1 << 20;
    }
    return (size_t)limit.rlim_cur / CACHE_FILES_SHARE / s->instances;
}

void
desk_take_plan(struct desk *d, const struct plan_instance *p)
{
    bool other = needs_zygote(&d->plan, p);

    copy_plan(d, p);
    d->slots.children = p->children;
    d->slots.queue = p->queue;
    answer_cache_bound(d->cache, p->cache, cache_files(d->speaker));
    other |= read_catalogue(d);
    if (d->catalogue != NULL && (other || d->zygote == NULL)) {
        replace_zygote(d);
    }
    job_go_on(d);
}

void
desk_retire(struct desk *d)
{
    d->retired = true;
    timer_stop(d->speaker->loop, &d->again);
    if (d->zygote != NULL) {
        engine_close(d->zygote->engine);
        d->zygote = NULL;
    }
    voices_end(d);
    job_refuse_waiting(d, 0);
}

/* ---- life ---- */

static void
on_room(struct timer *t)
{
    job_go_on(LIST_ITEM(t, struct desk, room));
}

struct desk *
desk_new(struct speaker *s, const struct plan_instance *p)
{
    struct desk *d = mem_zero(sizeof(*d));

    d->speaker = s;
    d->voices = -1;
    d->rate = USUAL_RATE;
    list_init(&d->zygotes);
    list_init(&d->jobs);
    list_init(&d->watchers);
    timer_init(&d->again, on_again);
    timer_init(&d->room, on_room);
    slots_init(&d->slots, p->children, p->queue);
    d->cache = answer_cache_new();
    list_append(&s->desks, &d->link);
    desk_take_plan(d, p);
    return d;
}

void
desk_free(struct desk *d)
{
    timer_stop(d->speaker->loop, &d->again);
    timer_stop(d->speaker->loop, &d->room);
    LIST_EACH (node, &d->zygotes) {
        struct zygote *z = LIST_ITEM(node, struct zygote, link);

        engine_discard(&z->engine);
        free_zygote(z);
    }
    voices_end(d);
    catalogue_free(&d->catalogue);
    answer_cache_free(&d->cache);
    pool_free(&d->pool);
    list_remove(&d->link);
    mem_free(&d);
}

struct desk *
desk_find(struct speaker *s, struct str name)
{
    LIST_EACH (node, &s->desks) {
        struct desk *d = LIST_ITEM(node, struct desk, link);

        if (!d->retired && str_eq(d->plan.name, name)) {
            return d;
        }
    }
    return NULL;
}
