/*
 * The parts of the directory (place.h says which).
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#ifndef MODULES_DOWNLOADS_FETCHER_PLACE_IMPL_H
#define MODULES_DOWNLOADS_FETCHER_PLACE_IMPL_H

#include <sys/types.h>

#include "base/list.h"
#include "event/task.h"
#include "fetcher/place.h"

#define PLACE_HIDDEN ".weir"
#define PLACE_RUN_NAME 32   /* bytes of a folder's name below .weir, with NUL */
#define PLACE_MARK ".taken" /* behind a run's: its file was moved */
#define PLACE_MARK_NAME (PLACE_RUN_NAME + 8)
#define PLACE_CHANGED -1 /* place.folders_ms: they have changed since */

/* The descriptors; they live until the last work has ended. */
struct place_base {
    unsigned holds; /* the loop's alone */
    int root;       /* owned; the directory */
    int hidden;     /* owned; .weir */
};

struct place {
    struct loop *loop;            /* borrowed */
    struct task_threads *threads; /* borrowed; NULL: none, or they are gone */
    struct place_base *base;      /* held */
    struct list begun;            /* struct begun: runs of this process */
    struct list waiting;          /* struct place_work */
    struct place_work *running;   /* NULL: no thread is at work */
    struct timer again;           /* the threads' queue was full */
    struct buf folders;           /* JSON */
    int64_t folders_ms;           /* loop_now() of the look */
    bool looking;                 /* a work looks for folders */
    struct list lookers;          /* struct looker */
};

/* ---- place_work.c ---- */

/* Some work: run() on a thread, then end() on the loop, unless the place is
 * gone (NULL: nothing to do).  Its owner embeds it first. */
struct place_work {
    struct task task;
    struct list link;        /* in place.waiting */
    struct place *place;     /* NULL: it is gone */
    struct place_base *base; /* held */
    void (*run)(struct place_work *w);
    void (*end)(struct place_work *w);
    void (*clear)(struct place_work *w); /* frees what it owns; may be NULL */
    place_done *done;                    /* NULL: nobody asks */
    void *arg;
    bool ok;
    struct str name; /* of the result; in the work */
    int64_t size;
    struct errmsg why; /* !ok */
};

/* size: of the struct that embeds it. */
void *place_work_new(struct place *p, size_t size,
                     void (*run)(struct place_work *w), place_done *done,
                     void *arg);
void place_work_start(struct place_work *w);
void place_work_stop_all(struct place *p); /* the place goes */

void place_base_drop(struct place_base *b);

/* ---- place_walk.c; on any thread ---- */

/* The folder `path` beneath root, none of whose parts is a link, a hidden one,
 * or on another file system; a descriptor of it that can be read.  make: makes
 * what is missing, 0755.  -1 with err. */
int place_open_folder(int root, struct str path, bool make, struct errmsg *err);
/* Whether it is a path as above. */
int place_check_path(struct str path, struct errmsg *err);
/* openat2(): the folder `name` in the folder at, no link; -1 with errno. */
int place_step(int at, const char *name);

/* ---- place_clear.c ---- */

/* On a thread: removes the folder `name` of .weir with all in it. */
int place_clear(int hidden, const char *name, struct errmsg *err);

/* ---- place.c ---- */

/* The name of a run's folder. */
void place_run_name(struct place *p, int64_t number,
                    char name[static PLACE_RUN_NAME]);
/* Its folder is gone. */
void place_run_over(struct place *p, int64_t number);
bool place_has_begun(const struct place *p, int64_t number);
/* ---- place_folders.c ---- */

void place_folders_init(struct place *p);
/* Folders have changed: the next look is a new one. */
void place_folders_changed(struct place *p);
void place_folders_clear(struct place *p); /* the place goes */

/* ---- place_name.c ---- */

/* Appends a part made safe, at most `most` bytes of it. */
void place_safe(struct str s, size_t most, struct buf *to);

#endif
