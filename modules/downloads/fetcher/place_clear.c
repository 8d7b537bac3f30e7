/*
 * Removing folders of runs, however an engine has filled them.
 *
 * Folders in folders are not followed down: what is in one is moved up, into
 * the folder of the run, until nothing is left.  So neither the stack nor the
 * descriptors grow with the depth of a tree that a stranger has made.
 *
 * SPDX-License-Identifier: BSD-2-Clause
 */
#include "fetcher/place_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"

#define ENDS 8           /* something still writes into it: again so often */
#define SWEPT_MAX 100000 /* runs of one sweep; the others have the next */

/* ---- one folder of a run; on a thread ---- */

struct clearing {
    int run;         /* its folder */
    unsigned lifted; /* for names of what is moved up */
    size_t gone;     /* of this pass: removed, or moved up */
    size_t left;     /* could not be */
    int why;         /* errno of the first of those */
};

typedef void on_name(struct clearing *c, int folder, const char *name);

/* Calls each() for all names of a folder. */
static void
each_name(struct clearing *c, int folder, on_name *each)
{
    int again = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again == -1 ? NULL : fdopendir(again);
    const struct dirent *e;

    if (dir == NULL) {
        if (again != -1) {
            close(again);
        }
        return;
    }
    while ((e = readdir(dir)) != NULL) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            each(c, folder, e->d_name);
        }
    }
    closedir(dir);
}

/* Whether it is gone: a file, a link, or an empty folder. */
static bool
unlink_one(int folder, const char *name)
{
    return unlinkat(folder, name, 0) == 0 ||
           unlinkat(folder, name, AT_REMOVEDIR) == 0 || errno == ENOENT;
}

static void
keep_reason(struct clearing *c)
{
    c->left++;
    if (c->why == 0) {
        c->why = errno;
    }
}

/* Moves a folder that is not empty up into the folder of the run. */
static void
lift(struct clearing *c, int folder, const char *name)
{
    char up[32];

    if (unlink_one(folder, name)) {
        c->gone++;
        return;
    }
    do {
        snprintf(up, sizeof(up), "lifted.%u", c->lifted++);
        if (renameat2(folder, name, c->run, up, RENAME_NOREPLACE) == 0 ||
            (errno == EINVAL && renameat(folder, name, c->run, up) == 0)) {
            c->gone++;
            return;
        }
    } while (errno == EEXIST && c->lifted != 0);
    keep_reason(c);
}

static void
clear_one(struct clearing *c, int folder, const char *name)
{
    int sub;

    if (unlink_one(folder, name)) {
        c->gone++;
        return;
    }
    sub = place_step(folder, name);
    if (sub == -1) {
        keep_reason(c);
        return;
    }
    fchmod(sub, 0700); /* where it is ours, and was closed */
    each_name(c, sub, lift);
    close(sub);
    if (unlink_one(folder, name)) {
        c->gone++;
    }
}

/* 0; -1 with errno: what could not be removed, and why. */
static int
empty(int run)
{
    struct clearing c = { .run = run };

    do {
        c.gone = c.left = 0;
        c.why = 0;
        each_name(&c, run, clear_one);
    } while (c.gone > 0);
    errno = c.left > 0 ? c.why : 0;
    return c.left > 0 ? -1 : 0;
}

static int
clear_open(int hidden, const char *name, int run, struct errmsg *err)
{
    for (int i = 0; i < ENDS; i++) {
        if (empty(run) == -1) {
            return errmsg_sys(err, "cannot remove the folder of a run");
        }
        if (unlinkat(hidden, name, AT_REMOVEDIR) == 0 || errno == ENOENT) {
            return 0;
        }
    }
    return errmsg_sys(err, "cannot remove the folder of a run");
}

int
place_clear(int hidden, const char *name, struct errmsg *err)
{
    int run, rc;

    if (name[0] == '\0' || unlink_one(hidden, name)) {
        return 0;
    }
    run = place_step(hidden, name);
    if (run == -1) {
        return errmsg_sys(err, "cannot open the folder of a run");
    }
    rc = clear_open(hidden, name, run, err);
    close(run);
    return rc;
}

/* ---- place_drop() ---- */

struct dropping {
    struct place_work work;
    int64_t number;
    char name[PLACE_RUN_NAME];
};

static void
run_drop(struct place_work *w)
{
    struct dropping *d = LIST_ITEM(w, struct dropping, work);
    char mark[PLACE_MARK_NAME];

    w->ok = place_clear(w->base->hidden, d->name, &w->why) == 0;
    if (w->ok) {
        snprintf(mark, sizeof(mark), "%s" PLACE_MARK, d->name);
        unlinkat(w->base->hidden, mark, 0);
    }
}

static void
end_drop(struct place_work *w)
{
    const struct dropping *d = LIST_ITEM(w, struct dropping, work);

    if (w->ok) {
        place_run_over(w->place, d->number);
    } else {
        log_warn("downloads: run %" PRId64 ": %s", d->number, w->why.text);
    }
}

struct place_work *
place_drop(struct place *p, int64_t number, place_done *done, void *arg)
{
    struct dropping *d = place_work_new(p, sizeof(*d), run_drop, done, arg);

    d->work.end = end_drop;
    d->number = number;
    place_run_name(p, number, d->name);
    place_work_start(&d->work);
    return &d->work;
}

/* ---- the sweep ---- */

struct sweep {
    struct place_work work;
    bool (*known)(void *arg, int64_t number);
    void *arg;
    int64_t *numbers; /* owned; found */
    size_t count, room;
};

/* The process that holds it, if it lives, removes it. */
static void
clear_extraction(int hidden, const char *name)
{
    int fd = place_step(hidden, name);
    struct errmsg ignored;

    if (fd == -1) {
        return;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
        place_clear(hidden, name, &ignored);
    }
    close(fd);
}

static void
add_number(struct sweep *s, int64_t number)
{
    if (s->count == s->room) {
        s->room = s->room == 0 ? 64 : 2 * s->room;
        s->numbers = mem_resize(s->numbers, s->room * sizeof(*s->numbers));
    }
    s->numbers[s->count++] = number;
}

static bool
is_extraction(struct str name)
{
    bool is = name.len == 17 && name.ptr[0] == 'x';

    for (size_t i = 1; i < name.len && is; i++) {
        is = str_hex_digit(name.ptr[i]) != -1;
    }
    return is;
}

static void
run_sweep(struct place_work *w)
{
    struct sweep *s = LIST_ITEM(w, struct sweep, work);
    int again =
        openat(w->base->hidden, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again == -1 ? NULL : fdopendir(again);
    const struct dirent *e;
    int64_t number;

    w->ok = dir != NULL;
    while (dir != NULL && s->count < SWEPT_MAX && (e = readdir(dir)) != NULL) {
        struct str name = str_from(e->d_name);

        if (str_ends(name, STR(PLACE_MARK))) {
            name = str_first(name, name.len - strlen(PLACE_MARK));
        }
        if (str_to_int(name, 0, INT64_MAX, &number)) {
            add_number(s, number);
        } else if (is_extraction(name)) {
            clear_extraction(w->base->hidden, e->d_name);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

static void
end_sweep(struct place_work *w)
{
    const struct sweep *s = LIST_ITEM(w, struct sweep, work);

    for (size_t i = 0; i < s->count; i++) {
        if (!place_has_begun(w->place, s->numbers[i]) &&
            !s->known(s->arg, s->numbers[i])) {
            place_drop(w->place, s->numbers[i], NULL, NULL);
        }
    }
}

static void
clear_sweep(struct place_work *w)
{
    mem_free(&LIST_ITEM(w, struct sweep, work)->numbers);
}

void
place_sweep(struct place *p, bool (*known)(void *arg, int64_t number),
            void *arg)
{
    struct sweep *s = place_work_new(p, sizeof(*s), run_sweep, NULL, NULL);

    s->work.end = end_sweep;
    s->work.clear = clear_sweep;
    s->known = known;
    s->arg = arg;
    place_work_start(&s->work);
}
